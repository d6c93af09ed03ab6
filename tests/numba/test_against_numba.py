# pyright: basic
"""Arithmetic whose types and values Numba's compiler for CPUs, which has the same rules, gives as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from windlass.numba import cuda
from windlass.numba.cuda.generated import function_of

CASES = [
    ("-x", [(np.uint8(200),), (np.uint32(7),), (np.int8(-128),), (np.int64(-3),), (1.5,)]),
    ("~x", [(np.uint8(200),), (np.uint16(7),), (np.int8(5),), (True,)]),
    ("int(x) - int(y)", [(np.uint8(3), np.uint8(5)), (np.int8(3), np.uint8(5)), (2.7, -2.7)]),
    ("min(max(int(x) - int(y), 0), 255)", [(np.uint8(3), np.uint8(5)), (np.int16(3), np.int16(5))]),
    ("x // y", [(7, -2), (-7, 2), (np.uint8(7), np.uint8(2)), (np.int32(-7), 2.0), (5, 0), (np.float32(-1), 0.3)]),
    ("x % y", [(7, -2), (-7, 2), (np.uint64(7), np.uint64(2)), (-7.5, 2), (5, 0), (np.float32(-1), np.float32(0.3))]),
    ("x / y", [(7, 2), (np.float32(1), np.float32(3)), (np.int32(1), np.float32(3)), (1, 0), (np.uint8(1), 3)]),
    ("x ** y", [(3, 4), (2.0, -3), (np.float32(1.1), 5), (np.int32(2), np.int32(40)), (2.5, 0.5)]),
    ("x << y", [(np.int32(1), 40), (np.uint8(255), 4), (-3, 2)]),
    ("x >> y", [(-300, 3), (np.uint8(255), 4), (np.int16(-5), np.uint8(1))]),
    ("x * y + x", [(2**62, 4), (np.int32(2**31 - 1), np.int32(2)), (np.uint32(2**32 - 1), np.uint32(3))]),
    ("x < y", [(np.uint64(1), -1), (np.uint32(1), np.int32(-1)), (np.float32(0.1), 0.1), (True, 2)]),
    ("(x and y) or x", [(0, 3), (2, 0), (True, False)]),
    ("x if x > y else y", [(np.int8(1), np.uint8(2)), (1, 2.5), (np.uint64(9), 3)]),
    ("round(x) + round(y, 1)", [(2.5, 1.25), (np.float32(3.5), 0.05)]),
    ("abs(x) - abs(y)", [(-3, 2.5), (np.int8(-7), np.float32(-1))]),
    ("x + np.int32(y) * np.float32(2)", [(1, 2.9), (np.float32(0.1), -3)]),
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("expression", "examples"), CASES, ids=[case[0] for case in CASES])
def test_kernels_give_what_numba_gives(expression: str, examples: list[tuple[Any, ...]]):
    numba = pytest.importorskip("numba")
    names = ["x", "y"][: len(examples[0])]
    function = function_of(f"def f({', '.join(names)}):\n    return {expression}\n", "f", {"np": np})
    compiled = numba.njit(error_model="numpy")(function)
    text = (
        f"def store({', '.join(names)}, real, whole):\n"
        f"    value = f({', '.join(names)})\n    real[0] = value\n    whole[0] = np.int64(value)\n"
    )
    kernel = cuda.jit(function_of(text, "store", {"f": cuda.jit(function, device=True), "np": np}))
    for example in examples:
        wanted = compiled(*example)
        real, whole = np.zeros(1), np.zeros(1, np.int64)
        kernel[1, 1].emulate(*example, real, whole)
        np.testing.assert_array_equal(real[0], float(wanted), str(example))
        if isinstance(wanted, int):
            assert whole[0] == np.array(wanted).astype(np.int64), example


LOOPS = """\
def f(x, y):
    total = 0
    last = x
    one, other = 3, 7
    for i in range(6):
        if i == 1:
            continue
        total += i * x
        if total > y:
            last = total / 2
            break
        last, total = total, last + i
        one, other = other, one
    while last > 1:
        last = last // 2
        total -= 1
    return total * 1000 + last + one / 64
"""


@pytest.mark.one_in(6)
@pytest.mark.parametrize("x", [np.int32(3), 2, 1.5, np.float32(0.5), np.uint8(4)])
@pytest.mark.parametrize("y", [2, 40.0, np.uint16(20)])
def test_loops_give_what_numbas_give(x: Any, y: Any):
    numba = pytest.importorskip("numba")
    function = function_of(LOOPS, "f", {})
    wanted = numba.njit(error_model="numpy")(function)(x, y)
    text = "def store(x, y, real):\n    real[0] = f(x, y)\n"
    kernel = cuda.jit(function_of(text, "store", {"f": cuda.jit(function, device=True)}))
    real = np.zeros(1)
    kernel[1, 1].emulate(x, y, real)
    np.testing.assert_array_equal(real[0], wanted)
