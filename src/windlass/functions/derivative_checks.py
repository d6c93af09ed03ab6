"""What derivatives are asked for and given: whether it fits, and what is said where it does not (WL0931)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays import Array as TracedArray
from windlass.frontends.arrays.explaining import position_of
from windlass.frontends.arrays.running import is_array
from windlass.functions.pure_call import Key, PureCall
from windlass.launching.loaded_kernel import LoadedKernel


def is_number(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def chosen_keys(argnums: Any, argnames: Any, kind: str) -> tuple[Key, ...]:
    """What argnums and argnames say. Raises WindlassError (WL0931) where that is nothing, or no number and no name."""
    numbers: Any = () if argnums is None else (argnums,) if is_number(argnums) else argnums
    names: Any = () if argnames is None else (argnames,) if isinstance(argnames, str) else argnames
    try:
        numbers, names = tuple(numbers), tuple(names)
    except TypeError:
        numbers, names = (argnums,), ()
    if not (numbers or names) or not all(map(is_number, numbers)) or not all(isinstance(each, str) for each in names):
        told = f"wl.{kind}: argnums={argnums!r}" + ("" if argnames is None else f", argnames={argnames!r}")
        raise WindlassError(
            Diagnostic(
                "WL0931", f"{told} chooses no arguments", help="pass a place or several in argnums, names in argnames"
            )
        )
    return (*map(int, numbers), *names)


def expect_tangents(function: Any, primals: Sequence[Any], tangents: Sequence[Any], kind: str) -> None:
    """Raises WindlassError (WL0931) where there is not a tangent for each primal, or none at all."""
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple | list):  # pyright: ignore[reportUnnecessaryIsInstance] (users pass arrays)
            raise WindlassError(
                Diagnostic(
                    "WL0931",
                    f"wl.{kind}: the {name} are {type(given).__name__}, no tuple of one for each argument",
                    position_of(function),
                    help=f"wl.{kind}(f, (x,), (dx,))",
                )
            )
    if len(primals) != len(tangents):
        raise WindlassError(
            Diagnostic(
                "WL0931", f"wl.{kind}: {len(primals)} primals and {len(tangents)} tangents", position_of(function)
            )
        )
    if all(tangent is None for tangent in tangents):
        raise WindlassError(
            Diagnostic(
                "WL0931", f"wl.{kind}: no argument has a tangent", position_of(function), help="pass one at least"
            )
        )


@contextmanager
def refusing_calls(call: PureCall) -> Generator[None]:
    """Raises WindlassError (WL0901) where JAX says that a call of Python has no derivative."""
    try:
        yield
    except ValueError as error:
        if "callbacks do not support" not in str(error):
            raise
        raise WindlassError(
            Diagnostic(
                "WL0901",
                f"{call.name} can't be differentiated: it calls a function of Python, which has no derivative",
                call.position,
                notes=(str(error).splitlines()[0],),
                help="give what calls it a rule by wl.custom_vjp or wl.custom_jvp, or stop_gradient its arguments",
            )
        ) from None


def without_aux(call: PureCall, result: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return result, ()
    if not isinstance(result, tuple) or len(result) != 2:
        raise refused(
            f"{call.name} gives {described(result)}, not a result and something else", call, "leave out has_aux"
        )
    return result


def fitted(call: PureCall, key: Key | None, values: Any, given: Any, what: str) -> Any:
    """Tangents or cotangents for these values: of their structure, shapes and dtypes; for what is no float, none.

    Raises WindlassError (WL0931) where they don't fit.
    """
    subject = f"{call.name}: the {what}" + ("" if key is None else f" of argument {key}")
    given = jax.tree.map(lambda each: each.value if isinstance(each, TracedArray) else each, given, is_leaf=is_array)
    leaves, structure = jax.tree.flatten(values)
    own, given_structure = jax.tree.flatten(given, is_leaf=lambda each: each is None)
    if len(own) != len(leaves) or (len(leaves) > 1 and structure != given_structure):
        raise refused(f"{subject} has the structure {given_structure}, the value {structure}", call, None)
    found: list[Any] = []
    for value, each in zip(leaves, own, strict=True):
        dtype = jnp.result_type(value)
        if not jnp.issubdtype(dtype, np.inexact):
            found.append(np.zeros(np.shape(value), jax.dtypes.float0))
        elif each is None:
            found.append(jnp.zeros_like(value))
        elif not _is_like(each, dtype):
            what = getattr(getattr(each, "dtype", None), "name", type(each).__name__)
            raise refused(f"{subject} is of {what}, the value of {dtype.name}", call, None)
        elif np.shape(each) != np.shape(value):
            raise refused(f"{subject} has shape {np.shape(each)}, the value {np.shape(value)}", call, None)
        else:
            found.append(jnp.asarray(each, dtype))
    return jax.tree.unflatten(structure, found)


def _is_like(given: Any, dtype: Any) -> bool:
    """Whether what is given are numbers that the type can hold: complex numbers are no real ones."""
    try:
        own = jnp.result_type(given)
    except TypeError:
        return False
    return jnp.issubdtype(own, np.number) and (
        jnp.issubdtype(dtype, np.complexfloating) or not jnp.issubdtype(own, np.complexfloating)
    )


def find_key(call: PureCall, key: Key, kind: str) -> Key:
    found = call.find(key)
    if found is None:
        what = f"called {key!r}" if isinstance(key, str) else f"number {key}"
        raise refused(f"wl.{kind}: {call.name} was given no argument {what}", call, "check argnums= and argnames=")
    return found


def is_of_floats(call: PureCall, key: Key) -> bool:
    dtypes = [jnp.result_type(call.values[place]) for place in call.places[key]]
    flags = [jnp.issubdtype(dtype, np.inexact) for dtype in dtypes]
    if any(flags) and not all(flags):
        listed = ", ".join(dict.fromkeys(dtype.name for dtype in dtypes))
        raise refused(
            f"{call.name}: argument {key} holds {listed}", call, "pass floats and others as arguments of their own"
        )
    return bool(flags) and all(flags)


def require_floats(call: PureCall, key: Key, kind: str) -> None:
    """Raises WindlassError (WL0931) for an argument that has no derivative of this kind."""
    if not is_of_floats(call, key):
        dtypes = [jnp.result_type(call.values[place]).name for place in call.places[key]]
        what = ", ".join(dict.fromkeys(dtypes)) or "a Python value that is no float"
        raise refused(
            f"wl.{kind}: {call.name} can't be differentiated by argument {key}: it is {what}",
            call,
            "choose arguments of floats with argnums=, or pass a float",
        )
    if kind != "jvp" and any(
        jnp.issubdtype(jnp.result_type(call.values[place]), np.complexfloating) for place in call.places[key]
    ):
        raise refused(
            f"wl.{kind}: argument {key} of {call.name} is complex, and a gradient by it is one of several",
            call,
            "pass real and imaginary parts as two arguments; wl.jvp and wl.vjp take complex arrays",
        )


def refuse_nothing(call: PureCall, result: Any, kind: str) -> None:
    leaves = jax.tree.leaves(result)
    if leaves and not any(jnp.issubdtype(jnp.result_type(leaf), np.inexact) for leaf in leaves):
        raise refused(
            f"wl.{kind}: {call.name} gives {described(result)}, which has no derivative",
            call,
            "return floats: what becomes an integer or a boolean has no derivative",
        )
    if not jax.tree.leaves(result):
        raise refused(
            f"{call.name} returns nothing and writes no array: wl.{kind} has nothing to differentiate",
            call,
            "return what is wanted",
        )


def refuse_holomorphic(function: Any, holomorphic: bool, kind: str) -> None:
    if holomorphic:
        raise WindlassError(
            Diagnostic(
                "WL0931",
                f"wl.{kind}: derivatives of holomorphic functions are not there",
                position_of(function),
                help="jax.grad(f, holomorphic=True) has them; real and imaginary parts may be two arguments here",
            )
        )


def expect_function(function: Any, kind: str) -> None:
    if isinstance(function, LoadedKernel):
        raise WindlassError(
            Diagnostic(
                "WL0931",
                f"wl.{kind}: kernel '{function.name}' is no function before it has a grid and a block",
                function.signature.position,
                help=f"pass {function.name}.jax(grid, block), which gives the arrays that it writes",
            )
        )
    if not callable(function):
        raise WindlassError(
            Diagnostic(
                "WL0931", f"wl.{kind}: {type(function).__name__} is no function", help="pass the function itself"
            )
        )


def described(result: Any) -> str:
    leaves = jax.tree.leaves(result)
    if len(leaves) != 1:
        return f"{len(leaves)} results" if leaves else "nothing"
    return f"{jnp.result_type(leaves[0]).name} of shape {jnp.shape(leaves[0])}"


def refused(headline: str, call: PureCall, help_: str | None) -> WindlassError:
    return WindlassError(Diagnostic("WL0931", headline, call.position, help=help_))
