"""Python's own things where the program branches: lists, dictionaries, sets, attributes, names of functions around.

A loop or branch of the program runs its body to see what it does, once and not as often as the program will; only what
arrays hold is put back afterwards. So within one nothing else may be changed that is from outside of it. And where two
ways met that bind a name to two lists, what the name holds is a third one: it may be read, and whoever changes
it, or one of the two, is refused (WL0908), as arrays are (see `sharing.py`).
"""

from __future__ import annotations

import collections
import copy
import dis
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any, cast

import numpy as np

from windlass.diagnostics import Diagnostic, Position, WindlassError
from windlass.frontends.arrays.array import Array
from windlass.frontends.arrays.elements import Flags, Flat
from windlass.frontends.arrays.states import NotCapturable
from windlass.frontends.arrays.tracing import Tracing, current_tracing
from windlass.frontends.arrays.unknown_lengths import UnknownLength

BINDING = ("STORE_DEREF", "STORE_GLOBAL", "DELETE_DEREF", "DELETE_GLOBAL")
"""Instructions that bind names outside of a function, or unbind them."""
KEPT = "change it before or after, make it in the same branch, or keep the numbers in an array: x[k] = value"
"""What helps where a list, dictionary or object is changed on a way that may not be taken."""
ENTRY_POINTS = ("changing", "changing_in_place", "is_same", "made")
"""What captured functions call."""
CONTAINERS = (list, dict, set, bytearray, collections.deque)
MAKERS: tuple[Any, ...] = (
    *CONTAINERS, sorted, copy.copy, copy.deepcopy, collections.OrderedDict, collections.defaultdict,
    collections.Counter,
)  # fmt: skip
"""Functions that give a new container in each call."""

# -- what captured functions call -------------------------------------------------------------------------------------


def made(value: Any) -> Any:
    """A container that the user's code has just made: what made it may change it."""
    tracing = current_tracing()
    if tracing is not None and isinstance(value, CONTAINERS):
        tracing.made[id(value)] = (value, tracing.level)
    return value


def changing(owner: Any, is_outside: bool) -> None:
    """Say that an element or attribute of `owner` is about to be written, which only arrays can undo.

    Raises NotCapturable where that is something else within a loop or branch of the program, and WindlassError
    (WL0907) for a NumPy array from outside of the function, (WL0908) for one of several lists.
    """
    if isinstance(owner, Array | Flat | Flags | UnknownLength):
        return
    tracing = current_tracing()
    if tracing is None:
        return
    if is_outside and isinstance(owner, np.ndarray):
        raise WindlassError(
            Diagnostic(
                "WL0907",
                "a NumPy array from outside the compiled function is written: later calls would not do it again",
                help="pass the array to the compiled function as an argument",
            )
        )
    _expect_changeable(tracing, owner)


def changing_in_place(value: Any) -> Any:
    """Say that `name += ...` is about to be done with the value, which changes a container."""
    if isinstance(value, CONTAINERS):
        changing(value, False)
    return value


def is_same(left: Any, right: Any) -> bool:
    """`left is right`.

    Raises WindlassError (WL0908) where that is known only as the program runs.
    """
    tracing = current_tracing()
    if left is not right and tracing is not None:
        may_be = isinstance(left, Array) and isinstance(right, Array) and right.storage in left.storage.may_be
        if may_be or (id(left) in tracing.met and id(right) in tracing.met):
            raise WindlassError(
                Diagnostic(
                    "WL0908",
                    "it is not known whether these are one object: a loop or branch left a name as one of several",
                    help="compare what they hold",
                )
            )
    return left is right


# -- calls ------------------------------------------------------------------------------------------------------------


def call_watched(
    tracing: Tracing, function: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any], run: Any
) -> Any:
    """What `run()` gives, a call of a function that is not the user's, which must not change what may not be changed.

    Raises NotCapturable and WindlassError (WL0908), with all as it was.
    """
    if function is setattr or function is delattr:
        changing(arguments[0], False)
    if function is next and tracing.is_within_branch():
        raise NotCapturable("an iterator goes on within it")
    given = (getattr(function, "__self__", None), *arguments, *named.values())
    held = [each for each in given if isinstance(each, CONTAINERS) and not _may_be_changed(tracing, each)]
    before = [copy.copy(each) for each in held]
    found = run()
    for each, one in zip(held, before, strict=True):
        if not are_alike(each, one):
            put_back: Any = each
            put_back.clear()
            (put_back.update if isinstance(each, dict | set) else put_back.extend)(one)
            _expect_changeable(tracing, each)
    if isinstance(function, type) or any(function is each for each in MAKERS) or _makes_lists(function):
        tracing.made[id(found)] = (found, tracing.level)
    return found


