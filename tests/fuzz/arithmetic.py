"""C++ arithmetic on expressions: the type and the range of what comes out, or None where behaviour is undefined."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeAlias

from tests.fuzz.trees import BOOL, DOUBLE, FLOAT, INT, CType, Expression

Maybe: TypeAlias = "Expression | None"

LARGEST_FLOAT = 1e15


def literal(value: float, ctype: CType = INT) -> Expression:
    """A constant as one writes it."""
    if ctype.kind == "float":
        text = repr(float(value)) + ("f" if ctype == FLOAT else "")
        grain = 1.0 if value == 0 else math.ldexp(1.0, _trailing(value))
        grain = grain if abs(value) / grain < 2**10 else 0.0
        return Expression(ctype, value, value, (text if value >= 0 else f"({text})",), grain)
    suffix = {"unsigned": "u", "long long": "LL", "size_t": "ul"}.get(ctype.name, "")
    text = f"{value}{suffix}"
    if ctype.bits < 32:
        text = f"({ctype.name}){value}"
    return Expression(ctype, value, value, (text if value >= 0 else f"({text})",))


def _trailing(value: float) -> int:
    """The exponent of the lowest bit that is set."""
    numerator, denominator = float(value).as_integer_ratio()
    return (numerator & -numerator).bit_length() - 1 - (denominator.bit_length() - 1)


def variable(name: str, like: Expression) -> Expression:
    """A name for a value."""
    return replace(like, pieces=(name,))


def promoted(ctype: CType) -> CType:
    """What integers smaller than int become in arithmetic."""
    return INT if ctype.is_integer and ctype.bits < 32 else ctype


def common(a: CType, b: CType) -> CType:
    """The usual arithmetic conversions."""
    if a.kind == "float" or b.kind == "float":
        return DOUBLE if DOUBLE in (a, b) else FLOAT
    a, b = promoted(a), promoted(b)
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if a.kind == "unsigned" else b


def converted(e: Expression, ctype: CType) -> Expression:
    """The value in another type, spelled the same (as an operand of that type's arithmetic); floats to integers where
    it is defined only."""
    if ctype == e.ctype:
        return e
    if ctype.kind == "float":
        if e.ctype.is_integer:
            biggest = max(abs(e.low), abs(e.high))
            grain = 1.0 if biggest <= 2**ctype.precision else 0.0
            return replace(e, ctype=ctype, low=float(e.low), high=float(e.high), grain=grain)
        biggest = max(abs(e.low), abs(e.high))
        exact = e.grain > 0 and biggest / e.grain <= 2**ctype.precision
        margin = 1.0 + 2.0**-20
        low, high = (e.low, e.high) if exact else (_away(e.low, -margin), _away(e.high, margin))
        return replace(e, ctype=ctype, low=low, high=high, grain=e.grain if exact else 0.0)
    if e.ctype.kind == "float":
        low, high = (math.trunc(each) if math.isfinite(each) else each for each in (e.low, e.high))
        return replace(e, ctype=ctype, low=low, high=high, grain=0.0)
    if ctype.low <= e.low and e.high <= ctype.high:
        return replace(e, ctype=ctype)
    return replace(e, ctype=ctype, low=ctype.low, high=ctype.high)


def _away(value: float, margin: float) -> float:
    return value + abs(value) * (abs(margin) - 1) * (1 if margin > 0 else -1)


def cast(e: Expression, ctype: CType) -> Maybe:
    """`(type)e`."""
    is_defined = not e.is_soft and ctype.low <= e.low - 1 and e.high + 1 <= min(ctype.high, 2**31)
    if e.ctype.kind == "float" and ctype.is_integer and not is_defined:
        return None
    return replace(converted(e, ctype), pieces=(f"({ctype.name})(", e, ")"))


def binary(a: Expression, operator: str, b: Expression) -> Maybe:
    """`(a operator b)`."""
    ctype = common(a.ctype, b.ctype)
    if operator in ("<<", ">>"):
        ctype = promoted(a.ctype)
        x, y = converted(a, ctype), b
    else:
        x, y = converted(a, ctype), converted(b, ctype)
    pieces = ("(", a, f" {operator} ", b, ")")
    if ctype.kind == "float":
        return _float_result(x, operator, y, pieces)
    bounds = _integer_bounds(x, operator, y, ctype)
    if bounds is None:
        return None
    low, high = bounds
    if not (ctype.low <= low and high <= ctype.high):
        if ctype.kind == "signed":
            return None
        low, high = ctype.low, ctype.high
    return Expression(ctype, low, high, pieces)


def _integer_bounds(x: Expression, operator: str, y: Expression, ctype: CType) -> tuple[int, int] | None:
    a, b, c, d = int(x.low), int(x.high), int(y.low), int(y.high)
    if operator == "+":
        return a + c, b + d
    if operator == "-":
        return a - d, b - c
    if operator == "*":
        corners = [p * q for p in (a, b) for q in (c, d)]
        return min(corners), max(corners)
    if operator in ("/", "%"):
        if c <= 0 <= d or (a == ctype.low and a < 0 and c <= -1 <= d):
            return None
        if operator == "/":
            corners = [
                int(math.copysign(1, p) * math.copysign(1, q)) * (abs(p) // abs(q)) for p in (a, b) for q in (c, d)
            ]
            return min(0, *corners), max(0, *corners)
        most = max(abs(c), abs(d)) - 1
        return (max(a, -most) if a < 0 else 0), (min(b, most) if b > 0 else 0)
    if operator == "&" and c >= 0:
        return 0, (min(b, d) if a >= 0 else d)
    if operator in ("&", "|", "^"):
        bits = max(each.bit_length() for each in (a, b, c, d))
        return (0 if a >= 0 and c >= 0 else -(1 << bits)), (1 << bits) - 1
    if operator in ("<<", ">>"):
        if c < 0 or d >= ctype.bits:
            return None
        if operator == ">>":
            return min(a >> c, a >> d), max(b >> c, b >> d)
        return min(a << c, a << d), max(b << c, b << d)
    return None


def _float_result(x: Expression, operator: str, y: Expression, pieces: tuple[str | Expression, ...]) -> Maybe:
    a, b, c, d = x.low, x.high, y.low, y.high
    if operator in "+-*/" and not all(map(math.isfinite, (a, b, c, d))):
        return replace(x, low=-math.inf, high=math.inf, pieces=pieces, grain=0.0, is_soft=x.is_soft or y.is_soft)
    grain = min(x.grain, y.grain)
    if operator == "+":
        low, high = a + c, b + d
    elif operator == "-":
        low, high = a - d, b - c
    elif operator == "*":
        corners = [p * q for p in (a, b) for q in (c, d)]
        low, high, grain = min(corners), max(corners), x.grain * y.grain
    elif operator == "/":
        if c < 0.2 and d > -0.2:
            return None
        corners = [p / q for p in (a, b) for q in (c, d)]
        low, high, grain = min(corners), max(corners), 0.0
    else:
        return None
    return rounded(x.ctype, low, high, pieces, grain, x.is_soft or y.is_soft)


def rounded(
    ctype: CType, low: float, high: float, pieces: tuple[str | Expression, ...], grain: float, is_soft: bool
) -> Maybe:
    """A float result of that range, None where it might grow too large."""
    biggest = max(abs(low), abs(high))
    if LARGEST_FLOAT < biggest < math.inf:
        return None
    if not grain or biggest / grain > 2**ctype.precision or grain < 2.0**-40:
        grain, low, high = 0.0, _away(low, -(1 + 1e-6)), _away(high, 1 + 1e-6)
    return Expression(ctype, low, high, pieces, grain, is_soft)


def called(name: str, *arguments: Expression) -> Maybe:
    """`name(arguments)` for the functions that need no more than their arguments' ranges."""
    spelled: list[str | Expression] = [f"{name}("]
    for argument in arguments:
        spelled += [argument, ", "]
    pieces = (*spelled[:-1], ")")
    first = arguments[0]
    if name in ("min", "max", "fminf", "fmaxf", "fmin", "fmax"):
        second = arguments[1]
        pick = min if "min" in name else max
        return replace(
            first,
            low=pick(first.low, second.low),
            high=pick(first.high, second.high),
            grain=min(first.grain, second.grain),
            is_soft=first.is_soft or second.is_soft,
            pieces=pieces,
        )
    if name in ("abs", "fabsf", "fabs"):
        if first.ctype.is_integer and first.low == first.ctype.low:
            return None
        low = 0 if first.low <= 0 <= first.high else min(abs(first.low), abs(first.high))
        return replace(first, low=low, high=max(abs(first.low), abs(first.high)), pieces=pieces)
    if name in ("floorf", "ceilf", "truncf", "rintf", "roundf"):
        if first.is_soft or math.isinf(first.high - first.low):
            return None
        return replace(first, low=math.floor(first.low), high=math.ceil(first.high), pieces=pieces)
    if name in ("sqrtf", "sqrt"):
        if first.low < 0:
            return None
        return replace(first, low=0.0, high=first.high + 1.0, grain=0.0, pieces=pieces)
    return None


def compared(a: Expression, direction: str, b: Expression) -> Maybe:
    """`(a direction b)`; not for soft floats, whose comparison might go either way."""
    if a.is_soft or b.is_soft:
        return None
    return Expression(BOOL, 0, 1, ("(", a, f" {direction} ", b, ")"))


def chosen(condition: Expression, a: Expression, b: Expression) -> Maybe:
    """`(condition ? a : b)`."""
    ctype = common(a.ctype, b.ctype)
    if a.ctype == b.ctype:
        ctype = a.ctype
    x, y = converted(a, ctype), converted(b, ctype)
    return Expression(
        ctype,
        min(x.low, y.low),
        max(x.high, y.high),
        ("(", condition, " ? ", a, " : ", b, ")"),
        min(x.grain, y.grain),
        x.is_soft or y.is_soft,
    )
