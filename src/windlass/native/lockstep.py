"""Whether neighbouring threads may run a piece in step, in the lanes of a vector, though they run it in order.

They may if no lane comes to a place that another one of its strip writes: then it does not matter whether one has done
all of its piece before the next begins. Two accesses of lanes x and x + d are told apart, for each d by itself,

* by the bounds of what their addresses differ by: `tile[x]` and `tile[64 + x]`;
* by what that is a multiple of: `tile[2 * x]` and `tile[2 * x + 1]`, `tile[y][x]` for all y of a loop;
* by a condition that can't hold where they are the same: of `tile[x] += tile[x + s]` under `x < s` both are one only if
  s = x - x', which makes that condition x' < 0.

Where they do come to one place it does not matter if what the earlier thread does there stands before what the later
one does, and no loop goes round both: `tile[x] = tile[x + 1]` reads before it writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass.affine.dimensions import Box, Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Data, Index, Range, RuntimeScalar
from windlass.affine.predicate import AtLeastZero, Predicate
from windlass.facts.indices import IndexReader
from windlass.ir import Argument, Block, Op, Value
from windlass.ir.values import Result
from windlass.loops import (
    Access,
    Allocate,
    Atomic,
    AtomicUpdate,
    CompareExchange,
    DoWhile,
    For,
    Load,
    Parallel,
    Store,
    accessed_dtype,
)
from windlass.native.granules import is_multiple
from windlass.native.memory import is_orderless
from windlass.native.ranges import LaunchRanges
from windlass.ops.conversion import byte_width
from windlass.parallel.common_values import memories_behind

MOST_PAIRS = 512
"""So many pairs of accesses of a piece are looked at."""


class PieceReader(IndexReader):
    """Reads integers of one piece, for which whatever is known before it is a number that all of its threads share."""

    def __init__(
        self, piece: Parallel, known: Mapping[Value, Index], threads: tuple[Dimension, ...], ranges: LaunchRanges
    ) -> None:
        super().__init__(known, threads)
        self.threads = frozenset(threads)
        self._piece = piece
        self._ranges = ranges

    def _unknown(self, value: Value, bounds: Range) -> Index:
        home = (
            value.owner.block
            if isinstance(value, Result)
            else value.block
            if isinstance(value, Argument | Op)
            else None
        )
        if home is None or not _is_in(home, self._piece):
            known = self._ranges.of(value)
            if known.whole:
                bounds = (max(bounds[0], int(known.low)), min(bounds[1], int(known.high)))
            return Index.of(RuntimeScalar(value, *bounds))
        return super()._unknown(value, bounds)


@dataclass(frozen=True)
class _Place:
    """Where an access goes, under which conditions."""

    access: Access
    address: Index
    domain: Domain
    width: int


class Lockstep:
    """Asks of one piece whether lanes may go in step; `x` is the dimension along which lanes are neighbours."""

    def __init__(self, piece: Parallel, reader: PieceReader, x: Dimension, apart: frozenset[Value]) -> None:
        self._piece = piece
        self._reader = reader
        self._x = x
        self._apart = apart
        """Memories in which threads are known to keep apart."""
        self._order = {op: number for number, op in enumerate(piece.body.walk())}
        """In what order lanes in step do what stands in no loop."""

    def may_go(self, width: int, overlapping: frozenset[Value]) -> bool:
        """Whether strips of so many lanes may; `overlapping` are memories that may share bytes with others."""
        accesses: dict[Value, list[Access]] = {}
        for op in self._piece.body.walk():
            if isinstance(op, CompareExchange | AtomicUpdate):
                return False
            if isinstance(op, Access):
                for memory in memories_behind(op.buffer):
                    if memory is None:
                        return False
                    accesses.setdefault(memory, []).append(op)
        written = {memory for memory, found in accesses.items() if not all(isinstance(each, Load) for each in found)}
        if not written.isdisjoint(overlapping):
            return False
        return all(
            memory in self._apart or self._is_own(memory) or self._keep_apart(accesses[memory], width)
            for memory in written
        )

    def _is_own(self, memory: Value) -> bool:
        return isinstance(memory, Allocate) and memory.block is not None and _is_in(memory.block, self._piece)

    def _keep_apart(self, found: Sequence[Access], width: int) -> bool:
        if any(isinstance(each, Atomic) for each in found):
            kinds = {(each.kind if isinstance(each, Atomic) else "", accessed_dtype(each)) for each in found}
            return len(kinds) == 1 and all(isinstance(each, Atomic) and is_orderless(each) for each in found)
        places = [self._place(each) for each in found]
        stores = [each for each in places if each is None or isinstance(each.access, Store)]
        if len(stores) * len(places) > MOST_PAIRS:
            return False
        return all(
            one is not None and other is not None and not self._may_meet(one, other, width)
            for one in stores
            for other in places
        )

    def _place(self, access: Access) -> _Place | None:
        address, width = self._reader.index_of(access.offset), byte_width(accessed_dtype(access))
        if any(isinstance(atom, Data) for atom in address.terms) or not is_multiple(access.offset, width):
            return None
        return _Place(access, address, self._reader.domain_at(access.block), width)

    def _is_in_order(self, earlier: Access, later: Access) -> bool:
        """Whether lanes in step do all of the one before any of the other; one op does it lane after lane."""
        loops = self._loops_around(earlier) & self._loops_around(later)
        return self._order[earlier] <= self._order[later] and not loops

    def _loops_around(self, op: Op) -> set[Op]:
        found: set[Op] = set()
        around = op.parent_op
        while around is not None and around is not self._piece:
            if isinstance(around, For | DoWhile):
                found.add(around)
            around = around.parent_op
        return found

    def _may_meet(self, one: _Place, place: _Place, width: int) -> bool:
        """Whether two lanes of a strip may come to one place, by one access and the other, in the wrong order."""
        if one.width != place.width:
            return True
        inner = [each for each in place.domain.dimensions if each not in self._reader.threads]
        replaced = {each: Index.of(Dimension(f"{each.name}'", each.size, each.order)) for each in inner}
        box = one.domain.box
        for old in place.domain.dimensions:
            if old in replaced:
                (new,) = replaced[old].terms
                assert isinstance(new, Dimension)
                box = box.replace(new, *place.domain.box.bounds(old))
            elif old is not self._x:
                box = box.restrict(old, *place.domain.box.bounds(old))
        low, high = place.domain.box.bounds(self._x)
        conditions, others = (
            [condition for condition in each.domain.mask.conjuncts() if isinstance(condition, AtLeastZero)]
            for each in (one, place)
        )
        x = Index.of(self._x)
        for apart in range(1 - width, width):
            if not apart:
                continue
            first, last = (one, place) if apart > 0 else (place, one)
            if self._is_in_order(first.access, last.access):
                continue
            moved = {**replaced, self._x: x + apart}
            difference = one.address - place.address.substitute(moved)
            both = box.restrict(self._x, low - apart, high - apart)
            if both.is_empty or self._is_never_zero(difference, one.width, both):
                continue
            known = [*conditions, *(each.substitute(moved) for each in others)]
            if not any(_contradicts(each, difference, both) for each in known):
                return True
        return False

    @staticmethod
    def _is_never_zero(difference: Index, width: int, box: Box) -> bool:
        """Whether two addresses are never the same, and elements there are apart."""
        if any(number % width for number in (*difference.terms.values(), difference.constant)):
            return False
        low, high = difference.value_range(box)
        common = math.gcd(*difference.terms.values())
        return low > 0 or high < 0 or (difference.constant % common != 0 if common else difference.constant != 0)


def _contradicts(condition: Predicate, zero: Index, box: Box) -> bool:
    """Whether a condition can't hold where an index is zero: what both are made of is taken out of the condition."""
    if not isinstance(condition, AtLeastZero):
        return False
    index = condition.index
    for atom, factor in zero.terms.items():
        here = index.terms.get(atom, 0)
        if here:
            left = index.scale(abs(factor)) - zero.scale(here if factor > 0 else -here)
            if left.value_range(box)[1] < 0:
                return True
    return False


def _is_in(block: Block | None, piece: Parallel) -> bool:
    while block is not None:
        if block is piece.body.block:
            return True
        around = block.parent.parent if block.parent is not None else None
        block = around.block if around is not None else None
    return False
