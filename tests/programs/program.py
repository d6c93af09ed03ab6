"""How a program is declared: a kernel, what it does in NumPy, its arguments, the launches to try.

    @program(launches=LINE, arguments=lambda draw, n: (n, draw.floats(n + SLACK), draw.floats(n + SLACK)))
    def add_one(n: int, x: Array, y: Array) -> None:
        y[:n] = x[:n] + 1

declares the kernel `add_one` of the .cu file that has the module's name. The function is the reference: it gets the
kernel's arguments and changes the arrays that the kernel changes. A reference whose first parameter is called
`launch` gets the launch before them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Extents: TypeAlias = "int | tuple[int, ...]"

SLACK = 3
"""Elements beyond the range that a kernel works on: they must keep their values."""


@dataclass(frozen=True)
class Launch:
    """A grid, a block and the sizes of the problem; `idle` where the launch changes nothing.

    `shared_bytes` is the dynamic shared memory.
    """

    grid: Extents
    block: Extents
    sizes: dict[str, int]
    idle: bool = False
    slow: bool = False
    shared_bytes: int = 0

    def __str__(self) -> str:
        sizes = ",".join(f"{name}={size}" for name, size in self.sizes.items())
        return f"{_spell(self.grid)}x{_spell(self.block)}:{sizes}"

    @property
    def threads(self) -> int:
        """The number of threads in all."""
        return int(np.prod(self.grid) * np.prod(self.block))

    @property
    def blocks(self) -> int:
        """The number of blocks in all."""
        return int(np.prod(self.grid))


def _spell(extents: Extents) -> str:
    return str(extents) if isinstance(extents, int) else ".".join(str(extent) for extent in extents)


def launch(
    grid: Extents, block: Extents, idle: bool = False, slow: bool = False, shared_bytes: int = 0, **sizes: int
) -> Launch:
    """A launch, its sizes by name: `launch(4, 64, n=200)`."""
    return Launch(grid, block, sizes, idle, slow, shared_bytes)


LINE = (
    launch(8, 128, n=1000),
    launch(2, 64, n=128),
    launch(1, 1, n=1),
    launch(3, 64, n=5),
    launch(1, 32, n=0, idle=True),
    launch(1024, 256, n=262_000, slow=True),
)
"""One thread for each element: not a multiple of the block, exact, one thread, more threads than elements, nothing."""

STRIDE = (launch(2, 64, n=1000), launch(1, 1, n=7), launch(4, 32, n=5), launch(2, 32, n=0, idle=True))
"""Fewer threads than elements, for kernels that stride over the grid."""

PLANE = (
    launch((3, 5), (16, 8), rows=37, columns=45),
    launch((2, 2), (16, 16), rows=32, columns=32),
    launch(1, 1, rows=1, columns=1),
    launch((2, 3), (16, 4), rows=4, columns=7),
    launch((1, 1), (8, 8), idle=True, rows=0, columns=5),
    launch((40, 40), (16, 16), slow=True, rows=601, columns=633),
)
"""The same for a matrix, x along the columns."""

INNER = (
    launch((3, 5), (16, 8), rows=37, columns=45),
    launch((2, 2), (16, 16), rows=32, columns=32),
    launch((2, 3), (16, 4), rows=3, columns=3),
    launch((1, 1), (8, 8), idle=True, rows=2, columns=5),
    launch((40, 40), (16, 16), slow=True, rows=601, columns=633),
)
"""The same for stencils that leave a border of one alone."""


class Draw:
    """Random arguments; the same ones for each run of a launch."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def floats(self, *shape: int, low: float = -2.0, high: float = 2.0) -> Array:
        """Uniform float32 values."""
        return self.random.uniform(low, high, shape).astype(np.float32)

    def doubles(self, *shape: int, low: float = -2.0, high: float = 2.0) -> Array:
        """Uniform float64 values: nearly all of them need more digits than float32 has."""
        return self.random.uniform(low, high, shape)

    def integers(self, *shape: int, low: int = -100, high: int = 100, dtype: Any = np.int32) -> Array:
        """Uniform integers, `high` excluded."""
        return self.random.integers(low, high, shape, dtype=dtype)

    def any_bits(self, *shape: int, dtype: Any = np.int32) -> Array:
        """Integers over the whole range of the type, its least and greatest values among them."""
        limits = np.iinfo(dtype)
        values = self.random.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        edges = np.array([limits.min, limits.max, 0, 1, limits.max // 2 + 1, limits.min + 1], dtype)
        values.reshape(-1)[: edges.size] = edges[: values.size]
        return values

    def special_floats(self, count: int, dtype: Any = np.float32) -> Array:
        """Infinities, NaN, signed zeros and halves among ordinary values."""
        special = [
            np.nan,
            np.inf,
            -np.inf,
            0.0,
            -0.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            -2.5,
            float(np.finfo(dtype).eps),
            1e30,
            -1.0,
            1.0,
        ]
        values = self.random.uniform(-4, 4, count).astype(dtype)
        places = self.random.random(count) < 0.5
        return np.where(places, self.random.choice(np.array(special, dtype), count), values)

    def permutation(self, count: int) -> Array:
        """The numbers below `count` in random order, int32."""
        return self.random.permutation(count).astype(np.int32)

    def record(self, dtype: np.dtype[Any], *shape: int) -> Array:
        """An array of structs, floats in [-2, 2) and small integers in its fields."""
        values = np.zeros(shape, dtype)
        self._fill(values)
        return values

    def _fill(self, values: Array) -> None:
        for name in values.dtype.names or ():
            part = values[name]
            if part.dtype.names:
                self._fill(part)
            elif part.dtype.kind == "f":
                part[...] = self.random.uniform(-2, 2, part.shape)
            else:
                part[...] = self.random.integers(0, 100, part.shape)


@dataclass(frozen=True)
class Program:
    """A kernel, its reference, its arguments and its launches.

    `tolerance` is relative to the largest value of an array: 0 asks for the same bits. `variables` sets `__constant__`
    and `__device__` variables before the launch; `observed` names those whose values count as results.
    """

    source: Path
    kernel: str
    reference: Callable[..., None]
    arguments: Callable[..., Sequence[Any]]
    launches: tuple[Launch, ...]
    tolerance: float = 0.0
    variables: Callable[[Draw], dict[str, Array]] | None = None
    observed: tuple[str, ...] = ()
    wants_launch: bool = False

    @property
    def name(self) -> str:
        """The theme and the kernel."""
        return f"{self.source.stem}-{self.kernel}"

    def draw_arguments(self, launch: Launch) -> list[Any]:
        """Fresh arguments for a launch, the same ones each time."""
        return list(self.arguments(Draw(1234), **launch.sizes))

    def draw_variables(self) -> dict[str, Array]:
        """Values for the device variables, the same ones each time."""
        return {} if self.variables is None else self.variables(Draw(4321))

    def run_reference(self, launch: Launch, arguments: Sequence[Any]) -> None:
        """Changes the arrays as the kernel should."""
        with np.errstate(all="ignore"):
            if self.wants_launch:
                self.reference(launch, *arguments)
            else:
                self.reference(*arguments)


PROGRAMS: list[Program] = []
"""All programs that were declared."""


def program(
    launches: Sequence[Launch],
    arguments: Callable[..., Sequence[Any]],
    tolerance: float = 0.0,
    kernel: str | None = None,
    variables: Callable[[Draw], dict[str, Array]] | None = None,
    observed: tuple[str, ...] = (),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declares the decorated function as the reference of the kernel of the same name, or of `kernel`."""

    def declare(reference: Callable[..., None]) -> Callable[..., None]:
        source = Path(inspect.getfile(reference)).with_suffix(".cu")
        wants_launch = next(iter(inspect.signature(reference).parameters), "") == "launch"
        PROGRAMS.append(
            Program(
                source,
                kernel or reference.__name__,
                reference,
                arguments,
                tuple(launches),
                tolerance,
                variables,
                observed,
                wants_launch,
            )
        )
        return reference

    return declare
