"""What all parts of the translation of one function share: its names, its text, and how it refuses."""

from __future__ import annotations

import ast
import builtins
import types as python_types
from typing import Any

import numpy as np

from windlass.diagnostics import CompilationError
from windlass.frontends.kernels.source import FunctionSource
from windlass.frontends.kernels.types import HeldType, KernelArray, KernelNumber, adopted, boolean, from_dtype, type_of
from windlass.frontends.kernels.unit import Unit
from windlass.frontends.kernels.values import (
    NONE,
    UNKNOWN,
    HeldValue,
    Unusable,
    constant_number,
    known,
    tuple_of,
)
from windlass.frontends.kernels.writer import Writer


class Body:
    """One function in translation.

    `names` holds what each local name stands for at the place that is translated now; None where no way leads there.
    """

    def __init__(self, unit: Unit, source: FunctionSource) -> None:
        self.unit = unit
        self.source = source
        self.out = Writer(source.file)
        self.names: dict[str, HeldValue] | None = {}
        self.hint = ""
        """The name that the value of the present expression is given, which messages should show."""
        self.local_names = frozenset(
            node.id
            for statement in source.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ) | {parameter.arg for parameter in source.parameters}

    # -- refusing -----------------------------------------------------------------------------------------------------

    def refuse(self, node: ast.AST, headline: str, help: str | None = None) -> CompilationError:
        """The error (WL0110) for what kernels can't have."""
        return self.source.fail(node, "WL0110", headline, help, *self.unit.notes())

    def mistyped(self, node: ast.AST, headline: str, help: str | None = None) -> CompilationError:
        """The error (WL0113) for what does not fit its types."""
        return self.source.fail(node, "WL0113", headline, help, *self.unit.notes())

    # -- writing ------------------------------------------------------------------------------------------------------

    def write(self, node: ast.AST, text: str, before: str = "") -> None:
        """A statement at the place of a node."""
        line, column = getattr(node, "lineno", 1), self.source.column(node)
        self.out.placed(line, column, before, text)

    def compute(
        self,
        node: ast.AST,
        type_: HeldType,
        text: str,
        *,
        is_nonnegative: bool = False,
        bits: int = 64,
        hint: str = "t",
    ) -> HeldValue:
        """A value computed by an expression, kept in a new variable."""
        cpp = type_.leaves()[0]
        name = self.out.declare(cpp, hint)
        self.write(node, f"{text};", f"{name} =")
        if isinstance(type_, KernelNumber) and type_.is_integral:
            limit = 1 if type_ == boolean else type_.bits - (type_.kind == "i")
            return HeldValue(type_, (name,), UNKNOWN, is_nonnegative or type_.kind in "bu", min(bits, limit))
        return HeldValue(type_, (name,))

    # -- names --------------------------------------------------------------------------------------------------------

    def look_up(self, node: ast.Name) -> HeldValue:
        """What a name stands for."""
        name = node.id
        if name in self.local_names:
            found = self.names.get(name) if self.names is not None else NONE
            if found is None:
                found = self.undefined(node)
            if isinstance(found.type, Unusable):
                raise self.mistyped(node, f"'{name}' can't be used here: {found.type.reason}")
            return found
        for scope in (self.source.closure, self.source.outside, vars(builtins)):
            if name in scope:
                return self.frozen(node, scope[name], name)
        raise self.mistyped(node, f"the name '{name}' is not defined")

    def undefined(self, node: ast.Name) -> HeldValue:
        """A local name that nothing was assigned to on the way here."""
        raise self.mistyped(node, f"nothing is assigned to '{node.id}' before it is used here")

    def frozen(self, node: ast.AST, thing: Any, name: str = "") -> HeldValue:
        """A value from outside of the kernel, as it is now."""
        match thing:
            case None:
                return NONE
            case bool() | np.bool_():
                return constant_number(bool(thing), boolean)
            case int() | float() | complex() | np.number():
                if isinstance(thing, int) and not isinstance(thing, bool):
                    thing = int(thing)
                try:
                    found = type_of(thing)
                except TypeError as error:
                    raise self.mistyped(node, str(error)) from None
                assert isinstance(found, KernelNumber)
                return constant_number(thing if isinstance(thing, int | float | complex) else thing.item(), found)
            case str():
                return known(thing, "text")
            case tuple():
                return tuple_of([self.frozen(node, each, name) for each in thing], getattr(thing, "_fields", ()))
            case np.ndarray():
                return self.constant_array(node, thing, name)
            case np.dtype():
                return known(self.number_of_dtype(node, thing))
            case type() if issubclass(thing, np.generic):
                return known(self.number_of_dtype(node, np.dtype(thing)))
            case python_types.ModuleType():
                return known(thing, f"module {thing.__name__}")
            case _:
                own = adopted(thing)
                if own is not None:
                    return known(own, str(own))
                return self.intrinsic_value(node, thing) or known(thing, name or type(thing).__name__)

    def intrinsic_value(self, node: ast.AST, thing: Any) -> HeldValue | None:
        """The value of something like threadIdx.x, which is no function."""
        raise NotImplementedError

    def number_of_dtype(self, node: ast.AST, dtype: Any) -> Any:
        """The type that a dtype stands for."""
        try:
            return from_dtype(dtype)
        except TypeError as error:
            raise self.mistyped(node, str(error)) from None

    def constant_array(self, node: ast.AST, array: Any, name: str) -> HeldValue:
        """An array from outside of the kernel: a constant of the program."""
        try:
            element = from_dtype(array.dtype)
        except TypeError as error:
            raise self.mistyped(node, str(error)) from None
        array = np.asarray(array)
        pointer = self.unit.constant(array, name)
        type_ = KernelArray(element, array.ndim, "C")
        return HeldValue(type_, (pointer, *(f"{extent}LL" for extent in array.shape)))

    def integer(self, node: ast.AST, value: HeldValue) -> HeldValue:
        """A value that has to be an integer."""
        if not isinstance(value.type, KernelNumber) or not value.type.is_integral:
            raise self.mistyped(node, f"an integer is needed here, this is {value.type}")
        return value

    def constant_integer(self, node: ast.AST, value: HeldValue, what: str) -> int:
        """An integer that has to be known when the kernel is compiled."""
        if not value.is_constant or not isinstance(value.constant, int):
            raise self.mistyped(
                node,
                f"{what} has to be a number that is known when the kernel is compiled",
                "write a number, or a name that stands for one outside of the kernel",
            )
        return value.constant
