"""Calls that do something each time: what they print, write or ask for can't be done once for all calls of a program.

Functions of NumPy, JAX, of Python's numbers, containers and iterators do nothing but give a value. Of others nobody
knows, so that they are no part of a program: Python calls them, each time.
"""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.array import Array
from windlass.frontends.arrays.tracing import Tracing, is_of_users_file

PACKAGES = frozenset({
    "windlass", "numpy", "jax", "jaxlib", "ml_dtypes", "opt_einsum", "einops", "scipy", "math", "cmath", "operator",
    "_operator", "functools", "_functools", "itertools", "collections", "_collections", "dataclasses", "typing",
    "numbers", "fractions", "decimal", "_decimal", "enum", "copy", "string", "re", "statistics", "bisect", "_bisect",
    "heapq", "_heapq", "array", "struct", "_struct", "types", "abc", "_abc", "textwrap", "builtins",
})  # fmt: skip
"""Packages and modules whose functions give values alone, but for those below."""
WITH_EFFECTS: tuple[Any, ...] = (
    print, open, input, exec, breakpoint, np.save, np.savez, np.savez_compressed, np.savetxt, np.load, np.loadtxt,
    np.genfromtxt, np.fromfile, np.memmap, np.seterr, np.seterrcall, np.setbufsize, np.set_printoptions, np.show_config,
)  # fmt: skip
METHODS_WITH_EFFECTS = frozenset({"tofile", "dump", "dumps"})
"""Methods of arrays that write files, or look at all elements for one."""
VALUES = (
    str, bytes, int, float, complex, bool, tuple, list, dict, set, frozenset, bytearray, slice, range, np.ndarray,
    np.generic, np.dtype, Array, types.GeneratorType, types.MappingProxyType,
)  # fmt: skip
"""Objects of whose methods all is known: those that change them are looked at elsewhere."""


def refuse_effects(tracing: Tracing, function: Any) -> None:
    """Raises WindlassError (WL0924) for a function that may do something else than give a value."""
    if not tracing.is_of_jax and has_effects(function) and not (tracing.trusts_packages and is_of_package(function)):
        raise WindlassError(
            Diagnostic(
                "WL0924",
                f"{_name_of(function)} is called, which may do more than give a value",
                notes=("a program would do it once for all calls, while it is compiled",),
                help="call it outside of the compiled function; without whole=True Python calls it each time",
            )
        )


def has_effects(function: Any) -> bool:
    """Whether calling it may do something else than give a value.

    >>> has_effects(print), has_effects(np.sum), has_effects([].append), has_effects(sys.stdout.write)
    (True, False, False, True)
    """
    if any(function is each for each in WITH_EFFECTS):
        return True
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ndarray | np.generic | Array) and function.__name__ in METHODS_WITH_EFFECTS:
        return True
    if isinstance(owner, VALUES) or (isinstance(function, type) and issubclass(function, Exception)):
        return False
    if type(function).__module__.partition(".")[0] in ("windlass", "jax", "jaxlib"):
        return False  # whatever names it has of the function that it was made of
    module = _module_of(function)
    return not (str(module).partition(".")[0] in PACKAGES or _is_users(module))


def is_of_package(function: Any) -> bool:
    """Whether it is of a package that is installed, rather than of Python's own library."""
    file = getattr(sys.modules.get(str(_module_of(function))), "__file__", None) or ""
    return f"{os.sep}site-packages{os.sep}" in file


def _module_of(function: Any) -> Any:
    """The module that says what the function does: that of the class whose method it is, or its own."""
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        return (owner if isinstance(owner, type) else type(owner)).__module__
    return getattr(function, "__module__", None) or type(function).__module__


def _is_users(module: Any) -> bool:
    """Whether a module is the user's: its functions are looked into."""
    found = sys.modules.get(str(module))
    file = getattr(found, "__file__", None)
    # What is run by `exec` is of no module that Python knows.
    return is_of_users_file(file) if file is not None else found is None or module in ("__main__", "__mp_main__")


def _name_of(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", None)
    return str(name) if module in (None, "builtins", "__main__") else f"{Path(str(module)).name}.{name}"
