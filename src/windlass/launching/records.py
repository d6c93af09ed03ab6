"""Structs by value with pointers in them, as arguments of kernels.

A kernel that takes some is compiled anew as one whose pointers are parameters of their own
(`frontends/cuda/records.py`), and launched as that. In a launch from Python an array stands where the struct has a
pointer: `kernel[grid, block]({"x": x, "y": y, "n": 100})`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, cast

import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.cuda import give_pointers_apart
from windlass.ir.signature import Parameter
from windlass.launching.loaded_kernel import LoadedKernel
from windlass.runtime.arguments import order_arguments


@dataclass(frozen=True)
class SplitRecord:
    """A struct whose pointers are known: its bytes as a record, and an array or None for each of its pointers."""

    value: Any
    arrays: tuple[Any, ...]


def takes_pointers_in_records(kernel: LoadedKernel) -> bool:
    """Whether a kernel takes structs by value with pointers in them."""
    return any(parameter.pointers for parameter in kernel.signature.parameters)


def kernel_with_pointers_apart(kernel: LoadedKernel) -> LoadedKernel:
    """The kernel whose pointers in structs are parameters of their own."""
    with kernel.lock:
        if kernel.apart is None:
            code = give_pointers_apart(kernel.module.code, kernel.signature, kernel.module.allow_contraction)
            kernel.apart = LoadedKernel(kernel.module.with_code(code), code.kernels[0])
            kernel.apart.has_textures_known = kernel.has_textures_known
        return kernel.apart


def with_pointers_apart(kernel: LoadedKernel, arguments: Sequence[Any]) -> tuple[LoadedKernel, Sequence[Any]]:
    """A kernel without pointers in structs, and its arguments.

    Raises LaunchError (WL0407) for a struct that comes as a whole, of which it is not known where it points to.
    """
    if not takes_pointers_in_records(kernel):
        return kernel, arguments
    arguments = order_arguments(kernel.signature, arguments, {})
    plain: list[Any] = []
    pointers: list[Any] = []
    for parameter, argument in zip(kernel.signature.parameters, arguments, strict=True):
        if not parameter.pointers:
            plain.append(argument)
            continue
        split = argument if isinstance(argument, SplitRecord) else _split(kernel, parameter, argument)
        plain.append(split.value)
        pointers += split.arrays
    return kernel_with_pointers_apart(kernel), [*plain, *pointers]


def apart_function(kernel: LoadedKernel, make: Callable[[LoadedKernel], Callable[..., Any]]) -> Callable[..., Any]:
    """What `make` gives for a kernel without pointers in structs, as a function of the kernel's own arguments."""
    function = make(kernel_with_pointers_apart(kernel))

    def call(*arguments: Any, **named: Any) -> Any:
        return function(*with_pointers_apart(kernel, order_arguments(kernel.signature, arguments, named))[1])

    return call


def _split(kernel: LoadedKernel, parameter: Parameter, argument: Any) -> SplitRecord:
    """A struct given by its members: with numbers that mean nothing in the place of arrays."""
    found: dict[tuple[str | int, ...], Any] = {}
    wanted = {member.path for member in parameter.pointers}
    value = _without_arrays(argument, parameter.dtype, (), wanted, found)
    if set(found) != wanted:
        names = ", ".join(f"'{member.parameter.name}'" for member in parameter.pointers)
        raise LaunchError(
            Diagnostic(
                "WL0407",
                f"{kernel.name}: argument '{parameter.name}' is a {parameter.type_name} with pointers ({names}), "
                f"got {type(argument).__name__}",
                kernel.signature.position,
                help="pass a dictionary, a tuple or a dataclass of its members, with arrays (or None) for pointers",
            )
        )
    return SplitRecord(value, tuple(found[member.path] for member in parameter.pointers))


def _without_arrays(
    value: Any,
    dtype: np.dtype[Any] | None,
    path: tuple[str | int, ...],
    wanted: set[tuple[str | int, ...]],
    found: dict[tuple[str | int, ...], Any],
) -> Any:
    """A part of a struct with 0 for pointers, which are entered into `found`. What has none stays as it is."""
    if path in wanted:
        found[path] = value
        return 0
    if dtype is None or not any(each[: len(path)] == path for each in wanted):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if dtype.names is not None and isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {
            name: _without_arrays(each, dtype[name], (*path, name), wanted, found) if name in dtype.names else each
            for name, each in members.items()
        }
    if isinstance(value, tuple | list):
        parts = cast("Sequence[Any]", value)
        if dtype.names is not None:
            inner: Sequence[tuple[str | int, np.dtype[Any]]] = [(name, dtype[name]) for name in dtype.names]
        elif dtype.subdtype is not None:
            count, *rest = cast("tuple[int, ...]", dtype.shape)
            inner = [(place, np.dtype((dtype.base, tuple(rest)))) for place in range(count)]
        else:
            return value
        if len(inner) == len(parts):
            return [
                _without_arrays(each, type_, (*path, key), wanted, found)
                for each, (key, type_) in zip(parts, inner, strict=True)
            ]
    return value
