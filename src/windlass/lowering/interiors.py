"""Values that are computed alike everywhere but near their borders: the inside by itself, and each border apart.

XLA:CPU computes a padding, a joined array or an update that is read as it goes: for each element it decides which part
that is of, in a loop that vector registers are no use to. Where one part is nearly all of the array, as where a stencil
meets the borders of its grid, that is most of the time: of 1024² places, the sum of five shifted paddings (the
derivative of a five-point stencil) takes 4.4 ms, and 1.6 ms so, written as updates of one array: the inside, where each
part is a slice, and the strips around it.
"""

from __future__ import annotations

from windlass.diagnostics.deadline import is_late
from windlass.facts.boxes import ElementBox, Sizes
from windlass.facts.cost import fuses
from windlass.ir import Argument, Block, Builder, Module, Op, TensorType, Value, tensor_type
from windlass.lowering.settling import Settling, is_settling, is_settling_function
from windlass.ops import (
    BroadcastInDim,
    Concatenate,
    Constant,
    Convert,
    DynamicUpdateSlice,
    Elementwise,
    Pad,
    Reshape,
    Return,
    Slice,
)

LEAST = 1 << 16
"""Elements: what is smaller is computed in less time than it takes to begin."""
SHARE = 0.75
"""The least part of an array that is its inside."""
MOST = 400
"""Ops that the strips of one array may have together: XLA compiles each of them."""


def split_interiors(module: Module) -> int:
    """Have what is written out near borders computed apart from the inside, in place; gives of how many values."""
    settling = Settling(module)
    return sum(
        _split_block(function.body, settling)
        for function in list(module.functions.values())
        if not is_settling_function(function)
    )


def _split_block(block: Block, settling: Settling) -> int:
    count = 0
    for op in list(block):
        for region in op.regions:
            count += sum(_split_block(inner, settling) for inner in region.blocks)
        if is_late():
            return count
        if _is_written(op) and (found := _find_inside(op)) is not None:
            _split(op, *found, settling)
            count += 1
    return count


def _is_written(op: Op) -> bool:
    """Whether the op is one that XLA computes in a loop of its own, and the array is large."""
    return (
        isinstance(op, Elementwise | Pad | Concatenate)
        and op.tensor.size >= LEAST
        and any(isinstance(user, Return) or is_settling(user) or user.is_contraction for user in op.uses)
    )


def _find_inside(root: Op) -> tuple[ElementBox, Value] | None:
    """The places at which each array that was put together is read in its largest part, and an array that is read.

    None where it doesn't pay.
    """
    inside = whole = ElementBox.whole(root.shape)
    is_joined = False
    read: Value | None = None
    seen: set[tuple[Value, Sizes]] = set()
    pending: list[tuple[Value, Sizes]] = [(root, inside.start)]
    while pending:
        value, place = each = pending.pop()
        if each in seen:
            continue
        if not _is_fused(value, root):
            read = value if read is None or isinstance(read, Argument) else read
            continue
        seen.add(each)
        if isinstance(value, Elementwise):
            pending += [(operand, place) for operand in value.operands if operand.shape == value.shape]
            continue
        part = _largest_part(value)
        if part is None:
            continue
        operand, box = part
        is_joined = is_joined or not isinstance(value, Slice)
        begin = tuple(map(sum, zip(place, box.start, strict=True)))
        inside = inside.meet(ElementBox.at(begin, operand.shape))
        pending.append((operand, begin))
    if not is_joined or read is None or inside.size < SHARE * whole.size:
        return None
    strips = sum(1 for _ in whole.around(inside))
    return (inside, read) if len(seen) * strips <= MOST else None


def _is_fused(value: Value, root: Op) -> bool:
    """Whether XLA computes the value in the loop of the root."""
    if not isinstance(value, Op) or value.block is not root.block or not isinstance(value.type, TensorType):
        return False
    return value is root or (fuses(value) and not any(is_settling(user) for user in value.uses))


def _largest_part(value: Value) -> tuple[Value, ElementBox] | None:
    """The operand that most of a value is, and where it lies within the value; of a slice, around it."""
    match value:
        case Pad() if not any(value.interior_padding) and min(value.edge_padding_low + value.edge_padding_high) >= 0:
            return value.operand, ElementBox.at(value.edge_padding_low, value.operand.shape)
        case Slice() if all(stride == 1 for stride in value.strides):
            return value.operand, ElementBox.whole(value.operand.shape).seen_from(value.start_indices)
        case Concatenate():
            return max(_parts(value), key=lambda part: part[1].size)
        case DynamicUpdateSlice() if (start := _known_start(value)) is not None:
            return value.update, ElementBox.at(start, value.update.shape)
        case _:
            return None


def _parts(value: Concatenate) -> list[tuple[Value, ElementBox]]:
    found: list[tuple[Value, ElementBox]] = []
    start = 0
    for operand in value.operands:
        by = [0] * operand.tensor.rank
        by[value.dimension] = start
        found.append((operand, ElementBox.at(by, operand.shape)))
        start += operand.shape[value.dimension]
    return found


