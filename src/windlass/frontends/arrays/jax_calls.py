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
from windlass.frontends.arrays.unknown_lengths import UnknownLength

_FOLDER = str(Path(jax.__file__).parent)
_OF_TREES = ("jax.tree", "jax.tree_util", "jax._src.tree", "jax._src.tree_util")


def is_of_jax(function: Callable[..., Any]) -> bool:
    """Whether it is a function of JAX's, or one that JAX made, and one that takes arrays."""
    if is_of_trees(function):
        return False
    code = getattr(function, "__code__", None)
    return (code is not None and code.co_filename.startswith(_FOLDER)) or (
        type(function).__module__.partition(".")[0] in ("jax", "jaxlib")
    )


def is_of_trees(function: Callable[..., Any]) -> bool:
    """Whether it is a function of JAX's that takes anything apart, and arrays as they are."""
    return getattr(function, "__module__", None) in _OF_TREES


def refuse_unknown_lengths(argument: Any) -> None:
    """Raises WindlassError (WL0904) for what a mask picks, or a slice of unknown length, which JAX would take apart."""
    for each in jax.tree.leaves(argument, is_leaf=_is_whole):
        if isinstance(each, UnknownLength):
            raise each.unknown("what a function of JAX gives for it")


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


def _is_whole(value: Any) -> bool:
    return isinstance(value, Array | UnknownLength)


def _returning_values(function: FunctionType) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*positional: Any, **named: Any) -> Any:
        found = function(*positional, **named)
        return jax.tree.map(plain, found, is_leaf=_is_array)

    return run
