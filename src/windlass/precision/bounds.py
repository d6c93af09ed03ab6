"""How far results with limbs may be from exact ones, by the names of forms.

In units of u², where u is half a unit in the last place of one limb (2^-24 of f32): relative to the result, for two
limbs and numbers in the range of normal ones. Of arithmetic they are proved (see `arithmetic`); of functions they are
measured and rounded up: `tests/precision` holds every form to its bound.
"""

from __future__ import annotations

PROVED = {
    "add": 3.0,
    "subtract": 3.0,
    "multiply": 5.0,
    "square": 5.0,
    "divide": 9.8,
    "sqrt": 3.125,
}
"""By Joldes, Muller and Popescu (2017), and Lefèvre, Louvet, Muller, Picot and Rideau (2023) for roots."""

EXACT = frozenset(
    {
        "abs", "ceil", "clamp", "compare", "constant", "convert", "copy_sign", "each", "first", "floor", "iota",
        "maximum", "minimum", "negate", "remainder", "round_nearest_away", "round_nearest_even",
    }
)  # fmt: skip
"""What gives the exact number, or the nearest one that the limbs can say."""

MEASURED = {
    "acos": 12.0,
    "acosh": 24.0,
    "asin": 12.0,
    "asinh": 24.0,
    "atan": 12.0,
    "atan2": 12.0,
    "atanh": 24.0,
    "cbrt": 12.0,
    "cosh": 16.0,
    "cosine": 12.0,
    "exponential": 12.0,
    "exponential_base_10": 12.0,
    "exponential_base_2": 16.0,
    "exponential_minus_one": 12.0,
    "hypot": 24.0,
    "log": 12.0,
    "log_base_10": 16.0,
    "log_base_2": 16.0,
    "log_plus_one": 16.0,
    "logistic": 24.0,
    "power": 24.0,
    "rsqrt": 16.0,
    "sine": 12.0,
    "sinh": 24.0,
    "tan": 24.0,
    "tanh": 24.0,
}
