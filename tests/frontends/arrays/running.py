"""Comparing functions with what NumPy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import windlass as wl


def whole(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`wl.jit` of what has to be one program: what Python would have to do is refused."""
    decorate = wl.jit(whole=True, **options)
    return decorate if function is None else decorate(function)


def copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def assert_as_numpy(function: Callable[..., Any], *arguments: Any, rtol: float = 2e-6, **options: Any) -> None:
    """The function compiled gives what it gives in Python: results, dtypes, and arrays changed in place."""
    plain, compiled = [copied(each) for each in arguments], [copied(each) for each in arguments]
    with np.errstate(all="ignore"):
        wanted = function(*plain)
    found = whole(function, **options)(*compiled)
    for given, expected in zip(compiled, plain, strict=True):
        if isinstance(expected, np.ndarray):
            np.testing.assert_allclose(given, expected, rtol=rtol)
    results, expectations = jax.tree.leaves(found), jax.tree.leaves(wanted)
    assert len(results) == len(expectations)
    for result, expected in zip(results, expectations, strict=True):
        np.testing.assert_allclose(result, expected, rtol=rtol)
        assert np.asarray(result).dtype == np.asarray(expected).dtype, (np.asarray(result).dtype, np.asarray(expected))
        assert np.shape(result) == np.shape(expected)
