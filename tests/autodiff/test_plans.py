"""Schedules and budgets for loops in reverse mode: the same cotangents, with as much kept as was asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import windlass as wl
from tests.autodiff.test_programs_as_jax import (
    X,
    Y,
    assert_equal,
    branch_in_a_loop,
    function_of,
    leaves,
    loop_of_two,
    loop_with_a_part_that_is_constant,
    nested_loops,
    power_by_a_loop,
    run,
)
from windlass.autodiff import (
    Binomial,
    LoopMemory,
    NotEnoughMemory,
    Periodic,
    Plan,
    planned,
    pullback_function,
    tangent_function,
    transposed_function,
)
from windlass.diagnostics import WindlassError
from windlass.ir import Function

PROGRAMS = [power_by_a_loop, loop_of_two, nested_loops, branch_in_a_loop, loop_with_a_part_that_is_constant]
PLANS = [Plan(Periodic(2)), Plan(Periodic(4)), Plan(Binomial(1)), Plan(Binomial(2)), Plan(memory=10**6)]
COTANGENT = np.array([0.4, -1.2, 0.7])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_plans_change_no_cotangent(program: Callable[..., Any]) -> None:
    primal = function_of(program)
    tangent = tangent_function(primal, (0, 1))
    count = len(primal.results)
    weights = [COTANGENT] * count
    with jax.enable_x64(True):
        structure = jax.tree.structure(jax.eval_shape(program, X, Y))
        expected = leaves(jax.vjp(program, X, Y)[1](jax.tree.unflatten(structure, weights)))
    for plan in PLANS:
        pullback, _ = planned(lambda: pullback_function(primal, (0, 1)), plan)
        transposed, _ = planned(lambda: transposed_function(tangent, (2, 3), range(count)), plan)
        for function in (pullback, transposed):
            assert_equal(run(function, X, Y, *weights), expected)


def waves(x: Any, y: Any) -> Any:
    """A loop of which each round needs the state, and one of which each needs a part of it."""
    table = jnp.tile(x, (40, 1))
    table = lax.fori_loop(0, 24, lambda i, a: jnp.sin(a) * y, table)
    return lax.fori_loop(0, 12, lambda i, a: a.at[i + 1].set(jnp.sin(a[i]) * a[i + 1]), table).sum()


def gone_back(memory: int | None) -> tuple[Function, list[LoopMemory]]:
    primal = function_of(waves)
    return planned(lambda: pullback_function(primal, (0, 1)), Plan(memory=memory))


def least_budget() -> int:
    with pytest.raises(NotEnoughMemory) as failure:
        gone_back(100)
    return failure.value.least


def test_a_budget_is_divided_among_loops() -> None:
    """The loops together take no more than there is, as much of it as does any good, and give what they gave before."""
    unlimited, loops = gone_back(None)
    assert [each.way for each in loops] == ["recorded", "recorded"]
    assert [each.rounds for each in loops] == [12, 24]
    needed = sum(each.kept for each in loops)
    expected = run(unlimited, X, Y, np.float64(1))
    least = least_budget()
    for budget in (2 * needed, least + needed // 3, least + needed // 6):
        function, loops = gone_back(budget)
        assert sum(each.kept for each in loops) + max(each.working for each in loops) <= budget
        assert_equal(run(function, X, Y, np.float64(1)), expected)
        assert ("states" in [each.way for each in loops]) == (budget < 2 * needed)


def test_the_least_budget_is_said_and_is_enough() -> None:
    least = least_budget()
    gone_back(least)
    with pytest.raises(NotEnoughMemory):
        gone_back(least - 1)


def march(u: Any) -> Any:
    for _ in range(300):
        u[1:-1] += 0.1 * u[1:-1] * (u[:-2] + u[2:] - 2 * u[1:-1])
    return (u * u).sum()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("options", [{"memory": "1MiB"}, {"checkpoint": Periodic(20)}, {"checkpoint": Binomial(5)}])
def test_gradients_are_found_within_a_budget(options: dict[str, Any]) -> None:
    u = np.random.default_rng(0).random(4096)
    expected = wl.grad(march)(u)
    np.testing.assert_allclose(wl.grad(march, **options)(u), expected, 1e-12, 1e-12)


@wl.jit(whole=True)
def flow(u: Any, c: Any) -> Any:
    for _ in range(20):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += c * u[1:-1, 1:-1] * (around - 4 * u[1:-1, 1:-1])
    return (u * u).sum()


@pytest.mark.parametrize("checkpoint", [Periodic(3), Binomial(2)])
def test_plans_change_no_bit_of_what_is_exact(checkpoint: Periodic | Binomial) -> None:
    """Not of a number's cotangent either, to which each round adds."""
    arguments = np.random.default_rng(0).random((64, 64), np.float32), np.float32(0.1)
    expected = wl.grad(flow, (0, 1))(*arguments)
    found = wl.grad(flow, (0, 1), checkpoint=checkpoint)(*arguments)
    for each, exact in zip(found, expected, strict=True):
        np.testing.assert_array_equal(each, exact)


DECAY = wl.cuda.compile("""
__global__ void decay(float *x, int rounds) {
    float y = x[threadIdx.x];
    for (int round = 0; round < rounds; round++) y = y - 0.01f * y * y;
    x[threadIdx.x] = y;
}""")["decay"]


def decayed(x: Any) -> Any:
    for _ in range(100):
        x = x - np.float32(0.01) * x * x
    return x


def test_a_function_says_itself_what_gradients_of_others_may_take() -> None:
    """JAX's too, of what it is a part of."""
    x = jnp.linspace(0, 1, 1024, dtype=jnp.float32)

    def taken(function: Callable[..., Any], *more: int) -> tuple[Any, int]:
        compiled = jax.jit(jax.grad(lambda x: 2 * jnp.sum(function(x, *more)))).lower(x).compile()
        analysis: Any = compiled.memory_analysis()
        return compiled(x), analysis.temp_size_in_bytes

    launch, sparing = DECAY.jax(1, 1024), DECAY.jax(1, 1024, checkpoint=Binomial(3))
    pairs = (
        (taken(wl.jit(whole=True)(decayed)), taken(wl.jit(whole=True, memory="64KiB")(decayed))),
        (taken(launch, 100), taken(sparing, 100)),
    )
    for (expected, recorded), (found, kept) in pairs:
        assert kept < 2**16 < 100 * x.nbytes <= recorded
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(WindlassError, match=r"decay\.jax: memory='little' is no number"):
        DECAY.jax(1, 1024, memory="little")


def test_a_budget_too_small_is_refused_with_the_least_that_would_do() -> None:
    u = np.ones(4096)
    with pytest.raises(WindlassError, match=r"the gradient of march needs [\d,]+ bytes") as failure:
        wl.grad(march, memory="64KiB")(u)
    assert failure.value.diagnostics[0].code == "WL0934"
    with pytest.raises(WindlassError, match="no number of bytes"):
        wl.grad(march, memory="much")
    with pytest.raises(WindlassError, match="no schedule"):
        wl.grad(march, checkpoint=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(WindlassError, match="keeps nothing"):
        wl.vjp(march, u, checkpoint=Binomial(0))
    with pytest.raises(WindlassError, match="both"):
        wl.grad(march, checkpoint=Binomial(2), memory="1GiB")
