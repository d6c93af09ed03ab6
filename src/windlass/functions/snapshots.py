"""What the names of a function hold, taken apart into arrays and numbers, and put together again of others.

A run of statements that becomes a program takes the values of its names. Arrays among them may be views of one another,
lists may be in one another, objects have attributes: `Snapshot` has them as leaves, which the program takes, and as a
form, which is hashable; two snapshots of one form share a program.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import jax
import numpy as np
from jax.core import Tracer
from numpy.typing import NDArray

from windlass.frontends.arrays.tracing import is_of_users_file, is_users_own
from windlass.frontends.arrays.view_functions import strided_view
from windlass.functions.leaves import is_no_element

Form: TypeAlias = tuple[Any, ...]
CONSTANTS = (str, bytes, type(None), type(Ellipsis), type(NotImplemented), np.dtype, slice, range, frozenset)
"""Objects that nobody changes, and that are alike if they are equal."""
FIXED = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type, np.ufunc,
    type(np.linalg.norm), types.MethodWrapperType, types.MethodDescriptorType, types.WrapperDescriptorType,
)  # fmt: skip
"""Objects that are what they are: compared by identity."""
MOST_ITEMS = 4096
"""Containers of more are left to Python."""


class NoSnapshot(Exception):
    """A value that can't be taken apart; the text says what it is, and `name` which name holds it."""

    name: str | None = None


class Snapshot:
    """The values of names, taken apart."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.objects: dict[int, Any] = {}
        """The lists, dictionaries and objects among them, by their numbers."""
        self.numbers: list[Any] = []
        self.arrays: list[NDArray[Any]] = []
        self._array_numbers: dict[int, int] = {}
        self._object_numbers: dict[int, int] = {}
        self._left = MOST_ITEMS
        forms: list[Any] = []
        for name, value in values.items():
            try:
                forms.append((name, self._form(value)))
            except NoSnapshot as error:
                error.name = name
                raise
        self.roots, places = _with_roots(self.arrays)
        self.leaves: list[Any] = [*self.roots, *self.numbers]
        self.form: Form = (
            tuple(forms),
            tuple(places),
            tuple((each.shape, each.dtype, each.strides, each.flags.writeable) for each in self.roots),
        )

    def _form(self, value: Any) -> Any:
        kind = type(value)
        if kind is np.ndarray:
            return "array", self._array(value)
        if kind in (int, float, complex, bool) or isinstance(value, np.generic):
            return self._number(value, kind)
        if isinstance(value, jax.Array):
            if isinstance(value, Tracer):
                raise NoSnapshot("a value that JAX traces")
            self.numbers.append(value)
            return "jax", len(self.numbers) - 1, value.shape, value.dtype, value.weak_type
        if kind is tuple or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            return "tuple", kind, tuple(map(self._form, cast("Sequence[Any]", value)))
        if isinstance(value, CONSTANTS):
            try:
                hash(value)
            except TypeError:
                raise NoSnapshot(f"a {kind.__name__} of such things") from None
            return "constant", kind, value
        if isinstance(value, FIXED) or _is_ours(value):
            return "fixed", Identity(value), self._closure(value)
        return self._object(value)

    def _array(self, value: NDArray[Any]) -> int:
        dtype = value.dtype
        if dtype.names is not None or dtype.kind not in "biufcV" or is_no_element(dtype) or not dtype.isnative:
            raise NoSnapshot(f"an array of {dtype}")
        number = self._array_numbers.get(id(value))
        if number is None:
            number = self._array_numbers[id(value)] = len(self.arrays)
            self.arrays.append(value)
        return number

    def _number(self, value: Any, kind: type) -> Any:
        if isinstance(value, np.generic) and (value.dtype.kind not in "biufc" or is_no_element(value.dtype)):
            raise NoSnapshot(f"a number of {value.dtype}")
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise NoSnapshot(f"an integer of {value.bit_length()} bits")
        self.numbers.append(value)
        return "number", len(self.numbers) - 1, kind

    def _object(self, value: Any) -> Any:
        kind = type(value)
        number = self._object_numbers.get(id(value))
        if number is not None:
            return "again", number
        number = self._object_numbers[id(value)] = len(self._object_numbers)
        self.objects[number] = value
        if kind is list:
            self._count(value)
            return "list", number, tuple(map(self._form, value))
        if kind is dict:
            self._count(value)
            keys = tuple(value)
            if not all(isinstance(key, str | int | float | bool | tuple | type(None)) for key in keys):
                raise NoSnapshot("a dictionary with such keys")
            return "dict", number, keys, tuple(map(type, keys)), tuple(map(self._form, value.values()))
        if not _is_users_class(kind):
            raise NoSnapshot(f"an object of {kind.__name__}")
        kept = vars(value)
        self._count(kept)
        return "object", number, Identity(kind), tuple(kept), tuple(map(self._form, kept.values()))

    def _count(self, container: Any) -> None:
        self._left -= len(container)
        if self._left < 0:
            raise NoSnapshot(f"a {type(container).__name__} of very many things")

    def _closure(self, value: Any) -> Any:
        """What a function has around it, which may change."""
        if isinstance(value, types.MethodType):
            owner = value.__self__
            if isinstance(owner, type | types.ModuleType) or _is_ours(owner):
                return Identity(owner)
            raise NoSnapshot("a method of an object")
        if not isinstance(value, types.FunctionType) or not value.__closure__ or not is_users_own(value.__code__):
            return None
        found: list[Any] = []
        for cell in value.__closure__:
            try:
                held = cell.cell_contents
            except ValueError:
                raise NoSnapshot("a function that sees an unbound name") from None
            if held is value:
                continue
            is_plain = isinstance(held, CONSTANTS) or type(held) in (int, float, complex, bool)
            if not is_plain and not (isinstance(held, FIXED) or _is_ours(held)):
                raise NoSnapshot(f"a function that sees a {type(held).__name__} of the function around it")
            found.append((type(held), held) if is_plain else (Identity(held), self._closure(held)))
        return tuple(found)


class Identity:
    """An object by its identity, kept alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _is_ours(value: Any) -> bool:
    """Whether it is a kernel, a compiled function or the like, or a function that JAX made."""
    return type(value).__module__.partition(".")[0] in ("windlass", "jax", "jaxlib", "functools") and callable(value)


