"""Array code between loops as native code: ops that read and write elements, all that can be done at once in one call.

XLA fuses such ops, too. Native code keeps what is read at several places where computing it again is dearer, writes
parts of arrays where these are, has its functions of floats from libmvec, and needs neither copies nor a program around
it: a function that consists of such calls alone is run without XLA (`windlass.functions.direct_calls`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from windlass.ir import Block, Builder, Op, TensorType, Value
from windlass.ir.captures import captures
from windlass.lowering.native_loops import ElementLoop, told_of_defect
from windlass.native.machine import has_vector_function
from windlass.native.refusal import NotNative
from windlass.native.region_code import compile_region
from windlass.native.region_steps import Steps, steps_of_block
from windlass.native.tensor_arrays import is_function, is_splat
from windlass.native.tensor_elements import DTYPES
from windlass.native.tensor_loops import MOST_CALLS
from windlass.native.tensor_regions import call_with, slots_of
from windlass.native.xla_call import XlaCall, enter
from windlass.ops.base import BroadcastInDim, TensorOp
from windlass.ops.creation import Constant, Iota
from windlass.ops.custom_call import CustomCall
from windlass.ops.dynamic_slices import DynamicSlice, DynamicUpdateSlice
from windlass.ops.movement import Concatenate, Pad, Reshape, Reverse, Slice, Transpose
from windlass.ops.regions import Return

MOST_TRANSPOSED = 1 << 12
"""Elements: XLA goes through larger matrices tile by tile."""
_MOVING = (BroadcastInDim, Concatenate, DynamicSlice, DynamicUpdateSlice, Iota, Reshape, Reverse, Slice, Transpose)


@dataclass(eq=False)
class Group:
    """Ops of one block that can be done in one go, in the order of the block."""

    ops: list[Op] = field(default_factory=list[Op])

    def flops(self) -> int:
        """Operations on elements."""
        return sum(op.flops() for op in self.ops if isinstance(op, TensorOp) and op.is_elementwise)

    def inputs(self) -> list[Value]:
        own = set[Value](self.ops)
        taken = (value for op in self.ops for value in op.operands)
        return list(dict.fromkeys(value for value in taken if value not in own and not is_splat(value)))

    def outputs(self) -> list[Op]:
        own = set(self.ops)
        return [op for op in self.ops if any(user not in own for user in op.uses)]

    def outlined(self) -> Block:
        """A block of copies of the ops: its arguments are the inputs, and it returns the outputs."""
        inputs = self.inputs()
        block = Block([value.type for value in inputs])
        mapping = dict[Value, Value](zip(inputs, block.arguments, strict=True))
        with Builder(block):
            for op in self.ops:
                for value in op.operands:
                    if isinstance(value, Constant) and value not in mapping:
                        mapping[value] = Constant(value.value)
                op.clone(mapping)
            Return(tuple(mapping[op] for op in self.outputs()))
        return block

    def overwritten(self) -> dict[Value, Op]:
        """The inputs that may be written in place, and the outputs that are their last versions."""
        own = set(self.ops)
        found: dict[Value, Op] = {}
        for output in self.outputs():
            value: Value = output
            while isinstance(value, DynamicUpdateSlice) and value in own:
                value = value.operand
            if value is not output and value not in own and not isinstance(value, Constant):
                found.setdefault(value, output)
        return {value: output for value, output in found.items() if all(user in own for user in value.uses)}


@dataclass(frozen=True)
class _Taken:
    """A group's code."""

    steps: Steps
    ends: list[int]
    """The memories that the outputs end in."""
    call: XlaCall


def take_straight_regions(block: Block, name: str, worth: float, *, is_exact: bool) -> Iterator[ElementLoop]:
    """Replace groups of ops that together do so many operations by calls of native code, in place; gives what was
    looked at. Where native code can do all that there is, little groups are replaced, too.

    With `is_exact` functions of floats are those of the C library.
    """
    order = groups_of(block, is_exact=is_exact)
    taken: dict[Group, _Taken] = {}
    if _is_native(order, worth):
        worth = 0
    for each in order:
        if isinstance(each, Group) and each.ops and each.flops() >= worth:
            reason = ""
            try:
                taken[each] = _compile(each, name, is_exact=is_exact)
            except NotNative as refusal:
                reason = refusal.reason
            except Exception as defect:  # ours, which must not take the user's result away
                reason = told_of_defect(defect)
            yield ElementLoop(each.ops[0].source, reason, "array code")
    if taken:
        _replace(block, order, taken)


