"""Matrix products of numbers of several limbs.

Ozaki's way: operands are cut into slices of so few bits that products of slices, and sums of as many as are
contracted, are exact in one limb, in whatever order a device makes them. So all but the last few additions are plain
matrix products (Ozaki, Ogita, Oishi, Rump, Error-free transformations of matrix multiplication, 2012). Products with
vectors, which read each number once, are made element by element instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windlass.ir import Value
from windlass.ops import (
    Abs,
    Add,
    Constant,
    Convert,
    Convolution,
    DotGeneral,
    IsFinite,
    Maximum,
    Multiply,
    Negate,
    Pad,
    Reshape,
    RoundNearestEven,
    Subtract,
    Transpose,
)
from windlass.ops.base import BroadcastInDim
from windlass.ops.movement import slice_along
from windlass.ops.reduction import reduce_with
from windlass.precision.folds import LEVELS_IN_LOOP
from windlass.precision.limbs import Number
from windlass.precision.spreading import HELP, Spread, Spreader, refused
from windlass.precision.transforms import sum_with_error

MOST_CONTRACTED = 1024
"""Longer contractions are cut into several, whose results are added."""
FEW = 4
"""Contractions of so few are made element by element."""
HIGHEST = ("HIGHEST", "HIGHEST")
MOST_IN_WINDOW = 1 << 16
"""Products of a convolution: slices of more would be too short."""


def multiply_matrices(spreader: Spreader, op: DotGeneral) -> Sequence[Spread]:
    """The product, by slices or element by element."""
    limbs = spreader.limbs
    batch = [op.lhs.shape[axis] for axis in op.lhs_batching_dimensions]
    rows = [op.lhs.shape[axis] for axis in op.lhs_free_dimensions]
    columns = [op.rhs.shape[axis] for axis in op.rhs_free_dimensions]
    b, m, n = math.prod(batch), math.prod(rows), math.prod(columns)
    k = math.prod(op.lhs.shape[axis] for axis in op.lhs_contracting_dimensions)
    left = _arranged(
        spreader.as_number(op.lhs),
        (*op.lhs_batching_dimensions, *op.lhs_free_dimensions, *op.lhs_contracting_dimensions),
        (b, m, k),
    )
    right = _arranged(
        spreader.as_number(op.rhs),
        (*op.rhs_batching_dimensions, *op.rhs_contracting_dimensions, *op.rhs_free_dimensions),
        (b, k, n),
    )
    if not b * m * n * k:
        found: Number = (Constant.of(0, limbs.dtype, (b, m, n)),)
    elif min(m, n) == 1 or k <= FEW:
        found = _by_elements(spreader, left, right)
    else:
        found = _by_slices(spreader, left, right)
    shaped = tuple(Reshape(limb, op.shape) for limb in found)
    return (shaped if spreader.is_wide(op) else Convert(shaped[0], op.tensor.dtype),)


def _arranged(x: Number, order: tuple[int, ...], shape: tuple[int, ...]) -> Number:
    return tuple(Reshape(Transpose(limb, order), shape) for limb in x)


def _by_elements(spreader: Spreader, left: Number, right: Number) -> Number:
    """All products, and their sums as trees."""
    (b, m, k), n = left[0].shape, right[0].shape[2]
    shape = (b, m, k, n)
    a = spreader.arithmetic
    x = tuple(BroadcastInDim(limb, shape, (0, 1, 2)) for limb in left)
    y = tuple(BroadcastInDim(limb, shape, (0, 2, 3)) for limb in right)
    return tuple(Reshape(limb, (b, m, n)) for limb in sum_along(spreader, a.multiply(x, y), 2))


def sum_along(spreader: Spreader, x: Number, axis: int) -> Number:
    """The sum along an axis, which becomes one of size 1: halves are added until one is left."""
    a, rests, levels = spreader.arithmetic, list[Number](), 0
    while (size := x[0].shape[axis]) > 1:
        half, is_odd = divmod(size, 2)
        if is_odd:
            rests.append(tuple(slice_along(limb, axis, 2 * half, size) for limb in x))
        lower = tuple(slice_along(limb, axis, 0, half) for limb in x)
        x = a.add(lower, tuple(slice_along(limb, axis, half, 2 * half) for limb in x))
        levels += 1
        if levels % LEVELS_IN_LOOP == 0:
            x = spreader.writing.write(x)
    for rest in rests:
        x = a.add(x, rest)
    return x


def _by_slices(spreader: Spreader, left: Number, right: Number) -> Number:
    (b, m, k), n = left[0].shape, right[0].shape[2]
    chunks = -(-k // MOST_CONTRACTED)
    if chunks > 1:
        # The pieces count as batches, and are added afterwards.
        size = -(-k // chunks)
        left = tuple(Reshape(_lengthened(limb, 2, chunks * size), (b, m, chunks, size)) for limb in left)
        left = tuple(Reshape(Transpose(limb, (0, 2, 1, 3)), (b * chunks, m, size)) for limb in left)
        right = tuple(Reshape(_lengthened(limb, 1, chunks * size), (b * chunks, size, n)) for limb in right)
    found = _exact_products(spreader, left, right)
    if chunks > 1:
        found = sum_along(spreader, tuple(Reshape(limb, (b, chunks, m, n)) for limb in found), 1)
    return tuple(Reshape(limb, (b, m, n)) for limb in found)


def _lengthened(value: Value, axis: int, size: int) -> Value:
    """With zeros at the end of an axis."""
    high = [0] * len(value.shape)
    high[axis] = size - value.shape[axis]
    zero = Constant.of(0, value.dtype)
    return Pad(value, zero, (0,) * len(high), tuple(high), (0,) * len(high)) if high[axis] else value


def _exact_products(spreader: Spreader, left: Number, right: Number) -> Number:
    """lhs[b, m, k] and rhs[b, k, n]"""

    def product(x: Value, y: Value) -> Value:
        return DotGeneral(x, y, (0,), (0,), (2,), (1,), HIGHEST)

    return _sum_of_slices(
        spreader, _Sliced(left, (2,), (0, 1)), _Sliced(right, (1,), (0, 2)), left[0].shape[2], product
    )


def convolve(spreader: Spreader, op: Convolution) -> Sequence[Spread]:
    """As a matrix product, with one exponent for all of an operand. Raises WindlassError (WL0962)."""
    left, right = spreader.as_number(op.lhs), spreader.as_number(op.rhs)
    kernel = op.rhs.shape
    count = kernel[op.kernel_input_feature_dimension] * math.prod(kernel[axis] for axis in op.kernel_spatial_dimensions)
    if count > MOST_IN_WINDOW:
        raise refused(op, spreader.limbs, f"adds {count} products for each result: no more than {MOST_IN_WINDOW}", HELP)
    if not count or not op.tensor.size:
        return ((Constant.of(0, spreader.limbs.dtype, op.shape),),)

    def product(x: Value, y: Value) -> Value:
        return op.with_fields((x, y), dtype=x.dtype, precision_config=HIGHEST)

    whole = [_Sliced(each, tuple(range(len(each[0].shape))), ()) for each in (left, right)]
    found = _sum_of_slices(spreader, whole[0], whole[1], count, product)
    return (found if spreader.is_wide(op) else Convert(found[0], op.tensor.dtype),)


@dataclass(frozen=True)
class _Sliced:
    """An operand; the axes along which it has one exponent; and, of its others, the places in the result."""

    number: Number
    axes: tuple[int, ...]
    places: tuple[int, ...]


def _sum_of_slices(
    spreader: Spreader, left: _Sliced, right: _Sliced, contracted: int, product: Callable[[Value, Value], Value]
) -> Number:
    """A product that is linear in both operands and adds so many products of their elements for each result."""
    exact, digits = spreader.arithmetic.unguarded, spreader.limbs.format.digits
    bits = (digits + 2 - (contracted - 1).bit_length()) // 2
    count = -(-(spreader.limbs.digits + 3) // bits)
    xs, left_exponent = _slices(spreader, left, bits, count)
    ys, right_exponent = _slices(spreader, right, bits, count)
    total: Number | None = None
    for order in reversed(range(count)):  # the smallest first
        scale = 2.0 ** (4 - bits * (order + 2))
        for place in range(order + 1):
            made = product(xs[place], ys[order - place])
            part = (Multiply(made, Constant.splat(scale, made.type)),)
            total = exact.add(total, part) if total else part
    assert total is not None
    shape = total[0].shape
    exponent = Add(
        BroadcastInDim(left_exponent, shape, left.places), BroadcastInDim(right_exponent, shape, right.places)
    )
    found = spreader.functions.scaled(total, exponent)
    plain = product(left.number[0], right.number[0])
    return exact.select(IsFinite(plain), found, (plain,))


def _slices(spreader: Spreader, x: _Sliced, bits: int, count: int) -> tuple[list[Value], Value]:
    """Integers of so many bits with their sign, each a slice of the number, and the exponents.

    The number is 2^exponent · Σ slice[i] · 2^(2 - bits · (i + 1)), as far as `count` slices go.
    """
    first = x.number[0]
    dtype, shape = first.dtype, first.shape
    exponent = spreader.functions.exponent_of(reduce_with(Maximum, Abs(first), x.axes))
    kept = tuple(axis for axis in range(len(shape)) if axis not in x.axes)
    high, *lows = spreader.functions.scaled(x.number, Negate(BroadcastInDim(exponent, shape, kept)))
    found: list[Value] = []
    for place in range(count):
        unit = 2.0 ** (2 - bits * (place + 1))
        whole = RoundNearestEven(Multiply(high, Constant.of(1 / unit, dtype, shape)))
        found.append(whole)
        high = Subtract(high, Multiply(whole, Constant.of(unit, dtype, shape)))
        for index, low in enumerate(lows):
            high, lows[index] = sum_with_error(high, low)
    return found, exponent
