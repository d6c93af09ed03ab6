"""Forms that a compiler may simplify keep their results at special values, on each of our ways to XLA."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.lowering.float_forms import FORMS, Form, arguments_of, differ

import windlass as wl
from windlass.ir import Function, Module
from windlass.ops.evaluation import evaluate_function
from windlass.stablehlo.lowered import import_lowered
from windlass.stablehlo.program import TensorProgram

Array = NDArray[Any]

SUM_OF_ONE, SUM_OF_TWO = "sum of one", "mean of two"
KNOWN: Mapping[str, set[str]] = {
    "float32": {SUM_OF_ONE, SUM_OF_TWO},
    "float64": {SUM_OF_ONE, SUM_OF_TWO},
    "float16": {SUM_OF_ONE, SUM_OF_TWO},
    "bfloat16": {SUM_OF_ONE},
}
"""Forms that differ: a reduction may begin with 0 or not, so a sum of nothing but -0 has no sign that counts."""

ROOTS = ("sqrt(x * x)", "sqrt(x**4)", "sqrt(abs(x * x))", "sqrt of a sum of one square", "sqrt(pow(x, 2))")
"""What is kept in any program, but for the optimizer's rules for finite values."""
SPECIAL = (
    *("condition * z", "where(condition, 1, 0) * z", "(1 - condition) * z", "two conditions * z", "z / condition"),
    *("masks times a row", "masks times numbers", "x * x >= 0", "0 <= x * x", "abs(x) >= 0", "max(x, 0) >= 0"),
    *("min(abs(x), exp(x)) >= 0", "pow(abs(x), y) >= 0", "where(x > 0, exp(x), abs(x)) >= 0"),
)
"""What is kept in any program."""

EXACT = (
    *ROOTS,
    *SPECIAL,
    *("square(sqrt(abs(x)))", "x + 0", "x - -0", "x * 3 / 3", "x + 1 - 1", "(x + y) - y", "x * y + z", "x * z + y * z"),
    *("product in bfloat16", "sum in bfloat16", "product in float8", "log(exp(x))", "pow(x * x, .5)", "rsqrt(x * x)"),
)
"""A sample of what is kept where results are to be those of the operations."""


def as_one_program(forms: Sequence[Form]) -> Callable[..., Any]:
    """Each form on arrays of its own, which XLA can't find to be equal."""

    def apply(x: Any, y: Any, z: Any) -> Any:
        return [form.function(x[place], y[place], z[place]) for place, form in enumerate(forms)]

    return apply


def stacked(arrays: Sequence[Array], count: int) -> list[Array]:
    return [np.stack([np.roll(array, place) for place in range(count)]) for array in arrays]


Run = Callable[[Callable[..., Any], list[Array]], Any]


def wrong_forms(names: Sequence[str], dtype: str, run: Run, *, with_subnormals: bool = True) -> set[str]:
    """The names of forms whose results differ from what `evaluate` gives."""
    forms = [FORMS[name] for name in names]
    values = arguments_of(jnp.dtype(dtype), with_subnormals=with_subnormals)
    arguments = stacked(values, len(forms))
    program = as_one_program(forms)
    with jax.enable_x64(True), np.errstate(all="ignore"):
        expected = evaluate_function(lowered(program, arguments), *arguments)
        found = run(program, arguments)
    return {
        name
        for name, form, one, other in zip(names, forms, found, expected, strict=True)
        if differ(np.asarray(one), np.asarray(other), form.is_rounded).any()
    }


def lowered(program: Callable[..., Any], arguments: Sequence[Array]) -> Function:
    main = import_lowered("forms", jax.jit(program, keep_unused=True).trace(*arguments).lower()).main
    main.name = "forms"
    return main


def run_as_kernels_are(program: Callable[..., Any], arguments: list[Array]) -> Any:
    return TensorProgram(Module([lowered(program, arguments)]), is_exact=True).jitted()(*arguments)


