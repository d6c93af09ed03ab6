"""Keeping XLA:CPU's library from fusing what it then computes wrongly.

Since jaxlib 0.10.2, XLA:CPU hands reductions to YNNPACK, fused with what they fold: arithmetic, movements, and matrix
products. That is fast, and for some forms wrong (docs/reference/xla.md has the smallest program of each):

* Products whose result is folded in the same call: blocks from some row on are taken from the wrong place. Such a
  product is settled here (see `windlass.lowering.settling`): it is written out before it is folded.
* Folds of many axes: the process ends. Folds of values that repeat along an axis: threads overwrite each other's
  partial results. Such a fold gets a body that the library doesn't know, with the result rounded to the type that it
  has anyway, and XLA computes it by its own loops.

XLA has an option for all of this, `xla_cpu_experimental_ynn_fusion_type`. A program within someone else's `jax.jit`
can't set it, and without the library all other reductions take 1.4 to 7 times as long.
"""

from __future__ import annotations

from windlass.facts.cost import fuses
from windlass.ir import Block, Builder, Module, Op, Value
from windlass.ir.values import tensor
from windlass.lowering.settling import Settling, is_settling
from windlass.ops import (
    Add,
    BroadcastInDim,
    Call,
    Constant,
    Convolution,
    DotGeneral,
    Maximum,
    Minimum,
    Reduce,
    ReducePrecision,
    ReduceWindow,
    Reshape,
    Return,
    Transpose,
)

__all__ = ["tensor"]

FOLDED_BY_LIBRARY = (Add, Maximum, Minimum)
MOST_AXES = 6
"""Axes of a fold that the library is trusted with."""
FARTHEST = 8
"""How many ops are gone through to find out along which axes values repeat."""


def avoid_wrong_fusions(module: Module, *, is_whole: bool = False, is_partitioned: bool = False) -> None:
    """Change the module, in place, so that XLA:CPU fuses nothing into reductions that would make them wrong.

    What a module that is not whole gives may be folded by the program that it becomes part of. In one that is
    partitioned a call would keep XLA from dividing it, and sums over devices need a body that is a plain sum: there,
    values are kept apart by a rounding that changes nothing, at the cost of writing them once more.
    """
    avoidance = _Avoidance(module, is_partitioned)
    for function in list(module.functions.values()):
        avoidance.go_through(function.body, is_folded=not is_whole or function is not module.main)


class _Avoidance:
    """Goes through blocks from the back to the front, knowing which ops are computed in one loop with a fold."""

    def __init__(self, module: Module, is_partitioned: bool) -> None:
        self.settling = Settling(module)
        self.is_partitioned = is_partitioned
        self.folded: set[Op] = set()

    def go_through(self, block: Block, is_folded: bool) -> bool:
        """`is_folded` says whether what the block gives may be folded outside. Gives whether it folds anything."""
        has_folds = False
        for op in reversed(list(block)):
            feeds = any(user in self.folded for result in op.results for user in result.uses)
            if isinstance(op, Return):
                feeds = is_folded
            elif isinstance(op, Reduce | ReduceWindow):
                has_folds = feeds = True
                if is_beyond_library(op):
                    self.compute_by_own_loops(op)
            elif op.regions:
                # A loop that runs once and a branch that is known become part of what is around them.
                inner = [self.go_through(region.block, feeds) for region in op.regions]
                feeds = any(inner)
                has_folds |= feeds
            elif isinstance(op, DotGeneral | Convolution):
                if feeds and op.tensor.is_float:
                    self.write_out(op)
                continue
            elif isinstance(op, Call):
                feeds = not is_settling(op)
            else:
                feeds = feeds and fuses(op)
            if feeds:
                self.folded.add(op)
        return has_folds

    def write_out(self, product: Op) -> None:
        users = list(product.uses)
        assert product.block is not None
        with Builder(product.block, before=product.next, source=product.source):
            apart = ReducePrecision.to_own_type(product) if self.is_partitioned else self.settling.settle(product)
        for user in users:
            user.replace_operand(product, apart)

    def compute_by_own_loops(self, op: Reduce | ReduceWindow) -> None:
        if self.is_partitioned:
            assert op.block is not None
            (operand,) = op.inputs
            with Builder(op.block, before=op, source=op.source):
                op.replace_operand(operand, ReducePrecision.to_own_type(operand))
            return
        body = op.body.block
        (returned,) = body.terminator.operands
        with Builder(body, before=body.last):
            body.terminator.replace_operand(returned, ReducePrecision.to_own_type(returned))


def is_beyond_library(op: Reduce | ReduceWindow) -> bool:
    """Whether the library would fold the values, and may do it wrongly."""
    if len(op.inputs) != 1 or op.combiner not in FOLDED_BY_LIBRARY or not op.inputs[0].tensor.is_float:
        return False
    if any(isinstance(inner, ReducePrecision) for inner in op.body.block):
        return False
    (operand,) = op.inputs
    return operand.tensor.rank > MOST_AXES or repeats(operand)


def repeats(value: Value) -> bool:
    """Whether all elements along some axis are the same by the way that the value is made.

    >>> repeats(BroadcastInDim(tensor("f32", 3), (3, 4), (0,)))
    True
    """
    return len(_axes_that_vary(value, FARTHEST)) < sum(size > 1 for size in value.shape)


def _axes_that_vary(value: Value, most: int) -> set[int]:
    every = {axis for axis, size in enumerate(value.shape) if size > 1}
    if not isinstance(value, Op) or not most or not fuses(value) or not value.operands:
        return set() if isinstance(value, Constant) and value.is_splat else every
    if isinstance(value, BroadcastInDim):
        inner = _axes_that_vary(value.operand, most - 1)
        return {axis for place, axis in enumerate(value.broadcast_dimensions) if place in inner}
    if isinstance(value, Transpose):
        inner = _axes_that_vary(value.operand, most - 1)
        return {axis for axis, place in enumerate(value.permutation) if place in inner}
    if isinstance(value, Reshape):
        return set() if repeats(value.operand) else every
    if not value.is_elementwise:
        return every
    found: set[int] = set()
    for operand in value.operands:
        found |= _axes_that_vary(operand, most - 1) if operand.shape == value.shape else set()
        if found == every:
            break
    return found
