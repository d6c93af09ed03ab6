"""Arithmetic of the loop level as LLVM instructions, on scalars or on vectors of lanes.

Total where LLVM's instructions are not: division by zero, shifts by the width, floats that no integer holds. Functions
of floats are LLVM's intrinsics where there are some, so that they become the C library's functions, as in the emulator;
else these by name. On vectors some of them may be those of libmvec, which are faster and differ in the last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windlass.ir import Op
from windlass.native.refusal import NotNative
from windlass.native.text import FLOATS, Text, constant, scalar_type, type_suffix
from windlass.ops import special_functions
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert, Convert, bit_width
from windlass.ops.elementwise import (
    Abs,
    Add,
    And,
    CountLeadingZeros,
    Divide,
    IsFinite,
    Multiply,
    Negate,
    Not,
    Or,
    Popcnt,
    Remainder,
    Select,
    ShiftLeft,
    ShiftRightArithmetic,
    ShiftRightLogical,
    Sign,
    Subtract,
    Xor,
)
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.float_functions import (
    CopySign,
    Exp2,
    Exp10,
    Fma,
    Hypot,
    Ilogb,
    Ldexp,
    Log2,
    Log10,
    Logb,
    NearestRemainder,
)
from windlass.ops.functions import (
    Atan2,
    Cbrt,
    Cosine,
    Exponential,
    ExponentialMinusOne,
    Log,
    LogPlusOne,
    Power,
    Rsqrt,
    Sine,
    Sqrt,
    Tan,
    Tanh,
)
from windlass.ops.rounding import Ceil, Floor, RoundNearestAfz, RoundNearestEven

_OF_INTEGERS: dict[type[Op], str] = {Add: "add", Subtract: "sub", Multiply: "mul", And: "and", Or: "or", Xor: "xor"}
_OF_FLOATS: dict[type[Op], str] = {
    Add: "fadd",
    Subtract: "fsub",
    Multiply: "fmul",
    Divide: "fdiv",
    Remainder: "frem",
}
_OF_BOOLEANS: dict[type[Op], str] = {**_OF_INTEGERS, Add: "or", Multiply: "and"}
_SHIFTS: dict[type[Op], str] = {ShiftLeft: "shl", ShiftRightLogical: "lshr", ShiftRightArithmetic: "ashr"}

_INTRINSICS: dict[type[Op], str] = {
    Sqrt: "sqrt",
    Exponential: "exp",
    Exp2: "exp2",
    Exp10: "exp10",
    Log: "log",
    Log2: "log2",
    Log10: "log10",
    Sine: "sin",
    Cosine: "cos",
    Tan: "tan",
    Tanh: "tanh",
    special_functions.Asin: "asin",
    special_functions.Acos: "acos",
    special_functions.Atan: "atan",
    special_functions.Sinh: "sinh",
    special_functions.Cosh: "cosh",
    Atan2: "atan2",
    Power: "pow",
    Fma: "fma",
    CopySign: "copysign",
    Floor: "floor",
    Ceil: "ceil",
    RoundNearestEven: "roundeven",
    RoundNearestAfz: "round",
}
"""Functions of floats that are intrinsics: machine instructions, or the C library's functions of that name."""

_BY_NAME: dict[type[Op], str] = {
    Cbrt: "cbrt",
    ExponentialMinusOne: "expm1",
    LogPlusOne: "log1p",
    Hypot: "hypot",
    NearestRemainder: "remainder",
    Logb: "logb",
    Ilogb: "ilogb",
    Ldexp: "ldexp",
    special_functions.Asinh: "asinh",
    special_functions.Acosh: "acosh",
    special_functions.Atanh: "atanh",
    special_functions.Erf: "erf",
    special_functions.Erfc: "erfc",
    special_functions.Lgamma: "lgamma",
    special_functions.NextAfter: "nextafter",
}
"""Functions of floats that are the C library's, called lane by lane."""

LIBRARY = frozenset(
    name + suffix
    for suffix in ("", "f")
    for name in (*_INTRINSICS.values(), *_BY_NAME.values(), "fmod", "sincos")
)  # fmt: skip
"""What of the C library native code may call."""

