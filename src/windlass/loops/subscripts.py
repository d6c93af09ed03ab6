"""Where elements of typed memory are: by their subscripts, as the source has them, and not by bytes alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windlass.ir import Type, TypeFault, Value, tensor_type
from windlass.loops.base import expect_scalar
from windlass.ops.base import Array, TensorOp
from windlass.ops.conversion import byte_width
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply
from windlass.ops.loop_writer import LoopWriter


class Subscript(TensorOp):
    """A place in memory, `start + index·stride + …` in bytes: an i64, which wraps around as such sums do.

    `tile[i][j + 1]` of `float tile[16][17]` is `Subscript((i, j), (68, 4), 4)`. Strides and start are multiples of the
    width of what is accessed there; nothing is said of how large the indices are.

    >>> i, j = Constant.of(2, "i64"), Constant.of(3, "i64")
    >>> int(Subscript((i, j), (68, 4), 4).evaluate(np.int64(2), np.int64(3)))
    152
    """

    name = "windlass.subscript"
    indices: tuple[Value, ...]
    strides: tuple[int, ...]
    start: int = 0

    def infer(self) -> Type:
        for index in self.indices:
            expect_scalar(index, "i64", "a subscript")
        if len(self.indices) != len(self.strides):
            raise TypeFault(f"{len(self.indices)} subscripts with {len(self.strides)} strides")
        return tensor_type((), "i64")

    def evaluate(self, *indices: Array) -> Array:
        total = np.asarray(self.start, np.int64)
        with np.errstate(over="ignore"):
            for index, stride in zip(indices, self.strides, strict=True):
                total = total + index * np.int64(stride)
        return np.asarray(total)

    def expand(self) -> Value:
        """The products and sums that it stands for, as ops of their own."""
        total: Value | None = None
        for index, stride in zip(self.indices, self.strides, strict=True):
            term = index if stride == 1 else Multiply(index, Constant.of(stride, "i64"))
            total = term if total is None else Add(total, term)
        if total is not None and not self.start:
            return total
        start = Constant.of(self.start, "i64")
        return start if total is None else Add(total, start)

    def write_loop(self, writer: LoopWriter) -> None:
        """Only the bytes, where they are asked for: accesses write the subscripts themselves."""
        if any(getattr(user, "buffer", None) not in writer.memories for user in self.uses):
            indices = [writer.use(index) for index in self.indices]
            writer.names[self] = write_sum(writer, indices, self.strides, self.start, "i64")


def write_sum(writer: LoopWriter, values: Sequence[str], factors: Sequence[int], start: int, type_: str) -> str:
    """The name of `start + value·factor + …`."""
    total = ""
    for value, factor in zip(values, factors, strict=True):
        if factor != 1:
            number = writer.once(f"arith.constant {factor} : {type_}")
            value = writer.once(f"arith.muli {value}, {number} : {type_}")
        total = writer.once(f"arith.addi {total}, {value} : {type_}") if total else value
    if start or not total:
        number = writer.once(f"arith.constant {start} : {type_}")
        total = writer.once(f"arith.addi {total}, {number} : {type_}") if total else number
    return total


def write_place(writer: LoopWriter, buffer: Value, offset: Value, dtype: str) -> tuple[str, str]:
    """A scalar's place in memory, `%tile[%i]`, and the type of that memory."""
    if buffer not in writer.memories:
        place, type_ = writer.view(buffer, offset, dtype)
        return f"{place}[]", type_
    assert isinstance(offset, Subscript)
    width = byte_width(dtype)
    indices = [writer.once(f"arith.index_cast {writer.use(each)} : i64 to index") for each in offset.indices]
    element = write_sum(writer, indices, [each // width for each in offset.strides], offset.start // width, "index")
    return f"{writer.use(buffer)}[{element}]", writer.type_of(buffer)


def counts_elements(offset: Value, width: int) -> bool:
    """Whether an offset is told as the place of a whole element of that width.

    >>> from windlass.ir.values import Argument
    >>> i = Argument(tensor_type((), "i64"))
    >>> [counts_elements(each, 4) for each in (Subscript((i,), (12,), 4), Subscript((i,), (2,)), Constant.of(8, "i64"))]
    [True, False, False]
    """
    return isinstance(offset, Subscript) and all(each % width == 0 for each in (*offset.strides, offset.start))
