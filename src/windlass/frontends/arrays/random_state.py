"""Draws of random numbers that no captured call shows: within functions of libraries, for example."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, cast

import numpy as np

from windlass.diagnostics import Diagnostic, Position, WindlassWarning


@contextmanager
def warn_of_draws(function: Callable[..., Any]) -> Generator[None]:
    """Warn where a generator that the function can see has moved on: what it gave is the same in every call."""
    before = _states_of(function)
    yield
    moved = [name for name, state in _states_of(function).items() if name in before and before[name] != state]
    if moved:
        code = getattr(function, "__code__", None)
        diagnostic = Diagnostic(
            "WL0914",
            f"random numbers of {moved[0]} were drawn while the function was compiled: later calls get the same",
            None if code is None else Position(code.co_filename, code.co_firstlineno),
            help="draw outside and pass the numbers as an argument, or use jax.random with a key that is an argument",
            severity="warning",
        )
        warnings.warn(WindlassWarning(str(diagnostic)), stacklevel=2)


def _states_of(function: Callable[..., Any]) -> dict[str, str]:
    states = {"numpy.random": repr_of(np.random.get_state(legacy=False)), "random": repr_of(random.getstate())}
    if isinstance(function, FunctionType):
        code = function.__code__
        seen = {name: function.__globals__.get(name) for name in code.co_names}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                seen[name] = cell.cell_contents
            except ValueError:
                continue
        for name, value in seen.items():
            if isinstance(value, np.random.Generator):
                states[f"'{name}'"] = repr_of(value.bit_generator.state)
            elif isinstance(value, np.random.RandomState):
                states[f"'{name}'"] = repr_of(value.get_state(legacy=False))
            elif isinstance(value, random.Random) and not isinstance(value, random.SystemRandom):
                states[f"'{name}'"] = repr_of(value.getstate())
    return states


def repr_of(state: Any) -> str:
    """A text that tells states apart."""
    if isinstance(state, dict):
        return ",".join(repr_of(value) for value in cast("dict[Any, Any]", state).values())
    return state.tobytes().hex() if isinstance(state, np.ndarray) else repr(state)
