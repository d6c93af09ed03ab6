"""`wl.grad` and its kin: NumPy arrays in and out, for all kinds of functions, against differences and against JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

MODULE = wl.cuda.compile("""
__global__ void heat(const double *now, double *next, double c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) next[i] = now[i] + c * now[i] * (now[i - 1] - 2 * now[i] + now[i + 1]);
}
__global__ void collatz(const double *x, const int *begin, double *y) {
    double value = x[threadIdx.x];
    for (int n = begin[threadIdx.x]; n != 1; n = n % 2 ? 3 * n + 1 : n / 2) value = sin(value) * (n % 2 ? 1.3 : 0.9);
    y[threadIdx.x] = value;
}
""")
HEAT = MODULE["heat"]
N = 8
U, V = np.sin(np.arange(N)) + 1.2, np.cos(np.arange(N))


@wl.jit(whole=True)
def march(u: Any, scratch: Any, steps: int) -> None:
    """Of the README's kind: writes its arguments, launches a kernel, returns nothing."""
    for _ in range(steps):
        HEAT[1, N](u, scratch, 0.1, N)
        u[:] = scratch


@wl.jit(whole=True)
def loss_of_march(u: Any, scratch: Any, steps: int) -> Any:
    march(u, scratch, steps)
    return (u * u * np.arange(N)).sum()


def by_launch(x: Any, y: Any) -> Any:
    return (HEAT.jax(1, N)(x, y, 0.2, N) ** 2).sum()


def in_place(x: Any, y: Any) -> Any:
    x[1:] += np.sin(x[:-1]) * y[1:]
    x *= 2
    x[0] = 0
    return (x * y).sum()


def until_it_is_small(x: Any, y: Any) -> Any:
    while (x * x).sum() > 0.5:
        x = x * 0.7 + 0.05 * np.sin(y)
    return x.sum()


def leaving_a_loop(x: Any, y: Any) -> Any:
    """A bound, and an exit before it."""
    total, i = x[0] * 0, 0
    while i < N and total < 3.0:
        total = total + np.exp(-x[i]) * y[i] ** 2 + 0.8
        i += 1
    return total


def by_rows(x: Any, y: Any) -> Any:
    lengths = np.array([0, 3, 1, 5])
    total = 0.0
    for row in range(4):
        value = x[row]
        for _ in range(lengths[row]):
            value = np.sin(value) + y[row]
        total = total + value
    return total


def newton(x: Any, y: Any) -> Any:
    guess = x * 0 + 1
    error = (x * x).sum()
    while error > 1e-20:
        change = (guess * guess - x) / (2 * guess)
        guess = guess - change
        error = (change * change).sum()
    return (guess * y).sum()


def steps_of_a_kernel(x: Any, y: Any) -> Any:
    return loss_of_march(x, y, 5)


def wave(x: Any, y: Any) -> Any:
    for i in range(1, N - 1):
        x[i + 1] = 2 * x[i] - x[i - 1] + 0.1 * np.tanh(x[i]) * y[i]
    return (x**2).sum()


def collatz(x: Any, y: Any) -> Any:
    begin = np.array([1, 2, 3, 6, 7, 1, 4, 5], np.int32)
    return (MODULE["collatz"].jax(1, N)(x, begin, x) * y).sum()


def numerics(x: Any, y: Any) -> Any:
    a = np.outer(x, y) + 3 * np.eye(N)
    return np.log(np.abs(np.einsum("ij,j->i", a, x))).sum() + np.linalg.norm(np.sort(y) - x) + np.maximum(x, y).max()


FUNCTIONS: list[Callable[[Any, Any], Any]] = [
    by_launch,
    in_place,
    until_it_is_small,
    leaving_a_loop,
    by_rows,
    newton,
    steps_of_a_kernel,
    wave,
    collatz,
    numerics,
]


