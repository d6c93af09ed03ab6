"""Runs a program's regions of local code on imagined devices, op by op: no compiler, a moment each."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from tests.communication.on_devices import evaluate
from tests.fuzz.meshes.author import Program, Spec
from windlass.communication import exchange_and_estimate
from windlass.ir import Module
from windlass.ops.shardings import Mesh, Sharding
from windlass.stablehlo import import_text, optimize
from windlass.stablehlo.optimizing import inline_module

CLOSE = 1e-4


@dataclass(frozen=True)
class Outcome:
    """What came of a program.

    `kind` is "same", "alone" (nothing is exchanged), "unfit", "wrong", "fault", "moves more", or "xla", where plain XLA
    errs as well.
    """

    kind: str
    message: str = ""

    @property
    def is_bad(self) -> bool:
        return self.kind in ("wrong", "fault", "moves more")

    def is_like(self, other: Outcome) -> bool:
        """Whether it's the same trouble, as far as one can tell."""
        return self.kind == other.kind and (self.kind != "fault" or self.message[-40:] == other.message[-40:])


def run_imagined(program: Program) -> Outcome:
    """Exchange halos in the program as traced, and as optimized, and compare with what it means."""
    kinds = program.kinds()
    rounds = [kinds[name].rounds for name in program.results]
    specs = [each.spec for each in program.arguments]
    return run_function(program.function(), program.arrays(), program.mesh, specs, rounds)


def run_function(
    function: Callable[..., Any],
    arrays: Sequence[Any],
    axes: tuple[tuple[str, int], ...],
    specs: Sequence[Spec],
    rounds: Sequence[bool] | None = None,
) -> Outcome:
    """The same of a function whose arguments are divided so; `rounds` says for each result whether its last bits may
    differ."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = jax.jit(function, keep_unused=True).lower(*arrays).as_text()
    except Exception as error:
        return Outcome("unfit", f"{type(error).__name__}: {error}")
    shardings = [Sharding(Mesh(axes), spec) for spec in specs]
    found = Outcome("alone")
    try:
        for way in (text, optimize(text)):
            module = import_text(way)
            inline_module(module)
            exchanged = exchange_and_estimate(module, shardings)
            if exchanged is not None:
                found = _compare(module, exchanged.module, arrays, rounds)
                if found.is_bad:
                    return found
    except NotImplementedError as error:
        return Outcome("unfit", str(error))
    except Exception as error:
        return Outcome("fault", f"{traceback.format_exc(limit=-4)[-1500:]}{type(error).__name__}: {error}")
    return found


def _compare(plain: Module, exchanged: Module, arrays: Sequence[Any], rounds: Sequence[bool] | None) -> Outcome:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, found = (evaluate(each.main, [*map(np.asarray, arrays)]) for each in (plain, exchanged))
    for place, (one, other) in enumerate(zip(expected, found, strict=True)):
        told = difference(one, other, rounds is not None and rounds[place])
        if told:
            return Outcome("wrong", f"result {place}: {told}")
    return Outcome("same")


def difference(expected: Any, found: Any, rounds: bool) -> str:
    """Where two results part; "" if they don't."""
    one, other = np.asarray(expected), np.asarray(found)
    if one.shape != other.shape or one.dtype != other.dtype:
        return f"{one.dtype}{one.shape} and {other.dtype}{other.shape}"
    if one.dtype.kind in "biu":
        bad = one != other
    else:
        wide = np.complex128 if one.dtype.kind == "c" else np.float64
        one, other = one.astype(wide), other.astype(wide)
        with np.errstate(all="ignore"):
            bad = ~((one == other) | (np.isnan(one) & np.isnan(other)))
            if rounds:
                finite = np.abs(np.where(np.isfinite(one), one, 0))
                slack = (2e-2 if np.asarray(expected).dtype.itemsize == 2 else CLOSE) * (1 + finite.max(initial=0))
                bad &= ~(np.abs(one - other) <= slack)
    if not bad.any():
        return ""
    where = tuple(int(each) for each in np.argwhere(bad)[0])
    return f"{int(bad.sum())} of {bad.size} part, at {where}: {one[where]} and {other[where]}"
