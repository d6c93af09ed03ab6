"""Halos of what loops leave as it is: exchanged once, before the outermost loop that does.

A loop's regions take such a value with its halos already around it: an array of which each device has a wider part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from windlass.communication.halo_exchange import Channels, exchange_halos
from windlass.communication.local_regions import embed, extended_shape, make_region
from windlass.communication.needs import Extents, Halo, Sharers, add_box
from windlass.communication.places import owner_of
from windlass.communication.propagation import Propagation
from windlass.ir import Block, Builder, Value, tensor_type
from windlass.ir.values import Argument
from windlass.ops import Slice, While


class Unchanged(NamedTuple):
    """A value as it is before a loop that doesn't change it."""

    value: Value
    loop: While


@dataclass
class Wanted:
    """What is wanted of a value, and what stands for it until it is made."""

    value: Value
    halo: Halo
    stand_in: Value


def find_unchanged(value: Value, block: Block) -> Unchanged | None:
    """What a value that ops of a block read is before the outermost loop around the block that leaves it as it is.

    None where it is computed within the innermost one, or there is none.
    """
    found: Unchanged | None = None
    while True:
        home = _home_of(value)
        while block is not home:
            holder = block.parent.parent if block.parent is not None else None
            if holder is None or holder.block is None:
                return found
            block = holder.block
            if isinstance(holder, While):
                found = Unchanged(value, holder)
        loop = home.parent.parent if home is not None and home.parent is not None else None
        if not (isinstance(value, Argument) and isinstance(loop, While) and loop.block is not None):
            return found
        place, body = value.index, loop.body.block
        if body.terminator.operands[place] is not body.arguments[place]:
            return found
        value, block = loop.operands[place], loop.block
        found = Unchanged(value, loop)


def _home_of(value: Value) -> Block | None:
    if isinstance(value, Argument):
        return value.block
    owner = owner_of(value)
    return None if owner is None else owner.block


@dataclass
class Invariants:
    """What the regions within loops want to have exchanged before these."""

    propagation: Propagation
    wanted: dict[While, list[Wanted]] = field(default_factory=dict[While, "list[Wanted]"])
    goes_round: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    """The mesh's axes along which the last device's neighbour is the first one."""

    def widen(self, unchanged: Unchanged, halo: Halo, goes_round: set[tuple[str, ...]]) -> Value:
        """What stands for the value, each device's part with its halo, until `exchange` makes it."""
        value = unchanged.value
        shape = extended_shape(value, halo.divisions, halo.extents)
        whole = (size if each is None else each.parts * size for size, each in zip(shape, halo.divisions, strict=True))
        (stand_in,) = Block([tensor_type(tuple(whole), value.dtype)]).arguments
        self.wanted.setdefault(unchanged.loop, []).append(Wanted(value, halo, stand_in))
        self.goes_round |= goes_round
        return stand_in

    def exchange(self, channels: Channels) -> int:
        """Make the regions that exchange what is wanted, one before each loop; gives how many there are."""
        for loop, wanted in self.wanted.items():
            assert loop.block is not None
            with Builder(loop.block, before=loop, source=loop.source):
                self._exchange_before(wanted, channels)
        return len(self.wanted)

    def _exchange_before(self, wanted: list[Wanted], channels: Channels) -> None:
        groups: dict[Value, list[Wanted]] = {}
        for each in wanted:
            groups.setdefault(each.value, []).append(each)
        halos = [_join([each.halo for each in group]) for group in groups.values()]
        block = Block([halo.part.type for halo in halos])
        for halo, part in zip(halos, block.arguments, strict=True):
            halo.part = part
        asked: list[Wanted] = []
        given: list[Value] = []
        with Builder(block):
            parts = exchange_halos(self.propagation.mesh, halos, self.goes_round, channels)
            for part, halo, group in zip(parts, halos, groups.values(), strict=True):
                asked += group
                given += [_cut(part, halo.extents, each.halo.extents) for each in group]
        operands = [embed(value, halo.divisions) for value, halo in zip(groups, halos, strict=True)]
        results = make_region(
            self.propagation.mesh,
            block,
            given,
            operands,
            [halo.divisions for halo in halos],
            [each.stand_in.type for each in asked],
            [each.halo.divisions for each in asked],
        )
        for each, result in zip(asked, results, strict=True):
            each.stand_in.replace_all_uses_with(result)


def _join(halos: Sequence[Halo]) -> Halo:
    """The halo that holds all of these, of one value."""
    boxes: dict[Extents, Sharers] = {}
    for halo in halos:
        for box, sharers in halo.boxes.items():
            add_box(boxes, box, sharers)
    return replace(halos[0], boxes=boxes)


def _cut(part: Value, held: Extents, wanted: Extents) -> Value:
    """Of a part with its halo as much as is wanted."""
    if held == wanted:
        return part
    starts = tuple(low - own for (low, _), (own, _) in zip(wanted, held, strict=True))
    limits = tuple(size - (own - high) for size, (_, high), (_, own) in zip(part.shape, wanted, held, strict=True))
    return Slice(part, starts, limits, (1,) * len(starts))
