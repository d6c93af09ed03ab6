"""NumPy's functions that sort and round, with the parameters that jax.numpy has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

KINDS = frozenset({None, "quicksort", "heapsort", "mergesort", "stable"})


def sort(a: Any, axis: Any = -1, kind: str | None = None, order: Any = None, stable: bool | None = None) -> Any:
    """`numpy.sort`. Every sort here is a stable one.

    Raises ValueError for a kind that NumPy has not.
    """
    _expect_kind(kind, order)
    return jnp.sort(a, axis=axis)


def argsort(a: Any, axis: Any = -1, kind: str | None = None, order: Any = None, stable: bool | None = None) -> Any:
    """`numpy.argsort`."""
    _expect_kind(kind, order)
    return jnp.argsort(a, axis=axis).astype(np.int64)


def _expect_kind(kind: str | None, order: Any) -> None:
    if kind not in KINDS:
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")


def round_to(a: Any, decimals: int = 0) -> Any:
    """`numpy.round`: to even, integers too where `decimals` is negative."""
    a = jnp.asarray(a)
    kind = np.dtype(a.dtype)
    if kind.kind == "b":
        a = a.astype(np.float16)
    if kind.kind in "iu":
        if decimals >= 0:
            return a
        scale = 10.0 ** (-decimals)
        return (jnp.rint(a.astype(np.float64) / scale) * scale).astype(np.int64).astype(kind)
    if decimals == 0:
        return jnp.rint(a)
    scale = 10.0 ** abs(decimals)
    return jnp.rint(a * scale) / scale if decimals > 0 else jnp.rint(a / scale) * scale


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sort": sort, "argsort": argsort, "round": round_to, "around": round_to, "fix": jnp.trunc,
}  # fmt: skip
"""Functions on JAX values that take NumPy's parameters, by name."""
