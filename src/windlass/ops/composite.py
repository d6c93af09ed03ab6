"""Ops that other ops define: functions that kernels call, and that StableHLO has no name for.

They are one op each, whose meaning, cost and derivative can be asked for, in what derivatives are made of. In a program
that is compiled `expand_composites` puts the ops that define them in their place: no float passes through the bits of
an integer before. Within text that is read again they are calls by their names (`call_composites`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from windlass.ir import Block, Builder, Function, Op, TensorType, Type, Value, tensor_type
from windlass.ir.types import NUMPY_DTYPES
from windlass.ops.base import Array
from windlass.ops.comparison import Compare
from windlass.ops.conversion import Convert
from windlass.ops.creation import Constant
from windlass.ops.custom_call import CustomCall
from windlass.ops.elementwise import Add, Not, Select, Subtract
from windlass.ops.evaluation import evaluate_block
from windlass.ops.pointwise import Elementwise
from windlass.ops.regions import Return


class Expander:
    """Makes the ops that define others, on tensors of one shape."""

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        self.shape = shape

    def constant(self, number: Any, dtype: str) -> Value:
        """The number in every element; integers wrap around."""
        return Constant.of(wrapped_number(number, dtype), dtype, self.shape)

    def add(self, left: Value, right: Value) -> Value:
        return Add(left, right)

    def subtract(self, left: Value, right: Value) -> Value:
        return Subtract(left, right)

    def compare(self, left: Value, right: Value, direction: str) -> Value:
        return Compare(left, right, direction)

    def negation(self, value: Value) -> Value:
        """The opposite of booleans."""
        return Not(value)

    def select(self, condition: Value, on_true: Value, on_false: Value) -> Value:
        return Select(condition, on_true, on_false)

    def extend_signed(self, value: Value, dtype: str) -> Value:
        """An integer in a type that is no narrower."""
        return value if value.dtype == dtype else Convert(value, dtype)


def wrapped_number(number: Any, dtype: str) -> Array:
    """The number in an element type; integers wrap around, floats round.

    >>> wrapped_number(2**31, "i32")
    array(-2147483648, dtype=int32)
    """
    target = NUMPY_DTYPES[dtype]
    if target.kind in "iu" and isinstance(number, int):
        bits = 8 * target.itemsize
        number %= 1 << bits
        if target.kind == "i" and number >> (bits - 1):
            number -= 1 << bits
    with np.errstate(over="ignore"):
        return np.array(number, target)


class Composite(Elementwise):
    """Base of the ops that others define."""

    dtypes: ClassVar[frozenset[str]] = frozenset({"f16", "bf16", "f32", "f64"})
    effort: ClassVar[int] = 16

    def infer(self) -> Type:
        first = self._operands[0].type
        for operand in self._operands:
            if operand.type is not first or not isinstance(first, TensorType) or first.dtype not in self.dtypes:
                self.fault("", f"does not take {', '.join(str(each.type) for each in self._operands)}")
        return first

    def expand(self, emit: Expander, *operands: Value) -> Value:
        """The ops that define it, for these operands."""
        raise NotImplementedError

    def evaluate(self, *arrays: Array) -> Array:
        """What the ops that define it give."""
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        types = tuple(tensor_type(shape, operand.dtype) for operand in self._operands)
        (result,) = evaluate_block(define(type(self), types), [np.broadcast_to(array, shape) for array in arrays])
        return result


@functools.lru_cache(maxsize=256)
def define(cls: type[Composite], types: tuple[TensorType, ...]) -> Block:
    """A block that takes operands of these types and returns what the op gives for them.

    >>> from windlass.ops import CopySign
    >>> [type(op).__name__ for op in define(CopySign, (tensor_type((), "f32"),) * 2) if op.operands]
    ['BitcastConvert', 'And', 'BitcastConvert', 'And', 'Or', 'BitcastConvert', 'Return']
    """
    block = Block(types)
    with Builder(Block()):
        op = cls(*block.arguments)
    builder = Builder(block)
    builder.nested = []  # The block stays, even if it is made while a rule is tried.
    with builder:
        Return((op.expand(Expander(op.tensor.shape), *block.arguments),))
    op.drop_operands()
    return block


def expand_composites(block: Block) -> None:
    """Put in the place of each composite, here and in regions, the ops that define it.

    >>> from windlass.ops import Fma
    >>> block = Block([tensor_type((8,), "f32")] * 3)
    >>> with Builder(block):
    ...     _ = Return((Fma(*block.arguments),))
    >>> expand_composites(block)
    >>> {type(op).__name__ for op in block} >= {"Multiply", "BitcastConvert"}, any(isinstance(op, Fma) for op in block)
    (True, False)
    """
    for op in [*block]:
        for region in op.regions:
            for inner in region.blocks:
                expand_composites(inner)
        if isinstance(op, Composite):
            with Builder(block, before=op, source=op.source):
                found = op.expand(Expander(op.tensor.shape), *op.operands)
            op.replace_all_uses_with(found)
            op.erase()


def holds_composites(function: Function) -> bool:
    """Whether an op of the function, at any depth, is one that others define."""
    return any(isinstance(op, Composite) for op in function.walk())


def call_composites(block: Block) -> None:
    """Let each composite, here and in regions, be a call that `restore_composites` knows again."""
    _replace_all(block, lambda op: CustomCall(op.operands, op.name, (op.type,)) if isinstance(op, Composite) else None)


def restore_composites(block: Block) -> None:
    """The inverse of `call_composites`.

    >>> from windlass.ops import Fma
    >>> block = Block([tensor_type((8,), "f32")] * 3)
    >>> with Builder(block):
    ...     _ = Return((Fma(*block.arguments),))
    >>> call_composites(block)
    >>> [type(op).__name__ for op in block]
    ['CustomCall', 'Return']
    >>> restore_composites(block)
    >>> [type(op).__name__ for op in block]
    ['Fma', 'Return']
    """
    known = {cls.name: cls for cls in _kinds_of(Composite)}

    def restored(op: Op) -> Op | None:
        cls = known.get(op.call_target_name) if isinstance(op, CustomCall) else None
        return None if cls is None else cls(*op.operands)

    _replace_all(block, restored)


def _replace_all(block: Block, replacement: Callable[[Op], Op | None]) -> None:
    for op in [*block]:
        for region in op.regions:
            for inner in region.blocks:
                _replace_all(inner, replacement)
        with Builder(block, before=op, source=op.source):
            made = replacement(op)
        if made is not None:
            op.results[0].replace_all_uses_with(made.results[0])
            op.erase()


def _kinds_of(cls: type[Composite]) -> list[type[Composite]]:
    return [each for kind in cls.__subclasses__() for each in (kind, *_kinds_of(kind)) if each.name]
