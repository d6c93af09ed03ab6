"""One program of the table: how its arrays are divided, and what it must communicate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

DEVICES = 8
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Field:
    """An array that a program takes: its shape, and for each axis the axis of the mesh that divides it."""

    shape: tuple[int, ...]
    names: tuple[str | None, ...]
    dtype: str = "float64"


@dataclass(frozen=True)
class Case:
    """A program, the mesh's sizes, its arrays, and the bytes and messages that each device must receive in a step."""

    name: str
    mesh: tuple[int, ...]
    fields: tuple[Field, ...]
    ideal: float
    messages: int
    function: Callable[..., Any]
    steps: int = 1
    """How many steps a call takes."""
    tolerance: float = 1e-9


def divided(mesh: Sequence[int], *shape: int, count: int = 1, dtype: str = "float64") -> tuple[Field, ...]:
    """Fields whose first axes the mesh divides, one each."""
    names = tuple(AXES[axis] if axis < len(mesh) else None for axis in range(len(shape)))
    return (Field(tuple(shape), names, dtype),) * count


def faces(mesh: Sequence[int], shape: Sequence[int], *widths: tuple[int, int], corners: bool = False) -> int:
    """How many elements a device receives of its neighbours, for so much before and after its part along each axis.

    With corners, the axes are exchanged one after another, and what came goes along.
    """
    part = [size // mesh[axis] if axis < len(mesh) else size for axis, size in enumerate(shape)]
    total = 0
    for axis, width in enumerate(widths):
        total += sum(width) * math.prod(part[:axis] + part[axis + 1 :])
        if corners:
            part[axis] += sum(width)
    return total
