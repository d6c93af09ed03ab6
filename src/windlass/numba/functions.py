"""`jit`, `njit`, `prange` and their kin: Numba's own where it is installed, otherwise functions stay what they are."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from windlass.numba import cuda
from windlass.numba.cuda.vectorizing import guvectorize_on_device, vectorize_on_device

prange = range


def installed_numba() -> ModuleType | None:
    """The real Numba; None where it is not installed, or where its name stands for this package."""
    try:
        found = importlib.import_module("numba")
    except ImportError:
        return None
    return None if found.__name__ != "numba" else found


def _plain(*given: Any, **options: Any) -> Any:
    """A decorator, with or without arguments, that leaves functions as they are."""
    if len(given) == 1 and callable(given[0]) and not hasattr(given[0], "leaves") and not options:
        return given[0]
    return lambda function: function


def _delegated(name: str) -> Callable[..., Any]:
    def decorate(*given: Any, **options: Any) -> Any:
        real = installed_numba()
        if real is None or any(_is_own_type(each) for each in given):
            return _plain(*given, **options)
        return getattr(real, name)(*given, **options)

    decorate.__name__ = name
    decorate.__doc__ = f"`numba.{name}`: Numba's own where it is installed, otherwise functions stay as they are."
    return decorate


def _is_own_type(thing: Any) -> bool:
    if isinstance(thing, list | tuple):
        return any(_is_own_type(each) for each in thing)
    return type(thing).__module__.startswith("windlass.")


jit, njit = _delegated("jit"), _delegated("njit")
generated_jit, stencil = _delegated("generated_jit"), _delegated("stencil")


def vectorize(*given: Any, target: str = "cpu", **options: Any) -> Any:
    """`numba.vectorize`: with target "cuda" a kernel over all elements, otherwise Numba's own or `numpy.vectorize`."""
    if target == "cuda":
        return vectorize_on_device(*given, **options)
    real = installed_numba()
    if real is not None and not any(_is_own_type(each) for each in given):
        return getattr(real.vectorize, "of_numba", real.vectorize)(*given, target=target, **options)
    if len(given) == 1 and callable(given[0]) and not isinstance(given[0], list | tuple | str):
        return np.vectorize(given[0])
    return np.vectorize


def guvectorize(signatures: Any, layout: str, target: str = "cpu", **options: Any) -> Any:
    """`numba.guvectorize`: with target "cuda" a kernel over all inner arrays; without Numba other targets as well."""
    real = installed_numba()
    if target != "cuda" and real is not None and not _is_own_type(signatures):
        return getattr(real.guvectorize, "of_numba", real.guvectorize)(signatures, layout, target=target, **options)
    return guvectorize_on_device(signatures, layout)


def adapt_numba(module: ModuleType) -> None:
    """Give the real Numba this package's `cuda`, and functions whose target "cuda" is this package's.

    Its other functions and its types stay its own.
    """
    for name, own in (("vectorize", vectorize), ("guvectorize", guvectorize)):
        original = getattr(module, name)

        def either(*given: Any, own: Any = own, original: Any = original, **options: Any) -> Any:
            return (own if options.get("target") == "cuda" else original)(*given, **options)

        setattr(either, "of_numba", original)  # noqa: B010
        setattr(module, name, either)
    setattr(module, "cuda", cuda)  # noqa: B010
