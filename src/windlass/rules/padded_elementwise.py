"""Elementwise ops on padded arrays: done on what was padded, and on what it was padded with once."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, Compare, Constant, Elementwise, Exponential, Multiply, Pad, Slice, Tanh
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.pads import is_zero, join_pads
from windlass.rules.splats import is_splat

__all__ = ["Tanh", "tensor"]

x, y, c = hole("x"), hole("y"), hole("c")
low, high, interior = hole("low"), hole("high"), hole("interior")


def _pads_only(op: Pad) -> bool:
    return all(edge >= 0 for edge in (*op.edge_padding_low, *op.edge_padding_high))


def _is_alike(one: Pad, other: Pad) -> bool:
    """Whether two pads put their operands at the same places."""
    return (
        one.operand.shape == other.operand.shape
        and one.edge_padding_low == other.edge_padding_low
        and one.edge_padding_high == other.edge_padding_high
        and one.interior_padding == other.interior_padding
    )


def _sample_of_pads(draw: Draw) -> Elementwise:
    shape = (draw.integer(1, 4), draw.integer(1, 4))
    edges = [tuple(draw.integer(0, 2) for _ in shape) for _ in range(3)]
    made = [Pad(tensor("f32", *shape, name=name), tensor("f32", name=fill), *edges) for name, fill in ("xc", "yd")]
    kind = draw.integer(0, 3)
    if kind == 0:
        return Exponential(made[0])
    second = made[1] if kind == 1 else Constant.of(draw.integer(-2, 2), "f32", made[0].shape)
    if kind == 3:
        return Compare(made[0], second, "LT")
    return draw.choose((Add, Multiply))(made[0], second)


@rewrite(any_op(Elementwise, takes=(Pad,)), sample=_sample_of_pads)
def elementwise_of_pads(op: Elementwise) -> Value | None:
    """f(pad(x, c), pad(y, d)) = pad(f(x, y), f(c, d)), for pads at the same places and numbers

    >>> elementwise_of_pads(Tanh(Pad(tensor("f32", 4), tensor("f32", name="c"), (3,), (2,), (0,))))
    Pad(Tanh(x), Tanh(c), edge_padding_low=(3,), edge_padding_high=(2,), interior_padding=(0,))
    """
    pads = [each for each in op.operands if isinstance(each, Pad)]
    if not pads or not _pads_only(pads[0]) or not all(_is_alike(pads[0], each) for each in pads[1:]):
        return None
    first = pads[0]
    if first.shape != op.shape or not all(map(is_alone, pads)):
        return None
    inner: list[Value] = []
    fills: list[Value] = []
    for each in op.operands:
        if isinstance(each, Pad):
            inner.append(each.operand)
            fills.append(each.padding_value)
        elif isinstance(each, Constant) and is_splat(each):
            inner.append(Constant.of(each.number, each.dtype, first.operand.shape) if each.shape else each)
            fills.append(Constant.of(each.number, each.dtype))
        else:
            return None
    # Where the numbers that are filled in aren't known, the function of them is one more to compute.
    if op.tensor.size <= first.operand.tensor.size + 1:
        return None
    return first.with_operands((op.with_operands(tuple(inner)), op.with_operands(tuple(fills))))


def _sample_product(draw: Draw) -> Multiply:
    rows, columns = draw.integer(1, 3), draw.integer(1, 4)
    padded = Pad(tensor("f32", rows, columns), Constant.of(0, "f32"), (draw.integer(1, 4), 2), (3, 1), (0, 0))
    other = tensor("f32", *padded.shape, name="y")
    return Multiply(*draw.choose(((padded, other), (other, padded))))


@rewrite(Multiply(Pad(x, c, low, high, interior), y), single_use=True, reassociates=True, sample=_sample_product)
def product_with_padded(op: Multiply, x: Value, y: Value, c: Constant) -> Value | None:
    """pad(x, 0) · y = pad(x · slice(y), 0), if less than half of it is x

    >>> padded = Pad(tensor("f32", 2), Constant.of(0, "f32"), (3,), (3,), (0,))
    >>> product_with_padded(Multiply(padded, tensor("f32", 8, name="y"))).operand
    Multiply(x, Slice(y, start_indices=(3,), limit_indices=(5,), strides=(1,)))
    """
    padded = op.lhs if isinstance(op.lhs, Pad) and op.lhs.operand is x else op.rhs
    assert isinstance(padded, Pad)
    if not is_splat(c) or c.number != 0 or not _pads_only(padded) or any(padded.interior_padding):
        return None
    if isinstance(y, Pad | Constant) or 2 * x.tensor.size > op.tensor.size:
        return None
    starts = padded.edge_padding_low
    limits = tuple(start + size for start, size in zip(starts, x.shape, strict=True))
    part = Slice(y, starts, limits, (1,) * len(starts))
    return padded.with_operands((Multiply(x, part), Constant.of(0, c.dtype)))


# -- sums with several pads -------------------------------------------------------------------------------------------


def _sample_sum_with_pads(draw: Draw) -> Add:
    dtype = draw.choose(("f32", "i32"))
    y, zero = tensor(dtype, 7, 2, name="y"), Constant.of(0, dtype)
    at, other = draw.choose(((0, 3), (3, 0), (1, 4), (1, 2), (0, 2)))
    first = Pad(tensor(dtype, 2, 2), zero, (at, 0), (5 - at, 0), (0, 0))
    second = Pad(tensor(dtype, 1, 2, name="z"), zero, (other, 0), (6 - other, 0), (0, 0))
    inner = Add(*draw.choose(((y, first), (first, y))))
    return Add(*draw.choose(((inner, second), (second, inner))))


@rewrite(Add(Add(y, any_op(Pad)), any_op(Pad)), single_use=True, reassociates=True, sample=_sample_sum_with_pads)
def sum_with_several_pads(op: Add) -> Value | None:
    """(y + pad(x, 0)) + pad(z, 0) = y + pad(concatenate(x, 0, z), 0), where x and z lie apart along one axis

    >>> zero, y = Constant.of(0, "f32"), tensor("f32", 9, name="y")
    >>> first = Pad(tensor("f32", 4), zero, (0,), (5,), (0,))
    >>> second = Pad(tensor("f32", 2, name="z"), zero, (4,), (3,), (0,))
    >>> sum_with_several_pads(Add(Add(y, first), second)).rhs.operand
    Concatenate((x, z), dimension=0)
    """
    inner, last = op.operands if isinstance(op.operands[1], Pad) else op.operands[::-1]
    if not isinstance(inner, Add) or not isinstance(last, Pad):
        return None
    kept, before = inner.operands if isinstance(inner.operands[1], Pad) else inner.operands[::-1]
    if not isinstance(before, Pad) or isinstance(kept, Pad):
        return None
    if not (is_zero(before.padding_value) and is_zero(last.padding_value)):
        return None
    joined = join_pads([before, last])
    return None if joined is None else Add(kept, joined)
