"""What functions of numbers mean, against NumPy and SciPy on ordinary and special values."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.special

from windlass.frontends.llvm import builtins
from windlass.frontends.llvm.emitter import Emitter
from windlass.frontends.llvm.registry import mathematical_function
from windlass.ir import Block, Builder, Value, tensor_type
from windlass.ir.types import MLIR_DTYPES, NUMPY_DTYPES
from windlass.ops.conversion import BitcastConvert

assert len(builtins.MODULES) > 5

Array = np.ndarray[Any, Any]


def apply(name: str, *arrays: Array | int) -> Array:
    """The builtin on arrays, element by element; Python integers are constants."""
    function = mathematical_function(name)
    assert function is not None, name
    emit = Emitter()
    given = [array for array in arrays if isinstance(array, np.ndarray)]
    body = Block([tensor_type((), MLIR_DTYPES[array.dtype]) for array in given])
    arguments = iter(body.arguments)
    with Builder(body):
        operands = [
            next(arguments) if isinstance(array, np.ndarray) else emit.constant(array, "i32") for array in arrays
        ]
        result = function(emit, *operands)
    known: dict[Value, Any] = dict(zip(body.arguments, given, strict=True))
    for op in (*emit.prologue, *body):
        arrays = tuple(np.asarray(known[operand]) for operand in op.operands)
        # At rank 0, as here declared, a bitcast would ask for a single number.
        is_bitcast = isinstance(op, BitcastConvert)
        known[op] = arrays[0].view(NUMPY_DTYPES[op.dtype]) if is_bitcast else op.evaluate(*arrays)
    return np.broadcast_to(known[result], np.broadcast_shapes(*(array.shape for array in given)))


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 3.25, -7.75]


def values(dtype: Any, low: float, high: float, count: int = 400) -> Array:
    random = np.random.default_rng(7)
    inside = [each for each in SPECIAL if not low > each and not each > high]
    return np.concatenate([np.array(inside), random.uniform(low, high, count)]).astype(dtype)


def assert_close(found: Array, wanted: Array, units: float) -> None:
    """Equal special values, and a difference of at most so many units in the last place."""
    with np.errstate(all="ignore"):
        wanted = wanted.astype(found.dtype)
        same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
        distance = np.abs(found.astype(np.float64) - wanted.astype(np.float64)) / np.spacing(np.abs(wanted))
    worst = np.where(same, 0, np.where(np.isfinite(found) & np.isfinite(wanted), distance, np.inf))
    at = int(np.argmax(worst))
    assert worst[at] <= units, (found[at], wanted[at], worst[at])


def exponent_of(x: Array) -> Array:
    ordinary = np.where(np.isfinite(x) & (x != 0), np.abs(x), 1.0)
    return np.where(np.isfinite(x) & (x != 0), np.floor(np.log2(ordinary)), np.where(x == 0, -np.inf, np.abs(x)))


FUNCTIONS: list[tuple[str, Callable[..., Any], float, float, float]] = [
    ("llvm.exp2", np.exp2, -140, 120, 2),
    ("llvm.exp2", np.exp2, -1080, 1030, 2),
    ("llvm.exp10", lambda x: np.power(np.longdouble(10), x.astype(np.longdouble)), -310, 308, 3),
    ("llvm.log2", np.log2, -1, 1e30, 2),
    ("llvm.log2", np.log2, 0.5, 2, 2),
    ("llvm.log10", np.log10, -1, 1e30, 3),
    ("llvm.log10", np.log10, 0.1, 3, 3),
    ("llvm.trunc", np.trunc, -1e3, 1e3, 0),
    ("llvm.rint", np.rint, -10, 10, 0),
    ("erfc", scipy.special.erfc, -3, 9, 4),
    ("erfcinv", scipy.special.erfcinv, 0, 2, 40),
    ("erfcx", scipy.special.erfcx, -5, 200, 300),
    ("tgamma", scipy.special.gamma, -169.5, 171.5, 60),
    ("tgamma", scipy.special.gamma, 0, 20, 30),
    ("lgamma", scipy.special.gammaln, 0.1, 100, 20),
    ("logb", exponent_of, -9, 9, 0),
    ("cyl_bessel_i1", scipy.special.i1, -20, 20, 60),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", FUNCTIONS, ids=lambda case: f"{case[0]}-{case[2]}")
def test_functions_of_one_number_are_precise(case: Any, dtype: Any) -> None:
    name, reference, low, high, units = case
    x = values(dtype, low, high)
    with np.errstate(all="ignore"):
        wanted = reference(x.astype(np.float64))
    assert_close(apply(name, x), np.asarray(wanted), units if dtype == np.float64 else 3)


def test_powers_of_two_and_ten_are_exact() -> None:
    exponents = np.arange(-20.0, 21.0)
    assert np.array_equal(apply("llvm.exp2", exponents), 2.0**exponents)
    assert np.array_equal(apply("llvm.log2", 2.0**exponents), exponents)
    assert np.array_equal(apply("llvm.log10", np.array([1.0, 10.0, 100.0, 1000.0, 1e6])), [0, 1, 2, 3, 6])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaling_by_powers_of_two_rounds_once(dtype: Any) -> None:
    random = np.random.default_rng(3)
    x = random.uniform(-2, 2, 600).astype(dtype)
    n = random.integers(-1200, 1200, 600).astype(np.int32)
    with np.errstate(all="ignore"):
        assert np.array_equal(apply("llvm.ldexp", x, n), np.ldexp(x, n))


def exact_fma(a: Any, b: Any, c: Any, dtype: Any) -> Any:
    """a*b + c rounded once, by rational arithmetic."""
    total = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if dtype == np.float64:
        return float(total)
    wide = float(total)
    nearest = np.float32(wide)
    options = [nearest, np.nextafter(nearest, np.float32(np.inf)), np.nextafter(nearest, np.float32(-np.inf))]
    distances = [abs(Fraction(float(option)) - total) for option in options]
    best = min(distances)
    tied = [option for option, distance in zip(options, distances, strict=True) if distance == best]
    return next((each for each in tied if np.asarray(each).view(np.int32) % 2 == 0), tied[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fused_multiply_add_rounds_once(dtype: Any) -> None:
    random = np.random.default_rng(5)
    a, b = (random.uniform(-2, 2, 500).astype(dtype) for _ in range(2))
    scale = np.exp2(random.integers(-60, 3, 500))
    c = np.where(np.arange(500) % 2 == 0, -(a * b), random.uniform(-1, 1, 500) * scale).astype(dtype)
    wanted = [exact_fma(*each, dtype) for each in zip(a, b, c, strict=True)]
    assert np.array_equal(apply("llvm.fma", a, b, c), np.array(wanted, dtype))
    special = [np.array([each], dtype) for each in (np.inf, 2.0, -np.inf)]
    assert np.isnan(apply("llvm.fma", *special)[0])
    assert apply("llvm.fma", special[0], special[1], np.array([1], dtype))[0] == np.inf


def test_fmin_and_fmax_prefer_numbers_to_nan() -> None:
    x, y = (each.reshape(-1) for each in np.meshgrid(np.array(SPECIAL), np.array(SPECIAL)))
    assert np.array_equal(apply("llvm.minnum", x, y), np.fmin(x, y), equal_nan=True)
    assert np.array_equal(apply("llvm.maxnum", x, y), np.fmax(x, y), equal_nan=True)


def test_hypotenuse_neither_overflows_nor_forgets_infinities() -> None:
    x = np.array([3e200, 3e-200, np.inf, np.nan, 0.0, 1e308, np.nan])
    y = np.array([4e200, 4e-200, np.nan, -np.inf, 0.0, 1.0, 1.0])
    assert_close(apply("hypot", x, y), np.array([5e200, 5e-200, np.inf, np.inf, 0.0, 1e308, np.nan]), 2)


def test_remainder_is_that_of_the_nearest_multiple() -> None:
    random = np.random.default_rng(11)
    x = np.concatenate([random.uniform(-100, 100, 300), [5.0, -5.0, 2.5, 7.5, 1e300, 0.3, 4.0]])
    y = np.concatenate([random.uniform(-9, 9, 300), [2.0, 2.0, 1.0, 5.0, 3.0, np.inf, 1e308]])
    wanted = [math.remainder(a, b) for a, b in zip(x, y, strict=True)]
    assert np.array_equal(apply("remainder", x, y), wanted)
    assert np.isnan(apply("remainder", np.array([1.0, np.inf, np.nan]), np.array([0.0, 1.0, 1.0]))).all()


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_integer_builtins(dtype: Any) -> None:
    limits, random = np.iinfo(dtype), np.random.default_rng(2)
    edges = np.array([limits.min, limits.max, 0, 1, -1, 2, -2], dtype)
    x = np.concatenate([edges.repeat(7), random.integers(limits.min, limits.max, 200, dtype)])
    y = np.concatenate([np.tile(edges, 7), random.integers(limits.min, limits.max, 200, dtype)])
    unsigned, bits = np.dtype(f"u{x.dtype.itemsize}"), limits.bits
    ux, uy = x.view(unsigned), y.view(unsigned)
    wide_x, wide_y = x.astype(object), y.astype(object)
    assert np.array_equal(apply("llvm.umin", x, y), np.minimum(ux, uy).view(dtype))
    assert np.array_equal(apply("llvm.umax", x, y), np.maximum(ux, uy).view(dtype))
    assert np.array_equal(apply("llvm.sadd.sat", x, y), np.clip(wide_x + wide_y, limits.min, limits.max).astype(dtype))
    assert np.array_equal(apply("llvm.ssub.sat", x, y), np.clip(wide_x - wide_y, limits.min, limits.max).astype(dtype))
    total = np.minimum(ux.astype(object) + uy.astype(object), 2**bits - 1).astype(unsigned).view(dtype)
    assert np.array_equal(apply("llvm.uadd.sat", x, y), total)
    rest = np.maximum(ux.astype(object) - uy.astype(object), 0).astype(unsigned).view(dtype)
    assert np.array_equal(apply("llvm.usub.sat", x, y), rest)
    texts = [format(int(each), f"0{bits}b") for each in ux]
    reverse = np.array([int(text[::-1], 2) for text in texts], unsigned).view(dtype)
    assert np.array_equal(apply("llvm.bitreverse", x), reverse)
    trailing = [bits if not int(each) else (int(each) & -int(each)).bit_length() - 1 for each in ux]
    assert np.array_equal(apply("llvm.cttz", x, 0), trailing)
    assert np.array_equal(apply("llvm.ctlz", x, 0), [bits - int(each).bit_length() for each in ux])
    if bits > 8:
        assert np.array_equal(apply("llvm.bswap", x), x.byteswap())
    amounts = (np.arange(x.size) % (2 * bits)).astype(dtype)
    wanted = [
        (((int(high) << bits | int(low)) << (int(n) % bits)) >> bits) % 2**bits
        for high, low, n in zip(ux, uy, amounts, strict=True)
    ]
    assert np.array_equal(apply("llvm.fshl", x, y, amounts).view(unsigned), np.array(wanted, unsigned))
    wanted = [
        ((int(high) << bits | int(low)) >> (int(n) % bits)) % 2**bits
        for high, low, n in zip(ux, uy, amounts, strict=True)
    ]
    assert np.array_equal(apply("llvm.fshr", x, y, amounts).view(unsigned), np.array(wanted, unsigned))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_classes_of_floats(dtype: Any) -> None:
    info = np.finfo(dtype)
    x = np.array([0.0, -0.0, info.tiny / 2, -info.tiny / 2, 1.5, -1.5, np.inf, -np.inf, np.nan], dtype)
    classes = [0x40, 0x20, 0x80, 0x10, 0x100, 0x8, 0x200, 0x4, 0x2]
    for mask in (*classes, 0x3, 0x1F8, 0x204, 0x264, 0x3FC, 0x90, 0x3C):
        assert apply("llvm.is.fpclass", x, mask).tolist() == [bool(mask & each) for each in classes], hex(mask)
