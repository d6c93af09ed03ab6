"""`kernel.jax(grid, block)`: a kernel as a pure function of JAX values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.autodiff.planning import Plan, preferring
from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.arrays import Array
from windlass.frontends.arrays.operands import unwrapped
from windlass.launching.form import Form, PreparedFunction, Request
from windlass.launching.forms import choose
from windlass.launching.raised_form import RaisedForm
from windlass.launching.traced_records import TracedRecord
from windlass.launching.value_launch import check_value, is_jax_value, refuse_variable
from windlass.runtime.arguments import check_array, check_dtype, order_arguments
from windlass.runtime.call_key import CallKeys
from windlass.runtime.compiled_store import CompiledStore
from windlass.runtime.launch_shape import LaunchShape
from windlass.runtime.placements import as_misplaced, named_leaves
from windlass.stablehlo.code import NO_PLAN

if TYPE_CHECKING:
    from windlass.ir.signature import KernelSignature, Parameter
    from windlass.launching.loaded_kernel import LoadedKernel


def jax_function(
    kernel: LoadedKernel, shape: LaunchShape, only: type[Form] | None = None, plan: Plan = NO_PLAN
) -> Callable[..., Any]:
    """The pure function; see `Kernel.jax`. Where one is named the launch has this form or none.

    The path of a call on concrete values that was compiled before is short: a key, a look-up, one jitted function.
    """
    signature = kernel.signature
    count = len(signature.parameters)
    keys = CallKeys(signature, takes_values=True)
    key_of = keys.key
    forms: CompiledStore[tuple[Any, ...], PreparedFunction] = CompiledStore()

    def function(*arguments: Any, **named: Any) -> Any:
        if named or len(arguments) != count:
            variables = _take_variables(kernel, named)
            arguments = order_arguments(signature, arguments, named)
            if variables:
                with preferring(plan):
                    return _run_with_variables(kernel, shape, arguments, variables)
        if kernel.rule is not None:
            values = [value.value if isinstance(value, Array) else value for value in arguments]
            return kernel.rule.on_values(shape, plain, values)
        return plain(*arguments)

    def plain(*arguments: Any) -> Any:
        try:
            return launched(*arguments)
        except (ValueError, RuntimeError) as error:
            names = [parameter.name for parameter in signature.parameters]
            told = as_misplaced(error, kernel.name, named_leaves(arguments, {}, names))
            if told is error:
                raise
            raise told from None

    def launched(*arguments: Any) -> Any:
        key = key_of(arguments)
        form = forms.get(key)
        if form is not None:
            return form.run(arguments)
        values = _values(kernel, arguments)
        keys.variables = tuple(kernel.reachable_variables().values())
        launch = Request(kernel, shape, values)
        if only is None:
            form = choose(lambda each, reason: each.on_values(launch, reason))
        else:
            form = only.on_values(launch, None)
        if not form.is_kept or any(isinstance(value, Tracer | TracedRecord) for value in values):
            with preferring(plan):
                return form.apply(*form.inputs(values))
        forms.keep(key, form)
        return form.run(arguments)

    function.__name__ = function.__qualname__ = kernel.name
    _functions.add(function)
    vars(function)[_PLAIN] = plain
    function.__doc__ = f"{kernel!r} as a pure function, launched with grid {shape.grid} and block {shape.block}."
    return function


def _values(kernel: LoadedKernel, arguments: Sequence[Any]) -> list[Any]:
    """The arguments of a launch on values, checked. Arrays of `wl.jit` give theirs; they don't change."""
    signature = kernel.signature
    variables = tuple(kernel.reachable_variables().values())
    plain = [unwrapped(value) for value in arguments]
    for parameter, value in zip(signature.parameters, plain, strict=True):
        refuse_variable(f"{kernel.name}: argument '{parameter.name}'", value, variables, "the kernel")
    return [
        _as_array(signature, parameter, value)
        if parameter.kind == "pointer"
        else check_value(signature, parameter, value)
        for parameter, value in zip(signature.parameters, plain, strict=True)
    ]


