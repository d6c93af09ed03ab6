"""Making the regions that reductions, sorts and loops take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from windlass.ir.builder import Builder
from windlass.ir.core import Block, Op, Region, Terminator
from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.base import TensorOp
from windlass.ops.loop_writer import LoopWriter


def make_region(types: Iterable[Type], body: Callable[..., Value | tuple[Value, ...]]) -> Region:
    """A region with parameters of these types; `body` makes its ops from them and gives what it returns.

    >>> from windlass.ops.elementwise import Add
    >>> region = make_region([tensor_type((), "f32")] * 2, Add)
    >>> [type(op).__name__ for op in region.block]
    ['Add', 'Return']
    """
    block = Block(types)
    with Builder(block):
        found = body(*block.arguments)
        Return(found if isinstance(found, tuple) else (found,))
    return Region(block)


def check_reducer(op: TensorOp, region: Region, dtypes: list[str], constraint: str) -> tuple[str, ...]:
    """The element types that a reducer for inputs of these element types gives; checks its parameters."""
    block = region.block
    count = len(dtypes)
    if len(block.arguments) != 2 * count:
        op.fault(constraint, f"the body takes {len(block.arguments)} parameters")
    returned = block.terminator.operands
    if len(returned) != count:
        op.fault(constraint, f"the body gives {len(returned)} values for {count} inputs")
    found: list[str] = []
    for value in returned:
        type_ = value.type
        scalar = isinstance(type_, TensorType) and type_.rank == 0
        if not scalar:
            op.fault(constraint, f"the body gives {type_}, not a scalar")
        found.append(value.dtype)
    for argument, dtype in zip(block.arguments, (*found, *found), strict=True):
        if argument.type is not tensor_type((), dtype):
            op.fault(constraint, f"the body takes {argument.type} but gives {dtype}")
    return tuple(found)


class Return(TensorOp, Terminator):
    """Ends a function or a region with its results."""

    name = "stablehlo.return"
    operands: tuple[Value, ...]  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]
    is_pure: ClassVar[bool] = False

    def infer(self) -> tuple[Type, ...]:
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        writer.line("return")


Op.by_name["func.return"] = Return
