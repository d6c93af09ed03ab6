"""XLA gives what programs mean. `python -m tests.fuzz.xla_programs` runs many more."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fuzz import xla_programs
from tests.fuzz.xla_programs import describe, run_program, watch, write_program
from windlass.ir import Op
from windlass.ops import DotGeneral, Multiply, Reduce, Transpose


def test_xla_gives_what_programs_mean() -> None:
    for seed, way in enumerate(("given", "embedded", "exact")):
        assert not run_program(write_program(seed), way), describe(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(40_000, 41_000, 100))
def test_xla_gives_what_many_programs_mean(first: int) -> None:
    wrong = [each for each in watch(range(first, first + 100), "ours") if each[0] not in ("same", "unfit")]
    assert not wrong, describe(wrong[0][1])


def test_programs_fold_products_of_many_types() -> None:
    programs = [write_program(seed) for seed in range(6)]
    ops: list[Op] = [op for program in programs for op in program.module.main.walk()]
    assert {DotGeneral, Multiply, Reduce, Transpose} <= set(map(type, ops))
    assert len({program.arrays[0].dtype for program in programs}) > 3
    assert max(program.arrays[0].size for program in programs) > 10_000


def test_same_number_writes_the_same_program() -> None:
    first, second = write_program(3), write_program(3)
    np.testing.assert_array_equal(first.expected, second.expected)
    assert describe(3) == describe(3)


def test_a_program_that_ends_its_process_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ending = [
        xla_programs.sys.executable,
        "-c",
        "import os; print('same 5 given', flush=True); print('begin 6', flush=True); os.abort()",
    ]
    going_on = [xla_programs.sys.executable, "-c", "print('begin 7'); print('same 7 given')"]
    commands = iter((ending, going_on))
    popen = xla_programs.subprocess.Popen
    monkeypatch.setattr(xla_programs.subprocess, "Popen", lambda _, **options: popen(next(commands), **options))
    found = watch(range(5, 8), "ours")
    assert [(kind, seed) for kind, seed, _ in found] == [("same", 5), ("ended", 6), ("same", 7)]