_VECTOR_LANES = {"f32": 8, "f64": 4}
_VECTOR_NAMES: dict[type[Op], str] = {
    Exponential: "exp",
    Log: "log",
    Sine: "sin",
    Cosine: "cos",
    Power: "pow",
    Tan: "tan",
    Tanh: "tanh",
    Atan2: "atan2",
    Exp2: "exp2",
    Log2: "log2",
    Log10: "log10",
    Cbrt: "cbrt",
    ExponentialMinusOne: "expm1",
    LogPlusOne: "log1p",
    special_functions.Asin: "asin",
    special_functions.Acos: "acos",
    special_functions.Atan: "atan",
    special_functions.Sinh: "sinh",
    special_functions.Cosh: "cosh",
    special_functions.Asinh: "asinh",
    special_functions.Acosh: "acosh",
    special_functions.Atanh: "atanh",
    special_functions.Erf: "erf",
    special_functions.Erfc: "erfc",
}


def vector_name(kind: type[Op], dtype: str) -> str:
    """What libmvec calls the function on vectors of AVX2's width; "" if it has none."""
    name, lanes = _VECTOR_NAMES.get(kind), _VECTOR_LANES.get(dtype)
    if name is None or lanes is None:
        return ""
    many = "vv" if kind in (Power, Atan2) else "v"
    return f"_ZGVdN{lanes}{many}_{name}{'f' if dtype == 'f32' else ''}"


VECTOR_FUNCTIONS = {vector_name(kind, dtype): name for dtype in _VECTOR_LANES for kind, name in _VECTOR_NAMES.items()}
"""The functions of libmvec that native code may call where there are such: within 4 units in the last place."""


_INSTRUCTIONS = (Sqrt, Fma, CopySign, Floor, Ceil, RoundNearestEven, RoundNearestAfz)


def calls_library(op: Op) -> bool:
    """Whether an op is a function of the C library, and no instruction or two."""
    return (type(op) in _INTRINSICS or type(op) in _BY_NAME) and not isinstance(op, _INSTRUCTIONS)


class Arithmetic:
    """Writes elementwise ops into a text. `vector_functions` are the names of those of libmvec that may be used."""

    def __init__(self, text: Text, vector_functions: frozenset[str] = frozenset()) -> None:
        self.text = text
        self.vector_functions = vector_functions

    def write(self, op: Op, given: Sequence[str], *, is_vector: bool, no_wrap: str = "") -> str:
        """What the op gives for operands that are written already: scalars, or vectors all of them.

        `no_wrap` are LLVM's flags for a sum, a difference or a product of integers that does not wrap around.

        Raises NotNative for ops that are none of elements, and for elements of other types.
        """
        for value in (*op.operands, op):
            if value.dtype not in FLOATS and not value.dtype.lstrip("u").startswith("i"):
                raise NotNative(f"arithmetic on {value.dtype}", op.source)
        return _Instruction(self, op, given, is_vector, no_wrap).write()


