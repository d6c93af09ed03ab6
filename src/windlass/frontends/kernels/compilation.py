"""From a Python function and the types of its arguments to CUDA C++ text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windlass.diagnostics import CompilationError, Diagnostic
from windlass.frontends.kernels.names import cpp_name
from windlass.frontends.kernels.source import read_function
from windlass.frontends.kernels.types import HeldType, KernelArray, KernelNumber, NoneType, Tuple, none
from windlass.frontends.kernels.unit import RaisedException, Unit
from windlass.frontends.kernels.user_functions import KernelTranslator
from windlass.frontends.kernels.values import NONE, UNKNOWN, HeldValue

INCLUDE_FOLDER = Path(__file__).parent / "include"


@dataclass(frozen=True)
class CompiledFunction:
    """A Python function as C++: the text, and what the launch has to add to the arguments.

    With `takes_shared_bytes` one more parameter is the size of dynamic shared memory; with `exceptions` one more is an
    array of seven integers for the exception that was raised: its number among them, from 1, thread and block.
    """

    name: str
    text: str
    takes_shared_bytes: bool
    prints: bool
    exceptions: tuple[RaisedException, ...]
    files: tuple[str, ...]
    """The Python files that its functions stand in."""


def compile_function(
    function: Callable[..., Any], types: Sequence[HeldType], *, is_debugged: bool = False
) -> CompiledFunction:
    """The CUDA C++ text of a kernel written in Python, for arguments of these types.

    Parameters of the C++ kernel are the arguments' leaves: for an array its pointer, then its extents, then the strides
    in elements unless it is in C or F order. With `is_debugged` exceptions that the kernel raises are noted.

    Raises CompilationError (WL0110 to WL0113) with the Python file's line and column.
    """
    source = read_function(function)
    if len(types) != len(source.parameters):
        raise CompilationError(
            Diagnostic(
                "WL0113",
                f"'{source.name}' takes {len(source.parameters)} arguments, got {len(types)}",
                source.position(source.tree),
            )
        )
    unit = Unit(is_debugged)
    unit.enter((source.function.__code__,), "")
    translator = KernelTranslator(unit, source)
    translator.is_kernel = True
    parameters: list[str] = []
    for parameter, type_ in zip(source.parameters, types, strict=True):
        names = parameter_names(cpp_name(parameter.arg), type_)
        parameters += translator.take_parameter(parameter, names, _argument(type_, names))
    translator.translate()
    translator.finish_returns(none)
    if unit.uses_dynamic_shared:
        parameters.append("long long windlass_shared_bytes")
    if unit.exceptions:
        parameters.append("long long *windlass_error")
    name = cpp_name(source.name)
    return CompiledFunction(
        name,
        _text_of(unit, translator, f"{name}({', '.join(parameters)})", source.tree.lineno),
        unit.uses_dynamic_shared,
        unit.prints,
        tuple(unit.exceptions),
        tuple(dict.fromkeys([source.file, *unit.files])),
    )


def _text_of(unit: Unit, translator: KernelTranslator, head: str, line: int) -> str:
    """The translation unit that holds the kernel and all that it uses."""
    place = f'#line {line} "{translator.out.file}"'
    text = [
        unit.head(),
        *unit.parts,
        place,
        "__global__ void",
        place,
        f"{head} {{",
        "bool windlass_failed = false;" if translator.can_fail else "",
        translator.out.text(),
        "}",
    ]
    return "\n".join(text) + "\n"


def _argument(type_: HeldType, names: tuple[str, ...]) -> HeldValue:
    """An argument of a launch: nothing but its type is known of it."""
    if isinstance(type_, NoneType):
        return NONE
    if isinstance(type_, KernelNumber):
        return HeldValue(type_, names, UNKNOWN, type_.kind in "bu", type_.full_bits)
    return HeldValue(type_, names, UNKNOWN, False, 64)


def parameter_names(name: str, type_: HeldType) -> tuple[str, ...]:
    """The names of the C++ parameters of an argument.

    >>> from windlass.frontends.kernels.types import float32
    >>> parameter_names("a", float32[:, ::1]), parameter_names("n", float32)
    (('a', 'a_shape0', 'a_shape1'), ('n',))
    """
    if isinstance(type_, KernelArray):
        strides = [f"{name}_stride{axis}" for axis in range(type_.ndim)] if type_.layout == "A" else []
        return (name, *(f"{name}_shape{axis}" for axis in range(type_.ndim)), *strides)
    if isinstance(type_, Tuple):
        return tuple(
            leaf for place, each in enumerate(type_.types) for leaf in parameter_names(f"{name}_{place}", each)
        )
    return (name,) * len(type_.leaves())
