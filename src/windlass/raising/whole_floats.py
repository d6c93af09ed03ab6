"""Floats that are an index and a constant, exactly: coordinates of textures, and whatever else goes from whole numbers
to floats and back.

`(int)floor(float(i) + 0.5)` is `i` again, and stays symbolic: memory that is reached through it is sliced. What a float
value stands for is noted beside the tensor that holds it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from windlass.affine.index import Index
from windlass.affine.predicate import FALSE, TRUE
from windlass.facts.integers import fit
from windlass.ir import Op
from windlass.ops.comparison import Compare
from windlass.ops.conversion import Convert
from windlass.ops.elementwise import Add, Subtract
from windlass.ops.rounding import Floor
from windlass.raising.items import Item, is_integer
from windlass.raising.lanes import Lanes

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

_DIGITS = {"f32": 24, "f64": 53}
"""Whole numbers of so many bits are exact."""
_MOST_FRACTION_BITS = 8


def note_whole_float(state: RaisingState, op: Op, items: list[Item], numbers: list[Any | None], result: Item) -> None:
    """Note what the float that an op gave stands for, if that is known."""
    if not isinstance(result, Lanes) or op.dtype not in _DIGITS:
        return
    found: tuple[Index, float] | None = None
    match op, items:
        case Convert(), [Index() as index]:
            found = (index, 0.0)
        case Add(), [Lanes() as a, Lanes() as b]:
            found = _shifted(state, a, numbers[1], 1) or _shifted(state, b, numbers[0], 1)
        case Subtract(), [Lanes() as a, Lanes()]:
            found = _shifted(state, a, numbers[1], -1)
        case Floor(), [Lanes() as a]:
            inner = _known(state, a)
            found = None if inner is None else (inner[0] + math.floor(inner[1]), 0.0)
        case _:
            return
    if found is not None and _is_exact(state, *found, op.dtype):
        state.memo.whole_floats[result.value] = (result, *found)


def whole_result(state: RaisingState, op: Op, items: list[Item], numbers: list[Any | None]) -> Item | None:
    """What a comparison with a number, or a conversion to integers, gives for a float that is an index and a constant.

    None where that is not known.
    """
    if not items or not isinstance(items[0], Lanes):
        return None
    inner = _known(state, items[0])
    if inner is None:
        return None
    index, constant = inner
    lower, upper = index.value_range(state.box)
    if isinstance(op, Convert) and is_integer(op.dtype):
        # Rounds toward zero.
        if constant != math.floor(constant) and lower + constant < 0:
            return None
        return fit(index + math.floor(constant), op.dtype, state.box)
    if isinstance(op, Compare) and numbers[1] is not None:
        return _compare(op.direction, lower + constant, upper + constant, float(numbers[1]))
    return None


def _compare(direction: str, lower: float, upper: float, number: float) -> Item | None:
    """Whether a comparison holds for all numbers of a range, or for none."""
    always = {
        "LT": upper < number,
        "LE": upper <= number,
        "GT": lower > number,
        "GE": lower >= number,
        "NE": upper < number or lower > number,
    }
    never = {
        "LT": lower >= number,
        "LE": lower > number,
        "GT": upper <= number,
        "GE": upper < number,
        "EQ": upper < number or lower > number,
    }
    return TRUE if always.get(direction) else FALSE if never.get(direction) else None


def _known(state: RaisingState, lanes: Lanes) -> tuple[Index, float] | None:
    entry = state.memo.whole_floats.get(lanes.value)
    if entry is None or entry[0].dims != lanes.dims or entry[0].lower != lanes.lower:
        return None
    return entry[1], entry[2]


def _shifted(state: RaisingState, lanes: Lanes, number: Any | None, sign: int) -> tuple[Index, float] | None:
    inner = _known(state, lanes)
    if inner is None or number is None or not math.isfinite(number):
        return None
    return inner[0], inner[1] + sign * float(number)


def _is_exact(state: RaisingState, index: Index, constant: float, dtype: str) -> bool:
    """Whether no operation rounded: the sum is a multiple of a small power of two, and small."""
    scale = 2**_MOST_FRACTION_BITS
    if not index.is_static or abs(constant) >= 2**20 or constant * scale != math.floor(constant * scale):
        return False
    fraction_bits = next(bits for bits in range(_MOST_FRACTION_BITS + 1) if (constant * 2**bits).is_integer())
    lower, upper = index.value_range(state.box)
    return (max(abs(lower), abs(upper)) + abs(constant) + 1) * 2**fraction_bits < 2 ** _DIGITS[dtype]
