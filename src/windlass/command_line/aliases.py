"""`import cupy`, `import pycuda.autoinit`, `from numba import cuda`: Windlass's packages under these names.

Where Numba itself is installed it is used, for all that is not for GPUs; its `cuda` is Windlass's.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

ALIASED = ("cupy", "cupyx", "pycuda", "numba")
"""Packages that Windlass has under its own name."""


class AliasFinder(importlib.abc.MetaPathFinder):
    """Finds modules of the aliased packages among Windlass's own."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, rest = fullname.partition(".")
        if package not in ALIASED:
            return None
        if package == "numba" and rest.partition(".")[0] != "cuda":
            # Of the real Numba all but its cuda is used.
            real = _find_numba() if not rest else None
            if real is not None:
                return real
            if rest and getattr(sys.modules.get("numba"), "__name__", "") == "numba":
                return None
        own = f"windlass.{fullname}"
        if importlib.util.find_spec(own) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, _AliasLoader(own))


class _AliasLoader(importlib.abc.Loader):
    """Puts a module of Windlass's under another name."""

    def __init__(self, own: str) -> None:
        self._own = own

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(self._own)


class _NumbaLoader(importlib.abc.Loader):
    """Loads the real Numba, then adapts it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        from windlass.numba.functions import adapt_numba

        self._loader.exec_module(module)
        adapt_numba(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def _find_numba() -> importlib.machinery.ModuleSpec | None:
    spec = importlib.machinery.PathFinder.find_spec("numba")
    if spec is None or spec.loader is None:
        return None
    spec.loader = _NumbaLoader(spec.loader)
    return spec


def install() -> AliasFinder:
    """Let the names stand for Windlass's packages from now on."""
    finder = AliasFinder()
    sys.meta_path.insert(0, finder)
    return finder