def _makes_lists(function: Any) -> bool:
    """Whether it is a method or a function of NumPy's that gives a new container."""
    if isinstance(getattr(function, "__self__", None), str | bytes | np.ndarray | Array | list | dict | set):
        return function.__name__ in ("split", "splitlines", "rsplit", "tolist", "copy", "union", "intersection")
    return str(getattr(function, "__module__", "")).partition(".")[0] in ("numpy", "jax")


def expect_own_names(tracing: Tracing, code: CodeType) -> None:
    """Raises NotCapturable for a function that binds names from outside of it, within a loop or branch, and
    WindlassError (WL0910) for one that binds globals."""
    names = _outer_names(code)
    if names and tracing.is_within_branch():
        raise NotCapturable(
            f"'{code.co_name}' is called within it, which binds '{names[0]}' outside of itself",
            f"let it return the new value: {names[0]} = {code.co_name}(...)",
        )
    refuse_outer_names(code, [name for name in names if name not in code.co_freevars])


def expect_no_outer_names(code: CodeType) -> None:
    """Raises WindlassError (WL0910) for a function to be compiled that binds names from outside of it."""
    refuse_outer_names(code, _outer_names(code))


def refuse_outer_names(code: CodeType, names: Sequence[str]) -> None:
    """Raises WindlassError (WL0910) where there are such names."""
    if names:
        raise WindlassError(
            Diagnostic(
                "WL0910",
                f"'{code.co_name}' binds '{names[0]}' outside of itself",
                _place_of_binding(code, names[0]),
                notes=("a program would do it once for all calls, while it is compiled",),
                help="return the value; without whole=True Python does it, each time",
            )
        )


def _place_of_binding(code: CodeType, name: str) -> Position:
    """Where a function first binds the name."""
    found = next(each for each in dis.get_instructions(code) if each.opname in BINDING and each.argval == name)
    place = found.positions
    if place is None or place.lineno is None or place.col_offset is None:
        return Position(code.co_filename, code.co_firstlineno)
    return Position(code.co_filename, place.lineno, place.col_offset + 1)


@functools.cache
def _outer_names(code: CodeType) -> tuple[str, ...]:
    stored = [each for each in dis.get_instructions(code) if each.opname in BINDING]
    return tuple(each.argval for each in stored if each.argval not in code.co_cellvars)


def _expect_changeable(tracing: Tracing, owner: Any) -> None:
    if id(owner) in tracing.met:
        raise WindlassError(
            Diagnostic(
                "WL0908",
                f"it is not known which {type(owner).__name__} is changed: a loop or branch left a name as one of "
                "several",
                notes=("which it is, is known as the program runs",),
                help="bind a copy where it is changed, as in items = list(items), or change it before",
            )
        )
    if not _may_be_changed(tracing, owner):
        kind = type(owner)
        if tracing.is_outside(owner):
            raise WindlassError(
                Diagnostic(
                    "WL0910",
                    f"an object of {kind.__name__} that the function did not make is changed",
                    notes=("a program would change it once for all calls, while it is compiled",),
                    help="return the new value; without whole=True Python changes it, each time",
                )
            )
        name = "a NumPy array that the function did not make" if kind is np.ndarray else f"an object of {kind.__name__}"
        raise NotCapturable(f"{name} is changed within it", KEPT)


def _may_be_changed(tracing: Tracing, owner: Any) -> bool:
    if id(owner) in tracing.met:
        return False
    if tracing.is_outside(owner):
        return False
    return not tracing.is_within_branch() or tracing.made.get(id(owner), (None, None))[1] == tracing.level


def are_alike(one: Any, other: Any) -> bool:
    """Whether two containers hold the same objects, in the same order."""
    if len(one) != len(other):
        return False
    if isinstance(one, dict):
        pairs = zip(one.items(), other.items(), strict=True)
        return all(key is key2 and value is value2 for (key, value), (key2, value2) in pairs)
    if isinstance(one, set | bytearray):
        return one == other
    return all(each is each2 for each, each2 in zip(one, other, strict=True))


# -- where ways meet --------------------------------------------------------------------------------------------------


def note_met(value: Any, ways: Sequence[Any], outside: set[int]) -> None:
    """Note that the containers in a value were made anew where these ways met.

    `outside` are the containers, by their identity, that were made before the ways parted.
    """
    tracing = current_tracing()
    if tracing is None:
        return
    first = [each for way in ways for each in containers_in(way)]
    is_new = all(id(each) in tracing.made and id(each) not in outside for each in first)
    for each in containers_in(value):
        tracing.made[id(each)] = (each, tracing.level)
    if not is_new:
        for each in (*containers_in(value), *first):
            tracing.met[id(each)] = each


def containers_in(value: Any) -> Iterator[Any]:
    """The lists, dictionaries and the like that a value is made of."""
    if isinstance(value, CONTAINERS):
        yield value
    if isinstance(value, list | tuple | dict):
        items = cast("Any", value)
        for each in items.values() if isinstance(value, dict) else items:
            yield from containers_in(each)
