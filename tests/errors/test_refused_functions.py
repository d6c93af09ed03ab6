"""What `wl.jit(whole=True)` says of functions that can't be one program, word for word."""

# pyright: basic
from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import windlass as wl
from tests.errors import refused_functions

HOME = Path(__file__).parent
FUNCTIONS = [each for each in vars(refused_functions).values() if inspect.isfunction(each)]
TEXTS = dict(part.split("\n", 1) for part in (HOME / "refused_functions.txt").read_text().split("## ")[1:])
GIVEN = {"n": 2, "y": np.array([4.0, 5.0, 6.0]), "items": []}


def message_of(function):
    """What is said of it, with the file's name alone."""
    x = np.array([1.0, -2.0, 3.0])
    given = [x, *(GIVEN[name] for name in list(inspect.signature(function).parameters)[1:])]
    with pytest.raises(wl.WindlassError) as caught:
        wl.jit(whole=True)(function)(*given)
    return str(caught.value).replace(f"{HOME}/", "") + "\n"


@pytest.mark.parametrize("function", FUNCTIONS, ids=[each.__name__ for each in FUNCTIONS])
def test_the_reason_is_told_with_its_line(function):
    assert message_of(function) == TEXTS[function.__name__]


def test_there_are_forty_messages():
    assert len(TEXTS) == len(FUNCTIONS) >= 40