def run_as_text(program: Callable[..., Any], arguments: list[Array]) -> Any:
    return wl.stablehlo.run(jax.jit(program).lower(*arguments).as_text(), *arguments)


def run_jitted(program: Callable[..., Any], arguments: list[Array]) -> Any:
    return wl.jit(lambda *arrays: program(*map(jnp.asarray, arrays)))(*arguments)


def run_optimized(program: Callable[..., Any], arguments: list[Array]) -> Any:
    return wl.optimize(program)(*arguments)


def run_optimized_exactly(program: Callable[..., Any], arguments: list[Array]) -> Any:
    return wl.optimize(program, exact=True)(*arguments)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize(
    "dtype", [pytest.param(each, marks=() if each == "float32" else pytest.mark.slow) for each in KNOWN]
)
def test_forms_have_the_results_of_their_operations(dtype: str, part: int) -> None:
    names = list(FORMS)[part::6]
    assert wrong_forms(names, dtype, run_as_kernels_are) == KNOWN[dtype].intersection(names)


def test_some_forms_have_their_results_in_bfloat16() -> None:
    names = (*EXACT, *(name for name in FORMS if "wider" in name))
    assert not wrong_forms(names, "bfloat16", run_as_kernels_are)


def test_programs_as_they_stand_keep_special_values() -> None:
    """JAX flushes subnormal numbers to zero."""
    assert not wrong_forms((*ROOTS, *SPECIAL), "float32", run_as_text, with_subnormals=False)


def test_optimized_functions_keep_special_values() -> None:
    assert not wrong_forms(SPECIAL, "float32", run_optimized, with_subnormals=False)


def test_xla_alone_loses_special_values() -> None:
    """Where this fails a newer jaxlib is mended: see docs/reference/xla.md for what is done because of it."""
    found = wrong_forms(
        (*ROOTS, *SPECIAL), "float32", lambda program, arguments: jax.jit(program)(*arguments), with_subnormals=False
    )
    assert found >= {"sqrt(x * x)", "condition * z", "x * x >= 0", "abs(x) >= 0", "max(x, 0) >= 0"}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("run", [run_jitted, run_optimized_exactly])
def test_functions_have_the_results_of_their_operations(run: Run) -> None:
    assert not wrong_forms(EXACT, "float32", run, with_subnormals=run is run_jitted)


KERNEL = r"""
#include <cuda_bf16.h>
__global__ void forms(const float *x, const __nv_bfloat16 *b, float *y, int one) {
  int i = threadIdx.x;
  float v = x[i], sum = 0;
  for (int k = 0; k < one; k++) sum += v * v;
  y[i] = sqrtf(v * v);
  y[i + 32] = rsqrtf(v * v);
  y[i + 64] = powf(v * v, 0.5f);
  y[i + 96] = sqrtf(sum);
  y[i + 128] = (float)(v < 1) * v;
  y[i + 160] = v * v >= 0;
  y[i + 192] = __bfloat162float(__hmul(b[i], b[i]));
  y[i + 224] = __bfloat162float(__hadd(b[i], b[0]));
}
"""


def test_raised_kernels_have_the_results_of_the_emulator() -> None:
    kernel = wl.cuda.compile(KERNEL)["forms"]
    x = np.resize(np.array([2e19, -1e30, 1e-30, np.nan, -np.inf, -0.0, 3, -2], np.float32), 32)
    b = np.linspace(1, 2, 32).astype(jnp.bfloat16)
    found, expected = np.zeros((2, 256), np.float32)
    kernel[1, 32](x, b, found, 1)
    wl.emulate(kernel)[1, 32](x, b, expected, 1)
    functions = slice(32, 96)
    np.testing.assert_array_max_ulp(found[functions], expected[functions], 2)
    assert not differ(np.delete(found, functions), np.delete(expected, functions), is_rounded=True).any()
