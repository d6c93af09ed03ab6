"""Loops that read a part of an array, write another, and do something with what they read: without copies of it all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from windlass import stablehlo
from windlass.ir import Module
from windlass.lowering.held_slices import hold_slices
from windlass.rewriting.inlining import inline_calls
from windlass.stablehlo.program import TensorProgram

SIZE, ROUNDS = 4096, 9
Step = Callable[[Any, Any], Any]


def at(array: Any, place: Any, size: int = 1) -> Any:
    return lax.dynamic_slice(array, (place,), (size,))


def put(array: Any, piece: Any, place: Any) -> Any:
    return lax.dynamic_update_slice(array, piece, (place,))


def moved_down(i: Any, x: Any) -> Any:
    """What a round of a gradient does: a piece is taken away and added elsewhere."""
    piece = at(x, SIZE - i)
    rest = put(x, jnp.zeros(1), SIZE - i)
    return put(rest, at(rest, SIZE - i - 1) + jnp.sin(piece), SIZE - i - 1)


def onto_itself(i: Any, x: Any) -> Any:
    piece = at(x, i)
    rest = put(x, jnp.zeros(1), i)
    return put(rest, at(rest, i) + 2 * piece, i)


def of_two_sizes(i: Any, x: Any) -> Any:
    pieces, one = at(x, 3 * i, 2), x[7:8]
    rest = put(x, jnp.zeros(1), i)
    return put(rest, at(rest, i + 1, 2) + pieces * one, i + 1)


def by_clamped_places(i: Any, x: Any) -> Any:
    piece = at(x, i - 5)
    return put(put(x, piece + 1, i + SIZE - 4), piece, i)


STEPS: list[Step] = [moved_down, onto_itself, of_two_sizes, by_clamped_places]


def looped(step: Step) -> Callable[[Any], Any]:
    return lambda x: lax.fori_loop(0, ROUNDS, step, x)


def module_of(step: Step, size: int = SIZE) -> Module:
    module = stablehlo.import_text(jax.jit(looped(step)).lower(np.zeros(size, np.float32)).as_text())
    inline_calls(module.main.body, module)
    return module


def compiled(step: Step) -> Any:
    return TensorProgram(module_of(step)).jitted()


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_values_are_as_before(step: Step) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, SIZE).astype(np.float32)
    expected = jnp.asarray(x)
    for i in range(ROUNDS):
        expected = step(i, expected)
    (found,) = compiled(step)(x)
    np.testing.assert_allclose(found, expected, 1e-6, 1e-6)


@pytest.mark.parametrize(("step", "count"), [(moved_down, 1), (onto_itself, 1), (of_two_sizes, 2)])
def test_a_slice_that_is_used_after_an_update_is_held(step: Step, count: int) -> None:
    assert len(hold_slices(module_of(step))) == count


def test_small_arrays_and_slices_of_half_an_array_are_left_alone() -> None:
    def halves(i: Any, x: Any) -> Any:
        half = at(x, i, SIZE // 2)
        return put(put(x, jnp.zeros(1), i), half * 2, i + 1)

    for step, size in ((moved_down, 16), (halves, SIZE)):
        assert not hold_slices(module_of(step, size))


def test_no_round_copies_the_array() -> None:
    text = compiled(moved_down).lower(np.zeros(SIZE, np.float32)).compile().as_text()
    main = text.index("ENTRY")
    assert f"f32[{SIZE}]{{0}} copy(" not in text[:main]
