"""Running blocks and functions on NumPy arrays, op by op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windlass.ir.core import Block, Op, Region
from windlass.ir.program import Function, Module
from windlass.ir.values import Value

Array = NDArray[Any]


def evaluate_function(function: Function, *arrays: Any, module: Module | None = None) -> tuple[Array, ...]:
    """What the function returns for these arguments; `module` is where the functions are found that it calls.

    Raises NotImplementedError at ops that have no meaning on arrays alone.
    """
    values = [
        np.asarray(array, argument.tensor.numpy_dtype) if isinstance(array, int | float | bool) else np.asarray(array)
        for array, argument in zip(arrays, function.arguments, strict=True)
    ]
    return evaluate_block(function.body, values, {}, module)


def evaluate_block(
    block: Block, arrays: Sequence[Any], outside: dict[Value, Any] | None = None, module: Module | None = None
) -> tuple[Any, ...]:
    """The values at the block's terminator. `outside` holds values that ops use from enclosing blocks."""
    values = dict(outside) if outside else {}
    values.update(zip(block.arguments, arrays, strict=True))
    op = block.first
    assert op is not None
    while op is not block.last:
        run_op(op, values, module)
        op = op.next
        assert op is not None
    return tuple(values[operand] for operand in op.operands)


def run_op(op: Op, values: dict[Value, Any], module: Module | None) -> None:
    """Evaluate one op and enter its results into `values`."""
    operands = [values[operand] for operand in op.operands]
    if getattr(op, "needs_scope", False):
        result = op.evaluate(*operands, scope=Scope(values, module))
    else:
        result = op.evaluate(*operands)
    if isinstance(result, tuple):
        values.update(zip(op.results, result, strict=True))
    else:
        values[op] = result


class Scope:
    """What a region sees around it: values of enclosing blocks and the module's functions."""

    __slots__ = ("module", "values")

    def __init__(self, values: dict[Value, Any] | None = None, module: Module | None = None) -> None:
        self.values = values or {}
        self.module = module

    def run(self, region: Region, *arrays: Any) -> tuple[Any, ...]:
        """The values at the end of the region's only block."""
        return evaluate_block(region.block, arrays, self.values, self.module)


def is_pointwise(region: Region) -> bool:
    """Whether the region, written for scalars, works as well on whole arrays: elementwise ops and constants only."""
    block = region.block
    return all(op.is_elementwise or not op.operands for op in block if op is not block.last)


def run_pointwise(region: Region, scope: Scope, *arrays: Array) -> tuple[Array, ...]:
    """The region, written for scalars, applied at each place of arrays of one shape."""
    shape = arrays[0].shape
    if is_pointwise(region):
        found = scope.run(region, *arrays)
        return tuple(np.broadcast_to(each, shape) for each in found)
    results: list[Array] = []
    for place in np.ndindex(*shape):
        found = scope.run(region, *(array[place].reshape(()) for array in arrays))
        if not results:
            results = [np.empty(shape, np.asarray(each).dtype) for each in found]
        for result, each in zip(results, found, strict=True):
            result[place] = each
    if not results:
        block = region.block
        return tuple(np.empty(shape, operand.tensor.numpy_dtype) for operand in block.terminator.operands)
    return tuple(results)
