"""Slices that a round of a loop reads of an array before it writes to it, kept from being read late.

XLA:CPU computes a slice within the loops that take it. Where one of those comes after an update of the array, it reads
the array as it was before, and so the whole array is copied in each round. Here such a slice is *held*: it is the
result of a choice, which no loop is fused with, and the update waits for it. The choice always goes the same way, by a
condition that XLA can't know. (Measured with jaxlib 0.10.2: 16,000 rounds that move a float within an array of 16,000
take 0.15 s, and 0.12 ms so. A call, as settling.py has it, would take as long as 100 of these rounds.)
"""

from __future__ import annotations

from windlass.ir import Argument, Block, Builder, Module, Op, Region, Value, tensor_type
from windlass.ops import (
    BroadcastInDim,
    Compare,
    Constant,
    Convert,
    DynamicSlice,
    DynamicUpdateSlice,
    If,
    Or,
    Reshape,
    Return,
    Select,
    Slice,
    While,
)

_STEERING = (tensor_type((), "i32"), tensor_type((), "i64"))
"""Of which types a value may be that the condition is made of."""
LEAST_BYTES = 1 << 10
"""Of an array that is worth it: smaller ones are copied in no time."""
LARGEST_PART = 8
"""A slice is held if it is no more than one of so many parts of the array."""


def hold_slices(module: Module) -> set[Op]:
    """Hold slices in the loops of a module, in place; gives the choices that hold them."""
    held: set[Op] = set()
    for function in list(module.functions.values()):
        for op in list(function.walk()):
            if isinstance(op, While):
                _hold_in(op.body.block, held)
    return held


def _hold_in(block: Block, held: set[Op]) -> None:
    updates = [op for op in block if isinstance(op, DynamicUpdateSlice) and _is_carried(op.operand, block)]
    for update in updates:
        if update.tensor.bytes < LEAST_BYTES:
            continue
        readers = [user for user in update.operand.uses if user is not update]
        late = [reader for reader in readers if not leads_only_to(reader, update)]
        steering = next((each for each in block.arguments if each.type in _STEERING), None)
        if not late or steering is None or not all(_can_be_held(each, update) for each in late):
            continue
        for reader in late:
            held.add(_hold(reader, update, steering))


def _is_carried(array: Value, block: Block) -> bool:
    """Whether a loop carries the array, of which this may be a later version."""
    while isinstance(array, DynamicUpdateSlice):
        array = array.operand
    return isinstance(array, Argument) and array.block is block


def leads_only_to(op: Op, update: DynamicUpdateSlice) -> bool:
    """Whether all that is computed of an op ends in the update, one element of it from one element."""
    pending, seen = [op], {op}
    while pending:
        for user in pending.pop().uses:
            if user is update:
                continue
            if user.block is not update.block or not user.is_elementwise:
                return False
            if user not in seen:
                seen.add(user)
                pending.append(user)
    return True


def _can_be_held(reader: Op, update: DynamicUpdateSlice) -> bool:
    if not isinstance(reader, DynamicSlice | Slice) or reader.block is not update.block:
        return False
    if reader.operand is not update.operand or reader.tensor.size * LARGEST_PART > update.tensor.size:
        return False
    starts = reader.start_indices if isinstance(reader, DynamicSlice) else ()
    return all(_is_before(each, update) for each in starts)


def _is_before(value: Value, op: Op) -> bool:
    if not isinstance(value, Op) or value.block is not op.block:
        return True
    following = value.next
    while following is not None and following is not op:
        following = following.next
    return following is op


def _hold(reader: Op, update: DynamicUpdateSlice, steering: Value) -> If:
    """Let the reader's users have what a choice gives before the update."""
    assert update.block is not None
    (result,) = reader.results
    with Builder(update.block, before=reader if _is_before(result, update) else update, source=reader.source):
        with Builder(taken := Block()):
            Return((reader.clone({}),))
        # XLA makes selects of choices between what is cheap, but not where a branch gives what it is given.
        unused = BroadcastInDim(Convert(steering, result.tensor.dtype), result.shape, ())
        with Builder(other := Block()):
            Return((unused,))
        choice = If(_odd_compared(steering, "NE"), Region(taken), Region(other))
    (piece,) = choice.results
    result.replace_all_uses_with(piece)
    reader.erase()
    # What is never taken makes the update wait.
    with Builder(update.block, before=update, source=update.source):
        if piece.shape != update.update.shape:
            ones = (1,) * len(piece.shape)
            piece = BroadcastInDim(Reshape(Slice(piece, (0,) * len(ones), ones, ones), ()), update.update.shape, ())
        waiting = Select(_odd_compared(steering, "EQ"), piece, update.update)
    update.replace_operand(update.update, waiting)
    return choice


def _odd_compared(number: Value, direction: str) -> Value:
    """Whether an odd number is 0, or is not."""
    return Compare(Or(number, Constant.of(1, number.dtype)), Constant.of(0, number.dtype), direction)
