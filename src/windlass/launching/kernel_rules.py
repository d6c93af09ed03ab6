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
from windlass.frontends.arrays.capture import captured
from windlass.frontends.arrays.running import as_value, run_on_values
from windlass.launching.jax_function import jax_function, without_rule
from windlass.launching.launch import Launch
from windlass.launching.traced_launch import read_traced
from windlass.runtime.launch_shape import LaunchShape

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel


class KernelRule:
    """A kernel's derivative rule: a function of the launch, of its arguments and of cotangents; see `Kernel.defvjp`."""

    def __init__(self, kernel: LoadedKernel, rule: Callable[..., Any]) -> None:
        self.kernel = kernel
        self.rule = rule

    def on_values(self, shape: LaunchShape, plain: Callable[..., Any], values: Sequence[Any]) -> Any:
        """What a launch gives for these values; `plain` is the function without the rule, as `kernel.jax` has it."""
        kernel = self.kernel
        names = [parameter.name for parameter in kernel.signature.parameters]
        varies = [isinstance(value, jax.Array | np.ndarray | float | np.floating) for value in values]
        written = [names[position] for position in sorted(kernel.written) if values[position] is not None]

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
            own = run_on_values(lambda *each: captured(self.rule)(launch, *each), before, cotangents)
            fitted = self._fitted(own, before)
            return tuple(each for each, flag in zip(fitted, varies, strict=True) if flag)

        for function in (primal, backward):
            function.__name__ = function.__qualname__ = kernel.name
        ruled = jax.custom_vjp(primal)
        ruled.defvjp(forward, backward)
        return ruled(*[value for value, flag in zip(values, varies, strict=True) if flag])

    def on_traced(self, launch: Launch, arguments: Sequence[Any]) -> None:
        """Do a launch on arrays that `wl.jit` traces.

        Raises WindlassError (WL0933) where two of them share memory.
        """
        kernel = self.kernel
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
        results = self.on_values(launch.shape, plain, [as_value(value) for value in traced.values])
        written = [position for position in sorted(kernel.written) if position in traced.places]
        for position, result in zip(written, results if isinstance(results, tuple) else (results,), strict=True):
            array = arguments[position]
            assert isinstance(array, Array)
            array[...] = Array(result)

    def _fitted(self, found: Any, arguments: Mapping[str, Any]) -> list[Any]:
        """For each argument its cotangent; None for zero. Raises WindlassError (WL0933) for what doesn't fit."""
        if not isinstance(found, dict):
            raise self._refused("has to return a dictionary: for parameters, by name, their cotangents")
        for name in found:
            if name not in arguments:
                raise self._refused(f"gives a cotangent of '{name}': there is no such parameter")
        fitted: list[Any] = []
        for name, value in arguments.items():
            given = found.get(name)
            if given is None or value is None or not jnp.issubdtype(jnp.result_type(value), np.inexact):
                fitted.append(None)
                continue
            if jnp.shape(given) != jnp.shape(value):
                told = f"gives a cotangent of '{name}' with shape {jnp.shape(given)}, not {jnp.shape(value)}"
                raise self._refused(told)
            fitted.append(jnp.asarray(given, jnp.result_type(value)))
        return fitted

    def _refused(self, what: str) -> WindlassError:
        code = getattr(self.rule, "__code__", None)
        position = None if code is None else Position(code.co_filename, code.co_firstlineno)
        return WindlassError(Diagnostic("WL0933", f"the rule of kernel '{self.kernel.name}' {what}", position))
