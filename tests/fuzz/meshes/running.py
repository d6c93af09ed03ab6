"""Compiles a program for eight devices of the CPU in every way, and compares with one device and with plain XLA."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import windlass as wl
from tests.fuzz.meshes.author import Program
from tests.fuzz.meshes.imagined import Outcome, difference
from windlass.communication.counting import bytes_per_run, count_messages


def run_program(program: Program) -> Outcome:
    """Run it by `wl.optimize` within `jax.jit`, and by `wl.jit`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _run(program)


def _run(program: Program) -> Outcome:
    function, arrays = program.function(), program.arrays()
    mesh = Mesh(np.array(jax.devices()[:8]).reshape([size for _, size in program.mesh]), [n for n, _ in program.mesh])
    shardings = [
        NamedSharding(mesh, PartitionSpec(*(names or None for names in each.spec))) for each in program.arguments
    ]

    def placed() -> list[Any]:
        # An argument that no axis divides may as well be on no mesh.
        return [
            jax.device_put(array, sharding) if any(each.spec) or program.seed % 2 else array
            for array, sharding, each in zip(arrays, shardings, program.arguments, strict=True)
        ]

    donated = tuple(place for place, each in enumerate(program.arguments) if each.is_donated and any(each.spec))
    try:
        expected = jax.jit(function)(*arrays)
        plain_compiled = jax.jit(function, donate_argnums=donated).lower(*placed()).compile()
        plain = plain_compiled(*placed())
    except Exception as error:
        return Outcome("unfit", f"{type(error).__name__}: {str(error)[:300]}")
    is_xlas = bool(_told(program, expected, plain))

    def judge(way: str, found: Any) -> Outcome | None:
        told = _told(program, expected, found)
        if told:
            return Outcome("xla" if is_xlas else "wrong", f"{way}: {told}")
        for name, one, other in zip(program.results, plain, found, strict=True):
            if isinstance(other, jax.Array) and not one.sharding.is_equivalent_to(other.sharding, one.ndim):
                return Outcome("wrong", f"{way}: {name} is divided by {other.sharding}, not by {one.sharding}")
        return None

    settings: dict[str, Any] = {}
    if program.seed % 3 == 0 and all(any(each.spec) or program.seed % 2 for each in program.arguments):
        settings = {"in_shardings": tuple(shardings)}
    if program.seed % 3 == 1:
        settings = {"out_shardings": tuple(each.sharding for each in plain)}
    try:
        optimized = wl.optimize(function)
        compiled = jax.jit(optimized, donate_argnums=donated, **settings).lower(*placed()).compile()
        outcome = judge("wl.optimize", compiled(*placed()))
        if outcome is not None:
            return outcome
        # Functions of jax.lax look into what they are given, and want JAX's own arrays.
        ways: list[Callable[..., Any]] = [wl.jit(lambda *arrays: function(*map(jnp.asarray, arrays)))]
        if program.seed % 4 == 0:
            ways.append(jax.jit(ways[0]))
        for way in ways:
            outcome = judge("wl.jit", way(*placed()))
            if outcome is not None:
                return outcome
    except Exception as error:
        return Outcome("fault", f"{traceback.format_exc(limit=-4)[-1500:]}{type(error).__name__}: {error}")
    ours, theirs = (bytes_per_run(count_messages(each.as_text() or "")) for each in (compiled, plain_compiled))
    if ours > theirs:
        return Outcome("moves more", f"{ours} bytes, XLA {theirs}")
    return Outcome("xla", f"plain: {_told(program, expected, plain)}") if is_xlas else Outcome("same")


def _told(program: Program, expected: Any, found: Any) -> str:
    kinds = program.kinds()
    for name, one, other in zip(program.results, expected, found, strict=True):
        told = difference(one, other, kinds[name].rounds)
        if told:
            return f"{name}: {told}"
    return ""
