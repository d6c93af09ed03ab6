"""Products of a matrix with its own transpose: of what is symmetric, half is computed, block by block.

The rows are cut in a few blocks; each block of rows is computed up to the diagonal, and what stands beyond it is the
transpose of what stands below (LAPACK's xSYRK does the same with one call).

This is a pass and not a rule: it has to wait until rules have found out whether all of the product is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from windlass.facts.cost import Device, estimate_saving
from windlass.ir import Block, Builder, Op, Value
from windlass.ops import Concatenate, DotGeneral, Slice, Transpose
from windlass.rewriting.passes import Change, Pass
from windlass.rewriting.rule import catalogue

LEAST_ROWS = 128
"""Products of smaller blocks run slower for each of their operations."""

MOST_BLOCKS = 4

CAUTION = 3.0
"""How much faster products may run than the cost model thinks, for the blocks to pay nevertheless."""


def halve_gram_matrices(block: Block, device: Device) -> Iterator[Change]:
    """Compute products of matrices with their own transposes by blocks, where that costs less."""
    careful = replace(device, contraction={dtype: CAUTION * rate for dtype, rate in device.contraction.items()})
    for op in list(block):
        if isinstance(op, DotGeneral) and is_gram_matrix(op):
            change = _halve(block, op, careful)
            if change is not None:
                yield change


def is_gram_matrix(op: DotGeneral) -> bool:
    """Whether this is xᵀ·x or x·xᵀ.

    >>> from windlass.ir.values import tensor
    >>> x = tensor("f32", 3, 3)
    >>> [is_gram_matrix(DotGeneral(x, x, (), (), (1,), (axis,))) for axis in (0, 1)]
    [False, True]
    """
    return (
        op.lhs is op.rhs
        and op.lhs.tensor.rank == 2
        and not op.lhs_batching_dimensions
        and len(op.lhs_contracting_dimensions) == 1
        and op.lhs_contracting_dimensions == op.rhs_contracting_dimensions
        and len(set(op.precision_config)) <= 1
    )


def _halve(block: Block, op: DotGeneral, device: Device) -> Change | None:
    savings: dict[int, float] = {}
    for count in range(2, MOST_BLOCKS + 1, 2):
        if op.shape[0] >= count * LEAST_ROWS:
            made, placed = _place(block, op, count)
            savings[count] = estimate_saving(op, made, set(placed), device)
            for each in reversed(placed):
                each.erase()
    best = max(savings, key=lambda count: savings[count], default=0)
    if savings.get(best, 0.0) <= 0:
        return None
    made, placed = _place(block, op, best)
    op.replace_all_uses_with(made)
    op.erase()
    return Change("DotGeneral", op.source, placed, savings[best])


def _place(block: Block, op: DotGeneral, count: int) -> tuple[Value, list[Op]]:
    placed: list[Op] = []
    builder = Builder(block, op, op.source)
    builder.placed, builder.made_by = placed, ("gram_matrix_by_blocks",)
    with builder:
        return multiply_by_blocks(op, count), placed


def multiply_by_blocks(op: DotGeneral, count: int) -> Value:
    """The product of a matrix with its own transpose in so many blocks of rows.

    >>> from windlass.ir.values import tensor
    >>> x = tensor("f32", 4, 3)
    >>> multiply_by_blocks(DotGeneral(x, x, (), (), (1,), (1,)), 2).type
    tensor<4x4xf32>
    """
    x, size = op.lhs, op.shape[0]
    axis = 1 - op.lhs_contracting_dimensions[0]
    bounds = [round(size * at / count) for at in range(count + 1)]

    def cut(value: Value, axis: int, start: int, limit: int) -> Value:
        starts, limits = [0, 0], list(value.shape)
        starts[axis], limits[axis] = start, limit
        whole = (start, limit) == (0, value.shape[axis])
        return value if whole else Slice(value, tuple(starts), tuple(limits), (1, 1))

    below = [
        op.with_operands((cut(x, axis, start, limit), cut(x, axis, 0, limit))) for start, limit in pairwise(bounds)
    ]
    rows: list[Value] = []
    for at, own in enumerate(below):
        beyond = [Transpose(cut(other, 1, bounds[at], bounds[at + 1]), (1, 0)) for other in below[at + 1 :]]
        rows.append(Concatenate((own, *beyond), 1) if beyond else own)
    return Concatenate(tuple(rows), 0)


catalogue.passes.append(
    Pass(
        "gram_matrix_by_blocks",
        "dot(x, xᵀ) = [a bᵀ; b c], block by block up to the diagonal",
        halve_gram_matrices,
        reassociates=True,
    )
)
