"""A program of several ranks that compile the same, or not: other_programs.py HOW."""

from __future__ import annotations

import sys
from typing import Any

import jax
import numpy as np

import windlass as wl

how, rank = sys.argv[-1], jax.process_index()
weight = 0.25 if how != "constant" or rank == 0 else 0.5


def smooth(u: Any) -> Any:
    u[1:-1] = weight * (u[:-2] + 2 * u[1:-1] + u[2:])
    return u


def sharpen(u: Any) -> Any:
    u[1:-1] = 2 * u[1:-1] - weight * (u[:-2] + u[2:])
    return u


if __name__ == "__main__":
    mesh = wl.mesh(x=jax.device_count())
    divided = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    field = np.arange(16.0, dtype=np.float32)
    u = jax.make_array_from_callback(field.shape, divided, lambda index: field[index])
    if how == "alone" and rank == 0:
        mine = wl.shard(field, wl.mesh(devices=jax.local_devices(), x=1), "x")  # programs of one process are its own
        wl.jit(sharpen)(mine)
    step = wl.jit(sharpen if how == "function" and rank == 1 else smooth)
    print(float(step(u).sum()))
