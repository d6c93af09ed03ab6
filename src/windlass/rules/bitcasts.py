"""Bits read as another element type of the same width, after what makes fewer elements of them."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import BitcastConvert, BroadcastInDim, DynamicSlice, Reshape, Slice, Transpose
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import Sizes

x, dtype, shape, permutation = hole("x"), hole("dtype"), hole("shape"), hole("permutation")
start, limit, stride = hole("start"), hole("limit"), hole("stride")
starts, sizes, dimensions = hole("starts"), hole("sizes"), hole("dimensions")


def sample_slice_of_bitcast(draw: Draw) -> Slice:
    """A slice of floats read as integers."""
    words = BitcastConvert(tensor("f32", 4, 3), draw.choose(("i32", "ui32")))
    return Slice(words, **Slice.sample(draw, words.tensor))


@rewrite(Slice(BitcastConvert(x, dtype), start, limit, stride), single_use=True, sample=sample_slice_of_bitcast)
def slice_of_bitcast(op: Slice, x: Value, dtype: str, start: Sizes, limit: Sizes, stride: Sizes) -> Value | None:
    """slice(bitcast_convert(x), a, b) = bitcast_convert(slice(x, a, b)), for types of the same width

    >>> slice_of_bitcast(Slice(BitcastConvert(tensor("f32", 9), "i32"), (0,), (2,), (1,)))
    BitcastConvert(Slice(x, start_indices=(0,), limit_indices=(2,), strides=(1,)), dtype='i32')
    """
    return BitcastConvert(Slice(x, start, limit, stride), dtype) if op.operand.shape == x.shape else None


def sample_part_of_bitcast(draw: Draw) -> DynamicSlice:
    """A part of floats read as integers."""
    words = BitcastConvert(tensor("f32", 4, 3), "i32")
    return DynamicSlice(words, (tensor("i32", name="i"), tensor("i32", name="j")), (draw.integer(1, 4), 3))


@rewrite(DynamicSlice(BitcastConvert(x, dtype), starts, sizes), single_use=True, sample=sample_part_of_bitcast)
def dynamic_slice_of_bitcast(
    op: DynamicSlice, x: Value, dtype: str, starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(bitcast_convert(x), i) = bitcast_convert(dynamic_slice(x, i)), for types of the same width

    >>> words = BitcastConvert(tensor("f32", 9), "i32")
    >>> dynamic_slice_of_bitcast(DynamicSlice(words, (tensor("i32", name="i"),), (2,)))
    BitcastConvert(DynamicSlice(x, (i,), slice_sizes=(2,)), dtype='i32')
    """
    if op.operand.shape != x.shape or 0 in x.shape:
        return None
    return BitcastConvert(DynamicSlice(x, starts, sizes), dtype)


@rewrite(BitcastConvert(Reshape(x, shape), dtype), single_use=True)
def bitcast_of_reshape(op: BitcastConvert, x: Value, shape: Sizes, dtype: str) -> Value | None:
    """bitcast_convert(reshape(x)) = reshape(bitcast_convert(x)), for types of the same width

    >>> bitcast_of_reshape(BitcastConvert(Reshape(tensor("f32", 2, 3), (6,)), "i32"))
    Reshape(BitcastConvert(x, dtype='i32'), shape=(6,))
    """
    return Reshape(BitcastConvert(x, dtype), shape) if op.shape == shape else None


@rewrite(BitcastConvert(Transpose(x, permutation), dtype), single_use=True)
def bitcast_of_transpose(op: BitcastConvert, x: Value, permutation: Sizes, dtype: str) -> Value | None:
    """bitcast_convert(transpose(x, p)) = transpose(bitcast_convert(x), p), for types of the same width

    >>> bitcast_of_transpose(BitcastConvert(Transpose(tensor("f32", 2, 3), (1, 0)), "i32"))
    Transpose(BitcastConvert(x, dtype='i32'), permutation=(1, 0))
    """
    return Transpose(BitcastConvert(x, dtype), permutation) if op.shape == op.operand.shape else None


@rewrite(BitcastConvert(BroadcastInDim(x, shape, dimensions), dtype))
def bitcast_of_broadcast(op: BitcastConvert, x: Value, shape: Sizes, dimensions: Sizes, dtype: str) -> Value | None:
    """bitcast_convert(broadcast(x)) = broadcast(bitcast_convert(x)), for types of the same width

    >>> bitcast_of_broadcast(BitcastConvert(BroadcastInDim(tensor("f32"), (9,), ()), "i32"))
    BroadcastInDim(BitcastConvert(x, dtype='i32'), shape=(9,), broadcast_dimensions=())
    """
    if op.shape != shape or x.tensor.size >= op.tensor.size:
        return None
    return BroadcastInDim(BitcastConvert(x, dtype), shape, dimensions)
