"""The leaves of what `wl.jit` is given: what tells calls apart, and what each is as an argument and as a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.arrays import Array as TracedArray
from windlass.functions.overlaps import overlaps_of, places_of
from windlass.functions.specialization import Static
from windlass.ir.types import MLIR_DTYPES

USUAL_ELEMENTS = frozenset(map(np.dtype, "?bBhHiIlLqQefdFD"))
"""Elements of arrays that every program can take; there are others."""
SINGLE = frozenset((np.ndarray, float, int, bool, complex, *(each.type for each in USUAL_ELEMENTS)))
"""Types of arguments that are one leaf each, and not static."""


def key_of(leaves: Sequence[Any], structure: Any) -> Any:
    key: list[Any] = [structure]
    arrays: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, np.ndarray):
            key += (np.ndarray, leaf.dtype, leaf.shape, leaf.flags.writeable, strides_of(leaf))
            arrays.append(leaf)
        elif isinstance(leaf, jax.Array):
            key += (jax.Array, leaf.dtype, leaf.shape, leaf.weak_type)
        else:
            key.append(type(leaf))
    if len(arrays) > 1 and not (
        all(leaf.flags.owndata for leaf in arrays) and len(set(map(id, arrays))) == len(arrays)
    ):
        key.append(tuple(places_of(leaves)))
        key.append(tuple(overlaps_of(leaves)))
    return tuple(key)


def strides_of(leaf: Any) -> tuple[int, ...] | None:
    """The strides of an array of NumPy's that lies otherwise than in C order."""
    return leaf.strides if isinstance(leaf, np.ndarray) and not leaf.flags.c_contiguous else None


def is_static(leaf: Any) -> bool:
    kind: type = type(leaf)
    if kind is float or (kind is np.ndarray and leaf.dtype in USUAL_ELEMENTS):
        return False
    if isinstance(leaf, int) and not isinstance(leaf, bool) and not -(1 << 63) <= leaf < 1 << 63:
        raise LaunchError(
            Diagnostic(
                "WL0911",
                f"an integer of {leaf.bit_length()} bits can't be an argument: numbers are traced with 64 bits",
                help="compile it in, with @windlass.jit(static=...), or pass a float",
            )
        )
    if isinstance(leaf, np.ndarray | jax.Array) and leaf.dtype.kind in "fcV" and is_no_element(leaf.dtype):
        raise LaunchError(
            Diagnostic(
                "WL0911",
                f"an array of {leaf.dtype} can't be traced: programs have no such elements",
                help="convert it: array.astype(numpy.float64)",
            )
        )
    if isinstance(leaf, np.ndarray):
        if isinstance(leaf, np.ma.MaskedArray):
            raise LaunchError(
                Diagnostic("WL0911", "a masked array can't be traced", help="pass array.data, or array.filled(value)")
            )
        if leaf.dtype.names is not None or leaf.dtype.kind in "OSUMm":
            raise LaunchError(
                Diagnostic(
                    "WL0911", f"an array of {leaf.dtype} can't be traced", help="launch kernels on it outside wl.jit"
                )
            )
        return False
    return not isinstance(leaf, jax.Array | np.generic | int | float | complex | bool)


def is_no_element(dtype: Any) -> bool:
    """Whether it is a type of single numbers that tensors can't have, such as `numpy.longdouble`."""
    is_number = isinstance(dtype, np.dtype) and dtype.names is None and not issubclass(dtype.type, np.void)
    return is_number and dtype.newbyteorder("=") not in MLIR_DTYPES


def without_static(value: Any) -> Any:
    return value.value if isinstance(value, Static) else value


def undivided(leaf: Any) -> Any:
    """What a function is traced with: the type of an array of JAX's, not how it lies on devices."""
    if isinstance(leaf, jax.Array) and not isinstance(leaf, Tracer):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=leaf.weak_type)
    return leaf


def as_argument(leaf: Any) -> Any:
    """The leaf as JAX takes it: Python numbers in NumPy's types."""
    if isinstance(leaf, bool):
        return np.bool_(leaf)
    if isinstance(leaf, int):
        return np.int64(leaf)
    if isinstance(leaf, float):
        return np.float64(leaf)
    return np.complex128(leaf) if isinstance(leaf, complex) else leaf


def as_result(value: Any) -> Any:
    return value.value if isinstance(value, TracedArray) else value


def as_numpy(value: Any, is_array: bool) -> Any:
    array = np.array(value)
    return array if is_array or array.ndim else array[()]
