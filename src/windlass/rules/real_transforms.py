"""Fourier transforms of real numbers, at half the work.

The transform X of real numbers is Hermitian: X[-k] is the conjugate of X[k] (Oppenheim and Schafer, Discrete-Time
Signal Processing, 8.6.4). One half of it tells the other, and its inverse is real.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from windlass.facts.structure import remember
from windlass.facts.terms import evaluate_term
from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Abs,
    Add,
    BroadcastInDim,
    Complex,
    Concatenate,
    Conj,
    Constant,
    Convert,
    Divide,
    DynamicUpdateSlice,
    Fft,
    Imag,
    Iota,
    Multiply,
    Negate,
    Pad,
    Real,
    Reshape,
    Reverse,
    Slice,
    Subtract,
    Transpose,
)
from windlass.ops.base import COMPLEX_OF_PART, TensorOp
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite

x, y = hole("x"), hole("y")
length = hole("length")

LEAST_ROWS = 8
"""Transforms at once: libraries do the complex ones of a single row about as fast as the real ones."""
LARGEST_FACTOR = 48
DEEPEST = 12
MOST_TABLE_OPS = 60
LARGEST_TABLE = 1 << 20
"""Elements of constants that are looked through."""
LARGEST_NEW_TABLE = 1 << 14
"""Elements of constants that are made, which are loaded where they were computed before."""


def is_real(value: Value) -> bool:
    """Whether complex numbers are seen to have no imaginary part."""
    if isinstance(value, Convert):
        return not value.operand.tensor.is_complex
    if isinstance(value, Complex):
        return isinstance(value.rhs, Constant) and value.rhs.is_splat and bool(value.rhs.number == 0)
    if isinstance(value, BroadcastInDim | Reshape | Slice | Negate | Transpose):
        return is_real(value.operand)
    return isinstance(value, Constant) and not np.imag(value.array).any()


def real_part(value: Value) -> Value:
    """The part of numbers that `is_real`."""
    if isinstance(value, Convert) and COMPLEX_OF_PART.get(value.operand.dtype) == value.dtype:
        return value.operand
    return Real(value)


def conjugate(value: Value) -> Value:
    return Complex(Real(value), Negate(Imag(value)))


def is_hermitian(value: Value, count: int, depth: int = 0) -> bool:
    """Whether value[-k] is seen to be the conjugate of value[k] along the last `count` axes.

    >>> is_hermitian(Fft(Convert(tensor("f32", 8), "complex<f32>"), "FFT", (8,)), 1)
    True
    """
    if depth > DEEPEST or not isinstance(value, Op) or not value.tensor.is_complex or not value.tensor.size:
        return False
    return remember(value, f"hermitian along {count}", lambda: _is_hermitian(value, count, depth + 1), is_lasting=True)


def _is_hermitian(value: Op, count: int, deeper: int) -> bool:
    match value:
        case Fft():
            return value.fft_type in ("FFT", "IFFT") and len(value.fft_length) == count and is_real(value.operand)
        case Add() | Subtract() | Multiply() | Divide() if not _is_table(value):
            return all(is_hermitian(operand, count, deeper) for operand in value.operands)
        case Negate() | Conj() if not _is_table(value):
            return is_hermitian(value.operand, count, deeper)
        case Reshape() if value.operand.shape[-count:] == value.shape[-count:]:
            return is_hermitian(value.operand, count, deeper)
        case Slice() if value.operand.shape[-count:] == value.shape[-count:]:
            return is_hermitian(value.operand, count, deeper)
        case Concatenate() if value.dimension < len(value.shape) - count:
            return all(is_hermitian(part, count, deeper) for part in value.inputs)
        case Complex(lhs=Real(operand=z), rhs=Negate(operand=Imag(operand=same))) if same is z:
            return is_hermitian(z, count, deeper)
        case DynamicUpdateSlice() if not _is_table(value):
            return _is_at_zero(value, count) and is_hermitian(value.operand, count, deeper)
        case BroadcastInDim() if not _is_table(value):
            if all(axis < len(value.shape) - count for axis in value.broadcast_dimensions):
                return is_real(value.operand)
            return _keeps_last_axes(value, count) and is_hermitian(value.operand, count, deeper)
        case _:
            return _is_table(value) and _is_hermitian_table(value, count)


def _keeps_last_axes(op: BroadcastInDim, count: int) -> bool:
    last = tuple(range(len(op.shape) - count, len(op.shape)))
    return op.broadcast_dimensions[-count:] == last and op.operand.shape[-count:] == op.shape[-count:]


def _is_at_zero(op: DynamicUpdateSlice, count: int) -> bool:
    """Whether only the number for the frequency 0 is replaced, by a real one."""
    starts = op.start_indices[-count:]
    is_first = all(isinstance(start, Constant) and start.number <= 0 for start in starts)
    return is_first and all(size == 1 for size in op.update.shape[-count:]) and is_real(op.update)


TABLE_OPS = (
    BroadcastInDim, Concatenate, Constant, DynamicUpdateSlice, Iota, Pad, Reshape, Reverse, Slice, Transpose,
)  # fmt: skip


def _is_table(value: Value) -> bool:
    """Whether it's made of constants only, by few ops, and not large."""
    pending, seen = [value], set[Value]()
    while pending:
        each = pending.pop()
        if each in seen:
            continue
        seen.add(each)
        if not isinstance(each, TABLE_OPS) and not (isinstance(each, TensorOp) and each.is_elementwise):
            return False
        if len(seen) > MOST_TABLE_OPS or each.tensor.size > LARGEST_TABLE:
            return False
        pending += each.operands
    return True


