"""Native code called by XLA gives what the emulator gives, in every place where JAX puts a call."""

from __future__ import annotations

import signal
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.launching.form import Request
from windlass.launching.native_values import prepare_on_values
from windlass.runtime.launch_shape import read_launch_shape

SOURCE = r"""
__constant__ float weights[3] = {0.25f, 0.5f, 2.0f};
struct Step { float scale; double shift; int times; };
__global__ void mix(const float *x, float *y, int n, float a, double b, Step step, const float *z) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i] * weights[i % 3] + (float)b + step.scale * step.times + (z ? z[i] : 0.0f);
}
__global__ void place(float *y, const int *at, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[at[i]] = i;
}
__global__ void chase(const int *next, int *steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = i, count = 0;
    while (next[k] != k && count < 1000) { k = next[k]; count++; }
    steps[i] = count;
}
__global__ void draw(int *counter, int *taken, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) taken[atomicAdd(counter, 1)] = i;
}
"""
STEP = (2.0, 1.0, 3)


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


def native(kernel: Any, grid: int, block: int, *arguments: Any) -> Any:
    """The launch on these JAX values as native code, as a function of them."""
    shape = read_launch_shape(kernel.signature, (grid, block))

    def run(*given: Any) -> Any:
        checked = [
            value
            if isinstance(value, jax.Array) or value is None
            else parameter.dtype.type(value)
            if parameter.kind == "scalar"
            else np.array(value, parameter.dtype)[()]
            for parameter, value in zip(kernel.signature.parameters, given, strict=True)
        ]
        function = prepare_on_values(Request(kernel, shape, checked), None)
        return function.apply(*function.inputs(checked))

    return run(*arguments) if arguments else run


def emulated(kernel: Any, grid: int, block: int, *arguments: Any) -> list[Any]:
    given = [np.array(each) if isinstance(each, jax.Array) and each.ndim else each for each in arguments]
    wl.emulate(kernel)[grid, block](*given)
    return given


X, Y = np.linspace(-2, 5, 50, dtype=np.float32), np.linspace(3, 1, 50, dtype=np.float32)


@pytest.mark.parametrize("is_null", [True, False])
def test_numbers_structs_variables_and_null_reach_the_code(module: wl.cuda.Module, is_null: bool) -> None:
    kernel, z = module["mix"], None if is_null else jnp.asarray(Y)
    run = native(kernel, 2, 32)
    for b in (0.1, jnp.float32(0.7), jnp.int32(-3), jnp.uint32(4_000_000_000)):
        arguments = (jnp.asarray(X), jnp.asarray(Y), 50, jnp.float32(1.5), b, STEP, z)
        wanted = emulated(kernel, 2, 32, *arguments)[1]
        np.testing.assert_array_equal(run(*arguments), wanted)
        np.testing.assert_array_equal(jax.jit(lambda y, a=arguments: run(a[0], y, *a[2:]))(jnp.asarray(Y)), wanted)


def test_what_xla_loops_over_is_written_in_place(module: wl.cuda.Module) -> None:
    run = native(module["mix"], 2, 32)

    def step(y: Any) -> Any:
        return run(jnp.asarray(X), y, 50, 0.5, 0.25, STEP, None)

    lowered = jax.jit(lambda y: jax.lax.fori_loop(0, 6, lambda _, y: step(y), y), donate_argnums=0).lower(
        jnp.asarray(Y)
    )
    wanted = Y
    for _ in range(6):
        wanted = emulated(module["mix"], 2, 32, X, wanted.copy(), 50, 0.5, 0.25, STEP, None)[1]
    compiled = lowered.compile()
    assert str(compiled.as_text()).count(" copy(") <= 1
    np.testing.assert_array_equal(compiled(jnp.asarray(Y)), wanted)


def test_one_value_that_is_read_and_written_is_two_memories(module: wl.cuda.Module) -> None:
    run = jax.jit(lambda x: native(module["mix"], 2, 32, x, x, 50, 1.0, 0.0, STEP, x))
    wanted = emulated(module["mix"], 2, 32, X, X.copy(), 50, 1.0, 0.0, STEP, X)[1]
    np.testing.assert_array_equal(run(jnp.asarray(X)), wanted)