def _is_users_class(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None) or "<string>"
    has_only_attributes = "__getattr__" not in kind.__dict__ and kind.__dictoffset__ != 0
    return has_only_attributes and is_of_users_file(file) and kind.__basicsize__ <= object.__basicsize__ + 16


# -- arrays that share memory -----------------------------------------------------------------------------------------


def _with_roots(arrays: Sequence[NDArray[Any]]) -> tuple[list[NDArray[Any]], list[Form]]:
    """The arrays that a program takes: each for itself, or the one that several are views of; and for each array where
    it is among them.

    Raises NoSnapshot for arrays that share memory in another way.
    """
    roots: list[NDArray[Any]] = []
    places: list[Form] = [()] * len(arrays)
    for group in _overlapping(arrays):
        if len(group) == 1:
            places[group[0]] = (len(roots), None)
            roots.append(arrays[group[0]])
            continue
        (root, *others) = {id(each): each for each in (root_of(arrays[number]) for number in group)}.values()
        if others or type(root) is not np.ndarray or root.dtype.names is not None or root.dtype.kind not in "biufc":
            raise NoSnapshot("arrays that share memory in a way that is not known")
        for number in group:
            each = arrays[number]
            place = None
            if each is not root:
                offset = each.__array_interface__["data"][0] - root.__array_interface__["data"][0]
                place = (offset, each.shape, each.strides, each.dtype, each.flags.writeable)
            places[number] = (len(roots), place)
        roots.append(root)
    return roots, places


