"""What a compiled form of a launch depends on, as a key that is cheap to make at every call.

A form made for one call serves all calls with an equal key, so the key holds everything that checks and raising look
at: the dtype, shape and layout of arrays, the values of integers that are compiled in, and the type of everything else.
Numbers that reach the program as its arguments (floats, mostly) are read and checked at each call instead.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import WindlassError
from windlass.diagnostics.deferral import deferred
from windlass.runtime.arguments import check_argument
from windlass.runtime.binding import known_bytes
from windlass.runtime.memories import root_offset

if TYPE_CHECKING:
    import jax

    from windlass.ir.signature import KernelSignature, Parameter
else:
    jax = deferred("jax")

Array: TypeAlias = NDArray[Any]

OWNS_DATA = 0x4
"""NumPy's flag of arrays that own their memory: two different ones can't overlap."""


class Role(IntEnum):
    """What of an argument a form depends on."""

    ARRAY = 0
    VALUE = 1
    """A number that is compiled in."""
    TYPE = 2
    """A number that the program takes as an argument."""
    RECORD = 3
    """A struct: its integers are compiled in."""


def role_of(parameter: Parameter) -> Role:
    """The role of a parameter whose value, if it is an integer, is compiled in."""
    if parameter.kind == "pointer":
        return Role.ARRAY
    if parameter.kind == "record":
        return Role.RECORD
    return Role.VALUE if parameter.dtype is None or parameter.dtype.kind in "biu" else Role.TYPE


class CallKeys:
    """Makes the keys of one kernel's calls.

    With `takes_values` arrays and numbers may be JAX values, arrays are values too (where they lie does not matter),
    and JAX's x64 flag is part of the key. The type of a tracer is in the key, so that no key of concrete values is
    equal to one with tracers. What fits no parameter has a key that is equal to no other: such a call is checked, and
    refused, every time.
    """

    __slots__ = ("_quick", "_roles", "_signature", "_takes_values", "alignment", "variables")

    def __init__(self, signature: KernelSignature, *, takes_values: bool) -> None:
        self._signature = signature
        self._takes_values = takes_values
        self._roles = tuple(role_of(parameter) for parameter in signature.parameters)
        self._quick = None if takes_values else quick_key(self._roles)
        self.variables: tuple[Array, ...] = ()
        """The device variables that the kernel uses: an argument may lie in one of them."""
        self.alignment = 1
        """The multiple that the addresses of vectors have to be, which views into arrays may not give them."""

    def leave_out(self, positions: Collection[int]) -> None:
        """From now on the values of the integers at these positions are no part of the key."""
        self._roles = tuple(Role.TYPE if position in positions else role for position, role in enumerate(self._roles))
        self._quick = None if self._takes_values else quick_key(self._roles)

    def key(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The key of a call with one argument per parameter."""
        if self._quick is not None:
            key = self._quick(*arguments)
            if key is not None:
                return key
        return self._full_key(arguments)

    def _full_key(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        key: list[Any] = []
        arrays: list[Array] = []
        owned = OWNS_DATA
        roles = self._roles
        for position, argument in enumerate(arguments):
            role = roles[position]
            kind: type = type(argument)
            if role is ARRAY:
                if kind is np.ndarray:
                    flags = argument.flags.num
                    owned &= flags
                    arrays.append(argument)
                    key += (argument.dtype, argument.shape, flags)
                elif argument is None:
                    key.append(None)
                elif isinstance(argument, np.ndarray):
                    owned = 0  # memory-mapped files and the like: two of them may be the same memory
                    arrays.append(cast("Array", argument))
                    key += (kind, argument.dtype, argument.shape, argument.flags.num)
                elif isinstance(argument, jax.Array):
                    key += (kind, argument.dtype, argument.shape)
                else:
                    key.append(kind)
            elif role is TYPE:
                key.append(kind)
                if self._takes_values and isinstance(argument, jax.Array):
                    key += (argument.dtype, argument.shape)
            elif role is VALUE:
                if kind is int:
                    key += (int, argument)
                else:
                    key += self._known_value(kind, argument)
            else:
                key += self._record(position, argument)
        if self.alignment > 1 and not owned and not self._takes_values:
            key.append(tuple(root_offset(array) % self.alignment for array in arrays))
        if self._takes_values:
            key.append(jax.config.read("jax_enable_x64"))
            if arrays and self.variables and not owned:
                key.append(overlaps([*arrays, *self.variables]))
        elif self.variables:
            if arrays and (not owned or len(set(map(id, arrays))) < len(arrays)):
                key.append(overlaps([*arrays, *self.variables]))
        elif len(arrays) > 1 and (not owned or len(set(map(id, arrays))) < len(arrays)):
            key.append(overlaps(arrays))
        return tuple(key)

    def _known_value(self, kind: type, argument: Any) -> tuple[Any, ...]:
        """The key of an integer that is compiled in and is no Python integer."""
        if self._takes_values and isinstance(argument, jax.Array):
            return (kind, argument.dtype, argument.shape)
        if isinstance(argument, np.integer | np.bool_ | bool):
            return (kind, argument)
        try:
            return (kind, operator.index(argument))
        except (TypeError, WindlassError):
            return (kind, object())

    def _record(self, position: int, argument: Any) -> tuple[Any, ...]:
        parameter = self._signature.parameters[position]
        try:
            checked = check_argument(self._signature, parameter, argument)
        except WindlassError:
            return (type(argument), object())
        return (type(argument), known_bytes(parameter, cast("np.generic", checked)))


ARRAY, VALUE, TYPE, RECORD = Role


NUMBERS = frozenset((int, *(np.dtype(code).type for code in "bhilqBHILQ")))
"""Types of integers that don't change and are equal to no other number of their type."""
QUICK = object()
"""Begins each quick key, and no other."""


@cache
def quick_key(roles: tuple[Role, ...]) -> Callable[..., tuple[Any, ...] | None] | None:
    """A function of a launch's arguments that gives their key if they are arrays which own their memory, all different,
    and plain numbers; None for others. There is none for structs.

    That most calls are made with such is worth a function for each kind of parameter list, which takes a third of the
    time: Python's text of it is put together here, of nothing but positions.

    >>> key, x = quick_key((ARRAY, VALUE, TYPE)), np.zeros((4, 5), np.float32)
    >>> key(x, 7, 1.5)[1:]
    (dtype('float32'), (4, 5), 1285, <class 'int'>, 7, <class 'float'>)
    >>> key(x[1:], 7, 1.5), key(x, True, 1.5), key(x, "7", 1.5)
    (None, None, None)
    """
    if RECORD in roles:
        return None
    names = [f"a{position}" for position in range(len(roles))]
    arrays = [name for name, role in zip(names, roles, strict=True) if role is ARRAY]
    tests: list[str] = []
    parts = ["QUICK"]
    for name, role in zip(names, roles, strict=True):
        if role is ARRAY:
            tests.append(f"type({name}) is ndarray")
            tests.append(f"({name}_flags := {name}.flags.num) & {OWNS_DATA}")
            parts += [f"{name}.dtype", f"{name}.shape", f"{name}_flags"]
        else:
            parts.append(f"type({name})")
            if role is VALUE:
                tests.append(f"type({name}) in NUMBERS")
                parts.append(name)
    if len(arrays) > 1:
        tests.append(f"len({{{', '.join(f'id({name})' for name in arrays)}}}) == {len(arrays)}")
    text = f"lambda {', '.join(names)}: ({', '.join(parts)},) if {' and '.join(tests) or 'True'} else None"
    return eval(text, {"NUMBERS": NUMBERS, "QUICK": QUICK, "ndarray": np.ndarray})


def overlaps(arrays: Sequence[Array]) -> tuple[tuple[int, int], ...] | None:
    """Where each array lies relative to the others it overlaps with; None if none do.

    >>> memory = np.zeros(8, np.uint8)
    >>> overlaps([memory[:4], memory[2:6], memory[6:]])
    ((0, 0), (0, 2), (2, 0))
    >>> overlaps([memory[:4], memory[4:]])
    """
    starts = [array.__array_interface__["data"][0] for array in arrays]
    ends = [start + array.nbytes for start, array in zip(starts, arrays, strict=True)]
    spans = sorted(zip(starts, ends, range(len(arrays)), strict=True))
    groups: list[tuple[int, int]] = [(0, 0)] * len(arrays)
    group, first, end = -1, 0, -1
    overlapping = False
    for start, stop, index in spans:
        if start >= end:
            group, first = index, start
        else:
            overlapping = True
        end = max(end, stop)
        groups[index] = (group, start - first)
    return tuple(groups) if overlapping else None
