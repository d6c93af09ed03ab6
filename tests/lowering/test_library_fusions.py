"""What XLA:CPU's library would fold wrongly is kept from it, and what it folds well is left to it."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass import stablehlo
from windlass.ir import Block, Builder, Function, Module, Value
from windlass.ir.values import tensor
from windlass.lowering.library_fusions import Surroundings, avoid_wrong_fusions
from windlass.lowering.settling import is_settling
from windlass.ops import (
    BroadcastInDim,
    Compare,
    Constant,
    Exponential,
    Multiply,
    Negate,
    Reduce,
    ReducePrecision,
    Return,
    Select,
    Subtract,
    Transpose,
)
from windlass.ops.contraction import matmul
from windlass.ops.reduction import reduce_max, reduce_sum

POINTS = 16_640
"""Points from which on jaxlib 0.10.2 is wrong, and some."""


def make_module(build: Any, *values: Value) -> Module:
    body = Block([value.type for value in values])
    with Builder(body):
        Return((build(*body.arguments),))
    return Module([Function("main", body)])


def count_kept_apart(build: Any, *values: Value, **known: Any) -> tuple[int, int, int]:
    """Values that are settled, folds by XLA's own loops, and roundings of whole arrays."""
    module = make_module(build, *values)
    avoid_wrong_fusions(module, replace(Surroundings(is_whole=True), **known))
    ops = list(module.main.walk())
    folds = [op for op in ops if isinstance(op, Reduce)]
    own = sum(any(isinstance(each, ReducePrecision) for each in fold.body.block) for fold in folds)
    arrays = sum(isinstance(op, ReducePrecision) and bool(op.shape) for op in ops)
    return sum(map(is_settling, ops)), own, arrays


X, Y = tensor("f32", 300, 200), tensor("f32", 200, 300)


@pytest.mark.parametrize(("has_nan", "shows_sign"), [(False, False), (True, False), (False, True)])
def test_extremes_are_the_librarys_where_there_is_no_nan_and_no_sign_of_zeros_shows(has_nan: bool, shows_sign: bool):
    def build(x: Value) -> Value:
        numbers = x if has_nan else Select(Compare(x, x, "EQ"), x, Constant.of(-np.inf, "f32", x.shape))
        moved = Subtract(x, BroadcastInDim(reduce_max(numbers, (1,)), x.shape, (0,)))
        return moved if shows_sign else Exponential(moved)

    assert count_kept_apart(build, X)[1] == (has_nan or shows_sign)


def spread(value: Value, *shape: int) -> Value:
    return BroadcastInDim(value, shape, (0,))


def test_products_are_written_out_before_they_are_folded() -> None:
    def distance(x: Value, y: Value) -> Value:
        return reduce_sum(Exponential(Negate(Transpose(matmul(x, y), (1, 0)))), (0,))

    assert count_kept_apart(distance, X, Y) == (1, 0, 0)
    assert count_kept_apart(distance, X, Y, is_partitioned=True) == (0, 0, 1)


def test_products_that_are_not_folded_stay_as_they_are() -> None:
    assert count_kept_apart(lambda x, y: Negate(matmul(x, y)), X, Y) == (0, 0, 0)


def test_products_that_may_be_folded_by_the_program_around_are_written_out() -> None:
    assert count_kept_apart(lambda x, y: Negate(matmul(x, y)), X, Y, is_whole=False) == (1, 0, 0)
    assert count_kept_apart(Negate, X, is_whole=False) == (0, 0, 0)


def test_what_the_program_around_computes_is_written_out_before_it_is_folded() -> None:
    assert count_kept_apart(lambda x: reduce_sum(x, (1,)), X) == (0, 0, 0)
    assert count_kept_apart(lambda x: reduce_sum(x, (1,)), X, computed=(0,)) == (1, 0, 0)
    assert count_kept_apart(Negate, X, computed=(0,)) == (0, 0, 0)
    assert count_kept_apart(lambda x: reduce_sum(x, (1,)), X, computed=(0,), is_partitioned=True) == (0, 0, 1)


def test_the_library_folds_what_it_folds_well() -> None:
    def softmax(x: Value) -> Value:
        powers = Exponential(Subtract(x, spread(reduce_max(x, (1,)), *x.shape)))
        return Multiply(powers, spread(reduce_sum(powers, (1,)), *x.shape))

    assert count_kept_apart(softmax, X) == (0, 1, 0)  # but for the largest, where NaN would be lost


def test_folds_of_many_axes_are_computed_by_own_loops() -> None:
    u = tensor("f32", 3, 1, 2, 2, 8, 8, 8)

    def dot(u: Value, v: Value) -> Value:
        return reduce_sum(Multiply(u, v), (3,))

    assert count_kept_apart(dot, u, u) == (0, 1, 0)
    assert count_kept_apart(dot, u, u, is_partitioned=True) == (0, 0, 1)
    assert count_kept_apart(lambda u: reduce_sum(u, (1,)), X) == (0, 0, 0)


