"""Keeping XLA's updates in place, and apart from what reads the array that they update.

XLA:CPU computes a `dynamic_update_slice` in place, in one loop with what the update is computed from. Two things go
wrong there (docs/decisions/0006-in-place-updates.md):

* Wrong values: where the update reads the array that it updates, and one of the two sees it through a reshape, XLA
  doesn't notice that both are one buffer. The loop then reads words that it has written already.
* Time: a slice of an updated array is fused with a second copy of the update, which reads the array as it was before;
  so the whole array is copied first, each time.

Both end where a value is *settled* (see `windlass.lowering.settling`): it is then computed before whatever takes it
from there, and no loop reaches across. In loops slices that are read before an update are held (`held_slices`).
"""

from __future__ import annotations

from collections.abc import Iterable

from windlass.facts.cost import CPU, Device
from windlass.ir import Argument, Block, Builder, Module, Op, Value
from windlass.lowering.held_slices import hold_slices, leads_only_to
from windlass.lowering.settling import Settling, is_settling
from windlass.ops import BroadcastInDim, Constant, DynamicSlice, DynamicUpdateSlice, Reshape, Return, Slice, While


def settle_updates(module: Module, is_whole: bool = False, device: Device = CPU) -> None:
    """Change the module, in place, so that no update meets a read of its array within one of XLA's loops.

    A module that is whole becomes part of no other program: its main's arguments are buffers of their own. Arrays that
    are copied in less time than a call takes are settled only where values would be wrong.
    """
    settling = Settling(module)
    main = module.functions.get("main") if is_whole else None
    buffers = frozenset[Value](main.arguments if main is not None else ())
    held = hold_slices(module)
    for function in list(module.functions.values()):
        _settle_block(function.body, settling, buffers, device, held)


def _settle_block(block: Block, settling: Settling, buffers: frozenset[Value], device: Device, held: set[Op]) -> None:
    reads = _Reads((op for op in block if isinstance(op, DynamicUpdateSlice)), held)
    op = block.first
    while op is not None:
        for region in op.regions:
            for inner in region.blocks:
                _settle_block(inner, settling, buffers, device, held)
        following = op.next
        if isinstance(op, DynamicUpdateSlice):
            _settle_operands(op, settling, reads, buffers, device)
        reads.note(op)
        if (
            isinstance(op, DynamicUpdateSlice)
            and _is_read(op, held)
            and not _is_fresh(op.operand)
            and not _is_small(op, device)
        ):
            users = list(op.uses)
            with Builder(block, before=following, source=op.source):
                settled = settling.settle(op)
            reads.hand_on(op, settled)
            for user in users:
                user.replace_operand(op, settled)
        op = following


def _settle_operands(
    op: DynamicUpdateSlice, settling: Settling, reads: _Reads, buffers: frozenset[Value], device: Device
) -> None:
    assert op.block is not None
    array, update = op.operand, op.update
    with Builder(op.block, before=op, source=op.source):
        is_right = _reads_its_place(op, reads) or (_is_small(op, device) and _reads_elsewhere(op, reads))
        if reads.meets(update, array) and not is_right:
            op.replace_operand(update, settling.settle(update))
        is_fresh = _is_fresh(array) or array in buffers or _is_carried_for(array, op, reads.held)
        if isinstance(array, Reshape | Argument) and not is_fresh:
            # Within a loop, XLA doesn't see that a reshaped array is updated in place. An argument may be one too: a
            # reshape of another argument, in the program that this one is part of.
            settled = settling.settle(array)
            reads.hand_on(array, settled)
            op.replace_operand(array, settled)


class _Reads:
    """Which updated arrays each value may be computed from within one loop: a set of bits, one for each array.

    All versions of an array, and its reshapes, are one array here, since they may share one buffer.
    """

    def __init__(self, updates: Iterable[DynamicUpdateSlice], held: set[Op]) -> None:
        self.held = held
        self.bits: dict[Value, int] = {}
        self.array_of: dict[Value, int] = {}
        self.reads: dict[Value, int] = {}
        for update in updates:
            versions = [update.operand]
            while isinstance(version := versions[-1], Reshape | DynamicUpdateSlice):
                versions.append(version.operand)
            bit = self.bits.setdefault(versions[-1], 1 << len(self.bits))
            for version in versions:  # they may be in a block around this one
                self.array_of[version] = self.reads[version] = bit

    def meets(self, value: Value, array: Value) -> bool:
        """Whether the value reads a version of the array."""
        return bool(self.reads.get(value, 0) & self.array_of.get(array, 0))

    def note(self, op: Op) -> None:
        """Take in an op whose operands are known."""
        if is_settling(op):
            (settled,), (operand,) = op.results, op.operands
            if operand in self.array_of:
                self.hand_on(operand, settled)
            return
        if op in self.held:
            return
        bits = 0
        for operand in op.operands:
            bits |= self.reads.get(operand, 0)
        for region in op.regions:
            for inner in region.walk():
                for operand in inner.operands:
                    bits |= self.reads.get(operand, 0)
        for result in op.results:
            if bits:
                self.reads[result] = self.reads.get(result, 0) | bits
        if isinstance(op, Reshape | DynamicUpdateSlice) and op.operand in self.array_of:
            self.array_of[op] = self.array_of[op.operand]

    def hand_on(self, array: Value, settled: Value) -> None:
        """A settled version of an array is that array still. (Of a settled update nothing is left to be read.)"""
        self.array_of[settled] = self.reads[settled] = self.array_of[array]


