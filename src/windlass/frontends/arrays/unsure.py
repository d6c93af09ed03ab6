"""Names whose value, or whether they have one, is known only as the program runs.

`Unsure` is what a name holds that some ways bind and others do not, with a boolean that tells. The ways out of loops
and functions are such names, too (see `exits.py`): a loop was left where its name is bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from windlass.diagnostics import Position, UnboundNameError
from windlass.frontends.arrays.array import Array, Scalar
from windlass.frontends.arrays.states import UNDEFINED, values_of
from windlass.frontends.arrays.tracing import Check, current_tracing, position_now

ENTRY_POINTS = ("has_left", "certain", "bound", "returning", "result_of")
"""What captured functions call."""


class Unsure:
    """What a name holds that may be unbound: a value of some kind, and a traced boolean, or what gives one."""

    __slots__ = ("_is_bound", "value")

    def __init__(self, value: Any, is_bound: Any) -> None:
        self.value = value
        self._is_bound = is_bound

    @property
    def is_bound(self) -> Any:
        """Whether the name has the value, traced."""
        if not isinstance(self._is_bound, Tracer | jax.Array):
            self._is_bound = self._is_bound()
        return self._is_bound


@dataclass(frozen=True)
class Returned:
    """What a function returns, and the lines that do."""

    value: Any
    places: tuple[Position, ...]


def is_bound(value: Any) -> Any:
    """Whether the name that holds this is bound: a boolean, or a traced one."""
    return value.is_bound if isinstance(value, Unsure) else value is not UNDEFINED


def possible_value(value: Any) -> Any:
    """What the name holds if it is bound."""
    return value.value if isinstance(value, Unsure) else value


def possibly(value: Any, is_bound: Any) -> Any:
    """What a name holds that is bound where the boolean, traced or not, says so."""
    if isinstance(is_bound, bool):
        return value if is_bound else UNDEFINED
    return Unsure(value, is_bound)


def left_by(values: Sequence[Any]) -> Any:
    """Whether one of the names is bound: a boolean, or a traced one."""
    found: Any = False
    for value in values:
        each = is_bound(value)
        if each is True:
            return True
        if each is not False:
            found = each if found is False else found | each
    return found


# -- what captured functions call -------------------------------------------------------------------------------------


def has_left(getters: Sequence[Callable[[], Any]]) -> Any:
    """Whether one of the names is bound."""
    found = left_by(values_of(getters))
    return found if isinstance(found, bool) else Scalar(found)


def certain(value: Any) -> Any:
    """The value of a name that is bound here on every way."""
    return possible_value(value)


def bound(value: Any, name: str) -> Any:
    """The value of a name that may be unbound here; the program fails if it is."""
    if not isinstance(value, Unsure):
        return value
    tracing = current_tracing()
    if tracing is not None:
        position, length = position_now()
        text = f"'{name}' is read, and no statement that binds it has run"
        help_ = f"bind it first: {name} = ..."
        tracing.require_never(~value.is_bound, Check(text, position, help_, "WL0920", length, UnboundNameError))
    return value.value


def returning(value: Any) -> Returned:
    """What `return value` gives."""
    position, _ = position_now()
    return Returned(value, () if position is None else (position,))


def result_of(getters: Sequence[Callable[[], Any]]) -> Any:
    """What the function returns at last."""
    (found,) = map(possible_value, values_of(getters))
    return found.value if isinstance(found, Returned) else None


# -- values of several parts ------------------------------------------------------------------------------------------


def spread(value: Any) -> tuple[list[Any], Any]:
    """The arrays, numbers and other things that a value is made of, and how: tuples, lists and dictionaries of them."""
    return jax.tree.flatten(value, is_leaf=lambda each: isinstance(each, Array))


def gathered(structure: Any, leaves: Sequence[Any]) -> Any:
    """The value made of the parts."""
    return jax.tree.unflatten(structure, leaves)


def zeros_like(aval: Any) -> Any:
    """What stands for a value that there is none of on some way."""
    return jnp.zeros(aval.shape, aval.dtype)
