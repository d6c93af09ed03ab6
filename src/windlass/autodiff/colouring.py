"""Colours for the columns of a sparse matrix: those of one colour are found with a single product.

Columns that have no row in common may have one colour: a vector of ones at all of them, multiplied by the matrix, gives
each of their entries by itself (Curtis, Powell and Reid, 1974). They are coloured greedily, each with the first colour
that none of its rows has: a colouring at distance two of the graph of rows and columns.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]


def colour_columns(pattern: Any) -> Integers:
    """A colour for each column of the pattern (a sparse matrix), counted from 0; the fewer of two orders.

    >>> import scipy.sparse
    >>> colour_columns(scipy.sparse.csr_array(np.tri(5, k=1) - np.tri(5, k=-2))).tolist()
    [0, 1, 2, 0, 1]
    """
    columns, rows = pattern.tocsc(), pattern.tocsr()
    degrees = np.diff(columns.indptr)
    found = _coloured(columns, pattern.shape[0], np.arange(len(degrees)))
    if found.max(initial=-1) < np.diff(rows.indptr).max(initial=0):
        return found  # as few as the fullest row needs
    other = _coloured(columns, pattern.shape[0], np.argsort(-degrees, kind="stable"))
    return min(found, other, key=lambda each: each.max(initial=-1))


def _coloured(columns: Any, rows: int, order: Integers) -> Integers:
    taken = [0] * rows
    """For each row the colours that it has, as bits."""
    colours = np.zeros(len(order), np.int64)
    begins, indices = columns.indptr.tolist(), columns.indices.tolist()
    for column in order.tolist():
        own = indices[begins[column] : begins[column + 1]]
        used = 0
        for row in own:
            used |= taken[row]
        free = ~used & (used + 1)
        colours[column] = free.bit_length() - 1
        for row in own:
            taken[row] |= free
    return colours
