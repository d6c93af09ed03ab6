"""Kernels on arrays that are values: JAX's own (`kernel.jax`), and those that `wl.jit` traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.arrays import Array
from windlass.frontends.kernels.types import HeldType, KernelArray, KernelNumber, Record, Tuple, from_dtype, type_of
from windlass.numba.cuda.device_array import DeviceNDArray


def is_value(argument: Any) -> bool:
    """Whether it is an array or number of JAX, or one that `wl.jit` traces."""
    return isinstance(argument, jax.Array | Array)


def as_values(arguments: Sequence[Any]) -> list[Any]:
    """The arguments, with arrays of the host's and of the device's as NumPy arrays in C's order."""
    return [_as_value(each) for each in arguments]


def _as_value(argument: Any) -> Any:
    if isinstance(argument, DeviceNDArray):
        argument = argument.data
    if isinstance(argument, np.ndarray):
        return np.require(argument.view(np.ndarray), requirements=["C_CONTIGUOUS", "ALIGNED"])
    return tuple(map(_as_value, argument)) if isinstance(argument, tuple) else argument


def held_type(value: Any) -> HeldType:
    """The type that a value has in a kernel. Raises TypeError where there is none."""
    if isinstance(value, tuple):
        return Tuple(tuple(map(held_type, value)))
    if not is_value(value):
        return type_of(value)
    element = from_dtype(np.dtype(value.dtype))
    return KernelArray(element, len(value.shape), "C") if value.shape else element


def refuse_exceptions(name: str) -> LaunchError:
    """What is said of kernels that raise exceptions."""
    return LaunchError(
        Diagnostic(
            "WL0407",
            f"{name} raises exceptions, and values can't tell of them",
            help="leave debug=True out of cuda.jit, or launch it on NumPy arrays",
        )
    )


def flattened(name: str, types: Sequence[HeldType], values: Sequence[Any]) -> list[Any]:
    """The C++ kernel's arguments for those of the Python kernel. Raises LaunchError (WL0407) for structs."""
    leaves: list[Any] = []
    for type_, value in zip(types, values, strict=True):
        _flatten(name, type_, value, leaves)
    return leaves


def _flatten(name: str, type_: HeldType, value: Any, leaves: list[Any]) -> None:
    match type_:
        case KernelArray(dtype=KernelNumber()):
            leaves += [value, *value.shape]
        case Tuple(types):
            for each, part in zip(types, value, strict=True):
                _flatten(name, each, part, leaves)
        case KernelNumber():
            leaves.append(value)
        case KernelArray() | Record():
            raise LaunchError(Diagnostic("WL0407", f"{name}: structs ({type_}) are no values of JAX"))
        case _:
            return
