"""Forward mode of a kernel: tangents beside values, and shadows beside memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from windlass.autodiff.forward import tangents_of
from windlass.autodiff.kernels.float_words import read_words_as_floats
from windlass.autodiff.kernels.shadows import Shadows, shadow_type, with_shadows, zero
from windlass.autodiff.kernels.varying import Refusal, Varying
from windlass.ir import Block, BufferType, Builder, Function, Op, Region, Value
from windlass.ir.builder import current_builder
from windlass.loops import (
    Access,
    Allocate,
    Assert,
    Atomic,
    AtomicUpdate,
    Collective,
    Condition,
    DoWhile,
    For,
    If,
    Load,
    Mark,
    Parallel,
    Pop,
    Print,
    Push,
    Store,
    Yield,
)
from windlass.loops.telling import CheckAlignment, CheckRange
from windlass.ops.base import NoDerivative, TensorOp
from windlass.ops.comparison import Compare
from windlass.ops.elementwise import Select
from windlass.ops.regions import Return

_TOLD_BEFORE = (Assert, CheckAlignment, CheckRange, Mark, Print)
_LINEAR_ATOMICS = ("exchange", "fadd", "fsub")


@dataclass(frozen=True)
class Tangents:
    """A kernel that computes what its own results change by. It takes the arguments of the kernel that it is made of,
    and then for those at `positions` shadows of memory, and tangents of scalars."""

    function: Function
    positions: tuple[int, ...]


def tangent_kernel(function: Function, active: Collection[int]) -> Tangents:
    """What a launch leaves in memory changes by, as what it is given changes by.

    Shadows hold the tangents of memory before the launch, and after it those of memory then. It does all that the
    kernel does besides. Raises Refusal.
    """
    kernel = function.clone()
    read_words_as_floats(kernel)
    varying = Varying(kernel, active)
    positions = tuple(varying.shadowed())
    shadows = Shadows(varying)
    arguments = [kernel.arguments[position] for position in positions]
    types = [shadow_type(each) if isinstance(each.type, BufferType) else each.type for each in arguments]
    block = with_shadows(kernel, positions, types, shadows)
    mapping: dict[Value, Value] = dict(zip(kernel.arguments, block.arguments, strict=False))
    walker = _Walker(varying, shadows, mapping)
    for argument in arguments:
        if not isinstance(argument.type, BufferType):
            walker.tangents[argument] = shadows.of_memories.pop(argument)
    with Builder(block):
        walker.place(op for op in kernel.body if not isinstance(op, Return))
        Return(())
    return Tangents(Function(f"{function.name}_tangent", block), positions)


class _Walker:
    def __init__(self, varying: Varying, shadows: Shadows, mapping: dict[Value, Value]) -> None:
        self.varying = varying
        self.shadows = shadows
        self.mapping = mapping
        self.tangents: dict[Value, Value] = {}

    def place(self, ops: Iterable[Op]) -> None:
        for op in ops:
            builder = current_builder()
            assert builder is not None
            with Builder(builder.block, source=op.source):
                try:
                    self._place(op)
                except NoDerivative as failure:
                    raise Refusal(failure.reason, failure.source or op.source) from None

    def value(self, value: Value) -> Value:
        return self.mapping.get(value, value)

    def tangent(self, value: Value) -> Value:
        """Zero where it does not vary."""
        return self.tangents.get(value) or zero(value.dtype)

    def _place(self, op: Op) -> None:
        if isinstance(op, TensorOp):
            made = op.clone(self.mapping)
            given = [self.tangents.get(operand) for operand in op.operands]
            for result, tangent in zip(op.results, tangents_of(made, given), strict=True):
                if tangent is not None:
                    self.tangents[result] = tangent
        elif isinstance(op, Allocate):
            op.clone(self.mapping)
            if op in self.varying.memories:
                self.shadows.allocate_one(op)
        elif isinstance(op, Access):
            self._access(op)
        elif isinstance(op, Push):
            varying = [value for value in op.values if value in self.varying.values]
            Push((*map(self.value, op.values), *map(self.tangent, varying)), op.record)
        elif isinstance(op, Pop):
            self._pop(op)
        elif isinstance(op, If):
            self._branch(op)
        elif isinstance(op, For | DoWhile):
            self._loop(op)
        elif isinstance(op, Parallel):
            self._launch(op)
        elif isinstance(op, Collective) and any(each in self.varying.values for each in op.operands):
            raise Refusal("threads exchange what varies", op.source)
        elif not isinstance(op, _TOLD_BEFORE):
            op.clone(self.mapping)
            if any(result in self.varying.values for result in op.results):
                raise Refusal(f"{op.name} has no derivative", op.source)

    def _access(self, op: Access) -> None:
        if not self.varying.goes_to_varying(op):
            op.clone(self.mapping)
            return
        shadow = self.shadows.of(op.buffer, op, self.mapping)
        offset = self.value(op.offset)
        if isinstance(op, Load):
            if op in self.varying.values:
                self.tangents[op] = Load(shadow, offset, op.dtype)
        elif isinstance(op, Store):
            Store(self.tangent(op.value), shadow, offset)
        elif isinstance(op, Atomic) and op.kind in _LINEAR_ATOMICS:
            self.tangents[op] = Atomic(op.kind, shadow, offset, self.tangent(op.value))
        elif isinstance(op, Atomic) and op.kind in ("fmin", "fmax"):
            made = op.clone(self.mapping)
            before = self.tangents[op] = Load(shadow, offset, op.dtype)
            is_new = Compare(self.value(op.value), made, "GT" if op.kind == "fmax" else "LT")
            Store(Select(is_new, self.tangent(op.value), before), shadow, offset)
            return
        elif isinstance(op, AtomicUpdate):
            self._update(op, shadow, offset)
            return
        else:
            raise Refusal("a kind of atomic operation on what varies that is not followed", op.source)
        op.clone(self.mapping)

    def _update(self, op: AtomicUpdate, shadow: Value, offset: Value) -> None:
        """The body once more, with what it began with: threads go in order, where there is such an operation."""
        body = op.body.block
        made = op.clone(dict(self.mapping))
        self.mapping[op] = self.mapping[body.arguments[0]] = made
        before = Load(shadow, offset, op.dtype)
        self.tangents[op] = self.tangents[body.arguments[0]] = before
        self.place(each for each in body if each is not body.terminator)
        Store(self.tangent(body.terminator.operands[0]), shadow, offset)

    def _pop(self, op: Pop) -> None:
        places = self._varying_of(op.results)
        made = Pop((*op.dtypes, *(op.dtypes[place] for place in places)), op.record)
        self._enter(op, places, made.results)

    def _varying_of(self, values: Sequence[Value]) -> list[int]:
        return [place for place, value in enumerate(values) if value in self.varying.values]

    def _branch(self, op: If) -> None:
        places = self._varying_of(op.results)
        regions: list[Region] = []
        for region in (op.then, op.otherwise):
            with Builder(block := Block(), source=op.source):
                self.place(each for each in region.block if each is not region.block.terminator)
                given = region.block.terminator.operands
                Yield((*map(self.value, given), *(self.tangent(given[place]) for place in places)))
            regions.append(Region(block))
        made = If(self.value(op.condition), *regions)
        self._enter(op, places, made.results)

    def _enter(self, op: Op, places: Sequence[int], results: Sequence[Value]) -> None:
        self.mapping.update(zip(op.results, results, strict=False))
        for place, tangent in zip(places, results[len(op.results) :], strict=True):
            self.tangents[op.results[place]] = tangent

    def _loop(self, op: For | DoWhile) -> None:
        arguments = op.body.block.arguments
        carried = arguments[isinstance(op, For) :]
        places = self._varying_of(carried)
        initial = (*map(self.value, op.initial), *(self.tangent(op.initial[place]) for place in places))
        block = Block([*(each.type for each in arguments), *(carried[place].type for place in places)])
        self.mapping.update(zip(arguments, block.arguments, strict=False))
        for place, tangent in zip(places, block.arguments[len(arguments) :], strict=True):
            self.tangents[carried[place]] = tangent
        end = op.body.block.terminator
        with Builder(block, source=op.source):
            self.place(each for each in op.body.block if each is not end)
            following = end.operands if isinstance(op, For) else end.operands[1:]
            values = (*map(self.value, following), *(self.tangent(following[place]) for place in places))
            if isinstance(op, For):
                Yield(values)
            else:
                Condition(self.value(end.operands[0]), values)
        if isinstance(op, For):
            made: For | DoWhile = For(self.value(op.trip_count), initial, Region(block), serializes=op.serializes)
        else:
            made = DoWhile(initial, Region(block))
        self._enter(op, places, made.results)

    def _launch(self, op: Parallel) -> None:
        arguments = op.body.block.arguments
        block = Block([each.type for each in arguments], [each.name for each in arguments])
        self.mapping.update(zip(arguments, block.arguments, strict=True))
        with Builder(block, source=op.source):
            self.place(each for each in op.body.block if not isinstance(each, Yield))
            Yield(())
        Parallel(tuple(map(self.value, op.extents)), op.dimensions, Region(block), kind=op.kind)
