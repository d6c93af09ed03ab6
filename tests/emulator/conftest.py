from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from windlass.emulator import Emulator
from windlass.frontends.cuda import compile_device


@functools.cache
def _emulator_of(source: str) -> Emulator:
    return Emulator(compile_device(source, name="kernel.cu"))


@pytest.fixture
def emulate() -> Callable[[str], Emulator]:
    """Source text → emulator; fresh device variables are not promised."""
    return _emulator_of
