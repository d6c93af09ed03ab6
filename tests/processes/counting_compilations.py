"""A program of several ranks that tells how many divided programs it has, and how often these were compiled in all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

import windlass as wl
from windlass.stablehlo import compiled_once

asked: list[str] = []
compiled: list[str] = []
obtain = compiled_once.obtain


def obtain_and_note(store: Any, digest: str, compile_here: Callable[[], bytes]) -> bytes:
    def compile_and_note() -> bytes:
        compiled.append(digest)
        return compile_here()

    asked.append(digest)
    return obtain(store, digest, compile_and_note)


compiled_once.obtain = obtain_and_note


@wl.jit
def smooth(u: Any) -> Any:
    u[1:-1] = 0.25 * (u[:-2] + 2 * u[1:-1] + u[2:])
    return u


field = np.arange(16.0, dtype=np.float32)
divided = jax.sharding.NamedSharding(wl.mesh(x=jax.device_count()), jax.sharding.PartitionSpec("x"))
u = jax.make_array_from_callback(field.shape, divided, lambda index: field[index])
smooth(u)
smooth(wl.shard(field, wl.mesh(devices=jax.local_devices(), x=1), "x"))  # a program of one process is its own
counts = np.array([len(asked), len(set(asked)), len(compiled)])
print(*multihost_utils.process_allgather(counts).ravel().tolist())
