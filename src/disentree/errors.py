"""Errors with a meaning of their own."""


class UserError(ValueError):
    """An error caused by the user's input, worded for the user in one sentence.

    The command line prints the sentence and exits with code 2.
    """


class MissingExtra(UserError, ImportError):
    """A library that an extra of this package installs is missing; the sentence names the extra."""


class DamagedFile(ValueError):
    """A file is cut short, or its content is not what was written."""


class FarOut(UserWarning):
    """Rows are so far from those that a model was fitted to that it has no codes for them."""


class NoComponentFound(ValueError):
    """MIMOSA found no component that passes its thresholds, so there is no tree."""
