"""What the kernels of integers.cu do, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import LINE, SLACK, Array, Draw, program


def _never_zero(values: Array) -> Array:
    return np.where(values == 0, np.array(3, values.dtype), values)


def _wide(*arrays: Array) -> tuple[Array, ...]:
    return tuple(array.astype(np.int64) for array in arrays)


@program(LINE, lambda draw, n: (*(draw.any_bits(n + SLACK) for _ in range(5)), n))
def wrap_around(a: Array, b: Array, total: Array, difference: Array, product: Array, n: int) -> None:
    total[:n] = a[:n] + b[:n]
    difference[:n] = a[:n] - b[:n]
    product[:n] = a[:n] * b[:n]


def _division(draw: Draw, n: int) -> tuple[Any, ...]:
    a, b = draw.any_bits(n + SLACK), _never_zero(draw.integers(n + SLACK, low=-30, high=30))
    return a, np.where((b == -1) & (a == np.iinfo(np.int32).min), np.int32(7), b), a.copy(), a.copy(), n


@program(LINE, _division)
def divide(a: Array, b: Array, quotient: Array, rest: Array, n: int) -> None:
    wide_a, wide_b = _wide(a[:n], b[:n])
    quotient[:n] = np.sign(wide_a) * np.sign(wide_b) * (np.abs(wide_a) // np.abs(wide_b))
    rest[:n] = np.fmod(a[:n], b[:n])


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK, dtype=np.uint32)[::-1].copy(),
        _never_zero(
            draw.any_bits(n + SLACK, dtype=np.uint32) >> draw.integers(n + SLACK, low=0, high=31, dtype=np.uint32)
        ),
        draw.any_bits(n + SLACK, dtype=np.uint32),
        draw.any_bits(n + SLACK, dtype=np.uint32),
        n,
    ),
)
def divide_unsigned(a: Array, b: Array, quotient: Array, rest: Array, n: int) -> None:
    quotient[:n] = a[:n] // b[:n]
    rest[:n] = a[:n] % b[:n]


@program(LINE, lambda draw, n: (draw.any_bits(n + SLACK), draw.any_bits(4 * n + SLACK), n))
def divide_by_constants(a: Array, out: Array, n: int) -> None:
    (wide,) = _wide(a[:n])
    out[: 4 * n : 4] = np.sign(wide) * (np.abs(wide) // 8)
    out[1 : 4 * n : 4] = np.fmod(wide, 8)
    out[2 : 4 * n : 4] = -np.sign(wide) * (np.abs(wide) // 7)
    unsigned = a[:n].view(np.uint32)
    out[3 : 4 * n : 4] = (unsigned // np.uint32(10) + unsigned % np.uint32(10)).view(np.int32)


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK),
        draw.any_bits(n + SLACK, dtype=np.uint32),
        draw.integers(n + SLACK, low=0, high=32),
        draw.any_bits(n + SLACK)[::-1].copy(),
        draw.any_bits(n + SLACK)[::-1].copy(),
        draw.any_bits(n + SLACK, dtype=np.uint32)[::-1].copy(),
        n,
    ),
)
def shift(a: Array, b: Array, count: Array, left: Array, right: Array, logical: Array, n: int) -> None:
    left[:n] = a[:n] << count[:n]
    right[:n] = a[:n] >> count[:n]
    logical[:n] = b[:n] >> count[:n].astype(np.uint32)


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK),
        draw.any_bits(n + SLACK, dtype=np.uint32)[::-1].copy(),
        draw.integers(n + SLACK),
        n,
    ),
)
def compare_signs(a: Array, b: Array, out: Array, n: int) -> None:
    a, b = a[:n], b[:n]
    wide_a, wide_b = _wide(a, b)
    bits = (a < b.view(np.int32)) * 1 + (a.view(np.uint32) < b) * 2 + (a > -1) * 4 + (wide_a < wide_b) * 8
    out[:n] = bits


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK, dtype=np.int64),
        draw.any_bits(n + SLACK, dtype=np.int64)[::-1].copy(),
        *(draw.any_bits(n + SLACK, dtype=np.int64) for _ in range(3)),
        draw.any_bits(n + SLACK, dtype=np.uint64),
        n,
    ),
)
def wide_arithmetic(a: Array, b: Array, total: Array, product: Array, quotient: Array, mixed: Array, n: int) -> None:
    a, b = a[:n], b[:n]
    total[:n] = a + b
    product[:n] = a * b
    for i in range(n):
        p, q = int(a[i]), int(b[i])
        sign = -1 if p < 0 else 1
        quotient[i] = sign * (abs(p) // q) if q > 1 else sign * (abs(p) % 1000003)
    x = a.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed[:n] = x ^ (x >> np.uint64(31))


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK),
        draw.any_bits(n + SLACK)[::-1].copy(),
        draw.any_bits(n + SLACK),
        draw.any_bits(n + SLACK, dtype=np.uint32),
        draw.any_bits(n + SLACK, dtype=np.int64),
        n,
    ),
)
def high_halves(a: Array, b: Array, high: Array, high_unsigned: Array, full: Array, n: int) -> None:
    wide_a, wide_b = _wide(a[:n], b[:n])
    full[:n] = wide_a * wide_b
    high[:n] = full[:n] >> 32
    unsigned = a[:n].view(np.uint32).astype(np.uint64) * b[:n].view(np.uint32).astype(np.uint64)
    high_unsigned[:n] = unsigned >> np.uint64(32)


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK, dtype=np.int8),
        draw.any_bits(n + SLACK, dtype=np.uint8),
        draw.any_bits(n + SLACK, dtype=np.int16),
        draw.any_bits(n + SLACK, dtype=np.uint8),
        draw.any_bits(n + SLACK, dtype=np.int8),
        n,
    ),
)
def narrow(a: Array, b: Array, total: Array, wrapped: Array, product: Array, n: int) -> None:
    total[:n] = a[:n].astype(np.int16) + b[:n].astype(np.int16)
    wrapped[:n] = b[:n] + np.uint8(200)
    product[:n] = a[:n] * a[:n]


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK, dtype=np.int16),
        draw.any_bits(n + SLACK, dtype=np.uint16)[::-1].copy(),
        draw.any_bits(n + SLACK),
        draw.any_bits(n + SLACK, dtype=np.uint32),
        draw.any_bits(n + SLACK, dtype=np.int64),
        n,
    ),
)
def widen(a: Array, b: Array, signed_out: Array, unsigned_out: Array, wide: Array, n: int) -> None:
    signed_out[:n] = a[:n]
    unsigned_out[:n] = b[:n]
    wide[:n] = a[:n].astype(np.int64) * b[:n].astype(np.int64) * 2**20


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK, dtype=np.uint32),
        draw.any_bits(n + SLACK, dtype=np.uint64),
        draw.integers(n + SLACK),
        draw.any_bits(n + SLACK, dtype=np.uint32)[::-1].copy(),
        n,
    ),
)
def count_bits(x: Array, wide: Array, out: Array, turned: Array, n: int) -> None:
    for i in range(n):
        value = int(x[i])
        first = (value & -value).bit_length()
        zeros = 32 - value.bit_length()
        out[i] = value.bit_count() + 100 * zeros + 10000 * first + 1000000 * int(wide[i]).bit_count()
        turned[i] = int(f"{value:032b}"[::-1], 2)


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK, dtype=np.uint32)[::-1].copy(),
        draw.integers(n + SLACK, low=-100, high=100),
        draw.any_bits(n + SLACK, dtype=np.uint32),
        n,
    ),
)
def rotate_bits(x: Array, count: Array, out: Array, n: int) -> None:
    for i in range(n):
        turn, value = int(count[i]) & 31, int(x[i])
        out[i] = ((value << turn) | (value >> (32 - turn))) & 0xFFFFFFFF


@program(
    LINE,
    lambda draw, n: (draw.any_bits(n + SLACK, dtype=np.uint32)[::-1].copy(), draw.floats(n + SLACK), n, 25),
)
def random_numbers(state: Array, uniform: Array, n: int, rounds: int) -> None:
    x = state[:n].copy()
    for _ in range(rounds):
        x ^= x << np.uint32(13)
        x ^= x >> np.uint32(17)
        x ^= x << np.uint32(5)
    state[:n] = x
    uniform[:n] = x.astype(np.float32) * np.float32(2.3283064365386963e-10)


@program(
    LINE,
    lambda draw, n: (draw.any_bits(n + SLACK, dtype=np.uint64), draw.any_bits(n + SLACK, dtype=np.uint32), n),
)
def congruential(state: Array, out: Array, n: int) -> None:
    x = state[:n] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    state[:n] = x
    mixed = (((x >> np.uint64(18)) ^ x) >> np.uint64(27)).astype(np.uint32)
    turn = (x >> np.uint64(59)).astype(np.uint32)
    out[:n] = (mixed >> turn) | (mixed << ((np.uint32(32) - turn) & np.uint32(31)))


@program(LINE, lambda draw, n: (draw.integers(n + SLACK, low=5, high=9, dtype=np.uint32), n))
def hash_of_index(out: Array, n: int) -> None:
    x = np.arange(n, dtype=np.uint32) * np.uint32(2654435761)
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    out[:n] = x ^ (x >> np.uint32(13))


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK, dtype=np.uint32)[::-1].copy(),
        draw.any_bits(n + SLACK, dtype=np.uint8),
        draw.any_bits(n + SLACK, dtype=np.uint8),
        draw.any_bits(n + SLACK, dtype=np.uint32),
        n,
    ),
)
def fields_of_word(x: Array, red: Array, green: Array, packed: Array, n: int) -> None:
    octets = x[:n].view(np.uint8).reshape(n, 4)
    red[:n], green[:n] = octets[:, 2], octets[:, 1]
    packed[:n] = np.roll(octets, -1, 1).copy().view(np.uint32).reshape(n)


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK),
        draw.any_bits(n + SLACK)[::-1].copy(),
        draw.any_bits(n + SLACK, dtype=np.uint32)[::-1].copy(),
        draw.any_bits(3 * n + SLACK),
        draw.any_bits(n + SLACK, dtype=np.uint32),
        n,
    ),
)
def least_and_greatest(a: Array, b: Array, c: Array, out: Array, out_unsigned: Array, n: int) -> None:
    a, b, c = a[:n], b[:n], c[:n]
    out[: 3 * n : 3] = np.minimum(a, b)
    out[1 : 3 * n : 3] = np.maximum(a, b)
    out[2 : 3 * n : 3] = np.abs(a.astype(np.int64)) // 2
    out_unsigned[:n] = np.maximum(c, a.view(np.uint32))


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK),
        draw.any_bits(n + SLACK, dtype=np.uint32)[::-1].copy(),
        draw.floats(n + SLACK, low=-2e8, high=2e8),
        draw.floats(n + SLACK),
        draw.floats(n + SLACK),
        draw.any_bits(n + SLACK),
        draw.any_bits(n + SLACK, dtype=np.int64),
        n,
    ),
)
def to_float_and_back(
    a: Array, b: Array, x: Array, from_signed: Array, from_unsigned: Array, truncated: Array, wide: Array, n: int
) -> None:
    from_signed[:n] = a[:n]
    from_unsigned[:n] = b[:n]
    truncated[:n] = x[:n].astype(np.int32)
    wide[:n] = (x[:n] * np.float32(1e10)).astype(np.int64)


@program(
    LINE,
    lambda draw, n: (
        draw.integers(n + SLACK, low=0, high=2).astype(bool),
        draw.integers(n + SLACK, low=0, high=2).astype(bool),
        draw.integers(n + SLACK, low=0, high=2).astype(bool),
        draw.integers(n + SLACK, low=-9, high=-5),
        n,
    ),
)
def flags(a: Array, b: Array, out: Array, code: Array, n: int) -> None:
    out[:n] = a[:n] ^ b[:n]
    code[:n] = a[:n] + 2 * b[:n].astype(np.int32)


@program(LINE, lambda draw, n: (draw.doubles(3 * n + SLACK), draw.doubles(n + SLACK), n, 3))
def wide_index(x: Array, out: Array, n: int, stride: int) -> None:
    out[:n] = x[: stride * n : stride] * 1e300


@program(
    LINE,
    lambda draw, n: (
        *(draw.any_bits(n + SLACK) for _ in range(3)),
        draw.any_bits(4 * n + SLACK),
        draw.any_bits(2 * n + SLACK, dtype=np.uint32),
        n,
    ),
)
def sums_beside_a_third(a: Array, b: Array, c: Array, out: Array, out_unsigned: Array, n: int) -> None:
    total, third = a[:n] + b[:n], c[:n]
    larger, smaller = np.maximum(total, third), np.minimum(total, third)
    for place, values in enumerate((larger, smaller, np.maximum(larger, 0), np.maximum(smaller, 0))):
        out[place : 4 * n : 4] = values
    out_unsigned[: 2 * n : 2] = np.maximum(total.view(np.uint32), third.view(np.uint32))
    out_unsigned[1 : 2 * n : 2] = np.minimum(total.view(np.uint32), third.view(np.uint32))


@program(
    LINE,
    lambda draw, n: (
        *(draw.any_bits(n + SLACK, dtype=np.uint32) for _ in range(2)),
        *(draw.any_bits(4 * n + SLACK, dtype=np.uint32) for _ in range(2)),
        n,
    ),
)
def lanes_in_order(a: Array, b: Array, halves: Array, bytes: Array, n: int) -> None:
    x = a[:n].copy()
    y = np.where(np.arange(n) % 2, b[:n], (b[:n] & np.uint32(0xFF00)) | (x & np.uint32(0xFFFF00FF)))
    for out, dtype in ((halves, np.int16), (bytes, np.int8)):
        for place, lane in enumerate((dtype, f"u{np.dtype(dtype).name}", dtype, f"u{np.dtype(dtype).name}")):
            left, right = x.view(lane), y.view(lane)
            holds = left >= right if place < 2 else left <= right
            out[place : 4 * n : 4] = holds.astype(left.dtype).view(np.uint32)
