"""`wl.mesh` and `wl.shard`: devices in a grid, and arrays divided over them, with what is wrong told in one line.

They make JAX's own meshes and shardings: `jax.sharding.Mesh` and `jax.device_put` do as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.arrays.array import Array, wrapped

Axes: TypeAlias = "str | Sequence[str] | None"


def mesh(*, devices: Sequence[Any] | None = None, **sizes: int) -> Mesh:
    """A mesh of devices: the name and the size of each axis, the outermost first.

    It takes as many as it needs of `devices`, by default `jax.devices()`.

    Raises LaunchError (WL0944) for sizes that are none, and where there are too few devices.

    >>> dict(mesh(x=1).shape)
    {'x': 1}
    """
    if not sizes:
        raise _fault("a mesh needs an axis", "name each, with its size: wl.mesh(x=4, y=2)")
    for name, size in sizes.items():
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _fault(f"axis '{name}' of the mesh is of size {size!r}", "sizes are numbers of devices, 1 or more")
    given = list(jax.devices() if devices is None else devices)
    count = math.prod(sizes.values())
    if count > len(given):
        told = " × ".join(f"{name}={size}" for name, size in sizes.items())
        raise _fault(
            f"a mesh of {told} needs {count} devices, there {'is' if len(given) == 1 else 'are'} {len(given)}",
            f"on CPUs XLA_FLAGS=--xla_force_host_platform_device_count={count} makes so many, "
            "before JAX starts; or make the mesh smaller",
        )
    return Mesh(np.array(given[:count]).reshape(tuple(sizes.values())), tuple(sizes))


def shard(array: Any, mesh: Mesh, *axes: Axes, uneven: bool = False) -> Any:
    """The array divided over a mesh: for each of its axes the axis of the mesh that divides it, or several, or None.

    Axes that are left out at the end are not divided. The array is one of NumPy or JAX, and keeps its dtype as JAX
    does. Within a function that is compiled, by JAX or by Windlass, the value is divided from there on.

    With `uneven`, sizes need not be multiples of the number of parts. JAX divides no argument or result unevenly: such
    an axis of an array is whole on each device. Within a function it is divided as one of the next multiple would be:
    the last devices have less, and what a loop carries is put together after it.

    Raises LaunchError (WL0944) where it can't be divided so: more axes than the array has, one that the mesh has not,
    one twice, a size that is no multiple of the number of parts, devices of another process.

    >>> tuple(shard(np.arange(6.0).reshape(3, 2), mesh(x=1), None, "x").sharding.spec)
    (None, 'x')
    >>> jax.jit(lambda u: shard(u, mesh(x=1), "x", uneven=True) + 1)(np.zeros(3)).tolist()
    [1.0, 1.0, 1.0]
    """
    if not isinstance(mesh, Mesh):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _fault(f"wl.shard takes a mesh, got {type(mesh).__name__}", "wl.mesh(x=4, y=2) makes one")
    shape = tuple(np.shape(array))
    if len(axes) > len(shape):
        raise _fault(
            f"an array of shape {shape} has {len(shape)} axes, {len(axes)} are to be divided: {_told(axes)}",
            "name at most as many axes as the array has",
        )
    taken: set[str] = set()
    lacking = [0] * len(shape)
    for place, (size, own) in enumerate(zip(shape, axes, strict=False)):
        names = () if own is None else (own,) if isinstance(own, str) else tuple(own)
        for name in names:
            if name not in mesh.shape:
                known = ", ".join(f"'{each}'" for each in mesh.shape)
                raise _fault(f"the mesh has no axis '{name}'", f"its axes are: {known}")
            if name in taken:
                raise _fault(
                    f"axis '{name}' of the mesh divides two axes of the array: {_told(axes)}",
                    "each can divide one: put None, or another, in place of the second",
                )
            taken.add(name)
        parts = math.prod(mesh.shape[name] for name in names)
        lacking[place] = more = -size % parts
        if more and not uneven:
            raise _fault(
                f"axis {place} of an array of shape {shape} can't be divided into {parts} equal parts: it is of size "
                f"{size}",
                f"make it longer by {more}, for example with jax.numpy.pad, divide another axis, leave it whole with "
                "None, or pass uneven=True within the function that computes with it",
            )
    strangers = [each for each in mesh.devices.flat if each.process_index != jax.process_index()]
    if strangers and isinstance(array, jax.Array) and array.is_fully_addressable:
        raise _fault(
            f"{len(strangers)} of the mesh's {mesh.devices.size} devices belong to other processes, "
            "and the array is on this one's",
            "pass what all processes have as a NumPy array, or make each process's part with "
            "jax.make_array_from_callback",
        )
    value = array.value if isinstance(array, Array) else array
    if isinstance(value, Tracer):
        divided = _divide_within(value, NamedSharding(mesh, PartitionSpec(*axes)), lacking)
        return wrapped(divided, True) if isinstance(array, Array) else divided
    whole = (None if more else own for own, more in zip(axes, lacking, strict=False))
    return jax.device_put(value, NamedSharding(mesh, PartitionSpec(*whole)))


def _divide_within(value: Any, sharding: NamedSharding, lacking: Sequence[int]) -> Any:
    """A traced value, divided as one that is longer by what it lacks."""
    if not any(lacking):
        return jax.lax.with_sharding_constraint(value, sharding)
    padded = jnp.pad(value, [(0, more) for more in lacking])
    return jax.lax.with_sharding_constraint(padded, sharding)[tuple(slice(size) for size in value.shape)]


def _told(axes: Sequence[Axes]) -> str:
    return f"({', '.join(map(repr, axes))})"


def _fault(headline: str, help_: str) -> LaunchError:
    return LaunchError(Diagnostic("WL0944", headline, help=help_))
