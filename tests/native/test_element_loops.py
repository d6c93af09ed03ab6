"""Loops over elements of tensor programs as native code: the same bits, in place, and tensors where that can't be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import windlass as wl
from windlass.lowering.native_loops import ElementLoop
from windlass.native import element_loops

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="native code is a CPU's")


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ElementLoop]]:
    """The loops that were looked at while programs were compiled; all of them are worth it."""
    found: list[ElementLoop] = []
    take = element_loops.take_element_loops

    def noting(*given: Any, **named: Any) -> list[ElementLoop]:
        loops = take(*given, **named)
        found.extend(loops)
        return loops

    monkeypatch.setattr(element_loops, "WORTH", 0)
    monkeypatch.setattr(element_loops, "take_element_loops", noting)
    yield found


def expect_native(looked_at: list[ElementLoop]) -> None:
    assert looked_at
    assert [each.reason for each in looked_at if each.reason] == []


def substitute(L: Any, x: Any, b: Any) -> None:
    for i in range(x.shape[0]):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]


def insertion_sort(a: Any) -> None:
    for i in range(1, a.shape[0]):
        value, j = a[i], i - 1
        while j >= 0 and a[j] > value:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = value


def exchange(a: Any) -> None:
    n = a.shape[0]
    for i in range(n // 2):
        kept = a[i]
        a[i] = a[n - 1 - i]
        a[n - 1 - i] = kept


def common_subsequence(x: Any, y: Any, length: Any) -> None:
    for i in range(1, length.shape[0]):
        for j in range(1, length.shape[1]):
            if x[i] == y[j]:
                length[i, j] = length[i - 1, j - 1] + 1
            else:
                length[i, j] = max(length[i - 1, j], length[i, j - 1])


def running(a: Any) -> Any:
    """What it begins with it also reads as it was."""
    b = a.copy()
    for i in range(1, a.shape[0]):
        b[i] = b[i - 1] * 0.5 + a[i]
    return b


draw = np.random.default_rng(1)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "substitute": (substitute, tuple(draw.random(shape).astype(np.float32) + 1 for shape in ((24, 24), 24, 24))),
    "insertion sort": (insertion_sort, (draw.random(40),)),
    "exchange": (exchange, (draw.integers(0, 99, 81),)),
    "common subsequence": (
        common_subsequence,
        (draw.integers(0, 3, 40), draw.integers(0, 3, 30), np.zeros((40, 30), np.int32)),
    ),
    "running": (running, (draw.random(60),)),
}


@pytest.mark.parametrize("name", CASES)
def test_loops_over_elements_give_the_bits_of_numpy(name: str, looked_at: list[ElementLoop]) -> None:
    function, given = CASES[name]
    found, expected = ([each.copy() for each in given] for _ in range(2))
    result, wanted = wl.jit(function)(*found), function(*expected)
    for one, other in zip([*found, result], [*expected, wanted], strict=True):
        np.testing.assert_array_equal(one, other)
    expect_native(looked_at)


def with_element(a: Any, i: Any, value: Any) -> Any:
    return lax.dynamic_update_slice(a, value[None].astype(a.dtype), (i,))


def same_as_by_jax(function: Callable[..., Any], *given: Any) -> None:
    found, expected = (jax.tree.leaves(compiled(*given)) for compiled in (as_compiled(function), jax.jit(function)))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def as_compiled(function: Callable[..., Any]) -> Any:
    """A function of JAX's arrays by `wl.jit`."""
    return wl.jit(lambda *given: function(*map(jnp.asarray, given)))


def test_starts_outside_of_an_array_are_moved_into_it(looked_at: list[ElementLoop]) -> None:
    def far(a: Any, places: Any) -> Any:
        def step(i: Any, b: Any) -> Any:
            value = lax.dynamic_slice(a, (places[i], places[i + 1]), (1, 1))
            return lax.dynamic_update_slice(b, value + b[0, 0], (places[i + 1], -places[i]))

        return lax.fori_loop(0, 15, step, a)

    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    same_as_by_jax(far, a, draw.integers(-9, 9, 16).astype(np.int32))
    same_as_by_jax(far, a.astype(np.int8), draw.integers(-9, 9, 16).astype(np.int8))
    expect_native(looked_at)


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 9, 1), (7, -1, -1), (1, 9, 3), (5, 2, 1), (-2, 3, 2)])
def test_counters_go_as_those_of_tensor_loops(start: int, stop: int, step: int, looked_at: list[ElementLoop]) -> None:
    def count(a: Any, limit: Any) -> Any:
        def goes(state: Any) -> Any:
            return state[0] < limit if step > 0 else state[0] > limit

        def round_(state: Any) -> Any:
            i, a = state
            return i + step, with_element(a, i, a[(i + 4) % 9] + i)

        return lax.while_loop(goes, round_, (jnp.int32(start), a))

    same_as_by_jax(count, np.arange(9, dtype=np.int32), np.int32(stop))
    expect_native(looked_at)


