"""What a name holds after two ways have met: the same as on both, or a value that one of them gave.

A name that one way leaves unbound becomes an `Unsure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.frontends.arrays.array import Array, wrapped
from windlass.frontends.arrays.containers import note_met
from windlass.frontends.arrays.sharing import Met, relate
from windlass.frontends.arrays.states import (
    UNDEFINED,
    NotCapturable,
    Trial,
    aval_of,
    carried_value,
    converted,
    is_memory,
    is_number,
    laid_alike,
    place_of,
    plain,
    stays,
)
from windlass.frontends.arrays.strong_numbers import numbers_are_strong
from windlass.frontends.arrays.unsure import Returned, gathered, is_bound, possible_value, possibly, spread

NOTHING = object()
"""A part of a value on a way that leaves the name unbound."""


@dataclass
class Join:
    """A name whose value on two ways differs: the parts that do, by their number among all parts."""

    structure: Any
    parts: list[Any]
    """Those that are the same on both ways; NOTHING where they are not."""
    ways: list[tuple[Any, Any]]
    """Of those that are not, what they are on the two ways."""
    types: list[tuple[Any, tuple[int, ...]]]
    """Their dtype, None where it is weak, and shape."""
    is_unsure: bool
    places: tuple[Any, ...] | None
    """The lines that return it, if it is what the function returns."""
    values: list[Any]
    """What the name holds on those ways that bind it."""
    outer: set[int]

    def values_on(self, way: Any) -> list[Any]:
        """The parts that differ, as JAX has them, with the name's value on this way."""
        inner = _unpacked(possible_value(way))[0]
        if inner is UNDEFINED:
            return [_zeros(ways, type_) for ways, type_ in zip(self.ways, self.types, strict=True)]
        leaves, _ = spread(inner)
        differing = [leaf for leaf, part in zip(leaves, self.parts, strict=True) if part is NOTHING]
        return [converted(carried_value(leaf), *type_) for leaf, type_ in zip(differing, self.types, strict=True)]

    def value(self, values: Sequence[Any], is_bound: Any, sharing: Sharing) -> Any:
        """What the name holds afterwards."""
        made = [sharing.array(value, ways) for value, ways in zip(values, self.ways, strict=True)]
        rest = iter(made)
        found = gathered(self.structure, [next(rest) if part is NOTHING else part for part in self.parts])
        note_met(found, self.values, self.outer)
        found = found if self.places is None else Returned(found, self.places)
        return possibly(found, is_bound) if self.is_unsure else found


