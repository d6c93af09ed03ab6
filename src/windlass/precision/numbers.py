"""Numbers that functions are made of, exactly or to more bits than any limbs have."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from math import factorial, isqrt

BITS = 640


def _odd_powers(inverse: int, alternate: int) -> Fraction:
    """The sum of alternate^n / ((2n + 1) · inverse^(2n + 1)): arctan(1/inverse) for -1, artanh for 1."""
    one = 1 << (BITS + 16)
    power, total, n = one // inverse, 0, 0
    while power:
        total += alternate**n * (power // (2 * n + 1))
        power //= inverse * inverse
        n += 1
    return Fraction(total, one)


@cache
def half_pi() -> Fraction:
    """π/2, by Machin's formula.

    >>> float(half_pi())
    1.5707963267948966
    """
    return 8 * _odd_powers(5, -1) - 2 * _odd_powers(239, -1)


@cache
def log_of_two() -> Fraction:
    """The natural logarithm of 2.

    >>> float(log_of_two())
    0.6931471805599453
    """
    return 2 * _odd_powers(3, 1)


@cache
def log_of_ten() -> Fraction:
    """The natural logarithm of 10 = 2³ · 5/4."""
    return 3 * log_of_two() + 2 * _odd_powers(9, 1)


@cache
def root_of_pi() -> Fraction:
    """√π"""
    pi = 2 * half_pi()
    return Fraction(isqrt(int(pi * (1 << (2 * BITS)))), 1 << BITS)


def exponential_series(count: int) -> tuple[Fraction, ...]:
    """The first coefficients of (exp x - 1) / x."""
    return tuple(Fraction(1, factorial(n + 1)) for n in range(count))


def logarithm_series(count: int) -> tuple[Fraction, ...]:
    """The first coefficients of log(1 + x) / x."""
    return tuple(Fraction((-1) ** n, n + 1) for n in range(count))


def arctangent_series(count: int) -> tuple[Fraction, ...]:
    """The first coefficients of arctan(√x) / √x."""
    return tuple(Fraction((-1) ** n, 2 * n + 1) for n in range(count))


def sine_series(count: int) -> tuple[Fraction, ...]:
    """The first coefficients of sin(√x) / √x."""
    return tuple(Fraction((-1) ** n, factorial(2 * n + 1)) for n in range(count))


def cosine_series(count: int) -> tuple[Fraction, ...]:
    """The first coefficients of cos √x."""
    return tuple(Fraction((-1) ** n, factorial(2 * n)) for n in range(count))


def parts_of(number: Fraction, digits: Iterable[int]) -> list[Fraction]:
    """A number as parts of so many bits each, the largest first; what is left after the last is dropped.

    >>> [float(part) for part in parts_of(Fraction(1, 3), (4, 4))]
    [0.34375, -0.0107421875]
    """
    found: list[Fraction] = []
    for bits in digits:
        step = Fraction(1)
        while abs(number) < step:
            step /= 2
        while abs(number) >= 2 * step:
            step *= 2
        step /= 1 << (bits - 1)
        part = round(number / step) * step
        found.append(part)
        number -= part
    return found
