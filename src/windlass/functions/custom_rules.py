"""`wl.custom_vjp` and `wl.custom_jvp`: functions of arrays with derivative rules of the user's own.

They are JAX's of these names, for functions that are written with NumPy and launch kernels: the function and its rules
are traced as `wl.jit` traces, wherever they are differentiated.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.array import wrapped
from windlass.frontends.arrays.explaining import position_of
from windlass.frontends.arrays.running import as_value, is_array, run_on_values
from windlass.frontends.arrays.tracing import current_tracing
from windlass.functions.pure_call import TakesValues, compilable, name_of, pure_call

Arguments: TypeAlias = Callable[[Sequence[Any]], tuple[Any, ...]]
"""The arguments of a call, from the JAX values among them."""


class RuledFunction(TakesValues, ABC):
    """A function that has a derivative rule of its own. It is one of values: what it writes is not seen outside."""

    def __init__(self, function: Callable[..., Any], kind: str) -> None:
        if not callable(function):
            raise WindlassError(
                Diagnostic("WL0933", f"wl.{kind}: {type(function).__name__} is no function", help="pass the function")
            )
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.kind = kind
        self.signature = inspect.signature(function)

    def __repr__(self) -> str:
        return f"<windlass.{self.kind} of {name_of(self.function)}>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *positional: Any, **named: Any) -> Any:
        bound = self.signature.bind(*positional, **named)
        bound.apply_defaults()
        if bound.kwargs:
            raise self._refused("it takes arguments by name alone", "give all parameters a place")
        self._require_rule()
        leaves, structure = jax.tree.flatten(bound.args, is_leaf=is_array)
        is_within = current_tracing() is not None
        if not is_within and not any(isinstance(leaf, jax.Array) for leaf in leaves):
            call = pure_call(compilable(self), bound.args, {})
            with call.precision():
                result, failure = call.apply(call.values)
            call.raise_failed(failure)
            return jax.tree.map(_as_numpy, result)
        leaves = [as_value(leaf) for leaf in leaves]
        is_value = [isinstance(leaf, jax.Array) for leaf in leaves]
        others = [leaf for leaf, flag in zip(leaves, is_value, strict=True) if not flag]
        values = [leaf for leaf, flag in zip(leaves, is_value, strict=True) if flag]

        def arguments(values: Sequence[Any]) -> tuple[Any, ...]:
            rest, fixed = iter(values), iter(others)
            return jax.tree.unflatten(structure, [next(rest if flag else fixed) for flag in is_value])

        result = self._ruled(arguments, structure, is_value)(*values)
        return jax.tree.map(wrapped, result) if is_within else result

    @abstractmethod
    def _require_rule(self) -> None:
        """Raises WindlassError (WL0933) where it has none yet."""

    @abstractmethod
    def _ruled(self, arguments: Arguments, structure: Any, is_value: list[bool]) -> Any:
        """The function of the values among the arguments, with its rule, as JAX has it."""

    def _forget(self) -> None:
        """Drop what was made of the function with another rule."""
        for name in ("_windlass_compilable", "_windlass_derived"):
            vars(self).pop(name, None)

    def _primal(self, arguments: Arguments) -> Callable[..., Any]:
        def primal(*values: Any) -> Any:
            return run_on_values(self.function, *arguments(values))

        primal.__name__ = primal.__qualname__ = name_of(self.function)
        return primal

    def _like(self, value: Any, given: Any, what: str, rule: Any) -> Any:
        """A tangent or cotangent of the value's dtype. Raises WindlassError (WL0933) where it has another shape."""
        if given is None:
            return jnp.zeros_like(value)
        if jnp.shape(given) != jnp.shape(value):
            raise self._refused(f"{what} has shape {jnp.shape(given)}, the value {jnp.shape(value)}", None, rule)
        return jnp.asarray(given, jnp.result_type(value))

    def _refused(self, what: str, help_: str | None, rule: Any = None) -> WindlassError:
        position = position_of(self.function if rule is None else rule)
        return WindlassError(
            Diagnostic("WL0933", f"wl.{self.kind} of {name_of(self.function)}: {what}", position, help=help_)
        )


