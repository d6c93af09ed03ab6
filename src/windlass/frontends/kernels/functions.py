"""Functions of Python's and NumPy's that are functions of C too, and which types they take and give."""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

UNARY = {
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "asin": "asin",
    "acos": "acos",
    "atan": "atan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "asinh": "asinh",
    "acosh": "acosh",
    "atanh": "atanh",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "log1p": "log1p",
    "sqrt": "sqrt",
    "cbrt": "cbrt",
    "fabs": "fabs",
    "erf": "erf",
    "erfc": "erfc",
    "gamma": "tgamma",
    "lgamma": "lgamma",
}
"""Functions of one real number, by their names in `math`: by their names in C."""

_NUMPY_UNARY = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "rint",
}
_BINARY = {
    "atan2": "atan2",
    "pow": "pow",
    "fmod": "fmod",
    "hypot": "hypot",
    "copysign": "copysign",
    "remainder": "remainder",
    "nextafter": "nextafter",
}
_NUMPY_BINARY = {
    "arctan2": "atan2",
    "hypot": "hypot",
    "copysign": "copysign",
    "fmod": "fmod",
    "nextafter": "nextafter",
}
_TESTS = {"isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite"}
COMPLEX = (
    *("sqrt", "exp", "log", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh"),
)
"""Functions of a complex number."""


_OTHERS: dict[Any, tuple[str, str]] = {
    math.floor: ("whole", "floor"),
    math.ceil: ("whole", "ceil"),
    math.trunc: ("whole", "trunc"),
    math.degrees: ("scaled", "57.29577951308232"),
    math.radians: ("scaled", "0.017453292519943295"),
    np.degrees: ("scaled", "57.29577951308232"),
    np.rad2deg: ("scaled", "57.29577951308232"),
    np.radians: ("scaled", "0.017453292519943295"),
    np.deg2rad: ("scaled", "0.017453292519943295"),
    math.ldexp: ("ldexp", "ldexp"),
    math.frexp: ("frexp", "frexp"),
    math.modf: ("modf", "modf"),
    cmath.phase: ("phase", "atan2"),
    cmath.polar: ("polar", ""),
    cmath.rect: ("rect", ""),
    cmath.isnan: ("test", "isnan"),
    cmath.isinf: ("test", "isinf"),
    cmath.isfinite: ("test", "isfinite"),
    np.angle: ("phase", "atan2"),
    np.equal: ("comparison", "Eq"),
    np.not_equal: ("comparison", "NotEq"),
    np.less: ("comparison", "Lt"),
    np.less_equal: ("comparison", "LtE"),
    np.greater: ("comparison", "Gt"),
    np.greater_equal: ("comparison", "GtE"),
    np.logical_and: ("logic", "&"),
    np.logical_or: ("logic", "|"),
    np.logical_xor: ("logic", "^"),
    np.logical_not: ("logic", "!"),
    np.invert: ("inverse", "~"),
    np.negative: ("inverse", "-"),
    abs: ("absolute", ""),
    np.absolute: ("absolute", ""),
    min: ("smallest", ""),
    max: ("largest", ""),
    np.minimum: ("smallest", ""),
    np.maximum: ("largest", ""),
    np.fmin: ("smallest", ""),
    np.fmax: ("largest", ""),
    round: ("round", ""),
    pow: ("operator", "**"),
    np.power: ("operator", "**"),
    np.add: ("operator", "+"),
    np.subtract: ("operator", "-"),
    np.multiply: ("operator", "*"),
    np.divide: ("operator", "/"),
    np.floor_divide: ("operator", "//"),
    np.mod: ("operator", "%"),
    np.bitwise_and: ("operator", "&"),
    np.bitwise_or: ("operator", "|"),
    np.bitwise_xor: ("operator", "^"),
    np.left_shift: ("operator", "<<"),
    np.right_shift: ("operator", ">>"),
    np.square: ("square", ""),
    np.sign: ("sign", ""),
    np.reciprocal: ("reciprocal", ""),
    np.real: ("part", "real"),
    np.imag: ("part", "imag"),
    np.conjugate: ("conjugate", ""),
    divmod: ("divmod", ""),
    len: ("len", ""),
    print: ("print", ""),
    range: ("range", ""),
    int: ("int", ""),
    float: ("float", ""),
    bool: ("bool", ""),
    complex: ("complex_of", ""),
    tuple: ("tuple", ""),
}


def _named(kind: str, names: Mapping[str, str], *modules: ModuleType) -> dict[Any, tuple[str, str]]:
    """The functions of these names that the modules have, each with its kind and its name in C."""
    return {
        getattr(module, name): (kind, c) for name, c in names.items() for module in modules if hasattr(module, name)
    }


KNOWN_FUNCTIONS = {
    **_named("real", UNARY, math, np),
    **_named("real", _NUMPY_UNARY, np),
    **_named("real2", _BINARY, math),
    **_named("real2", _NUMPY_BINARY, np),
    **_named("test", _TESTS, math, np),
    **_named("complex", {name: name for name in COMPLEX}, cmath),
    **_OTHERS,
}
"""For each function that kernels may call: how it is translated, and its name there."""


ELEMENTWISE = {
    **dict.fromkeys(("real", "test", "complex", "scaled", "square", "sign", "reciprocal", "absolute", "inverse"), 1),
    **dict.fromkeys(("real2", "operator", "comparison", "smallest", "largest"), 2),
}
"""How many arguments functions of NumPy's take that may work on arrays."""


def lookup(function: Any) -> tuple[str, str] | None:
    """How a function is translated; None for functions that there are none of in C."""
    try:
        return KNOWN_FUNCTIONS.get(function)
    except TypeError:
        return None
