"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

from windlass.frontends.llvm.emitter import Emitter
from windlass.frontends.llvm.registry import builtin
from windlass.ir import Value
from windlass.ops.functions import Atan2, Cosine, Sine, Tan, Tanh
from windlass.ops.special_functions import Acos, Acosh, Asin, Asinh, Atan, Atanh, Cosh, Sinh


@builtin("llvm.sin", "sin", "sinf", "llvm.nvvm.sin.approx.f", "llvm.nvvm.sin.approx.ftz.f")
def sine(emit: Emitter, value: Value) -> Value:
    return Sine(value)


@builtin("llvm.cos", "cos", "cosf", "llvm.nvvm.cos.approx.f", "llvm.nvvm.cos.approx.ftz.f")
def cosine(emit: Emitter, value: Value) -> Value:
    return Cosine(value)


@builtin("llvm.tan", "tan", "tanf")
def tangent(emit: Emitter, value: Value) -> Value:
    return Tan(value)


@builtin("llvm.asin", "asin", "asinf")
def arc_sine(emit: Emitter, value: Value) -> Value:
    return Asin(value)


@builtin("llvm.acos", "acos", "acosf")
def arc_cosine(emit: Emitter, value: Value) -> Value:
    return Acos(value)


@builtin("llvm.atan", "atan", "atanf")
def arc_tangent(emit: Emitter, value: Value) -> Value:
    return Atan(value)


@builtin("llvm.atan2", "atan2", "atan2f")
def angle(emit: Emitter, y: Value, x: Value) -> Value:
    return Atan2(y, x)


@builtin("llvm.sinh", "sinh", "sinhf")
def hyperbolic_sine(emit: Emitter, value: Value) -> Value:
    return Sinh(value)


@builtin("llvm.cosh", "cosh", "coshf")
def hyperbolic_cosine(emit: Emitter, value: Value) -> Value:
    return Cosh(value)


@builtin("llvm.tanh", "tanh", "tanhf", "llvm.nvvm.tanh.approx.f")
def hyperbolic_tangent(emit: Emitter, value: Value) -> Value:
    return Tanh(value)


@builtin("asinh", "asinhf")
def area_sine(emit: Emitter, value: Value) -> Value:
    return Asinh(value)


@builtin("acosh", "acoshf")
def area_cosine(emit: Emitter, value: Value) -> Value:
    return Acosh(value)


@builtin("atanh", "atanhf")
def area_tangent(emit: Emitter, value: Value) -> Value:
    return Atanh(value)
