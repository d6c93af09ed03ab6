"""Tensor programs of library routines: functions of JAX, compiled by XLA once for the shapes and options they meet."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from windlass.frontends.arrays import Array


def tensor_program(*static: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function on JAX arrays one on NumPy arrays, compiled by XLA; `static` arguments are part of it.

    On arrays of `wl.jit`, as host functions that are traced have them, it is a part of what is compiled around it.

    >>> import jax.numpy as jnp
    >>> @tensor_program()
    ... def outer(x, y):
    ...     return jnp.outer(x, y)
    >>> outer(np.arange(2.0), np.arange(3.0)).tolist()
    [[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]]
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        compiled: Any = jax.jit(function, static_argnames=static)

        @functools.wraps(function)
        def run(*arguments: Any, **options: Any) -> Any:
            if any(isinstance(each, Array) for each in arguments):
                # Part of a program that is being traced.
                values = (each.value if isinstance(each, Array) else each for each in arguments)
                return jax.tree.map(Array, function(*values, **options))
            # Where something around is traced, this is none of it.
            with jax.enable_x64(True), jax.ensure_compile_time_eval():
                found: Any = compiled(*arguments, **options)
                return jax.tree.map(np.asarray, found)

        return run

    return decorate


def is_zero(factor: Any) -> bool:
    """Whether a factor is known to be zero, so that what it multiplies is not looked at.

    >>> is_zero(np.float32(0)), is_zero(np.float32(2))
    (True, False)
    """
    value = factor.value if isinstance(factor, Array) else factor
    return not isinstance(value, Tracer) and bool(value == 0)


def where_known(array: Any) -> Any:
    """An array that is being traced as NumPy's, where its elements are known; others as they are."""
    if isinstance(array, Array) and not isinstance(array.value, Tracer):
        return np.asarray(array.value)
    return array