class FunctionWithPullback(RuledFunction):
    """A function with a rule for reverse mode."""

    forward: Callable[..., Any] | None = None
    backward: Callable[..., Any] | None = None

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, "custom_vjp")

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Give the rule.

        `forward` takes the arguments and returns the result and what is to be kept; `backward` takes that and the
        cotangent of the result, and returns a tuple: for each argument its cotangent, or None for zero.
        """
        self.forward, self.backward = forward, backward
        self._forget()

    def _require_rule(self) -> None:
        if self.forward is None:
            name = name_of(self.function)
            raise self._refused("it has no rule yet", f"give it one: {name}.defvjp(forward, backward)")

    def _ruled(self, arguments: Arguments, structure: Any, is_value: list[bool]) -> Any:
        forward, backward = self.forward, self.backward
        assert forward is not None and backward is not None

        def ahead(*values: Any) -> Any:
            given = run_on_values(forward, *arguments(values))
            if not isinstance(given, tuple) or len(given) != 2:
                raise self._refused("forward has to return the result, and what backward takes", None, forward)
            result, kept = given
            return result, (jax.tree.map(as_value, kept), values)

        def back(residuals: Any, cotangent: Any) -> Any:
            kept, values = residuals
            found = run_on_values(backward, kept, cotangent)
            expected = arguments(values)
            if not isinstance(found, tuple) or len(found) != len(expected):
                told = f"backward has to return a tuple of {len(expected)}: a cotangent or None for each argument"
                raise self._refused(told, None, backward)
            leaves: list[Any] = []
            for place, (each, argument) in enumerate(zip(found, expected, strict=True)):
                leaves += self._fitted(each, argument, f"the cotangent of argument {place}", backward)
            return tuple(leaf for leaf, flag in zip(leaves, is_value, strict=True) if flag)

        back.__name__ = back.__qualname__ = name_of(self.function)
        ruled = jax.custom_vjp(self._primal(arguments))
        ruled.defvjp(ahead, back)
        return ruled

    def _fitted(self, cotangent: Any, argument: Any, what: str, rule: Any) -> list[Any]:
        """A cotangent for each leaf of an argument; None for zero."""
        leaves, structure = jax.tree.flatten(argument)
        if cotangent is None:
            return [None] * len(leaves)
        given, given_structure = jax.tree.flatten(cotangent, is_leaf=lambda each: each is None)
        if given_structure != structure:
            raise self._refused(f"{what} has another structure than the argument: {given_structure}", None, rule)
        return [
            self._like(leaf, each, what, rule) if _is_float(leaf) else None
            for leaf, each in zip(leaves, given, strict=True)
        ]


class FunctionWithPushforward(RuledFunction):
    """A function with a rule for forward mode, from which the one for reverse mode follows."""

    rule: Callable[..., Any] | None = None

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, "custom_jvp")

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Give the rule: it takes the tuple of the arguments and that of their tangents (None for what is no float).

        It returns the result and its tangent.
        """
        self.rule = rule
        self._forget()
        return rule

    def _require_rule(self) -> None:
        if self.rule is None:
            name = name_of(self.function)
            raise self._refused("it has no rule yet", f"give it one: @{name}.defjvp above a function")

    def _ruled(self, arguments: Arguments, structure: Any, is_value: list[bool]) -> Any:
        rule = self.rule
        assert rule is not None

        def push(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            moved = iter(tangents)
            leaves = [next(moved) if flag else None for flag in is_value]
            given = jax.tree.unflatten(structure, [None if _is_none(leaf) else leaf for leaf in leaves])
            found = run_on_values(rule, arguments(primals), given)
            if not isinstance(found, tuple) or len(found) != 2:
                raise self._refused("its rule has to return the result and its tangent", None, rule)
            result, tangent = (jax.tree.map(jnp.asarray, each) for each in found)
            values, values_structure = jax.tree.flatten(result)
            changes, changes_structure = jax.tree.flatten(tangent)
            if values_structure != changes_structure:
                raise self._refused("the tangent has another structure than the result", None, rule)
            pairs = zip(values, changes, strict=True)
            fitted = [
                self._like(value, change, "the tangent of the result", rule)
                if _is_float(value)
                else np.zeros(jnp.shape(value), jax.dtypes.float0)
                for value, change in pairs
            ]
            return result, jax.tree.unflatten(values_structure, fitted)

        ruled = jax.custom_jvp(self._primal(arguments))
        ruled.defjvp(push)
        return ruled


def _is_none(leaf: Any) -> bool:
    return leaf is None or jnp.result_type(leaf) == jax.dtypes.float0


def _is_float(value: Any) -> bool:
    return jnp.issubdtype(jnp.result_type(value), np.inexact)


def _as_numpy(leaf: Any) -> Any:
    return np.array(leaf)[()] if isinstance(leaf, jax.Array) else leaf


def custom_vjp(function: Callable[..., Any]) -> FunctionWithPullback:
    """A function of arrays whose derivative in reverse mode is a rule of the user's own.

    As `jax.custom_vjp`, for functions that use NumPy, write into arrays and launch kernels. `f.defvjp(forward,
    backward)` gives the rule. It holds wherever `f` is differentiated: by `wl.grad` and its kin, within functions by
    `wl.jit`, and by JAX. The function is one of values: what it writes into its arguments is not seen outside. Whether
    a rule is right `wl.audit(f, *args)` says, which holds it to differences; shapes are looked at where it is used.

    Raises WindlassError (WL0933) where the rule does not fit the function.

    >>> import numpy as np
    >>> from windlass.functions.derivatives import grad
    >>> @custom_vjp
    ... def root(x):
    ...     for _ in range(50):
    ...         x = x - (x * x - 2) / (2 * x)
    ...     return x.sum()
    >>> root.defvjp(lambda x: (root(x), x), lambda x, cotangent: (np.zeros_like(x),))
    >>> grad(root)(np.array([1.0, 2.0])).tolist()
    [0.0, 0.0]
    """
    return FunctionWithPullback(function)


def custom_jvp(function: Callable[..., Any]) -> FunctionWithPushforward:
    """A function of arrays whose derivative in forward mode is a rule of the user's own; reverse mode follows from it.

    As `jax.custom_jvp`; see `custom_vjp`.

    >>> import numpy as np
    >>> from windlass.functions.derivatives import grad, jvp
    >>> @custom_jvp
    ... def clipped(x):
    ...     return np.minimum(x, 1.0)
    >>> @clipped.defjvp
    ... def clipped_moves(primals, tangents):
    ...     return clipped(*primals), tangents[0]
    >>> grad(lambda x: clipped(x).sum())(np.array([0.5, 2.0])).tolist()
    [1.0, 1.0]
    """
    return FunctionWithPushforward(function)
