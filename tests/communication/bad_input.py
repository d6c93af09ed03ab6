"""What a user reads for meshes and divided arrays that are wrong, word for word, on eight devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

import windlass as wl

SOURCE = """
__global__ void add(float *out, const float *u, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += u[i];
}
"""


def field() -> Any:
    return np.arange(48 * 32, dtype=np.float32).reshape(48, 32)


def eight() -> Mesh:
    return wl.mesh(x=8)


def on_eight() -> Any:
    return wl.shard(field(), eight(), "x")


def on_four() -> Any:
    return wl.shard(field(), wl.mesh(x=4), "x")


def other_order() -> Any:
    return wl.shard(field(), wl.mesh(x=8, devices=jax.devices()[::-1]), "x")


def add(u: Any, v: Any) -> Any:
    return u + jnp.roll(v, 1, 0)


def energy(u: Any, v: Any) -> Any:
    return (u * v).sum()


def scaled(u: Any, v: Any) -> Any:
    return v * u.sum()


def add_in_place(u: Any, v: Any) -> Any:
    u[1:] = v[:-1]
    return u


def use_after_donation() -> Any:
    u = on_eight()
    step = wl.jit(donate="u")(add_in_place)
    step(u, on_eight())
    return step(u, on_eight())


def donate_what_is_read() -> Any:
    u = on_eight()
    return wl.jit(donate="u")(add_in_place)(u, u)


def use_deleted() -> Any:
    u = on_eight()
    u.delete()
    return wl.optimize(add)(on_eight(), u)


def launch_on_two_meshes() -> Any:
    return wl.cuda.compile(SOURCE)["add"].jax(48, 32)(on_eight().reshape(-1), on_four().reshape(-1), 48 * 32)


EIGHT, FOUR = "on the 8 devices 0, 1, 2, 3, 4, 5, 6, 7", "on the 4 devices 0, 1, 2, 3"
SAME = "help: put all on the same devices, in the same order, as in jax.device_put({}, {}.sharding)"
CASES: dict[str, tuple[Callable[[], Any], str, str]] = {
    "a mesh without axes": (
        wl.mesh, "error[WL0944]: a mesh needs an axis", "help: name each, with its size: wl.mesh(x=4, y=2)",
    ),
    "a size that is none": (
        lambda: wl.mesh(x=0), "error[WL0944]: axis 'x' of the mesh is of size 0",
        "help: sizes are numbers of devices, 1 or more",
    ),
    "too few devices": (
        lambda: wl.mesh(x=4, y=4), "error[WL0944]: a mesh of x=4 × y=4 needs 16 devices, there are 8",
        "help: on CPUs XLA_FLAGS=--xla_force_host_platform_device_count=16 makes so many, before JAX starts; "
        "or make the mesh smaller",
    ),
    "no mesh": (
        lambda: wl.shard(field(), "x", "x"),  # pyright: ignore[reportArgumentType]
        "error[WL0944]: wl.shard takes a mesh, got str", "help: wl.mesh(x=4, y=2) makes one",
    ),
    "wrong rank": (
        lambda: wl.shard(field(), eight(), None, None, "x"),
        "error[WL0944]: an array of shape (48, 32) has 2 axes, 3 are to be divided: (None, None, 'x')",
        "help: name at most as many axes as the array has",
    ),
    "unknown axis": (
        lambda: wl.shard(field(), wl.mesh(x=4, y=2), "x", "z"), "error[WL0944]: the mesh has no axis 'z'",
        "help: its axes are: 'x', 'y'",
    ),
    "an axis used twice": (
        lambda: wl.shard(field(), eight(), "x", "x"),
        "error[WL0944]: axis 'x' of the mesh divides two axes of the array: ('x', 'x')",
        "help: each can divide one: put None, or another, in place of the second",
    ),
    "uneven": (
        lambda: wl.shard(field()[:45], eight(), "x"),
        "error[WL0944]: axis 0 of an array of shape (45, 32) can't be divided into 8 equal parts: it is of size 45",
        "help: make it longer by 3, for example with jax.numpy.pad, divide another axis, leave it whole with None, "
        "or pass uneven=True within the function that computes with it",
    ),
    "two meshes in wl.jit": (
        lambda: wl.jit(add)(on_eight(), on_four()),
        f"error[WL0943]: add: argument 'u' is {EIGHT}, argument 'v' {FOUR}", SAME.format("v", "u"),
    ),
    "two meshes in wl.optimize": (
        lambda: wl.optimize(add)(on_four(), v=on_eight()),
        f"error[WL0943]: add: argument 'u' is {FOUR}, argument 'v' {EIGHT}", SAME.format("v", "u"),
    ),
    "two meshes of the same devices in wl.jit": (
        lambda: wl.jit(scaled)(on_eight(), wl.shard(field(), wl.mesh(p=2, q=4), "p", "q")),
        "error[WL0943]: scaled: argument 'u' is divided over a mesh of x=8, argument 'v' over one of p=2, q=4",
        "help: divide both over one mesh, as in wl.shard(v, u.sharding.mesh, ...)",
    ),
    "two meshes of the same devices in wl.optimize": (
        lambda: wl.optimize(scaled)(on_eight(), v=wl.shard(field(), wl.mesh(p=2, q=4), "p", "q")),
        "error[WL0943]: scaled: argument 'u' is divided over a mesh of x=8, argument 'v' over one of p=2, q=4",
        "help: divide both over one mesh, as in wl.shard(v, u.sharding.mesh, ...)",
    ),
    "two meshes in wl.grad": (
        lambda: wl.grad(energy)(on_eight(), on_four()),
        f"error[WL0943]: wl.grad of energy: argument 'u' is {EIGHT}, argument 'v' {FOUR}", SAME.format("v", "u"),
    ),
    "two meshes in a launch": (
        launch_on_two_meshes, f"error[WL0943]: add: argument 'out' is {EIGHT}, argument 'u' {FOUR}",
        SAME.format("u", "out"),
    ),
    "devices in two orders": (
        lambda: wl.jit(add)(on_eight(), other_order()),
        f"error[WL0943]: add: argument 'u' is {EIGHT}, argument 'v' on the 8 devices 7, 6, 5, 4, 3, 2, 1, 0",
        SAME.format("v", "u"),
    ),
    "one device and many": (
        lambda: wl.jit(add)(on_eight(), jax.device_put(field(), jax.devices()[3])),
        f"error[WL0943]: add: argument 'u' is {EIGHT}, argument 'v' on device 3", SAME.format("v", "u"),
    ),
    "used after it was donated": (
        use_after_donation,
        "error[WL0943]: add_in_place: the memory of argument 'u' was given up: deleted, or donated before",
        "help: go on with the result of that call, or don't donate the argument",
    ),
    "donated and read": (
        donate_what_is_read, "error[WL0943]: add_in_place: argument 'u' is donated, and is argument 'v' as well",
        "help: pass a copy of it, or don't donate the argument",
    ),
    "deleted": (
        use_deleted, "error[WL0943]: add: the memory of argument 'v' was given up: deleted, or donated before",
        "help: go on with the result of that call, or don't donate the argument",
    ),
    "another mesh than that asked about": (
        lambda: wl.communication(add, wl.mesh(x=4), on_eight(), on_eight()),
        "error[WL0941]: an argument of shape (48, 32) is divided over {'x': 8}, the mesh is {'x': 4}",
        "help: divide all arguments over the mesh that is asked about",
    ),
    "no function": (
        lambda: wl.communication(3, eight(), field()),  # pyright: ignore[reportArgumentType]
        "error[WL0941]: wl.communication needs a function, got int",
        "help: pass the function first, then the mesh and the function's arguments",
    ),
    "a bound that is none": (
        lambda: wl.check_communication(add, eight(), on_eight(), on_eight(), max_bytes="many"),  # pyright: ignore[reportArgumentType]
        "error[WL0941]: max_bytes is a number, 0 or more, got 'many'", "",
    ),
}  # fmt: skip


def told(case: Callable[[], Any]) -> list[str]:
    """The lines that a user reads."""
    try:
        case()
    except wl.WindlassError as error:
        return [line.strip() for line in str(error).splitlines()]
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    return ["nothing"]


if __name__ == "__main__":
    for name, (case, *expected) in CASES.items():
        if (found := told(case)) != [each for each in expected if each]:
            print(name, *found, sep="\n  ")
