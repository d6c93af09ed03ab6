"""Programs in index notation, each with arguments and what it means in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
DRAW = np.random.default_rng(30)


@dataclass(frozen=True)
class Example:
    """`ops` are those of the program as it is lowered, but for constants."""

    text: str
    arguments: tuple[Any, ...]
    expected: Callable[..., Any]
    ops: dict[str, int] | None = field(default=None)


def floats(*shape: int) -> Array:
    return DRAW.standard_normal(shape).astype(np.float32)


def integers(low: int, high: int, *shape: int, dtype: Any = np.int32) -> Array:
    return DRAW.integers(low, high, shape).astype(dtype)


def windows(x: Array, sizes: tuple[int, int], stride: int = 1, dilation: int = 1) -> Array:
    """Windows of the last two axes as two more axes."""
    reach = tuple((size - 1) * dilation + 1 for size in sizes)
    found = np.lib.stride_tricks.sliding_window_view(x, reach, (-2, -1))  # pyright: ignore[reportCallIssue, reportArgumentType]
    return found[..., ::stride, ::stride, ::dilation, ::dilation]


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def transposed_convolution(image: Array, kernel: Array) -> Array:
    (n, _, height, width), (_, m, a, b) = image.shape, kernel.shape
    found = np.zeros((n, m, 2 * (height - 1) + a, 2 * (width - 1) + b), np.float32)
    for h in range(height):
        for w in range(width):
            found[:, :, 2 * h : 2 * h + a, 2 * w : 2 * w + b] += np.einsum("nc,cmab->nmab", image[:, :, h, w], kernel)
    return found


def scaled_attention(q: Array, k: Array, v: Array) -> Array:
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(np.float32(q.shape[-1]))
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhqk,bhkd->bhqd", powers / powers.sum(-1, keepdims=True), v)


def heat(u: Array) -> Array:
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return u[1:-1, 1:-1] + np.float32(0.1) * (around - 4 * u[1:-1, 1:-1])


def with_blocks(x: Array) -> Array:
    n, c, h, w = x.shape
    return x.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // 4, 2 * h, 2 * w)


EXAMPLES: dict[str, Example] = {
    "matrix times vector": Example(
        "def mv(float(M, K) A, float(K) x) -> (y) { y(i) +=! A(i, k) * x(k) }",
        (floats(5, 7), floats(7)),
        lambda a, x: a @ x,
        {"DotGeneral": 1},
    ),
    "product of matrices": Example(
        "def mm(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, k) * B(k, j) }",
        (floats(5, 7), floats(7, 3)),
        lambda a, b: a @ b,
        {"DotGeneral": 1},
    ),
    "products of a batch": Example(
        "def bmm(float(B, N, M) X, float(B, M, K) Y) -> (Z) { Z(b, n, k) +=! X(b, n, m) * Y(b, m, k) }",
        (floats(4, 5, 6), floats(4, 6, 3)),
        lambda x, y: x @ y,
        {"DotGeneral": 1},
    ),
    "three factors": Example(
        "def chain(float(I, J) A, float(J, K) B, float(K, L) C) -> (O) { O(i, l) +=! A(i, j) * B(j, k) * C(k, l) }",
        (floats(3, 4), floats(4, 5), floats(5, 6)),
        lambda a, b, c: a @ b @ c,
        {"DotGeneral": 2},
    ),
    "layer": Example(
        """
        def layer(float(B, N) I, float(O, N) W, float(O) b) -> (out) {
          out(i, j) +=! I(i, n) * W(j, n)
          out(i, j) = fmax(out(i, j) + b(j), 0.0)
        }""",
        (floats(4, 6), floats(3, 6), floats(3)),
        lambda x, w, b: np.maximum(x @ w.T + b, 0),
    ),
    "convolution": Example(
        """
        def conv(float(N, C, H, W) I, float(M, C, KH, KW) K) -> (O) {
          O(n, m, h, w) +=! I(n, c, h + kh, w + kw) * K(m, c, kh, kw)
        }""",
        (floats(2, 3, 9, 8), floats(4, 3, 3, 2)),
        lambda x, k: np.einsum("nchwab,mcab->nmhw", windows(x, (3, 2)), k),
        {"Convolution": 1},
    ),
    "convolution with strides and dilation": Example(
        """
        def conv(float(N, C, H, W) I, float(M, C, KH, KW) K) -> (O) {
          O(n, m, h, w) +=! I(n, c, 2*h + 3*kh, 2*w + 3*kw) * K(m, c, kh, kw)
        }""",
        (floats(2, 3, 13, 12), floats(4, 3, 3, 2)),
        lambda x, k: np.einsum("nchwab,mcab->nmhw", windows(x, (3, 2), 2, 3), k),
        {"Convolution": 1},
    ),
    "convolution by groups": Example(
        """
        def conv(float(N, G, C, H, W) I, float(G, F, C, KH, KW) K, float(G, F) B) -> (O) {
          O(n, g, o, h, w) +=! I(n, g, i, h + kh, w + kw) * K(g, o, i, kh, kw)
          O(n, g, o, h, w) = O(n, g, o, h, w) + B(g, o)
        }""",
        (floats(2, 3, 4, 7, 8), floats(3, 5, 4, 3, 3), floats(3, 5)),
        lambda x, k, b: np.einsum("ngchwab,gfcab->ngfhw", windows(x, (3, 3)), k) + b[:, :, None, None],
    ),
    "transposed convolution": Example(
        """
        def conv(float(N, C, H, W) I, float(C, M, KH, KW) K) -> (O) {
          O(n, m, 2*h + kh, 2*w + kw) +=! I(n, c, h, w) * K(c, m, kh, kw)
        }""",
        (floats(2, 3, 4, 5), floats(3, 4, 3, 3)),
        transposed_convolution,
        {"Transpose": 1, "Convolution": 1},
    ),
    "polynomials multiplied": Example(
        "def times(float(N) p, float(M) q) -> (r) { r(i + j) +=! p(i) * q(j) }",
        (floats(6), floats(4)),
        np.convolve,
        {"Reshape": 3, "Convolution": 1},
    ),
    "sum of looked up rows": Example(
        "def rows(float(E, D) T, int32(B, L) I) -> (O) { O(i, j) +=! T(I(i, k), j) }",
        (floats(10, 4), integers(0, 10, 3, 5)),
        lambda t, i: t[i].sum(1),
    ),
    "softmax": Example(
        """
        def softmax(float(N, D) I) -> (O) {
          most(n) max=! I(n, d)
          total(n) +=! exp(I(n, d) - most(n))
          O(n, d) = exp(I(n, d) - most(n)) / total(n)
        }""",
        (floats(4, 9),),
        softmax,
    ),
    "Kronecker product of weights": Example(
        """
        def kru(float(D0, N0) W0, float(D1, N1) W1, float(D2, N2) W2, float(M, N0, N1, N2) X) -> (Y) {
          Y(m, d0, d1, d2) +=! W0(d0, n0) * W1(d1, n1) * W2(d2, n2) * X(m, n0, n1, n2)
        }""",
        (floats(2, 3), floats(3, 4), floats(4, 5), floats(6, 3, 4, 5)),
        lambda a, b, c, x: np.einsum("mxyz,ax,by,cz->mabc", x, a, b, c),
    ),
    "largest of windows": Example(
        """
        def pool(float(B, C, H, W) I) -> (O) {
          O(b, c, i, j) max=! I(b, c, 2*i + kh, 2*j + kw) where kh in 0:3, kw in 0:3
        }""",
        (floats(2, 3, 9, 9),),
        lambda x: windows(x, (3, 3), 2).max((-1, -2)),
        {"ReduceWindow": 1, "Maximum": 1},
    ),
    "mean of windows": Example(
        """
        def pool(float(B, C, H, W) I) -> (O) {
          O(b, c, i, j) +=! I(b, c, i + kh, j + kw) / 4.0 where kh in 0:2, kw in 0:2
        }""",
        (floats(2, 3, 6, 5),),
        lambda x: windows(x, (2, 2)).mean((-1, -2)),
        {"Divide": 1, "ReduceWindow": 1, "Add": 1},
    ),
    "normalized channels": Example(
        """
        def normalize(float(N, C, H, W) I) -> (O) {
          sum(c) +=! I(n, c, h, w)
          squares(c) +=! I(n, c, h, w) * I(n, c, h, w)
          mean(c) = sum(c) / (N * H * W)
          O(n, c, h, w) = (I(n, c, h, w) - mean(c)) * rsqrt(squares(c) / (N * H * W) - mean(c) * mean(c) + 1e-5)
        }""",
        (floats(3, 4, 6, 7),),
        lambda x: (x - x.mean((0, 2, 3), keepdims=True)) / np.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5),
    ),
    "heat": Example(
        """
        def heat(float(H, W) U) -> (O) {
          O(i, j) = U(i+1, j+1) + 0.1 * (U(i, j+1) + U(i+2, j+1) + U(i+1, j) + U(i+1, j+2) - 4.0 * U(i+1, j+1))
        }""",
        (floats(8, 9),),
        heat,
    ),
    "causal mask": Example(
        "def mask(float(N, D) S) -> (O) { O(i, j) = j <= i ? S(i, j) : -1000.0 }",
        (floats(5, 5),),
        lambda s: np.where(np.tril(np.ones_like(s)) > 0, s, -1000),
    ),
    "product and least": Example(
        "def both(float(N, D) X) -> (P, L) { P(n) *=! X(n, d)  L(n) min=! X(n, d) }",
        (floats(4, 5),),
        lambda x: (x.prod(1), x.min(1)),
    ),
    "attention": Example(
        """
        def attention(float(B, H, Q, D) q, float(B, H, K, D) k, float(B, H, K, D) v) -> (O) {
          scores(b, h, i, j) +=! q(b, h, i, d) * k(b, h, j, d)
          scores(b, h, i, j) = scores(b, h, i, j) / sqrt(float(D))
          most(b, h, i) max=! scores(b, h, i, j)
          weights(b, h, i, j) = exp(scores(b, h, i, j) - most(b, h, i))
          total(b, h, i) +=! weights(b, h, i, j)
          O(b, h, i, d) +=! weights(b, h, i, j) / total(b, h, i) * v(b, h, j, d)
        }""",
        (floats(2, 3, 4, 5), floats(2, 3, 6, 5), floats(2, 3, 6, 5)),
        scaled_attention,
    ),
    "sum onto an argument": Example(
        "def gemm(float(M, N) C, float(M, K) A, float(K, N) B) -> (C) { C(i, j) += A(i, k) * B(k, j) }",
        (floats(5, 3), floats(5, 7), floats(7, 3)),
        lambda c, a, b: c + a @ b,
        {"DotGeneral": 1, "Add": 1},
    ),
    "trace and diagonal": Example(
        "def diagonal(float(N, N) A) -> (t, d) { t +=! A(i, i)  d(i) = A(i, i) }",
        (floats(6, 6),),
        lambda a: (np.trace(a), np.diagonal(a)),
    ),
    "matrix of a diagonal": Example("def spread(float(N) x) -> (D) { D(i, i) +=! x(i) }", (floats(4),), np.diag),
    "look-up beside its own index": Example(
        "def picked(float(N, C) logits, int64(N) label) -> (loss) { loss +=! -logits(n, label(n)) }",
        (floats(5, 7), integers(0, 7, 5, dtype=np.int64)),
        lambda x, i: -x[np.arange(5), i].sum(),
    ),
    "two look-ups": Example(
        "def both(float(N, M) A, int32(K) I, uint8(K) J) -> (O) { O(k) = A(I(k), J(k)) }",
        (floats(5, 6), integers(0, 5, 9), integers(0, 6, 9, dtype=np.uint8)),
        lambda a, i, j: a[i, j],
    ),
    "reversed": Example(
        "def turned(float(N, M) x) -> (y) { y(i, j) = x(N - 1 - i, M - 1 - j) }",
        (floats(4, 5),),
        lambda x: x[::-1, ::-1],
        {"Reverse": 1},
    ),
    "shuffled pixels": Example(
        """
        def shuffle(float(N, C, H, W) x) -> (y) {
          y(n, c, 2*h + a, 2*w + b) = x(n, 4*c + 2*a + b, h, w) where a in 0:2, b in 0:2
        }""",
        (floats(2, 8, 3, 4),),
        with_blocks,
    ),
    "repeated pixels": Example(
        "def wide(float(H, W) x) -> (y) { y(i, j) = x(i / 2, j / 3) where i in 0:2*H, j in 0:3*W }",
        (floats(3, 4),),
        lambda x: x.repeat(2, 0).repeat(3, 1),
    ),
    "scalars": Example(
        "def axpy(float a, float(N) x, float(N) y) -> (z) { z(i) = a * x(i) + y(i) }",
        (2.5, floats(6), floats(6)),
        lambda a, x, y: np.float32(a) * x + y,
    ),
    "count": Example(
        "def above(double(N, M) x, double least) -> (n, some, all) "
        "{ n +=! x(i, j) > least  some(i) max=! x(i, j) > least  all(i) min=! x(i, j) > least }",
        (DRAW.standard_normal((4, 5)), 0.25),
        lambda x, least: (np.int32((x > least).sum()), (x > least).any(1), (x > least).all(1)),
    ),
    "bytes multiplied as integers": Example(
        "def quantized(int8(M, K) A, int8(K, N) B) -> (int32(M, N) C) { C(i, j) +=! int32(A(i, k)) * int32(B(k, j)) }",
        (integers(-128, 128, 5, 9, dtype=np.int8), integers(-128, 128, 9, 4, dtype=np.int8)),
        lambda a, b: a.astype(np.int32) @ b.astype(np.int32),
    ),
    "half sums": Example(
        "def total(half(N) x) -> (s) { s +=! x(i) }",
        (np.ones(4097, np.float16),),
        lambda x: np.float16(4097),
    ),
    "padding that stays": Example(
        "def pad(float(N) x) -> (float(N + 3) y) { y(i + 2) +=! x(i) }",
        (floats(5),),
        lambda x: np.pad(x, (2, 1)),
        {"Pad": 1},
    ),
    "part that is set": Example(
        "def reset(float(N, M) x) -> (x) { x(2*i, 1) = 0.5 where i in 0:2 }",
        (floats(5, 3),),
        lambda x: np.where(
            (np.arange(5) % 2 == 0)[:, None] & (np.arange(5) < 4)[:, None] & (np.arange(3) == 1), 0.5, x
        ),
    ),
    "function that calls another": Example(
        """
        def dense(float(B, N) x, float(M, N) w) -> (y) { y(b, m) +=! x(b, n) * w(m, n) }
        def network(float(B, N) x, float(H, N) v, float(M, H) w) -> (y) {
          h = dense(x, v)
          h(i, j) = tanh(h(i, j))
          y = dense(h, w)
        }""",
        (floats(3, 4), floats(5, 4), floats(2, 5)),
        lambda x, v, w: np.tanh(x @ v.T) @ w.T,
    ),
    "distances": Example(
        "def squares(float(N, D) X, float(M, D) Y) -> (Z) { Z(n, m) +=! (X(n, d) - Y(m, d)) * (X(n, d) - Y(m, d)) }",
        (floats(4, 3), floats(5, 3)),
        lambda x, y: ((x[:, None] - y[None]) ** 2).sum(-1),
    ),
    "longest ways": Example(
        "def tropical(float(N, K) A, float(K, M) B) -> (C) { C(i, j) max=! A(i, k) + B(k, j) }",
        (floats(4, 6), floats(6, 5)),
        lambda a, b: (a[:, :, None] + b[None]).max(1),
    ),
    "identity": Example(
        "def eye(float(N) x) -> (E) { E(i, j) = i == j ? 1.0 : 0.0 where i in 0:N, j in 0:N }",
        (floats(4),),
        lambda x: np.eye(4, dtype=np.float32),
    ),
    "convolution with padding": Example(
        """
        def conv(float(N, C, H, W) x, float(M, C, KH, KW) k) -> (y) {
          y(n, m, h, w) +=! (h + kh >= 1 && h + kh <= H && 0 <= w + kw - 1 && w + kw - 1 < W
                             ? x(n, c, h + kh - 1, w + kw - 1) : 0.0) * k(m, c, kh, kw)
            where h in 0:H, w in 0:W
        }""",
        (floats(2, 3, 5, 6), floats(4, 3, 3, 3)),
        lambda x, k: np.einsum("nchwab,mcab->nmhw", windows(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3)), k),
    ),
    "differences": Example(
        "def steps(float(N) x) -> (y) { y(i) = i < N - 1 ? x(i + 1) - x(i) : 0.0 }",
        (floats(6),),
        lambda x: np.append(np.diff(x), np.float32(0)),
    ),
}
