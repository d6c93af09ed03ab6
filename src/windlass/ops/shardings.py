"""How an array is divided among devices: a mesh of devices, and which of its axes divide which axes of the array."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MANUAL = "sdy.manual_computation"
"""The op of Shardy whose region is what one device does."""


class Mesh(NamedTuple):
    """Devices in a grid: the name and the size of each axis. Devices are numbered in row-major order.

    >>> mesh = Mesh((("x", 4), ("y", 2)))
    >>> mesh.devices, mesh.text
    (8, 'mesh<["x"=4, "y"=2]>')
    """

    axes: tuple[tuple[str, int], ...]

    @property
    def devices(self) -> int:
        """How many devices there are."""
        return math.prod(size for _, size in self.axes)

    @property
    def text(self) -> str:
        """The mesh as Shardy writes it in place of a name."""
        return f"mesh<[{', '.join(f'{quoted(name)}={size}' for name, size in self.axes)}]>"

    def size(self, names: tuple[str, ...]) -> int:
        """Into how many parts these axes divide."""
        sizes = dict(self.axes)
        return math.prod(sizes[name] for name in names)

    def stride(self, name: str) -> int:
        """By how much the device's number grows from one device to the next along an axis."""
        return math.prod(size for _, size in self.axes[1 + [each for each, _ in self.axes].index(name) :])

    def neighbours(self, names: tuple[str, ...], step: int, is_ring: bool) -> tuple[tuple[int, int], ...]:
        """Each device, and the one whose part follows `step` parts later along these axes.

        >>> Mesh((("x", 3),)).neighbours(("x",), 1, is_ring=False)
        ((0, 1), (1, 2))
        """
        return _neighbours(self, names, step, is_ring)

    def groups(self, names: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
        """The devices that differ along these axes alone, together, in the order of their parts along these axes.

        >>> mesh = Mesh((("x", 2), ("y", 2)))
        >>> mesh.groups(("x",)), mesh.groups(("y", "x"))
        (((0, 2), (1, 3)), ((0, 2, 1, 3),))
        """
        return tuple(map(tuple, self.parts_along(names).T.tolist()))

    def parts_along(self, names: tuple[str, ...]) -> NDArray[np.int64]:
        """The devices that hold each part along these axes: a row for each."""
        places = [[name for name, _ in self.axes].index(name) for name in names]
        numbers = np.arange(self.devices).reshape([size for _, size in self.axes])
        return np.moveaxis(numbers, places, range(len(places))).reshape(self.size(names), -1)


@lru_cache(maxsize=256)
def _neighbours(mesh: Mesh, names: tuple[str, ...], step: int, is_ring: bool) -> tuple[tuple[int, int], ...]:
    parts = mesh.parts_along(names)
    own = np.arange(len(parts))
    if not is_ring:
        own = own[(own + step >= 0) & (own + step < len(parts))]
    sources, targets = parts[own].ravel(), parts[(own + step) % len(parts)].ravel()
    order = np.argsort(sources)
    return tuple(zip(sources[order].tolist(), targets[order].tolist(), strict=True))


class Sharding(NamedTuple):
    """For each axis of an array the mesh's axes that divide it, the outermost first."""

    mesh: Mesh
    axes: tuple[tuple[str, ...], ...]

    @property
    def is_divided(self) -> bool:
        """Whether any axis is divided into more than one part."""
        return any(self.mesh.size(names) > 1 for names in self.axes)

    @property
    def text(self) -> str:
        """The sharding as Shardy writes it in lists.

        >>> Sharding(Mesh((("x", 2),)), (("x",), ())).text
        '<mesh<["x"=2]>, [{"x"}, {}]>'
        """
        axes = ", ".join("{" + ", ".join(map(quoted, names)) + "}" for names in self.axes)
        return f"<{self.mesh.text}, [{axes}]>"


def sharding_of(text: str, rank: int, meshes: Mapping[str, Mesh] | None = None) -> Sharding | None:
    """The sharding that Shardy's text describes, for an array of this rank; None where it says more than a `Sharding`.

    `meshes` are those that text may name.

    >>> sharding_of('#sdy.sharding<mesh<["x"=4]>, [{}, {"x"}]>', 2)
    Sharding(mesh=Mesh(axes=(('x', 4),)), axes=((), ('x',)))
    """
    found = re.fullmatch(r"\s*(?:#sdy\.sharding)?\s*<(mesh<\[.*?\]>|@[\w.\"]+), \[([^\]]*)\]>\s*", text)
    if found is None:
        return None
    name, axes = found.groups()
    mesh = (meshes or {}).get(name[1:].strip('"')) if name.startswith("@") else mesh_of(name)
    groups = re.findall(r"\{([^}]*)\}", axes)
    if mesh is None or len(groups) != rank or re.search(r"\"\s*:|\?|p\d", re.sub(r'"[^"]*"', '""', axes)):
        return None
    names = tuple(tuple(re.findall(r'"([^"]*)"', group)) for group in groups)
    known = dict(mesh.axes)
    return Sharding(mesh, names) if all(each in known for group in names for each in group) else None


def mesh_of(text: str) -> Mesh | None:
    """The mesh in Shardy's text; None where its devices stand in another order.

    >>> mesh_of('#sdy.mesh<["x"=4, "y"=2]>')
    Mesh(axes=(('x', 4), ('y', 2)))
    """
    if "device_ids" in text:
        return None
    axes = re.findall(r'"([^"]*)"\s*=\s*(\d+)', text)
    return Mesh(tuple((name, int(size)) for name, size in axes)) if axes else None


def meshes_in(texts: Iterable[str]) -> dict[str, Mesh]:
    """The meshes that stand at the top of a module, by their names.

    >>> meshes_in(['sdy.mesh @mesh = <["x"=4]>'])
    {'mesh': Mesh(axes=(('x', 4),))}
    """
    found: dict[str, Mesh] = {}
    for text in texts:
        named = re.match(r'\s*sdy\.mesh @("?)([^"\s]+)\1 = ', text)
        mesh = mesh_of(text[named.end() :]) if named else None
        if named and mesh is not None:
            found[named[2]] = mesh
    return found


def quoted(name: str) -> str:
    """A name of an axis in MLIR."""
    return f'"{name}"'
