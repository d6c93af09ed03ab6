"""`jit`, `njit`, `prange` and their kin: Numba's own where it is installed, otherwise functions stay what they are."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

prange = range


@cache
def installed_numba() -> ModuleType | None:
    """The real Numba, even where its name stands for this package; None where it is not installed."""
    hidden = {name: module for name, module in sys.modules.items() if name == "numba" or name.startswith("numba.")}
    own = {name: module for name, module in hidden.items() if (module.__name__ or "").startswith("windlass.")}
    if not own and "numba" in hidden:
        return hidden["numba"]
    specification = importlib.machinery.PathFinder.find_spec("numba")
    if specification is None or specification.loader is None:
        return None
    finders = [finder for finder in sys.meta_path if type(finder).__module__.startswith("windlass.")]
    for name in own:
        del sys.modules[name]
    for finder in finders:
        sys.meta_path.remove(finder)
    try:
        return importlib.import_module("numba")
    except ImportError:
        return None
    finally:
        for name in [name for name in sys.modules if name == "numba" or name.startswith("numba.")]:
            if name in own:
                del sys.modules[name]
        sys.modules.update(own)
        sys.meta_path[:0] = finders


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
    """`numba.vectorize`: with target "cuda" a kernel over all elements, otherwise `numpy.vectorize`."""
    if target == "cuda":
        from windlass.numba.cuda.vectorizing import vectorize_on_device

        return vectorize_on_device(*given, **options)
    if len(given) == 1 and callable(given[0]) and not isinstance(given[0], list | tuple | str):
        return np.vectorize(given[0])
    return np.vectorize


def guvectorize(signatures: Any, layout: str, target: str = "cpu", **options: Any) -> Any:
    """`numba.guvectorize` with target "cuda": a kernel over all inner arrays. Other targets run the same way."""
    from windlass.numba.cuda.vectorizing import guvectorize_on_device

    return guvectorize_on_device(signatures, layout)
