"""StableHLO programs as text: optimized, and run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, ProgramError
from windlass.ir import Function, Module, TensorType
from windlass.ir.types import NUMPY_DTYPES
from windlass.stablehlo.exporting import export_bytecode, export_text
from windlass.stablehlo.importing import import_bytecode, import_text
from windlass.stablehlo.program import Program
from windlass.stablehlo.screening import screen

Array: TypeAlias = NDArray[Any]


def optimize(program: str | bytes) -> str:
    """The program (StableHLO text or bytecode) after the catalogue of rewrites, as text.

    Raises ProgramError where it can't be read.

    >>> text = '''func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    ...   %0 = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
    ...   %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
    ...   return %1 : tensor<4xf32>
    ... }'''
    >>> "reverse" in optimize(text)
    False
    """
    from windlass.rewriting import rewrite_function
    from windlass.rules import catalogue

    module = read_program(program)
    for function in module.functions.values():
        rewrite_function(function, catalogue.choose())
    return export_text(module)


def run(program: str | bytes, *arrays: Any) -> list[Array]:
    """What the program's `main` gives for these arrays, computed by XLA.

    Arrays are NumPy's, of the shapes and element types that the program takes; numbers are taken as rank-0 arrays.
    Raises ProgramError where the program can't be read or run (WL05xx) and where arrays don't fit it (WL0520).

    >>> run('''func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
    ...   %0 = stablehlo.multiply %x, %x : tensor<3xf64>
    ...   return %0 : tensor<3xf64>
    ... }''', np.array([1.0, 2.0, 3.0]))
    [array([1., 4., 9.])]
    """
    module = read_program(program)
    screen(module)
    main = module.main
    argument_types = [_tensor(main, each.type) for each in main.arguments]
    result_types = [_tensor(main, each.type) for each in main.results]
    values = _fitting(arrays, argument_types)
    main.name, main.visibility = "main", "public"
    whole = Module([main, *(each for each in module.functions.values() if each is not main)], module.name)
    whole.attributes, whole.globals = module.attributes, module.globals
    results = Program(module.name or "main", export_bytecode(whole), argument_types, result_types).bind(*values)
    return [np.asarray(result) for result in results]


def read_program(program: str | bytes) -> Module:
    """The module from text or bytecode."""
    return import_text(program) if isinstance(program, str) else import_bytecode(program)


def _tensor(main: Function, type_: Any) -> TensorType:
    if isinstance(type_, TensorType):
        return type_
    raise ProgramError(Diagnostic("WL0520", f"@{main.name} takes or gives a {type_}, which is no array"))


def _fitting(arrays: Sequence[Any], types: Sequence[TensorType]) -> list[Array]:
    listed = ", ".join(str(type_) for type_ in types) or "nothing"
    if len(arrays) != len(types):
        raise ProgramError(
            Diagnostic(
                "WL0520", f"the program takes {len(types)} arrays, got {len(arrays)}", notes=(f"it takes {listed}",)
            )
        )
    values: list[Array] = []
    for position, (array, type_) in enumerate(zip(arrays, types, strict=True)):
        dtype = NUMPY_DTYPES[type_.dtype]
        is_number = isinstance(array, int | float | complex) and not isinstance(array, np.generic)
        value = np.asarray(array, dtype) if is_number else np.asarray(array)
        if value.shape != type_.shape or value.dtype != dtype:
            raise ProgramError(
                Diagnostic(
                    "WL0520",
                    f"argument {position} of the program is {type_}, got {value.dtype} with shape {value.shape}",
                    help=f"pass an array of {dtype.name} with shape {type_.shape}",
                )
            )
        values.append(value)
    return values
