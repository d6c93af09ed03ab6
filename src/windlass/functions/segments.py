"""A run of statements of a function as a program: it takes what the names hold, and gives what they hold afterwards.

All is as if Python had run the statements: arrays that they write are written in place, names of one array are names of
one array, and views of it are views. Where that can't be had the statements are no program (`CannotLeave`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import jax
import numpy as np
from jax.core import Tracer
from numpy.typing import NDArray

from windlass.frontends.arrays import Array as TracedArray
from windlass.frontends.arrays.array import wrapped
from windlass.frontends.arrays.needed_integers import integers_needed
from windlass.frontends.arrays.random_state import warn_of_draws
from windlass.frontends.arrays.states import UNDEFINED
from windlass.frontends.arrays.tracing import Storage, Tracing
from windlass.frontends.arrays.unknown_lengths import UnknownLength
from windlass.frontends.arrays.unsure import Unsure
from windlass.functions.compiled_call import CompiledCall, Options
from windlass.functions.snapshots import CONSTANTS, FIXED, Rebuilt, Snapshot, slices_for
from windlass.functions.specialization import IntegersNeeded

Way: TypeAlias = tuple[Any, ...]
"""How a value is made of what a program gives and what it was given."""


class CannotLeave(Exception):
    """What a name holds after statements that Python could not have from a program; the text says what it is."""

    def __init__(self, name: str | None, what: str) -> None:
        super().__init__(what)
        self.name = name


class CheckFailed(Exception):
    """What the program looked at as it ran does not hold: Python says it better."""


class Segment(CompiledCall):
    """The program. `results` are the names whose values it gives; None for what the statements return."""

    def __init__(
        self,
        options: Options,
        function: Callable[..., Any],
        snapshot: Snapshot,
        results: Sequence[str] | None,
        static: Sequence[int] = (),
    ) -> None:
        self._segment = function
        self._form = snapshot.form
        self._results = results
        self._static = {number: snapshot.leaves[number] for number in static}
        self.ways: list[Way] = []
        """What becomes of each result."""
        self.has_scalars = False
        """Whether numbers are among the results: of which kind Python's would be, the first run in Python tells."""
        self.kinds: dict[Way, type] | None = None
        self.has_run = False
        self.runs = 0
        """How often it has run since it was compiled."""
        self.best = math.inf
        """Seconds that the fastest of these took."""
        self.is_slower_than_python = False
        self.python = math.inf
        """Seconds that Python took when it ran first."""
        self.slow_runs = 0
        """How often Python, which was faster once, took many times what the program does."""
        leaves = [leaf for number, leaf in enumerate(snapshot.leaves) if number not in self._static]
        super().__init__(options, leaves, None)

    def call(self, snapshot: Snapshot) -> list[Any]:
        """What the names hold, or the value that is returned, after the statements.

        Raises CheckFailed, with nothing changed.
        """
        leaves = [leaf for number, leaf in enumerate(snapshot.leaves) if number not in self._static]
        found, staged = self.execute(self.inputs(leaves))
        if self._has_checks:
            *found, failure = found
            if int(failure):
                self.give_back(staged)
                raise CheckFailed
        giving = _Giving(snapshot, found, self.kinds)
        count = len(found) - len(self._written)
        values = [giving.value(way) for way in self.ways]
        for index, result in zip(self._written, found[count:], strict=True):
            np.copyto(leaves[index], np.asarray(result))
        self.give_back(staged)
        self.has_run = True
        return values

    def observe(self, values: Sequence[Any]) -> bool:
        """Learn of which kinds numbers are from what Python gave; whether all else is as the program gives it."""
        kinds: dict[Way, type] = {}
        is_alike = all(_observe(way, value, kinds) for way, value in zip(self.ways, values, strict=True))
        self.kinds = kinds
        return is_alike

    # -- tracing ------------------------------------------------------------------------------------------------------

    def _leaf_names(self, leaves: Sequence[Any]) -> list[str]:
        return [""] * len(leaves)

    def _refuse_read_only(self, leaves: Sequence[Any]) -> None:
        return  # writes to such arrays were refused where they stand

    def _trace_function(self, values: Sequence[Any], tracing: Tracing) -> Any:
        tracing.is_part = True
        count = len(self._form[2])
        arrays: list[TracedArray] = []
        given = iter(zip(values, self._strides, self._is_read_only, self._is_numpy, self._is_array, strict=True))
        leaves: list[Any] = []
        for number in range(len(values) + len(self._static)):
            if number in self._static:
                leaves.append(self._static[number])
                continue
            value, strides, is_read_only, is_numpy, is_array = next(given)
            array = wrapped(value, is_array)
            if strides is not None:
                array.lie(strides)
            if is_read_only:
                array.setflags(write=False)
            array.storage.is_callers = is_numpy
            arrays.append(array)
            leaves.append(array)
        before = [array.storage.value for array in arrays]
        rebuilt = Rebuilt(self._form, leaves[:count], leaves[count:])
        with warn_of_draws(self._segment):
            try:
                outcome = self._segment(rebuilt.values)
            except Exception as error:
                needed = integers_needed(error, tracing)
                if needed:
                    numbers = [number for number in range(len(leaves)) if number not in self._static]
                    raise IntegersNeeded([numbers[each] for each in needed], error) from error
                raise
        taking = _Taking(leaves, rebuilt)
        if self._results is None:
            self.ways = [taking.way(outcome, None)]
        else:
            self.ways = [taking.way(each, name) for name, each in zip(self._results, outcome, strict=True)]
        self.has_scalars = taking.has_scalars
        self._written = [index for index, array in enumerate(arrays) if array.storage.value is not before[index]]
        if any(not self._is_numpy[index] for index in self._written):
            raise CannotLeave(None, "a write to an array of JAX's")
        self._has_checks = tracing.has_checks
        failures = [tracing.failure.value] if self._has_checks else []
        self._results_are_arrays = []
        return taking.found, [arrays[index].storage.value for index in self._written], failures


