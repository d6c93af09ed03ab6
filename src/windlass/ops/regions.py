"""Making the regions that reductions, sorts and loops take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from windlass.ir.builder import Builder
from windlass.ir.core import Block, Op, Region, Terminator
from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.base import TensorOp
from windlass.ops.elementwise import Add, And, Multiply, Or
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.loop_writer import LoopWriter
from windlass.ops.sampling import Draw


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


def combiner_region(combiner: Callable[[Value, Value], Value], dtype: str) -> Region:
    """The region of a reduction of one tensor by a binary op, such as `Add`."""
    return make_region([tensor_type((), dtype)] * 2, combiner)


def combiner_of(region: Region) -> type[Op] | None:
    """The class of the one op that the region applies to its two scalar parameters, if that is all it does.

    >>> from windlass.ops.elementwise import Add
    >>> combiner_of(combiner_region(Add, "f32")).__name__
    'Add'
    """
    if len(region.blocks) != 1:
        return None
    block = region.blocks[0]
    op = block.first
    if op is None or op.next is not block.last or len(block.arguments) != 2 or op.regions:
        return None
    if block.terminator.operands != (op,):
        return None
    first, second = block.arguments
    straight = op.operands == (first, second)
    crossed = op.operands == (second, first) and op.is_commutative
    # A body may convert or compare: only an op that takes and gives the same type combines.
    return type(op) if (straight or crossed) and op.type is first.type is second.type else None


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


def identity_of(combiner: type[Op], dtype: str) -> Any:
    """The number that leaves others unchanged under an op: 0 for Add, -inf for Maximum.

    Raises KeyError where the op has no such number.
    """
    import numpy as np

    from windlass.ir.types import NUMPY_DTYPES

    numpy_dtype = NUMPY_DTYPES[dtype]
    if dtype == "i1":
        least, most = False, True
    elif numpy_dtype.kind in "iu":
        least, most = int(np.iinfo(numpy_dtype).min), int(np.iinfo(numpy_dtype).max)
    elif numpy_dtype.kind == "c":
        least, most = complex(-np.inf), complex(np.inf)
    else:
        least, most = -np.inf, np.inf
    all_bits = True if dtype == "i1" else (-1 if dtype.startswith("i") else most)
    identities: dict[str, Any] = {
        "Add": 0,
        "Multiply": 1,
        "Maximum": least,
        "Minimum": most,
        "Or": 0,
        "Xor": 0,
        "And": all_bits,
    }
    return np.array(identities[combiner.__name__]).astype(numpy_dtype)[()]


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


def sample_reducer(draw: Draw, dtypes: list[str]) -> Region:
    """A reducer that is associative and commutative; two inputs get the maximum of the first and the sum of the second,
    or each its own op."""
    choices = (Or, And) if set(dtypes) == {"i1"} else (Add, Maximum, Minimum, Multiply)
    combiners = [draw.choose((Or, And) if dtype == "i1" else choices) for dtype in dtypes]
    scalars = [tensor_type((), dtype) for dtype in dtypes]

    def body(*values: Value) -> tuple[Value, ...]:
        count = len(dtypes)
        pairs = zip(combiners, values[:count], values[count:], strict=True)
        return tuple(combiner(left, right) for combiner, left, right in pairs)

    return make_region([*scalars, *scalars], body)
