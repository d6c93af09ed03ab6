"""Arrays as device memory: which flat words they are, and which of them overlap.

A kernel sees bytes. An array becomes a *memory* of equal words; arrays that overlap (the same array twice, two views
into one buffer) become one memory together, as they are for CUDA, and are written back to all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.ir.types import MLIR_DTYPES, NUMPY_DTYPES
from windlass.loops.launch_specification import MemorySpecification
from windlass.runtime.arguments import leaves_of

Array: TypeAlias = NDArray[Any]

WIDEST_VECTOR = 16
"""No CUDA type asks for a larger multiple of its own."""


@dataclass(frozen=True)
class ArrayForm:
    """How an array of some dtype and shape crosses into a tensor program.

    `view` is the dtype that its bytes are first seen as, flat, where the array's own has no MLIR name (records, complex
    numbers, booleans); None means that the array goes in as it is. `shape` and `dtype` are those of the program's
    argument; `word_dtype` that of the kernel's memory. `misalignment` as in `MemorySpecification`.
    """

    view: np.dtype | None
    shape: tuple[int, ...]
    dtype: str
    word_dtype: str
    row_strides: tuple[int, ...]
    size_bytes: int
    misalignment: int = 0

    @property
    def specification(self) -> MemorySpecification:
        return MemorySpecification(self.size_bytes, self.word_dtype, self.row_strides, self.misalignment)

    def in_halves(self) -> ArrayForm:
        """The same memory entering as 32-bit words: JAX can't hold wider ones while its x64 flag is off."""
        return replace(self, view=np.dtype(np.uint32), shape=(self.size_bytes // 4,), dtype="ui32")

    def to_program(self, array: Array) -> Array:
        """The array as the program takes it; shares its memory."""
        return array if self.view is None else array.reshape(-1).view(self.view)


def form_of(dtype: np.dtype, shape: tuple[int, ...], inner: tuple[int, ...] = ()) -> ArrayForm:
    """The form of an array; `inner` are the fixed extents that the kernel declares (`float (*)[4][3]` has (4, 3)).

    >>> form_of(np.dtype("uint32"), (5, 7))
    ArrayForm(view=None, shape=(5, 7), dtype='ui32', word_dtype='i32', row_strides=(7,), size_bytes=140, misalignment=0)
    """
    count = math.prod(shape)
    name = MLIR_DTYPES.get(dtype)
    if name is not None and dtype.kind not in "bc":
        word = signless(name)
        extents = shape if len(shape) > 1 else (*shape, *inner)
        return ArrayForm(None, shape, name, word, row_strides(extents, 1), dtype.itemsize * count)
    view = NUMPY_DTYPES[word_of(dtype)]
    per_element = dtype.itemsize // view.itemsize
    extents = shape if len(shape) > 1 else (*shape, *inner)
    strides = row_strides(extents, per_element)
    if per_element > 1 and extents:
        strides = (*strides, per_element)
    word = MLIR_DTYPES[view]
    return ArrayForm(view, (count * per_element,), word, word, strides, dtype.itemsize * count)


def signless(name: str) -> str:
    """The element type at the loop level, where integers have no sign."""
    return name[1:] if name.startswith("ui") else name


def word_of(dtype: np.dtype) -> str:
    """The element type of the widest words that every number in an element is made of.

    >>> word_of(np.dtype([("x", "f4"), ("y", "f4")])), word_of(np.dtype([("x", "f8"), ("n", "i4")], align=True))
    ('f32', 'i32')
    """
    if dtype.kind == "c":
        return f"f{dtype.itemsize * 4}"
    leaves = leaves_of(dtype)
    kinds = {leaf for _, leaf in leaves}
    if len(kinds) == 1:
        (leaf,) = kinds
        name = MLIR_DTYPES.get(leaf)
        places = [dtype.itemsize, *(offset for offset, _ in leaves)]
        if name is not None and leaf.kind not in "bc" and all(place % leaf.itemsize == 0 for place in places):
            return signless(name)
    width = math.gcd(8, dtype.itemsize, *(offset for offset, _ in leaves), *(leaf.itemsize for leaf in kinds))
    return f"i{8 * width}"


def row_strides(shape: tuple[int, ...], words: int) -> tuple[int, ...]:
    """Distances between neighbours along all axes but the last, in words of which each element has so many.

    >>> row_strides((4, 5, 6), 2)
    (60, 12)
    """
    return tuple(words * math.prod(shape[axis + 1 :]) for axis in range(len(shape) - 1))


@dataclass(frozen=True)
class MemoryPlan:
    """One memory: what the program takes for it, and the launch's arrays (by position) that lie in it."""

    form: ArrayForm
    members: tuple[tuple[int, int], ...]
    """(position of the argument, byte offset in the memory)."""
    is_staged: bool
    """The members are copied into one buffer before the call and out of it afterwards."""

    @property
    def is_plain(self) -> bool:
        """Whether the program takes the one array as it is."""
        return not self.is_staged and self.form.view is None

    @property
    def is_one_plain_array(self) -> bool:
        """Whether the program gives the one array as it is."""
        return self.is_plain and len(self.members) == 1

    def gather(self, arrays: Sequence[Array | None]) -> Array:
        """The program's argument."""
        first = arrays[self.members[0][0]]
        assert first is not None
        if not self.is_staged:
            return self.form.to_program(first)
        buffer = np.zeros(self.form.size_bytes, np.uint8)
        for position, offset in self.members:
            array = arrays[position]
            assert array is not None
            buffer[offset : offset + array.nbytes] = bytes_of(array)
        return buffer.view(NUMPY_DTYPES[self.form.dtype])

    def written(self, arrays: Sequence[Array | None]) -> Array:
        """The memory as the program gives it: of members that are one array, one that may be written."""
        given = [array for position, _ in self.members if (array := arrays[position]) is not None]
        return self.form.to_program(next((array for array in given if array.flags.writeable), given[0]))

    def write_back(self, arrays: Sequence[Array | None], result: Array) -> None:
        """Put the memory's new words into every array that lies in it."""
        if not self.is_staged:
            np.copyto(self.written(arrays), result)
            return
        buffer = result.reshape(-1).view(np.uint8)
        for position, offset in self.members:
            array = arrays[position]
            assert array is not None
            # Read-only members are views of what is written through another one, or were not written.
            if array.flags.writeable:
                bytes_of(array)[:] = buffer[offset : offset + array.nbytes]


def bytes_of(array: Array) -> Array:
    """The bytes of a contiguous array, sharing its memory."""
    return array.reshape(-1).view(np.uint8)


def root_offset(array: Array) -> int:
    """How many bytes an array begins behind the buffer that it is a view of: that is what its alignment depends on.

    >>> root_offset(np.zeros(8, np.float32)[3:])
    12
    """
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return array.__array_interface__["data"][0] - root.__array_interface__["data"][0]


def with_misalignment(plan: MemoryPlan, arrays: Sequence[Array | None]) -> MemoryPlan:
    """The plan with what is known of its memory's alignment."""
    position, _ = min(plan.members, key=lambda member: member[1])
    first = arrays[position]
    assert first is not None
    misalignment = root_offset(first) % WIDEST_VECTOR
    return replace(plan, form=replace(plan.form, misalignment=misalignment)) if misalignment else plan


def overlap(one: Array, other: Array) -> bool:
    """Whether two contiguous arrays have bytes in common.

    >>> memory = np.zeros(8, np.uint8)
    >>> overlap(memory[:5], memory[4:]), overlap(memory[:4], memory[4:])
    (True, False)
    """
    start, other_start = (each.__array_interface__["data"][0] for each in (one, other))
    return start < other_start + other.nbytes and other_start < start + one.nbytes


def plan_memories(
    arrays: Sequence[Array | None], inner: Mapping[int, tuple[int, ...]]
) -> tuple[tuple[MemoryPlan, ...], dict[int, tuple[int, int]]]:
    """The memories that a launch's arrays are, and for each argument's position its memory and byte offset.

    Arguments that are no arrays are None in `arrays`. `inner` has the declared inner extents by position.
    """
    spans: list[tuple[int, int, int]] = []
    empty: list[int] = []
    for position, array in enumerate(arrays):
        if array is None:
            continue
        if array.nbytes == 0:
            empty.append(position)
            continue
        start = array.__array_interface__["data"][0]
        spans.append((start, start + array.nbytes, position))
    groups: list[list[tuple[int, int, int]]] = []
    end = -1
    for span in sorted(spans):
        if groups and span[0] < end:
            groups[-1].append(span)
            end = max(end, span[1])
        else:
            groups.append([span])
            end = span[1]
    groups += [[(0, 0, position)] for position in empty]
    groups.sort(key=lambda group: min(span[2] for span in group))
    plans: list[MemoryPlan] = []
    places: dict[int, tuple[int, int]] = {}
    for memory, group in enumerate(groups):
        plan = _plan_group(arrays, inner, sorted(group, key=lambda span: span[2]))
        plans.append(plan)
        places.update({position: (memory, offset) for position, offset in plan.members})
    return tuple(plans), places


def _plan_group(
    arrays: Sequence[Array | None], inner: Mapping[int, tuple[int, ...]], group: list[tuple[int, int, int]]
) -> MemoryPlan:
    forms: list[ArrayForm] = []
    for _, _, position in group:
        array = arrays[position]
        assert array is not None
        forms.append(form_of(array.dtype, array.shape, inner.get(position, ())))
    start = min(span[0] for span in group)
    size = max(span[1] for span in group) - start
    members = tuple((position, begin - start) for begin, _, position in group)
    largest = max(forms, key=lambda form: form.size_bytes)
    if all(span[:2] == group[0][:2] for span in group) and len(set(forms)) == 1:
        return MemoryPlan(forms[0], members, is_staged=False)
    words = {form.word_dtype for form in forms}
    word, strides = largest.word_dtype, largest.row_strides
    width = NUMPY_DTYPES[word].itemsize
    if len(words) > 1 or any(offset % width for _, offset in members) or size % width:
        word, strides, width = "i8", tuple(stride * width for stride in strides), 1
    return MemoryPlan(ArrayForm(None, (size // width,), word, word, strides, size), members, is_staged=True)
