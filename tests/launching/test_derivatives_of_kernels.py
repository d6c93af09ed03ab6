"""Kernels under JAX's transformations that differentiate, against the same written for JAX by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

import windlass as wl

SOURCE = """
__global__ void heat(const double *now, double *next, double c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) next[i] = now[i] + c * now[i] * (now[i - 1] - 2 * now[i] + now[i + 1]);
}
__global__ void decay(double *x, double rate, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double value = x[i];
    for (int k = 0; k < rounds; k++) value = value - rate * value * value;
    x[i] = value;
}
__global__ void energy(const double *x, double *sum, int n) {
    __shared__ double tile[64];
    int t = threadIdx.x;
    tile[t] = t < n ? sin(x[t]) * x[t] : 0;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) tile[t] += tile[t + half];
        __syncthreads();
    }
    if (t == 0) sum[0] = tile[0];
}
__global__ void bits(const double *x, double *y) {
    y[threadIdx.x] = __longlong_as_double(__double_as_longlong(x[threadIdx.x]) ^ 1LL << 52);
}
__global__ void square_and_count(const double *x, double *y, int *count, bool *large) {
    int t = threadIdx.x;
    y[t] = x[t] * x[t];
    count[t] = x[t] > 0.5;
    large[t] = x[t] > 1;
}
__global__ void gather_into(const double *x, const int *place, double *y) {
    y[place[threadIdx.x]] += x[threadIdx.x] * x[threadIdx.x];
}
__global__ void sparse_product(const int *rows, const int *columns, const double *values, const double *x, double *y) {
    int i = threadIdx.x;
    double sum = 0;
    for (int k = rows[i]; k < rows[i + 1]; k++) sum += values[k] * x[columns[k]];
    y[i] = sum;
}
__global__ void root(const double *a, double *y) {
    double value = a[threadIdx.x];
    for (int k = 0; k < 50; k++) {
        double change = (value * value - a[threadIdx.x]) / (2 * value);
        value -= change;
        if (fabs(change) < 1e-14) break;
    }
    y[threadIdx.x] = value;
}
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recursive(const double *x, double *y) { y[threadIdx.x] = x[threadIdx.x] * fibonacci(threadIdx.x); }
"""
N = 16
X = np.linspace(0.3, 1.2, N)
WEIGHTS = np.cos(np.arange(N))


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    with jax.enable_x64(True):
        yield


def heat_by_hand(now: Any, next: Any, c: Any) -> Any:
    inner = now[1:-1] + c * now[1:-1] * (now[:-2] - 2 * now[1:-1] + now[2:])
    return next.at[1:-1].set(inner)


@pytest.fixture
def pair(request: Any, module: wl.cuda.Module) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A function of an array and a number that launches a kernel, and the same without it."""
    heat, decay, energy = module["heat"].jax(2, 8), module["decay"].jax(2, 8), module["energy"].jax(1, 64)

    def launched(x: Any, c: Any) -> Any:
        match request.param:
            case "heat":
                result = heat(x, x * x, c, N)
            case "decay":
                result = decay(x, c, 5)
            case _:
                result = energy(x * c, jnp.zeros(1), N)[0] * x
        return jnp.sum(jnp.asarray(result) * WEIGHTS)

    def by_hand(x: Any, c: Any) -> Any:
        match request.param:
            case "heat":
                result = heat_by_hand(x, x * x, c)
            case "decay":
                result = x
                for _ in range(5):
                    result = result - c * result * result
            case _:
                result = jnp.sum(jnp.sin(x * c) * x * c) * x
        return jnp.sum(result * WEIGHTS)

    return launched, by_hand


def grad_of_scan(f: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any, c: Any) -> Any:
        return jax.lax.scan(lambda state, _: (state + 0.01 * f(x * state, c), None), c, None, length=3)[0]

    return jax.grad(run, (0, 1))


def grad_in_shards(f: Callable[..., Any]) -> Callable[..., Any]:
    mesh = Mesh(np.array(jax.devices()[:1]), ("i",))
    whole = PartitionSpec()
    return jax.jit(jax.shard_map(jax.grad(f, (0, 1)), mesh=mesh, in_specs=(whole, whole), out_specs=whole))


