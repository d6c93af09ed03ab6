"""A launch inside `wl.jit`: the arrays are `windlass.Array`s, and are updated as device memory would be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.arrays import Array
from windlass.launching.value_launch import check_value, value_form
from windlass.runtime.arguments import check_dtype
from windlass.runtime.launch_shape import LaunchShape
from windlass.runtime.memories import ArrayForm, overlap

if TYPE_CHECKING:
    from windlass.ir.signature import Parameter
    from windlass.launching.loaded_kernel import LoadedKernel


@dataclass
class TracedLaunch:
    """A launch on arrays that are being traced: its arguments, the arrays' memories, and what these hold now.

    `places` has, for each array, its memory and the offset of the array in it, in bytes. Views into one array are one
    memory, at the offsets where they lie.
    """

    kernel: LoadedKernel
    shape: LaunchShape
    arguments: Sequence[Any]
    values: list[Any] = field(default_factory=list[Any])
    storages: list[Any] = field(default_factory=list[Any])
    forms: list[ArrayForm] = field(default_factory=list[ArrayForm])
    places: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])

    def add_array(self, position: int, parameter: Parameter, array: Array) -> None:
        """Find the memory in which an array lies.

        Raises LaunchError for one whose elements don't follow one another (WL0405), and for one that is read-only
        where the kernel writes (WL0406).
        """
        signature = self.kernel.signature
        check_dtype(signature, parameter, np.dtype(array.dtype), array.shape)
        if position in self.kernel.written and not array.flags.writeable:
            raise LaunchError(
                Diagnostic(
                    "WL0406",
                    f"{signature.name}: argument '{parameter.name}' is read-only, and the kernel writes to it",
                    help=f"pass a copy that can be written: {parameter.name}.copy()",
                )
            )
        run = array.contiguous_run()
        if run is None:
            raise LaunchError(
                Diagnostic(
                    "WL0405",
                    f"{signature.name}: argument '{parameter.name}' is a view that is not contiguous: "
                    f"shape {array.shape}",
                    notes=("a kernel sees memory as one run of elements, last axis fastest",),
                    help=f"pass {parameter.name}.copy()",
                )
            )
        storage, first = run
        if not any(storage is known for known in self.storages):
            self.storages.append(storage)
            inner = parameter.shape if storage.value.shape == array.shape else ()
            self.forms.append(value_form(storage.value, inner))
        memory = next(index for index, known in enumerate(self.storages) if known is storage)
        self.places[position] = (memory, first * np.dtype(array.dtype).itemsize)


def read_traced(kernel: LoadedKernel, shape: LaunchShape, arguments: Sequence[Any]) -> TracedLaunch:
    """The launch on such arguments.

    Raises LaunchError for those that it can't have.
    """
    signature = kernel.signature
    launch = TracedLaunch(kernel, shape, arguments)
    for position, (parameter, argument) in enumerate(zip(signature.parameters, arguments, strict=True)):
        if parameter.kind != "pointer":
            plain = argument.value if isinstance(argument, Array) else argument
            launch.values.append(check_value(signature, parameter, plain))
        elif argument is None:
            launch.values.append(None)
        else:
            array = argument if isinstance(argument, Array) else _constant_array(kernel, parameter.name, argument)
            launch.add_array(position, parameter, array)
            launch.values.append(array.value)
    return launch


def _constant_array(kernel: LoadedKernel, name: str, argument: Any) -> Array:
    """An array from outside the trace: it can be read, and writing to it would have no effect that anyone sees."""
    if isinstance(argument, np.ndarray):
        argument = cast("NDArray[Any]", argument)
        if any(overlap(argument, variable) for variable in kernel.module.variables.storage.values()):
            raise LaunchError(
                Diagnostic(
                    "WL0907",
                    f"{kernel.name}: argument '{name}' is the memory of a device variable, and would be a constant "
                    "in the compiled function",
                    help="let the kernel read the variable itself, or pass a copy to the compiled function",
                )
            )
        position = next(index for index, parameter in enumerate(kernel.signature.parameters) if parameter.name == name)
        if position in kernel.written:
            raise LaunchError(
                Diagnostic(
                    "WL0907",
                    f"{kernel.name}: argument '{name}' is a NumPy array from outside the compiled function, "
                    "and the kernel writes to it",
                    help="pass the array to the compiled function as an argument",
                )
            )
    return Array(jnp.asarray(argument))
