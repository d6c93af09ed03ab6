"""Calls of JAX's own functions within a captured function: they are given values of JAX's.

`jax.numpy` converts what it is given. `jax.lax`, `jax.nn` and transformations (`jax.grad`, `jax.vmap`) do not, nor do
loops of JAX with what their bodies return.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import jax

from windlass.frontends.arrays.array import Array
from windlass.frontends.arrays.states import plain
from windlass.frontends.arrays.tracing import is_users

_FOLDER = str(Path(jax.__file__).parent)
_OF_TREES = ("jax.tree", "jax.tree_util", "jax._src.tree", "jax._src.tree_util")


def is_of_jax(function: Callable[..., Any]) -> bool:
    """Whether it is a function of JAX's, or one that JAX made, and one that takes arrays."""
    if getattr(function, "__module__", None) in _OF_TREES:
        return False
    code = getattr(function, "__code__", None)
    return (code is not None and code.co_filename.startswith(_FOLDER)) or (
        type(function).__module__.partition(".")[0] in ("jax", "jaxlib")
    )


def given_values(argument: Any) -> Any:
    """What a function of JAX's is given: values in the place of arrays, and functions that return such.

    >>> import numpy as np
    >>> [type(each).__name__ for each in given_values((Array(np.zeros(3)), 2))]
    ['ndarray', 'int']
    """
    return jax.tree.map(_given, argument, is_leaf=_is_array)


def _given(leaf: Any) -> Any:
    return _returning_values(leaf) if isinstance(leaf, FunctionType) and is_users(leaf.__code__) else plain(leaf)


def _is_array(value: Any) -> bool:
    return isinstance(value, Array)


def _returning_values(function: FunctionType) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*positional: Any, **named: Any) -> Any:
        found = function(*positional, **named)
        return jax.tree.map(plain, found, is_leaf=_is_array)

    return run
