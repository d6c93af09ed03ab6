"""Programs done many times at once give what each gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from windlass.ops import evaluate_function
from windlass.passes.batched_programs import batch_function
from windlass.passes.batcher import CannotBatch
from windlass.rewriting.inlining import inline_calls
from windlass.stablehlo import import_text

SIZE = 3
X = np.linspace(-2, 3, SIZE * 5, dtype=np.float32).reshape(SIZE, 5)
N = np.array([4, 0, 2], np.int32)


def imported(function: Callable[..., Any], *arguments: Any) -> Any:
    module = import_text(jax.jit(function).lower(*arguments).as_text())
    inline_calls(module.main.body, module)
    return module.main


def halve_until_small(x: Any, n: Any) -> Any:
    """How often it goes round depends on the data, and so does how often the loop within does."""

    def body(state: Any) -> Any:
        count, x = state
        return count + 1, jax.lax.fori_loop(0, count % 3, lambda i, y: y * 0.9 + i, x * 0.5)

    return jax.lax.while_loop(lambda state: (jnp.abs(state[1]).sum() > 0.7) & (state[0] < n), body, (0, x))


def choose(x: Any, n: Any) -> Any:
    return jax.lax.switch(n, [lambda: x, lambda: x[::-1] * 2, lambda: x + n, lambda: jnp.cumsum(x)])


def same_choice(x: Any, n: Any) -> Any:
    # The outer condition takes nothing that differs from round to round.
    return jax.lax.cond(jnp.float32(2) > jnp.arange(3.0).sum(), lambda: x, lambda: x * n)


def read_and_write(x: Any, n: Any) -> Any:
    places = jnp.array([n, n + 1, 9, 0])
    return x.at[places].add(x[jnp.array([1, 2, 3, 4])]), x[n], x.at[1].set(n)


def sort_and_fold(x: Any, n: Any) -> Any:
    return (
        jnp.sort(x),
        jnp.argmax(x),
        jax.lax.top_k(x, 2),
        jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2,), (1,), "VALID") + n,
    )


def update_at_own_places(x: Any, n: Any) -> Any:
    # Beyond the end: updates are moved inside.
    return jax.lax.dynamic_update_slice(x, jnp.array([n, n + 1, 7], jnp.float32), (n + 1,)), x.at[n].set(1)


def slope_of_pooling(x: Any, n: Any) -> Any:
    pooled = lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2,), (1,), "VALID").sum()  # noqa: E731
    return jax.grad(pooled)(x) + n


@pytest.mark.parametrize(
    "function",
    [halve_until_small, choose, same_choice, read_and_write, sort_and_fold, update_at_own_places, slope_of_pooling],
)
@pytest.mark.parametrize("is_batched", [(True, True), (True, False), (False, True)])
def test_batched_program_gives_what_each_gives(function: Callable[..., Any], is_batched: tuple[bool, bool]) -> None:
    program = imported(function, X[0], N[0])
    batched = batch_function(program, is_batched, SIZE)
    given = [array if flag else array[0] for array, flag in zip((X, N), is_batched, strict=True)]
    found = evaluate_function(batched, *given)
    for row in range(SIZE):
        each = [array[row] if flag else array[0] for array, flag in zip((X, N), is_batched, strict=True)]
        for expected, result in zip(evaluate_function(program, *each), found, strict=True):
            np.testing.assert_array_equal(result[row], expected)


def test_long_program_is_batched() -> None:
    def long(x: Any) -> Any:
        for step in range(1200):
            x = x * (1 + step * 1e-6)
        return x

    batched = batch_function(imported(long, X[0]), [True], SIZE)
    assert batched.body.terminator.operands[0].tensor.shape == X.shape


def test_program_with_an_effect_is_refused() -> None:
    program = imported(lambda x: jax.debug.callback(lambda _: None, x) or x, X[0])
    with pytest.raises(CannotBatch):
        batch_function(program, [True], SIZE)