def _is_carried_for(array: Value, op: DynamicUpdateSlice, held: set[Op]) -> bool:
    """Whether a loop carries the array for this update alone: it has a buffer of its own, that nothing else reads."""
    if not isinstance(array, Argument) or array.block is None or array.block.parent is None:
        return False
    if not isinstance(array.block.parent.parent, While) or op.block is not array.block:
        return False
    return (
        all(user is op or _is_held(user, held) or _is_at_its_place(user, op) for user in array.uses)
        and array.uses.get(op) == 1
    )


def _is_held(op: Op, held: set[Op]) -> bool:
    return op.block is not None and op.block.parent is not None and op.block.parent.parent in held


def _is_at_its_place(reader: Op, op: DynamicUpdateSlice) -> bool:
    """Whether an op takes what an update replaces, for nothing but the update."""
    return (
        isinstance(reader, DynamicSlice)
        and reader.operand is op.operand
        and reader.start_indices == op.start_indices
        and reader.slice_sizes == op.update.shape
        and leads_only_to(reader, op)
    )


def _reads_its_place(op: DynamicUpdateSlice, reads: _Reads) -> bool:
    """Whether all that an update sees of its array are the elements that it replaces, each where it goes."""
    pending, seen = [op.update], {op.update}
    while pending:
        value = pending.pop()
        if not reads.meets(value, op.operand):
            continue
        if isinstance(value, DynamicSlice) and _is_at_its_place(value, op):
            continue
        if not isinstance(value, Op) or not value.is_elementwise or len(seen) > MOST_READ:
            return False
        pending += [operand for operand in value.operands if operand not in seen]
        seen.update(value.operands)
    return True


def _is_small(op: DynamicUpdateSlice, device: Device) -> bool:
    """Whether copying the array takes less time than a call."""
    return 2 * op.tensor.bytes <= device.call * device.bandwidth


MOST_READ = 64
"""Ops that an update is computed from which are looked at."""


def _reads_elsewhere(op: DynamicUpdateSlice, reads: _Reads) -> bool:
    """Whether the order in which a loop reads and writes the array doesn't matter.

    So it is where all that the update sees of the array are known slices of it as it is now that miss what is written,
    and elements at the places where those are written that are computed from them.
    """
    starts = [int(each.number) for each in op.start_indices if isinstance(each, Constant)]
    if len(starts) != op.tensor.rank:
        return False
    places = zip(starts, op.shape, op.update.shape, strict=True)
    first = tuple(min(max(start, 0), whole - part) for start, whole, part in places)
    last = tuple(start + part for start, part in zip(first, op.update.shape, strict=True))
    seen: set[tuple[Value, bool]] = set()
    pending: list[tuple[Value, bool]] = [(op.update, True)]
    while pending:
        value, is_same_place = each = pending.pop()
        if each in seen or not reads.meets(value, op.operand):
            continue
        seen.add(each)
        if isinstance(value, Slice) and value.operand is op.operand:
            if is_same_place and value.start_indices == first and value.limit_indices == last:
                continue
            bounds = zip(value.start_indices, value.limit_indices, first, last, strict=True)
            if not any(limit <= begin or end <= start for start, limit, begin, end in bounds):
                return False
        elif not isinstance(value, Op) or value.regions or len(seen) > MOST_READ:
            return False
        else:
            is_same_place = is_same_place and value.is_elementwise
            pending.extend((operand, is_same_place) for operand in value.operands)
    return True


def _is_fresh(value: Value) -> bool:
    """Whether an array is made of one number: XLA turns its update into a pad."""
    while isinstance(value, Reshape | BroadcastInDim):
        value = value.operand
    return isinstance(value, Constant)


def _is_read(value: Value, held: set[Op]) -> bool:
    """Whether something computes with an array, or moves it, other than to update and return it."""
    updates = [user for user in value.uses if isinstance(user, DynamicUpdateSlice) and user.operand is value]
    return any(
        not (isinstance(user, Return) or is_settling(user))
        and user not in updates
        and not _is_held(user, held)
        and not (len(updates) == 1 and _is_at_its_place(user, updates[0]))
        for user in value.uses
    )