def root_of(array: NDArray[Any]) -> NDArray[Any]:
    """The array that this is a view of, or it itself."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _overlapping(arrays: Sequence[NDArray[Any]]) -> list[list[int]]:
    """The numbers of the arrays, those together that may share memory."""
    if len(arrays) < 2 or all(each.flags.owndata for each in arrays):
        return [[number] for number in range(len(arrays))]
    bounds = sorted((*np.lib.array_utils.byte_bounds(each), number) for number, each in enumerate(arrays))
    groups: list[list[int]] = []
    last = -1
    for start, stop, number in bounds:
        if start >= last:
            groups.append([])
        groups[-1].append(number)
        last = max(last, stop)
    return sorted(sorted(group) for group in groups)


# -- together again ---------------------------------------------------------------------------------------------------


class Rebuilt:
    """The values of a snapshot's form, made of other leaves; `objects` are those made for its lists and objects."""

    def __init__(self, form: Form, roots: Sequence[Any], numbers: Sequence[Any]) -> None:
        forms, places, _ = form
        self.objects: dict[int, Any] = {}
        self._numbers = numbers
        self.arrays = [_view_of(roots[place[0]], place[1]) for place in places]
        self.values: dict[str, Any] = {name: self._made(each) for name, each in forms}

    def _made(self, form: Any) -> Any:
        match form:
            case ("array", number):
                return self.arrays[number]
            case ("number", number, *_):
                return self._numbers[number]
            case ("jax", number, *_):
                value = self._numbers[number]
                return getattr(value, "value", value)
            case ("tuple", kind, items):
                made = [self._made(each) for each in items]
                return tuple(made) if kind is tuple else kind(*made)
            case ("constant", _, value):
                return value
            case ("fixed", identity, _):
                return identity.value
            case ("again", number):
                return self.objects[number]
            case ("list", number, items):
                self.objects[number] = found = cast("list[Any]", [])
                found.extend(map(self._made, items))
                return found
            case ("dict", number, keys, _, items):
                self.objects[number] = table = cast("dict[Any, Any]", {})
                table.update(zip(keys, map(self._made, items), strict=True))
                return table
            case ("object", number, identity, names, items):
                self.objects[number] = made = object.__new__(identity.value)
                vars(made).update(zip(names, map(self._made, items), strict=True))
                return made
            case _:
                raise AssertionError(form)


def _view_of(root: Any, place: Any) -> Any:
    """The traced array that lies in another as the place says."""
    if place is None:
        return root
    offset, shape, strides, dtype, is_writeable = place
    found = _sliced(root, offset, shape, strides) if dtype == root.dtype else None
    if found is None:
        if dtype != root.dtype or offset % root.itemsize:
            raise NoSnapshot("a view of another type")
        flat = root.T if root.flags.f_contiguous and not root.flags.c_contiguous else root
        found = strided_view(flat.reshape(-1)[offset // root.itemsize :], shape, strides)
    if not is_writeable:
        found.setflags(write=False)
    return found


def _sliced(root: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """The view by slices, a permutation and new axes, if there is one."""
    index = slices_for(root.shape, root.strides, offset, shape, strides)
    if index is None:
        return None
    slices, order = index
    return root[slices].transpose(order) if len(order) > 1 else root[slices]


def slices_for(
    extents: Sequence[int], distances: Sequence[int], offset: int, shape: Sequence[int], strides: Sequence[int]
) -> tuple[tuple[Any, ...], tuple[int, ...]] | None:
    """The index, and the order of axes after it, that give such a view of an array that lies so.

    >>> slices_for((4, 6), (48, 8), 56, (3, 2), (48, 16))
    ((slice(1, 4, 1), slice(1, 5, 2)), (0, 1))
    """
    if 0 in shape or 0 in extents:
        return None
    axes = sorted(range(len(extents)), key=lambda axis: -distances[axis])
    if any(each <= 0 for each in distances):
        return None
    # Views that go backwards begin at their last element.
    starts: dict[int, int] = {}
    rest = offset
    for axis in axes:
        starts[axis], rest = divmod(rest, distances[axis])
    if rest or any(starts[axis] >= extents[axis] for axis in axes):
        return None
    steps: dict[int, tuple[int, int]] = {}
    owner: dict[int, int] = {}
    for number, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        fitting = [
            axis
            for axis in axes
            if axis not in steps
            and stride
            and stride % distances[axis] == 0
            and 0 <= starts[axis] + (extent - 1) * (stride // distances[axis]) < extents[axis]
        ]
        if not fitting:
            return None
        axis = fitting[0]
        steps[axis] = (extent, stride // distances[axis])
        owner[number] = axis
    index: list[Any] = []
    kept: list[int] = []
    for axis in range(len(extents)):
        start = starts[axis]
        if axis not in steps:
            index.append(start)
            continue
        extent, step = steps[axis]
        last = start + extent * step
        index.append(slice(start, None if last < 0 else last if step < 0 else min(last, extents[axis]), step))
        kept.append(axis)
    return tuple(index), tuple(kept.index(owner[number]) for number in range(len(shape)))