class Sharing:
    """What is made of the parts of several names where two ways meet: those that are one array on both stay one."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self.trials = trials
        self.arrays: dict[Any, Any] = {}
        """What was made of parts, by their places on the two ways."""
        self.met: list[Met] = []

    def array(self, value: Any, ways: tuple[Any, Any]) -> Any:
        """The value that JAX gives, as what a name holds for which these stand on the two ways."""
        there = [each for each in ways if each is not NOTHING]
        if not any(map(is_memory, there)):
            return laid_alike(wrapped(value), *there)
        places = _places_of(ways)
        if places not in self.arrays:
            array = self.arrays[places] = laid_alike(wrapped(value, is_array=True), *there)
            doubts = [trial.doubt_of(each) for trial, each in zip(self.trials, ways, strict=True)]
            array.storage.doubt = next((each for each in doubts if each is not None), None)
            self.met.append(Met(array.storage, [each.storage if is_memory(each) else None for each in ways]))
        return self.arrays[places]

    def close(self) -> None:
        """Note which memories may be one, now that all are made."""
        relate(self.met)


def _places_of(ways: tuple[Any, Any]) -> tuple[Any, Any]:
    """Where a part lies on the two ways: None where there is none, by itself for what is no memory."""
    first, second = (
        None if each is NOTHING else place_of(each) if is_memory(each) else ("a value", id(each)) for each in ways
    )
    return first, second


def join_of(name: str, first: Any, second: Any, outer: set[int]) -> Join:
    """How a name is carried that has these values on two ways; `outer` are the memories from before.

    Raises NotCapturable.
    """
    known = [_unpacked(possible_value(way)) for way in (first, second)]
    places = _places(known)
    there = [value for value, _ in known if value is not UNDEFINED]
    spreads = [spread(value) for value in there]
    (leaves, structure), (others, other) = spreads[0], spreads[-1]
    if structure != other:
        text = f"{_what(name, places)} {_kind(there[0])} on one way and {_kind(there[1])} on another"
        raise NotCapturable(text, _help(places))
    parts: list[Any] = []
    ways: list[tuple[Any, Any]] = []
    types: list[tuple[Any, tuple[int, ...]]] = []
    is_one_way = len(there) == 1
    for leaf, another in zip(leaves, others, strict=True):
        if can_be_had(leaf, outer) if is_one_way else (leaf is another or stays(leaf, another, outer)):
            parts.append(leaf)
        elif is_number(leaf) and is_number(another):
            parts.append(NOTHING)
            is_second = is_one_way and known[0][0] is UNDEFINED
            ways.append((NOTHING if is_second else leaf, NOTHING if is_one_way and not is_second else another))
            types.append(_type_of(name, places, leaf, another))
        else:
            text = f"{_what(name, places)} {_kind(leaf)} on one way and {_kind(another)} on another"
            raise NotCapturable(text, _help(places))
    is_unsure = is_bound(first) is not True or is_bound(second) is not True
    lines = None if places is None else tuple(dict.fromkeys(each for group in places for each in group))
    return Join(structure, parts, ways, types, is_unsure, lines, there, outer)


def can_be_had(part: Any, outer: set[int]) -> bool:
    """Whether a part of a value that only one way gives is there on the other, too: objects, known numbers, and arrays
    from before."""
    if isinstance(part, Array):
        return id(part.storage) in outer
    return not isinstance(part, jax.Array)


def _unpacked(value: Any) -> tuple[Any, tuple[Any, ...] | None]:
    """The value without the lines that return it, and these."""
    return (value.value, value.places) if isinstance(value, Returned) else (value, None)


def _places(known: Sequence[tuple[Any, tuple[Any, ...] | None]]) -> list[tuple[Any, ...]] | None:
    places = [lines for _, lines in known if lines is not None]
    return places or None


def _type_of(name: str, places: Any, first: Any, second: Any) -> tuple[Any, tuple[int, ...]]:
    avals = [aval_of(first), aval_of(second)]
    shapes = [each.shape for each in avals]
    dtype = jnp.result_type(*avals)
    is_weak = all(each.weak_type and each.dtype == dtype for each in avals)
    if shapes[0] != shapes[1]:
        one, two = map(_shape, shapes)
        raise NotCapturable(f"{_what(name, places)} {one} on one way and {two} on another", _help(places))
    is_kept = keeps if places is None else _fits
    if not all(is_kept(value, each, dtype) for value, each in zip((first, second), avals, strict=True)):
        one, two = (str(each.dtype) for each in avals)
        raise NotCapturable(f"{_what(name, places)} {one} on one way and {two} on another", _help(places))
    return (None if is_weak else dtype, shapes[0])


def keeps(value: Any, aval: Any, dtype: Any) -> bool:
    """Whether a value on the way to other code is the same in the dtype that another way gives: it has it already, or
    is a number of the source that the dtype holds. Numba's numbers have one type on all ways."""
    if aval.dtype == dtype:
        return True
    if numbers_are_strong() and not aval.shape:
        return aval.dtype.kind != "b"
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float | complex) or isinstance(value, np.generic):
        return False
    found = np.asarray(value).astype(dtype).item()
    return bool(found == value) or bool(np.isnan(value))


def _fits(value: Any, aval: Any, dtype: Any) -> bool:
    """Whether a value that the function returns is, in the dtype of the other way, what it is in Python."""
    if aval.dtype == dtype:
        return True
    value = plain(value)
    if not aval.weak_type or not isinstance(value, bool | int | float | complex):
        return False
    if isinstance(value, bool) != (dtype == jnp.bool_) or (isinstance(value, int) and dtype.kind not in "iu"):
        return False
    found = np.asarray(value).astype(dtype).item()
    return bool(found == value) or bool(np.isnan(value))


def _shape(shape: tuple[int, ...]) -> str:
    return f"an array of shape {shape}" if shape else "a number"


def _what(name: str, places: list[tuple[Any, ...]] | None) -> str:
    if places is None:
        return f"'{name}' is" if name else "the value is"
    lines = list(dict.fromkeys(each.line for group in places for each in group))
    told = " and ".join(f"line {line}" for line in lines)
    return f"the function returns ({told})"


def _help(places: list[tuple[Any, ...]] | None) -> str:
    if places is None:
        return "bind the name to one type and shape on both ways, as in 1.0 or float(k) for 1 or k, or use two names"
    return "let every `return` give as many values, each of one shape and dtype: 1.0 rather than 1 beside floats"


def _kind(value: Any) -> str:
    if isinstance(value, Array) and value.is_scalar:
        return f"a number ({value.dtype})"
    if isinstance(value, Array):
        return f"an array of shape {value.shape}"
    if value is None:
        return "None"
    if isinstance(value, bool | int | float | complex | str):
        return f"{value!r}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"  # pyright: ignore[reportUnknownArgumentType]
    return f"an object of {type(value).__name__}"


def _zeros(ways: tuple[Any, Any], type_: tuple[Any, tuple[int, ...]]) -> Any:
    dtype, shape = type_
    if dtype is not None:
        return jnp.zeros(shape, dtype)
    there = aval_of(next(each for each in ways if each is not NOTHING)).dtype
    return converted(np.dtype(there).type(0).item(), None, shape)
