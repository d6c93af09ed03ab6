"""Which arguments of a compiled function share memory: those that are the same array, and those that only overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.runtime.memories import plan_memories

MOST_WORK = 10_000
"""How many candidates are looked at for an element that two views share; if these do not tell, they may share one."""


def overlaps_of(leaves: Sequence[Any]) -> list[tuple[int, int]]:
    """The pairs of NumPy arrays that share elements, of which one does not lie in C order."""
    arrays: list[NDArray[Any] | None] = [leaf if isinstance(leaf, np.ndarray) else None for leaf in leaves]
    pairs: list[tuple[int, int]] = []
    for index, first in enumerate(arrays):
        for other in range(index):
            second = arrays[other]
            if first is None or second is None or (first.flags.c_contiguous and second.flags.c_contiguous):
                continue
            if np.may_share_memory(first, second) and _share_elements(first, second):
                pairs.append((other, index))
    return pairs


def refuse_overlaps(leaves: Sequence[Any], written: Sequence[int]) -> None:
    """Raises WindlassError (WL0912) for arguments that share elements otherwise than by being the same array, where the
    function writes one of them."""
    for pair in overlaps_of(leaves):
        if any(index in written for index in pair):
            raise _overlapping()


def places_of(leaves: Sequence[Any]) -> list[int | None]:
    """For each leaf the earlier one that it is the same array as, or None.

    Raises WindlassError (WL0912) for arrays that overlap in another way.
    """
    arrays = [leaf if isinstance(leaf, np.ndarray) and leaf.flags.c_contiguous else None for leaf in leaves]
    plans, _ = plan_memories(arrays, {})
    places: list[int | None] = [None] * len(leaves)
    for plan in plans:
        if plan.is_staged:
            raise _overlapping()
        first = plan.members[0][0]
        for position, _ in plan.members[1:]:
            places[position] = first
    return places


def _share_elements(first: NDArray[Any], second: NDArray[Any]) -> bool:
    try:
        return np.shares_memory(first, second, max_work=cast("Any", MOST_WORK))
    except np.exceptions.TooHardError:
        return True


def _overlapping() -> WindlassError:
    return WindlassError(
        Diagnostic(
            "WL0912",
            "two arguments overlap without being the same array",
            help="pass the array that both are views of, and make the views inside the function",
        )
    )
