"""A launch inside `wl.jit`: the arrays are `windlass.Array`s, and are updated as device memory would be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, LaunchError, RaisingError
from windlass.frontends.arrays import Array
from windlass.launching.value_launch import (
    check_value,
    emulate_on_values,
    enter,
    launch_on_values,
    leave,
    value_form,
)
from windlass.runtime.arguments import check_dtype
from windlass.runtime.launch_shape import LaunchShape
from windlass.runtime.memories import ArrayForm, overlap

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel


def launch_on_traced(kernel: LoadedKernel, shape: LaunchShape, arguments: Sequence[Any]) -> None:
    """Launch on arrays that are being traced; those that the kernel writes have their new values afterwards.

    Views into one array are one memory, at the offsets where they lie.
    """
    signature = kernel.signature
    values: list[Any] = []
    storages: list[Any] = []
    forms: list[ArrayForm] = []
    places: dict[int, tuple[int, int]] = {}
    for position, (parameter, argument) in enumerate(zip(signature.parameters, arguments, strict=True)):
        if parameter.kind != "pointer":
            plain = argument.value if isinstance(argument, Array) else argument
            values.append(check_value(signature, parameter, plain))
            continue
        if argument is None:
            values.append(None)
            continue
        array = argument if isinstance(argument, Array) else _constant_array(kernel, parameter.name, argument)
        check_dtype(signature, parameter, np.dtype(array.dtype), array.shape)
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
        if not any(storage is known for known in storages):
            storages.append(storage)
            inner = parameter.shape if storage.value.shape == array.shape else ()
            forms.append(value_form(storage.value, inner))
        memory = next(index for index, known in enumerate(storages) if known is storage)
        places[position] = (memory, first * np.dtype(array.dtype).itemsize)
        values.append(array.value)
    memories = [enter(storage.value, form) for storage, form in zip(storages, forms, strict=True)]
    try:
        results = launch_on_values(kernel, shape, memories, forms, places, values)
    except RaisingError as error:
        written = [position for position in sorted(kernel.written) if position in places]
        if len(storages) < len(places):
            raise
        news = emulate_on_values(kernel, shape, values, written, error)
        for position, new in zip(written, news, strict=True):
            arguments[position][...] = new
        return
    for memory, result in results.items():
        storage = storages[memory]
        storage.value = leave(result, forms[memory], storage.value)


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
