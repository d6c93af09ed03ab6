"""The way back through a thread: what its ops do to cotangents, last op first.

What is placed here uses values of the kernel as they are; where these come from is found out afterwards (keeping.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from windlass.autodiff.cotangents import Cotangent, sum_of_cotangents
from windlass.autodiff.kernels.shadows import Shadows, zero
from windlass.autodiff.kernels.varying import Refusal, Varying
from windlass.autodiff.reverse import cotangents_of
from windlass.ir import Argument, Block, Builder, Op, Region, Value, tensor_type
from windlass.ir.builder import current_builder
from windlass.loops import (
    Access,
    Atomic,
    AtomicUpdate,
    DoWhile,
    For,
    If,
    Load,
    Parallel,
    Pop,
    Push,
    Store,
    Yield,
)
from windlass.ops.base import NoDerivative, TensorOp
from windlass.ops.comparison import Compare
from windlass.ops.elementwise import Add, Negate, Select

Cotangents = dict[Value, Cotangent]


class Backwards:
    """Places the way back, block by block: each block of the kernel has a mirror, in which its ops are undone."""

    def __init__(self, varying: Varying, shadows: Shadows) -> None:
        self.varying = varying
        self.shadows = shadows
        self.mirrors: dict[Block, Block] = {}
        self.counts: dict[DoWhile, Argument] = {}
        """What stands for how often a loop went round."""

    def undo(self, block: Block, seeds: Mapping[Value, Cotangent]) -> Cotangents:
        """Place what undoes a block; gives cotangents of its arguments, and of values from outside."""
        self.shadows.allocate(block)
        return self.undo_ops(block, seeds)

    def undo_ops(self, ops: Iterable[Op], seeds: Mapping[Value, Cotangent]) -> Cotangents:
        cotangents = dict(seeds)
        for op in reversed([*ops]):
            own = [cotangents.pop(result, None) for result in op.results]
            with Builder(current_block(), source=op.source):
                try:
                    self._undo(op, own, cotangents)
                except NoDerivative as failure:
                    raise Refusal(failure.reason, failure.source or op.source) from None
        return cotangents

    def _undo(self, op: Op, own: Sequence[Cotangent | None], cotangents: Cotangents) -> None:
        if isinstance(op, TensorOp):
            self._undo_arithmetic(op, own, cotangents)
        elif isinstance(op, Access):
            if self.varying.goes_to_varying(op):
                self._undo_access(op, own[0] if own else None, cotangents)
        elif isinstance(op, If):
            if any(own) or self.varying.has_effects(op):
                self._undo_branch(op, own, cotangents)
        elif isinstance(op, For | DoWhile):
            if any(own) or self.varying.has_effects(op):
                self._undo_loop(op, own, cotangents)
        elif isinstance(op, Parallel):
            raise Refusal("it holds a loop of its own over threads", op.source)
        elif isinstance(op, Push | Pop):
            raise Refusal("it goes back by a tape itself, and to go back through that is not supported", op.source)
        elif any(own):
            raise Refusal(f"{op.name} has no derivative", op.source)

    def _undo_arithmetic(self, op: TensorOp, own: Sequence[Cotangent | None], cotangents: Cotangents) -> None:
        if all(each is None for each in own):
            return
        wanted = [operand in self.varying.values for operand in op.operands]
        for operand, found in zip(op.operands, cotangents_of(op, own, wanted), strict=True):
            add(cotangents, operand, found)

    # -- memory -------------------------------------------------------------------------------------------------------

    def _undo_access(self, op: Access, own: Cotangent | None, cotangents: Cotangents) -> None:
        if isinstance(op, Load):
            if own is not None:
                self._add_to_shadow(op, own.settle())
            return
        shadow = self.shadows.of(op.buffer, op)
        if isinstance(op, Store):
            self._take(op.value, shadow, op.offset, cotangents)
            Store(zero(op.value.dtype), shadow, op.offset)
        elif isinstance(op, Atomic) and op.kind == "exchange":
            self._take(op.value, shadow, op.offset, cotangents)
            Store(zero(op.dtype) if own is None else own.settle(), shadow, op.offset)
        elif isinstance(op, Atomic) and op.kind in ("fadd", "fsub"):
            if op.value in self.varying.values:
                found: Value = Load(shadow, op.offset, op.dtype)
                add(cotangents, op.value, Cotangent(found if op.kind == "fadd" else Negate(found)))
            if own is not None:
                self._add_to_shadow(op, own.settle())
        elif isinstance(op, Atomic) and op.kind in ("fmin", "fmax"):
            self._undo_extreme(op, shadow, cotangents)
            if own is not None:
                self._add_to_shadow(op, own.settle())
        elif isinstance(op, AtomicUpdate):
            self._undo_update(op, shadow, own, cotangents)
        else:
            raise Refusal("a kind of atomic operation on what varies that is not followed", op.source)

    def _undo_extreme(self, op: Atomic, shadow: Value, cotangents: Cotangents) -> None:
        """What memory holds after it comes back to the value where that is the new one."""
        found = Load(shadow, op.offset, op.dtype)
        is_new = Compare(op.value, op, "GT" if op.kind == "fmax" else "LT")
        if op.value in self.varying.values:
            add(cotangents, op.value, Cotangent(Select(is_new, found, zero(op.dtype))))
        Store(Select(is_new, zero(op.dtype), found), shadow, op.offset)

    def _undo_update(self, op: AtomicUpdate, shadow: Value, own: Cotangent | None, cotangents: Cotangents) -> None:
        """The way back through the body; what it began with is the operation's result."""
        body = op.body.block
        self.mirrors[body] = current_block()
        seeds: Cotangents = {}
        self._seed(seeds, body.terminator.operands[0], Cotangent(Load(shadow, op.offset, op.dtype)))
        found = self.undo_ops((each for each in body if each is not body.terminator), seeds)
        before = found.pop(body.arguments[0], None)
        for value, cotangent in found.items():
            add(cotangents, value, cotangent)
        if own is not None:
            before = sum_of_cotangents(before, own)
        Store(zero(op.dtype) if before is None else before.settle(), shadow, op.offset)

    def _take(self, value: Value, shadow: Value, offset: Value, cotangents: Cotangents) -> None:
        """What memory holds from here on comes back to the value that is written."""
        if value in self.varying.values:
            add(cotangents, value, Cotangent(Load(shadow, offset, value.dtype)))

    def _add_to_shadow(self, op: Access, cotangent: Value) -> None:
        shadow = self.shadows.of(op.buffer, op)
        Store(Add(Load(shadow, op.offset, cotangent.dtype), cotangent), shadow, op.offset)

    # -- control ------------------------------------------------------------------------------------------------------

    def _undo_branch(self, op: If, own: Sequence[Cotangent | None], cotangents: Cotangents) -> None:
        given = [None if each is None else Cotangent(each.settle()) for each in own]
        sides: list[tuple[Block, dict[Value, Value]]] = []
        for region in (op.then, op.otherwise):
            mirror = self.mirrors[region.block] = Block()
            with Builder(mirror, source=op.source):
                seeds: Cotangents = {}
                for value, cotangent in zip(region.block.terminator.operands, given, strict=True):
                    self._seed(seeds, value, cotangent)
                found = self.undo(region.block, seeds)
                sides.append((mirror, {value: each.settle() for value, each in found.items()}))
        touched = list(dict.fromkeys(value for _, found in sides for value in found))
        for mirror, found in sides:
            with Builder(mirror, source=op.source):
                Yield(tuple(found.get(value) or zero(value.dtype) for value in touched))
        made = If(op.condition, *(Region(mirror) for mirror, _ in sides))
        for value, result in zip(touched, made.results, strict=True):
            add(cotangents, value, Cotangent(result))

    def _undo_loop(self, op: For | DoWhile, own: Sequence[Cotangent | None], cotangents: Cotangents) -> None:
        """The rounds from the last to the first. What all of them use collects its cotangent from round to round."""
        arguments = op.body.block.arguments[isinstance(op, For) :]
        carried = [place for place, argument in enumerate(arguments) if argument in self.varying.values]
        end = op.body.block.terminator
        following = end.operands if isinstance(op, For) else end.operands[1:]
        count = op.trip_count if isinstance(op, For) else self._count(op)
        mirror = self.mirrors[op.body.block] = Block(
            [tensor_type((), "i64"), *(arguments[place].type for place in carried)]
        )
        initial: list[Value] = []
        for place in carried:
            cotangent = own[place]
            initial.append(zero(arguments[place].dtype) if cotangent is None else cotangent.settle())
        with Builder(mirror, source=op.source):
            seeds: Cotangents = {}
            for place, given in zip(carried, mirror.arguments[1:], strict=True):
                self._seed(seeds, following[place], Cotangent(given))
            found = self.undo(op.body.block, seeds)
            nexts: list[Value] = []
            for place in carried:
                cotangent = found.pop(arguments[place], None)
                nexts.append(zero(arguments[place].dtype) if cotangent is None else cotangent.settle())
            free = [(value, each.settle()) for value, each in found.items()]
            for value, each in free:
                nexts.append(Add(mirror.add_argument(value.type), each))
            Yield(tuple(nexts))
        initial += [zero(value.dtype) for value, _ in free]
        serializes = op.serializes if isinstance(op, For) else ""
        made = For(count, tuple(initial), Region(mirror), serializes=serializes)
        for place, result in zip(carried, made.results, strict=False):
            self._seed(cotangents, op.initial[place], Cotangent(result))
        for (value, _), result in zip(free, made.results[len(carried) :], strict=True):
            add(cotangents, value, Cotangent(result))

    def _seed(self, cotangents: Cotangents, value: Value, cotangent: Cotangent | None) -> None:
        if value in self.varying.values:
            add(cotangents, value, cotangent)

    def _count(self, op: DoWhile) -> Value:
        return self.counts.setdefault(op, Argument(tensor_type((), "i64")))


def add(cotangents: Cotangents, value: Value, cotangent: Cotangent | None) -> None:
    """Let a value have one more cotangent, of which None is zero."""
    total = sum_of_cotangents(cotangents.get(value), cotangent)
    if total is not None:
        cotangents[value] = total


def current_block() -> Block:
    """Where ops are placed."""
    builder = current_builder()
    assert builder is not None
    return builder.block
