"""Functions for which jax.numpy makes floats of 32 bits of integers, where NumPy computes in integers or in doubles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from windlass.frontends.arrays.operands import unsupported

DOUBLING = frozenset({"i0", "sinc", "unwrap", "histogram", "histogram2d", "histogramdd", "histogram_bin_edges"})
"""These take integers as doubles."""


def is_of_integers(value: Any) -> bool:
    return jnp.result_type(value).kind in "biu"


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    first, second = _joined(a, v)
    if first.dtype.kind not in "biu" or mode not in ("full", "same", "valid"):
        return jnp.convolve(first, second, mode)
    if len(second) > len(first):
        first, second = second, first
    return _cut(_full(first, second), len(first), len(second), mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    first, second = _joined(a, v)
    if first.dtype.kind not in "biu" or mode not in ("full", "same", "valid"):
        return jnp.correlate(first, second, mode)
    if len(second) > len(first):
        return correlate(second, first, mode)[::-1]
    return _cut(_full(first, second[::-1]), len(first), len(second), mode)


def _joined(a: Any, v: Any) -> tuple[Any, Any]:
    arrays = [jnp.atleast_1d(jnp.asarray(each)) for each in (a, v)]
    dtype = np.result_type(*(np.dtype(each.dtype) for each in arrays))
    return arrays[0].astype(dtype), arrays[1].astype(dtype)


def _full(long: Any, short: Any) -> Any:
    """All sums of products, in the integers' own arithmetic; whether there is a product that is true, for booleans."""
    if not long.size or not short.size:
        raise ValueError("a cannot be empty" if not long.size else "v cannot be empty")
    wide = np.dtype(np.int32) if long.dtype.kind == "b" else long.dtype
    edge = short.size - 1
    found = lax.conv_general_dilated(
        long.astype(wide)[None, None], short[::-1].astype(wide)[None, None], (1,), [(edge, edge)]
    )
    return found[0, 0].astype(long.dtype)


def _cut(full: Any, size: int, width: int, mode: str) -> Any:
    if mode == "full":
        return full
    return full[(width - 1) // 2 :][:size] if mode == "same" else full[width - 1 : size]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    values = jnp.asarray(y)
    if values.dtype.kind not in "biu":
        return jnp.trapezoid(values, x, dx, axis)
    values = jnp.moveaxis(values, axis, -1)
    pairs = values[..., 1:] + values[..., :-1]  # as narrow as they are
    if x is None:
        step = jnp.asarray(dx, values.dtype if type(dx) is int and values.dtype.kind in "iu" else None)
    else:
        places = jnp.asarray(x)
        if places.dtype.kind in "bu":
            raise unsupported("numpy.trapezoid of integers at places without signs")
        step = jnp.diff(places) if places.ndim == 1 else jnp.moveaxis(jnp.diff(places, axis=axis), axis, -1)
    common = np.result_type(np.dtype(step.dtype), np.dtype(pairs.dtype))
    return jnp.sum((step.astype(common) * pairs.astype(common)).astype(np.float64) / 2.0, -1)


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.convolve: convolve, np.correlate: correlate, np.trapezoid: trapezoid,
}  # fmt: skip