def _is_native(order: Sequence[Group | Op], worth: float) -> bool:
    """Whether native code can do all that there is, and some of it is worth it: then XLA has nothing to do."""
    groups = [each for each in order if isinstance(each, Group)]
    others = [each for each in order if isinstance(each, Op)]
    is_all = all(isinstance(op, CustomCall) and op.calls_native_code for op in others)
    return is_all and (bool(others) or sum(group.flops() for group in groups) >= worth)


def _compile(group: Group, name: str, *, is_exact: bool) -> _Taken:
    """Raises NotNative."""
    block = group.outlined()
    name = re.sub(r"\W+", "_", name)
    owned = [place for place, value in enumerate(group.inputs()) if value in group.overwritten()]
    steps, ends = steps_of_block(block, owned)
    code = compile_region(steps, name, is_exact=is_exact)
    return _Taken(steps, ends, enter(name, code, slots_of(steps), group.flops()))


def _replace(block: Block, order: Sequence[Group | Op], taken: Mapping[Group, _Taken]) -> None:
    """Put all ops in this order, with calls in the place of the groups."""
    end = block.terminator
    for each in order:
        if isinstance(each, Op):
            _move(each, end)
        elif each not in taken:
            for op in each.ops:
                _move(op, end)
        else:
            _call(each, taken[each], end)


def _move(op: Op, end: Op) -> None:
    assert op.block is not None
    block = op.block
    block.unlink(op)
    block.insert_before(op, end)


def _call(group: Group, taken: _Taken, end: Op) -> None:
    assert end.block is not None
    inputs, outputs = group.inputs(), group.outputs()
    with Builder(end.block, before=end, source=group.ops[0].source):
        done = call_with(taken.steps, taken.call, inputs)
    for op, slot in zip(outputs, taken.ends, strict=True):
        result: Value = done[slot]
        if result.tensor.shape != op.shape:
            with Builder(end.block, before=end, source=op.source):
                result = Reshape(result, op.shape)
        op.replace_all_uses_with(result)
    for op in reversed(group.ops):
        op.erase()


def groups_of(block: Block, *, is_exact: bool) -> list[Group | Op]:
    """The ops of a block in an order in which what native code can do stands together, in few groups.

    Each op is done as early as what it reads allows: behind so many stages of ops that are no such ops.
    """
    known: dict[Value, tuple[int, bool]] = {}
    stages: list[tuple[Group, list[Op]]] = []
    last_effect = 0
    for op in block:
        if isinstance(op, Constant) or op is block.terminator:
            continue
        is_known = is_of_elements(op, is_exact=is_exact)
        stage = 0 if op.is_pure else last_effect
        for value in (*op.operands, *(each for region in op.regions for each in captures(region))):
            before, was_known = known.get(value, (0, True))
            stage = max(stage, before + (is_known and not was_known))
        while len(stages) <= stage:
            stages.append((Group(), []))
        last_effect = last_effect if op.is_pure else stage
        group, others = stages[stage]
        (group.ops if is_known else others).append(op)
        known.update(dict.fromkeys(op.results, (stage, is_known)))
    return [each for group, others in stages for each in (group, *others)]


def is_of_elements(op: Op, *, is_exact: bool) -> bool:
    """Whether native code computes each element of the op's result from elements of what it takes, as fast as XLA."""
    if not isinstance(op, TensorOp) or len(op.results) != 1 or op.regions:
        return False
    for value in (*op.operands, op):
        if not isinstance(value.type, TensorType) or value.dtype not in DTYPES or not value.tensor.size:
            return False
    match op:
        case Pad():
            return not any(op.interior_padding)
        case Transpose():
            return op.permutation[-1] == len(op.shape) - 1 or op.tensor.size <= MOST_TRANSPOSED
        case Constant():
            return False
        case _ if isinstance(op, _MOVING):
            return True
        case _ if op.is_elementwise:
            is_little = not is_function(op) or op.tensor.size <= MOST_CALLS
            return is_little or has_vector_function(op, is_exact=is_exact)
        case _:
            return False
