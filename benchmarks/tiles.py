"""Kernels that are tiled by hand, as for GPUs, against what one writes in JAX for the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from measuring import Result, compare

import windlass as wl

KERNELS = Path(__file__).parent / "kernels.cu"
GOAL = 1.1


def matmuls(rounds: int) -> list[Result]:
    """Tiles of 16 and 32, and tiles of which each thread has a part in registers; 1024² float32."""
    n = 1024
    a, b = (jnp.asarray(np.random.default_rng(seed).standard_normal((n, n), np.float32)) for seed in range(2))
    out = jnp.zeros((n, n), jnp.float32)
    shapes = {"tiled_matmul_16": (16, 16), "tiled_matmul_32": (32, 32), "register_tiled_matmul": (8, 8)}
    found: list[Result] = []
    for name, block in shapes.items():
        tile = 32 if name == "register_tiled_matmul" else block[0]
        found.append(_against(name, (n // tile, n // tile), block, (a, b, out, n), lambda a, b, out: a @ b, rounds))
    return found


def stencil(rounds: int) -> list[Result]:
    """A heat step through tiles with halos, 2048² float32."""
    n, c = 2048, np.float32(0.2)
    now = jnp.asarray(np.random.default_rng(0).random((n, n), np.float32))
    following = jnp.zeros_like(now)

    def by_hand(u: Any, old: Any) -> Any:
        around = u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]
        return jax.lax.dynamic_update_slice(old, u[1:-1, 1:-1] + c * (around - 4 * u[1:-1, 1:-1]), (1, 1))

    return [_against("tiled_heat", (n // 16, n // 16), (16, 16), (now, following, n, n, c), by_hand, rounds)]


def tree(rounds: int) -> list[Result]:
    """Sums of blocks as trees in shared memory, 4 million float32."""
    n = 1 << 22
    x = jnp.asarray(np.random.default_rng(0).random(n, np.float32))
    sums = jnp.zeros(n // 256, jnp.float32)
    return [_against("tree_sum", n // 256, 256, (x, sums, n), lambda x, sums: x.reshape(-1, 256).sum(1), rounds)]


def scans(rounds: int) -> list[Result]:
    """Running sums of blocks in shared memory and by shuffles, 4 million float32, against `jnp.cumsum`."""
    n = 1 << 22
    x = jnp.asarray(np.random.default_rng(0).random(n, np.float32))
    sums = jnp.zeros_like(x)

    def up_to(x: Any, _: Any) -> Any:
        return jnp.cumsum(x.reshape(-1, 256), 1).reshape(-1)

    def before(x: Any, _: Any) -> Any:
        rows = x.reshape(-1, 512)
        return jnp.pad(jnp.cumsum(rows, 1)[:, :-1], ((0, 0), (1, 0))).reshape(-1)

    return [
        _against("scan_in_steps", n // 256, 256, (x, sums, n), up_to, rounds),
        _against("scan_up_and_down", n // 512, 256, (x, sums, n), before, rounds),
        _against("scan_of_warps", n // 256, 256, (x, sums, n), up_to, rounds),
    ]


def transposition(rounds: int) -> list[Result]:
    """A transpose through tiles, 2000 × 3000 float32."""
    rows, columns = 2000, 3000
    x = jnp.asarray(np.random.default_rng(0).random((rows, columns), np.float32))
    y = jnp.zeros((columns, rows), jnp.float32)
    grid = (-(-columns // 16), -(-rows // 16))
    return [_against("tiled_transpose", grid, (16, 16), (x, y, rows, columns), lambda x, y: x.T, rounds)]


def _against(
    name: str, grid: Any, block: Any, arguments: tuple[Any, ...], by_hand: Callable[..., Any], rounds: int
) -> Result:
    kernel = wl.cuda.compile(KERNELS)[name].jax(grid, block)
    arrays = [each for each in arguments if isinstance(each, jax.Array)]
    scalars = arguments[len(arrays) :]
    ours = jax.jit(lambda *given: kernel(*given, *scalars))
    theirs = jax.jit(by_hand)
    np.testing.assert_allclose(ours(*arrays), theirs(*arrays), rtol=1e-3, atol=1e-3)
    return compare(
        name.replace("_", " "),
        lambda: jax.block_until_ready(ours(*arrays)),
        {"by hand in JAX": lambda: jax.block_until_ready(theirs(*arrays))},
        rounds,
        GOAL,
    )


def tiled_kernels(rounds: int) -> list[Result]:
    """All of them."""
    return [*matmuls(rounds), *stencil(rounds), *tree(rounds), *scans(rounds), *transposition(rounds)]
