"""The small kernels of the tests of launches, for functions that launch them."""

from __future__ import annotations

from tests.launching.conftest import module

__all__ = ["module"]
