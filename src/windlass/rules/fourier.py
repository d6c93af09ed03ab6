"""Fourier transforms: undone, added up, and moved out of the way of slices and broadcasts."""

from __future__ import annotations

from typing import Any

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    Fft,
    Reverse,
    Slice,
    Subtract,
)
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rules.duals import SIGNS

x, y = hole("x"), hole("y")
length = hole("length")


# -- transforms that are undone ---------------------------------------------------------------------------------------


def sample_reversed_transform(draw: Draw) -> Reverse:
    axes = draw.choose(((0,), (1,), (0, 1), (2,)))
    return Reverse(Fft(Reverse(tensor("complex<f32>", 2, 3, 4), axes), draw.choose(("FFT", "IFFT")), (4,)), axes)


@rewrite(
    Reverse(Fft(Reverse(x, hole("dimensions")), hole("kind"), length), hole("dimensions")),
    single_use=True,
    sample=sample_reversed_transform,
)
def reverse_around_transform(
    op: Reverse, x: Value, dimensions: tuple[int, ...], kind: Any, length: tuple[int, ...]
) -> Value | None:
    """reverse(fft(reverse(x))) = fft(x), along axes that are not transformed

    >>> reverse_around_transform(Reverse(Fft(Reverse(tensor("complex<f32>", 3, 8), (0,)), "FFT", (8,)), (0,)))
    Fft(x, fft_type='FFT', fft_length=(8,))
    """
    return Fft(x, kind, length) if all(axis < op.tensor.rank - len(length) for axis in dimensions) else None


# -- transforms that cancel -------------------------------------------------------------------------------------------


def sample_round_trip(draw: Draw) -> Fft:
    sizes = (draw.integer(1, 3), draw.integer(1, 5), draw.integer(1, 4))
    lengths = sizes[draw.integer(0, 2) :]
    if draw.boolean():
        return Fft(Fft(tensor("f32", *sizes), "RFFT", lengths), "IRFFT", lengths)
    kinds = draw.choose((("FFT", "IFFT"), ("IFFT", "FFT")))
    return Fft(Fft(tensor("complex<f32>", *sizes), kinds[0], lengths), kinds[1], lengths)


INVERSES = {("FFT", "IFFT"), ("IFFT", "FFT"), ("RFFT", "IRFFT")}


@rewrite(
    Fft(Fft(x, hole("inner"), length), hole("kind"), length),
    reassociates=True,
    sample=sample_round_trip,
)
def transform_undone(x: Value, inner: str, kind: str) -> Value | None:
    """ifft(fft(x)) = x, fft(ifft(x)) = x, irfft(rfft(x)) = x

    >>> transform_undone(Fft(Fft(tensor("f32", 8), "RFFT", (8,)), "IRFFT", (8,)))
    x
    """
    return x if (inner, kind) in INVERSES else None


def sample_sum_of_transforms(draw: Draw) -> Add:
    shape = (2, draw.integer(1, 4))
    kind = draw.choose(("FFT", "IFFT", "RFFT"))
    dtype = "f32" if kind == "RFFT" else "complex<f32>"
    left, right = (Fft(tensor(dtype, *shape, name=name), kind, shape[1:]) for name in "xy")
    return Add(left, right)


@rewrite(
    Add(Fft(x, hole("kind"), length), Fft(y, hole("kind"), length)),
    reassociates=True,
    single_use=True,
    sample=sample_sum_of_transforms,
    dual=SIGNS,
)
def sum_of_transforms(op: Add | Subtract, x: Value, y: Value, kind: str, length: tuple[int, ...]) -> Value:
    """fft(x) + fft(y) = fft(x + y), and so for the other transforms

    >>> left, right = (Fft(tensor("complex<f32>", 8, name=name), "IFFT", (8,)) for name in "xy")
    >>> sum_of_transforms(Add(left, right)).operand
    Add(x, y)
    """
    return Fft(type(op)(x, y), kind, length)


# -- rows that are transformed each by itself -------------------------------------------------------------------------


def sample_slice_of_transform(draw: Draw) -> Slice:
    shape = (draw.integer(2, 4), draw.integer(1, 4))
    kind = draw.choose(("FFT", "RFFT"))
    made = Fft(tensor("f32" if kind == "RFFT" else "complex<f32>", *shape), kind, shape[1:])
    first = draw.integer(0, shape[0] - 1)
    return Slice(made, (first, 0), (draw.integer(first + 1, shape[0]), made.shape[1]), (draw.integer(1, 2), 1))


@rewrite(
    Slice(any_op(Fft), hole("start"), hole("limit"), hole("strides")), sample=sample_slice_of_transform, single_use=True
)
def slice_of_transform(op: Slice) -> Value | None:
    """fft(x)[a:b, :] = fft(x[a:b, :]), what is taken of rows that are transformed each by itself

    >>> rows = Fft(tensor("complex<f32>", 9, 4), "FFT", (4,))
    >>> slice_of_transform(Slice(rows, (2, 0), (3, 4), (1, 1))).operand
    Slice(x, start_indices=(2, 0), limit_indices=(3, 4), strides=(1, 1))
    """
    made = op.operand
    assert isinstance(made, Fft)
    rows = len(op.shape) - len(made.fft_length)
    if op.shape[rows:] != made.shape[rows:] or op.shape == made.shape:
        return None
    inner = made.operand
    start = (*op.start_indices[:rows], *(0 for _ in made.fft_length))
    limit = (*op.limit_indices[:rows], *inner.shape[rows:])
    strides = (*op.strides[:rows], *(1 for _ in made.fft_length))
    return Fft(Slice(inner, start, limit, strides), made.fft_type, made.fft_length)