def test_folds_of_repeated_values_are_computed_by_own_loops() -> None:
    x = tensor("f32", 1024)
    assert count_kept_apart(lambda x: reduce_sum(spread(x, 1024, 64), (0, 1)), x) == (0, 1, 0)
    assert count_kept_apart(lambda x: reduce_sum(Negate(spread(x, 1024, 64)), (1,)), x) == (0, 1, 0)

    def outer(x: Value) -> Value:
        return reduce_sum(Multiply(spread(x, 1024, 1024), BroadcastInDim(x, (1024, 1024), (1,))), (0, 1))

    assert count_kept_apart(outer, x) == (0, 0, 0)


def test_what_is_kept_apart_once_stays_as_it_is() -> None:
    u = tensor("f32", 3, 1, 2, 2, 8, 8, 8)
    module = make_module(lambda u: reduce_sum(Negate(u), (3,)), u)
    for _ in range(2):
        avoid_wrong_fusions(module, Surroundings(is_whole=True))
    (fold,) = (op for op in module.main.walk() if isinstance(op, Reduce))
    assert len(list(fold.body.block)) == 3


def test_products_in_loops_are_written_out_where_their_results_may_be_folded() -> None:
    text = """
    func.func @main(%m: tensor<64x64xf64>, %x: tensor<64x64xf64>) -> tensor<64xf64> {
      %zero = stablehlo.constant dense<0.0> : tensor<f64>
      %turn = stablehlo.constant dense<1> : tensor<i32>
      %n, %y = stablehlo.while(%i = %turn, %each = %x) : tensor<i32>, tensor<64x64xf64> cond {
        %more = stablehlo.compare LT, %i, %turn : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %next = stablehlo.dot_general %m, %each, contracting_dims = [1] x [0] :
            (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
        stablehlo.return %turn, %next : tensor<i32>, tensor<64x64xf64>
      }
      %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] :
          (tensor<64x64xf64>, tensor<f64>) -> tensor<64xf64>
      return %sum : tensor<64xf64>
    }"""
    module = stablehlo.import_text(text)
    avoid_wrong_fusions(module, Surroundings(is_whole=True))
    assert sum(map(is_settling, module.main.walk())) == 1


# -- run through XLA --------------------------------------------------------------------------------------------------


def sum_of_rows(m: Any, x: Any) -> Any:
    return jnp.sum(m @ x.T, axis=0)


KERNELS = wl.cuda.compile("""
__global__ void sum_rows(const float *x, float *y) {
    float sum = 0;
    for (int i = 0; i < 128; i++) sum += x[threadIdx.x * 128 + i];
    y[threadIdx.x] = sum;
}
__global__ void turn(const double *m, const double *x, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int row = 0; row < 3; row++) {
        double sum = 0;
        for (int k = 0; k < 3; k++) sum += m[row * 3 + k] * x[i * 3 + k];
        y[row * n + i] = sum;
    }
}""")


def make_points() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    m, x = (rng.integers(-9, 9, shape).astype(np.float64) for shape in ((3, 3), (POINTS, 3)))
    return m, x