def _mirror(table: np.ndarray[Any, Any], axes: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The conjugate of table[-k] along some axes."""
    return np.conj(np.roll(np.flip(table, axes), 1, axes))


def _is_hermitian_table(value: Value, count: int) -> bool:
    table = np.asarray(evaluate_term(value, {}))
    if not np.isfinite(table).all():
        return False
    return bool((table == _mirror(table, tuple(range(table.ndim - count, table.ndim)))).all())


def is_half_spectrum(value: Value, count: int, depth: int = 0) -> bool:
    """Whether it's seen to be the half of a Hermitian array of `count` axes, as the transform of real numbers is.

    >>> is_half_spectrum(Negate(Fft(tensor("f32", 8), "RFFT", (8,))), 1)
    True
    """
    if depth > DEEPEST or not isinstance(value, Op) or not value.tensor.is_complex or not value.tensor.size:
        return False
    return remember(value, f"half along {count}", lambda: _is_half_spectrum(value, count, depth + 1), is_lasting=True)


def _is_half_spectrum(value: Op, count: int, deeper: int) -> bool:
    match value:
        case Fft():
            return value.fft_type == "RFFT" and len(value.fft_length) == count
        case Add() | Subtract() | Multiply() | Divide():
            return all(is_half_spectrum(operand, count, deeper) for operand in value.operands)
        case Negate() | Conj():
            return is_half_spectrum(value.operand, count, deeper)
        case Complex(lhs=Real(operand=z), rhs=Negate(operand=Imag(operand=same))) if same is z:
            return is_half_spectrum(z, count, deeper)
        case BroadcastInDim():
            return _keeps_last_axes(value, count) and is_half_spectrum(value.operand, count, deeper)
        case Constant():
            return value.is_splat and is_real(value)
        case _:
            return False


def sample_half_spectrum(draw: Draw) -> Fft:
    shape = (draw.integer(1, 3), draw.integer(1, 4), draw.integer(1, 6))
    lengths = shape[draw.integer(1, 2) :]
    half: Value = Fft(tensor("f32", *shape), "RFFT", lengths)
    if draw.boolean():
        other = Fft(tensor("f32", *shape[1:], name="y"), "RFFT", lengths)
        half = draw.choose((Multiply, Add))(half, conjugate(BroadcastInDim(other, half.shape, (1, 2))))
    return Fft(Fft(half, "IRFFT", lengths), "RFFT", lengths)


@rewrite(Fft(Fft(x, "IRFFT", length), "RFFT", length), reassociates=True, sample=sample_half_spectrum)
def transform_redone(x: Value, length: tuple[int, ...]) -> Value | None:
    """rfft(irfft(x)) = x, for x that is half of a Hermitian array, as products of transforms of real numbers are

    >>> half = Fft(tensor("f32", 8), "RFFT", (8,))
    >>> transform_redone(Fft(Fft(Multiply(half, half), "IRFFT", (8,)), "RFFT", (8,)))
    Multiply(Fft(x, fft_type='RFFT', fft_length=(8,)), Fft(x, fft_type='RFFT', fft_length=(8,)))
    """
    return x if is_half_spectrum(x, len(length)) else None


def hermitian_part(value: Value, count: int, depth: int = 0) -> Value | None:
    """(value[k] + conj(value[-k])) / 2, where it's seen how to have it: only this makes a transform's real part."""
    if is_hermitian(value, count):
        return value
    if depth > DEEPEST:
        return None
    match value:
        case Multiply():
            for table, other in (value.operands, value.operands[::-1]):
                if is_hermitian(other, count):
                    part = _hermitian_part_of_table(table, count)
                    return None if part is None else Multiply(part, other)
            return None
        case Add() | Subtract():
            left, right = (hermitian_part(operand, count, depth + 1) for operand in value.operands)
            return None if left is None or right is None else type(value)(left, right)
        case _:
            return None


def _hermitian_part_of_table(value: Value, count: int) -> Value | None:
    first = len(value.shape) - count
    table, axes = value, tuple(range(first, len(value.shape)))
    if isinstance(value, BroadcastInDim):
        table = value.operand
        axes = tuple(place for place, axis in enumerate(value.broadcast_dimensions) if axis >= first)
    if not _is_table(table) or table.tensor.size > LARGEST_NEW_TABLE:
        return None
    numbers = np.asarray(evaluate_term(table, {}))
    if not np.isfinite(numbers).all():
        return None
    part = Constant.of(((numbers + _mirror(numbers, axes)) / 2).astype(numbers.dtype))
    return BroadcastInDim(part, value.shape, value.broadcast_dimensions) if isinstance(value, BroadcastInDim) else part


def sample_spectrum(draw: Draw) -> tuple[Value, tuple[int, ...]]:
    """A Hermitian array, most of the time."""
    shape = (draw.choose((1, 2)), draw.choose((8, 9)), draw.integer(1, 6))
    lengths = shape[draw.integer(1, 2) :]
    total: Value = Fft(Convert(tensor("f32", *shape), "complex<f32>"), "FFT", lengths)
    if draw.boolean():
        table = np.fft.fftfreq(shape[-1]) * (1j if len(lengths) == 1 else 1) + draw.choose((0, 0, 0.5))
        table = np.broadcast_to(table.astype(np.complex64), shape)
        total = Multiply(total, Constant.of(table if draw.boolean() else np.abs(table)))
    if draw.boolean():
        total = Add(total, Fft(Convert(tensor("f32", *shape, name="y"), "complex<f32>"), "FFT", lengths))
    return total, lengths


def _is_fast(value: Value, length: tuple[int, ...]) -> bool:
    """Whether libraries take less time for the half of the work: for many rows at once, and no large prime factors."""
    rest = length[-1]
    if value.tensor.size < LEAST_ROWS * rest or rest == 0:
        return False
    for factor in range(2, LARGEST_FACTOR):
        while rest % factor == 0:
            rest //= factor
    return rest == 1


def sample_real_of_inverse(draw: Draw) -> Real:
    spectrum, lengths = sample_spectrum(draw)
    return Real(Fft(spectrum, "IFFT", lengths))


@rewrite(Real(Fft(x, "IFFT", length)), reassociates=True, single_use=True, sample=sample_real_of_inverse, by_cost=True)
def real_of_inverse_transform(x: Value, length: tuple[int, ...]) -> Value | None:
    """real(ifft(x)) = irfft(x[: n / 2 + 1]) for Hermitian x, as the transform of real numbers is, and products with it

    >>> spectrum = Fft(Convert(tensor("f32", 9, 8), "complex<f32>"), "FFT", (8,))
    >>> real_of_inverse_transform(Real(Fft(Multiply(spectrum, spectrum), "IFFT", (8,)))).fft_type
    'IRFFT'
    """
    if not _is_fast(x, length):
        return None
    part = hermitian_part(x, len(length))
    if part is None:
        return None
    return Fft(_half(part, length[-1]), "IRFFT", length)


def _half(value: Value, size: int) -> Value:
    limit = (*value.shape[:-1], size // 2 + 1)
    return Slice(value, (0,) * len(limit), limit, (1,) * len(limit))


def sample_real_of_transform(draw: Draw) -> Real:
    spectrum, lengths = sample_spectrum(draw)
    return Real(Fft(spectrum, "FFT", lengths))


@rewrite(Real(Fft(x, "FFT", length)), reassociates=True, single_use=True, sample=sample_real_of_transform, by_cost=True)
def real_of_transform(op: Real, x: Value, length: tuple[int, ...]) -> Value | None:
    """real(fft(x)) = n · irfft(conj(x[: n / 2 + 1])) for Hermitian x, as in derivatives of spectral methods

    >>> spectrum = Fft(Convert(tensor("f32", 9, 8), "complex<f32>"), "FFT", (8,))
    >>> real_of_transform(Real(Fft(Multiply(spectrum, spectrum), "FFT", (8,)))).lhs.fft_type
    'IRFFT'
    """
    if not _is_fast(x, length):
        return None
    part = hermitian_part(x, len(length))
    if part is None:
        return None
    inverse = Fft(conjugate(_half(part, length[-1])), "IRFFT", length)
    return Multiply(inverse, Constant.of(math.prod(length), op.dtype, op.shape))


def sample_half(draw: Draw) -> Slice:
    shape = (draw.choose((8, 9)), draw.integer(2, 6))
    lengths = shape[draw.integer(0, 1) :]
    first, half = draw.choose((0, 0, 1)), shape[-1] // 2 + 1
    spectrum = Fft(Convert(tensor("f32", *shape), "complex<f32>"), draw.choose(("FFT", "IFFT")), lengths)
    return Slice(spectrum, (0, first), (shape[0], draw.integer(first + 1, max(half, first + 1))), (1, 1))


@rewrite(
    Slice(any_op(Fft), hole("start"), hole("limit"), hole("strides")),
    reassociates=True,
    single_use=True,
    sample=sample_half,
    by_cost=True,
)
def half_of_real_transform(op: Slice) -> Value | None:
    """fft(x)[: n / 2 + 1] = rfft(x), ifft(x)[: n / 2 + 1] = conj(rfft(x)) / n, and what is sliced of it, for real x

    >>> spectrum = Fft(Convert(tensor("f32", 9, 8), "complex<f32>"), "FFT", (8,))
    >>> half_of_real_transform(Slice(spectrum, (0, 0), (9, 5), (1, 1))).operand.fft_type
    'RFFT'
    """
    made = op.operand
    assert isinstance(made, Fft)
    length = made.fft_length
    if made.fft_type not in ("FFT", "IFFT") or not _is_fast(made, length) or not is_real(made.operand):
        return None
    if op.limit_indices[-1] > length[-1] // 2 + 1:
        return None
    half = Slice(Fft(real_part(made.operand), "RFFT", length), op.start_indices, op.limit_indices, op.strides)
    if made.fft_type == "FFT":
        return half
    scale = Constant.of(1 / math.prod(length), half.dtype, half.shape)
    return Multiply(conjugate(half), scale)


def sample_modulus(draw: Draw) -> Abs:
    shape = (draw.choose((8, 9)), draw.integer(2, 7))
    return Abs(Fft(Convert(tensor("f32", *shape), "complex<f32>"), "FFT", shape[1:]))


@rewrite(
    Abs(Fft(Convert(x, hole("dtype")), "FFT", length)),
    reassociates=True,
    single_use=True,
    sample=sample_modulus,
    by_cost=True,
)
def modulus_of_real_transform(op: Abs, x: Value, dtype: str, length: tuple[int, ...]) -> Value | None:
    """|fft(convert(x))| = |rfft(x)| and its mirror image, for real x

    >>> modulus_of_real_transform(Abs(Fft(Convert(tensor("f32", 9, 8), "complex<f32>"), "FFT", (8,)))).inputs[0]
    Abs(Fft(x, fft_type='RFFT', fft_length=(8,)))
    """
    size = op.shape[-1]
    if len(length) != 1 or size < 3 or not _is_fast(op, length) or COMPLEX_OF_PART.get(x.dtype) != dtype:
        return None
    half = Abs(Fft(x, "RFFT", length))
    start, limit = [0] * len(op.shape), [*op.shape[:-1], (size + 1) // 2]
    start[-1] = 1
    mirrored = Reverse(Slice(half, tuple(start), tuple(limit), (1,) * len(start)), (len(start) - 1,))
    return Concatenate((half, mirrored), len(start) - 1)
