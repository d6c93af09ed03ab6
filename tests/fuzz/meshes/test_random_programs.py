"""Random programs of divided arrays are right. `python -m tests.fuzz.meshes.sweep` runs many more."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.fuzz.meshes.imagined import run_imagined
from tests.fuzz.meshes.sweep import shrink
from tests.fuzz.meshes.writing import write_program
from windlass.communication.places import Ring


def expect_right(first: int, count: int) -> list[str]:
    """Fails with the smallest form of the first program that goes wrong; else what came of each."""
    kinds: list[str] = []
    for seed in range(first, first + count):
        program = write_program(seed)
        outcome = run_imagined(program)
        if outcome.is_bad:
            small, found = shrink(program, outcome, run_imagined, 20.0)
            pytest.fail(f"{seed} {found.kind}: {found.message}\n{small.describe()}", pytrace=False)
        kinds.append(outcome.kind)
    return kinds


def test_random_programs_are_right_on_imagined_devices() -> None:
    kinds = expect_right(100, 20)
    assert kinds.count("same") >= len(kinds) / 3


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 12_000, 100))
def test_many_random_programs_are_right_on_imagined_devices(first: int) -> None:
    expect_right(first, 100)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(20_000, 20_200, 10))
def test_random_programs_on_eight_devices_are_one_devices(first: int) -> None:
    command = [sys.executable, "-m", "tests.fuzz.meshes.sweep", "--first", str(first), "--count", "10"]
    done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_a_wrong_distance_is_found_and_its_program_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Ring.distance
    monkeypatch.setattr(Ring, "distance", lambda *given: right(*given) + (right(*given) > 0))
    for seed in range(100, 140):
        program = write_program(seed)
        outcome = run_imagined(program)
        if outcome.kind == "wrong":
            break
    else:
        pytest.fail("no program was found to be wrong")
    small, found = shrink(program, outcome, run_imagined, 4.0)
    assert found.kind == "wrong"
    assert len(small.lines) <= len(program.lines)