def test_products_that_are_folded_are_right_however_they_are_run() -> None:
    m, x = make_points()
    expected = (m @ x.T).sum(0)
    with jax.enable_x64(True):
        text = jax.jit(sum_of_rows).lower(m, x).as_text()
        turn = KERNELS["turn"].jax(POINTS // 256, 256)
        found = {
            "jit": wl.jit(lambda m, x: np.sum(m @ x.T, axis=0))(m, x),
            "optimize": wl.optimize(sum_of_rows)(m, x),
            "exact": wl.optimize(sum_of_rows, exact=True)(m, x),
            "exact under jit": jax.jit(wl.optimize(sum_of_rows, exact=True))(m, x),
            "run": stablehlo.run(text, m, x)[0],
            "optimized text": stablehlo.run(stablehlo.optimize(text, exact=True), m, x)[0],
            "folded outside": jax.jit(lambda m, x: jnp.sum(wl.optimize(jnp.matmul, exact=True)(m, x.T), 0))(m, x),
            "made outside": jax.jit(lambda m, x: wl.optimize(lambda p: jnp.sum(p, 0), exact=True)(m @ x.T))(m, x),
            "kernel": jax.jit(lambda m, x: jnp.sum(turn(m, x, jnp.zeros((3, POINTS)), POINTS), 0))(m, x),
        }
    wrong = {way: np.count_nonzero(np.asarray(each) != expected) for way, each in found.items()}
    assert not any(wrong.values()), wrong


def largest(x: Any) -> Any:
    return jnp.max(x, axis=1)


NOT_A_NUMBER = np.where(np.arange(8192) % 97 == 5, np.nan, 1).astype(np.float32).reshape(64, 128)
INTEGERS = np.arange(8192).reshape(64, 128).astype(np.int8)
HOLES = jnp.ones((64, 128), jnp.float32)


def largest_of_pairs(x: Any, start: Any = -np.inf, dilations: tuple[int, int] = (1, 1)) -> Any:
    return jax.lax.reduce_window(x, np.asarray(start, x.dtype), jax.lax.max, (2, 1), (2, 1), "VALID", dilations)


FOLDS: dict[str, tuple[Any, Any, Any]] = {
    "NaN": (largest, NOT_A_NUMBER, NOT_A_NUMBER.max(1)),
    "NaN in windows": (largest_of_pairs, NOT_A_NUMBER, NOT_A_NUMBER.reshape(32, 2, 128).max(1)),
    "NaN before": (lambda x: jnp.sum(jnp.maximum(x, 0), 1), NOT_A_NUMBER, NOT_A_NUMBER.sum(1)),
    "NaN after": (
        lambda x: jnp.maximum(jnp.sum(x.reshape(4096, 2), 1), 0),
        NOT_A_NUMBER,
        NOT_A_NUMBER.reshape(4096, 2).sum(1),
    ),
    "zero before": (lambda x: jnp.sum(1 / -(x - x), 1), HOLES, np.full(64, -np.inf)),
    "zero after": (lambda x: 1 / -jnp.sum(x.reshape(4096, 2), 1), 0 * HOLES, np.full(4096, -np.inf)),
    "bytes": (lambda x: jnp.max(x * x, 1), INTEGERS, (INTEGERS * INTEGERS).max(1)),
    "unsigned bytes": (lambda x: jnp.min(-x, 1), INTEGERS.astype("u1"), (-INTEGERS.astype("u1")).min(1)),
    "holes": (lambda x: largest_of_pairs(x, dilations=(1, 2)).min(0), HOLES, np.where(np.arange(255) % 2, -np.inf, 1)),
}
"""What is computed, from what, and what it is: each is wrong where jaxlib 0.10.2 uses its library."""


def results_of_folds(make: Any) -> dict[str, Any]:
    return {name: np.asarray(make(build)(x)) for name, (build, x, _) in FOLDS.items()}


def list_wrong(found: dict[str, Any]) -> list[str]:
    return [name for name, (_, _, right) in FOLDS.items() if not np.array_equal(found[name], right, equal_nan=True)]


def test_folds_of_special_values_are_right_however_they_are_run() -> None:
    assert not list_wrong(results_of_folds(lambda build: wl.optimize(build, exact=True)))

    def run_text(build: Any) -> Any:
        return lambda x: stablehlo.run(jax.jit(build).lower(x).as_text(), x)[0]

    assert not list_wrong(results_of_folds(run_text))

    def fold_kernel(x: Any) -> Any:
        return KERNELS["sum_rows"].jax(1, 64)(x, jnp.zeros(64, jnp.float32))

    sums = jax.jit(lambda x: fold_kernel(jnp.maximum(x, 0)))(NOT_A_NUMBER)
    np.testing.assert_array_equal(sums, NOT_A_NUMBER.sum(1))
    largest = wl.jit(lambda x: np.max(x, axis=1))(NOT_A_NUMBER)
    np.testing.assert_array_equal(largest, NOT_A_NUMBER.max(1))


MANY_AXES = """
import sys
import jax, jax.numpy as jnp, numpy as np
import windlass as wl

def dot(u, v):
    return jnp.sum(u * v, axis=3)

u = v = np.ones((3, 1, 2, 2, 8, 8, 8), np.float32)
if sys.argv[1] == "jax":
    found = [jax.jit(dot)(u, v)]
else:
    text = jax.jit(dot).lower(u, v).as_text()
    found = [
        wl.jit(lambda u, v: np.sum(u * v, axis=3))(u, v),
        wl.optimize(dot)(u, v),
        jax.jit(wl.optimize(dot, exact=True))(u, v),
        wl.stablehlo.run(text, u, v)[0],
        wl.stablehlo.run(wl.stablehlo.optimize(text), u, v)[0],
    ]
assert all((np.asarray(each) == 2).all() for each in found)
"""


def test_folds_of_many_axes_do_not_end_the_process() -> None:
    subprocess.run([sys.executable, "-c", MANY_AXES, "ours"], check=True)


def test_what_jaxlib_gets_wrong() -> None:
    """Where this fails a newer jaxlib is mended: see docs/reference/xla.md for what is done because of it."""
    if importlib.metadata.version("jaxlib") != "0.10.2":
        pytest.skip("what is wrong is known of jaxlib 0.10.2")
    x = np.arange(3.0 * POINTS, dtype=np.float64).reshape(POINTS, 3)
    with jax.enable_x64(True):
        assert np.count_nonzero(np.asarray(jax.jit(sum_of_rows)(np.eye(3), x)) != x.sum(1))
    assert list_wrong(results_of_folds(jax.jit)) == list(FOLDS)
    ended = subprocess.run([sys.executable, "-c", MANY_AXES, "jax"], check=False, capture_output=True)
    assert ended.returncode < 0
