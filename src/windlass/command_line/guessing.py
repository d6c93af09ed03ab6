"""A launch for a kernel that nobody has launched: sizes, grid, block and arguments that its source suggests.

What a kernel becomes depends on the launch. Where the user gives none, integers whose names say so (`n`, `rows`,
`width`, ...) are taken as sizes, other integers as 1, arrays are made large enough for the product of the sizes, and
the grid covers them. Nothing is run on these arguments: they only have to have the right types and shapes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.ir import Function, Op
from windlass.ir.signature import KernelSignature, Parameter

SIZE_NAME = re.compile(
    r"(?:.*_)?(?:n|m|k|nx|ny|nz|n[a-z]|num\w*|count\w*|size\w*|len\w*|length|rows?|cols?|columns?|width|height|depth|dim\w*|"
    r"total\w*|w|h|d|pitch|stride|ld\w*|levels?|batch\w*|points?|cells?|nodes?|edges?|elements?|limit|end|max\w*|\w+s)",
    re.IGNORECASE,
)
"""Names of integers that are sizes."""

EXTENTS = {1: 4096, 2: 256, 3: 64}
"""The size that is taken, by the number of launch dimensions (or of sizes) that a kernel has."""

BLOCKS = {1: (256, 1, 1), 2: (16, 16, 1), 3: (8, 8, 4)}
LARGEST_ARRAY = 1 << 22


@dataclass(frozen=True)
class Wishes:
    """What the user has chosen: the rest is guessed."""

    grid: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    size: int | None = None
    values: dict[str, float] = field(default_factory=dict[str, float])

    @classmethod
    def read(cls, grid: str | None, block: str | None, size: int | None, values: Sequence[str]) -> Wishes:
        """From the command line's text. Raises LaunchError (WL0703) for what is no number.

        >>> Wishes.read("4,2", None, None, ["n=100"])
        Wishes(grid=(4, 2), block=None, size=None, values={'n': 100.0})
        """
        chosen: dict[str, float] = {}
        for text in values:
            name, _, number = text.partition("=")
            try:
                chosen[name.strip()] = float(number)
            except ValueError:
                raise _not_understood("--set", text, "write --set NAME=NUMBER, as in --set n=1000") from None
        if size is not None and size < 1:
            raise _not_understood("--size", str(size), "a size is at least 1")
        return cls(_read_extents("--grid", grid), _read_extents("--block", block), size, chosen)


@dataclass(frozen=True)
class Guess:
    """A launch: its shape, its arguments, and in words what was assumed."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Any, ...]
    assumptions: str


def guess_launch(signature: KernelSignature, function: Function | None, wishes: Wishes, room: int = 1) -> Guess:
    """A plausible launch of a kernel; `function` is its loop-level form, where it has one.

    Arrays get `room` times as many elements as the sizes suggest.
    """
    dimensions = _used_dimensions(function)
    sizes = [p.name for p in signature.parameters if _is_integer(p) and SIZE_NAME.fullmatch(p.name)]
    sizes += [
        f"{p.name}.{name}"
        for p in signature.parameters
        if p.kind == "record" and p.dtype is not None
        for name in p.dtype.names or ()
        if p.dtype[name].kind in "iu" and SIZE_NAME.fullmatch(name)
    ]
    rank = max(dimensions, min(3, len(sizes)), 1)
    extent = wishes.size or EXTENTS[rank]
    values = {name: wishes.values.get(name, extent) for name in sizes}
    volume = math.prod(sorted((int(value) for value in values.values()), reverse=True)[:3]) if values else extent**rank
    length = room * max(1, min(LARGEST_ARRAY, max(volume, extent)))
    block = wishes.block or BLOCKS[dimensions]
    if signature.max_threads is not None and wishes.block is None:
        block = _shrink(block, signature.max_threads)
    grid = wishes.grid or tuple(
        math.ceil(extent / threads) if axis < dimensions else 1 for axis, threads in enumerate((*block, 1, 1)[:3])
    )
    arguments = tuple(_argument(parameter, values, length, wishes) for parameter in signature.parameters)
    return Guess(grid, block, arguments, _describe(grid, block, signature, arguments, values))


def _used_dimensions(function: Function | None) -> int:
    """How many of x, y, z the kernel asks for; 1 where it is not known."""
    if function is None:
        return 1
    used = 1
    for op in function.walk():
        for axis, dimensions in (("y", 2), ("z", 3)):
            used = max(used, dimensions if _asks_for(op, axis) else 1)
    return used


def _asks_for(op: Op, axis: str) -> bool:
    from windlass.loops import LaunchSize, Parallel

    if isinstance(op, LaunchSize):
        return op.dimension.endswith(axis) and any(not isinstance(user, Parallel) for user in op.uses)
    if isinstance(op, Parallel):
        places = zip(op.dimensions, op.body.block.arguments, strict=True)
        return any(dimension.endswith(axis) and bool(argument.uses) for dimension, argument in places)
    return False


def _is_integer(parameter: Parameter) -> bool:
    return parameter.kind == "scalar" and parameter.dtype is not None and parameter.dtype.kind in "iu"


def _argument(parameter: Parameter, values: dict[str, float], length: int, wishes: Wishes) -> Any:
    chosen = wishes.values.get(parameter.name)
    if parameter.kind == "pointer":
        count = int(chosen) if chosen is not None else length
        if parameter.dtype is None:
            return np.zeros(8 * count, np.uint8)
        return np.zeros((count, *parameter.shape), parameter.dtype)
    dtype: np.dtype[Any] = np.dtype(np.int32) if parameter.dtype is None else parameter.dtype
    if parameter.kind == "record":
        record = np.zeros((), parameter.dtype or np.dtype((np.void, parameter.size)))
        for name in dtype.names or ():
            if dtype[name].kind in "iufb" and not dtype[name].shape:
                full = f"{parameter.name}.{name}"
                record[name] = wishes.values.get(full, values.get(full, 1))
        return record[()]
    return dtype.type(chosen if chosen is not None else values.get(parameter.name, 1))


def _shrink(block: tuple[int, ...], most: int) -> tuple[int, ...]:
    extents = list(block)
    while math.prod(extents) > most:
        widest = max(range(len(extents)), key=extents.__getitem__)
        extents[widest] = max(1, extents[widest] // 2)
    return tuple(extents)


def _describe(
    grid: tuple[int, ...],
    block: tuple[int, ...],
    signature: KernelSignature,
    arguments: tuple[Any, ...],
    sizes: dict[str, float],
) -> str:
    parts = [f"grid {_spell(grid)}", f"block {_spell(block)}"]
    for parameter, argument in zip(signature.parameters, arguments, strict=True):
        if parameter.kind == "pointer":
            parts.append(f"{parameter.name}[{len(argument)}]")
        elif parameter.kind == "scalar":
            parts.append(f"{parameter.name}={argument}")
    parts += [f"{name}={int(value)}" for name, value in sizes.items() if "." in name]
    return ", ".join(parts)


def _spell(extents: tuple[int, ...]) -> str:
    shown = list(extents)
    while len(shown) > 1 and shown[-1] == 1:
        shown.pop()
    return "×".join(str(extent) for extent in shown)


def _read_extents(option: str, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        extents = tuple(int(part) for part in re.split(r"[,x×]", text))
    except ValueError:
        extents = ()
    if not 1 <= len(extents) <= 3:
        raise _not_understood(option, text, f"write one to three integers, as in {option} 16,16")
    return extents


def _not_understood(option: str, text: str, advice: str) -> LaunchError:
    return LaunchError(Diagnostic("WL0703", f"{option} {text}: not understood", help=advice))
