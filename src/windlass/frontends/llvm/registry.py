"""Who translates what: functions register themselves for opcodes and for the names of called functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from windlass.frontends.llvm.values import LLVMValue
    from windlass.ir import Value

InstructionTranslator: TypeAlias = "Callable[..., LLVMValue | None]"
"""`(translator, instruction) -> value or None`; the translator, which asks here, is not named."""
_F = TypeVar("_F", bound=Callable[..., Any])

_by_opcode: dict[str, InstructionTranslator] = {}
_by_callee: dict[str, InstructionTranslator] = {}
_mathematical: dict[str, Callable[..., Value]] = {}
_TYPE_SUFFIX = re.compile(r"\.(?:v\d+)?(?:i|f|bf|p)\d+$")


def translates(*opcodes: str) -> Callable[[_F], _F]:
    """The function translates instructions with these opcodes: `(translator, instruction) -> value or None`."""

    def register(function: _F) -> _F:
        for opcode in opcodes:
            _by_opcode[opcode] = function
        return function

    return register


def called(*names: str) -> Callable[[_F], _F]:
    """The function translates calls of these functions: `(translator, instruction) -> value or None`.

    Names of LLVM intrinsics are given without their types: `llvm.memcpy` for `llvm.memcpy.p0.p0.i64`.
    """

    def register(function: _F) -> _F:
        for name in names:
            _by_callee[name] = function
        return function

    return register


def builtin(*names: str) -> Callable[[_F], _F]:
    """The function says what these functions of numbers are: `(emit, *scalars) -> scalar`.

    On vectors it is applied to each element.
    """

    def register(function: _F) -> _F:
        for name in names:
            _mathematical[name] = function
        return function

    return register


def translator_of(opcode: str) -> InstructionTranslator | None:
    return _by_opcode.get(opcode)


def spellings(name: str) -> Iterator[str]:
    """An intrinsic's name with the types that it is overloaded for, then with ever fewer of them.

    >>> list(spellings("llvm.lround.i64.f32")), list(spellings("erff"))
    (['llvm.lround.i64.f32', 'llvm.lround.i64', 'llvm.lround'], ['erff'])
    """
    yield name
    while name.startswith("llvm."):
        shorter = _TYPE_SUFFIX.sub("", name)
        if shorter == name:
            return
        name = shorter
        yield name


def callee_of(name: str) -> InstructionTranslator | None:
    return next((found for each in spellings(name) if (found := _by_callee.get(each)) is not None), None)


def mathematical_function(name: str) -> Callable[..., Value] | None:
    """The function `(emit: Emitter, *scalars) -> scalar` for a name."""
    return next((found for each in spellings(name) if (found := _mathematical.get(each)) is not None), None)


__all__ = ["builtin", "called", "callee_of", "mathematical_function", "translates", "translator_of"]
