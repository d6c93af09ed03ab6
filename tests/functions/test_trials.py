"""Trials: the default is among the timed, another has to gain more than the noise, and what is found is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.functions import trials
from windlass.functions.trials import run_trials
from windlass.schedules import Schedule, choice, everything, rules, seq

SCHEDULES = (everything(), rules("slices"), rules("pads"))


class Clock:
    """A clock that programs move on, and nothing else."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def program(self, seconds: float) -> Callable[[], Any]:
        def run() -> Any:
            self.now += seconds
            return np.zeros(1)

        return run


@pytest.mark.parametrize(
    ("default", "again", "others", "chosen"),
    [
        (1.0, 1.0, (0.5, 2.0), 1),
        (1.0, 1.0, (0.97, 2.0), 0),  # Too little.
        (1.0, 0.8, (0.7, 2.0), 0),  # The default differs from itself by as much.
        (1.0, 1.0, (0.9, 0.6), 2),
    ],
)
def test_another_is_taken_if_it_gains_more_than_the_noise(
    monkeypatch: pytest.MonkeyPatch, default: float, again: float, others: tuple[float, ...], chosen: int
) -> None:
    clock = Clock()
    monkeypatch.setattr(trials.time, "perf_counter", clock.perf_counter)
    seconds = iter((default, *others, again))
    tried = [(schedule, 1.0, "") for schedule in SCHEDULES]
    found = run_trials(tried, 3, lambda schedule: clock.program(next(seconds)))
    assert found.chosen == SCHEDULES[chosen]
    assert [each.schedule for each in found.trials] == list(SCHEDULES)


def test_the_best_by_the_model_are_run() -> None:
    compiled: list[Schedule] = []

    def compile_with(schedule: Schedule) -> Callable[[], Any]:
        compiled.append(schedule)
        return lambda: np.zeros(1)

    run_trials([(SCHEDULES[0], 9.0, ""), (SCHEDULES[1], 5.0, ""), (SCHEDULES[2], 3.0, "")], 2, compile_with)
    assert compiled == [SCHEDULES[0], SCHEDULES[2], SCHEDULES[0]]


def test_functions_with_trials_give_what_they_give_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def total(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.trace((a @ b).T) + jnp.sum(a * b)

    tried = wl.optimize(total, trials=3)
    a, b = np.random.default_rng(0).random((2, 40, 40), np.float32)
    np.testing.assert_allclose(tried(a, b), total(jnp.asarray(a), jnp.asarray(b)), rtol=1e-5)
    found = tried.trials(a, b)
    assert found.trials[0].schedule == everything()
    assert 2 <= len(found.trials) <= 3
    assert "noise" in str(found)
    # What was found is kept: another function of the same program runs nothing.
    monkeypatch.setattr(trials, "run_trials", None)
    again = wl.optimize(total, trials=3)
    assert again.trials(a, b) == found
    # Under transformations the default is used.
    np.testing.assert_allclose(jax.grad(lambda x: again(x, b))(a), b.T + b, rtol=1e-5)


def test_options_of_a_schedule_are_tried() -> None:
    schedule = choice("how", everything(), seq(), rules("transposes"))
    tried = wl.optimize(lambda a: (a.T.T + 1.0).sum(), schedule=schedule, trials=4)
    assert float(tried(np.ones((3, 3), np.float32))) == 18.0
    schedules = [each.schedule for each in tried.trials(np.ones((3, 3), np.float32)).trials]
    assert schedules[0] == schedule
    assert seq() in schedules


def test_functions_with_effects_are_not_tried() -> None:
    seen: list[float] = []

    def told(x: jax.Array) -> jax.Array:
        jax.debug.callback(lambda each: seen.append(float(each)), x)
        return x + 1.0

    assert float(wl.optimize(told, trials=3)(jnp.float32(1.0))) == 2.0
    jax.effects_barrier()
    assert seen == [1.0]


def test_what_has_no_trials_says_so() -> None:
    with pytest.raises(wl.WindlassError, match="has no trials"):
        wl.optimize(lambda x: x).trials(1.0)
    with pytest.raises(wl.WindlassError, match="trials is how many programs are timed, got -1"):
        wl.optimize(lambda x: x, trials=-1)
