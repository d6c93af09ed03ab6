"""Convolutions by long kernels of one row, as products with a banded matrix.

Cut into blocks of b elements, b at least as long as the kernel, each block of the result depends on two blocks of the
input, by the two halves of one matrix whose columns are the kernel, shifted. That takes 4b operations for an element
instead of two for each place of the kernel, but at the speed of matrix products. Measured on two CPU cores, a million
elements by 101 places: convolution 74 ms, shifted copies 10 ms, banded product 3.7 ms; by 1000 places: 282 and 63 ms.

The zeros of the matrix would make infinities NaN in the whole block, so it has to be granted that there are none.
"""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, BroadcastInDim, Constant, Convolution, DotGeneral, Pad, Reshape, Reverse, Slice, Transpose
from windlass.ops.convolution import kernel_size
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.convolutions import convolve, reversed_axes

__all__ = ["tensor"]

SHORTEST = 48
"""Places of kernels for which shifted copies are slower."""
LONGEST = 4096
SMALLEST_BLOCK = 64
FEWEST_BLOCKS = 4


def long_axis(op: Convolution) -> int | None:
    """Which of the spatial axes the kernel extends along, if it is one row that is long enough, of one channel."""
    if op.feature_group_count != 1 or op.batch_group_count != 1 or op.tensor.size == 0 or op.lhs.tensor.size == 0:
        return None
    if op.rhs.tensor.size != kernel_size(op) or not SHORTEST <= kernel_size(op) <= LONGEST:
        return None
    if not op.lhs.dtype == op.rhs.dtype == op.tensor.dtype or op.tensor.dtype not in ("f32", "f64"):
        return None
    along = [index for index, axis in enumerate(op.kernel_spatial_dimensions) if op.rhs.shape[axis] > 1]
    if len(along) != 1:
        return None
    for index in range(len(op.window_strides)):
        if op.window_strides[index] != 1 or op.lhs_dilation[index] != 1:
            return None
        if index != along[0] and op.padding[index] != (0, 0):
            return None
    (index,) = along
    if op.rhs_dilation[index] != 1 or op.tensor.shape[op.output_spatial_dimensions[index]] < FEWEST_BLOCKS * block(op):
        return None
    return index


def block(op: Convolution) -> int:
    """How many elements of the result are computed by one row of the product."""
    size = SMALLEST_BLOCK
    while size < kernel_size(op):
        size *= 2
    return size


def banded(kernel: Value, size: int) -> Value:
    """The matrix of `size` rows and twice as many columns, whose row i is the kernel, shifted by i.

    >>> banded(tensor("f32", 3), 4).shape
    (4, 8)
    """
    row = Pad(kernel, Constant.of(0, kernel.dtype), (0,), (2 * size + 1 - kernel.shape[0],), (0,))
    rows = Reshape(BroadcastInDim(row, (size, 2 * size + 1), (1,)), (size * (2 * size + 1),))
    return Reshape(Slice(rows, (0,), (2 * size * size,), (1,)), (size, 2 * size))


def sample_long_convolution(draw: Draw) -> Convolution:
    """A convolution by a row of 48 places or some more."""
    size, length = draw.integer(SHORTEST, SMALLEST_BLOCK + 2), draw.integer(500, 700)
    if draw.boolean():
        x, kernel = tensor("f32", draw.integer(1, 2), 1, length), tensor("f32", 1, 1, size, name="k")
        padding = ((draw.integer(0, size), draw.integer(0, size)),)
        return convolve(x, kernel, padding=padding, window_reversal=(draw.boolean(),))
    if draw.boolean():
        return convolve(tensor("f32", 1, 1, 3, length), tensor("f32", 1, 1, 1, size, name="k"))
    return convolve(tensor("f32", 1, 1, length, 3), tensor("f32", 1, 1, size, 1, name="k"))


@rewrite(any_op(Convolution), sample=sample_long_convolution, by_cost=True, reassociates=True, assumes="finite")
def convolution_by_long_row(op: Convolution) -> Value | None:
    """convolution(x, k) = blocks(x) · A + next blocks(x) · B, where the columns of A over B are k, shifted

    >>> x, kernel = tensor("f32", 1, 1, 1000), tensor("f32", 1, 1, 60, name="k")
    >>> convolution_by_long_row(convolve(x, kernel)).shape
    (1, 1, 941)
    """
    index = long_axis(op)
    if index is None:
        return None
    size, rank = block(op), op.tensor.rank
    others = [axis for each, axis in enumerate(op.input_spatial_dimensions) if each != index]
    order = (op.input_batch_dimension, op.input_feature_dimension, *others, op.input_spatial_dimensions[index])
    x: Value = Transpose(op.lhs, order) if order != tuple(range(rank)) else op.lhs
    rows, length = x.tensor.size // x.shape[-1], x.shape[-1]
    low, _ = op.padding[index]
    wanted = op.tensor.shape[op.output_spatial_dimensions[index]]
    blocks = -(-wanted // size)
    x = Reshape(x, (rows, length))
    fill = Constant.of(0, x.dtype)
    x = Pad(x, fill, (0, low), (0, (blocks + 1) * size - length - low), (0, 0))
    x = Reshape(x, (rows, blocks + 1, size))
    turned = reversed_axes(op)
    kernel = Reshape(Reverse(op.rhs, turned) if turned else op.rhs, (kernel_size(op),))
    matrix = banded(kernel, size)
    halves: list[Value] = []
    for half in (0, 1):
        part = Slice(x, (0, half, 0), (rows, half + blocks, size), (1, 1, 1))
        band = Slice(matrix, (0, half * size), (size, (half + 1) * size), (1, 1))
        halves.append(DotGeneral(part, band, (), (), (2,), (1,), op.precision_config))
    made = Slice(Reshape(Add(*halves), (rows, blocks * size)), (0, 0), (rows, wanted), (1, 1))
    goal = [op.output_batch_dimension, op.output_feature_dimension]
    goal += [axis for each, axis in enumerate(op.output_spatial_dimensions) if each != index]
    goal.append(op.output_spatial_dimensions[index])
    result = Reshape(made, tuple(op.tensor.shape[axis] for axis in goal))
    return Transpose(result, tuple(goal.index(axis) for axis in range(rank)))