TRANSFORMS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "grad": lambda f: jax.grad(f, (0, 1)),
    "grad by one": lambda f: jax.grad(f, 1),
    "value and grad": jax.value_and_grad,
    "jit of grad": lambda f: jax.jit(jax.grad(f, (0, 1))),
    "grad of jit": lambda f: jax.grad(jax.jit(f), (0, 1)),
    "jvp": lambda f: lambda x, c: jax.jvp(f, (x, c), (x * 0.5, c * 2)),
    "vjp": lambda f: lambda x, c: jax.vjp(f, x, c)[1](2.0),
    "linearize": lambda f: lambda x, c: jax.linearize(f, x, c)[1](x, c),
    "hessian": lambda f: jax.hessian(f, (0, 1)),
    "reverse over forward": lambda f: jax.jacrev(jax.jacfwd(f, (0, 1)), (0, 1)),
    "reverse over reverse": lambda f: jax.jacrev(jax.jacrev(f, (0, 1)), (0, 1)),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f), (0, 1)),
    "vmap of grad": lambda f: lambda x, c: jax.vmap(jax.grad(f, (0, 1)), (None, 0))(x, c * jnp.arange(1.0, 4)),
    "grad of vmap": lambda f: jax.grad(lambda x, c: jax.vmap(f, (0, None))(jnp.stack([x, x * x]), c).sum(), (0, 1)),
    "scan": grad_of_scan,
    "shard_map": grad_in_shards,
}


def combinations() -> list[Any]:
    """All transformations of one kernel, and a few of the others; the rest with the slow tests."""
    few = ("grad", "jvp", "hessian", "vmap of grad", "scan")
    return [
        pytest.param(kernel, name, marks=() if kernel == "decay" or name in few else pytest.mark.slow)
        for kernel in ("heat", "decay", "energy")
        for name in TRANSFORMS
    ]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("pair", "name"), combinations(), indirect=["pair"])
def test_derivatives_are_those_of_the_program_by_hand(pair: Any, name: str) -> None:
    launched, by_hand = (TRANSFORMS[name](f)(jnp.asarray(X), jnp.asarray(0.3)) for f in pair)
    found, expected = jax.tree.leaves(launched), jax.tree.leaves(by_hand)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-10, 1e-12)


def test_functions_of_arrays_with_launches_in_them_are_differentiated(module: wl.cuda.Module) -> None:
    @wl.jit(whole=True)
    def steps(x: Any, c: Any) -> Any:
        next = np.zeros_like(x)
        for _ in range(3):
            module["heat"][2, 8](x, next, c, N)
            x[:] = next
        return (x * x).sum()

    def by_hand(x: Any, c: Any) -> Any:
        next = jnp.zeros_like(x)
        for _ in range(3):
            x = next = heat_by_hand(x, next, c)
        return (x * x).sum()

    found = jax.grad(steps, (0, 1))(jnp.asarray(X), 0.3)
    for one, other in zip(found, jax.grad(by_hand, (0, 1))(jnp.asarray(X), 0.3), strict=True):
        np.testing.assert_allclose(one, other, 1e-10)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["grad", "jit of grad", "jvp", "linearize", "checkpoint", "vmap of grad"])
def test_results_that_are_no_floats_have_no_part_in_derivatives(module: wl.cuda.Module, name: str) -> None:
    square, gather = module["square_and_count"].jax(1, N), module["gather_into"].jax(1, N)

    def launched(x: Any, c: Any) -> Any:
        y, count, large = square(x * c, jnp.zeros(N), jnp.zeros(N, "int32"), jnp.zeros(N, bool))
        # That no two threads meet is checked: one more result that is no float.
        return (gather(y, jnp.arange(N, dtype="int32")[::-1], x) * count * (2 - large)).sum()

    def by_hand(x: Any, c: Any) -> Any:
        y = (x * c) ** 2
        return ((x + y[::-1] ** 2) * (x * c > 0.5) * (2 - (x * c > 1))).sum()

    found, expected = (TRANSFORMS[name](f)(jnp.asarray(X), jnp.asarray(0.8)) for f in (launched, by_hand))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, 1e-10, 1e-12)