class _Taking:
    """Collects what a program has to give for the values that names hold at its end."""

    def __init__(self, leaves: Sequence[Any], rebuilt: Rebuilt) -> None:
        self.found: list[Any] = []
        self.has_scalars = False
        self._same = {id(each): number for number, each in enumerate(rebuilt.arrays)}
        self._numbers = {id(leaf): number for number, leaf in enumerate(leaves)}
        self._storages: dict[Storage, int] = {}
        for number, leaf in enumerate(leaves):
            if isinstance(leaf, TracedArray):
                self._storages[leaf.storage] = number
        self._fresh: dict[Storage, tuple[int, Any]] = {}
        self._cut: set[Storage] = set()
        """Memories of arrays whose length data decide."""
        self._objects = {id(each): number for number, each in rebuilt.objects.items()}
        self._made: dict[int, int] = {}
        self._kept: list[Any] = []

    def way(self, value: Any, name: str | None) -> Way:
        if value is UNDEFINED:
            return ("unbound",)
        if isinstance(value, Unsure):
            raise CannotLeave(name, "a name that may be unbound")
        if id(value) in self._same:
            return "array", self._same[id(value)]
        if id(value) in self._numbers and isinstance(value, TracedArray):
            return "leaf", self._numbers[id(value)]
        if isinstance(value, UnknownLength):
            return self._of_unknown_length(value, name)
        if isinstance(value, TracedArray):
            return self._scalar(value) if value.is_scalar else self._array(value, name)
        if isinstance(value, Tracer | jax.Array):
            self.found.append(value)
            return "jax", len(self.found) - 1
        if isinstance(value, np.ndarray):
            raise CannotLeave(name, "an array of NumPy's own")
        if id(value) in self._objects:
            return "object", self._objects[id(value)]
        return self._plain(value, name)

    def _plain(self, value: Any, name: str | None) -> Way:
        kind = type(value)
        self._kept.append(value)
        if kind in (int, float, complex, bool) or isinstance(value, (np.generic, *CONSTANTS)):
            return "constant", value
        if kind is tuple or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            items = cast("Sequence[Any]", value)
            return "tuple", kind, tuple(self.way(each, name) for each in items)
        if kind in (list, dict):
            number = self._made.get(id(value))
            if number is not None:
                return "again", number
            number = self._made[id(value)] = len(self._made)
            if kind is list:
                return "list", number, tuple(self.way(each, name) for each in value)
            table = cast("dict[Any, Any]", value)
            return "dict", number, tuple(table), tuple(self.way(each, name) for each in table.values())
        if isinstance(value, FIXED) and getattr(value, "__closure__", None) is None:
            return "constant", value
        raise CannotLeave(name, f"an object of {kind.__name__}")

    def _scalar(self, value: TracedArray) -> Way:
        self.has_scalars = True
        self.found.append(value.value)
        return "scalar", len(self.found) - 1

    def _of_unknown_length(self, value: UnknownLength, name: str | None) -> Way:
        memory = value.memory
        if memory.may_be:
            raise CannotLeave(name, "an array that may be one of several")
        if memory in self._cut or memory in self._storages or memory in self._fresh or value.has_views:
            raise CannotLeave(name, "a view of an array whose length data decide")
        if id(value) in self._made:
            return "again", self._made[id(value)]
        self._kept.append(value)
        self._cut.add(memory)
        number = self._made[id(value)] = len(self._made)
        parts, leaving = value.leave()
        self.found += parts
        return "cut", number, len(self.found) - len(parts), leaving

    def _array(self, value: TracedArray, name: str | None) -> Way:
        if value.storage in self._cut:
            raise CannotLeave(name, "a view of an array whose length data decide")
        if value.storage.may_be or not value.storage.has_known_order:
            raise CannotLeave(name, "an array that may be one of several")
        root, offset = layout_of(value)
        if value.is_whole and value.storage not in self._storages:
            root, offset = value.shadow, 0
        elif not value.is_static:
            raise CannotLeave(name, "a view at a place that data tell")
        shadow = value.shadow
        place = (offset, shadow.shape, shadow.strides, shadow.dtype, shadow.flags.writeable)
        number = self._storages.get(value.storage)
        if number is not None:
            return "view", number, place
        layout = (root.shape, root.strides, root.dtype)
        if value.storage not in self._fresh:
            whole = value.storage.value
            if root.shape != whole.shape or root.dtype != whole.dtype:
                raise CannotLeave(name, "a view of an array that is not known")
            self._fresh[value.storage] = len(self.found), layout
            self.found.append(whole)
        number, first = self._fresh[value.storage]
        if first != layout:
            raise CannotLeave(name, "a view of an array that is not known")
        return "fresh", number, layout, place


