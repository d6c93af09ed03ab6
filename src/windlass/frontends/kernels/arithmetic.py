"""Operators, comparisons, conditions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from windlass.diagnostics import CompilationError
from windlass.frontends.kernels import promotion
from windlass.frontends.kernels.body import Body
from windlass.frontends.kernels.types import (
    HeldType,
    KernelArray,
    KernelNumber,
    Known,
    NoneType,
    Tuple,
    boolean,
    int64,
)
from windlass.frontends.kernels.values import (
    UNKNOWN,
    HeldValue,
    Unusable,
    constant_number,
    convert_number,
    converted,
    tuple_of,
    unified,
)

SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
}
_FOLDED: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_WRAPPING = {"+": "windlass_add", "-": "windlass_subtract", "*": "windlass_multiply"}
LARGEST_SAFE = 62
"""Sums of values below 2**62 don't overflow."""


class Arithmetic(Body):
    """The operators of Python on C++ values."""

    def expression(self, node: ast.expr) -> HeldValue:
        """The value of an expression; its effects are written."""
        raise NotImplementedError

    # -- two operands -------------------------------------------------------------------------------------------------

    def operate(self, node: ast.AST, symbol: str, left: HeldValue, right: HeldValue) -> HeldValue:
        """`left symbol right`."""
        if isinstance(left.type, Tuple) and isinstance(right.type, Tuple) and symbol == "+":
            return tuple_of([*left.parts(), *right.parts()])
        if not isinstance(left.type, KernelNumber) or not isinstance(right.type, KernelNumber):
            raise self._wrong_operands(node, symbol, left, right)
        if symbol == "**":
            return self._power(node, left, right)
        if symbol == "@":
            raise self.refuse(node, "'@' is not for numbers", "write the product as a loop")
        a, b = left.type, right.type
        folded = self._fold(symbol, left, right)
        if folded is not None:
            return folded
        if symbol in ("<<", ">>"):
            return self._shift(node, symbol, left, right)
        if symbol in ("&", "|", "^"):
            if not (a.is_integral and b.is_integral):
                raise self.mistyped(node, f"'{symbol}' takes integers, not {a} and {b}")
            wanted = boolean if a == b == boolean else promotion.operated(a, b)
            is_small = symbol == "&" and (left.is_nonnegative or right.is_nonnegative)
            is_nonnegative = is_small or (left.is_nonnegative and right.is_nonnegative)
            bits = min(left.bits, right.bits) if is_small else max(left.bits, right.bits)
            text = f"({convert_number(left, wanted)} {symbol} {convert_number(right, wanted)})"
            return self.compute(node, wanted, text, is_nonnegative=is_nonnegative, bits=bits)
        if symbol in ("/", "//", "%") and b.kind != "c" and self.unit.is_debugged:
            self.check_divisor(node, right)
        if symbol == "/":
            wanted = promotion.divided(a, b)
            return self.compute(node, wanted, f"({convert_number(left, wanted)} / {convert_number(right, wanted)})")
        wanted = promotion.operated(a, b)
        if symbol in ("//", "%"):
            return self._divide(node, symbol, wanted, left, right)
        return self._add(node, symbol, wanted, left, right)

    def check_divisor(self, node: ast.AST, divisor: HeldValue) -> None:
        """Raise an exception where a divisor is zero."""
        raise NotImplementedError

    def fail_with(self, node: ast.AST, exception: Any, arguments: tuple[Any, ...]) -> None:
        """Raise an exception, if launches look for them, and leave."""
        raise NotImplementedError

    def _wrong_operands(self, node: ast.AST, symbol: str, left: HeldValue, right: HeldValue) -> CompilationError:
        help_ = None
        if isinstance(left.type, KernelArray) or isinstance(right.type, KernelArray):
            help_ = "kernels work on elements: index the array, or loop over it"
        return self.mistyped(node, f"'{symbol}' is not there for {left.type} and {right.type}", help_)

    def _fold(self, symbol: str, left: HeldValue, right: HeldValue) -> HeldValue | None:
        """The result for integers that are known."""
        x, y = left.constant, right.constant
        if not (left.is_constant and right.is_constant and left.number.is_integer and right.number.is_integer):
            return None
        if symbol not in _FOLDED or (symbol in ("//", "%") and y == 0) or (symbol in ("<<", ">>") and not 0 <= y < 64):
            return None
        result = _FOLDED[symbol](x, y)
        is_shift = symbol in ("<<", ">>")
        wanted = promotion.shifted(left.number) if is_shift else promotion.operated(left.number, right.number)
        low, high = (0, 2**64) if wanted.kind == "u" else (-(2**63), 2**63)
        return constant_number(result, wanted) if low <= result < high else None

    def _add(self, node: ast.AST, symbol: str, wanted: KernelNumber, left: HeldValue, right: HeldValue) -> HeldValue:
        a, b = convert_number(left, wanted), convert_number(right, wanted)
        if wanted != int64:
            return self.compute(node, wanted, f"({a} {symbol} {b})")
        bits = left.bits + right.bits if symbol == "*" else max(left.bits, right.bits) + 1
        is_nonnegative = symbol != "-" and left.is_nonnegative and right.is_nonnegative
        text = f"({a} {symbol} {b})" if bits <= LARGEST_SAFE else f"{_WRAPPING[symbol]}({a}, {b})"
        return self.compute(node, wanted, text, is_nonnegative=is_nonnegative, bits=min(bits, 63))

    def _divide(self, node: ast.AST, symbol: str, wanted: KernelNumber, left: HeldValue, right: HeldValue) -> HeldValue:
        if wanted.kind == "c":
            raise self.mistyped(node, f"'{symbol}' is not there for complex numbers")
        a, b = convert_number(left, wanted), convert_number(right, wanted)
        if wanted.kind == "f":
            name = "windlass_floor_divide" if symbol == "//" else "windlass_modulo"
            return self.compute(node, wanted, f"{name}({a}, {b})")
        is_plain = left.is_nonnegative and right.is_constant and int(right.constant) > 0
        bits = min(left.bits, 63) if symbol == "//" else min(right.bits, 63)
        if is_plain:
            text = f"({a} {'/' if symbol == '//' else '%'} {b})"
        else:
            text = f"{'windlass_floor_divide' if symbol == '//' else 'windlass_modulo'}({a}, {b})"
        is_nonnegative = right.is_nonnegative and (left.is_nonnegative or symbol == "%")
        return self.compute(node, wanted, text, is_nonnegative=is_nonnegative, bits=bits + (not is_plain))

    def _shift(self, node: ast.AST, symbol: str, left: HeldValue, right: HeldValue) -> HeldValue:
        if not (left.number.is_integral and right.number.is_integral):
            raise self.mistyped(node, f"'{symbol}' takes integers, not {left.type} and {right.type}")
        wanted = promotion.shifted(left.number)
        a, count = convert_number(left, wanted), convert_number(right, int64)
        is_right = symbol == ">>"
        if not is_right:
            known_count = right.constant if right.is_constant else 64
            bits = left.bits + known_count if known_count < 64 else 64
            is_nonnegative = left.is_nonnegative and bits <= LARGEST_SAFE
            if wanted == int64 and not is_nonnegative:
                return self.compute(node, wanted, f"(long long)((unsigned long long){a} << {count})")
            return self.compute(node, wanted, f"({a} << {count})", is_nonnegative=is_nonnegative, bits=bits)
        return self.compute(node, wanted, f"({a} >> {count})", is_nonnegative=left.is_nonnegative, bits=left.bits)

    def _power(self, node: ast.AST, left: HeldValue, right: HeldValue) -> HeldValue:
        a, b = left.number, right.number
        if "c" in a.kind + b.kind:
            wanted = promotion.operated(a, b)
            return self.compute(
                node, wanted, f"windlass_power({convert_number(left, wanted)}, {convert_number(right, wanted)})"
            )
        if b.is_integral:
            wanted = promotion.operated(a, b) if a.is_integral else a
            base = convert_number(left, wanted)
            if right.is_constant and 0 <= right.constant <= 32:
                return self._small_power(node, wanted, base, int(right.constant))
            return self.compute(node, wanted, f"windlass_power({base}, {convert_number(right, int64)})")
        wanted = promotion.operated(a, b)
        name = "powf" if wanted.bits == 32 else "pow"
        return self.compute(node, wanted, f"{name}({convert_number(left, wanted)}, {convert_number(right, wanted)})")

    def _small_power(self, node: ast.AST, wanted: KernelNumber, base: str, exponent: int) -> HeldValue:
        """By squaring, without a loop."""
        square = HeldValue(wanted, (base,))
        result: HeldValue | None = None
        while exponent:
            if exponent & 1:
                result = square if result is None else self.multiply(node, result, square)
            exponent >>= 1
            if exponent:
                square = self.multiply(node, square, square)
        return constant_number(1, wanted) if result is None else self.compute(node, wanted, result.text)

    def multiply(self, node: ast.AST, left: HeldValue, right: HeldValue) -> HeldValue:
        """The product of two numbers of one type."""
        if left.type == int64:
            return self.compute(node, left.type, f"windlass_multiply({left.text}, {right.text})")
        return self.compute(node, left.type, f"({left.text} * {right.text})")

    # -- one operand --------------------------------------------------------------------------------------------------

    def unary(self, node: ast.UnaryOp) -> HeldValue:
        """`-x`, `+x`, `~x`, `not x`."""
        operand = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self.truth(node, operand)
            if truth.is_constant:
                return constant_number(not truth.constant, boolean)
            return self.compute(node, boolean, f"!{truth.text}")
        if not isinstance(operand.type, KernelNumber):
            raise self.mistyped(node, f"this operator is not there for {operand.type}")
        wanted = promotion.widened(operand.number)
        if isinstance(node.op, ast.Invert):
            return self.invert(node, operand)
        if isinstance(node.op, ast.UAdd):
            return replace(operand, type=wanted, leaves=(convert_number(operand, wanted),))
        return self.negate(node, operand)

    def invert(self, node: ast.AST, operand: HeldValue) -> HeldValue:
        """`~x`."""
        wanted = promotion.widened(operand.number)
        if operand.type == boolean:
            return self.compute(node, boolean, f"!{operand.text}")
        if not wanted.is_integer:
            raise self.mistyped(node, f"'~' takes an integer, not {operand.type}")
        # Numba inverts and negates before it widens, which unsigned numbers show.
        return self.compute(node, wanted, f"({wanted.cpp})({operand.number.cpp})~{operand.text}")

    def negate(self, node: ast.AST, operand: HeldValue) -> HeldValue:
        """`-x`."""
        wanted = promotion.widened(operand.number)
        if operand.is_constant and wanted.kind in "if":
            return constant_number(-operand.constant, wanted)
        number = operand.number
        is_exact = number.kind in "bfc" or (number.kind == "i" and operand.bits < number.bits - 1)
        if (is_exact and operand.bits <= LARGEST_SAFE) or number.kind in "fc":
            return self.compute(node, wanted, f"-{convert_number(operand, wanted)}", bits=operand.bits)
        text = f"({wanted.cpp})({number.cpp})(0 - (unsigned long long){operand.text})"
        return self.compute(node, wanted, text, bits=operand.bits)

    def truth(self, node: ast.AST, value: HeldValue) -> HeldValue:
        """Whether a value counts as true."""
        match value.type:
            case KernelNumber() as number:
                if value.is_constant:
                    return constant_number(bool(value.constant), boolean)
                return value if number == boolean else HeldValue(boolean, (convert_number(value, boolean),))
            case NoneType():
                return constant_number(False, boolean)
            case Tuple(types):
                return constant_number(bool(types), boolean)
            case Known():
                return constant_number(bool(value.constant), boolean)
            case _:
                raise self.mistyped(node, f"{value.type} is neither true nor false")

    # -- comparisons --------------------------------------------------------------------------------------------------

    def compare_all(self, node: ast.Compare) -> HeldValue:
        """A comparison, or a chain of them, each made only if those before it hold."""
        left = self.expression(node.left)
        right = self.expression(node.comparators[0])
        first = self.compare(node, node.ops[0], left, right)
        if len(node.ops) == 1:
            return first
        result = self.out.declare("bool")
        self.out.plain(f"{result} = {first.text};")
        depth = 0
        for op, comparator in zip(node.ops[1:], node.comparators[1:], strict=True):
            self.out.plain(f"if ({result}) {{")
            depth += 1
            left, right = right, self.expression(comparator)
            self.out.plain(f"{result} = {self.compare(node, op, left, right).text};")
        self.out.plain("}" * depth)
        return HeldValue(boolean, (result,), UNKNOWN, True, 1)

    def compare(self, node: ast.AST, op: ast.cmpop, left: HeldValue, right: HeldValue) -> HeldValue:
        """One comparison."""
        if isinstance(op, ast.Is | ast.IsNot):
            is_same = self._is_same(node, left, right)
            return constant_number(is_same != isinstance(op, ast.IsNot), boolean)
        if isinstance(op, ast.In | ast.NotIn):
            found = self._contains(node, right, left)
            if isinstance(op, ast.In):
                return found
            return self.compute(node, boolean, f"!{found.text}")
        symbol = COMPARISONS[type(op)]
        if isinstance(left.type, Tuple) and isinstance(right.type, Tuple) and symbol in ("==", "!="):
            return self._compare_tuples(node, op, left, right)
        if isinstance(left.type, KernelNumber) and isinstance(right.type, KernelNumber):
            wanted = promotion.compared(left.type, right.type)
            if wanted.kind == "c" and symbol not in ("==", "!="):
                raise self.mistyped(node, "complex numbers have no order")
            if left.is_constant and right.is_constant:
                outcome = getattr(
                    operator, {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}[symbol]
                )
                return constant_number(bool(outcome(left.constant, right.constant)), boolean)
            text = f"({convert_number(left, wanted)} {symbol} {convert_number(right, wanted)})"
            return self.compute(node, boolean, text)
        if left.is_constant and right.is_constant and symbol in ("==", "!="):
            return constant_number((left.constant == right.constant) == (symbol == "=="), boolean)
        raise self.mistyped(node, f"'{symbol}' is not there for {left.type} and {right.type}")

    def _is_same(self, node: ast.AST, left: HeldValue, right: HeldValue) -> bool:
        if isinstance(left.type, NoneType) or isinstance(right.type, NoneType):
            return left.type == right.type
        if left.is_constant and right.is_constant:
            return left.constant is right.constant
        raise self.refuse(node, "'is' compares with None only", "compare values with ==")

    def _contains(self, node: ast.AST, container: HeldValue, value: HeldValue) -> HeldValue:
        if not isinstance(container.type, Tuple):
            raise self.refuse(node, f"'in' is there for tuples only, not for {container.type}")
        result = constant_number(False, boolean)
        for part in container.parts():
            equal = self.compare(node, ast.Eq(), part, value)
            result = self.compute(node, boolean, f"({result.text} || {equal.text})")
        return result

    def _compare_tuples(self, node: ast.AST, op: ast.cmpop, left: HeldValue, right: HeldValue) -> HeldValue:
        is_equality = isinstance(op, ast.Eq)
        mine, others = left.parts(), right.parts()
        if len(mine) != len(others):
            return constant_number(not is_equality, boolean)
        result = constant_number(True, boolean)
        for a, b in zip(mine, others, strict=True):
            equal = self.compare(node, ast.Eq(), a, b)
            result = self.compute(node, boolean, f"({result.text} && {equal.text})")
        return result if is_equality else self.compute(node, boolean, f"!{result.text}")

    # -- one of two ---------------------------------------------------------------------------------------------------

    def choose(
        self, node: ast.AST, condition: HeldValue, first: Callable[[], HeldValue], second: Callable[[], HeldValue]
    ) -> HeldValue:
        """The one or the other, whichever the condition says; only that one is computed."""
        if condition.is_constant:
            return first() if condition.constant else second()
        self.out.plain(f"if ({condition.text}) {{")
        one = first()
        end_of_one = self.out.blank()
        self.out.plain("} else {")
        other = second()
        end_of_other = self.out.blank()
        self.out.plain("}")
        type_ = unified(one.type, other.type)
        if isinstance(type_, Unusable):
            raise self.mistyped(node, f"the value can't be used: {type_.reason}")
        return self.merge(type_, [(end_of_one, one), (end_of_other, other)], "t")

    def merge(self, type_: HeldType, ways: list[tuple[list[Any], HeldValue | None]], hint: str) -> HeldValue:
        """A value that comes in on several ways: each assigns to the same new variables at its end."""
        values = [value for _, value in ways if value is not None]
        if all(value == values[0] for value in values) and len(values) == len(ways):
            return values[0]
        if isinstance(type_, Known):
            if all(value.constant is values[0].constant for value in values):
                return values[0]
            return HeldValue(Unusable("it is one thing on one way and another on another"))
        names = tuple(self.out.declare(leaf, hint) for leaf in type_.leaves())
        for place, value in ways:
            if value is not None:
                texts = converted(value, type_)
                place.extend(f"{name} = {text};" for name, text in zip(names, texts, strict=True))
        is_nonnegative = all(value.is_nonnegative for value in values)
        return HeldValue(type_, names, UNKNOWN, is_nonnegative, max(value.bits for value in values))

    def boolean_operation(self, node: ast.BoolOp) -> HeldValue:
        """`and` and `or`, which compute their right side only if they need it."""

        def rest(position: int) -> HeldValue:
            value = self.expression(node.values[position])
            if position == len(node.values) - 1:
                return value
            condition = self.truth(node.values[position], value)
            if isinstance(node.op, ast.And):
                return self.choose(node, condition, lambda: rest(position + 1), lambda: value)
            return self.choose(node, condition, lambda: value, lambda: rest(position + 1))

        return rest(0)
