"""Which numbers are written out before they are read, on CPUs.

XLA:CPU makes one loop for each array that it writes, and computes in it anew whatever is not written. Of numbers of
several limbs that is dear: a product is some thirty operations, and both limbs need nearly all of them. So what costs
much and is read more than once is handed through a call (`windlass.lowering.settling`). A pair goes as one complex
number: a single loop then computes both limbs. It also bounds what XLA has to compile as one loop.
"""

from __future__ import annotations

from windlass.ir import Op, TensorType, Value
from windlass.lowering.settling import Settling
from windlass.ops import Complex, Imag, Real
from windlass.ops.base import TensorOp
from windlass.precision.limbs import Number

OPERATIONS = {"add": 25, "subtract": 25, "multiply": 30, "square": 30, "divide": 40, "sqrt": 30, "fma": 60}
"""Of a form on pairs, about; functions take `FUNCTION`."""
FUNCTION = 500
CHEAP = frozenset({"each", "constant", "iota", "compare", "convert", "negate", "abs", "first"})
WHOLE = frozenset({"fold", "dot", "convolution", "sort", "combine", "while", "branches"})
"""What these give is written out anyway."""

WORTH_WRITING = 25
"""So many operations take longer than to write a number and to read it again."""
MOST_IN_LOOP = 1500
"""Loops of more operations take long to compile."""


class Writing:
    """Decides for the values of a program, in order, and writes."""

    def __init__(self, settling: Settling | None) -> None:
        self._settling = settling
        self._operations: dict[Value, int] = {}
        """How many operations a value takes, from what has been written."""

    def cost_of(self, op: Op) -> int:
        """Operations that the op's results take from what has been written."""
        name = op.limbs if isinstance(op, TensorOp) else ""
        if name in WHOLE:
            return 0
        own = 0 if name in CHEAP else OPERATIONS.get(name, FUNCTION)
        return own + sum(self._operations.get(operand, 0) for operand in dict.fromkeys(op.operands))

    def settle(self, op: Op, found: Number) -> Number:
        """The limbs of an op's result, written out if it is worth it."""
        if self._settling is None:
            return found
        cost = self.cost_of(op)
        self._operations[op] = cost
        users = list(op.uses)
        is_read_again = len(users) > 1 or any(_reads_badly(user) for user in users)
        if cost < WORTH_WRITING or not (is_read_again or cost > MOST_IN_LOOP):
            return found
        if len(users) > 1 and all(user.is_elementwise for user in users) and cost <= 2 * WORTH_WRITING:
            return found
        self._operations[op] = 0
        return self.write(found)

    def write(self, x: Number) -> Number:
        """The limbs, two in one call."""
        if self._settling is None or not isinstance(x[0].type, TensorType):
            return x
        found: list[Value] = []
        for place in range(0, len(x), 2):
            high = x[place]
            if place + 1 == len(x):
                found.append(self._settling.settle(high))
            else:
                pair = self._settling.settle(Complex(high, x[place + 1]))
                found += [Real(pair), Imag(pair)]
        return tuple(found)


def _reads_badly(user: Op) -> bool:
    """Whether an op reads a value more than once, or cannot compute it along."""
    name = user.limbs if isinstance(user, TensorOp) else ""
    if name in ("dot", "convolution", "sort", "combine", "while", "branches"):
        return True
    return type(user).__name__ in ("BroadcastInDim", "Gather", "DynamicSlice", "DynamicUpdateSlice")
