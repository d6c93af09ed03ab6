"""Programs of wide floats as programs of limbs, op by op.

`Spreader` walks a block and places, where the active builder is, what computes the same on limbs. What that is for an
op its class says (`TensorOp.limbs`), by the name of a form: a function of the spreader and the op that gives, for each
result, its limbs or its new value. Forms register themselves by `form`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.ir import Block, Builder, Op, Region, TensorType, Type, Value, tensor_type
from windlass.ir.captures import captures
from windlass.ir.core import Terminator
from windlass.ops import Return
from windlass.ops.base import COMPLEX_OF_PART, TensorOp
from windlass.precision.arithmetic import Arithmetic
from windlass.precision.conversions import to_number
from windlass.precision.functions import Functions
from windlass.precision.limbs import Limbs, Number
from windlass.precision.writing_out import Writing

Spread: TypeAlias = "Number | Value"
"""What a value became: limbs where it was a wide float, else a value."""
Form: TypeAlias = "Callable[[Spreader, Any], Sequence[Spread]]"

forms: dict[str, Form] = {}
"""How ops are computed on limbs, by the names that their classes give."""


def form(name: str) -> Callable[[Form], Form]:
    """Register a form under the name that op classes say."""

    def enter(function: Form) -> Form:
        forms[name] = function
        return function

    return enter


class Spreader:
    """Places the ops of a block anew, computed with limbs, where the active builder is."""

    def __init__(
        self, limbs: Limbs, builder: Builder, writing: Writing | None = None, found: dict[Value, Spread] | None = None
    ) -> None:
        self.limbs = limbs
        self.builder = builder
        self.arithmetic = Arithmetic(limbs)
        self.functions = Functions(self.arithmetic)
        self.writing = writing or Writing(None)
        self._found: dict[Value, Spread] = {} if found is None else found

    def is_wide(self, value: Value) -> bool:
        """Whether the value becomes limbs."""
        return isinstance(value.type, TensorType) and value.type.dtype == self.limbs.wide

    def enter(self, value: Value, spread: Spread) -> None:
        """Note what a value became."""
        self._found[value] = spread

    def find(self, value: Value) -> Spread:
        """What a value became."""
        return self._found[value]

    def number(self, value: Value) -> Number:
        """The limbs of a value."""
        found = self._found[value]
        assert isinstance(found, tuple)
        return found

    def whole(self, value: Value) -> Number:
        """The limbs of a value, all of them."""
        return self.arithmetic.padded(self.number(value))

    def as_number(self, value: Value) -> Number:
        """The limbs of a value, or of what it is as a wide float."""
        return self.number(value) if self.is_wide(value) else to_number(self.arithmetic, self.value(value))

    def value(self, value: Value) -> Value:
        """What became of a value that is no wide float."""
        found = self._found[value]
        assert isinstance(found, Value)
        return found

    def flat(self, values: Iterable[Value]) -> tuple[Value, ...]:
        """All limbs of values, and the others, one after the other."""
        found: list[Value] = []
        for value in values:
            found.extend(self.whole(value) if self.is_wide(value) else (self.value(value),))
        return tuple(found)

    def flat_types(self, values: Iterable[Value]) -> tuple[Type, ...]:
        """The types of what `flat` gives."""
        found: list[Type] = []
        for value in values:
            if self.is_wide(value):
                found.extend([tensor_type(value.shape, self.limbs.dtype)] * self.limbs.count)
            else:
                found.append(value.type)
        return tuple(found)

    def grouped(self, values: Sequence[Value], flat: Sequence[Value]) -> list[Spread]:
        """The inverse of `flat`: for each value its limbs, or what it became."""
        rest = iter(flat)
        return [
            tuple(next(rest) for _ in range(self.limbs.count)) if self.is_wide(value) else next(rest)
            for value in values
        ]

    def run(self, block: Block) -> None:
        """Place the ops of a block, but for what ends it."""
        for op in block:
            if not isinstance(op, Terminator):
                self.place(op)

    def place(self, op: Op) -> None:
        """Place what one op became."""
        outer = self.builder.source
        self.builder.source = op.source or outer
        if not self._concerns(op):
            seen = {*op.operands, *(value for region in op.regions for value in captures(region))}
            mapping = {value: self.value(value) for value in seen}
            op.clone(mapping)
            for result in op.results:
                self.enter(result, mapping[result])
        else:
            name = op.limbs if isinstance(op, TensorOp) else ""
            function = forms.get(name)
            if function is None:
                raise no_form(op, self.limbs)
            for result, spread in zip(op.results, function(self, op), strict=True):
                if isinstance(spread, tuple) and result is op:
                    spread = self.writing.settle(op, spread)
                self.enter(result, spread)
        self.builder.source = outer

    def _concerns(self, op: Op) -> bool:
        """Whether the op, or one within it, takes or gives wide floats."""
        complex_type = COMPLEX_OF_PART.get(self.limbs.wide)
        for value in (*op.operands, *op.results):
            if isinstance(value.type, TensorType) and value.type.dtype == complex_type:
                raise refused(op, self.limbs, f"computes with complex numbers ({value.type.dtype})", COMPLEX_HELP)
        if any(map(self.is_wide, (*op.operands, *op.results))):
            return True
        return any(is_wide_anywhere(block, self.limbs) for region in op.regions for block in region.blocks)

    def region(self, region: Region, order: Sequence[int] | None = None, *, is_combiner: bool = False) -> Region:
        """A region computed with limbs: each parameter and each result is all its limbs, one after the other.

        One that `is_combiner` says of single elements what becomes of them: nothing is written out in it.
        `order` says, for each of the parameters of the new region, which one it is of those that `flat` would give.
        """
        arguments = region.block.arguments
        types = self.flat_types(arguments)
        order = range(len(types)) if order is None else order
        block = Block([types[place] for place in order])
        placed = dict(zip(order, block.arguments, strict=True))
        given = [placed[place] for place in range(len(types))]
        with Builder(block, source=self.builder.source) as builder:
            inner = Spreader(self.limbs, builder, None if is_combiner else self.writing, dict(self._found))
            for argument, spread in zip(arguments, inner.grouped(arguments, given), strict=True):
                inner.enter(argument, spread)
            inner.run(region.block)
            Return(inner.flat(region.block.terminator.operands))
        return Region(block)

    def along(self, block: Block, given: Sequence[Spread]) -> list[Spread]:
        """What the ops of a block give for what its parameters became, placed where the active builder is."""
        inner = Spreader(self.limbs, self.builder, None, dict(self._found))
        for argument, spread in zip(block.arguments, given, strict=True):
            inner.enter(argument, spread)
        inner.run(block)
        return [inner.find(value) for value in block.terminator.operands]


def is_wide_anywhere(block: Block, limbs: Limbs) -> bool:
    """Whether a block, or one within it, holds values that become limbs, or complex numbers of such."""
    values = (value for op in block.walk() for value in (*op.operands, *op.results))
    wide = (limbs.wide, COMPLEX_OF_PART.get(limbs.wide))
    return any(isinstance(value.type, TensorType) and value.type.dtype in wide for value in values)


# -- what is refused --------------------------------------------------------------------------------------------------

HELP = "leave this part out of the function that is compiled with precision=, or say it by other operations"
COMPLEX_HELP = "compute with the real and the imaginary part as two arrays"


def no_form(op: Op, limbs: Limbs) -> WindlassError:
    """Of an op that there is no form of."""
    name = (op.name or type(op).__name__).rpartition(".")[2]
    return refused(op, limbs, f"has no form with limbs ({name})", HELP)


def refused(op: Op, limbs: Limbs, reason: str, advice: str) -> WindlassError:
    """An error at the op's line: this operation, for this reason."""
    headline = f"precision {str(limbs)!r}: this operation {reason}"
    return WindlassError(Diagnostic("WL0962", headline, op.source, help=advice))
