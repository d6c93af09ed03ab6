"""Writes the program of a number: a mesh, how its arguments are divided, and lines of all kinds."""

from __future__ import annotations

import random

from tests.fuzz.meshes.author import Argument, Author, Kind, Program, names_in
from tests.fuzz.meshes.expressions import MAKERS

MESHES: tuple[tuple[tuple[str, int], ...], ...] = (
    (("x", 8),),
    (("x", 4), ("y", 2)),
    (("x", 2), ("y", 2), ("z", 2)),
)
FLOATS = ("float32", "float32", "float32", "complex64", "bfloat16", "float16")
OTHERS = ("int32", "int32", "int8", "uint8", "bool")


def write_program(seed: int, size: int | None = None) -> Program:
    """The program of that number."""
    draw = random.Random(seed)
    mesh = draw.choice(MESHES)
    field = _field(draw, mesh)
    arguments = [_argument(draw, mesh, field, place) for place in range(draw.choice((1, 2, 2, 3)))]
    if draw.random() < 0.4:
        arguments.append(Argument("n", Kind((), "int32"), ()))
    author = Author(draw, {each.name: each.kind for each in arguments}, MAKERS)
    lines = author.write(size or draw.randint(2, 9))
    kinds = {line.name: line.kind for line in lines}
    used = {name for line in lines for name in names_in(line, kinds)}
    results = [name for name in kinds if name not in used or draw.random() < 0.2]
    return Program(mesh, tuple(arguments), tuple(lines), tuple(results), seed).trimmed()


def _field(draw: random.Random, mesh: tuple[tuple[str, int], ...]) -> tuple[int, ...]:
    """The shape of most arguments: what divides all axes evenly in most ways."""
    rank = draw.choice((1, 2, 2, 2, 3))
    parts = [size for _, size in mesh]
    per = [draw.choice((1, 1, 2, 2, 3, 4, 5)) for _ in range(rank)]
    if rank == 1 or draw.random() < 0.2:
        return tuple(8 * each if axis == 0 else draw.choice((1, 2, 3, 8)) for axis, each in enumerate(per))
    return tuple(
        each * (parts[axis] if axis < len(parts) else draw.choice((1, 1, 2, 8))) for axis, each in enumerate(per)
    )


def _argument(draw: random.Random, mesh: tuple[tuple[str, int], ...], field: tuple[int, ...], place: int) -> Argument:
    shape = field
    if place and draw.random() < 0.25:
        shape = tuple(size if draw.random() < 0.6 else 1 for size in field)
        if draw.random() < 0.3:
            shape = shape[1:]
        elif draw.random() < 0.2:
            shape = shape[::-1]
    spec: list[tuple[str, ...]] = [()] * len(shape)
    if draw.random() > 0.15:
        axes = list(range(len(shape)))
        if draw.random() < 0.25:
            draw.shuffle(axes)
        names = [name for name, _ in mesh]
        sizes = dict(mesh)
        if draw.random() < 0.2 and len(names) > 1 and axes:
            both = names[:2] if draw.random() < 0.6 else names[:2][::-1]
            if shape[axes[0]] % (sizes[both[0]] * sizes[both[1]]) == 0:
                spec[axes[0]] = tuple(both)
                axes, names = axes[1:], names[2:]
        for axis, name in zip(axes, names, strict=False):
            if shape[axis] % sizes[name] == 0 and draw.random() < 0.85:
                spec[axis] = (name,)
    dtype = draw.choice(FLOATS if draw.random() < 0.7 else OTHERS)
    is_special = dtype[0] in "fb" and dtype != "bool" and draw.random() < 0.25
    return Argument(
        "uvw"[place], Kind(shape, dtype, dtype in ("bfloat16", "float16")), tuple(spec), is_special, draw.random() < 0.1
    )
