"""What keeps the iterations of counted loops in their order: two accesses that may come to one byte, or other effects.

Asked by schedules before they change a loop nest. Distances between iterations are those of `affine.conflict`; what is
not known to be apart counts as a conflict.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from windlass.affine.access import Access as AffineAccess
from windlass.affine.atoms import Data, parts_of
from windlass.affine.conflict import conflict
from windlass.affine.dimensions import Box, Dimension
from windlass.affine.index import Atom, Index
from windlass.facts.indices import IndexReader, ScalarHandle
from windlass.ir import Argument, Op, Value
from windlass.loops import (
    Access,
    Allocate,
    Atomic,
    AtomicUpdate,
    Barrier,
    CheckAlignment,
    CheckRange,
    For,
    Load,
    Undefined,
    ViewBuffer,
    Yield,
    accessed_dtype,
)
from windlass.loops.control import Condition, DoWhile, If
from windlass.loops.launch_specification import LaunchSpecification, PointerArgument
from windlass.ops.conversion import byte_width

Memory: TypeAlias = "tuple[str, object]"
UNKNOWN: Memory = ("unknown", None)
"""That of an access that may go anywhere."""
MOST_DISTANCES = 4096
"""So many distances in the outer of two loops are looked at one by one."""


@dataclass(frozen=True)
class Conflict:
    """Two accesses, in the order of the source, that may come to one byte in different iterations; or one op alone."""

    first: Op
    second: Op
    reason: str

    def __str__(self) -> str:
        places = [str(op.source) for op in dict.fromkeys((self.first, self.second)) if op.source is not None]
        return f"{self.reason} ({' and '.join(dict.fromkeys(places))})" if places else self.reason


class Dependences:
    """The accesses in the loops of one function, specialized for a launch, which says which pointers share memory."""

    def __init__(self, reader: IndexReader, parameters: Mapping[Value, PointerArgument]) -> None:
        self.reader = reader
        self.parameters = parameters

    @staticmethod
    def of_launch(reader: IndexReader, arguments: list[Argument], specification: LaunchSpecification) -> Dependences:
        """For a launch: `arguments` are the function's, in the order of the specification's."""
        pairs = zip(arguments, specification.arguments, strict=True)
        return Dependences(reader, {value: given for value, given in pairs if isinstance(given, PointerArgument)})

    def why_in_order(self, loop: For) -> Conflict | None:
        """What forbids that the iterations run in any order; None where nothing does.

        Values that are carried have to be reductions, of which the loop says so.
        """
        if any(not name for name in loop.reductions) or len(loop.reductions) != len(loop.initial):
            return Conflict(loop, loop, "a value is carried from round to round that is no reduction")
        effect = next(_other_effects(loop), None)
        if effect is not None:
            return effect
        dimension = self.reader.dimension_of(loop)
        if dimension is None:
            return None if self._has_one_round(loop) else Conflict(loop, loop, "its number of rounds has no bound")
        for first, second in self._pairs(loop):
            if self._distances(first, second, loop, dimension) != (0, 0):
                return Conflict(first, second, "two iterations may come to one place in memory")
        return None

    def why_not_exchanged(self, outer: For, inner: For) -> Conflict | None:
        """What forbids that two loops, one directly in the other, be written the other way round; None if nothing."""
        effect = next(_other_effects(outer), None)
        if effect is not None:
            return effect
        across, along = self.reader.dimension_of(outer), self.reader.dimension_of(inner)
        if across is None or along is None:
            has_one = self._has_one_round(outer) or self._has_one_round(inner)
            return None if has_one else Conflict(outer, inner, "the number of rounds has no bound")
        for first, second in self._pairs(outer):
            if self._is_turned(first, second, outer, inner, across, along):
                return Conflict(
                    first, second, "two iterations come to one place in memory, and would change their order"
                )
        return None

    # -- how ------------------------------------------------------------------------------------------------------

    def _has_one_round(self, loop: For) -> bool:
        return self.reader.range_of(loop.trip_count)[1] <= 1

    def _pairs(self, loop: For) -> Iterator[tuple[Access, Access]]:
        """Two accesses each that may be to one memory, of which one writes; atomic operations may come in any order."""
        accesses = [op for op in loop.body.walk() if isinstance(op, Access)]
        for first, second in itertools.combinations_with_replacement(accesses, 2):
            memories = self.memory_of(first), self.memory_of(second)
            is_one = memories[0] == memories[1] or UNKNOWN in memories
            reads = isinstance(first, Load) and isinstance(second, Load)
            if is_one and not reads and not _commute(first, second):
                yield first, second

    def memory_of(self, access: Access) -> Memory:
        """The memory that an access goes to, as far as it is known: arrays that overlap are one."""
        buffer = access.buffer
        while isinstance(buffer, ViewBuffer):
            buffer = buffer.buffer
        match buffer:
            case Argument() if buffer in self.parameters:
                return ("memory", self.parameters[buffer].memory)
            case Allocate():
                return ("allocated", buffer)
            case _:
                return UNKNOWN  # a variable, too: arrays of the launch may be it

    def _place(self, access: Access) -> AffineAccess[Memory]:
        buffer = access.buffer
        while isinstance(buffer, ViewBuffer):
            buffer = buffer.buffer
        begin = self.parameters[buffer].byte_offset if buffer in self.parameters else 0
        address = self.reader.index_of(access.offset) + begin
        domain = self.reader.domain_at(access.block)
        return AffineAccess(self.memory_of(access), address, byte_width(accessed_dtype(access)), domain, 0)

    def _distances(self, first: Access, second: Access, loop: For, dimension: Dimension) -> tuple[int, int]:
        if UNKNOWN in (self.memory_of(first), self.memory_of(second)):
            return 1 - dimension.size, dimension.size - 1
        within = self._dimensions_within(loop) - {dimension}
        return conflict(
            self._place(first), self._place(second), dimension, lambda atom: self._varies(atom, loop, dimension, within)
        )

    def _dimensions_within(self, loop: For) -> set[Dimension]:
        found = {self.reader.dimension_of(each) for each in loop.body.walk() if isinstance(each, For)}
        return {each for each in (*found, self.reader.dimension_of(loop)) if each is not None}

    def _varies(self, atom: Atom, loop: For, dimension: Dimension, within: set[Dimension]) -> bool:
        """Whether an atom may differ between two iterations of the loop, or within one."""
        if isinstance(atom, Dimension):
            return atom is dimension or atom in within
        if isinstance(atom, Data):
            handle = atom.handle
            return not isinstance(handle, ScalarHandle) or _is_within(handle.value, loop)
        parts = (each for part in parts_of(atom) for each in part.terms)
        return any(self._varies(each, loop, dimension, within) for each in parts)

    def _is_turned(
        self, first: Access, second: Access, outer: For, inner: For, across: Dimension, along: Dimension
    ) -> bool:
        """Whether some iteration comes before another one that it shares a byte with, but after it once exchanged."""
        if self._distances(first, second, outer, across) == (0, 0):
            return False
        if UNKNOWN in (self.memory_of(first), self.memory_of(second)):
            return True
        within = self._dimensions_within(outer) - {across, along}

        def varies(atom: Atom) -> bool:
            return self._varies(atom, outer, across, within) and atom not in (across, along)

        one, other = self._place(first), self._place(second)
        steps = [tuple(each.address.terms.get(dimension, 0) for dimension in (across, along)) for each in (one, other)]
        atoms = {*one.address.terms, *other.address.terms}
        if steps[0] != steps[1] or any(_depends(atom, (across, along)) for atom in atoms):
            return True
        rest = [_without(each.address, (across, along)) for each in (one, other)]
        difference = _difference(rest[0], rest[1], one.box.hull(other.box), varies)
        window = range(1 - one.size, other.size)
        step, stride = steps[0]
        return any(
            difference.may_come_to(window, sign * step, across.size - 1, -sign * stride, along.size - 1)
            for sign in (1, -1)
        )


@dataclass(frozen=True)
class _Difference:
    """What one address is behind another but for two counters: `start` and multiples of the factors, within bounds."""

    start: int
    lower: int
    upper: int
    factors: tuple[int, ...] = ()

    def may_come_to(self, window: range, step: int, most: int, stride: int, longest: int) -> bool:
        """Whether with `step·d + stride·k` it may be in the window, for some d from 1 to `most`, k from 1 to `longest`.

        Of more than MOST_DISTANCES distances d only bounds are looked at.

        >>> nothing = _Difference(0, 0, 0)
        >>> nothing.may_come_to(range(-3, 4), 40, 9, -4, 9), nothing.may_come_to(range(-3, 4), 40, 9, -4, 10)
        (False, True)
        """
        if longest < 1:
            return False
        low, high = window.start - self.upper, window.stop - self.lower
        distances = _distances(step, most, self.start, window, math.gcd(stride, *self.factors))
        if distances is None:
            ends = [step * d + stride * k for d in (1, most) for k in (1, longest)]
            return low <= max(ends) and min(ends) < high
        return any(_is_within_reach(low - step * d, high - step * d, stride, longest) for d in distances)


def _is_within_reach(low: int, high: int, stride: int, longest: int) -> bool:
    """Whether `low <= stride·k < high` for some k from 1 to `longest`."""
    if stride == 0:
        return low <= 0 < high
    if stride < 0:
        low, high, stride = 1 - high, 1 - low, -stride
    return max(-(-low // stride), 1) <= min(-(-high // stride) - 1, longest)


def _distances(step: int, most: int, start: int, window: range, common: int) -> list[int] | None:
    """The d from 1 to `most` for which `step·d + start` is a multiple of `common` away from the window.

    None where there are too many to look at.
    """
    period = common // math.gcd(step, common) if common else most
    if min(period, most) > MOST_DISTANCES:
        return None
    found = [d for d in range(1, min(period, most) + 1) if _reaches(step * d + start, window, common)]
    if not common or not found:
        return found
    if len(found) * (most // period + 1) > MOST_DISTANCES:
        return None
    return [d + turn for turn in range(0, most, period) for d in found if d + turn <= most]


def _reaches(place: int, window: range, common: int) -> bool:
    return place in window if common == 0 else (window.stop - 1 - place) % common < len(window)


def _difference(left: Index, right: Index, box: Box, varies: Callable[[Atom], bool]) -> _Difference:
    """The left index at one point less the right one at another, which differs in what varies."""
    start = lower = upper = left.constant - right.constant
    factors: list[int] = []
    for atom in {*left.terms, *right.terms}:
        a, b = left.terms.get(atom, 0), right.terms.get(atom, 0)
        for factor in (a, -b) if varies(atom) else (a - b,):
            if factor:
                low, high = Index(0, {atom: factor}).value_range(box)
                lower, upper = lower + low, upper + high
                factors.append(factor)
    return _Difference(start, lower, upper, tuple(factors))


def _without(index: Index, dimensions: tuple[Dimension, ...]) -> Index:
    return Index(index.constant, {atom: factor for atom, factor in index.terms.items() if atom not in dimensions})


def _depends(atom: Atom, dimensions: tuple[Dimension, ...]) -> bool:
    """Whether something that is no dimension itself depends on these."""
    if isinstance(atom, Dimension):
        return False
    return not Index(0, {atom: 1}).dimensions.isdisjoint(dimensions)


def _commute(first: Access, second: Access) -> bool:
    """Whether two accesses are atomic operations that come to the same in any order."""
    if isinstance(first, Atomic) and isinstance(second, Atomic):
        same = first.kind == second.kind and first.kind in ("add", "and", "or", "xor", "min", "max", "umin", "umax")
        return same and not first.uses and not second.uses
    return False


def _other_effects(loop: For) -> Iterator[Conflict]:
    """What is done within that is no access to memory and has an order."""
    harmless = (Access, For, If, DoWhile, Yield, Condition, Allocate, Undefined)
    for op in loop.body.walk():
        if isinstance(op, Load) and op.is_volatile:
            yield Conflict(op, op, "it reads volatile memory")
        elif isinstance(op, AtomicUpdate) or (isinstance(op, Atomic) and op.uses):
            yield Conflict(op, op, "the result of an atomic operation depends on the order")
        elif isinstance(op, Barrier):
            yield Conflict(op, op, "threads meet within")
        elif not op.is_pure and not isinstance(op, (*harmless, CheckRange, CheckAlignment)):
            yield Conflict(op, op, f"{type(op).__name__} has an effect beside memory")


def _is_within(value: Value, loop: For) -> bool:
    """Whether a value is computed in the loop."""
    block = value.block if isinstance(value, Argument | Op) else getattr(getattr(value, "owner", None), "block", None)
    while block is not None:
        if block is loop.body.block:
            return True
        around = block.parent.parent if block.parent is not None else None
        block = around.block if around is not None else None
    return False
