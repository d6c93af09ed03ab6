"""Access by tensors of indices, for what has no simpler form: always right, never fast."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.affine.dimensions import Box, Dimension, in_order
from windlass.affine.index import Data, Index
from windlass.affine.predicate import Predicate
from windlass.ir import Value
from windlass.ops.combiners import Combiner, scattering_region
from windlass.ops.elementwise import Select
from windlass.ops.indexing import Gather, Scatter
from windlass.raising import emission
from windlass.raising.lanes import Lanes
from windlass.raising.materialize import materialize_condition, materialize_places


def as_index(index: Index | Lanes) -> Index:
    """Lanes of integers as an index."""
    if isinstance(index, Index):
        return index
    number = emission.splat_number(index.value)
    if isinstance(number, int) or (number is not None and hasattr(number, "__index__")):
        return Index(int(number))  # pyright: ignore[reportArgumentType]
    bits = int(index.dtype.lstrip("ui"))
    bounds = (0, 2**bits - 1) if index.dtype.startswith("ui") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return Index.of(Data(index, *bounds))


def gather_axis(value: Value, axis: int, index: Index, box: Box) -> tuple[Value, tuple[Dimension, ...]]:
    """Entries of one axis by index; all of the other axes.

    Returns a tensor in which the axes of the index's dimensions, which are returned too, stand in place of `axis`.
    Indices out of bounds are moved to the nearest one inside, as StableHLO's gather does.
    """
    lanes = materialize_places(index, box, value.shape[axis])
    rank, count = len(value.shape), len(lanes.dims)
    sizes = [1 if each == axis else size for each, size in enumerate(value.shape)]
    offsets = tuple(each if each < axis else each + count for each in range(rank - 1))
    result = Gather(value, lanes.value, offsets, (axis,), (), (), (axis,), count, tuple(sizes))
    return result, lanes.dims


def gather(memory: Value, index: Index, box: Box) -> Lanes:
    """One element of flat memory for each lane."""
    value, dims = gather_axis(memory, 0, index, box)
    return Lanes.over(value, dims, box)


def scatter(
    memory: Value,
    index: Index,
    value: Lanes,
    box: Box,
    mask: Predicate,
    dims: Sequence[Dimension] = (),
    combiner: Combiner | None = None,
    is_injective: bool = False,
) -> Value:
    """Flat memory with each active lane's value written to, or combined into, its place.

    Besides `dims` all the dimensions are gone through that the index, the value or the mask depend on. Lanes that are
    not active are sent to a place outside, which a scatter leaves out. Without a combiner, where lanes share a place
    one of them wins. `is_injective` promises that no two lanes share a place.
    """
    size = memory.shape[0]
    places = materialize_places(index, box, size)
    if not mask.is_true:
        nowhere = Lanes(emission.constant(size, places.dtype))
        places = Lanes.elementwise(Select, materialize_condition(mask, box), places, nowhere, box=box)
    order = in_order((*places.dims, *value.dims, *dims))
    indices = places.expand(order, box)
    updates = value.expand(order, box)
    body = scattering_region(combiner, memory.dtype)
    op = Scatter((memory,), indices, (updates,), (), (0,), (), (), (0,), len(order), body, False, is_injective)
    return op.results[0]
