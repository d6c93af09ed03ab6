"""Value numbering: values with equal numbers are made in the same way of the same values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from windlass.ir import Block, Op, Value
from windlass.ir.core import Terminator
from windlass.ops import Constant
from windlass.ops.control import Branching


class Numbering:
    """Numbers of values, of one block or of several whose values are compared.

    What branches choose is equal where they choose by the same condition between equal values. Loops, and ops with an
    effect, are equal to themselves only (Alpern, Wegman, Zadeck: Detecting equality of variables in programs, 1988).

    >>> from windlass.ir import Builder
    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Negate
    >>> x, numbering = tensor("f32"), Numbering()
    >>> block = Block()
    >>> with Builder(block):
    ...     first, second, third = Negate(x), Negate(x), Negate(Negate(x))
    >>> numbering.enter(block)
    >>> numbering.number(first) == numbering.number(second) != numbering.number(third)
    True
    """

    def __init__(self) -> None:
        self._numbers: dict[Value, int] = {}
        self._keys: dict[Hashable, int] = {}

    def number(self, value: Value) -> int:
        """The number of a value; outside of the blocks that were entered, only equal constants are equal."""
        found = self._numbers.get(value)
        if found is None:
            key: Hashable = (value.type, value.value) if isinstance(value, Constant) else id(value)
            found = self._numbers[value] = self._keys.setdefault(key, len(self._keys))
        return found

    def suppose_equal(self, values: Sequence[Value], classes: Sequence[int]) -> None:
        """Take those for equal that are of the same class."""
        for value, of in zip(values, classes, strict=True):
            self._number_by(value, ("supposed", of))

    def enter(self, block: Block) -> None:
        """Number what is made in the block."""
        for op in block:
            if isinstance(op, Terminator | Constant) or not op.is_pure:
                continue
            if isinstance(op, Branching):
                self._enter_branches(op)
            elif not op.regions:
                self._enter_op(op)

    def _enter_op(self, op: Op) -> None:
        operands = [self.number(operand) for operand in op.operands]
        key = op.structural_key(operands)
        for place, result in enumerate(op.results):
            self._number_by(result, (key, place))

    def _enter_branches(self, op: Branching) -> None:
        blocks = [region.block for region in op.regions]
        for block in blocks:
            self.enter(block)
        chosen_by = tuple(self.number(operand) for operand in op.operands)
        columns = zip(*(block.terminator.operands for block in blocks), strict=True)
        for result, column in zip(op.results, columns, strict=True):
            self._number_by(result, (type(op), chosen_by, tuple(self.number(value) for value in column)))

    def _number_by(self, value: Value, key: Hashable) -> None:
        self._numbers[value] = self._keys.setdefault(key, len(self._keys))
