"""On which devices the arrays of a call are, and whether a program can take them together (WL0943).

JAX's own errors of this are read where they are raised; what JAX does not notice ends the process: a program on many
devices that is given an array whose memory was given up, or gives up one that it also reads.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import jax
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, LaunchError

Named = Mapping[str, Any]


def expect_there(name: str, arrays: Named, donated: Collection[str] = ()) -> None:
    """Raises LaunchError (WL0943) for arrays that were given up, and for those that are given up and read as well.

    `donated` are parameters, by name.
    """
    for own, array in arrays.items():
        if is_given_up(array):
            raise _fault(
                f"{name}: the memory of {own} was given up: deleted, or donated before",
                "go on with the result of that call, or don't donate the argument",
            )
    for own in arrays:
        if _word(own).partition("[")[0] not in donated:
            continue
        for other, array in arrays.items():
            if other != own and array is arrays[own] and _is_concrete(array):
                raise _fault(
                    f"{name}: {own} is donated, and is {other} as well",
                    "pass a copy of it, or don't donate the argument",
                )


def as_misplaced(error: Exception, name: str, arrays: Named) -> Exception:
    """The error as one of ours, where arrays are on devices that don't go together; else the error itself."""
    text = str(error)
    if not isinstance(error, ValueError | RuntimeError) or isinstance(error, LaunchError):
        return error
    if "Array has been deleted" in text or "Buffer has been deleted" in text:
        try:
            expect_there(name, arrays)
        except LaunchError as found:
            return found
    if "is incompatible with mesh_shape" in text:
        return _as_two_meshes(error, name, arrays)
    if "incompatible devices" not in text:
        return error
    places = {own: _place(array) for own, array in arrays.items() if _is_concrete(array) and array.committed}
    first = next(iter(places), None)
    for own, place in places.items():
        if first is not None and place != places[first]:
            return _fault(
                f"{name}: {first} is {_told(places[first])}, {own} {_told(place)}",
                f"put all on the same devices, in the same order, as in jax.device_put({_word(own)}, "
                f"{_word(first)}.sharding)",
            )
    return error


def _as_two_meshes(error: Exception, name: str, arrays: Named) -> Exception:
    """Of arrays on the same devices, which are divided over different meshes, JAX tells parts of what it tried."""
    meshes = {
        own: dict(array.sharding.mesh.shape)
        for own, array in arrays.items()
        if _is_concrete(array) and isinstance(array.sharding, jax.sharding.NamedSharding)
    }
    first = next(iter(meshes), None)
    for own, mesh in meshes.items():
        if first is not None and list(mesh.items()) != list(meshes[first].items()):
            one, other = (", ".join(f"{axis}={size}" for axis, size in each.items()) for each in (meshes[first], mesh))
            return _fault(
                f"{name}: {first} is divided over a mesh of {one}, {own} over one of {other}",
                f"divide both over one mesh, as in wl.shard({_word(own)}, {_word(first)}.sharding.mesh, ...)",
            )
    return error


def named_leaves(positional: Sequence[Any], named: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The arrays among arguments, by what the user calls them."""
    found: dict[str, Any] = {}
    given = [*zip([*names, *map(str, range(len(names), len(positional)))], positional, strict=False), *named.items()]
    for name, value in given:
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
            if isinstance(leaf, jax.Array):
                found[f"argument '{name}{jax.tree_util.keystr(path)}'"] = leaf
    return found


def parameter_names(function: Any) -> list[str]:
    """The names of a function's parameters; none where it doesn't tell."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def is_given_up(array: Any) -> bool:
    """Whether it is an array whose memory was given up."""
    return _is_concrete(array) and array.is_deleted()


def _is_concrete(array: Any) -> bool:
    return isinstance(array, jax.Array) and not isinstance(array, Tracer)


def _place(array: Any) -> tuple[int, ...]:
    sharding = array.sharding
    mesh = sharding.mesh if isinstance(sharding, jax.sharding.NamedSharding) else None
    devices = mesh.devices.ravel() if isinstance(mesh, jax.sharding.Mesh) else sharding.device_set
    return tuple(device.id for device in devices)


def _told(place: tuple[int, ...]) -> str:
    numbers = ", ".join(map(str, place)) if len(place) <= 8 else f"{place[0]}, {place[1]}, … {place[-1]}"
    return f"on device {numbers}" if len(place) == 1 else f"on the {len(place)} devices {numbers}"


def _word(own: str) -> str:
    return own.split("'")[1]


def _fault(headline: str, help_: str) -> LaunchError:
    return LaunchError(Diagnostic("WL0943", headline, help=help_))
