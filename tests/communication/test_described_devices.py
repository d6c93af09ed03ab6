"""Programs are compiled, and their messages counted, for more devices than there are."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

import windlass as wl

PART = 12
FACE = 4 * PART
"""Bytes of one face of a device's part."""


def heat(u: Any) -> Any:
    return u.at[1:-1, 1:-1].set(0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]))


def described(*sizes: int) -> tuple[AbstractMesh, jax.ShapeDtypeStruct]:
    """A mesh, and an array of which each device has a square."""
    mesh = AbstractMesh(sizes, ("x", "y"))
    sharding = NamedSharding(mesh, PartitionSpec("x", "y"))
    return mesh, jax.ShapeDtypeStruct((PART * sizes[0], PART * sizes[1]), jnp.float32, sharding=sharding)


@pytest.mark.parametrize("sizes", [(1, 1), (64, 33), pytest.param((128, 64), marks=pytest.mark.slow)])
def test_what_a_device_receives_does_not_depend_on_how_many_there_are(sizes: tuple[int, int]) -> None:
    mesh, u = described(*sizes)
    expected = 4 * FACE if mesh.size > 1 else 0
    report = wl.check_communication(heat, mesh, u, max_bytes=expected)
    assert report.bytes == expected and dict(report.mesh) == {"x": sizes[0], "y": sizes[1]}
    assert mesh.size == 1 or report.plain_bytes > PART * PART * mesh.size


def test_loops_and_constraints_are_counted_there_too() -> None:
    mesh, u = described(16, 32)

    @wl.jit
    def run(u: Any, steps: int) -> Any:
        for _ in range(steps):
            u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return u

    assert wl.communication(run, mesh, u, 5).bytes == 5 * 4 * FACE


def test_messages_among_a_part_of_an_axis_have_their_bytes() -> None:
    mesh, _ = described(4, 2)
    u = jax.ShapeDtypeStruct((8, 8), jnp.float32, sharding=NamedSharding(mesh, PartitionSpec("x", "y")))

    def turn(u: Any) -> Any:
        return jax.lax.with_sharding_constraint(u + 1, NamedSharding(mesh, PartitionSpec("y", "x")))

    report = wl.communication(turn, mesh, u)
    # A half of the eight elements that each has goes to another.
    assert [(each.kind, each.bytes) for each in report.plain if each.kind == "all-to-all"] == [("all-to-all", 16)]
