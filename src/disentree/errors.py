"""The one kind of error that is the user's to mend."""


class UserError(ValueError):
    """A mistake in what the user asked for, told in one sentence; the command line exits with 2 on it."""
