"""The SSA core that both levels share: types, values, ops, blocks, regions, functions.

It knows no single op: the vocabulary is in `windlass.ops`. Start reading at `core.py`.

Holds afterwards: every value's use counts are right; an op's result types are those that its `infer` gives.
"""

from windlass.ir.builder import Builder, current_builder
from windlass.ir.core import Block, Op, Region, Terminator
from windlass.ir.program import Function, Module
from windlass.ir.types import BufferType, OpaqueType, TensorType, Type, tensor_type
from windlass.ir.values import Argument, Hole, Result, TypeFault, Value

__all__ = [
    "Argument",
    "Block",
    "BufferType",
    "Builder",
    "Function",
    "Hole",
    "Module",
    "Op",
    "OpaqueType",
    "Region",
    "Result",
    "TensorType",
    "Terminator",
    "Type",
    "TypeFault",
    "Value",
    "current_builder",
    "tensor_type",
]
