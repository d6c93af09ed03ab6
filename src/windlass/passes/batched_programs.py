"""Whole programs done many times at once, as `jax.vmap` asks for."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.ir import Block, Builder, Function, Op, Region, Value, tensor_type
from windlass.ir.captures import captures
from windlass.ir.core import Terminator
from windlass.ops import Case, DynamicUpdateSlice, If, Return, While, reduce_or
from windlass.ops.base import TensorOp
from windlass.passes.batcher import Batcher, choose_by_round


class ProgramBatcher(Batcher):
    """A batcher of whole programs: loops go on until the last round has ended, and one branch is a branch for all."""

    def may_run(self, op: Op) -> bool:
        return op.is_removable

    def loop(self, op: While) -> tuple[Value, ...] | None:
        return super().loop(op) or self._masked_loop(op)

    def _masked_loop(self, op: While) -> tuple[Value, ...]:
        """What is carried stays as it is in the rounds that have ended."""
        operands = tuple(map(self.batched, op.operands))
        regions: list[Region] = []
        for block in (op.cond.block, op.body.block):
            new = Block([operand.type for operand in operands])
            with Builder(new):
                goes_on = self._inside(op.cond, new)[0]
                if block is op.cond.block:
                    Return((reduce_or(goes_on, (0,)),))
                else:
                    following = self._inside(op.body, new)
                    Return(
                        tuple(choose_by_round(goes_on, *pair) for pair in zip(following, new.arguments, strict=True))
                    )
            regions.append(Region(new))
        return While(regions[0], regions[1], operands).results

    def _inside(self, region: Region, block: Block) -> list[Value]:
        """What the region gives for all rounds, of the block's arguments."""
        inner = self.within(region.block)
        inner.many.update(zip(region.block.arguments, block.arguments, strict=True))
        for value in captures(region):
            outside, is_many = self.find(value)
            (inner.many if is_many else inner.same)[value] = outside
        inner.begin()
        return [inner.batched(value) for value in region.block.terminator.operands]

    def batch(self, op: TensorOp, values: tuple[Value, ...], flags: tuple[bool, ...]) -> tuple[Value, ...] | None:
        if isinstance(op, DynamicUpdateSlice):
            return op.batch_at_own_places(values, flags, self.size)
        return super().batch(op, values, flags)

    def begin(self) -> None:
        """All ops in their order: a chain of them may be longer than calls can be deep."""
        for op in self.block:
            is_known = any(result in self.many or result in self.same for result in op.results)
            if not isinstance(op, Terminator) and not is_known:
                self.run(op)

    def same_choice(self, op: If | Case) -> tuple[Value, ...] | None:
        regions: list[Region] = []
        for inner in self.branches(op):
            with Builder(block := Block()):
                inner.begin()
                Return(tuple(map(inner.batched, inner.block.terminator.operands)))
            regions.append(Region(block))
        chosen = self.find(op.operands[0])[0]
        return (If(chosen, *regions) if isinstance(op, If) else Case(chosen, tuple(regions))).results


def batch_function(function: Function, is_batched: Sequence[bool], size: int) -> Function:
    """The function done `size` times at once: batched arguments, and all results, have a new first axis of that size.

    Raises CannotBatch where an op has effects, or has no form for many at once.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Add
    >>> block = Block([tensor("f32", 3).type, tensor("f32", 3).type])
    >>> with Builder(block):
    ...     _ = Return((Add(*block.arguments),))
    >>> batched = batch_function(Function("add", block), [True, False], 8)
    >>> [argument.type for argument in batched.arguments], batched.body.terminator.operands[0].type
    ([tensor<8x3xf32>, tensor<3xf32>], tensor<8x3xf32>)
    """
    arguments = function.arguments
    types = [
        tensor_type((size, *argument.shape), argument.dtype) if flag else argument.type
        for argument, flag in zip(arguments, is_batched, strict=True)
    ]
    block = Block(types, [argument.name for argument in arguments])
    batcher = ProgramBatcher(function.body, size, {})
    for old, new, flag in zip(arguments, block.arguments, is_batched, strict=True):
        (batcher.many if flag else batcher.same)[old] = new
    with Builder(block):
        batcher.begin()
        Return(tuple(map(batcher.batched, function.body.terminator.operands)))
    return Function(function.name, block)
