"""`reshape` in Python kernels, with shapes that only the launch knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from windlass.numba import cuda

ARRAY = np.arange(24).reshape(4, 6)


def flat(a: Any, shape: Any, out: Any) -> None:
    c = a.reshape(shape)
    out[0] = c.shape[0]
    for i in range(c.shape[0]):
        out[i + 1] = c[i]


def in_two(a: Any, rows: Any, columns: Any, out: Any) -> None:
    c = a.reshape(rows, columns)
    out[0], out[1] = c.shape
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            out[2 + i * c.shape[1] + j] = c[i, j]


def in_tuple(a: Any, shape: Any, out: Any) -> None:
    c = a.reshape(shape)
    out[0], out[1] = c.shape
    out[2] = c[1, 1]


def with_literals(a: Any, out: Any) -> None:
    c, d, e = a.reshape(-1), a.reshape((2, -1)), a.reshape(-1, 3, 2)
    out[0], out[1], out[2], out[3] = c.shape[0], d.shape[1], e.shape[0], c[23] + d[1, 1] + e[1, 1, 1]


def launched(function: Any, *arguments: Any, debug: bool = False) -> list[int]:
    out = np.zeros(30, np.int64)
    cuda.jit(debug=debug, opt=not debug)(function)[1, 1](ARRAY, *arguments, out)
    return out.tolist()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shape", [24, -1, (24,), (-1,), -2])
def test_a_flat_shape_has_all_elements(shape: Any) -> None:
    assert launched(flat, shape)[:25] == [24, *range(24)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shape", [(2, 12), (2, -1), (-1, 12), (24, -1), (-7, 1)])
def test_one_extent_is_what_is_left_for_it(shape: tuple[int, int]) -> None:
    wanted = ARRAY.reshape([-1 if each < 0 else each for each in shape])
    assert launched(in_two, *shape)[:26] == [*wanted.shape, *range(24)]
    assert launched(in_tuple, shape)[:2] == list(wanted.shape)


def test_extents_may_be_literals() -> None:
    assert launched(with_literals)[:4] == [24, 12, 4, 23 + 13 + 9]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shape", [(5, -1), (0, -1), (3, 7), (5, 5), (-1, -1), (-3, -8)])
def test_a_shape_that_does_not_fit_raises(shape: tuple[int, int]) -> None:
    reason = "multiple negative" if max(shape) < 0 else "total size of new array must be unchanged"
    with pytest.raises(ValueError, match=reason):
        launched(in_two, *shape, debug=True)
    # As with Numba, nobody looks for exceptions otherwise: the thread ends.
    assert launched(in_two, *shape) == [0] * 30