def differences(f: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    """Central differences."""
    each = [(f(x + step * along) - f(x - step * along)) / (2 * step) for along in np.eye(len(x))]
    return np.stack(each, -1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_gradients_are_differences(function: Callable[[Any, Any], Any]) -> None:
    compiled = wl.jit(whole=True)(function)
    value, found = wl.value_and_grad(function, (0, 1))(U, V)
    expected = (
        differences(lambda x: compiled(x.copy(), V.copy()), U),
        differences(lambda y: compiled(U.copy(), y.copy()), V),
    )
    assert type(value) is np.float64
    assert value == pytest.approx(compiled(U.copy(), V.copy()), rel=1e-14)
    for one, other in zip(found, expected, strict=True):
        assert type(one) is np.ndarray and one.dtype == np.float64
        np.testing.assert_allclose(one, other, 1e-6, 1e-7)


@pytest.mark.parametrize("steps", [0, 1, 30])
def test_the_arrays_of_the_user_are_values(steps: int) -> None:
    u, scratch = U.copy(), V.copy()
    found = wl.grad(loss_of_march, (0, 1))(u, scratch, steps)
    assert (u == U).all() and (scratch == V).all()
    expected = differences(lambda x: loss_of_march(x.copy(), V.copy(), steps), U)
    np.testing.assert_allclose(found[0], expected, 1e-6, 1e-8)


def test_what_a_function_writes_is_its_result_where_it_returns_nothing() -> None:
    def last(x: Any) -> Any:
        x, scratch = x.copy(), V.copy()
        march(x, scratch, 3)
        return np.stack([x, scratch])

    expected = differences(last, U)
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(wl.jacobian(march, mode=mode)(U, V, 3), expected, 1e-7, 1e-8)
    along = np.arange(N) / N
    values, changes = wl.jvp(march, (U, V, 3), (along, None, None))
    np.testing.assert_allclose(values, last(U), 1e-14)
    np.testing.assert_allclose(changes, expected @ along, 1e-7, 1e-8)
    values, pullback = wl.vjp(march, U, V, 3)
    by_u, by_scratch, by_steps = pullback((along, None))
    np.testing.assert_allclose(by_u, along @ expected[0], 1e-7, 1e-8)
    assert by_steps is None and by_scratch.shape == (N,)


def test_launches_and_pure_kernels_have_the_same_jacobian() -> None:
    expected = differences(lambda x: np.asarray(HEAT.jax(1, N)(jnp_array(x), jnp_array(V), 0.2, N)), U)
    for function in (HEAT[1, N], HEAT.jax(1, N)):
        for mode in ("forward", "reverse"):
            found = wl.jacobian(function, mode=mode)(U, V, 0.2, N)
            assert type(found) is np.ndarray
            np.testing.assert_allclose(found, expected, 1e-7, 1e-8)
    by_c = wl.jacobian(HEAT[1, N], 2)(U, V, 0.2, N)
    assert by_c.shape == (N,)


def jnp_array(x: Any) -> Any:
    with jax.enable_x64(True):
        return jnp.asarray(x)


@pytest.mark.parametrize("function", [in_place, until_it_is_small, by_rows], ids=lambda each: each.__name__)
def test_second_derivatives_are_differences_of_gradients(function: Callable[[Any, Any], Any]) -> None:
    gradient = wl.grad(function)
    expected = differences(lambda x: gradient(x, V), U)
    np.testing.assert_allclose(wl.hessian(function)(U, V), expected, 1e-6, 1e-6)
    np.testing.assert_allclose(wl.jacobian(gradient)(U, V), expected, 1e-6, 1e-6)
    along = np.arange(N) / N
    np.testing.assert_allclose(wl.jvp(gradient, (U, V), (along, None))[1], expected @ along, 1e-6, 1e-6)
    np.testing.assert_allclose(wl.grad(lambda x: (gradient(x, V) * along).sum())(U), along @ expected, 1e-6, 1e-6)


def test_functions_of_jax_are_taken_as_they_are() -> None:
    def f(x: Any) -> Any:
        return jnp.sum(jnp.sin(x) * x)

    expected = np.cos(U) * U + np.sin(U)
    for function in (f, jax.jit(f), wl.optimize(f), jax.checkpoint(f), functools.partial(f), wl.jit(whole=True)(f)):
        found = wl.grad(function)(U)
        assert type(found) is np.ndarray and found.dtype == np.float64
        np.testing.assert_allclose(found, expected, 1e-14)
        assert wl.grad(function)(U.astype(np.float32)).dtype == np.float32
        assert isinstance(wl.grad(function)(jnp.asarray(U, "float32")), jax.Array)
    np.testing.assert_allclose(wl.grad(jax.grad(jnp.sin))(0.5), -np.sin(0.5), 1e-6)
    third = wl.grad(wl.grad(wl.grad(np.sin)))(0.5)
    assert type(third) is np.float64 and third == pytest.approx(-np.cos(0.5), rel=1e-14)


def test_within_transformations_and_compiled_functions_gradients_are_values() -> None:
    def f(x: Any, y: Any) -> Any:
        return (x**3 * y).sum()

    gradient = wl.grad(f)
    np.testing.assert_allclose(wl.jit(whole=True)(lambda x, y: gradient(x, y) * 2)(U, V), 6 * U**2 * V, 1e-14)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(gradient)(U, V), 3 * U**2 * V, 1e-14)
        rows = jax.vmap(gradient, (0, None))(jnp.stack([U, V]), V)
    np.testing.assert_allclose(rows, [3 * U**2 * V, 3 * V**3], 1e-14)


def test_arguments_are_chosen_as_in_jax() -> None:
    def f(p: Any, x: Any, n: int, *, scale: float) -> Any:
        value = (p["w"] * x + p["b"]) ** n * scale
        return value.sum(), {"last": value[-1], "n": n}

    p, x = {"w": U, "b": 2.0}, V
    gradient, aux = wl.grad(f, has_aux=True)(p, x, 3, scale=0.5)
    np.testing.assert_allclose(gradient["w"], 1.5 * (U * V + 2) ** 2 * V, 1e-13)
    assert type(gradient["b"]) is np.float64 and aux["n"] == 3
    (value, _), (by_x, by_scale) = wl.value_and_grad(f, 1, "scale", has_aux=True)(p, x, 3, scale=0.5)
    np.testing.assert_allclose(by_x, 1.5 * (U * V + 2) ** 2 * U, 1e-13)
    assert by_scale == pytest.approx(value / 0.5)
    by_name, _ = wl.grad(f, argnames=("p", "x"), has_aux=True)(p, x=x, n=3, scale=0.5)
    np.testing.assert_allclose(by_name[1], by_x, 1e-14)


def test_a_function_is_compiled_once_for_all_its_derivatives() -> None:
    class Run:
        """Made each time that the function runs."""

        count = 0

        def __init__(self) -> None:
            Run.count += 1

    def f(x: Any) -> Any:
        Run()
        return (x * x).sum()

    for _ in range(3):
        assert wl.grad(f)(U)[0] == 2 * U[0]
        wl.value_and_grad(f)(V)
    assert Run.count == 1


def test_an_index_that_is_outside_is_reported() -> None:
    def pick(x: Any, place: Any) -> Any:
        return x[place[0]] ** 2

    with pytest.raises(wl.WindlassError, match="WL0913"):
        wl.grad(pick)(U, np.array([N]))
    assert wl.grad(pick)(U, np.array([2]))[2] == 2 * U[2]


def fails(x: Any) -> Any:
    return x


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: wl.grad(fails)(U), r"fails gives float64 of shape \(8,\): a gradient is that of one real number"),
    (lambda: wl.grad(march)(U, V, 2), "march gives 2 results: a gradient is that of one real number"),
    (lambda: wl.grad(loss_of_march, 2)(U, V, 2), "loss_of_march can't be differentiated by argument 2"),
    (lambda: wl.grad(lambda x: x)(3), "can't be differentiated by argument 0: it is a Python value"),
    (lambda: wl.grad(HEAT), "kernel 'heat' is no function before it has a grid and a block"),
    (lambda: wl.grad(fails, 5)(U), "fails was given no argument number 5"),
    (lambda: wl.grad(fails, argnames="y")(U), "fails was given no argument called 'y'"),
    (lambda: wl.grad(fails, holomorphic=True), "derivatives of holomorphic functions"),
    (lambda: wl.grad(lambda x: None)(U), "returns nothing and writes no array"),
    (lambda: wl.grad(lambda x: np.abs(x).sum())(U + 1j), "argument 0 of <lambda> is complex"),
    (lambda: wl.grad(3), "int is no function"),
    (lambda: wl.vjp(march, U, V, 2)[1](U), "the cotangent has the structure"),
    (lambda: wl.jvp(march, (U, V, 2), (U[:3], None, None)), r"the tangent of argument 0 has shape \(3,\)"),
    (lambda: wl.jvp(march, (U, V, 2), (U,)), "3 primals and 1 tangents"),
    (lambda: wl.jacobian(fails, mode="backward"), "there is no mode 'backward'"),  # pyright: ignore[reportArgumentType]
    (lambda: wl.grad(fails, has_aux=True)(U), "fails gives float64 of shape"),
]


