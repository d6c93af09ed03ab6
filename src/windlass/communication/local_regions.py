"""Making a region of local code, and the shapes that arrays have in it and around it."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.communication.needs import Extents
from windlass.communication.propagation import Division, Divisions
from windlass.ir import Block, Builder, Region, Type, Value
from windlass.ops import Constant, Opaque, OpaqueTerminator, Pad
from windlass.ops.shardings import MANUAL, Mesh, Sharding

END = "sdy.return"


def local_shape(value: Value, divisions: Divisions) -> tuple[int, ...]:
    """The shape of each device's part."""
    return tuple(size if each is None else each.length for size, each in zip(value.shape, divisions, strict=True))


def whole_shape(value: Value, divisions: Divisions) -> tuple[int, ...]:
    """The shape of the array that holds a value from or for outside."""
    return tuple(size if each is None else each.extent for size, each in zip(value.shape, divisions, strict=True))


def extended_shape(value: Value, divisions: Divisions, extents: Extents) -> tuple[int, ...]:
    """The shape of each device's part with what is around it."""
    sizes = zip(local_shape(value, divisions), divisions, extents, strict=True)
    return tuple(size if each is None else size + high - low for size, each, (low, high) in sizes)


def middle(size: int, division: Division) -> int:
    """Where a value that is shorter than the divided extent begins in the array that holds it."""
    return (division.extent - size) // 2


def embed(value: Value, divisions: Divisions, starts: Sequence[int] | None = None) -> Value:
    """The value in an array of the divided extent, from these places on; in its middle where none are given."""
    shape = whole_shape(value, divisions)
    if value.shape == shape:
        return value
    if starts is None:
        starts = [0 if each is None else middle(size, each) for size, each in zip(value.shape, divisions, strict=True)]
    lows = tuple(starts)
    highs = tuple(size - low - own for size, low, own in zip(shape, lows, value.shape, strict=True))
    return Pad(value, Constant.of(0, value.dtype), lows, highs, (0,) * len(lows))


def make_region(
    mesh: Mesh,
    block: Block,
    given: Sequence[Value],
    operands: Sequence[Value],
    taken: Sequence[Divisions],
    types: Sequence[Type],
    divided: Sequence[Divisions],
) -> tuple[Value, ...]:
    """A region with this block, which ends with what is `given`; gives its results.

    `taken` and `divided` say how the operands and the results are divided, whose types are those of the whole arrays.
    """

    def list_shardings(values: Sequence[Divisions]) -> str:
        texts = [Sharding(mesh, tuple(() if each is None else each.names for each in value)).text for value in values]
        return f"#sdy.sharding_per_value<[{', '.join(texts)}]>"

    with Builder(block):
        OpaqueTerminator(END, tuple(given), (), (), ())
    names = ", ".join(f'"{name}"' for name, _ in mesh.axes)
    texts = (
        ("in_shardings", list_shardings(taken)),
        ("out_shardings", list_shardings(divided)),
        ("manual_axes", f"#sdy<manual_axes{{{names}}}>"),
    )
    return Opaque(MANUAL, tuple(operands), tuple(types), texts, (Region(block),)).results
