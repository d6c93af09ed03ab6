"""Options and arguments of the wrong kind are refused with what was expected."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windlass as wl

TEXT = "func.func @main(%a: tensor<i32>, %b: tensor<2xf32>) -> tensor<i32> { return %a : tensor<i32> }"
B = np.zeros(2, np.float32)
optimize: Any = wl.stablehlo.optimize
run: Any = wl.stablehlo.run
optimize_function: Any = wl.optimize


@pytest.mark.parametrize("program", [None, 3, ["text"], Path("program.mlir"), object()])
def test_what_is_no_program_is_refused(program: object) -> None:
    for function in (optimize, run, wl.stablehlo.explain):
        with pytest.raises(wl.ProgramError, match=r"WL0501.*text or bytecode is expected"):
            function(program)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("choice", "value"),
    [
        ("assumes", 3),
        ("assumes", [3]),
        ("assumes", None),
        ("assumes", "no nans"),
        ("without", 3),
        ("without", [None]),
        ("without", "no_such_rule"),
        ("compile_seconds", -1),
        ("compile_seconds", math.nan),
        ("compile_seconds", "10"),
        ("compile_seconds", None),
        ("compile_seconds", True),
        ("device", 3),
        ("device", "abacus"),
        ("rules", 3),
        ("rules", ["slice_of_pad"]),
        ("rules", None),
        ("exact", "yes"),
        ("exact", None),
    ],
)
def test_a_choice_of_the_wrong_kind_is_refused(choice: str, value: object) -> None:
    for function in (lambda **each: optimize(TEXT, **each), optimize_function):
        with pytest.raises(wl.WindlassError, match="WL0803"):
            function(**{choice: value})


def test_no_time_and_all_time_are_times() -> None:
    assert "main" in optimize(TEXT, compile_seconds=0)
    assert "main" in optimize(TEXT, compile_seconds=math.inf)


@pytest.mark.parametrize(
    "argument",
    [1.5, 2**40, -(2**31) - 1, 1j, "1", None, [[1], [1, 2]], np.float32(1), np.int64(1), B, {}, math.nan, math.inf],
)
def test_an_argument_that_does_not_fit_is_refused(argument: object) -> None:
    with pytest.raises(wl.ProgramError, match=r"WL0520.*argument 0 of the program is tensor<i32>"):
        run(TEXT, argument, B)


def test_a_number_of_arguments_that_does_not_fit_is_refused() -> None:
    for arguments in ((), (1,), (1, B, B)):
        with pytest.raises(wl.ProgramError, match=r"WL0520.*the program takes 2 arrays"):
            run(TEXT, *arguments)


def test_numbers_that_fit_are_taken() -> None:
    assert run(TEXT, 7, B) == [7]
    assert run(TEXT, True, B) == [1]
