"""Which values of a kernel vary, which memories hold such values, and what is refused since nobody follows it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from windlass.autodiff.activity import is_differentiable
from windlass.diagnostics import Position
from windlass.ir import BufferType, Function, Op, Value
from windlass.loops import (
    Access,
    Atomic,
    AtomicUpdate,
    CompareExchange,
    Condition,
    DeviceVariableBuffer,
    DoWhile,
    For,
    If,
    Load,
    NullBuffer,
    Pop,
    Push,
    SelectBuffer,
    Store,
    Yield,
)
from windlass.ops.base import TensorOp
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert
from windlass.parallel.effects import find_roots


class Refusal(Exception):
    """What of a kernel has no derivative here: why not, and where it is."""

    def __init__(self, reason: str, source: Position | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.source = source


class Varying:
    """What varies in a kernel as its active arguments do: scalars, or what memory holds at first."""

    def __init__(self, function: Function, active: Collection[int]) -> None:
        self.function = function
        self.roots = find_roots(function)
        self.values: set[Value] = set()
        """Floats that vary."""
        self.bits: set[Value] = set()
        """Integers that are made of the bits of floats that vary."""
        self.memories: set[Value] = set()
        """Arguments and local arrays that hold floats that vary, at some time."""
        for index in active:
            argument = function.arguments[index]
            (self.memories if isinstance(argument.type, BufferType) else self.values).add(argument)
        accesses = [op for op in function.walk() if isinstance(op, Access)]
        self.written = self._memories_of(op for op in accesses if not isinstance(op, Load))
        self.read = self._memories_of(
            op for op in accesses if isinstance(op, Load) or (not isinstance(op, Store) and (op.uses or not is_sum(op)))
        )
        """Those of which the way there or back asks what they hold."""
        self._pops = {op.record: op for op in function.walk() if isinstance(op, Pop)}
        self._effects: dict[Op, bool] = {}
        while self._extend():
            pass
        self._refuse_bits()

    def _memories_of(self, accesses: Iterable[Access]) -> frozenset[Value]:
        return frozenset[Value]().union(*(self.roots_of(op.buffer, op) for op in accesses))

    def roots_of(self, buffer: Value, at: Op) -> frozenset[Value]:
        """The memories that a buffer may be in."""
        found = self.roots.get(buffer)
        if not found:
            raise Refusal("it is not known into which array a pointer goes", at.source)
        return found

    def goes_to_varying(self, access: Access) -> bool:
        """Whether an access may come to memory that holds what varies."""
        return not self.memories.isdisjoint(self.roots_of(access.buffer, access))

    def shadowed(self) -> list[int]:
        """The arguments that vary, by position."""
        return [
            index
            for index, argument in enumerate(self.function.arguments)
            if argument in self.memories or argument in self.values
        ]

    def has_effects(self, op: Op) -> bool:
        """Whether something within changes what memory holds of what varies."""
        found = self._effects.get(op)
        if found is None:
            found = self._effects[op] = any(
                isinstance(inner, Access) and not isinstance(inner, Load) and self.goes_to_varying(inner)
                for region in op.regions
                for inner in region.walk()
            )
        return found

    # -- what varies --------------------------------------------------------------------------------------------------

    def _extend(self) -> bool:
        before = len(self.values), len(self.bits), len(self.memories)
        for op in self.function.walk():
            self._enter(op)
        return before != (len(self.values), len(self.bits), len(self.memories))

    def _add(self, value: Value) -> None:
        (self.values if is_differentiable(value.type) else self.bits).add(value)

    def _varies(self, value: Value) -> bool:
        return value in self.values or value in self.bits

    def _enter(self, op: Op) -> None:
        if isinstance(op, Load):
            if self.goes_to_varying(op):
                self._add(op)
        elif isinstance(op, Store):
            if op.value in self.values:
                self.memories |= self._stored_to(op)
        elif isinstance(op, Atomic | CompareExchange | AtomicUpdate):
            if any(each in self.values for each in _stored(op)):
                self.memories |= self._stored_to(op)
            if self.goes_to_varying(op):
                self._add(op)
                for region in op.regions:
                    self._add(region.block.arguments[0])
        elif isinstance(op, SelectBuffer):
            found = self.roots_of(op, op)
            if not self.memories.isdisjoint(found):
                self.memories |= {each for each in found if not isinstance(each, NullBuffer)}
        elif isinstance(op, Yield | Condition):
            for targets, value in zip(_targets(op), op.values, strict=True):
                if self._varies(value):
                    for target in targets:
                        self._add(target)
        elif isinstance(op, For | DoWhile):
            arguments = op.body.block.arguments[isinstance(op, For) :]
            for value, argument, result in zip(op.initial, arguments, op.results, strict=True):
                if self._varies(value):
                    self._add(argument)
                    self._add(result)
        elif isinstance(op, Push):
            for value, result in zip(op.values, self._pops[op.record].results, strict=True):
                if self._varies(value):
                    self._add(result)
        elif isinstance(op, TensorOp):
            self._enter_results(op)

    def _stored_to(self, op: Access) -> set[Value]:
        return {each for each in self.roots_of(op.buffer, op) if not isinstance(each, NullBuffer)}

    def _enter_results(self, op: TensorOp) -> None:
        is_float = any(each in self.values for each in op.operands)
        is_bits = any(each in self.bits for each in op.operands)
        for result in op.results:
            if is_differentiable(result.type):
                if is_float or is_bits:
                    self.values.add(result)
            elif (is_float and isinstance(op, BitcastConvert)) or (is_bits and not isinstance(op, Compare)):
                self.bits.add(result)

    # -- what is refused ----------------------------------------------------------------------------------------------

    def _refuse_bits(self) -> None:
        """Bits of floats may decide and may choose a place; numbers that are made of them have no derivative."""
        for memory in self.memories:
            if isinstance(memory, DeviceVariableBuffer):
                raise Refusal(f"device variable {memory.variable} holds what varies", memory.source)
        for op in self.function.walk():
            if isinstance(op, Store | Atomic | CompareExchange | AtomicUpdate):
                if any(each in self.bits and is_number(each) for each in _stored(op)):
                    raise Refusal("it stores bits of floats as integers", op.source)
            elif isinstance(op, TensorOp) and any(each in self.bits and is_number(each) for each in op.operands):
                if not any(is_differentiable(result.type) for result in op.results):
                    continue
                raise Refusal("a float is made of the bits of others", op.source)


def is_sum(op: Access) -> bool:
    """Whether it adds to memory, or takes away from it, whatever lies there."""
    return isinstance(op, Atomic) and op.kind in ("fadd", "fsub", "add", "sub")


def is_number(value: Value) -> bool:
    """Whether a value is no condition."""
    return not isinstance(value.type, BufferType) and value.dtype != "i1"


def _stored(op: Access) -> tuple[Value, ...]:
    """What an access writes."""
    if isinstance(op, Store):
        return (op.value,)
    return op.body.block.terminator.operands if isinstance(op, AtomicUpdate) else op.operands[2:]


def _targets(end: Yield | Condition) -> Iterator[list[Value]]:
    """For each value that a body hands on, what it becomes."""
    around = end.parent_op
    for place in range(len(end.values)):
        if isinstance(around, If):
            yield [around.results[place]]
        elif isinstance(around, For | DoWhile):
            yield [around.results[place], around.body.block.arguments[place + isinstance(around, For)]]
        else:
            yield []
