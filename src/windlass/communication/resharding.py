"""An array that is divided along another axis than before: what devices send one another, one `all_to_all`."""

from __future__ import annotations

from windlass.communication.halo_exchange import FIRST_FOR_FOLDS, Channels
from windlass.communication.layouts import Layout, Moving
from windlass.communication.propagation import CONSTRAINT, Divisions
from windlass.ir import Value
from windlass.ops import AllToAll, Opaque, Reshape, Transpose
from windlass.ops.shardings import Mesh, Sharding


def layout_of(divisions: Divisions) -> Layout:
    """The names alone."""
    return tuple(() if each is None else each.names for each in divisions)


def constrain(value: Value, mesh: Mesh, layout: Layout) -> Value:
    """The value, divided so from here on."""
    text = f"#sdy.sharding{Sharding(mesh, layout).text}"
    return Opaque(CONSTRAINT, (value,), (value.type,), (("sharding", text),)).results[0]


def send_to_all(part: Value, moving: Moving, source_names: tuple[str, ...], mesh: Mesh, channels: Channels) -> Value:
    """A device's part of an array in the next layout, given its part in the one before.

    `source_names` are those of the names that move, in the order in which they divided.
    """
    groups = mesh.groups(moving.names)
    count = len(groups[0])
    (found,) = AllToAll((part,), moving.to, moving.source, count, groups, channels.take(FIRST_FOR_FOLDS)).results
    if source_names == moving.names:
        return found
    # What came lies in the order of the devices that sent it: it belongs in the order in which they held it.
    axis, shape = moving.source, found.shape
    sizes = dict(mesh.axes)
    counts = tuple(sizes[name] for name in moving.names)
    apart = Reshape(found, (*shape[:axis], *counts, shape[axis] // count, *shape[axis + 1 :]))
    order = list(range(len(apart.shape)))
    order[axis : axis + len(counts)] = [axis + moving.names.index(name) for name in source_names]
    return Reshape(Transpose(apart, tuple(order)), shape)