def test_a_batch_is_as_many_launches(module: wl.cuda.Module) -> None:
    run = native(module["mix"], 2, 32)

    def of(x: Any, y: Any, a: Any) -> Any:
        return run(x, y, 50, a, 0.5, STEP, None)

    xs, ys, factors = jnp.stack([X, X + 1, X - 4]), jnp.stack([Y, 2 * Y, Y]), jnp.arange(3, dtype=jnp.float32)
    for axes in ((0, 0, 0), (None, 0, None), (0, None, None), (None, None, 0)):
        given = [each if axis == 0 else each[1] for each, axis in zip((xs, ys, factors), axes, strict=True)]
        found = jax.jit(jax.vmap(of, axes))(*given)
        for n in range(3):
            one = [each[n] if axis == 0 else each for each, axis in zip(given, axes, strict=True)]
            np.testing.assert_array_equal(found[n], of(*one))
    nested = jax.vmap(jax.vmap(of, (0, None, None)), (None, None, 0))(xs, ys[0], factors)
    for n in range(9):
        np.testing.assert_array_equal(nested[n // 3, n % 3], of(xs[n % 3], ys[0], factors[n // 3]))


def test_what_is_not_raised_runs_as_native_code(monkeypatch: pytest.MonkeyPatch) -> None:
    from windlass.raising import state

    monkeypatch.setattr(state, "MOST_OPS", 10)
    kernel, zeros = wl.cuda.compile(SOURCE)["draw"], jnp.zeros(40, jnp.int32)
    text = jax.jit(lambda a, b: kernel.jax(2, 20)(a, b, 40)).lower(zeros[:1], zeros).as_text()
    assert "windlass_native" in text
    assert "callback" not in text
    wanted = emulated(kernel, 2, 20, np.zeros(1, np.int32), np.zeros(40, np.int32), 40)
    for found in (
        kernel.jax(2, 20)(zeros[:1], zeros, 40),
        jax.jit(lambda a, b: kernel.jax(2, 20)(a, b, 40))(zeros[:1], zeros),
    ):
        np.testing.assert_array_equal(found[0], wanted[0])
        np.testing.assert_array_equal(found[1], wanted[1])


def test_its_derivative_takes_numbers_structs_variables_and_null(module: wl.cuda.Module) -> None:
    run = native(module["mix"], 2, 32)

    def total(x: Any, y: Any, a: Any, b: Any) -> Any:
        return run(x, y, 50, a, b, STEP, None).sum()

    by_x, by_y, by_a, by_b = jax.grad(total, (0, 1, 2, 3))(X, Y, jnp.float32(0.5), jnp.float32(0.25))
    np.testing.assert_allclose(by_x, np.full(50, 0.5))
    np.testing.assert_allclose(by_y, np.resize([0.25, 0.5, 2], 50))
    np.testing.assert_allclose((by_a, by_b), (X.sum(), 50), rtol=1e-6)


def test_a_thread_that_leaves_its_array_is_told_of(module: wl.cuda.Module) -> None:
    at = jnp.arange(50, dtype=jnp.int32).at[37].set(1000)
    run = native(module["place"], 2, 32)
    with pytest.raises(
        jax.errors.JaxRuntimeError, match=r"kernel place at .*:10:.*'y'.*thread \(5, 0, 0\) at byte 4000"
    ):
        jax.block_until_ready(jax.jit(lambda y, at: run(y, at, 50))(jnp.asarray(Y), at))
    shape = read_launch_shape(module["place"].signature, (2, 32))
    given = [jnp.asarray(Y), at, np.int32(50)]
    launch = prepare_on_values(Request(module["place"], shape, given), None)
    for _ in range(3):  # JAX has other errors where it calls what it has compiled before
        with pytest.raises(wl.EmulationError, match="element 1000 of 'y', which has 50 elements of float32"):
            launch.run(given)


def test_a_program_that_calls_native_code_means_what_it_computes(
    module: wl.cuda.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    from windlass.ops.evaluation import evaluate_function
    from windlass.raising import state
    from windlass.stablehlo import import_text

    monkeypatch.setattr(state, "MOST_OPS", 3)
    kernel = wl.cuda.compile(SOURCE)["mix"]

    @wl.jit(whole=True)
    def twice(x: Any, y: Any, a: Any) -> Any:
        kernel[2, 32](x, y, 50, a, 0.5, STEP, None)
        kernel[2, 32](x, y, 50, a, 0.5, STEP, x)
        return y

    once = emulated(kernel, 2, 32, X, Y.copy(), 50, 1.5, 0.5, STEP, None)[1]
    wanted = emulated(kernel, 2, 32, X, once, 50, 1.5, 0.5, STEP, X)[1]
    np.testing.assert_array_equal(twice(jnp.asarray(X), jnp.asarray(Y), 1.5), wanted)
    np.testing.assert_array_equal(jax.vmap(lambda y: twice(X, y, 1.5))(jnp.stack([Y, Y]))[1], wanted)
    text = twice.lower(jnp.asarray(X), jnp.asarray(Y), 1.5).text("optimized")
    assert "windlass_native" in text
    main, weights = import_text(text).main, np.array([0.25, 0.5, 2], np.float32)
    given: dict[tuple[int, ...], list[Any]] = {(50,): [Y, X], (): [np.float64(1.5)], (3,): [weights]}
    arrays = [given[argument.tensor.shape].pop() for argument in main.arguments]
    np.testing.assert_array_equal(evaluate_function(main, *arrays)[0], wanted)


def test_an_endless_kernel_in_a_program_of_jax_hears_of_signals() -> None:
    kernel = wl.cuda.compile("__global__ void k(int *x, int n) { while (x[0] != n) x[0] = x[0] * 3 + 1 & 15; }")["k"]
    run = jax.jit(lambda x: wl.native(kernel).jax(1, 1)(x, 77)).lower(jnp.ones(4, jnp.int32)).compile()

    class Rings(Exception):
        pass

    def ring(*_: object) -> None:
        raise Rings

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Rings):
            jax.block_until_ready(run(jnp.ones(4, jnp.int32)))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert jax.jit(lambda x: x + 1)(jnp.ones(4)).tolist() == [2] * 4
