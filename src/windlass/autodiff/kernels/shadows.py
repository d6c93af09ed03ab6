"""The shadows of memory: what its tangents or cotangents are kept in, at the same places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windlass.autodiff.kernels.varying import Refusal, Varying
from windlass.ir import Block, BufferType, Function, Op, Type, Value
from windlass.loops import Allocate, NullBuffer, SelectBuffer, ViewBuffer
from windlass.ops.conversion import Convert
from windlass.ops.creation import Constant


class Shadows:
    """The shadow of each buffer of a kernel that holds what varies. Those of selections are made where asked for."""

    def __init__(self, varying: Varying) -> None:
        self._varying = varying
        self.of_memories: dict[Value, Value] = {}

    def allocate(self, primal: Block) -> None:
        """Place the shadows of what a block allocates."""
        for op in primal:
            if isinstance(op, Allocate) and op in self._varying.memories:
                self.allocate_one(op)

    def allocate_one(self, op: Allocate) -> None:
        """Place the shadow of one allocation."""
        name = f"{op.variable}'" if op.variable else ""
        self.of_memories[op] = Allocate(op.space, op.size, name, op.element_dtype, op.axes, op.byte_count)

    def of(self, buffer: Value, at: Op, mapping: Mapping[Value, Value] | None = None) -> Value:
        """The shadow of a buffer, placed where the builder is if it is a selection; by `mapping` if there is one."""
        known = self.of_memories.get(buffer)
        if known is not None:
            return known
        match buffer:
            case ViewBuffer():
                return ViewBuffer(self.of(buffer.buffer, at, mapping), buffer.space, buffer.element_dtype, buffer.size)
            case SelectBuffer():
                condition = buffer.condition if mapping is None else mapping.get(buffer.condition, buffer.condition)
                both = (self.of(each, at, mapping) for each in (buffer.on_true, buffer.on_false))
                return SelectBuffer(condition, *both)
            case NullBuffer():
                return NullBuffer()
            case _:
                raise Refusal("a pointer is chosen in a branch or a loop", at.source)


def with_shadows(function: Function, positions: Sequence[int], types: Sequence[Type], shadows: Shadows) -> Block:
    """The body of a function that takes the arguments of another one, and then shadows, which are entered."""
    given = function.arguments
    names = [f"{given[position].name or position}'" for position in positions]
    block = Block([*(each.type for each in given), *types], [*(each.name for each in given), *names])
    for position, shadow in zip(positions, block.arguments[len(given) :], strict=True):
        shadows.of_memories[given[position]] = shadow
    return block


def shadow_type(argument: Value) -> Type:
    """The type of an argument's shadow that is memory."""
    if isinstance(argument.type, BufferType):
        return BufferType.of(argument.type.space, argument.type.dtype, argument.type.size)
    return BufferType.of("global", argument.dtype)


def zero(dtype: str) -> Constant:
    return Constant.of(0, dtype)


def fitted(value: Value, dtype: str) -> Value:
    """The value as another float."""
    return value if value.dtype == dtype else Convert(value, dtype)
