"""The functions of numbers that expressions may call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from windlass.ir import Value
from windlass.ops import (
    Abs,
    Atan2,
    Ceil,
    Cosine,
    Exponential,
    ExponentialMinusOne,
    Floor,
    Log,
    Logistic,
    LogPlusOne,
    Maximum,
    Minimum,
    Power,
    Rsqrt,
    Sign,
    Sine,
    Sqrt,
    Tan,
    Tanh,
)
from windlass.ops.combiners import extreme_of_numbers


@dataclass(frozen=True)
class ElementFunction:
    """How many numbers it takes, whether these have to be floats, and the op that it is."""

    count: int
    of_floats: bool
    build: Callable[..., Value]


def _fmax(left: Value, right: Value) -> Value:
    return extreme_of_numbers(Maximum, left, right) if left.tensor.is_float else Maximum(left, right)


def _fmin(left: Value, right: Value) -> Value:
    return extreme_of_numbers(Minimum, left, right) if left.tensor.is_float else Minimum(left, right)


FUNCTIONS: dict[str, ElementFunction] = {
    **{
        name: ElementFunction(1, True, op)
        for name, op in (
            ("exp", Exponential),
            ("expm1", ExponentialMinusOne),
            ("log", Log),
            ("log1p", LogPlusOne),
            ("sqrt", Sqrt),
            ("rsqrt", Rsqrt),
            ("sin", Sine),
            ("cos", Cosine),
            ("tan", Tan),
            ("tanh", Tanh),
            ("sigmoid", Logistic),
            ("floor", Floor),
            ("ceil", Ceil),
        )
    },
    "pow": ElementFunction(2, True, Power),
    "atan2": ElementFunction(2, True, Atan2),
    "abs": ElementFunction(1, False, Abs),
    "sign": ElementFunction(1, False, Sign),
    "max": ElementFunction(2, False, Maximum),
    "min": ElementFunction(2, False, Minimum),
    "fmax": ElementFunction(2, False, _fmax),
    "fmin": ElementFunction(2, False, _fmin),
}
"""`max` and `min` give NaN if one operand is NaN, as NumPy's do; `fmax` and `fmin` give the other one, as C's do."""

SELECT = "select"
"""`select(condition, yes, no)`: another spelling of `condition ? yes : no`."""
