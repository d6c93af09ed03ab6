"""Exponentials, logarithms, powers."""

from __future__ import annotations

from windlass.frontends.llvm.emitter import Emitter, number_of
from windlass.frontends.llvm.registry import builtin
from windlass.ir import Value
from windlass.ops.conversion import Convert
from windlass.ops.elementwise import Divide, Multiply
from windlass.ops.float_functions import Exp2, Exp10, Hypot, Log2, Log10
from windlass.ops.functions import Cbrt, Exponential, ExponentialMinusOne, Log, LogPlusOne, Power


@builtin("llvm.exp", "exp", "expf")
def exponential(emit: Emitter, value: Value) -> Value:
    return Exponential(value)


@builtin("expm1", "expm1f")
def exponential_minus_one(emit: Emitter, value: Value) -> Value:
    return ExponentialMinusOne(value)


@builtin("llvm.exp2", "exp2", "exp2f", "llvm.nvvm.ex2.approx.f", "llvm.nvvm.ex2.approx.ftz.f")
def exponential_of_two(emit: Emitter, value: Value) -> Value:
    return Exp2(value)


@builtin("llvm.exp10", "exp10", "exp10f")
def exponential_of_ten(emit: Emitter, value: Value) -> Value:
    return Exp10(value)


@builtin("llvm.log", "log", "logf")
def logarithm(emit: Emitter, value: Value) -> Value:
    return Log(value)


@builtin("log1p", "log1pf")
def logarithm_plus_one(emit: Emitter, value: Value) -> Value:
    return LogPlusOne(value)


@builtin("llvm.log2", "log2", "log2f", "llvm.nvvm.lg2.approx.f")
def logarithm_of_two(emit: Emitter, value: Value) -> Value:
    return Log2(value)


@builtin("llvm.log10", "log10", "log10f")
def logarithm_of_ten(emit: Emitter, value: Value) -> Value:
    return Log10(value)


# -- powers -----------------------------------------------------------------------------------------------------------


@builtin("llvm.pow", "pow", "powf")
def power(emit: Emitter, base: Value, exponent: Value) -> Value:
    known = number_of(exponent)
    if known == 2:
        return Multiply(base, base)
    return Power(base, exponent)


@builtin("llvm.powi")
def integer_power(emit: Emitter, base: Value, exponent: Value) -> Value:
    """By multiplication where the exponent is a small constant."""
    known = number_of(exponent)
    if known is not None and -16 <= known <= 16:
        count = abs(int(known))
        result: Value = emit.constant(1, base.dtype)
        is_first = True
        factor = base
        while count:
            if count & 1:
                result = factor if is_first else Multiply(result, factor)
                is_first = False
            count >>= 1
            if count:
                factor = Multiply(factor, factor)
        return result if known >= 0 else Divide(emit.constant(1, base.dtype), result)
    return Power(base, Convert(exponent, base.dtype))


@builtin("cbrt", "cbrtf")
def cube_root(emit: Emitter, value: Value) -> Value:
    return Cbrt(value)


@builtin("hypot", "hypotf")
def hypotenuse(emit: Emitter, left: Value, right: Value) -> Value:
    return Hypot(left, right)
