"""Whether the threads of a launch may run in any order, and at the same time: no one comes to what another writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from windlass.affine.conflict import is_injective
from windlass.affine.dimensions import Box, Dimension
from windlass.affine.index import Atom, Index, RuntimeScalar, dimensions_of
from windlass.facts.indices import IndexReader
from windlass.ir import Argument, Block, Op, Value
from windlass.loops import (
    Access,
    Allocate,
    Atomic,
    AtomicUpdate,
    CompareExchange,
    Condition,
    DoWhile,
    For,
    Load,
    NullBuffer,
    Parallel,
    SelectBuffer,
    Store,
    ViewBuffer,
    Yield,
    accessed_dtype,
)
from windlass.native.memory import is_orderless
from windlass.native.strides import carried_arguments
from windlass.ops.conversion import byte_width


def is_independent(
    launch: Parallel,
    indices: IndexReader,
    dimensions: Sequence[Dimension],
    overlapping: frozenset[Value],
    *,
    floats_may_be_rounded: bool = False,
) -> bool:
    """Whether it is proved that no thread reads or writes what another one writes, but for the memory of a block.

    Sums of floats by atomic operations depend on the order by how they are rounded alone, which may not matter.

    The threads are told apart by `dimensions`: without those within blocks it is proved of threads of any two blocks.
    `overlapping` are arguments of the function that may share bytes with others.
    """
    accesses: dict[Value, list[Access]] = {}
    for op in launch.body.walk():
        if not isinstance(op, Access):
            continue
        memories = list(memories_of(op.buffer))
        if not memories:
            return False
        for memory in memories:
            accesses.setdefault(memory, []).append(op)
    for memory, found in accesses.items():
        if isinstance(memory, NullBuffer) or (isinstance(memory, Allocate) and memory.space in ("local", "shared")):
            continue
        if all(isinstance(each, Load) for each in found):
            if memory in overlapping and any(_is_written(other, accesses) for other in overlapping):
                return False
            continue
        if memory in overlapping:
            return False
        if are_of_one_kind(found) and all(
            isinstance(each, Atomic) and (is_orderless(each) or (floats_may_be_rounded and _is_sum_of_floats(each)))
            for each in found
        ):
            continue
        if not _are_apart(found, indices, dimensions):
            return False
    return True


def waits(loop: DoWhile) -> bool:
    """Whether a loop's end depends on what it finds in memory by atomic or volatile accesses: maybe on others."""
    reached: set[Value] = set()
    before = -1
    while before != len(reached):
        before = len(reached)
        for op in loop.body.walk():
            is_source = isinstance(op, Atomic | AtomicUpdate | CompareExchange) or (
                isinstance(op, Load) and op.is_volatile
            )
            if isinstance(op, Yield | Condition):
                around = op.parent_op
                values = op.values
                if around is None or isinstance(around, AtomicUpdate):
                    continue
                targets = [*around.results]
                if isinstance(around, For | DoWhile):
                    targets = [*carried_arguments(around), *targets]
                    values = (*values, *values)
                reached.update(target for target, value in zip(targets, values, strict=True) if value in reached)
            elif is_source or any(operand in reached for operand in op.operands):
                reached.update(op.results)
    return loop.body.block.terminator.operands[0] in reached


def _is_written(memory: Value, accesses: dict[Value, list[Access]]) -> bool:
    return any(not isinstance(each, Load) for each in accesses.get(memory, ()))


def are_of_one_kind(found: Sequence[Access]) -> bool:
    """Whether all of them do the same on the same kind of number, so that their order does not matter."""
    return len({(each.kind, accessed_dtype(each)) for each in found if isinstance(each, Atomic)}) == 1


def _is_sum_of_floats(op: Atomic) -> bool:
    return op.kind == "fadd" and not op.uses


def memories_of(buffer: Value) -> Iterator[Value]:
    """The memories that a buffer may be in; none where that is not known."""
    match buffer:
        case ViewBuffer():
            yield from memories_of(buffer.buffer)
        case SelectBuffer():
            both = [list(memories_of(each)) for each in (buffer.on_true, buffer.on_false)]
            if all(both):
                yield from (*both[0], *both[1])
        case Op():
            yield buffer
        case Argument(block=Block(parent=None)):
            yield buffer  # an argument of the function
        case _:
            return


def _are_apart(found: Sequence[Access], indices: IndexReader, dimensions: Sequence[Dimension]) -> bool:
    """Whether the bytes of any two threads are apart: what the threads come to falls into spans, of each of which a
    thread has a part of its own, and any two of which are further apart than the threads are."""
    threads = frozenset(dimensions)
    shared: dict[Atom, int] | None = None
    spans: list[tuple[int, int]] = []
    hull: Box | None = None
    for access in found:
        if not isinstance(access, Load | Store):
            return False
        address = indices.affine_index_of(access.offset)
        if address is None:
            return False
        box = indices.domain_at(access.block).box
        own = {
            atom: factor
            for atom, factor in address.terms.items()
            if isinstance(atom, RuntimeScalar) or not threads.isdisjoint(dimensions_of(atom))
        }
        least, most = (address - Index(0, own)).value_range(box)
        spans.append((least, most + byte_width(accessed_dtype(access))))
        if shared is None or hull is None:
            shared, hull = own, box
        elif own != shared:
            return False
        else:
            hull = hull.hull(box)
    assert shared is not None and hull is not None
    of_threads: dict[Atom, int] = {
        atom: factor for atom, factor in shared.items() if not isinstance(atom, RuntimeScalar)
    }
    least, most = Index(0, of_threads).value_range(hull)
    widest = max(end - begin for begin, end in _merged(spans, most - least))
    return is_injective(Index(0, shared), dimensions, hull, widest)


def _merged(spans: Sequence[tuple[int, int]], distance: int) -> Iterator[tuple[int, int]]:
    """The same bytes in spans that are so far apart from one another."""
    begin, end = min(spans)
    for low, high in sorted(spans):
        if low - end >= distance:
            yield begin, end
            begin, end = low, high
        end = max(end, high)
    yield begin, end
