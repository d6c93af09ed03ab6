"""Loops that go round a few times become what they do, where that pays: rounds then fuse with each other.

Rules that do all rounds at once come first (element_loops.py).
"""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Negate, While
from windlass.ops.counting import find_counter
from windlass.passes.carries import run_once
from windlass.passes.element_loops import loop_over_elements
from windlass.passes.loops import count_to, sample_loop
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite

__all__ = ["Negate", "count_to", "loop_over_elements", "tensor"]

MOST_ROUNDS = 8

MOST_UNROLLED = 48
"""Ops that a loop may become."""


@rewrite(any_op(While), sample=sample_loop, by_cost=True)
def short_loop(op: While) -> tuple[Value, ...] | None:
    """while(c, f, x) = f(f(x)), if it goes round twice; likewise for other small numbers of rounds

    >>> short_loop(count_to(2, tensor("f32"), step=lambda i, x: (Negate(x),)))[1]
    Negate(Negate(x))
    """
    counter = find_counter(op)
    size = sum(1 for each in op.body.walk() if not each.is_free)
    if counter is None or not 0 < counter.rounds * size <= MOST_UNROLLED or counter.rounds > MOST_ROUNDS:
        return None
    values: tuple[Value, ...] = op.operands
    for _ in range(counter.rounds):
        values = run_once(op.body.block, values)
    return values
