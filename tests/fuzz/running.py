"""Runs kernels raised and emulated, many to a module, and compares their arrays."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import windlass as wl
from tests.fuzz.arrays import draw_all
from tests.fuzz.kernels import Kernel
from windlass.diagnostics import CompilationError, EmulationError, RaisingError, WindlassError
from windlass.native import running as native_running

Arrays = dict[str, NDArray[Any]]

SOFT_TOLERANCE = 1e-4
"""Relative to an array's largest value, for sums in another order and functions whose last digits differ."""


@dataclass(frozen=True)
class Outcome:
    """What came of a kernel.

    `kind` is "same", "idle" (same, and nothing was written), "invalid" (the emulator found the kernel itself wrong),
    "refused" (not raised), "wrong" or "fault" (an exception that is not for users).
    """

    kind: str
    message: str = ""
    seconds: float = 0.0

    @property
    def is_bad(self) -> bool:
        return self.kind in ("wrong", "fault")

    def is_like(self, other: Outcome) -> bool:
        """Whether it's the same trouble, as far as one can tell: of one kind, said in the same words."""
        if self.kind != other.kind:
            return False
        return self.kind == "wrong" or self._words() == other._words()

    def _words(self) -> str:
        return "".join(letter for letter in self.message.split("\n")[0] if not letter.isdigit())[:60]


@contextmanager
def without_fallback() -> Generator[None]:
    """Kernels that can't be raised are errors, and native code calls the functions that the emulator calls."""
    wanted = {"WINDLASS_FALLBACK": "error", "WINDLASS_VECTOR_FUNCTIONS": "0"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def helpers_for(seconds: float | None) -> Generator[None]:
    """Native code that takes longer than that is run by all threads; None for what is usual."""
    with pytest.MonkeyPatch.context() as patch:
        if seconds is not None:
            patch.setattr(native_running, "SECONDS_WORTH_HELP", seconds)
        yield


def run_all(kernels: Sequence[Kernel]) -> Iterator[tuple[Kernel, Outcome]]:
    """Each kernel's outcome; the kernels are compiled as one module."""
    names = [f"kernel_{k}" for k in range(len(kernels))]
    text = "\n".join(kernel.whole_text(name) for kernel, name in zip(kernels, names, strict=True))
    module = wl.cuda.compile(text)
    for kernel, name in zip(kernels, names, strict=True):
        yield kernel, run(kernel, module, name)


def run_one(kernel: Kernel) -> Outcome:
    """One kernel's outcome; text that clang refuses is invalid."""
    try:
        module = wl.cuda.compile(kernel.whole_text())
    except CompilationError as error:
        return Outcome("invalid", str(error))
    return run(kernel, module, "kernel")


def run(kernel: Kernel, module: wl.cuda.Module, name: str) -> Outcome:
    """Emulates, raises, compares."""
    stages = [(each, module[name]) for each, name in zip(kernel.sequence, kernel.names(name), strict=True)]
    first = draw_all(kernel.all_arguments, kernel.seed)
    wanted = draw_all(kernel.all_arguments, kernel.seed)
    try:
        for _ in range(kernel.launches):
            for each, compiled in stages:
                given = [wanted[argument.name] for argument in each.arguments]
                wl.emulate(compiled)[each.grid, each.block](*given, *(scalar.value for scalar in each.scalars))
    except EmulationError as error:
        return Outcome("invalid", str(error))
    is_native = kernel.form == "native"
    start = time.perf_counter()
    for worth_help in (math.inf, -1.0) if is_native else (None,):
        got = draw_all(kernel.all_arguments, kernel.seed)
        try:
            with without_fallback(), helpers_for(worth_help):
                launch(kernel, stages, got)
        except RaisingError as error:
            return Outcome("refused", _headline(error), time.perf_counter() - start)
        except Exception as error:
            return Outcome("fault", f"{type(error).__name__}: {error}", time.perf_counter() - start)
        tolerance = SOFT_TOLERANCE if kernel.is_soft and not is_native else 0.0
        difference = first_difference(got, wanted, tolerance, is_flushed=not is_native)
        if difference:
            return Outcome("wrong", difference, time.perf_counter() - start)
    seconds = time.perf_counter() - start
    is_idle = all(wanted[name].tobytes() == first[name].tobytes() for name in first)
    return Outcome("idle" if is_idle else "same", "", seconds)


def sequence_of(kernel: Kernel, stages: Sequence[tuple[Kernel, Any]]) -> Callable[..., None]:
    """A function of all arrays, in their order, and of numbers for each stage, which makes all the launches."""
    names = [each.name for each in kernel.all_arguments]

    def launch_all(arrays: Sequence[Any], numbers: Sequence[Sequence[Any]]) -> None:
        found = dict(zip(names, arrays, strict=True))
        for _ in range(kernel.launches):
            for (each, compiled), scalars in zip(stages, numbers, strict=True):
                compiled[each.grid, each.block](*(found[argument.name] for argument in each.arguments), *scalars)

    return launch_all


def launch(kernel: Kernel, stages: Sequence[tuple[Kernel, Any]], arrays: Arrays) -> None:
    """All the launches, in the kernel's form."""
    if kernel.form == "native":
        stages = [(each, wl.native(compiled)) for each, compiled in stages]
    launch_all = sequence_of(kernel, stages)
    known = [[scalar.value for scalar in each.scalars] for each, _ in stages]

    @wl.jit
    def jitted(arrays: list[Any]) -> None:
        launch_all(arrays, known)

    @wl.jit
    def traced(arrays: list[Any], numbers: list[list[Any]]) -> None:
        launch_all(arrays, numbers)

    values = list(arrays.values())
    if kernel.form == "jit":
        jitted(values)
    elif kernel.form == "traced":
        traced(
            values,
            [[np.dtype(one.ctype.dtype).type(one.value) for one in each.scalars] for each, _ in stages],
        )
    else:
        launch_all(values, known)


def _headline(error: WindlassError) -> str:
    first = error.diagnostics[0]
    return f"{first.code}: {first.headline}"


def without_subnormals(array: NDArray[Any]) -> NDArray[Any]:
    """Numbers that XLA's CPU runtime takes for zero, as zeros of their sign."""
    return np.where(np.abs(array) < np.finfo(array.dtype).tiny, np.copysign(array.dtype.type(0), array), array)


def first_difference(got: Arrays, wanted: Arrays, tolerance: float, *, is_flushed: bool = True) -> str:
    """What differs, in words; nothing where all is the same.

    Any NaN is a NaN; `is_flushed` takes subnormals for zero.
    """
    for name, array in got.items():
        for letter in array.dtype.names or ("",):
            a = array[letter] if letter else array
            b = wanted[name][letter] if letter else wanted[name]
            if a.dtype.kind == "f":
                if is_flushed:
                    a, b = without_subnormals(a), without_subnormals(b)
                same = (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)
                if tolerance:
                    with np.errstate(invalid="ignore"):
                        scale = np.max(np.abs(b[np.isfinite(b)]), initial=1.0)
                        same |= np.abs(a - b) <= tolerance * scale
            else:
                same = a == b
            if not same.all():
                places = np.flatnonzero(~same)
                k = places[:5]
                return f"{name}{letter}: {places.size} of {a.size} differ, at {k.tolist()}: {a[k]} for {b[k]}"
    return ""
