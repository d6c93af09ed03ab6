"""A failed attempt leaves no trace: whatever fields the raiser's state has, they are as they were."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from windlass.raising.frames import VectorFrame
from windlass.raising.history import Saved, restore_fields, saved_fields
from windlass.raising.memo import Memo
from windlass.raising.report import RaisingReport
from windlass.raising.state import RaisingState

HOLDERS = (RaisingState, RaisingReport, VectorFrame, Memo)
LASTING = {
    "RaisingState": {"hopeless", "block_depths"},
    "RaisingReport": set[str](),
    "VectorFrame": {"block_depths"},
    "Memo": set[str](),
}


def filled(holder: type[Any]) -> Any:
    """One with empty collections in its fields, and a mark where a field has to be given."""
    given = {each.name: f"the {each.name}" for each in dataclasses.fields(holder) if is_given(each)}
    return holder(**given)


def is_given(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def change(holder: Any) -> None:
    """Put something new in every field, as deep as what is saved goes."""
    for each in dataclasses.fields(holder):
        match getattr(holder, each.name):
            case dict() as value:
                value["new"] = "value"  # pyright: ignore[reportUnknownMemberType]
            case set() as value:
                value.add("new")  # pyright: ignore[reportUnknownMemberType]
            case list() as value:
                value.append("new")  # pyright: ignore[reportUnknownMemberType]
            case Saved() as value:
                change(value)
            case _:
                setattr(holder, each.name, "new")


@pytest.mark.parametrize("holder", HOLDERS)
def test_every_field_is_as_it_was_but_lasting_ones(holder: type[Any]) -> None:
    state = filled(holder)
    before = {each.name: repr(getattr(state, each.name)) for each in dataclasses.fields(holder)}
    moment = saved_fields(state)
    for _ in range(2):
        change(state)
        restore_fields(state, moment)
        changed = {name for name, was in before.items() if repr(getattr(state, name)) != was}
        assert changed == LASTING[holder.__name__]


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_stands_in_fields_is_frozen(holder: type[Any]) -> None:
    for each in dataclasses.fields(holder):
        inner = str(each.type).partition("[")[2].replace("frozenset[", "")
        assert all(word not in inner for word in ("list[", "set[", "dict[")), each.name
