"""The one file that touches private modules of JAX; a test says plainly when they have moved.

Everything else uses jax's public names and `jaxlib.mlir`.
"""

from __future__ import annotations

from typing import Any


def make_context() -> Any:
    """A new MLIR context with every dialect that jaxlib knows."""
    from jax._src.interpreters import mlir  # pyright: ignore[reportPrivateImportUsage]

    return mlir.make_ir_context()


def default_compile_options() -> Any:
    """The options with which JAX compiles for one device: XLA's own defaults drop NaN in minimum and maximum."""
    from jax._src import compiler  # pyright: ignore[reportPrivateImportUsage]

    return compiler.get_compile_options(num_replicas=1, num_partitions=1)
