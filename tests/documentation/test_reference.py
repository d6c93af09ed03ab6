"""The page of what users call is the one that the docstrings make, and leaves nothing out."""

from __future__ import annotations

import inspect

import pytest

from tests.documentation.reference import MODULES, PAGE, make_page


def test_page_of_what_users_call_is_current() -> None:
    assert PAGE.read_text() == make_page(), "run `make api`"


@pytest.mark.parametrize("name", MODULES)
def test_all_that_users_call_has_a_docstring(name: str) -> None:
    module = MODULES[name]
    things = [getattr(module, each) for each in module.__all__]
    bare = [thing for thing in things if (isinstance(thing, type) or inspect.isfunction(thing)) and not thing.__doc__]
    assert not bare
