"""Functions of `jax.custom_jvp` and `custom_vjp`: they take and give values of JAX, since their rules do.

JAX compares what a rule gives with what the function gave, as trees, and an `Array` is one. A rule is code for JAX, run
when the program is differentiated; so arrays become values where such a function is called, also from code that is not
captured: JAX's classes are told so. What the function itself does is the user's code, and works on arrays. (Functions
of JAX's own are left alone: they may have noted elsewhere what trees they take.)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import jax

from windlass.frontends.arrays.array import Array, wrapped
from windlass.frontends.arrays.tracing import current_tracing, is_users


def install() -> None:
    """Let calls within `wl.jit` go this way; all others stay as they are."""
    for kind in (jax.custom_jvp, jax.custom_vjp):
        setattr(kind, "__call__", _call_on_values(kind.__call__))  # noqa: B010


def _call_on_values(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def call_on_values(self: Any, *arguments: Any, **named: Any) -> Any:
        if current_tracing() is None or not _is_users(self.fun):
            return call(self, *arguments, **named)
        arrays: list[bool] = []
        inner = object.__new__(type(self))
        inner.__dict__.update(self.__dict__, fun=_on_arrays(self.fun, arrays))
        arguments, named = _as_values((arguments, named))
        result = call(inner, *arguments, **named)
        leaves, structure = jax.tree.flatten(result)
        if len(arrays) == len(leaves):
            leaves = [wrapped(leaf) if is_array else leaf for leaf, is_array in zip(leaves, arrays, strict=True)]
        return jax.tree.unflatten(structure, leaves)

    return call_on_values


def _on_arrays(function: Callable[..., Any], are_arrays: list[bool]) -> Callable[..., Any]:
    """The function of values of JAX, run on arrays; `are_arrays` tells which of its results are."""

    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        arguments, named = jax.tree.map(wrapped, (arguments, named))
        result = function(*arguments, **named)
        are_arrays[:] = [isinstance(each, Array) for each in jax.tree.leaves(result, is_leaf=_is_array)]
        return _as_values(result)

    return run


def _is_users(function: Any) -> bool:
    """Whether the function is the user's, or one that JAX made around it."""
    if not isinstance(function, FunctionType):
        return False
    inner = (cell.cell_contents for cell in function.__closure__ or ())
    return is_users(function.__code__) or any(
        isinstance(each, FunctionType) and is_users(each.__code__) for each in inner
    )


def _is_array(value: Any) -> bool:
    return isinstance(value, Array)


def _as_values(tree: Any) -> Any:
    """The arrays in it as the values of JAX that they hold."""
    return jax.tree.map(lambda each: each.value if _is_array(each) else each, tree, is_leaf=_is_array)
