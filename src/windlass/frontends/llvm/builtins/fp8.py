"""Between float and the 8-bit floats, whose bits are the low byte of an integer."""

from __future__ import annotations

from windlass.frontends.llvm.emitter import Emitter
from windlass.frontends.llvm.registry import builtin
from windlass.ir import Value
from windlass.ops.conversion import BitcastConvert, Convert


@builtin("__windlass_float_to_e4m3")
def float_to_e4m3(emit: Emitter, value: Value) -> Value:
    return _bits_of(Convert(value, "f8E4M3FN"))


@builtin("__windlass_float_to_e5m2")
def float_to_e5m2(emit: Emitter, value: Value) -> Value:
    return _bits_of(Convert(value, "f8E5M2"))


@builtin("__windlass_e4m3_to_float")
def e4m3_to_float(emit: Emitter, code: Value) -> Value:
    return Convert(_number_of(code, "f8E4M3FN"), "f32")


@builtin("__windlass_e5m2_to_float")
def e5m2_to_float(emit: Emitter, code: Value) -> Value:
    return Convert(_number_of(code, "f8E5M2"), "f32")


def _bits_of(value: Value) -> Value:
    return Convert(BitcastConvert(value, "ui8"), "i32")


def _number_of(code: Value, dtype: str) -> Value:
    return BitcastConvert(Convert(code, "ui8"), dtype)
