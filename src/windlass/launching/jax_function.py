"""`kernel.jax(grid, block)`: a kernel as a pure function of JAX values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, LaunchError, RaisingError
from windlass.frontends.arrays import Array
from windlass.launching.value_launch import (
    as_raised,
    check_value,
    compile_on_values,
    emulate_on_values,
    enter,
    is_jax_value,
    leave,
    refuse_variable,
    scalar_for_program,
    value_form,
    variable_values,
)
from windlass.runtime.arguments import check_array, check_dtype, order_arguments
from windlass.runtime.call_key import CallKeys
from windlass.runtime.compiled_store import CompiledStore
from windlass.runtime.launch_shape import LaunchShape
from windlass.runtime.scalars import ScalarReader

if TYPE_CHECKING:
    from windlass.ir.signature import KernelSignature, Parameter
    from windlass.launching.loaded_kernel import LoadedKernel


def jax_function(kernel: LoadedKernel, shape: LaunchShape) -> Callable[..., Any]:
    """The pure function; see `Kernel.jax`.

    The path of a call on concrete values that was compiled before is short: a key, a look-up, one jitted function.
    """
    signature = kernel.signature
    count = len(signature.parameters)
    keys = CallKeys(signature, takes_values=True)
    key_of = keys.key
    forms: CompiledStore[tuple[Any, ...], ValueForm] = CompiledStore()

    def function(*arguments: Any, **named: Any) -> Any:
        if named or len(arguments) != count:
            arguments = order_arguments(signature, arguments, named)
        key = key_of(arguments)
        form = forms.get(key)
        if form is not None:
            return form.run(arguments)
        if any(isinstance(value, Array) for value in arguments):
            # Inside `wl.jit`, a pure function takes the arrays' values and changes none of them.
            return function(*(value.value if isinstance(value, Array) else value for value in arguments))
        keys.variables = tuple(kernel.reachable_variables().values())
        for parameter, value in zip(signature.parameters, arguments, strict=True):
            refuse_variable(f"{kernel.name}: argument '{parameter.name}'", value, keys.variables, "the kernel")
        values = [
            _as_array(signature, parameter, value)
            if parameter.kind == "pointer"
            else check_value(signature, parameter, value)
            for parameter, value in zip(signature.parameters, arguments, strict=True)
        ]
        try:
            form = ValueForm(kernel, shape, values)
        except RaisingError as error:
            written = [position for position in sorted(kernel.written) if values[position] is not None]
            try:
                return _result_of(emulate_on_values(kernel, shape, values, written, error))
            except Exception as failure:
                raise as_raised(failure) from None
        if form.needs_x64 or any(isinstance(value, Tracer) for value in values):
            return form.apply(*form.inputs(values))
        forms.keep(key, form)
        return form.run(arguments)

    function.__name__ = function.__qualname__ = kernel.name
    function.__doc__ = f"{kernel!r} as a pure function, launched with grid {shape.grid} and block {shape.block}."
    return function


class ValueForm:
    """A launch on JAX values made ready for arguments of one key.

    Raises RaisingError where the kernel has no tensor form.
    """

    __slots__ = ("_arrays", "_compiled", "_forms", "_function", "_kernel", "_readers", "_results", "needs_x64")

    def __init__(self, kernel: LoadedKernel, shape: LaunchShape, values: Sequence[Any]) -> None:
        signature = kernel.signature
        parameters = signature.parameters
        self._kernel = kernel
        self._arrays = tuple(
            position
            for position, parameter in enumerate(parameters)
            if parameter.kind == "pointer" and values[position] is not None
        )
        self._forms = tuple(value_form(values[position], parameters[position].shape) for position in self._arrays)
        places = {position: (memory, 0) for memory, position in enumerate(self._arrays)}
        self._compiled = compile_on_values(kernel, shape, values, places, self._forms)
        written = self._compiled.raised.written
        self._results = tuple(
            (memory, written.index(memory) if memory in written else None)
            for memory, position in enumerate(self._arrays)
            if position in kernel.written
        )
        """For each result the memory whose new value it is, and which of the program's results (None: unchanged)."""
        self._readers = tuple(
            (
                scalar.position,
                None if is_jax_value(values[scalar.position]) else ScalarReader(signature, scalar),
            )
            for scalar in self._compiled.binding.scalars
        )
        program = self._compiled.program
        self.needs_x64 = program.needs_x64 and not jax.config.read("jax_enable_x64")
        """Whether JAX's flag has to be turned on for this program, which `apply` does and `run` does not."""

        def run(*inputs: Any) -> Any:
            return self.apply(*inputs)

        run.__name__ = run.__qualname__ = program.name
        self._function = jax.jit(run)

    def run(self, arguments: Sequence[Any]) -> Any:
        """The results for arguments of the form's key, none of them a tracer."""
        return self._function(*self.inputs(arguments))

    def inputs(self, arguments: Sequence[Any]) -> list[Any]:
        """What `apply` takes: the arrays, the device variables as they are now, the numbers."""
        inputs = [arguments[position] for position in self._arrays]
        if len(self._compiled.binding.forms) > len(self._forms):
            inputs += variable_values(self._kernel, self._compiled)
        for position, reader in self._readers:
            argument = arguments[position]
            inputs.append(argument if reader is None else reader.read(argument))
        return inputs

    def apply(self, *inputs: Any) -> Any:
        """The results as JAX values; a pure function that JAX can trace."""
        count = len(self._arrays)
        arrays = inputs[:count]
        binding = self._compiled.binding
        first_scalar = len(binding.forms)
        memories = [enter(value, form) for value, form in zip(arrays, self._forms, strict=True)]
        scalars = [
            value if reader is not None else scalar_for_program(scalar, value)
            for scalar, (_, reader), value in zip(binding.scalars, self._readers, inputs[first_scalar:], strict=True)
        ]
        results = self._compiled.program.bind(*memories, *inputs[count:first_scalar], *scalars)
        return _result_of(
            [
                arrays[memory] if index is None else leave(results[index], self._forms[memory], arrays[memory])
                for memory, index in self._results
            ]
        )


def _result_of(news: Sequence[Any]) -> Any:
    """What the function returns for the new values of the arrays that the kernel writes."""
    return news[0] if len(news) == 1 else tuple(news)


def _as_array(signature: KernelSignature, parameter: Parameter, value: Any) -> Any:
    """The JAX array for a pointer parameter, or None for a null pointer.

    Raises LaunchError for what JAX can't hold (WL0902) and for mismatches of dtype.
    """
    if value is None:
        return None
    if not is_jax_value(value):
        if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
            # A value has no layout: views of all kinds will do.
            value = np.require(np.asarray(value), requirements=["C_CONTIGUOUS", "ALIGNED"])
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
    if jnp.issubdtype(value.dtype, jax.dtypes.extended):
        raise LaunchError(
            Diagnostic(
                "WL0902",
                f"{signature.name}: argument '{parameter.name}' is of dtype {value.dtype}, which no kernel knows",
                help=f"pass its numbers: jax.random.key_data({parameter.name})",
            )
        )
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
