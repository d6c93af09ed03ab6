"""Elementwise ops between transposes are done in the order of axes in which most of their values come and go.

A rule sees one op, and gives up where a value has several users. Here all that is computed elementwise from transposed
arrays is taken together: it is done before the transposes, if that leaves fewer of them. Programs from languages that
keep their arrays by columns transpose all that they take and all that they give.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from windlass.facts.cost import Device
from windlass.ir import Block, Builder, Op, Value
from windlass.ops import BroadcastInDim, Constant, Elementwise, Reduce, Transpose
from windlass.ops.base import TensorOp
from windlass.rewriting.passes import Change, Pass
from windlass.rewriting.rule import catalogue
from windlass.rules.scatter_order import (
    can_be_turned,
    one_number_of,
    scatter_in_order,
    scatter_of,
    starts_from_one_number,
)

Sizes = tuple[int, ...]

MOST_CHANGES = 32
"""Regions that are turned in one run over a block."""


@dataclass
class TurnedRegion:
    """Elementwise ops that depend on each other, and the transposes that they begin with."""

    members: dict[Op, None] = field(default_factory=dict[Op, None])
    entries: dict[Op, None] = field(default_factory=dict[Op, None])

    def absorb(self, other: TurnedRegion) -> None:
        """Take in what another has."""
        self.members.update(other.members)
        self.entries.update(other.entries)


def turn_regions(block: Block, device: Device) -> Iterator[Change]:
    """Do elementwise ops on transposed arrays before the transposes, wherever that leaves fewer transposes."""
    for _ in range(MOST_CHANGES):
        change = _turn_one(block, device)
        if change is None:
            return
        yield change


def _turn_one(block: Block, device: Device) -> Change | None:
    permutations = {op.permutation: None for op in block if isinstance(op, Transpose)}
    for p in permutations:
        if p == tuple(range(len(p))):
            continue
        for region in _list_regions(block, p):
            fewer = _count_removed(region, p) - _count_added(region, p)
            if fewer > 0:
                return _turn(block, region, p, fewer, device)
    return None


def _list_regions(block: Block, p: Sizes) -> list[TurnedRegion]:
    """The regions of a block that begin with transposes by `p`."""
    found: dict[Op, TurnedRegion] = {}
    for op in block:
        if isinstance(op, Transpose) and op.permutation == p and not op.extra:
            found[op] = TurnedRegion({}, {op: None})
        elif _is_plain(op, len(p)):
            inside = [operand for operand in op.operands if isinstance(operand, Op) and operand in found]
            if not inside or any(operand not in found and not _can_turn(operand, p) for operand in op.operands):
                continue
            own = TurnedRegion({op: None})
            for operand in inside:
                if found[operand] is not own:
                    own.absorb(found[operand])
            for each in (*own.members, *own.entries):
                found[each] = own
    regions = {id(each): each for each in found.values()}
    # In the order of the block, whatever order they were joined in.
    places = {op: place for place, op in enumerate(block)}
    for each in regions.values():
        each.members = dict.fromkeys(sorted(each.members, key=places.__getitem__))
    return [each for each in regions.values() if each.members and not _feeds_itself(each)]


def _feeds_itself(region: TurnedRegion) -> bool:
    """Whether a transpose that it begins with is one of what it computes: then it has no order of its own."""
    return any(entry.operands[0] in region.members for entry in region.entries)


def _is_plain(op: Op, rank: int) -> bool:
    return isinstance(op, Elementwise) and op.is_pure and not op.regions and not op.extra and op.tensor.rank == rank


def _can_turn(value: Value, p: Sizes) -> bool:
    """Whether the value can be had in another order of axes for nothing."""
    if isinstance(value, BroadcastInDim):
        axes = [p[axis] for axis in value.broadcast_dimensions]
        return axes == sorted(axes)
    scatter = scatter_of(value)
    if scatter is not None:
        return len(value.uses) == 1 and can_be_turned(scatter) and starts_from_one_number(scatter)
    return isinstance(value, Constant) or not value.shape


def _turned(value: Value, p: Sizes) -> Value:
    """The value whose transpose by `p` is this one."""
    if not value.shape:
        return value
    shape = _undo(value.shape, p)
    if isinstance(value, Constant):
        if value.is_splat:
            return Constant.of(value.number, value.dtype, shape)
        return Constant.of(np.ascontiguousarray(value.array.transpose(np.argsort(p))), value.dtype)
    scatter = scatter_of(value)
    if scatter is not None:
        return scatter_in_order(scatter, one_number_of(scatter.inputs[0], shape), tuple(np.argsort(p).tolist()))
    assert isinstance(value, BroadcastInDim)
    return BroadcastInDim(value.operand, shape, tuple(p[axis] for axis in value.broadcast_dimensions))


def _undo(sizes: Sizes, p: Sizes) -> Sizes:
    """The sizes before a transpose by `p`."""
    before = [0] * len(p)
    for place, axis in enumerate(p):
        before[axis] = sizes[place]
    return tuple(before)


def _is_exit(user: Op, op: Op, p: Sizes) -> bool:
    """Whether the user undoes the transpose."""
    if not isinstance(user, Transpose) or user.extra or user.block is not op.block:
        return False
    return tuple(p[axis] for axis in user.permutation) == tuple(range(len(p)))


def _takes_any_order(user: Op, op: Op, p: Sizes) -> bool:
    """Whether the user is a reduction that gives the same from the array before the transpose."""
    if not isinstance(user, Reduce) or user.inputs != op.results or user.extra or user.block is not op.block:
        return False
    kept = [p[axis] for axis in range(len(p)) if axis not in user.dimensions]
    return user.combiner is not None and kept == sorted(kept)


def _outside(region: TurnedRegion, op: Op) -> list[Op]:
    return [user for user in op.uses if user not in region.members]


def _count_removed(region: TurnedRegion, p: Sizes) -> int:
    entering = sum(all(user in region.members for user in entry.uses) for entry in region.entries)
    return entering + sum(_is_exit(user, op, p) for op in region.members for user in _outside(region, op))


def _count_added(region: TurnedRegion, p: Sizes) -> int:
    """One for each value that something else uses in the order it has."""
    return sum(
        any(not _is_exit(user, op, p) and not _takes_any_order(user, op, p) for user in _outside(region, op))
        for op in region.members
    )


def _turn(block: Block, region: TurnedRegion, p: Sizes, fewer: int, device: Device) -> Change:
    placed: list[Op] = []
    made: dict[Value, Value] = {}
    for entry in region.entries:
        made[entry.results[0]] = entry.operands[0]
    root = next(iter(region.members))
    for op in region.members:
        assert isinstance(op, TensorOp)
        builder = Builder(block, op, op.source)
        builder.placed, builder.made_by = placed, ("turned_regions",)
        with builder:
            operands = tuple(made[each] if each in made else _turned(each, p) for each in op.operands)
            new = made[op.results[0]] = op.with_operands(operands)
        back: Transpose | None = None
        for user in _outside(region, op):
            if _is_exit(user, op, p):
                user.results[0].replace_all_uses_with(new)
                user.erase()
            elif _takes_any_order(user, op, p):
                assert isinstance(user, Reduce)
                place = Builder(block, user, user.source)
                place.placed, place.made_by = placed, ("turned_regions",)
                with place:
                    axes = tuple(sorted(p[axis] for axis in user.dimensions))
                    fold = Reduce((new,), user.init_values, axes, user.body.clone({}))
                user.results[0].replace_all_uses_with(fold.results[0])
                user.erase()
            else:
                if back is None:
                    with builder:
                        back = Transpose(new, p)
                user.replace_operand(op.results[0], back)
    saved = 2.0 * fewer * root.results[0].tensor.bytes / device.bandwidth
    source = root.source
    for op in reversed(list(region.members)):
        op.erase()
    for entry in region.entries:
        if entry.is_unused:
            entry.erase()
    return Change("Transpose", source, placed, saved)


catalogue.passes.append(
    Pass(
        "turned_regions",
        "f(transpose(x), transpose(y)) = transpose(f(x, y)), for any number of elementwise ops and of users",
        turn_regions,
        reassociates=True,
        in_kernels=True,
    )
)