def test_checks_of_indices_have_no_part_in_derivatives() -> None:
    def rows(h: Any, x: Any) -> Any:
        for i in range(5):
            h[i + 1] = np.tanh(h[i]) * x
        return h[5].sum()

    def by_hand(h: Any, x: Any) -> Any:
        row = h[0]
        for _ in range(5):
            row = jnp.tanh(row) * x
        return row.sum()

    given = (jnp.ones((6, 3)), jnp.asarray(X[:3]))
    for one, other in zip(
        jax.grad(wl.jit(whole=True)(rows), (0, 1))(*given), jax.grad(by_hand, (0, 1))(*given), strict=True
    ):
        np.testing.assert_allclose(one, other, 1e-12)


def test_a_float_whose_bits_are_computed_with_has_no_derivative(module: wl.cuda.Module) -> None:
    bits = module["bits"].jax(1, N)
    with pytest.raises(wl.WindlassError) as caught:
        jax.grad(lambda x: bits(x, x).sum())(jnp.asarray(X))
    assert str(caught.value) == (
        "error[WL0901]: bits can't be differentiated: the bits of a float are computed with here (^)\n"
        " --> <source>:24:80\n"
        "  help: compute it with floats, give the kernel a derivative (@kernel.defvjp), or pass "
        "jax.lax.stop_gradient(x) to it if no gradient has to pass"
    )


def test_loops_go_backwards_whatever_their_length_depends_on(module: wl.cuda.Module) -> None:
    """Rows of a sparse matrix, an early exit, and a number of rounds that JAX traces."""
    product, root = module["sparse_product"].jax(1, 4), module["root"].jax(1, 4)
    rows, columns = np.array([0, 2, 2, 5, 6], np.int32), np.array([0, 3, 1, 2, 3, 0], np.int32)
    values, x = jnp.arange(1.0, 7), jnp.asarray(X[:4])

    def launched(values: Any, x: Any) -> Any:
        return (product(rows, columns, values, x, jnp.zeros(4)) ** 2).sum()

    def by_hand(values: Any, x: Any) -> Any:
        dense = jnp.zeros((4, 4)).at[np.repeat(np.arange(4), np.diff(rows)), columns].add(values)
        return ((dense @ x) ** 2).sum()

    for one, other in zip(jax.grad(launched, (0, 1))(values, x), jax.grad(by_hand, (0, 1))(values, x), strict=True):
        np.testing.assert_allclose(one, other, 1e-12)
    found = jax.grad(lambda a: root(a, jnp.zeros(4)).sum())(x)
    np.testing.assert_allclose(found, 0.5 / np.sqrt(x), 1e-12)
    decay = module["decay"].jax(1, 4)
    by_rounds = jax.jit(jax.grad(lambda x, rounds: decay(x, 0.3, rounds).sum()))
    for rounds in (0, 1, 5):
        expected = jax.grad(lambda x, rounds=rounds: decay(x, 0.3, rounds).sum())(x)
        np.testing.assert_allclose(by_rounds(x, rounds), expected, 1e-12)


def test_a_loop_goes_backwards_until_its_condition_first_held() -> None:
    def halve(x: Any) -> Any:
        while x[0] > 0.1:
            x = np.sin(x) * x
        return x.sum()

    x = jnp.asarray(X) + 0.1
    np.testing.assert_allclose(jax.grad(wl.jit(whole=True)(halve))(x), differences(wl.jit(whole=True)(halve), x), 1e-7)


def differences(f: Callable[..., Any], x: Any, step: float = 1e-6) -> Any:
    """The gradient by central differences."""
    return np.array([(f(x + step * each) - f(x - step * each)) / (2 * step) for each in np.eye(len(x))])


@pytest.mark.filterwarnings("ignore::windlass.WindlassWarning")
def test_an_emulated_kernel_has_no_derivative(module: wl.cuda.Module) -> None:
    recursive = module["recursive"].jax(1, N)
    x = jnp.asarray(X)
    assert recursive(x, x)[3] == 2 * X[3]
    with pytest.raises(wl.WindlassError, match=r"WL0901.*recursive can't be differentiated: it runs in the emulator"):
        jax.grad(lambda x: recursive(x, x).sum())(x)
