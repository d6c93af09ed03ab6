"""Running folds, such as sums of all beginnings of a row, in the form that takes least time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from windlass.ir import Value
from windlass.ops.windows import fold_windows
from windlass.raising import emission

Combine: TypeAlias = "Callable[[Value, Value], Value]"
Number: TypeAlias = "int | float | bool"

FEW_ELEMENTS = 1 << 15
"""So few are folded at once."""
WIDEST_WINDOW = 32
"""Longer rows of many elements are folded in parts of `PART` elements, and then the parts."""
PART = 16


def running_fold(rows: Value, combine: Combine, neutral: Number) -> Value:
    """The folds of all beginnings of each row of a matrix, but for that of nothing.

    XLA takes windows of whole rows apart, too, but runs what comes of it on one core.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops.elementwise import Add
    >>> running_fold(tensor("f32", 5, 256), Add, 0.0).type
    tensor<5x256xf32>
    """
    count, length = rows.shape
    if count * length <= FEW_ELEMENTS or length <= WIDEST_WINDOW or length % PART:
        return _over_windows(rows, combine, neutral)
    parts = count * (length // PART)
    within = _over_windows(emission.reshape(rows, (parts, PART)), combine, neutral)
    totals = emission.reshape(emission.slice_axis(within, 1, PART - 1, PART), (count, length // PART))
    before = running_fold(moved_on(totals, neutral), combine, neutral)
    spread = emission.broadcast(emission.reshape(before, (parts,)), (parts, PART), [0])
    return emission.reshape(combine(spread, within), (count, length))


def moved_on(rows: Value, filling: Number) -> Value:
    """Each row with a number in front and without its last element."""
    return emission.pad_axis(emission.slice_axis(rows, 1, 0, rows.shape[1] - 1), 1, 1, 0, filling)


def _over_windows(rows: Value, combine: Combine, neutral: Number) -> Value:
    length = rows.shape[1]
    return fold_windows(combine, rows, (1, length), None, ((0, 0), (length - 1, 0)), neutral)
