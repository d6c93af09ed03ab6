from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from tests.communication.bad_input import CASES
from tests.communication.gradients import GRADIENTS, Gradient
from tests.communication.programs import ENVIRONMENT, PROGRAMS, Program
from tests.communication.same_bits import MORE_OF_NUMPY, MORE_PROGRAMS, OF_NUMPY
from tests.communication.same_bits import PROGRAMS as OF_SAME_BITS
from tests.communication.ways import WAYS


def run_all(*arguments: str) -> dict[str, Any]:
    """What the programs gave, in a process that has eight devices."""
    command = [sys.executable, "-m", "tests.communication.programs", *arguments]
    done = subprocess.run(command, env=os.environ | ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    return run_all()


@pytest.fixture(scope="module")
def slow_outcomes() -> dict[str, Any]:
    return run_all("slow")


@pytest.mark.parametrize("way", [way.__name__ for way in WAYS])
def test_divided_arrays_are_taken_in_every_way(way: str, outcomes: dict[str, Any]) -> None:
    assert outcomes[way] == "right"


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_told_word_for_word(case: str, outcomes: dict[str, Any]) -> None:
    _, *expected = CASES[case]
    assert outcomes[case] == [line for line in expected if line]


@pytest.mark.parametrize("name", [*(each.__name__ for each in OF_SAME_BITS), *OF_NUMPY])
def test_results_have_the_same_bits_on_every_mesh(name: str, outcomes: dict[str, Any]) -> None:
    assert all(outcomes[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*(each.__name__ for each in MORE_PROGRAMS), *MORE_OF_NUMPY])
def test_more_results_have_the_same_bits_on_every_mesh(name: str, slow_outcomes: dict[str, Any]) -> None:
    assert all(slow_outcomes[name])


def check(program: Program, outcome: dict[str, Any]) -> None:
    assert outcome["difference"] < 2e-5
    assert all(ours == plain for ours, plain in outcome["shardings"]), outcome["shardings"]
    if program.ideal is not None:
        assert outcome["bytes"] <= 4 * program.ideal
    if program.messages is not None:
        assert outcome["messages"] <= program.messages
    assert outcome["all_bytes"] <= outcome["plain_bytes"]


@pytest.mark.parametrize("program", [each for each in PROGRAMS if not each.is_slow], ids=lambda program: program.name)
def test_program_is_right_and_communicates_no_more_than_it_must(program: Program, outcomes: dict[str, Any]) -> None:
    check(program, outcomes[program.name])


@pytest.mark.slow
@pytest.mark.parametrize("program", [each for each in PROGRAMS if each.is_slow], ids=lambda program: program.name)
def test_more_programs_are_right_and_communicate_no_more(program: Program, slow_outcomes: dict[str, Any]) -> None:
    check(program, slow_outcomes[program.name])


@pytest.mark.parametrize("gradient", GRADIENTS, ids=lambda gradient: gradient.name)
def test_gradient_is_one_devices_and_moves_twice_what_its_program_must(
    gradient: Gradient, outcomes: dict[str, Any]
) -> None:
    outcome = outcomes[gradient.name]
    assert outcome["difference"] < 1e-6
    assert all(outcome["is_like_primal"])
    assert outcome["bytes"] <= 2 * gradient.ideal + gradient.corners
    assert outcome["bytes"] <= outcome["plain_bytes"]


def test_what_has_no_fixed_order_is_refused() -> None:
    with pytest.raises(wl.WindlassError, match="WL0945") as refused:
        wl.optimize(jnp.cumsum, deterministic=True)(np.arange(4.0))
    assert "deterministic=True: stablehlo.reduce_window has no order of sums" in str(refused.value)
    with pytest.raises(wl.WindlassError, match="WL0945") as refused:
        wl.jit(deterministic=True)(np.cumsum)(np.arange(4.0))
    assert "deterministic=True: stablehlo.reduce_window has no order of sums" in str(refused.value)


def test_what_python_would_run_is_refused_where_bits_are_fixed() -> None:
    def tell(x: np.ndarray) -> float:
        print(x.sum())
        return x.sum() / 2

    with pytest.raises(wl.WindlassError):
        wl.jit(deterministic=True)(tell)(np.arange(4.0))
    with pytest.raises(wl.WindlassError, match="WL0911"):
        wl.jit(deterministic=True, allow_contraction=True)
