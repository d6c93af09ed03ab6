"""A program of several processes that keeps checkpoints, and that something befalls: heat.py FOLDER STEPS FAULT."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from numpy.typing import NDArray

import windlass as wl

EVERY, FAULTY_STEP, FAULTY_RANK = 4, 10, 1


def first_field() -> NDArray[np.float32]:
    return np.random.default_rng(1).random((24, 12), np.float32)


@jax.jit
def advance(u: jax.Array) -> jax.Array:
    return u + 0.2 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) - 2 * u)


def befall(fault: str) -> None:
    """Let the fault happen to this process."""
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif fault == "hung":
        time.sleep(1000)
    elif fault == "error":
        raise ValueError("what a mistake")
    elif fault == "crashed":
        os.abort()
    elif fault == "left":
        os._exit(3)
    elif fault == "full":
        os.fsync = fill_disk
    elif fault == "killed while writing":
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)  # pyright: ignore[reportAttributeAccessIssue]


def fill_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def main(folder: Path, steps: int, fault: str) -> None:
    marks = folder.with_suffix(".befallen")

    def is_due(moment: str) -> bool:
        if jax.process_index() != FAULTY_RANK or fault.partition(":")[2] != moment:
            return False
        if not fault.startswith("always") and marks.exists():
            return False
        marks.touch()
        return True

    what = fault.partition(":")[0].removeprefix("always ")
    if is_due("start"):
        befall(what)
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    divided = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    field = first_field()
    saved = wl.checkpoint(folder, every=EVERY, keep=2)
    u, sums = saved.restore((jax.make_array_from_callback(field.shape, divided, lambda index: field[index]), 0))
    print(f"{jax.process_count()} processes begin at {saved.step}: {sys.argv[1:]}")
    for step in saved.steps(steps):
        if step == FAULTY_STEP and is_due("step"):
            befall(what)
        u, sums = advance(u), sums + step
        saved.save((u, sums))
    whole = np.asarray(multihost_utils.process_allgather(u, tiled=True))
    print(hashlib.sha256(whole.tobytes()).hexdigest(), sums)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
