"""Products of matrices of which less is needed than is written down."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from benchmarks.tensor.program import Draw, add_gradient, normal, program
from jax import lax

N = 1500
FIVE = "five contractions"


@program(FIVE, normal((N, N), (N, N), (N,)))
def product_times_vector(a: Any, b: Any, v: Any) -> Any:
    return a @ b @ v


@program(FIVE, normal((N, N), (N, N)), tolerance=1e-3)
def sum_of_product(a: Any, b: Any) -> Any:
    return jnp.sum(a @ b)


@program(FIVE, normal((N, N), (N, N)), tolerance=1e-3)
def trace_of_product(a: Any, b: Any) -> Any:
    return jnp.trace(a @ b)


@program(FIVE, normal((N,), (N, N)))
def diagonal_times_matrix(v: Any, a: Any) -> Any:
    return jnp.diag(v) @ a


@program(FIVE, normal((N, N), (N, N)))
def rows_of_product(a: Any, b: Any) -> Any:
    return (a @ b)[:10]


TWELVE = "twelve"


@program(TWELVE, lambda draw: (draw.weight(1024, 1024),))
def product_plus_transpose(x: Any) -> Any:
    return x @ x + (x @ x).T


@program(TWELVE, normal((1024,), (1024, 1024)))
def diagonal_matmul(v: Any, a: Any) -> Any:
    """The diagonal is stored in a matrix of zeros, as programs do that don't think of it as a diagonal."""
    places = jnp.arange(v.shape[0])
    return jnp.zeros((v.shape[0], v.shape[0])).at[places, places].set(v) @ a


add_gradient("diagonal_matmul", TWELVE, (0, 1))


@program(TWELVE, normal((1024, 1024), (32, 1024)))
def matvecs_in_loop(a: Any, vectors: Any) -> Any:
    return jnp.stack([a @ vectors[i] for i in range(vectors.shape[0])])


OTHER = "other contractions"


@program(OTHER, normal((1000, 1000), (1000, 20), (20, 1000)))
def chain_in_the_wrong_order(a: Any, b: Any, c: Any) -> Any:
    """(A (B C)) is written; (A B) C is 12 times cheaper."""
    return a @ (b @ c)


@program(OTHER, lambda draw: (draw.weight(768, 768), draw.weight(768, 768), draw.weight(768, 768)))
def common_factor(a: Any, b: Any, c: Any) -> Any:
    return a @ b + a @ c


@program(OTHER, lambda draw: (draw.normal(250, 250), draw.normal(250)))
def inverse_times_vector(a: Any, v: Any) -> Any:
    return jnp.linalg.inv(a @ a.T / 250 + jnp.eye(250)) @ v


@program(OTHER, normal((2000, 20), (2000, 20), (2000,)))
def low_rank_update_times_vector(u: Any, w: Any, v: Any) -> Any:
    return (jnp.eye(2000) + u @ w.T) @ v


@program(OTHER, lambda draw: (draw.weight(768, 768), draw.integers(768, high=768)))
def one_hot_times_matrix(a: Any, chosen: Any) -> Any:
    return (chosen[:, None] == jnp.arange(768)[None, :]).astype(jnp.float32) @ a


@program(OTHER, lambda draw: (draw.weight(64, 256, 256), draw.weight(256, 256)))
def products_in_a_scan(stack: Any, x: Any) -> Any:
    """Each step multiplies its own slice: the loop is a batched product."""
    return lax.map(lambda each: each @ x, stack)


@program(OTHER, lambda draw: (draw.normal(600, 400), draw.normal(600), draw.normal(400)))
def quadratic_forms(a: Any, u: Any, v: Any) -> Any:
    """The trace of an outer product with a product, and the diagonal of a product."""
    return jnp.trace(jnp.outer(u, v) @ a.T), jnp.diagonal(a @ a.T)


def make_blocks(draw: Draw) -> tuple[Any, ...]:
    return (*tuple(draw.weight(384, 384) for _ in range(4)), draw.normal(768, 256))


@program(OTHER, make_blocks)
def block_diagonal_times_matrix(a: Any, b: Any, c: Any, d: Any, x: Any) -> Any:
    """A block matrix with two zero blocks, then another that is full."""
    zero = jnp.zeros_like(a)
    upper = jnp.block([[a, zero], [zero, b]])
    return jnp.block([[c, zero], [d, c]]) @ (upper @ x)


@program(OTHER, lambda draw: (draw.weight(40, 40), draw.weight(40, 40), draw.normal(1600)))
def kronecker_times_vector(a: Any, b: Any, v: Any) -> Any:
    return jnp.kron(a, b) @ v


@program(OTHER, lambda draw: (draw.normal(800), draw.normal(799), draw.normal(799), draw.normal(800, 100)))
def tridiagonal_times_matrix(main: Any, lower: Any, upper: Any, x: Any) -> Any:
    return (jnp.diag(main) + jnp.diag(lower, -1) + jnp.diag(upper, 1)) @ x


@program(OTHER, normal((600, 600)), tolerance=1e-4)
def double_centering(a: Any) -> Any:
    """Classical scaling: the mean of each row and column is taken out by products with I - 11ᵀ/n."""
    centre = jnp.eye(600) - jnp.ones((600, 600)) / 600
    return centre @ a @ centre


@program(OTHER, lambda draw: (draw.normal(250, 250), draw.normal(250), draw.normal(250, 250)))
def inverse_between(a: Any, v: Any, b: Any) -> Any:
    """A vector times an inverse, and an inverse times a matrix."""
    regular = a @ a.T / 250 + jnp.eye(250)
    return v @ jnp.linalg.inv(regular), jnp.linalg.inv(regular + 1) @ b


@program(OTHER, lambda draw: (draw.weight(512, 512), draw.weight(512, 512)))
def alternating_products(a: Any, b: Any) -> Any:
    return a @ b @ a @ b
