"""Keeping XLA:CPU's library from fusing what it then computes wrongly.

Since jaxlib 0.10.2, XLA:CPU hands folds to YNNPACK, together with what is computed before and after them. That is fast,
and for some forms wrong (`library_trust` says which). Three forms keep such things from it, and nothing else:

* A fold that it would do wrongly, itself or by what it is computed from, gets a body that the library doesn't know: the
  result rounded to the type that it has anyway. XLA then computes it by its own loops, in one with what it folds.
  Integers are folded as wider ones.
* A fold that is followed by what the library does wrongly is settled (see `settling`): nothing is fused across.
* A product that is folded is settled, too: of products that are folded in the same call, blocks from some row on are
  taken from the wrong place.

XLA has an option for all of this, `xla_cpu_experimental_ynn_fusion_type`. A program within someone else's `jax.jit`
can't set it, and without the library all folds take 1.4 to 7 times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windlass.ir import Block, Builder, Module, Op, Value
from windlass.lowering.library_trust import (
    BYTES,
    Fold,
    is_beyond_library,
    is_for_library,
    is_product,
    is_right,
    is_taken_along,
    passes_sign,
)
from windlass.lowering.settling import Settling, is_settling, is_settling_function
from windlass.ops import (
    Add,
    Call,
    Compare,
    Constant,
    Convert,
    Or,
    Reduce,
    ReducePrecision,
    ReduceWindow,
    Return,
    Select,
)
from windlass.ops.combiners import combiner_region
from windlass.ops.shardings import Sharding


@dataclass(frozen=True)
class Surroundings:
    """What is known of the program that a module becomes part of.

    One that is whole is not part of another: nobody computes with what it gives. `computed` are the places of arguments
    that the program around may have computed just before: XLA fuses across. XLA divides one that is partitioned among
    devices. There, a call would keep it from that, and folds over devices need a body that is a plain sum: values are
    kept apart by a rounding that changes nothing, at the cost of writing them once more. `shardings` tell how it
    divides the arguments, as far as that is known; one that is left to it is divided by it alone. One that may call
    native code runs in this process, on one CPU, as a whole.
    """

    is_whole: bool = False
    is_partitioned: bool = False
    computed: tuple[int, ...] = ()
    shardings: tuple[Sharding | None, ...] = ()
    is_left_to_xla: bool = False
    may_call_native_code: bool = False


def avoid_wrong_fusions(module: Module, surroundings: Surroundings) -> None:
    """Change the module, in place, so that XLA:CPU fuses nothing into folds that would make them wrong."""
    avoidance = _Avoidance(module, surroundings.is_partitioned)
    functions = list(module.functions.values())
    has_folds = any(is_for_library(op) for function in functions for op in function.walk())
    for function in functions:
        if is_settling_function(function):
            continue
        if function is module.main:
            computed = [function.arguments[place] for place in surroundings.computed] if has_folds else []
        else:
            computed = function.arguments
        if function is not module.main or not surroundings.is_whole:
            avoidance.set_results_apart(function.body)
        avoidance.go_through(function.body, goes_on=False, computed=computed)


class _Avoidance:
    """Goes through blocks: first from the front to the back for what folds are computed from, then back."""

    def __init__(self, module: Module, is_partitioned: bool) -> None:
        self.settling = Settling(module)
        self.is_partitioned = is_partitioned
        self.sign_matters: set[Op] = set()
        self.wrong: set[Value] = set()
        """What the library would take along together with something that it does wrongly, or that is not known."""
        self.folded: set[Op] = set()
        """Ops that are computed in one call of the library with a fold, if it folds them."""

    def go_through(self, block: Block, goes_on: bool, computed: Sequence[Value] = ()) -> bool:
        """`goes_on` says whether what the block gives is computed with outside, by what is not known; `computed` are
        arguments of the block that are, likewise. Gives whether the library folds anything in it."""
        if self.is_partitioned:
            self.wrong.update(computed)
        ops = list(block)
        for op in reversed(ops):
            if any(passes_sign(user, value, user in self.sign_matters) for value in op.results for user in value.uses):
                self.sign_matters.add(op)
        for op in ops:
            if is_for_library(op):
                assert isinstance(op, Reduce | ReduceWindow)
                if is_beyond_library(op, op in self.sign_matters) or any(each in self.wrong for each in op.inputs):
                    self.compute_by_own_loops(op)
            elif isinstance(op, Call) and not is_settling(op):
                self.wrong.update((op, *op.results))
            elif is_taken_along(op) and self.is_wrong(op, op.operands):
                self.wrong.add(op)
        has_folds = False
        for op in reversed(ops):
            if op.block is None:  # a fold that was replaced
                continue
            users = [user for value in op.results for user in value.uses]
            feeds = any(user in self.folded for user in users)
            is_before_wrong = any(user in self.wrong or (goes_on and isinstance(user, Return)) for user in users)
            if isinstance(op, Return):
                feeds = goes_on
            elif is_for_library(op):
                has_folds = feeds = True
                if is_before_wrong:
                    self.set_apart(op.results[0], block, op.next)
            elif op.regions:
                # A loop that runs once and a branch that is known become part of what is around them.
                blocks = [region.block for region in op.regions if region.blocks]
                inner = [self.go_through(block, is_before_wrong or feeds) for block in blocks]
                feeds = any(inner)
                has_folds |= feeds
            elif is_product(op):
                if feeds:
                    self.set_apart(op.results[0], block, op.next)
                continue
            elif isinstance(op, Call):
                feeds = not is_settling(op)
            elif is_taken_along(op):
                if is_before_wrong or not is_right(op, op in self.sign_matters):
                    self.wrong.add(op)
            else:
                feeds = False
            if feeds:
                self.folded.add(op)
        for value in computed:
            if not self.is_partitioned and any(user in self.folded for user in value.uses):
                self.set_apart(value, block, block.first)
        return has_folds

    def is_wrong(self, op: Op, neighbours: Iterable[Value]) -> bool:
        return any(each in self.wrong for each in neighbours) or not is_right(op, op in self.sign_matters)

    def set_results_apart(self, block: Block) -> None:
        """Keep what a function gives from being folded, or computed with, together with what it is made of."""
        made: set[Value] = set()
        for op in block:
            if is_product(op) or is_for_library(op):
                made.update(op.results)
            elif is_taken_along(op) and any(operand in made for operand in op.operands):
                made.add(op)
        returns = block.terminator
        for value in dict.fromkeys(returns.operands):
            if value in made:
                self.set_apart(value, block, returns, [returns])

    def set_apart(self, value: Value, block: Block, before: Op | None, users: Sequence[Op] = ()) -> None:
        """Have these users, or all, take the value as one that is computed apart."""
        users = users or list(value.uses)
        with Builder(block, before=before):
            is_rounded = self.is_partitioned and value.tensor.is_float
            apart = ReducePrecision.to_own_type(value) if is_rounded else self.settling.settle(value)
        for user in users:
            user.replace_operand(value, apart)

    def compute_by_own_loops(self, op: Fold) -> None:
        (operand,), (start,) = op.inputs, op.init_values
        assert op.block is not None
        if operand.dtype in BYTES:
            with Builder(op.block, before=op, source=op.source):
                wide = _fold_alike(op, Convert(operand, "i32"), Convert(start, "i32"), op.combiner)
                op.results[0].replace_all_uses_with(Convert(wide, operand.dtype))
            op.erase()
        elif not self.is_partitioned:
            body = op.body.block
            (returned,) = body.terminator.operands
            with Builder(body, before=body.last):
                body.terminator.replace_operand(returned, ReducePrecision.to_own_type(returned))
        elif not isinstance(operand, ReducePrecision):
            with Builder(op.block, before=op, source=op.source):
                op.replace_operand(operand, ReducePrecision.to_own_type(operand))
            if op.combiner is not Add:
                self.keep_nan(op)

    def keep_nan(self, op: Fold) -> None:
        """Give NaN where there is one among what is folded."""
        (operand,) = op.inputs
        (folded,) = op.results
        users = list(folded.uses)
        assert op.block is not None
        with Builder(op.block, before=op.next, source=op.source):
            is_nan = _fold_alike(op, Compare(operand, operand, "NE"), Constant.of(False, "i1"), Or)
            nan = Constant.of(np.nan, folded.dtype, folded.shape)
            kept = Select(is_nan, nan, folded)
        for user in users:
            user.replace_operand(folded, kept)


def _fold_alike(op: Fold, operand: Value, start: Value, combiner: Any) -> Value:
    """The same places of another array folded."""
    body = combiner_region(combiner, operand.dtype)
    if isinstance(op, Reduce):
        return Reduce((operand,), (start,), op.dimensions, body).results[0]
    shape = (op.window_dimensions, op.window_strides, op.base_dilations, op.window_dilations, op.padding)
    return ReduceWindow((operand,), (start,), *shape, body).results[0]
