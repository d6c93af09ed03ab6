"""What takes each other's place in rules that hold both ways: and with or, maximum with minimum, and so on."""

from __future__ import annotations

from windlass.ops import Add, And, Imag, Maximum, Minimum, Multiply, Or, Real, Subtract
from windlass.ops.elementwise import ShiftLeft, ShiftRightLogical
from windlass.rewriting.duals import Exchange
from windlass.rules.splats import false, true

LOGIC = Exchange((And, Or), (true, false), words=(("and", "or"), ("true", "false"), ("True", "False")))

ORDER = Exchange(
    (Maximum, Minimum),
    ("GE", "LE"),
    ("GT", "LT"),
    words=(("maximum", "minimum"), ("max", "min"), ("GE", "LE"), ("GT", "LT"), (" ≥ ", " ≤ "), (" > ", " < ")),
)

SIGNS = Exchange((Add, Subtract), words=(("sum", "difference"), ("add", "subtract"), (" + ", " - "), ("plus", "minus")))

PARTS = Exchange((Real, Imag), words=(("real", "imag"),))

SHIFTS = Exchange((ShiftLeft, ShiftRightLogical), words=(("left", "right"), (" << ", " >> ")))

SUMS_AND_PRODUCTS = Exchange((Add, Multiply), words=(("sum", "product"), (" + ", " · ")))
