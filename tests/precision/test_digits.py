"""Functions to all the digits that limbs have, beside Python's decimal numbers."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

from windlass.ir import Block, Builder, Function, tensor_type
from windlass.ops import Return, evaluate_function
from windlass.precision import Limbs
from windlass.precision.arithmetic import Arithmetic
from windlass.precision.functions import Functions

CASES: list[tuple[str, float, float, Callable[[Decimal], Decimal]]] = [
    ("exp", -20, 20, lambda x: x.exp()),
    ("expm1", -2, 2, lambda x: x.exp() - 1),
    ("log", 0.1, 50, lambda x: x.ln()),
    ("log1p", -0.5, 3, lambda x: (1 + x).ln()),
    ("tanh", -3, 3, lambda x: 1 - 2 / ((2 * x).exp() + 1)),
    ("rsqrt", 0.1, 9, lambda x: 1 / x.sqrt()),
    ("cbrt", 0.1, 9, lambda x: (x.ln() / 3).exp()),
]


@pytest.mark.parametrize(("name", "bits"), [("f32x2", 45), ("f32x3", 70), ("f64x2", 102)])
def test_functions_have_all_digits(name: str, bits: int) -> None:
    limbs, generator, count = Limbs.parse(name), np.random.default_rng(5), 12
    dtype = {"f32": np.float32, "f64": np.float64}[limbs.dtype]
    arrays: list[np.ndarray[Any, Any]] = []
    block = Block([tensor_type((count,), limbs.dtype)] * (limbs.count * len(CASES)))
    functions = Functions(Arithmetic(limbs))
    with Builder(block):
        results: list[Any] = []
        for place, (method, low, high, _) in enumerate(CASES):
            first = generator.uniform(low, high, count).astype(dtype)
            rests = [
                (generator.uniform(-0.4, 0.4, count) * np.abs(first) * 2.0 ** (-limbs.format.digits * order)).astype(
                    dtype
                )
                for order in range(1, limbs.count)
            ]
            arrays += [first, *rests]
            given = tuple(block.arguments[place * limbs.count : (place + 1) * limbs.count])
            results += getattr(functions, method)(given)
        Return(tuple(results))
    with np.errstate(all="ignore"):
        found = evaluate_function(Function("main", block), *arrays)
    with localcontext(prec=70):
        for place, (method, _, _, exact) in enumerate(CASES):
            own = slice(place * limbs.count, (place + 1) * limbs.count)
            for index in range(count):
                x, y = (sum(Decimal(float(limb[index])) for limb in number[own]) for number in (arrays, found))
                meant = exact(Decimal(x))
                assert abs(y - meant) <= abs(meant) * Decimal(2) ** -bits, method