def _take_variables(kernel: LoadedKernel, named: dict[str, Any]) -> dict[str, Any]:
    """Take out of the arguments by name those that are device variables: their values, by linker name.

    Raises LaunchError (WL0411) for values that don't fit, and for variables that the kernel does not use.
    """
    declared = kernel.module.variables
    parameters = {parameter.name for parameter in kernel.signature.parameters}
    names = [name for name in named if name not in parameters and name in declared]
    if not names:
        return {}
    used = kernel.variables()
    found: dict[str, Any] = {}
    for name in names:
        linker_name, value = declared.as_value(name, unwrapped(named.pop(name)))
        if linker_name not in used:
            raise LaunchError(
                Diagnostic(
                    "WL0411",
                    f"{kernel.name} does not use the device variable '{name}'",
                    kernel.signature.position,
                    help="leave it out",
                )
            )
        found[linker_name] = value
    return found


def _run_with_variables(
    kernel: LoadedKernel, shape: LaunchShape, arguments: Sequence[Any], variables: dict[str, Any]
) -> Any:
    """A launch to which device variables are values, as arrays are; only tensor programs take them so."""
    if kernel.rule is not None:
        raise LaunchError(
            Diagnostic(
                "WL0933",
                f"kernel '{kernel.name}' has a derivative rule, which has no cotangents of device variables",
                kernel.signature.position,
                help="let the kernel take them as parameters",
            )
        )
    values = _values(kernel, arguments)
    form = RaisedForm.on_values(Request(kernel, shape, values, variables=variables), None)
    return form.apply(*form.inputs(values))


_functions: WeakSet[Callable[..., Any]] = WeakSet()
_PLAIN = "_windlass_plain"
"""The attribute of such a function that holds it without the derivative rule. A table would keep kernels alive."""


def without_rule(function: Callable[..., Any]) -> Callable[..., Any]:
    """One of `jax_function`, without the derivative rule that the kernel may have."""
    return vars(function)[_PLAIN]


def is_kernel_function(function: Any) -> bool:
    """Whether the function is one of `Kernel.jax`."""
    return inspect.isfunction(function) and function in _functions


def _as_array(signature: KernelSignature, parameter: Parameter, value: Any) -> Any:
    """The JAX array for a pointer parameter, or None for a null pointer.

    Raises LaunchError for what JAX can't hold (WL0902) and for mismatches of dtype.
    """
    if value is None:
        return None
    if not is_jax_value(value):
        return _from_numpy(signature, parameter, value)
    subject = f"{signature.name}: argument '{parameter.name}'"
    if jnp.issubdtype(value.dtype, jax.dtypes.extended):
        raise _not_in_jax(
            f"{subject} is of dtype {value.dtype}, which no kernel knows",
            f"pass its numbers: jax.random.key_data({parameter.name})",
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
        raise _not_in_jax(
            f"{subject} must be {expected.name}, got {dtype.name}: JAX holds no 64-bit arrays by default",
            "enable them before making arrays: jax.config.update('jax_enable_x64', True)",
        )
    check_dtype(signature, parameter, dtype, tuple(value.shape))
    return value


def _from_numpy(signature: KernelSignature, parameter: Parameter, value: Any) -> Any:
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
        # A value has no layout: views of all kinds will do.
        value = np.require(np.asarray(value), requirements=["C_CONTIGUOUS", "ALIGNED"])
    array = check_array(signature, parameter, value)
    assert array is not None
    subject = f"{signature.name}: argument '{parameter.name}' is"
    if array.dtype.names is not None or array.dtype.kind == "S":
        raise _not_in_jax(
            f"{subject} of dtype {array.dtype}, which JAX has not",
            "pass the numbers as a plain array whose last axis holds an element's members",
        )
    converted = jnp.asarray(array)
    if converted.dtype != array.dtype:
        raise _not_in_jax(
            f"{subject} {array.dtype}, and JAX would narrow it to {converted.dtype}",
            "enable 64-bit arrays in JAX: jax.config.update('jax_enable_x64', True)",
        )
    return converted


def _not_in_jax(headline: str, help_: str) -> LaunchError:
    return LaunchError(Diagnostic("WL0902", headline, help=help_))
