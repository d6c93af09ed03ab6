"""The library of GPU functions, on this machine's CPU: how far it is from what is true, and its special values.

`BOUNDS` are the greatest distances in units in the last place that CUDA's Programming Guide documents for its functions
(float, double); of `expm1` a little more, which is what the library keeps to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from windlass.emulator.mathematics import FUNCTIONS
from windlass.gpu.functions import PREFIX
from windlass.gpu.library import library_for

from .host_library import distance, evaluate

Array = NDArray[Any]

BOUNDS: dict[str, tuple[float, float]] = {
    "exp": (1, 1), "exp2": (2, 1), "exp10": (2, 1), "expm1": (1.1, 1.1), "log": (1, 1), "log2": (1, 1), "log10": (2, 1),
    "log1p": (1, 1), "sin": (2, 2), "cos": (2, 2), "tan": (4, 2), "asin": (2, 2), "acos": (2, 2), "atan": (2, 2),
    "sinh": (3, 2), "cosh": (2, 2), "tanh": (2, 2), "asinh": (3, 3), "acosh": (4, 3), "atanh": (3, 2), "cbrt": (1, 1),
}  # fmt: skip
TRUE = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 2, -2, 1e30, -1e30, 1e-30, 3, -3, 0.75]


def true_values(name: str, x: Array) -> Array:
    """NumPy's values with more digits than the arguments have."""
    wide = x.astype(np.longdouble)
    if name == "exp10":
        return np.power(np.longdouble(10), wide)
    return getattr(np, TRUE.get(name, name))(wide)


def arguments(dtype: Any, count: int) -> Array:
    """Numbers of all sizes, ordinary ones, those around 1, subnormal and special ones."""
    random = np.random.default_rng(7)
    bits = np.uint32 if dtype is np.float32 else np.uint64
    limits = np.finfo(dtype)
    return np.concatenate([
        random.integers(0, np.iinfo(bits).max, count, dtype=bits).view(dtype),
        random.uniform(-20, 20, count).astype(dtype),
        random.uniform(-1.5, 1.5, count).astype(dtype),
        np.array([*SPECIAL, limits.tiny, limits.tiny / 8, -limits.smallest_subnormal, limits.max, -limits.max], dtype),
    ])  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", BOUNDS)
def test_functions_of_one_number_are_as_exact_as_they_say(name: str, dtype: Any) -> None:
    x = arguments(dtype, 20_000)
    with np.errstate(all="ignore"):
        off = distance(evaluate(name + "f" * (dtype is np.float32), x), true_values(name, x))
    worst = int(np.argmax(off))
    assert off[worst] <= BOUNDS[name][dtype is np.float64], (x[worst], float(off[worst]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "bounds"), [("power", (2, 1)), ("arctan2", (3, 2)), ("hypot", (3, 2)), ("fmod", (0, 0))]
)
def test_functions_of_two_numbers_are_as_exact_as_they_say(name: str, bounds: tuple[int, int], dtype: Any) -> None:
    pairs = [each.ravel() for each in np.meshgrid(*[np.array([*SPECIAL, 2**24 + 1, 1.0000001], dtype)] * 2)]
    x, y = (np.concatenate([arguments(dtype, 10_000), each]) for each in pairs)
    x = np.random.default_rng(1).permutation(x)
    called = {"power": "pow", "arctan2": "atan2"}.get(name, name) + "f" * (dtype is np.float32)
    with np.errstate(all="ignore"):
        true = getattr(np, name)(x.astype(np.longdouble), y.astype(np.longdouble))
        off = distance(evaluate(called, x, y), true)
    worst = int(np.argmax(off))
    assert off[worst] <= bounds[dtype is np.float64], (x[worst], y[worst], float(off[worst]))


def test_large_angles_are_reduced_exactly() -> None:
    powers = np.float32(2.0) ** np.arange(10, 128, dtype=np.float32)
    x = np.concatenate([powers, np.array([1e10, 3e38, 71475.9, 71476.1], np.float32)])
    for name in ("sin", "cos"):
        # NumPy's sines of doubles are right for all of them.
        off = distance(evaluate(f"{name}f", x), getattr(np, name)(x.astype(np.float64)))
        assert off.max() <= 2


def test_each_function_that_kernels_may_call_is_there() -> None:
    there = library_for("nvptx64-nvidia-cuda").functions
    names = [name if name.startswith("__") else PREFIX + name for name in FUNCTIONS]
    assert [name for name in names if name not in there] == []


def test_special_functions_are_those_of_the_emulator() -> None:
    special = pytest.importorskip("scipy.special")
    x = np.linspace(0.05, 1.95, 400)
    for name, true in (("erf", special.erf), ("erfc", special.erfc), ("tgamma", special.gamma), ("j0", special.j0)):
        assert distance(evaluate(name, x), true(x)).max() <= 8, name
        short = x.astype(np.float32)
        assert distance(evaluate(f"{name}f", short), true(short.astype(np.float64))).max() <= 3
    for name, true in (("erfinv", special.erfinv), ("cyl_bessel_i0", special.i0)):
        given = x / 2 if name == "erfinv" else x * 360
        np.testing.assert_allclose(evaluate(name, given), true(given), rtol=1e-13)
