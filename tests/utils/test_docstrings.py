"""Shared parameters in docstrings."""

import pytest

from disentree.utils.docstrings import insert_shared


def test_only_lines_that_name_an_entry_are_replaced():
    @insert_shared({"a": "a : int\n    The first."})
    class Thing:
        """A thing, as in {a}.

        {a}
        {"not": "a name"}
        """

    assert Thing.__doc__ == 'A thing, as in {a}.\n\na : int\n    The first.\n{"not": "a name"}'


def test_an_unknown_entry_is_an_error():
    with pytest.raises(KeyError):

        @insert_shared({})
        def function():
            """{missing}"""
