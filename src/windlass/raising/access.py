"""Loads and stores of all lanes at once: memory is a flat tensor of words, the index says which word.

Active lanes are in bounds by the rules of the source language; what inactive lanes read is arbitrary, and they write
nothing. Nothing is emitted whose size grows with memory but ops on the memory itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.ir import Value
from windlass.raising import emission
from windlass.raising.dimensions import Box, Dimension
from windlass.raising.gathers import Combiner, as_index, scatter
from windlass.raising.index import Index
from windlass.raising.lanes import Lanes
from windlass.raising.layout import Access, find_layout
from windlass.raising.predicate import Predicate
from windlass.raising.reading import read


def load(memory: Value, index: Index | Lanes, box: Box, mask: Predicate, row_strides: Sequence[int] = ()) -> Lanes:
    """What each active lane reads.

    `row_strides` are the strides (in words) that the memory's array is declared with, as hints. The result has values
    for all lanes of the box, and lacks the dimensions that the index does not depend on.
    """
    index = as_index(index)
    smaller, residual = mask.split(box)
    if memory.shape[0] == 0 or box.is_empty or smaller.is_empty or residual.is_false:
        return Lanes(emission.zero_like(memory))
    index = index.simplify(smaller)
    access = Access(smaller, residual, residual.is_true, tuple(row_strides))
    layout = find_layout(index, memory.shape[0], access)
    return read(memory, layout, smaller).cover(box)


def store(
    memory: Value,
    index: Index | Lanes,
    value: Lanes,
    box: Box,
    mask: Predicate,
    row_strides: Sequence[int] = (),
) -> Value:
    """The memory after each active lane has written its value.

    Where active lanes write to the same place, one of them wins; no order between lanes is kept, so a serial loop has
    to give only the lanes of its last iteration, or make one store per iteration.
    """
    index = as_index(index)
    box, mask = mask.split(box)
    if memory.shape[0] == 0 or box.is_empty or mask.is_false:
        return memory
    return scatter(memory, index.simplify(box), value.at(box), box, mask)


def scatter_combine(
    memory: Value,
    index: Index | Lanes,
    value: Lanes,
    box: Box,
    mask: Predicate,
    combiner: Combiner,
    dims: Sequence[Dimension] = (),
) -> Value:
    """The memory after each active lane has combined its value into its place, in no particular order.

    `combiner` is an op class such as Add, Maximum or And. `dims` are all the dimensions of the lanes that do this:
    those too that neither the index nor the value nor the mask depends on, for each lane counts.
    """
    index = as_index(index)
    box, mask = mask.split(box)
    if memory.shape[0] == 0 or box.is_empty or mask.is_false:
        return memory
    return scatter(memory, index.simplify(box), value.at(box), box, mask, dims, combiner)
