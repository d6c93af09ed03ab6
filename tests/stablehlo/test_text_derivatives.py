"""StableHLO programs with their derivatives, as text, against JAX and against the programs themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

X, Y, N = np.array([0.9, 0.4, 1.3]), np.array([0.7, 1.1, 0.6]), np.int32(3)


def program(x: Any, y: Any, n: Any) -> Any:
    """A loop of unknown length, one of known length, a call, and an integer result."""
    a = jax.lax.fori_loop(0, n, lambda i, a: jnp.sin(a) * y, x)
    b = jax.lax.fori_loop(0, 4, lambda i, a: a * x + y, a)
    return jax.nn.softplus(b) @ y, n + 1, a


@pytest.fixture(scope="module")
def text() -> str:
    with jax.enable_x64(True):
        return jax.jit(program).lower(X, Y, N).as_text()


def leaves(values: Any) -> list[Any]:
    return [np.asarray(each) for each in jax.tree.leaves(values)]


def assert_equal(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-12)


def test_results_come_before_derivatives_in_both_modes(text: str) -> None:
    seeds = [np.float64(0.5), np.array([1.0, -2.0, 0.3])]
    along = [np.array([0.3, -0.2, 1.1]), np.array([-0.5, 0.8, 0.1])]

    def floats(x: Any, y: Any) -> Any:
        """For JAX the length is known."""
        first, _, last = program(x, y, int(N))
        return first, last

    with jax.enable_x64(True):
        values, pull = jax.vjp(floats, X, Y)
        cotangents, tangents = (
            leaves(pull(tuple(map(jnp.asarray, seeds)))),
            leaves(jax.jvp(floats, (X, Y), tuple(along))[1]),
        )
        results = [*leaves(values)[:1], np.asarray(N + 1), leaves(values)[1]]
    reverse, forward = wl.stablehlo.differentiate(text), wl.stablehlo.differentiate(text, "forward")
    assert_equal(wl.stablehlo.run(reverse, X, Y, N, *seeds), [*results, *cotangents])
    assert_equal(wl.stablehlo.run(wl.stablehlo.optimize(reverse), X, Y, N, *seeds), [*results, *cotangents])
    assert_equal(wl.stablehlo.run(forward, X, Y, N, *along), [*results, *tangents])
    by_y = wl.stablehlo.differentiate(text, wrt=1)
    assert_equal(wl.stablehlo.run(by_y, X, Y, N, *seeds), [*results, cotangents[1]])


def test_a_derivative_is_differentiated_again() -> None:
    cube = """func.func @main(%x: tensor<f64>) -> tensor<f64> {
      %0 = stablehlo.multiply %x, %x : tensor<f64>
      %1 = stablehlo.multiply %0, %x : tensor<f64>
      return %1 : tensor<f64>
    }"""
    twice = wl.stablehlo.differentiate(wl.stablehlo.differentiate(cube), "forward", 0)
    found = wl.stablehlo.run(twice, np.float64(2), np.float64(1), np.float64(1))
    assert [float(each) for each in found] == [8, 12, 12, 12]


BITS = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.bitcast_convert %x : (tensor<3xf32>) -> tensor<3xi32>
  %1 = stablehlo.negate %0 : tensor<3xi32>
  %2 = stablehlo.bitcast_convert %1 : (tensor<3xi32>) -> tensor<3xf32>
  return %2 : tensor<3xf32>
}"""
REFUSED: list[tuple[Callable[[str], Any], str]] = [
    (lambda text: wl.stablehlo.differentiate(text, wrt=2), "WL0931.*@main can't be differentiated by argument 2"),
    (lambda text: wl.stablehlo.differentiate(text, wrt=[0, 7]), "WL0931.*@main has no argument number 7: it takes 3"),
    (lambda text: wl.stablehlo.differentiate(text, "back"), "WL0931.*there is no mode 'back'"),  # pyright: ignore[reportArgumentType]
    (lambda _: wl.stablehlo.differentiate(BITS), "WL0901.*main can't be differentiated: the bits of a float"),
    (lambda _: wl.stablehlo.differentiate("nothing"), "WL0501"),
]


@pytest.mark.parametrize(("ask", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_has_no_derivative_is_refused(ask: Callable[[str], Any], message: str, text: str) -> None:
    with pytest.raises(wl.WindlassError, match=message):
        ask(text)
