"""Programs that every process of a computation has to compile in the same way: run as a module, this prints a digest of
the text of each, twice. Between, memory is taken, so that what is traced again stands at other addresses."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import windlass as wl

NAMES = [f"field{number}" for number in range(12)]


def loop_over_many_memories(u: Any, steps: Any) -> Any:
    """Each round writes all of them in place."""
    fields = {name: u + number for number, name in enumerate(NAMES)}
    for _ in range(steps):
        for field in fields.values():
            field[1:-1] = 0.5 * (field[:-2] + field[2:])
    return fields


def branch_between_many_memories(u: Any, is_first: Any) -> Any:
    """Each way writes others; what a name holds afterwards is one of two memories."""
    fields = [u + number for number in range(8)]
    chosen = fields[0]
    if is_first:
        chosen = fields[1]
        for field in fields[:5]:
            field[0] = 1
    else:
        for field in fields[3:]:
            field[1] = 2
    return chosen.sum(), fields


def solve_by_turns(u: Any, steps: Any) -> Any:
    """Two names change places in each round."""
    old, new = u, u.copy()
    for _ in range(steps):
        new[1:-1] = 0.5 * (old[:-2] + old[2:])
        old, new = new, old
    return old


def texts_of_python() -> Iterator[tuple[str, str]]:
    u = np.linspace(0, 1, 32)
    for function, argument in ((loop_over_many_memories, 5), (branch_between_many_memories, True), (solve_by_turns, 4)):
        yield function.__name__, wl.jit(function).lower(u, jnp.asarray(argument)).text()


def texts_on_a_mesh() -> Iterator[tuple[str, str]]:
    from tests.communication.programs import MESHES, PROGRAMS, SHAPES

    for program in PROGRAMS:
        sizes, names = MESHES[program.mesh]
        mesh = Mesh(np.array(jax.devices()).reshape(sizes), names)
        placed = jax.device_put(jnp.ones(SHAPES[program.mesh]), NamedSharding(mesh, PartitionSpec(*names)))
        lowered = jax.jit(wl.optimize(program.function)).lower(*([placed] * program.arguments))
        yield program.name, lowered.as_text()


def texts_of_kernels() -> Iterator[tuple[str, str]]:
    from tests.programs import test_programs
    from tests.programs.program import PROGRAMS
    from windlass.diagnostics import WindlassError

    for program in PROGRAMS:
        launch = program.launches[0]
        kernel = test_programs.compiled(program.source)[program.kernel]
        try:
            arguments = program.draw_arguments(launch)
            lowered = kernel.lower(launch.grid, launch.block, *arguments, shared_bytes=launch.shared_bytes)
            yield program.name, "\n".join(lowered.text(stage) for stage in lowered.stages if stage != "hlo")
        except WindlassError as error:
            yield program.name, str(error)


def digests(texts: Callable[[], Iterator[tuple[str, str]]]) -> dict[str, list[str]]:
    first, kept = dict(texts()), [[number] for number in range(10_007)]
    second = dict(texts())
    assert kept
    return {name: [hashlib.sha256(text.encode()).hexdigest() for text in (first[name], second[name])] for name in first}


if __name__ == "__main__":
    told = digests(texts_of_python)
    if "wide" in sys.argv:
        told |= digests(texts_on_a_mesh) | digests(texts_of_kernels)
    print(json.dumps(told))
