"""What docs/reference/families.md calls wrong: operands for which it changes the result, and that we leave it alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from windlass import stablehlo

Function = Callable[..., Any]


def floats(*numbers: float) -> np.ndarray[Any, Any]:
    return np.array(numbers, np.float32)


def integers(*numbers: int) -> np.ndarray[Any, Any]:
    return np.array(numbers, np.int32)


def masked(x: jax.Array, i: jax.Array) -> jax.Array:
    return x * jnp.zeros(4).at[i].set(1.0)


def picked(x: jax.Array, i: jax.Array) -> jax.Array:
    return jnp.zeros(4).at[i].set(x[i])


def summed_into_zeros(x: jax.Array, u: jax.Array, i: jax.Array) -> jax.Array:
    return x + jnp.zeros(4).at[i].add(u)


def summed_into_it(x: jax.Array, u: jax.Array, i: jax.Array) -> jax.Array:
    return x.at[i].add(u)


WRONG: dict[str, tuple[Function, Function, tuple[Any, ...]]] = {
    "power of a half as a root, of -0.0": (lambda x: jnp.power(x, 0.5), jnp.sqrt, (floats(-0.0, -np.inf),)),
    "power of minus a half as a reciprocal root": (lambda x: jnp.power(x, -0.5), lax.rsqrt, (floats(-0.0, -np.inf),)),
    "what was added taken away again": (lambda x: (x + 1) - 1, lambda x: x, (floats(1e-20, 3),)),
    "negations in a quotient by a difference": (
        lambda a, b, c: -a / (-c - b),
        lambda a, b, c: a / (c + b),
        (floats(1), floats(-1), floats(1)),
    ),
    "negations in a product with a difference": (
        lambda a, b, c: -a * (b - c),
        lambda a, b, c: a * (c - b),
        (floats(1), floats(2), floats(2)),
    ),
    "a product with a mask as a gather and a scatter": (masked, picked, (floats(np.inf, 1, -1, np.nan), integers(1))),
    "a sum with a scatter into zeros as a scatter into it": (
        summed_into_zeros,
        summed_into_it,
        (floats(-0.0, 1, 2, 3), floats(1), integers(1)),
    ),
}


def bits(array: Any) -> Any:
    """Elements with signs of zeros told apart, and NaN equal to NaN."""
    array = np.asarray(array)
    return np.where(np.isnan(array), np.float32(np.nan), array).tobytes()


@pytest.mark.parametrize("name", WRONG)
def test_operands_show_that_the_rewrite_is_wrong(name: str) -> None:
    written, other, arrays = WRONG[name]
    arguments = [jnp.asarray(array) for array in arrays]
    with jax.disable_jit():  # XLA does some of these itself
        assert bits(written(*arguments)) != bits(other(*arguments))


@pytest.mark.parametrize("name", WRONG)
def test_programs_give_what_they_say_for_these_operands(name: str) -> None:
    written, _, arguments = WRONG[name]
    text = jax.jit(written).lower(*arguments).as_text()
    (found,) = stablehlo.run(stablehlo.optimize(text), *arguments)
    assert bits(found) == bits(jax.jit(written)(*arguments))


@pytest.mark.parametrize(
    ("name", "granted", "gone"),
    [
        ("power of a half as a root, of -0.0", ("finite", "no -0.0"), "power"),
        ("power of minus a half as a reciprocal root", ("finite", "no -0.0"), "power"),
        ("negations in a product with a difference", ("no -0.0",), "negate"),
        ("a sum with a scatter into zeros as a scatter into it", ("no -0.0",), "stablehlo.add %arg0"),
    ],
)
def test_what_the_user_grants_makes_it_right(name: str, granted: tuple[str, ...], gone: str) -> None:
    written, _, arguments = WRONG[name]
    text = jax.jit(written).lower(*arguments).as_text()
    body = stablehlo.optimize(text, assumes=granted).partition("^bb0")[0]
    assert gone not in body
