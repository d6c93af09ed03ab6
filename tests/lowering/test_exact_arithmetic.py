"""XLA keeps each float operation as it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from windlass.facts.cost import GPU
from windlass.ir import Module
from windlass.lowering.exact_arithmetic import keep_float_results
from windlass.ops import Divide, ReducePrecision, Sqrt
from windlass.ops.evaluation import evaluate_function
from windlass.stablehlo.lowered import import_lowered
from windlass.stablehlo.program import TensorProgram

f = np.float32


def full(a: Any, number: float) -> Any:
    return jnp.full_like(a, number)


CASES: dict[str, Callable[..., Any]] = {
    "sum of a product": lambda a, b, c: a * b + c,
    "sum of a square": lambda a, b, c: lax.square(a) + c,
    "sum of an inverse error function": lambda a, b, c: lax.erf_inv(a) + c,
    "difference of products": lambda a, b, c: a * b - b * c,
    "negated product in a sum": lambda a, b, c: -(a * b) + c,
    "slice of a product in a sum": lambda a, b, c: (a * b)[1:] + c[:-1],
    "selected product in a sum": lambda a, b, c: lax.select(a > 0, a * b, c) + c,
    "quotient by a constant": lambda a, b, c: a / full(a, 3),
    "quotient by a scalar": lambda a, b, c: a / jnp.broadcast_to(b[7], a.shape),
    "quotient by a row": lambda a, b, c: a.reshape(-1, 100) / jnp.broadcast_to(b[:100], (len(a) // 100, 100)),
    "quotient of a quotient": lambda a, b, c: (a / b) / c,
    "quotient by a quotient": lambda a, b, c: a / (b / c),
    "quotient of quotients": lambda a, b, c: (a / b) / (c / a),
    "quotient by a square root": lambda a, b, c: a / lax.sqrt(lax.abs(b)),
    "one over a square root": lambda a, b, c: lax.div(jnp.ones_like(b), lax.sqrt(lax.abs(b))),
    "quotient by an exponential": lambda a, b, c: a / lax.exp(b),
    "product of exponentials": lambda a, b, c: lax.exp(a) * lax.exp(b),
    "logarithm of an exponential": lambda a, b, c: lax.log(lax.exp(a)),
    "logarithm of a power": lambda a, b, c: lax.log(lax.pow(lax.abs(a), b)),
    "power of an exponential": lambda a, b, c: lax.pow(lax.exp(a), b),
    "two factors": lambda a, b, c: (a * f(1.1)) * f(1.3),
    "two summands": lambda a, b, c: (a + f(1.1)) + f(1.3),
    "summand taken and given": lambda a, b, c: (a - f(1.1)) + f(1.3),
    "factor and divisor": lambda a, b, c: (a * full(a, 1.1)) / full(a, 1.3),
    "divisor and factor": lambda a, b, c: (a / full(a, 7)) * full(a, 7),
    "zero added to a negative zero": lambda a, b, c: lax.div(jnp.ones_like(a), a * f(-0.0) + f(0.0)),
    "product with a condition": lambda a, b, c: a * (b > c).astype(f),
    "quarter in a sum": lambda a, b, c: (a + b) * f(-0.25) + c,
    "common factor": lambda a, b, c: a * c + b * c,
}


def programs_of(function: Callable[..., Any], *arrays: Any) -> tuple[TensorProgram, TensorProgram]:
    """The function as a program, as it is and protected."""
    traced = jax.jit(function, keep_unused=True).trace(*arrays)
    main = import_lowered("case", traced.lower()).main
    main.name = "case"
    return TensorProgram(Module([main])), TensorProgram(Module([main]), is_exact=True)


def samples(dtype: Any, count: int = 20_000) -> list[Any]:
    rng = np.random.default_rng(5)
    return [rng.standard_normal(count).astype(dtype) for _ in range(3)]


def step_by_step(function: Callable[..., Any], *arrays: Any) -> Any:
    """Each operation compiled by itself."""
    with jax.disable_jit():
        return np.asarray(function(*map(jnp.asarray, arrays)))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("case", CASES)
def test_float_results_are_those_of_single_operations(case: str) -> None:
    arrays = samples(np.float32)
    with np.errstate(all="ignore"):
        expected = step_by_step(CASES[case], *arrays)
    (result,) = programs_of(CASES[case], *arrays)[1].jitted()(*arrays)
    np.testing.assert_array_equal(np.asarray(result), expected)


def test_without_protection_xla_changes_results() -> None:
    """If this fails, XLA has become exact by itself and the protection can go."""
    arrays = samples(np.float32)
    changed = 0
    for function in CASES.values():
        (result,) = programs_of(function, *arrays)[0].jitted()(*arrays)
        changed += not np.array_equal(np.asarray(result), step_by_step(function, *arrays), equal_nan=True)
    assert changed > 10


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_other_floats(dtype: Any) -> None:
    with jax.enable_x64(True):
        a, b, c = samples(dtype)

        def function(a: Any, b: Any, c: Any) -> Any:
            return a * b + c

        (result,) = programs_of(function, a, b, c)[1].jitted()(a, b, c)
        np.testing.assert_array_equal(np.asarray(result), a * b + c)


@pytest.mark.parametrize("name", ["constant", "scalar"])
def test_divisions_are_numpys(name: str) -> None:
    a, b, _ = samples(np.float32)
    divisor = np.float32(3) if name == "constant" else b[0]
    function = (lambda a, s: a / f(3)) if name == "constant" else (lambda a, s: a / s)
    (result,) = programs_of(function, a, divisor)[1].jitted()(a, divisor)
    np.testing.assert_array_equal(np.asarray(result), a / divisor)


GPU_CASES: dict[str, Callable[..., Any]] = {
    "quotient": lambda a, b, c: a / b + c,
    "quotients in a loop": lambda a, b, c: lax.fori_loop(0, 3, lambda _, x: x / b / f(3), a),
    "root": lambda a, b, c: lax.sqrt(lax.abs(a)) - c,
    "quotient by a root": lambda a, b, c: a / lax.sqrt(lax.abs(b)),
    "bfloat16": lambda a, b, c: (a.astype(jnp.bfloat16) / b.astype(jnp.bfloat16)).astype(f),
    "float16": lambda a, b, c: lax.sqrt(a.astype(np.float16)) / b.astype(np.float16),
}


@pytest.mark.parametrize("case", GPU_CASES)
def test_quotients_and_roots_for_gpus_are_those_of_float32(case: str) -> None:
    """XLA's GPU compiler has them within 2 units in the last place only: they are computed in float64."""
    a, b, c = samples(np.float32)
    a[:6], b[:6] = (0, -0.0, np.inf, np.nan, 1e-40, 3e38), (-1, 3, -np.inf, 1, 3, 1e-3)
    traced = jax.jit(GPU_CASES[case], keep_unused=True).trace(a, b, c)
    main = import_lowered("case", traced.lower()).main
    main.name = "case"
    with jax.enable_x64(True), np.errstate(all="ignore"):
        (expected,) = evaluate_function(main, a, b, c)
        keep_float_results(main, GPU)
        assert {op.dtype for op in main.body.walk() if isinstance(op, Divide | Sqrt)} == {"f64"}
        (result,) = evaluate_function(main, a, b, c)
        np.testing.assert_array_equal(np.asarray(result), expected)
        (result,) = TensorProgram(Module([main])).jitted()(a, b, c)
        np.testing.assert_array_equal(np.asarray(result)[5:], expected[5:])  # the fifth is subnormal


