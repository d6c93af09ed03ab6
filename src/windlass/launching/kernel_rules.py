"""`kernel.defvjp`: launches with a derivative rule of the user's own.

A launch with a rule is a function of values, as `kernel.jax` gives it, that JAX differentiates by the rule. Within
`wl.jit` it is done on the values of the arrays, which then get the results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import Diagnostic, Position, WindlassError
from windlass.frontends.arrays import Array
from windlass.frontends.arrays.running import as_value, run_on_values
from windlass.launching.jax_function import jax_function, without_rule
from windlass.launching.launch import Launch
from windlass.launching.traced_launch import read_traced
from windlass.runtime.launch_shape import LaunchShape

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel


def launch_with_rule(kernel: LoadedKernel, shape: LaunchShape, plain: Callable[..., Any], values: Sequence[Any]) -> Any:
    """What the launch gives for these values; `plain` is the function without the rule, as `kernel.jax` has it."""
    names = [parameter.name for parameter in kernel.signature.parameters]
    varies = [_can_vary(value) for value in values]
    written = [names[position] for position in sorted(kernel.written) if values[position] is not None]
    # A name is looked up here, so that a rule that is given later counts in what is traced later.
    rule = kernel.rule
    assert rule is not None

    def arguments(given: Sequence[Any]) -> list[Any]:
        rest = iter(given)
        return [next(rest) if flag else value for value, flag in zip(values, varies, strict=True)]

    def primal(*given: Any) -> Any:
        return plain(*arguments(given))

    def forward(*given: Any) -> Any:
        return primal(*given), given

    def backward(given: Any, found: Any) -> Any:
        launch = kernel.launch(shape, Launch)
        cotangents = dict(zip(written, found if isinstance(found, tuple) else (found,), strict=True))
        before = dict(zip(names, arguments(given), strict=True))
        own = run_on_values(lambda *each: rule(launch, *each), before, cotangents)
        return tuple(_fitted(kernel, rule, own, before)[place] for place, flag in enumerate(varies) if flag)

    for function in (primal, backward):
        function.__name__ = function.__qualname__ = kernel.name
    ruled = jax.custom_vjp(primal)
    ruled.defvjp(forward, backward)
    return ruled(*[value for value, flag in zip(values, varies, strict=True) if flag])


def _can_vary(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray | float | np.floating)


def _fitted(kernel: LoadedKernel, rule: Any, found: Any, arguments: Mapping[str, Any]) -> list[Any]:
    """For each argument its cotangent; None for zero. Raises WindlassError (WL0933) for what doesn't fit."""
    code = getattr(rule, "__code__", None)
    position = None if code is None else Position(code.co_filename, code.co_firstlineno)

    def refused(what: str) -> WindlassError:
        return WindlassError(Diagnostic("WL0933", f"the rule of kernel '{kernel.name}' {what}", position))

    if not isinstance(found, dict):
        raise refused("has to return a dictionary: for parameters, by name, their cotangents")
    for name in found:
        if name not in arguments:
            raise refused(f"gives a cotangent of '{name}': there is no such parameter")
    fitted: list[Any] = []
    for name, value in arguments.items():
        given = found.get(name)
        if given is None or value is None or not jnp.issubdtype(jnp.result_type(value), np.inexact):
            fitted.append(None)
        elif jnp.shape(given) != jnp.shape(value):
            raise refused(f"gives a cotangent of '{name}' with shape {jnp.shape(given)}, not {jnp.shape(value)}")
        else:
            fitted.append(jnp.asarray(given, jnp.result_type(value)))
    return fitted


def launch_traced_with_rule(launch: Launch, arguments: Sequence[Any]) -> None:
    """The launch on arrays that `wl.jit` traces.

    Raises WindlassError (WL0933) where two of them share memory.
    """
    kernel = launch.kernel
    traced = read_traced(kernel, launch.shape, arguments)
    if len(traced.storages) < len(traced.places):
        raise WindlassError(
            Diagnostic(
                "WL0933",
                f"kernel '{kernel.name}' has a derivative rule, and two of its arguments share memory",
                kernel.signature.position,
                help="pass copies: a rule is one of values",
            )
        )
    plain = without_rule(jax_function(kernel, launch.shape))
    results = launch_with_rule(kernel, launch.shape, plain, [as_value(value) for value in traced.values])
    written = [position for position in sorted(kernel.written) if position in traced.places]
    for position, result in zip(written, results if isinstance(results, tuple) else (results,), strict=True):
        array = arguments[position]
        assert isinstance(array, Array)
        array[...] = Array(result)
