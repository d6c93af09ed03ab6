"""Block and thread ids as dimensions.

Where a kernel uses `blockIdx.a` and `threadIdx.a` only together, as `blockIdx.a * blockDim.a + threadIdx.a`, they are
one dimension, so that a guard on that sum is a box. Where it uses them apart they are two.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from windlass.affine.dimensions import Dimension
from windlass.affine.index import Index
from windlass.ir import Function, Op, TensorType, Value
from windlass.loops import Parallel, Subscript
from windlass.loops.launch_specification import LaunchSpecification
from windlass.ops.base import INTEGER
from windlass.ops.conversion import BitcastConvert, Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply, Or, ShiftLeft, Subtract

AXES = "xyz"


@dataclass(frozen=True)
class ThreadIds:
    """The dimensions of a launch, and what the ids of blocks and threads are in them (x first, blocks first)."""

    dimensions: tuple[Dimension, ...]
    items: tuple[Index, ...]


def thread_ids(kernel: Function, parallel: Parallel, specification: LaunchSpecification) -> ThreadIds:
    """The dimensions for a launch, of a kernel that is specialized for it; its threads are those of `parallel`."""
    apart = _axes_used_apart(kernel, parallel, specification)
    dimensions: list[Dimension] = []
    blocks: dict[int, Index] = {}
    threads: dict[int, Index] = {}
    for place, axis in enumerate((2, 1, 0)):
        name = AXES[axis]
        grid, block = specification.grid[axis], specification.block[axis]
        if axis in apart and grid > 1 and block > 1:
            outer = Dimension(f"block.{name}", grid, place)
            inner = Dimension(f"thread.{name}", block, 10 + place)
            dimensions += [outer, inner]
            blocks[axis], threads[axis] = Index.of(outer), Index.of(inner)
            continue
        both = Dimension(name, grid * block, place if block == 1 else 10 + place)
        dimensions.append(both)
        index = Index.of(both)
        blocks[axis], threads[axis] = index.floor_divide(block), index.modulo(block)
    ordered = tuple(sorted(dimensions, key=lambda dimension: dimension.key))
    return ThreadIds(ordered, (*(blocks[axis] for axis in range(3)), *(threads[axis] for axis in range(3))))


def ids_apart(grid: tuple[int, int, int], block: tuple[int, int, int], lanes: int = 0) -> ThreadIds:
    """Each id as a dimension of its own; thread x in two, of which the inner one counts so many `lanes`, where rows of
    threads are made of such.

    >>> ids_apart((4, 1, 1), (64, 2, 1), 32).items
    (block.x, 0, 0, 32*thread.x/32 + thread.x%32, thread.y, 0)
    """
    dimensions: list[Dimension] = []
    items: list[Index] = []
    for kind, sizes, start in (("block", grid, 0), ("thread", block, 10)):
        for axis, size in enumerate(sizes):
            if size == 1:
                items.append(Index(0))
                continue
            own = Dimension(f"{kind}.{AXES[axis]}", size, start + 2 - axis)
            dimensions.append(own)
            items.append(Index.of(own))
    ids = ThreadIds(tuple(sorted(dimensions, key=lambda dimension: dimension.key)), tuple(items))
    x = next((place for place, each in enumerate(ids.dimensions) if each.name == "thread.x"), None)
    if lanes and x is not None and block[0] % lanes == 0:
        return split_dimensions(ids, {x: (lanes,)})
    return ids


def split_dimensions(ids: ThreadIds, cuts: Mapping[int, Collection[int]]) -> ThreadIds:
    """The ids with some dimensions, told by their places, cut into several. Each divisor divides the next.

    >>> x = Dimension("x", 64, 0)
    >>> split_dimensions(ThreadIds((x,), (Index.of(x),)), {0: (4, 32)}).items
    (32*x/32 + 4*x%32/4 + x%32%4,)
    """
    dimensions: list[Dimension] = []
    replacements: dict[Dimension, Index] = {}
    for place, dimension in enumerate(ids.dimensions):
        inner, index = dimension, Index(0)
        for divisor in sorted(cuts.get(place, ()), reverse=True):
            outer, inner = inner.refine(divisor, inner.size // divisor)
            dimensions.append(outer)
            index = index + Index.of(outer).scale(divisor)
        dimensions.append(inner)
        replacements[dimension] = index + Index.of(inner)
    ordered = tuple(sorted(dimensions, key=lambda dimension: dimension.key))
    return ThreadIds(ordered, tuple(item.substitute(replacements) for item in ids.items))


@dataclass(frozen=True)
class _Form:
    """block·blockIdx + thread·threadIdx + something that depends on neither; for each axis."""

    block: tuple[int, int, int] = (0, 0, 0)
    thread: tuple[int, int, int] = (0, 0, 0)
    known: int | None = None
    """The number that it is, if it is one."""

    @property
    def uses(self) -> bool:
        return any(self.block) or any(self.thread)

    def plus(self, other: _Form, sign: int = 1) -> _Form:
        known = None if self.known is None or other.known is None else self.known + sign * other.known
        return _Form(
            _triple(a + sign * b for a, b in zip(self.block, other.block, strict=True)),
            _triple(a + sign * b for a, b in zip(self.thread, other.thread, strict=True)),
            known,
        )

    def times(self, factor: int) -> _Form:
        return _Form(
            _triple(factor * a for a in self.block),
            _triple(factor * a for a in self.thread),
            None if self.known is None else factor * self.known,
        )


def _triple(numbers: Iterable[int]) -> tuple[int, int, int]:
    a, b, c = numbers
    return a, b, c


def _axes_used_apart(kernel: Function, parallel: Parallel, specification: LaunchSpecification) -> set[int]:
    """The axes on which some use of block or thread ids is not through their fused sum."""
    forms: dict[Value, _Form] = {}
    ids = parallel.body.block.arguments
    for axis in range(3):
        unit = _triple(int(each == axis) for each in range(3))
        forms[ids[axis]], forms[ids[3 + axis]] = _Form(block=unit), _Form(thread=unit)
    apart: set[int] = set()
    for op in kernel.walk():
        form = _form_of(op, forms)
        if form is not None:
            forms[op] = form
            continue
        for operand in op.operands:
            used = forms.get(operand)
            if used is not None and used.uses:
                apart |= {
                    axis for axis in range(3) if used.block[axis] != used.thread[axis] * specification.block[axis]
                }
    return apart


def _form_of(op: Op, forms: dict[Value, _Form]) -> _Form | None:
    """The form of an op's result; None for ops that are not linear in the ids."""
    unknown = _Form()
    operands = [forms.get(operand, unknown) for operand in op.operands]
    match op:
        case Constant() if op.dtype in INTEGER:
            return _Form(known=int(op.number))
        case Add():
            return operands[0].plus(operands[1])
        case Or() if op.dtype != "i1":
            # What the front end writes for an addition without carry, if one side is a multiple of a power of two.
            return operands[0].plus(operands[1]) if sum(operand.uses for operand in operands) == 2 else None
        case Subtract():
            return operands[0].plus(operands[1], -1)
        case Multiply():
            if operands[1].known is not None:
                return operands[0].times(operands[1].known)
            if operands[0].known is not None:
                return operands[1].times(operands[0].known)
            return None
        case Subscript():
            terms = (each.times(stride) for each, stride in zip(operands, op.strides, strict=True))
            return functools.reduce(_Form.plus, terms, _Form(known=op.start))
        case ShiftLeft() if operands[1].known is not None:
            return operands[0].times(2 ** operands[1].known)
        case Convert() | BitcastConvert() if isinstance(op.type, TensorType) and op.dtype in INTEGER:
            return operands[0] if op.operands[0].dtype in INTEGER else None
        case _:
            return None
