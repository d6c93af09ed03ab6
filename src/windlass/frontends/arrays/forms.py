"""Forms that names of arrays have where loops come round and ways meet, if data decide their lengths.

A loop that goes on with `x = x[x > 0]` binds an array of known length to a name, and then what a mask picks. So that
one program can carry them they become spans of one form: with as much room as the greatest of them needs, and a count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax

from windlass.frontends.arrays.array import Array
from windlass.frontends.arrays.lengths import Bounds, Length, Stretch
from windlass.frontends.arrays.places import expect_few
from windlass.frontends.arrays.sharing import Met, relate
from windlass.frontends.arrays.spans import Span, as_span, of_elements
from windlass.frontends.arrays.states import Body, NotCapturable, State
from windlass.frontends.arrays.tracing import keeping_memories
from windlass.frontends.arrays.unknown_lengths import UnknownLength

MOST_FORMS = 4
"""How often a name's form may have to be found anew, as its room grows."""


@dataclass(frozen=True)
class Form:
    """How much room each axis has, and whether data decide how many of its places have elements."""

    rooms: tuple[int, ...]
    is_counted: tuple[bool, ...]


class FormsDiffer(NotCapturable):
    """Names, by position, whose arrays have to be in these forms."""

    def __init__(self, forms: Mapping[int, Form]) -> None:
        super().__init__("a name is bound to arrays whose lengths data decide, in different ways")
        self.forms = dict(forms)


def form_to_meet(first: Any, second: Any) -> Form | None:
    """The form in which two values can be one name's: None where one has no axes, they have not as many as each other,
    or they are carried as they are."""
    if not (isinstance(first, UnknownLength) or isinstance(second, UnknownLength)):
        return None
    if not all(isinstance(each, UnknownLength) or (isinstance(each, Array) and each.ndim) for each in (first, second)):
        return None
    if first.ndim != second.ndim or _carried_as(first) == _carried_as(second):
        return None
    axes = list(zip(_axes_of(first), _axes_of(second), strict=True))
    return Form(
        tuple(max(room for room, _ in pair) for pair in axes),
        tuple(pair[0][1] or pair[1][1] or pair[0][0] != pair[1][0] for pair in axes),
    )


def _carried_as(value: Any) -> Any:
    """What has to be equal of two values that are carried part by part."""
    parts, structure = jax.tree.flatten(value, is_leaf=lambda each: isinstance(each, Array))
    return structure, [getattr(each, "shape", ()) for each in parts]


def _axes_of(value: Any) -> list[tuple[int, bool]]:
    """The room of each axis, and whether data decide how many of its places have elements; nothing is computed."""
    if isinstance(value, Array):
        return [(extent, False) for extent in value.shape]
    return value.axes


def in_form(value: Any, form: Form) -> Any:
    """The array as a span in the form. It is a copy that may be the array itself: see `sharing.py`."""
    if not isinstance(value, Array | UnknownLength) or _is_in_form(value, form):
        return value
    expect_few(max(form.rooms))
    span = value.span if isinstance(value, UnknownLength) else as_span(value)
    stretches = [
        Stretch(0, room) if counted else None for room, counted in zip(form.rooms, form.is_counted, strict=True)
    ]
    counts = [each.count if isinstance(each, Length) else each for each in span.extents]
    axes = zip(counts, form.rooms, form.is_counted, strict=True)
    found = of_elements(
        span.read(tuple(stretches)), [Length(each, room) if counted else room for each, room, counted in axes]
    )
    relate([Met(found.memory, [value.storage if isinstance(value, Array) else value.memory])])
    return found


def _is_in_form(value: Any, form: Form) -> bool:
    if not isinstance(value, Span) or value.view.shape != form.rooms:
        return False
    bounds = zip(value.bounds, form.rooms, form.is_counted, strict=True)
    return all(
        (each is not None) == counted and (each is None or (each.step, each.most, _known_start(each)) == (1, room, 0))
        for each, room, counted in bounds
    )


def _known_start(bounds: Bounds) -> int | None:
    """Where the elements begin, None where it is known only as the program runs."""
    return bounds.start if isinstance(bounds.start, int) else None


def in_forms(state: State, forms: Mapping[int, Form]) -> State:
    """The state with the names that have forms in them."""
    return tuple(in_form(each, forms[place]) if place in forms else each for place, each in enumerate(state))


def with_forms(body: Body, forms: Mapping[int, Form]) -> Body:
    """The body, giving the names that have forms in them."""
    return lambda *given: in_forms(tuple(body(*given)), forms)


def meeting(run: Callable[[Mapping[int, Form]], State]) -> State:
    """What `run` gives for the forms that it asks for by FormsDiffer.

    Raises NotCapturable where it asks for others again and again.
    """
    forms: dict[int, Form] = {}
    for _ in range(MOST_FORMS):
        try:
            with keeping_memories():
                return run(forms)
        except FormsDiffer as need:
            forms |= need.forms
    raise NotCapturable("names are bound to arrays whose lengths data decide, of more room from step to step")
