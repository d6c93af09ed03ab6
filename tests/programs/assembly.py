"""What the kernels of assembly.cu do, in NumPy."""

from __future__ import annotations

import numpy as np

from .program import LINE, SLACK, Array, Draw, Launch, launch, program

SHORT = (launch(2, 64, n=100), launch(1, 32, n=32), launch(1, 1, n=1))
WHOLE = 1 << 32


def _words(draw: Draw, n: int) -> tuple[Array, ...]:
    """Words of three kinds: any, small ones, and such as are shifts and fields."""
    x = draw.any_bits(n + SLACK, dtype=np.uint32)
    y = draw.integers(n + SLACK, low=1, high=70).astype(np.uint32)
    z = draw.integers(n + SLACK, low=0, high=1 << 16).astype(np.uint32)
    return x, y, z


def _signed(value: int, bits: int = 32) -> int:
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


def _dot(x: int, y: int, z: int) -> int:
    return z + sum(_signed(x >> 8 * byte, 8) * _signed(y >> 8 * byte, 8) for byte in range(4))


def _quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


@program(
    SHORT,
    lambda draw, n: (*_words(draw, n), np.zeros(16 * (n + SLACK), np.uint32), n),
)
def words(x: Array, y: Array, z: Array, out: Array, n: int) -> None:
    for i in range(n):
        a, b, c = int(x[i]), int(y[i]), int(z[i])
        s, t = _signed(a), _signed(b)
        low = 0xFFFFFF
        results = (
            a + b, a - b, a * b, a * b >> 32, s * t >> 32, a * b + c, min(s, t), max(a, b), abs(s), c + abs(a - b),
            _dot(a, b, c), max(min(s + t, (1 << 31) - 1), -(1 << 31)), (a & low) * (b & low), -s, a // b,
            s - t * _quotient(s, t),
        )  # fmt: skip
        out[16 * i : 16 * i + 16] = [each % WHOLE for each in results]


def _reversed(x: int) -> int:
    return int(f"{x:032b}"[::-1], 2)


def _permuted(x: int, y: int, selector: int) -> int:
    taken = (x | y << 32).to_bytes(8, "little")
    result = 0
    for place in range(4):
        choice = selector >> 4 * place & 15
        byte = taken[choice & 7]
        result |= ((255 if byte >> 7 else 0) if choice & 8 else byte) << 8 * place
    return result


def _field(x: int, position: int, length: int, signed: bool) -> int:
    position, length = position & 255, length & 255
    if length == 0:
        return 0
    value = (_signed(x) if signed else x) >> position
    return value if length >= 32 else _signed(value, length) if signed else value % (1 << length)


@program(
    SHORT,
    lambda draw, n: (*_words(draw, n), np.zeros(16 * (n + SLACK), np.uint32), n),
)
def bits(x: Array, y: Array, z: Array, out: Array, n: int) -> None:
    for i in range(n):
        a, b, c = int(x[i]), int(y[i]), int(z[i])
        s, full = _signed(a), WHOLE - 1
        mask = (127 << b) & full if b < 32 else 0
        shift = min(c, 32)
        results = (
            a & b, a ^ b, ~a, a << b if b < 32 else 0, s >> min(b, 31), a >> b, a.bit_count(), 32 - a.bit_length(),
            _reversed(a), (a if s >= 0 else ~s).bit_length() - 1, _permuted(a, b, c), _field(a, b, c, False),
            _field(a, b, c, True), (c & ~mask) | ((a << b if b < 32 else 0) & mask), (a & b) | (~a & c),
            ((b << 32 | a) << shift) >> 32,
        )  # fmt: skip
        out[16 * i : 16 * i + 16] = [each % WHOLE for each in results]


def _long(words: Array) -> int:
    return sum(int(word) << 32 * place for place, word in enumerate(words))


@program(
    SHORT,
    lambda draw, n: (
        *(draw.any_bits(4 * (n + SLACK), dtype=np.uint32) for _ in range(2)),
        np.zeros(4 * (n + SLACK), np.uint32),
        np.zeros(4 * (n + SLACK), np.uint32),
        n,
    ),
)
def wide_sums(x: Array, y: Array, sum: Array, difference: Array, n: int) -> None:
    for i in range(n):
        a, b = _long(x[4 * i : 4 * i + 4]), _long(y[4 * i : 4 * i + 4])
        for target, value in ((sum, a + b), (difference, a - b)):
            target[4 * i : 4 * i + 4] = [value >> 32 * place & (WHOLE - 1) for place in range(4)]


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), np.abs(draw.floats(n + SLACK)) + np.float32(0.5),
                                np.zeros(8 * (n + SLACK), np.float32), n), tolerance=1e-6)  # fmt: skip
def floats_in_ptx(x: Array, y: Array, out: Array, n: int) -> None:
    a, b = x[:n], y[:n]
    columns = (
        (a.astype(np.float64) * b + 1).astype(np.float32), np.clip(a + b, 0, 1), np.exp2(a), np.sqrt(b), 1 / b,
        np.maximum(a, b), np.rint(a), np.trunc(a * np.float32(10)),
    )  # fmt: skip
    out[: 8 * n] = np.stack(columns, 1).ravel()


@program(SHORT, lambda draw, n: (draw.integers(n + SLACK, low=1, high=40), draw.integers(n + SLACK), n))
def steps_to_one(start: Array, steps: Array, n: int) -> None:
    for i in range(n):
        value, count = int(start[i]), 0
        while value > 1:
            value, count = value * 3 + 1 if value % 2 else value // 2, count + 1
        steps[i] = count


@program(
    SHORT,
    lambda draw, n: (draw.floats(4 * n), draw.floats(4 * (n + SLACK)), np.zeros(2, np.int32), n),
)
def vector_copies(x: Array, out: Array, total: Array, n: int) -> None:
    out[: 4 * n] = x.reshape(n, 4)[:, ::-1].ravel()
    total[:] = (n * (n - 1) // 2, n - 1)


@program(
    (launch(2, 64, n=100), launch(1, 64, n=64), launch(1, 64, n=5)),
    lambda draw, n: (draw.integers(n + SLACK), draw.integers(n + SLACK), n),
)
def reverse_through_ptx(launch: Launch, x: Array, out: Array, n: int) -> None:
    padded = np.zeros(64 * launch.blocks, x.dtype)
    padded[:n] = x[:n]
    out[:n] = padded.reshape(-1, 64)[:, ::-1].ravel()[:n]


@program(
    (launch(2, 64, n=100), launch(1, 32, n=32), launch(1, 32, n=7)),
    lambda draw, n: (
        draw.integers(n + SLACK, low=-1000, high=1000),
        np.zeros(n + SLACK, np.int32),
        np.zeros(n + SLACK, np.uint32),
        np.zeros(n + SLACK, np.uint64),
        n,
    ),
)
def lanes_in_ptx(x: Array, sum: Array, votes: Array, packed: Array, n: int) -> None:
    for first in range(0, n, 32):
        warp = slice(first, min(first + 32, n))
        sum[warp] = x[warp].sum()
        votes[warp] = (1 << (warp.stop - first)) - 1
    places = np.arange(n, dtype=np.uint64)
    packed[:n] = places % 32 + (places << 32)


@program(
    (launch(2, 64, n=100), launch(1, 32, n=7)),
    lambda draw, n: (draw.integers(n + SLACK), np.zeros(n + SLACK, np.int32), n),
)
def scan_in_ptx(x: Array, out: Array, n: int) -> None:
    for first in range(0, n, 32):
        out[first : min(first + 32, n)] = np.cumsum(x[first : min(first + 32, n)])