def test_branches_and_truth_values_are_kept(looked_at: list[ElementLoop]) -> None:
    def mark(a: Any, kind: Any) -> Any:
        def step(i: Any, state: Any) -> Any:
            flags, count = state
            flags = lax.switch(
                kind[i],
                [
                    lambda f: f,
                    lambda f: with_element(f, (i * 2) % 8, ~f[i]),
                    lambda f: with_element(f, i, a[i] > 0.5),
                ],
                flags,
            )
            return flags, count + flags[i]

        return lax.fori_loop(0, 8, step, (a > 0.25, jnp.int32(0)))

    same_as_by_jax(mark, draw.random(8).astype(np.float32), draw.integers(-1, 4, 8).astype(np.int32))
    expect_native(looked_at)


def test_rows_are_computed_where_they_are_needed(looked_at: list[ElementLoop]) -> None:
    table = np.arange(6, dtype=np.float32) / 2

    def step(i: Any, a: Any) -> Any:
        row = lax.fori_loop(0, 40, lambda j, z: with_element(z, j % 6, z[j % 5] + a[i, 2]), jnp.asarray(table))
        row = jnp.roll(row, 2) + jnp.pad(a[i + 1, 1:-1], 1) * table + jnp.max(a[:, 3] + a[:, 1])
        a = a.at[i].set(row * a[i])  # computed from what it replaces
        pivot = jnp.argmax(jnp.abs(a[:, 1]))
        first, second = a[i], a[pivot]
        return a.at[i].set(second).at[pivot].set(first).at[i - 3, i * 5].add(a[0, 0])

    same_as_by_jax(lambda a: lax.fori_loop(0, 30, step, a), draw.integers(0, 3, (31, 6)).astype(np.float32))
    expect_native(looked_at)


def test_functions_of_many_elements_are_left_to_xla_where_libmvec_may_not_be_used(
    looked_at: list[ElementLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDLASS_VECTOR_FUNCTIONS", "0")

    def run(a: Any) -> Any:
        return lax.fori_loop(1, 30, lambda i, a: a.at[i].set(jnp.exp(-a[i - 1]) * a[i, i]), a)

    as_compiled(run)(np.ones((40, 40)))
    assert [each.reason for each in looked_at] == ["Exponential of 40 elements in each round"]


def test_arrays_change_places_from_round_to_round(looked_at: list[ElementLoop]) -> None:
    def step(i: Any, state: Any) -> Any:
        a, b, c = state
        return b, with_element(c, i, b[i]), a * 2 + b

    given = [draw.integers(0, 9, 30) for _ in range(3)]
    same_as_by_jax(lambda *state: lax.fori_loop(0, 30, step, state), *given)
    expect_native(looked_at)


@pytest.mark.parametrize("kind", ["moved", "twice"])
def test_what_is_not_in_place_is_right_too(kind: str, looked_at: list[ElementLoop]) -> None:
    def step(i: Any, state: Any) -> Any:
        a, b = state
        changed = with_element(a, i, b[i] + 1)
        if kind == "moved":  # the read of what was there goes before the update
            return changed, with_element(b, i, a[5 - i] + changed[5 - i])
        return changed, with_element(a, 5 - i, b[i])

    same_as_by_jax(lambda a, b: lax.fori_loop(0, 6, step, (a, b)), np.arange(6.0), np.arange(6.0) ** 2)
    expect_native(looked_at)


def test_stages_tell_which_loops_are_native(looked_at: list[ElementLoop]) -> None:
    def both(a: Any, b: Any) -> Any:
        for i in range(1, a.shape[0]):
            a[i] += a[i - 1] * a[i]
        for i in range(1, a.shape[0]):
            b[i] += np.exp(b[i - 1]) * b[i]

    told = wl.jit(both).lower(np.ones(60), np.ones(60, complex)).text("loops").splitlines()
    line = both.__code__.co_firstlineno
    assert any(f":{line + 1}:" in each and each.endswith("runs as native code") for each in told)
    assert any(f":{line + 4}:" in each and "left to XLA" in each for each in told)


def test_derivatives_and_batches_are_those_of_the_tensor_program(looked_at: list[ElementLoop]) -> None:
    def last(a: Any) -> Any:
        return lax.fori_loop(1, 40, lambda i, b: with_element(b, i, b[i - 1] * b[i]), a)[-1]

    a = draw.random(40).astype(np.float32) + 0.5
    mine = as_compiled(last)
    np.testing.assert_allclose(jax.grad(mine)(jnp.asarray(a)), jax.grad(last)(a), rtol=1e-6)
    many = np.stack([a, a + 1])
    np.testing.assert_array_equal(jax.vmap(mine)(jnp.asarray(many)), jax.vmap(last)(many))
    assert "windlass_native" not in jax.export.export(jax.jit(mine))(jnp.asarray(a)).mlir_module()
    assert looked_at
