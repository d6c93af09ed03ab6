"""Each program, for each launch: raised and run, in the emulator, and in NumPy. All three must agree."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windlass as wl

from .program import PROGRAMS, Array, Launch, Program

THEMES = sorted(path.stem for path in Path(__file__).parent.glob("*.cu"))
for _theme in THEMES:
    importlib.import_module(f".{_theme}", __package__)


@functools.cache
def compiled(source: Path) -> wl.cuda.Module:
    return wl.cuda.compile(source)


def cases() -> Iterator[Any]:
    """All launches; all but one of each program, now the first, now another, are slow."""
    for number, program in enumerate(PROGRAMS):
        usual = [launch for launch in program.launches if not launch.slow]
        for launch in program.launches:
            is_slow = launch.slow or launch is not usual[number % len(usual)]
            marks = [pytest.mark.slow] if is_slow else []
            yield pytest.param(program, launch, id=f"{program.name}-{launch}", marks=marks)


def arrays_of(arguments: Sequence[Any]) -> dict[str, Array]:
    """The arrays among the arguments, and those that surfaces lie on."""
    arrays = {f"argument {i}": each for i, each in enumerate(arguments)}
    arrays = {name: each.array if isinstance(each, wl.cuda.Surface) else each for name, each in arrays.items()}
    return {name: each for name, each in arrays.items() if isinstance(each, np.ndarray)}


def outcome(program: Program, module: wl.cuda.Module, arguments: Sequence[Any]) -> dict[str, Array]:
    """What a launch may have changed, by name: arrays given, and device variables."""
    return arrays_of(arguments) | {name: module.variables[name].copy() for name in program.observed}


def leaves(name: str, array: Array) -> Iterator[tuple[str, Array]]:
    """An array of structs as one array for each number in it."""
    if array.dtype.names is None:
        yield name, array
    for field in array.dtype.names or ():
        yield from leaves(f"{name}.{field}", array[field])


def assert_same(got: dict[str, Array], wanted: dict[str, Array], tolerance: float, whose: str) -> None:
    """Integers have the same values; floats the same bits (any NaN is a NaN), or differ within the tolerance."""
    for name, whole in got.items():
        for (leaf, a), (_, b) in zip(leaves(name, whole), leaves(name, wanted[name]), strict=True):
            is_exact = tolerance == 0 or a.dtype.kind in "iub"
            if a.dtype.kind in "iub":
                same = a == b
            else:
                p, q = a.astype(np.float64), b.astype(np.float64)
                both_nan = np.isnan(p) & np.isnan(q)
                with np.errstate(invalid="ignore"):
                    scale = np.max(np.abs(q[np.isfinite(q)]), initial=0)
                    close = np.abs(p - q) <= tolerance * scale
                same = both_nan | ((p == q) & (np.signbit(p) == np.signbit(q)))
                same = same if is_exact else same | close | (p == q)
            if not same.all():
                places = np.flatnonzero(~same)
                first = places[:4]
                pytest.fail(
                    f"{leaf}: {places.size} of {a.size} differ from {whose}, first at {first.tolist()}: "
                    f"{a.ravel()[first]} for {b.ravel()[first]}",
                    pytrace=False,
                )


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("program", "launch"), list(cases()))
def test_raised_program_agrees_with_numpy_and_emulator(
    program: Program, launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    module = compiled(program.source)
    kernel = module[program.kernel]
    values = program.draw_variables()

    def run(form: Any) -> dict[str, Array]:
        for name, value in values.items():
            module.variables[name] = value
        arguments = program.draw_arguments(launch)
        form[launch.grid, launch.block, launch.shared_bytes](*arguments)
        return outcome(program, module, arguments)

    raised = run(kernel)
    assert kernel.explain().is_raised

    arguments = program.draw_arguments(launch)
    wanted = {name: values[name].copy() for name in program.observed}
    program.run_reference(launch, [*arguments, *wanted.values()])
    wanted |= arrays_of(arguments)
    untouched = arrays_of(program.draw_arguments(launch)) | values
    has_changed = any(wanted[name].tobytes() != untouched[name].tobytes() for name in wanted)
    assert has_changed != launch.idle, "a launch that changes nothing proves nothing"

    assert_same(raised, wanted, program.tolerance, "NumPy")
    if not launch.slow:
        assert_same(raised, run(wl.emulate(kernel)), program.tolerance, "the emulator")


def test_every_kernel_is_a_program() -> None:
    declared = {(program.source.stem, program.kernel) for program in PROGRAMS}
    for theme in THEMES:
        module = compiled(Path(__file__).with_name(f"{theme}.cu"))
        missing = [name for name in module.kernels if (theme, name) not in declared]
        assert not missing, f"{theme}.cu has kernels that no program declares: {missing}"
