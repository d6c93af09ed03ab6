"""`numba.core`: what programs import from it. Where Numba itself is installed, `windlass run` gives its own."""

from windlass.numba import types
from windlass.numba.core import config, errors

__all__ = ["config", "errors", "types"]
