"""`windlass audit`: whether the derivatives of kernels, or of a StableHLO module, are right."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import windlass as wl
from windlass.command_line.explain import explain_guess
from windlass.command_line.guessing import Guess, Wishes
from windlass.command_line.optimize import read_module
from windlass.diagnostics import Diagnostic, ProgramError, RaisingError, WindlassError
from windlass.diagnostics.options import read_macro
from windlass.launching.kernel import Kernel
from windlass.stablehlo.program import TensorProgram

SIZE = 48
"""Of arrays along each dimension, where the user wishes none: derivatives don't depend on it."""
LOW, HIGH = 0.2, 1.8
"""Between what floats are drawn: where roots and logarithms have derivatives."""
KERNEL_SUFFIXES = frozenset({".cu", ".cuh", ".hip"})
NO_DERIVATIVE = ("WL0901", "WL0931")


def audit_file(
    file: Path, include: Sequence[Path], define: Sequence[str], names: Sequence[str], wishes: Wishes, directions: int
) -> bool:
    """Print what `wl.audit` finds of each kernel of a CUDA file, or of a StableHLO module; whether nothing is wrong.

    Kernels are launched as `windlass explain` guesses or the user wishes. Numbers are random, the same ones each time.

    Raises WindlassError where the file or the launch is wrong, and where a kernel that is named, or the module, has no
    derivative.
    """
    if file.suffix not in KERNEL_SUFFIXES:
        return _audit_module(file, directions)
    module = wl.cuda.compile(file, include=list(include), define=dict(read_macro(each) for each in define))
    wishes = wishes if wishes.size is not None else replace(wishes, size=SIZE)
    outcomes = [_audit_kernel(module[name], wishes, directions, bool(names)) for name in names or module.kernels]
    return all(outcomes)


def _audit_module(file: Path, directions: int) -> bool:
    module = read_module(file)
    if "main" not in module.functions:
        raise ProgramError(Diagnostic("WL0701", f"'{file}' holds no function main, which is what is audited"))
    program = TensorProgram(module, file.stem, is_given=True)
    arrays = [
        _draw(f"%arg{place}", np.zeros(argument.shape, argument.tensor.numpy_dtype))
        for place, argument in enumerate(module.main.arguments)
    ]

    def main(*values: Any) -> list[Any]:
        return program.bind(*values)

    main.__name__ = main.__qualname__ = file.stem
    found = wl.audit(wl.optimize(main), *arrays, directions=directions)
    print(found)
    return found.agrees


def _audit_kernel(kernel: Kernel, wishes: Wishes, directions: int, is_named: bool) -> bool:
    try:
        guess, report = explain_guess(kernel, kernel.function, wishes)
        if report.error is not None:
            raise report.error
        found = wl.audit(kernel[guess.grid, guess.block], *_drawn(kernel, guess), directions=directions)
    except WindlassError as error:
        is_expected = isinstance(error, RaisingError) or error.diagnostics[0].code in NO_DERIVATIVE
        if is_named or not is_expected:
            raise
        print(f"{kernel.name}: not audited\n{error}\n")
        return True
    print(f"{found}\n  launch: {guess.assumptions}\n")
    return found.agrees


def _drawn(kernel: Kernel, guess: Guess) -> list[Any]:
    """The arguments of a launch, with random floats in its arrays."""
    pairs = zip(kernel.signature.parameters, guess.arguments, strict=True)
    return [
        _draw(parameter.name, argument) if isinstance(argument, np.ndarray) else argument
        for parameter, argument in pairs
    ]


def _draw(name: str, array: Any) -> Any:
    """Random floats in the array's place, the same ones for the same name; other arrays as they are."""
    dtype = array.dtype
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    if dtype.names is None and dtype.kind in "fcV":  # narrow floats are of kind V
        drawn = generator.uniform(LOW, HIGH, array.shape)
        return (drawn + 1j * generator.uniform(LOW, HIGH, array.shape) if dtype.kind == "c" else drawn).astype(dtype)
    for field in dtype.names or ():
        array[field] = _draw(f"{name}.{field}", array[field])
    return array
