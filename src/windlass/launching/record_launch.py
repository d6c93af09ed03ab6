"""Launches of kernels that take structs by value with pointers in them.

Such a kernel is compiled anew as one whose pointers are parameters of their own (`frontends/cuda/records.py`), and
launched as that. In a launch from Python an array stands where the struct has a pointer: `kernel[grid, block]({"x": x,
"y": y, "n": 100})`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.cuda import give_pointers_apart
from windlass.ir.signature import Parameter
from windlass.launching.launch import Launch
from windlass.launching.texture_launch import SpecializedModule
from windlass.runtime.arguments import order_arguments

if TYPE_CHECKING:
    from windlass.launching.kernel import Kernel


@dataclass(frozen=True)
class SplitRecord:
    """A struct whose pointers are known: its bytes as a record, and an array or None for each of its pointers."""

    value: Any
    arrays: tuple[Any, ...]


class RecordLaunch(Launch):
    """A kernel that takes structs with pointers, with its grid and block; call it with the kernel's arguments."""

    __slots__ = ()

    def __call__(self, *arguments: Any, **named: Any) -> None:
        special, plain = with_pointers_apart(self.kernel, order_arguments(self.kernel.signature, arguments, named))
        try:
            special[self.shape](*plain)
        finally:
            self.kernel.last_report = special.last_report

    def run_raised(self, arguments: Sequence[Any]) -> None:
        """The launch in its raised form.

        Raises RaisingError where there is none.
        """
        special, plain = with_pointers_apart(self.kernel, arguments)
        launch = special[self.shape]
        launch.run_raised(plain)


def takes_pointers_in_records(kernel: Kernel) -> bool:
    """Whether a kernel takes structs by value with pointers in them."""
    return any(parameter.pointers for parameter in kernel.signature.parameters)


def kernel_with_pointers_apart(kernel: Kernel) -> Kernel:
    """The kernel whose pointers in structs are parameters of their own."""
    with kernel.lock:
        if kernel.apart is None:
            from windlass.launching.kernel import Kernel

            code = give_pointers_apart(kernel.module.code, kernel.signature, kernel.module.allow_contraction)
            kernel.apart = Kernel(SpecializedModule(kernel.module, code), code.kernels[0])
            kernel.apart.has_textures_known = kernel.has_textures_known
        return kernel.apart


def with_pointers_apart(kernel: Kernel, arguments: Sequence[Any]) -> tuple[Kernel, Sequence[Any]]:
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


def apart_function(kernel: Kernel, make: Callable[[Kernel], Callable[..., Any]]) -> Callable[..., Any]:
    """What `make` gives for a kernel without pointers in structs, as a function of the kernel's own arguments."""
    function = make(kernel_with_pointers_apart(kernel))

    def call(*arguments: Any, **named: Any) -> Any:
        return function(*with_pointers_apart(kernel, order_arguments(kernel.signature, arguments, named))[1])

    return call


def _split(kernel: Kernel, parameter: Parameter, argument: Any) -> SplitRecord:
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
