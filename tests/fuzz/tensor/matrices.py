"""Writes random functions of matrices: sums and products of diagonal, banded, block, low-rank and triangular ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from tests.fuzz.tensor.author import Program
from windlass.ops.sampling import RandomDraw
from windlass.stablehlo import import_text


class Values:
    """What a function is given: square matrices, vectors, thin matrices, a number and indices, all of one size."""

    def __init__(self, draw: RandomDraw, arrays: list[Any]) -> None:
        self.draw = draw
        self.matrices, self.vectors = arrays[:3], arrays[3:6]
        self.thin, self.number, self.indices = arrays[6], arrays[7], arrays[8]
        self.size = self.vectors[0].shape[0]

    def matrix(self) -> Any:
        return self.draw.choose(self.matrices)

    def vector(self) -> Any:
        return self.draw.choose(self.vectors)

    def leaf(self) -> Any:
        """A matrix of some structure, or one that is given."""
        size, half = self.size, self.size // 2
        match self.draw.integer(0, 13):
            case 0:
                return jnp.eye(size)
            case 1:
                return jnp.diag(self.vector())
            case 2:
                return jnp.diag(self.vector()[1:], self.draw.choose((-1, 1)))
            case 3:
                return jnp.outer(self.vector(), self.vector())
            case 4:
                return jnp.ones((size, size)) / size
            case 5:
                return self.thin @ self.thin.T
            case 6:
                return jnp.tril(self.matrix(), self.draw.integer(-1, 1))
            case 7:
                return jnp.eye(size)[self.indices]
            case 8:
                return jnp.broadcast_to(self.vector(), (size, size))
            case 9:
                whole, zero = self.matrix(), jnp.zeros((half, half))
                lower = self.draw.choose((zero, whole[half:, :half]))
                return jnp.block([[whole[:half, :half], zero], [lower, whole[half:, half:]]])
            case 10:
                two = jnp.ones((2, 2)) + jnp.eye(2)
                return jnp.kron(two, self.matrix()[:half, :half])
            case 11:
                lower = jnp.tril(self.matrix()) * 0.2 + 2 * jnp.eye(size)
                return solve_triangular(lower, jnp.eye(size), lower=True, trans=self.draw.integer(0, 1))
            case 12:
                at = jnp.arange(size)
                return jnp.zeros((size, size)).at[at, at].set(self.vector())
            case _:
                return self.matrix()

    def grow(self, depth: int) -> Any:
        """A matrix made of others."""
        if depth == 0:
            return self.leaf()
        left = self.grow(depth - 1)
        match self.draw.integer(0, 11):
            case 0 | 1:
                return left + self.grow(depth - 1)
            case 2:
                return left - self.grow(depth - 1)
            case 3:
                return self.draw.choose((2.0, -1.5, self.number)) * left
            case 4:
                return left.T
            case 5:
                return self.vector()[:, None] * left
            case 6:
                right = self.grow(depth - 1)
                return left @ right.T + right @ left.T
            case 7:
                return -left / self.number
            case _:
                return left @ self.grow(depth - 1)

    def end(self, matrix: Any) -> Any:
        """What is wanted of a matrix."""
        ends: tuple[Callable[[], Any], ...] = (
            lambda: matrix @ self.vector(),
            lambda: self.vector() @ matrix,
            lambda: matrix @ self.thin,
            lambda: self.thin.T @ matrix,
            lambda: jnp.trace(matrix),
            lambda: jnp.sum(matrix, self.draw.choose((0, 1, None))),
            lambda: matrix[self.indices[:2]],
            lambda: matrix[1:3],
            lambda: jnp.diag(matrix),
            lambda: self.vector() @ matrix @ self.vector(),
            lambda: matrix @ self.grow(1),
            lambda: matrix,
        )
        return self.draw.choose(ends)()


def write_matrix_function(seed: int) -> Program:
    """The program that JAX lowers a random function of matrices to, in double precision."""
    draw, generator = RandomDraw(seed), np.random.default_rng(seed)
    size, width = draw.choose((4, 6)), draw.integer(1, 3)
    shapes: list[tuple[int, ...]] = [(size, size)] * 3 + [(size,)] * 3 + [(size, width), ()]
    arrays: list[Any] = [np.round(generator.uniform(-2, 2, shape), 2) for shape in shapes]
    arrays[7] = np.asarray(1.75)
    arrays.append(generator.integers(0, size, size).astype(np.int32))

    def function(*given: Any) -> Any:
        values = Values(RandomDraw(seed), list(given))
        return tuple(values.end(values.grow(values.draw.integer(1, 3))) for _ in range(2))

    with jax.enable_x64(True):
        text = jax.jit(function, keep_unused=True).lower(*arrays).as_text()
    return Program(import_text(text), tuple(np.asarray(array) for array in arrays), False)