@pytest.mark.parametrize(("ask", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_has_no_such_derivative_is_refused(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(wl.WindlassError, match=f"WL0931.*{message}"):
        ask()


def test_derivatives_of_optimized_functions_are_one_optimized_program() -> None:
    def energy(x: Any) -> Any:
        return (jnp.sin(x[1:]) * x[:-1] ** 2).sum()

    optimized = wl.optimize(energy)
    x, v = jnp.linspace(0.1, 1, 8), jnp.linspace(1, 2, 8)
    optimized(x)  # what was traced before must not be found
    expected = jax.grad(energy)(x)
    np.testing.assert_allclose(wl.grad(optimized)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(wl.grad(optimized)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(wl.grad(optimized))(x[None]), expected[None], rtol=1e-6)
    np.testing.assert_allclose(wl.hvp(optimized, (x,), (v,)), jax.hessian(energy)(x) @ v, rtol=1e-5)
    np.testing.assert_allclose(jax.jacfwd(wl.grad(optimized))(x), jax.hessian(energy)(x), rtol=1e-5)
    assert str(jax.make_jaxpr(wl.grad(optimized))(x)).count("windlass_optimize") == 1
    assert str(jax.make_jaxpr(jax.grad(optimized))(x)).count("windlass_optimize") == 2


def test_optimized_functions_with_loops_of_unknown_length_have_gradients_within_other_derivatives() -> None:
    @wl.optimize
    def halve(x: Any) -> Any:
        return jax.lax.while_loop(lambda y: y.sum() > 1, lambda y: y / 2, x).sum()

    assert wl.grad(halve)(jnp.array([3.0, 4.0])).tolist() == [0.125, 0.125]
    assert wl.grad(wl.optimize(lambda x: halve(x * x)))(jnp.array([1.0, 2.0])).tolist() == [0.25, 0.5]
