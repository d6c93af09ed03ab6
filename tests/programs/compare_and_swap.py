"""What the kernels of compare_and_swap.cu do, in NumPy. Sums and products of floats may be taken in another order."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import LINE, SLACK, STRIDE, Array, Draw, program

FEW = LINE[:5]
PLACES = 9


def places(draw: Draw, n: int) -> Array:
    """Where each thread goes: places that many share, one of which none goes to."""
    return draw.integers(n + SLACK, low=0, high=PLACES - 1)


def specials(draw: Draw, n: int, dtype: Any = np.float32) -> Array:
    """Floats with NaN and infinities, but of zeros only 0.0: which of two zeros is the greater is not defined."""
    values = draw.special_floats(n, dtype)
    values[-1] = np.nan
    return np.where(values == 0, dtype(0), values)


@program(FEW, lambda draw, n: (places(draw, n), draw.doubles(n + SLACK), draw.doubles(PLACES), n), 1e-12)
def add_doubles(place: Array, x: Array, sums: Array, n: int) -> None:
    np.add.at(sums, place[:n], x[:n])


@program(STRIDE, lambda draw, n: (draw.doubles(n + SLACK), draw.doubles(5), n), 1e-12)
def add_doubles_in_strides(x: Array, sums: Array, n: int) -> None:
    np.add.at(sums, np.arange(n) % 3, x[:n])


@program(FEW, lambda draw, n: (places(draw, n), draw.any_bits(n + SLACK) | 1, draw.any_bits(PLACES) | 1, n))
def multiply(place: Array, x: Array, products: Array, n: int) -> None:
    np.multiply.at(products, place[:n], x[:n])


@program(
    FEW,
    lambda draw, n: (places(draw, n), draw.floats(n + SLACK, low=0.9, high=1.1), draw.floats(PLACES, low=1.0), n),
    1e-4,
)
def multiply_floats(place: Array, x: Array, products: Array, n: int) -> None:
    np.multiply.at(products, place[:n], x[:n])


@program(FEW, lambda draw, n: (places(draw, n), draw.floats(n + SLACK), draw.floats(PLACES), n), 1e-4)
def subtract_reloading(place: Array, x: Array, sums: Array, n: int) -> None:
    np.subtract.at(sums, place[:n], x[:n])


@program(
    FEW,
    lambda draw, n: (places(draw, n), draw.doubles(n + SLACK), draw.doubles(n + SLACK), draw.doubles(PLACES), n),
    1e-12,
)
def subtract_both(place: Array, x: Array, y: Array, sums: Array, n: int) -> None:
    np.subtract.at(sums, place[:n], x[:n])
    np.subtract.at(sums, place[:n], y[:n])


@program(FEW, lambda draw, n: (places(draw, n), specials(draw, n + SLACK), specials(draw, PLACES) - 3, n))
def greatest_by_test(place: Array, x: Array, most: Array, n: int) -> None:
    for i in range(n):
        most[place[i]] = max(most[place[i]], x[i])


@program(STRIDE, lambda draw, n: (specials(draw, n + SLACK), np.array([-9, 5], np.float32), n))
def greatest_in_strides(x: Array, most: Array, n: int) -> None:
    most[0] = np.max(x[:n], where=x[:n] == x[:n], initial=most[0])


@program(FEW, lambda draw, n: (places(draw, n), draw.doubles(n + SLACK), 1 + specials(draw, PLACES, np.float64), n))
def least_by_test(place: Array, x: Array, least: Array, n: int) -> None:
    for i in range(n):
        if not least[place[i]] <= x[i]:
            least[place[i]] = x[i]


@program(FEW, lambda draw, n: (places(draw, n), specials(draw, n + SLACK), specials(draw, PLACES) - 3, n))
def greatest_numbers(place: Array, x: Array, most: Array, n: int) -> None:
    np.fmax.at(most, place[:n], x[:n])


@program(FEW, lambda draw, n: (places(draw, n), draw.floats(n + SLACK), 1 + specials(draw, PLACES), n))
def least_kept(place: Array, x: Array, least: Array, n: int) -> None:
    for i in range(n):
        least[place[i]] = least[place[i]] if least[place[i]] < x[i] else x[i]


@program(
    FEW,
    lambda draw, n: (
        places(draw, n),
        draw.integers(n + SLACK, low=9, high=2**16, dtype=np.uint16),
        draw.integers(PLACES, low=0, high=9, dtype=np.uint16),
        n,
    ),
)
def greatest_of_shorts(place: Array, x: Array, most: Array, n: int) -> None:
    np.maximum.at(most, place[:n], x[:n])


def small_halves(draw: Draw, count: int) -> Array:
    """Halves whose sums are exact."""
    return (draw.integers(count, low=-8, high=9) / 8).astype(np.float16)


@program(FEW, lambda draw, n: (places(draw, n), small_halves(draw, n + SLACK), small_halves(draw, PLACES), n))
def add_halves(place: Array, x: Array, sums: Array, n: int) -> None:
    np.add.at(sums, place[:n], x[:n])


@program(FEW, lambda draw, n: (places(draw, n), small_halves(draw, n + SLACK), small_halves(draw, PLACES + 1), n))
def add_halves_in_words(place: Array, x: Array, sums: Array, n: int) -> None:
    np.add.at(sums, place[:n], x[:n])


@program(FEW, lambda draw, n: (places(draw, n), small_halves(draw, n + SLACK), small_halves(draw, PLACES + 1), n))
def add_halves_by_address(place: Array, x: Array, sums: Array, n: int) -> None:
    np.add.at(sums, place[:n], x[:n])


def bytes_in_words(draw: Draw, n: int) -> tuple[Any, ...]:
    """Bytes to combine into those of three words, low ones there and high ones new."""
    fresh = draw.integers(n + SLACK, low=100, high=256, dtype=np.uint8)
    return places(draw, n), fresh, draw.integers(12, low=0, high=100, dtype=np.uint8).view(np.uint32), n


@program(FEW, bytes_in_words)
def greatest_bytes_in_words(place: Array, x: Array, words: Array, n: int) -> None:
    np.maximum.at(words.view(np.uint8), place[:n], x[:n])


@program(FEW, bytes_in_words)
def add_bytes_in_words(place: Array, x: Array, words: Array, n: int) -> None:
    np.add.at(words.view(np.uint8), place[:n], x[:n])


@program(
    FEW,
    lambda draw, n: (places(draw, n), draw.any_bits(n + SLACK, dtype=np.uint32)[::-1].copy(), draw.any_bits(PLACES), n),
)
def flip_bits(place: Array, x: Array, words: Array, n: int) -> None:
    np.bitwise_xor.at(words.view(np.uint32), place[:n], x[:n])


@program(
    FEW,
    lambda draw, n: (places(draw, n), draw.integers(PLACES, low=0, high=50, dtype=np.uint32), n, np.uint32(40)),
)
def count_up_to(place: Array, counts: Array, n: int, most: np.uint32) -> None:
    for i in range(n):
        if counts[place[i]] < most:
            counts[place[i]] += 1


@program(FEW, lambda draw, n: (places(draw, n), draw.integers(PLACES, low=-9, high=200), n, 3, 100))
def add_with_cap(place: Array, sums: Array, n: int, step: int, cap: int) -> None:
    for i in range(n):
        sums[place[i]] = min(sums[place[i]] + step, cap)


@program(FEW, lambda draw, n: (places(draw, n), draw.any_bits(PLACES, dtype=np.uint32), n))
def shuffle_states(place: Array, states: Array, n: int) -> None:
    for i in range(n):
        states[place[i]] = states[place[i]] * np.uint32(1664525) + np.uint32(1013904223)


@program(FEW, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def relax_own(x: Array, y: Array, before: Array, n: int) -> None:
    before[:n] = y[:n]
    y[:n] = np.float32(0.5) * y[:n] + x[:n]


@program(FEW, lambda draw, n: (draw.any_bits(n + SLACK)[::-1].copy() * 2, n))
def halve_own_if_even(y: Array, n: int) -> None:
    y[:n] = np.where(y[:n] % 2 == 0, y[:n] >> 1, y[:n])


@program(FEW, lambda draw, n: (places(draw, n), draw.integers(PLACES, low=0, high=2) * 0, n))
def raise_flags(place: Array, flags: Array, n: int) -> None:
    flags[place[:n]] = 1


@program(
    FEW,
    lambda draw, n: (
        places(draw, n),
        draw.integers(n + SLACK, low=0, high=2),
        np.array([1] + [0, 1] * PLACES, np.int32)[:PLACES],
        n,
    ),
)
def replace_matching(place: Array, wanted: Array, values: Array, n: int) -> None:
    for i in range(n):
        if values[place[i]] == wanted[i]:
            values[place[i]] = 1000 + place[i]


@program(
    FEW,
    lambda draw, n: (
        draw.integers(n + SLACK, low=0, high=2),
        draw.integers(n + SLACK),
        draw.integers(n + SLACK, low=0, high=2),
        draw.integers(n + SLACK),
        n,
    ),
)
def swap_own(expected: Array, fresh: Array, values: Array, old: Array, n: int) -> None:
    old[:n] = values[:n]
    values[:n] = np.where(values[:n] == expected[:n], fresh[:n], values[:n])
