"""The ways to run a program that are compared: `jax.jit`, Windlass, and enzyme_ad where it is installed.

A way takes the StableHLO text that JAX lowers the program to, and gives text. All are then compiled by XLA with JAX's
options and called in the same way, so that a difference in time is one between programs.
"""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from benchmarks.tensor.program import Program

from windlass import stablehlo

Way = Callable[[str], str]


def keep(text: str) -> str:
    """Plain `jax.jit`."""
    return text


def optimize(text: str) -> str:
    """Windlass. To measure another entry, change this line."""
    return stablehlo.optimize(text)


NOTES = re.compile(r"(, )?enzymexla\.\w+ = (\[([^\[\]]|\[[^\]]*\])*\]|[^,}\[]+)")
"""What the peer notes on ops for itself, in a dialect that JAX's parser doesn't know. It means nothing to XLA."""


def load_peer() -> Way | None:
    """enzyme_ad's whole pipeline of optimizations, from text to text; None where it isn't installed."""
    try:
        enzyme_call: Any = importlib.import_module("enzyme_ad.jax.enzyme_call")
        pipelines: Any = importlib.import_module("enzyme_ad.jax.primitives")
    except ImportError:
        return None
    passes = pipelines.full_optimization_pass_pipeline()

    def optimize_by_peer(text: str) -> str:
        return NOTES.sub("", enzyme_call.run_pass_pipeline([], text, passes)[1]).replace("{, ", "{")

    return optimize_by_peer


@dataclass(frozen=True)
class Candidate:
    """A program made ready by one way. Times are in seconds."""

    text: str
    ops: int
    optimized_in: float
    compiled_in: float
    call: Callable[..., Any]


def prepare(
    program: Program,
    arguments: Sequence[Any],
    text: str,
    way: Way,
    clock: Callable[[], float] = time.perf_counter,
) -> Candidate:
    """Optimize the text, compile it, and tell how long each took by the clock."""
    begin = clock()
    optimized = way(text)
    optimized_in = clock() - begin
    if way is keep:
        jitted = jax.jit(program.flat_function(), keep_unused=True)
    else:
        module = stablehlo.import_text(optimized)
        jitted = stablehlo.TensorProgram(module, program.name, is_given=True).jitted()
    lowered = jitted.lower(*arguments)
    begin = clock()
    compiled = lowered.compile()
    return Candidate(optimized, count_ops(optimized), optimized_in, clock() - begin, compiled)


def count_ops(text: str) -> int:
    """How many StableHLO (and CHLO) ops a program has, constants apart, in all its functions and regions."""
    return len(re.findall(r"\b(?:stablehlo|chlo)\.(?!constant|return)\w+(?=[ \"(])", text))


def largest_error(expected: Sequence[Any], found: Sequence[Any]) -> float:
    """The largest difference in a result relative to the largest magnitude in it; infinite where NaNs differ."""
    worst = 0.0
    for one, other in zip(expected, found, strict=True):
        wanted, got = np.asarray(one), np.asarray(other)
        if wanted.shape != got.shape or wanted.dtype != got.dtype:
            return float("inf")
        wanted, got = (each.astype(np.complex128 if np.iscomplexobj(each) else np.float64) for each in (wanted, got))
        is_odd = ~np.isfinite(wanted)
        if not np.array_equal(wanted[is_odd], got[is_odd], equal_nan=True) or not np.isfinite(got[~is_odd]).all():
            return float("inf")
        scale = np.abs(wanted[~is_odd]).max(initial=0.0)
        difference = np.abs(wanted[~is_odd] - got[~is_odd]).max(initial=0.0)
        worst = max(
            worst, float(difference / scale) if scale else float(difference > 0) * float("inf") if difference else 0.0
        )
    return worst
