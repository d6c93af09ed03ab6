"""Running folds, such as sums of all beginnings of a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from windlass.ir import Value
from windlass.ops.windows import fold_windows
from windlass.raising import emission

Combine: TypeAlias = "Callable[[Value, Value], Value]"
Number: TypeAlias = "int | float | bool"


def running_fold(rows: Value, combine: Combine, neutral: Number) -> Value:
    """The folds of all beginnings of each row of a matrix, but for that of nothing.

    How they are computed is chosen last (`lowering.window_forms`).

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops.elementwise import Add
    >>> running_fold(tensor("f32", 5, 256), Add, 0.0).type
    tensor<5x256xf32>
    """
    length = rows.shape[1]
    return fold_windows(combine, rows, (1, length), None, ((0, 0), (length - 1, 0)), neutral)


def moved_on(rows: Value, filling: Number) -> Value:
    """Each row with a number in front and without its last element."""
    return emission.pad_axis(emission.slice_axis(rows, 1, 0, rows.shape[1] - 1), 1, 1, 0, filling)