def _known_start(value: DynamicUpdateSlice) -> Sizes | None:
    """Where an update is written, if that is known."""
    starts = [int(each.number) for each in value.start_indices if isinstance(each, Constant)]
    if len(starts) != value.tensor.rank:
        return None
    places = zip(starts, value.shape, value.update.shape, strict=True)
    return tuple(min(max(start, 0), whole - part) for start, whole, part in places)


def _split(root: Op, inside: ElementBox, read: Value, settling: Settling) -> None:
    """Let all that use the root use an array into which its inside and its strips are written."""
    assert root.block is not None
    parts = _Parts(root)
    users = list(root.uses)
    with Builder(root.block, before=root.next, source=root.source):
        array = settling.settle(_unwritten(root.tensor, read))
        for box in ElementBox.whole(root.shape).around(inside):
            array = _updated(array, parts.of(root, box), box)
        # What has been written so far is written before the inside: in one loop they would be told apart again.
        array = settling.settle(array)
        result = settling.settle(_updated(array, parts.of(root, inside), inside))
    for user in users:
        if is_settling(user):
            user.results[0].replace_all_uses_with(result)
            user.erase()
        else:
            user.replace_operand(root, result)


def _updated(array: Value, update: Value, box: ElementBox) -> Value:
    return DynamicUpdateSlice(array, update, tuple(Constant.of(start, "i32") for start in box.start))


def _unwritten(type_: TensorType, read: Value) -> Value:
    """An array that is written at all places later.

    It is filled with a number that is read: XLA would share one that is made of a constant, and copy it for each use.
    """
    rank = read.tensor.rank
    number = Reshape(Slice(read, (0,) * rank, (1,) * rank, (1,) * rank), ())
    return BroadcastInDim(number if number.dtype == type_.dtype else Convert(number, type_.dtype), type_.shape, ())


class _Parts:
    """Parts of the values that are computed in the root's loop, each made once."""

    def __init__(self, root: Op) -> None:
        self.root = root
        self.made: dict[tuple[Value, ElementBox], Value] = {}

    def of(self, value: Value, box: ElementBox) -> Value:
        """The part of a value within a box of its places, where the active builder is."""
        if box.shape == value.shape:
            return value
        found = self.made.get((value, box))
        if found is None:
            found = self.made[value, box] = self.make(value, box)
        return found

    def make(self, value: Value, box: ElementBox) -> Value:
        if isinstance(value, Constant) and value.is_splat:
            return Constant.splat(value.number, tensor_type(box.shape, value.dtype))
        if isinstance(value, BroadcastInDim) and not value.operand.shape:
            return BroadcastInDim(value.operand, box.shape, ())
        if not _is_fused(value, self.root):
            return _sliced(value, box)
        match value:
            case Elementwise():
                operands = value.operands
                return value.with_operands(
                    tuple(self.of(each, box) if each.shape == value.shape else each for each in operands)
                )
            case Slice() if all(stride == 1 for stride in value.strides):
                return self.of(value.operand, box.moved(value.start_indices))
            case Pad() if _largest_part(value) is not None:
                return self.padded(value, box)
            case Concatenate():
                met = [(operand, part, part.meet(box)) for operand, part in _parts(value)]
                pieces = [self.of(operand, both.seen_from(part.start)) for operand, part, both in met if both.size]
                return pieces[0] if len(pieces) == 1 else Concatenate(tuple(pieces), value.dimension)
            case DynamicUpdateSlice() if (start := _known_start(value)) is not None:
                written = ElementBox.at(start, value.update.shape)
                if written.meet(box) == box:
                    return self.of(value.update, box.seen_from(start))
                return _sliced(value, box) if written.meet(box).size else self.of(value.operand, box)
            case _:
                return _sliced(value, box)

    def padded(self, value: Pad, box: ElementBox) -> Value:
        """Of a padding: what lies within its operand, and around that as much padding as is in the box."""
        whole = ElementBox.at(value.edge_padding_low, value.operand.shape)
        both = whole.meet(box)
        if not both.size:
            number = value.padding_value
            if isinstance(number, Constant):
                return Constant.splat(number.number, tensor_type(box.shape, value.dtype))
            return BroadcastInDim(number, box.shape, ())
        part = self.of(value.operand, both.seen_from(value.edge_padding_low))
        if both == box:
            return part
        low = tuple(inner - outer for inner, outer in zip(both.start, box.start, strict=True))
        high = tuple(outer - inner for inner, outer in zip(both.limit, box.limit, strict=True))
        return Pad(part, value.padding_value, low, high, (0,) * len(low))


def _sliced(value: Value, box: ElementBox) -> Value:
    return Slice(value, box.start, box.limit, (1,) * len(box.start))
