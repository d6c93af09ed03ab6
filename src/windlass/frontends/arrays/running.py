"""A user's function of arrays as one of JAX values, within whatever JAX traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.frontends.arrays.array import Array, wrapped
from windlass.frontends.arrays.capture import captured
from windlass.frontends.arrays.tracing import Tracing, tracing_as


def run_on_values(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function gives for trees of JAX values, which it sees as arrays of its own; it may write into them.

    Nothing is left to look at what only the compiled program knows, such as indices: what JAX does with these holds.

    >>> def double_first(x):
    ...     x[0] *= 2
    ...     return x
    >>> run_on_values(double_first, jnp.ones(2)).tolist()
    [2.0, 1.0]
    """
    tracing = Tracing()
    tracing.is_of_jax = True
    with tracing_as(tracing):
        found = captured(function)(*jax.tree.map(wrapped, arguments))
        return jax.tree.map(as_value, found, is_leaf=is_array)


def is_array(value: Any) -> bool:
    return isinstance(value, Array)


def as_value(leaf: Any) -> Any:
    """What JAX holds of an array or a number; others as they are."""
    if isinstance(leaf, Array):
        return leaf.value
    return jnp.asarray(leaf) if isinstance(leaf, np.ndarray | np.generic | float | complex) else leaf