def test_roundings_to_narrower_floats_are_kept_on_gpus() -> None:
    """XLA's GPU compiler leaves out a conversion to a narrower float and back."""
    with jax.enable_x64(True):
        a = samples(np.float64)[0]
        traced = jax.jit(lambda a: a.astype(f).astype(np.float64) + a.astype(jnp.bfloat16).astype(f)).trace(a)
        main = import_lowered("case", traced.lower()).main
        keep_float_results(main, GPU)
        assert sum(isinstance(op, ReducePrecision) for op in main.body) == 2
        (result,) = evaluate_function(main, a)
        np.testing.assert_array_equal(
            np.asarray(result), a.astype(f).astype(float) + np.asarray(jnp.asarray(a, jnp.bfloat16), f)
        )


def test_loops_and_branches_are_protected() -> None:
    a, b, c = samples(np.float32)

    def function(a: Any, b: Any, c: Any) -> Any:
        def step(_: Any, x: Any) -> Any:
            return lax.cond(x.sum() > 1e9, lambda x: x, lambda x: x * b + c, x)

        return lax.fori_loop(0, 10, step, a)

    expected = a
    for _ in range(10):
        expected = expected * b + c
    (result,) = programs_of(function, a, b, c)[1].jitted()(a, b, c)
    np.testing.assert_array_equal(np.asarray(result), expected)


def test_arrays_in_loops_are_still_updated_in_place() -> None:
    """The zeros are carried beside the arrays: reading one element of a carried array would make XLA copy it."""

    def function(a: Any) -> Any:
        return lax.fori_loop(0, 10, lambda i, x: lax.dynamic_update_slice(x, x[1:3] * x[2:4] + f(1), (i,)), a)

    program = programs_of(function, np.ones(1000, np.float32))[1]
    text = cast("str", program.lower().compile().as_text())
    bodies = [block for block in text.split("\n\n") if "dynamic-update-slice" in block and "while" not in block]
    assert bodies
    assert not any("copy(" in block and "f32[1000]" in block.split("copy(")[0].splitlines()[-1] for block in bodies)


def test_sum_of_halves_does_not_overflow() -> None:
    """XLA takes the half out of the sum, and the sum overflows."""
    a, b = np.full(4, 3e38, np.float32), np.full(4, 2e38, np.float32)

    def function(a: Any, b: Any) -> Any:
        return a * f(0.5) + b * f(0.5)

    (result,) = programs_of(function, a, b)[1].jitted()(a, b)
    np.testing.assert_array_equal(np.asarray(result), a * f(0.5) + b * f(0.5))


@pytest.mark.parametrize(
    "moved", [lambda x: x, lambda x: x.reshape(-1), lambda x: x.T], ids=["as it is", "flat", "turned"]
)
def test_what_is_added_after_a_scatter_is_added_after_it(moved: Callable[[Any], Any]) -> None:
    """XLA adds it to what the updates are added to."""
    random = np.random.default_rng(0)
    x, c = random.random((2, 12, 16), np.float32)
    places = random.permutation(192)[:160]
    rows, columns, updates = places // 16, places % 16, random.random(160, np.float32)

    def function(x: Any, c: Any, updates: Any) -> Any:
        return moved(x.at[rows, columns].add(updates)) + moved(c)

    (result,) = programs_of(function, x, c, updates)[1].jitted()(x, c, updates)
    expected = x.copy()
    expected[rows, columns] += updates
    np.testing.assert_array_equal(np.asarray(result), moved(expected) + moved(c))