def layout_of(value: TracedArray) -> tuple[NDArray[Any], int]:
    """The shadow of the memory that an array shows a part of, and where in it the array begins, in bytes."""
    root = value.shadow
    while isinstance(root.base, np.ndarray):
        root = root.base
    return root, value.shadow.__array_interface__["data"][0] - root.__array_interface__["data"][0]


class _Giving:
    """Makes values of what a program has given."""

    def __init__(self, snapshot: Snapshot, found: Sequence[Any], kinds: Mapping[Way, type] | None) -> None:
        self._snapshot = snapshot
        self._found = found
        self._kinds = kinds or {}
        self._wholes: dict[int, NDArray[Any]] = {}
        self._made: dict[int, Any] = {}

    def value(self, way: Way) -> Any:
        match way:
            case ("array", number):
                return self._snapshot.arrays[number]
            case ("leaf", number):
                return self._snapshot.leaves[number]
            case ("fresh", number, whole, place):
                return self._fresh(number, whole, place)
            case ("view", number, place):
                return view_at(self._snapshot.leaves[number], place)
            case ("scalar", number):
                value = np.asarray(self._found[number])[()]
                kind = self._kinds.get(way)
                return value.item() if kind in (int, float, complex, bool) else value
            case ("constant", value):
                return value
            case ("object", number):
                return self._snapshot.objects[number]
            case ("cut", number, first, leaving):
                self._made[number] = leaving.array(self._found[first : first + leaving.count])
                return self._made[number]
            case ("tuple", kind, items):
                made = [self.value(each) for each in items]
                return tuple(made) if kind is tuple else kind(*made)
            case ("again", number):
                return self._made[number]
            case ("list", number, items):
                self._made[number] = found = cast("list[Any]", [])
                found.extend(map(self.value, items))
                return found
            case ("dict", number, keys, items):
                self._made[number] = table = cast("dict[Any, Any]", {})
                table.update(zip(keys, map(self.value, items), strict=True))
                return table
            case ("jax", number):
                return self._found[number]
            case _:
                return UNDEFINED

    def _fresh(self, number: int, whole: Any, place: Any) -> NDArray[Any]:
        shape, strides, dtype = whole
        if number not in self._wholes:
            axes = sorted(range(len(shape)), key=lambda axis: -strides[axis])
            held = np.empty([shape[axis] for axis in axes], dtype)
            made = held.transpose(np.argsort(axes)) if axes else held
            made[...] = np.asarray(self._found[number])
            self._wholes[number] = made
        made = self._wholes[number]
        if place[1:4] == (made.shape, made.strides, made.dtype):
            if not place[4] and made.flags.writeable:
                made = made.view()
                made.flags.writeable = False
            return made
        return view_at(made, place)


def view_at(root: NDArray[Any], place: Any) -> NDArray[Any]:
    """The view of an array that lies so in its memory."""
    offset, shape, strides, dtype, is_writeable = place
    found = None
    if dtype == root.dtype:
        index = slices_for(root.shape, root.strides, offset, shape, strides)
        if index is not None:
            found = root[index[0]].transpose(index[1]) if len(shape) > 1 else root[index[0]]
            if found.shape != shape or found.strides != strides:
                found = None
    if found is None:
        found = np.asarray(_Placed(root, offset, shape, strides, dtype))
    if not is_writeable:
        found.flags.writeable = False
    return found


class _Placed:
    """A part of an array's memory, for NumPy to see."""

    def __init__(self, root: NDArray[Any], offset: int, shape: Any, strides: Any, dtype: np.dtype) -> None:
        self.root = root
        first, is_read_only = root.__array_interface__["data"]
        self.__array_interface__ = {
            "data": (first + offset, is_read_only),
            "shape": shape,
            "strides": strides,
            "typestr": dtype.str,
            "version": 3,
        }


def _observe(way: Way, value: Any, kinds: dict[Way, type]) -> bool:
    match way:
        case ("scalar", _):
            kinds[way] = type(value)
            return isinstance(value, np.generic | int | float | complex)
        case ("fresh", _, _, (_, shape, _, dtype, _)):
            return isinstance(value, np.ndarray) and (value.shape, value.dtype) == (shape, dtype)
        case ("tuple", _, items) | ("list", _, items):
            is_one = isinstance(value, tuple | list) and len(value) == len(items)
            return is_one and all(_observe(each, one, kinds) for each, one in zip(items, value, strict=True))
        case ("dict", _, keys, items):
            is_one = isinstance(value, dict) and tuple(value) == keys
            return is_one and all(_observe(each, one, kinds) for each, one in zip(items, value.values(), strict=True))
        case ("unbound",):
            return value is UNDEFINED
        case _:
            return value is not UNDEFINED
