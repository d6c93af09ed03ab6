"""`kernel.jax(grid, block)`: a kernel as a pure function of JAX values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError, RaisingError
from windlass.public.value_launch import (
    check_value,
    emulate_on_values,
    enter,
    is_jax_value,
    launch_on_values,
    leave,
    value_form,
)
from windlass.runtime.arguments import check_array, check_dtype, order_arguments
from windlass.runtime.launch_shape import LaunchShape
from windlass.runtime.memories import ArrayForm

if TYPE_CHECKING:
    from windlass.ir.signature import KernelSignature, Parameter
    from windlass.public.kernel import Kernel


def jax_function(kernel: Kernel, shape: LaunchShape) -> Callable[..., Any]:
    """The pure function; see `Kernel.jax`."""
    signature = kernel.signature

    def function(*positional: Any, **named: Any) -> Any:
        ordered = order_arguments(signature, positional, named)
        values = [
            _as_array(signature, parameter, value)
            if parameter.kind == "pointer"
            else check_value(signature, parameter, value)
            for parameter, value in zip(signature.parameters, ordered, strict=True)
        ]
        memories: list[Any] = []
        forms: list[ArrayForm] = []
        places: dict[int, tuple[int, int]] = {}
        for position, (parameter, value) in enumerate(zip(signature.parameters, values, strict=True)):
            if parameter.kind == "pointer" and value is not None:
                places[position] = (len(memories), 0)
                forms.append(value_form(value, parameter.shape))
                memories.append(enter(value, forms[-1]))
        written = [position for position in sorted(kernel.written) if position in places]
        try:
            results = launch_on_values(kernel, shape, memories, forms, places, values)
        except RaisingError as error:
            news = emulate_on_values(kernel, shape, values, written, error)
        else:
            news = [
                leave(results[places[position][0]], forms[places[position][0]], values[position])
                if places[position][0] in results
                else values[position]
                for position in written
            ]
        return news[0] if len(news) == 1 else tuple(news)

    function.__name__ = function.__qualname__ = kernel.name
    function.__doc__ = f"{kernel!r} as a pure function, launched with grid {shape.grid} and block {shape.block}."
    return function


def _as_array(signature: KernelSignature, parameter: Parameter, value: Any) -> Any:
    """The JAX array for a pointer parameter, or None for a null pointer.

    Raises LaunchError for what JAX can't hold (WL0902) and for mismatches of dtype.
    """
    if value is None:
        return None
    if not is_jax_value(value):
        array = check_array(signature, parameter, value)
        assert array is not None
        if array.dtype.names is not None or array.dtype.kind == "S":
            raise LaunchError(
                Diagnostic(
                    "WL0902",
                    f"{signature.name}: argument '{parameter.name}' is of dtype {array.dtype}, which JAX has not",
                    help="pass the numbers as a plain array whose last axis holds an element's members",
                )
            )
        converted = jnp.asarray(array)
        if converted.dtype != array.dtype:
            raise LaunchError(
                Diagnostic(
                    "WL0902",
                    f"{signature.name}: argument '{parameter.name}' is {array.dtype}, and JAX would narrow it to "
                    f"{converted.dtype}",
                    help="enable 64-bit arrays in JAX: jax.config.update('jax_enable_x64', True)",
                )
            )
        return converted
    dtype = np.dtype(value.dtype)
    expected = parameter.dtype
    if (
        expected is not None
        and expected.names is None
        and expected.itemsize == 8
        and dtype.itemsize == 4
        and expected.kind == dtype.kind
        and not jax.config.read("jax_enable_x64")
    ):
        raise LaunchError(
            Diagnostic(
                "WL0902",
                f"{signature.name}: argument '{parameter.name}' must be {expected.name}, got {dtype.name}: "
                "JAX holds no 64-bit arrays by default",
                help="enable them before making arrays: jax.config.update('jax_enable_x64', True)",
            )
        )
    check_dtype(signature, parameter, dtype, tuple(value.shape))
    return value
