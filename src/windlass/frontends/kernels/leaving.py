"""Leaving a function: returns, exceptions, and what fails as Python would.

Where a function returns is known before what: the places are filled once the types of all results are.
"""

from __future__ import annotations

import ast
from typing import Any

from windlass.frontends.kernels.device_calls import DeviceCalls
from windlass.frontends.kernels.types import HeldType, Known, NoneType, none
from windlass.frontends.kernels.values import NONE, HeldValue, converted, unified


class Leaving(DeviceCalls):
    """Translates returns, and statements that raise."""

    is_kernel = False
    can_fail = False
    returned: list[tuple[list[Any], HeldValue]]
    """Where the function returns, and what."""

    def leave(self, node: ast.Return) -> None:
        """Translate a return."""
        value = NONE if node.value is None else self.expression(node.value)
        if self.is_kernel and not isinstance(value.type, NoneType):
            raise self.mistyped(node, "a kernel returns nothing", "write the result into an array that is an argument")
        line, column = node.lineno, self.source.column(node)
        self.out.placed(line, column, "", "")
        self.returned.append((self.out.blank(), value))
        self.names = None

    def result(self) -> HeldType:
        """The type of the function's result, from all places where it returns."""
        values = [value for _, value in self.returned]
        if self.names is not None:
            values.append(NONE)
        if not values:
            return none
        type_ = values[0].type
        for value in values[1:]:
            type_ = unified(type_, value.type)
        return type_

    def finish_returns(self, result: HeldType) -> None:
        """Fill the places where the function returns, now that the result's type is known."""
        for place, value in self.returned:
            texts = converted(value, result) if not isinstance(result, NoneType) else ()
            place.append(
                f"return {texts[0]};" if len(texts) == 1 else f"return {{{', '.join(texts)}}};" if texts else "return;"
            )
        self.returned = []

    def leave_if_failed(self, node: ast.AST) -> None:
        self.can_fail = True
        self.out.plain("if (windlass_failed) {")
        self.fail_return()
        self.out.plain("}")

    def fail_return(self) -> None:
        """Return without a result."""
        self.out.plain("return;" if self.is_kernel else "return windlass_nothing;")

    def raise_exception(self, node: ast.Raise) -> None:
        """Translate a raise."""
        exception: Any = AssertionError
        arguments: tuple[Any, ...] = ()
        thing = node.exc
        if thing is None:
            raise self.refuse(node, "kernels can't raise an exception anew")
        name = thing.func if isinstance(thing, ast.Call) else thing
        found = self.expression(name)
        if isinstance(found.type, Known) and isinstance(found.constant, type):
            exception = found.constant
        if isinstance(thing, ast.Call):
            values = [self.expression(each) for each in thing.args]
            arguments = tuple(value.constant if value.is_constant else "a value of the kernel" for value in values)
        self.fail_with(node, exception, arguments)
        self.names = None

    def check_assertion(self, node: ast.Assert) -> None:
        """Translate an assert."""
        condition = self.truth(node.test, self.expression(node.test))
        if condition.is_constant and condition.constant:
            return
        message: tuple[Any, ...] = ()
        self.out.plain(f"if (!{condition.text}) {{")
        if node.msg is not None:
            value = self.expression(node.msg)
            message = (value.constant if value.is_constant else "a value of the kernel",)
        self.fail_with(node, AssertionError, message)
        self.out.plain("}")

    def check_divisor(self, node: ast.AST, divisor: HeldValue) -> None:
        if divisor.is_constant and divisor.constant:
            return
        self.out.plain(f"if ({divisor.text} == 0) {{")
        self.fail_with(node, ZeroDivisionError, ("division by zero",))
        self.out.plain("}")

    def fail_with(self, node: ast.AST, exception: Any, arguments: tuple[Any, ...]) -> None:
        """Note an exception, if launches look for them, and leave."""
        if self.unit.is_debugged:
            number = self.unit.exception(exception, arguments, self.source.position(node))
            self.write(node, f"windlass_raise(windlass_error, {number});")
        self.can_fail = True
        self.out.plain("windlass_failed = true;")
        self.fail_return()