class _Instruction:
    """One op on its operands."""

    def __init__(self, arithmetic: Arithmetic, op: Op, given: Sequence[str], is_vector: bool, no_wrap: str) -> None:
        self.text = arithmetic.text
        self.vector_functions = arithmetic.vector_functions
        self.op = op
        self.given = given
        self.is_vector = is_vector
        self.no_wrap = no_wrap
        self.dtype = op.operands[-1].dtype if op.operands else op.dtype
        self.is_float = self.dtype in FLOATS
        self.is_unsigned = self.dtype.startswith("u") or self.dtype == "i1"
        self.type = self.wide(self.dtype)

    # -- pieces -------------------------------------------------------------------------------------------------------

    def wide(self, dtype: str) -> str:
        """The type of a value of that dtype: of one element, or of one in each lane."""
        return self.text.vector(scalar_type(dtype)) if self.is_vector else scalar_type(dtype)

    def suffix(self, dtype: str) -> str:
        return type_suffix(dtype, self.text.width if self.is_vector else 1)

    def number(self, number: object, dtype: str | None = None) -> str:
        dtype = dtype or self.dtype
        plain = constant(number, dtype)
        return f"splat ({scalar_type(dtype)} {plain})" if self.is_vector else plain

    def put(self, instruction: str, *operands: str, type_: str = "") -> str:
        return self.text.put(f"{instruction} {type_ or self.type} {', '.join(operands)}")

    def select(self, condition: str, on_true: str, on_false: str, dtype: str | None = None) -> str:
        type_ = self.wide(dtype or self.dtype)
        return self.text.put(f"select {self.wide('i1')} {condition}, {type_} {on_true}, {type_} {on_false}")

    def intrinsic(self, name: str, *given: str, flags: Sequence[str] = ()) -> str:
        full = f"llvm.{name}.{self.suffix(self.dtype)}"
        return self.text.call(self.type, full, *(f"{self.type} {each}" for each in given), *flags)

    # -- ops ----------------------------------------------------------------------------------------------------------

    def write(self) -> str:
        op, given = self.op, self.given
        kind = type(op)
        found = self.plain(kind)
        if found is not None:
            return found
        match op:
            case Compare():
                return self.compare(op.direction)
            case Select():
                return self.select(*given, dtype=op.dtype)
            case Convert():
                return self.convert(op.dtype)
            case BitcastConvert():
                same = scalar_type(op.dtype) == scalar_type(self.dtype)
                return given[0] if same else self.text.put(f"bitcast {self.type} {given[0]} to {self.wide(op.dtype)}")
            case Maximum() | Minimum():
                return self.extreme("max" if isinstance(op, Maximum) else "min")
            case Not():
                return self.put("xor", given[0], self.number(True if self.dtype == "i1" else -1))
            case Negate():
                return self.put("fneg", given[0]) if self.is_float else self.put("sub", self.number(0), given[0])
            case Abs():
                if self.is_float:
                    return self.intrinsic("fabs", given[0])
                return given[0] if self.is_unsigned else self.intrinsic("abs", given[0], flags=("i1 false",))
            case Sign():
                return self.sign()
            case Popcnt():
                return self.intrinsic("ctpop", given[0])
            case CountLeadingZeros():
                return self.intrinsic("ctlz", given[0], flags=("i1 false",))
            case IsFinite():
                return self.put("fcmp olt", self.intrinsic("fabs", given[0]), self.number(float("inf")))
            case Rsqrt():
                return self.put("fdiv", self.number(1), self.intrinsic("sqrt", given[0]))
            case _:
                raise NotNative(f"{kind.__name__} has no native code", op.source)

    def plain(self, kind: type[Op]) -> str | None:
        """What is one instruction or one call; None for anything else."""
        given = self.given
        table = _OF_FLOATS if self.is_float else _OF_BOOLEANS if self.dtype == "i1" else _OF_INTEGERS
        if kind in table:
            return self.put(table[kind] + self.no_wrap, *given)
        if kind in (Divide, Remainder):
            return self.divide(is_quotient=kind is Divide)
        if kind in _SHIFTS:
            return self.shift(_SHIFTS[kind])
        if kind in _INTRINSICS:
            return self.vector_function(kind) or self.intrinsic(_INTRINSICS[kind], *given)
        if kind in _BY_NAME:
            return self.vector_function(kind) or self.by_lane(_BY_NAME[kind])
        return None

    def compare(self, direction: str) -> str:
        order = direction.lower()
        if self.is_float:
            return self.put(f"fcmp {'u' if order == 'ne' else 'o'}{order}", *self.given)
        sign = "" if order in ("eq", "ne") else "u" if self.is_unsigned else "s"
        return self.put(f"icmp {sign}{order}", *self.given)

    def sign(self) -> str:
        """1 or -1; of zeros and NaN themselves."""
        (value,) = self.given
        if self.is_float:
            one = self.intrinsic("copysign", self.number(1), value)
            return self.select(self.put("fcmp one", value, self.number(0)), one, value)
        is_some = self.put("icmp ne", value, self.number(0))
        if self.is_unsigned:
            return self.select(is_some, self.number(1), value)
        one = self.select(self.put("icmp slt", value, self.number(0)), self.number(-1), self.number(1))
        return self.select(is_some, one, value)

    def extreme(self, which: str) -> str:
        """NaN where one is NaN, and -0 less than 0."""
        if self.dtype == "i1":
            return self.put("or" if which == "max" else "and", *self.given)
        name = f"{which}imum" if self.is_float else f"{'u' if self.is_unsigned else 's'}{which}"
        return self.intrinsic(name, *self.given)

    def divide(self, *, is_quotient: bool) -> str:
        """Division for all operands: x / 0 is all ones, x % 0 is x, and the least number divided by -1 itself."""
        left, right = self.given
        verb = ("u" if self.is_unsigned else "s") + ("div" if is_quotient else "rem")
        known = self.known_divisor()
        if known is not None and known not in (0, -1):
            return self.put(verb, left, right)
        is_zero = self.put("icmp eq", right, self.number(0))
        unsafe = is_zero
        if not self.is_unsigned:
            is_last = self.put("icmp eq", right, self.number(-1))
            is_least = self.put("icmp eq", left, self.number(-(1 << (bit_width(self.dtype) - 1))))
            overflows = self.put("and", is_last, is_least, type_=self.wide("i1"))
            unsafe = self.put("or", is_zero, overflows, type_=self.wide("i1"))
        found = self.put(verb, left, self.select(unsafe, self.number(1), right))
        return self.select(is_zero, self.number(-1) if is_quotient else left, found)

    def known_divisor(self) -> int | None:
        number = self.given[1].removeprefix(f"splat ({scalar_type(self.dtype)} ").removesuffix(")")
        return int(number) if number.lstrip("-").isdigit() else None

    def shift(self, verb: str) -> str:
        """A shift for all amounts: by the width or more only the sign is left."""
        value, amount = self.given
        width = bit_width(self.dtype)
        known = self.known_divisor()
        if known is not None and 0 <= known < width:
            return self.put(verb, value, amount)
        fits = self.put("icmp ult", amount, self.number(width))
        if verb == "ashr":
            return self.put(verb, value, self.select(fits, amount, self.number(width - 1)))
        return self.select(fits, self.put(verb, value, self.select(fits, amount, self.number(0))), self.number(0))

    def convert(self, target: str) -> str:
        (value,), source = self.given, self.dtype
        if scalar_type(target) == scalar_type(source):
            return value
        wanted = self.wide(target)
        if target == "i1":
            return self.put("fcmp une" if self.is_float else "icmp ne", value, self.number(0))
        if self.is_float and target not in FLOATS:
            name = f"llvm.fpto{'u' if target.startswith('u') else 's'}i.sat.{self.suffix(target)}.{self.suffix(source)}"
            return self.text.call(wanted, name, f"{self.type} {value}")
        if target in FLOATS and not self.is_float:
            return self.text.put(f"{'u' if self.is_unsigned else 's'}itofp {self.type} {value} to {wanted}")
        grows = bit_width(target) > bit_width(source)
        if self.is_float:
            verb = "fpext" if grows else "fptrunc"
        else:
            verb = ("zext" if self.is_unsigned else "sext") if grows else "trunc"
        return self.text.put(f"{verb} {self.type} {value} to {wanted}")

    # -- functions ----------------------------------------------------------------------------------------------------

    def vector_function(self, kind: type[Op]) -> str | None:
        """The function on all lanes at once, where libmvec has it: in several calls if its vectors are shorter."""
        lanes = _VECTOR_LANES.get(self.dtype, 0)
        full = vector_name(kind, self.dtype)
        if not self.is_vector or full not in self.vector_functions or self.text.width % lanes:
            return None
        type_ = f"<{lanes} x {scalar_type(self.dtype)}>"

        def call(given: Sequence[str]) -> str:
            return self.text.call(type_, full, *(f"{type_} {each}" for each in given))

        return self.in_parts(lanes, type_, call)

    def in_parts(self, lanes: int, type_: str, call: Callable[[Sequence[str]], str]) -> str:
        """What a function of so many lanes gives for all of them."""
        width = self.text.width
        if lanes == width:
            return call(self.given)
        parts: list[str] = []
        for start in range(0, width, lanes):
            places = ", ".join(f"i32 {place}" for place in range(start, start + lanes))
            parts.append(call([self.part(each, places, lanes) for each in self.given]))
        while len(parts) > 1:
            lanes *= 2
            places = ", ".join(f"i32 {place}" for place in range(lanes))
            parts = [
                self.text.put(f"shufflevector {type_} {left}, {type_} {right}, <{lanes} x i32> <{places}>")
                for left, right in zip(parts[::2], parts[1::2], strict=True)
            ]
            type_ = f"<{lanes} x {scalar_type(self.dtype)}>"
        return parts[0]

    def part(self, value: str, places: str, lanes: int) -> str:
        return self.text.put(f"shufflevector {self.type} {value}, {self.type} poison, <{lanes} x i32> <{places}>")

    def by_lane(self, name: str) -> str:
        """A function of the C library, called for each lane."""
        op = self.op
        if op.operands[0].dtype not in ("f32", "f64"):
            raise NotNative(f"{type(op).__name__} of {op.operands[0].dtype} has no native code", op.source)
        full = name + ("f" if op.operands[0].dtype == "f32" else "")
        result = scalar_type(op.dtype)
        types = [scalar_type(each.dtype) for each in op.operands]
        if not self.is_vector:
            return self.text.call(result, full, *(f"{t} {each}" for t, each in zip(types, self.given, strict=True)))
        found = "poison"
        for lane in range(self.text.width):
            given = [
                f"{t} " + self.text.put(f"extractelement {self.text.vector(t)} {each}, i64 {lane}")
                for t, each in zip(types, self.given, strict=True)
            ]
            one = self.text.call(result, full, *given)
            found = self.text.put(f"insertelement {self.text.vector(result)} {found}, {result} {one}, i64 {lane}")
        return found
