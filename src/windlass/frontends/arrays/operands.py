"""What NumPy's functions are given, unwrapped, and what they give, wrapped or written to `out=`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.array import Array, strongly_typed, wrapped


def unwrapped(value: Any) -> Any:
    """The value of an array; anything else as it is."""
    return value.value if isinstance(value, Array) else value


def unwrapped_all(value: Any) -> Any:
    """The same for all that lists and tuples hold."""
    if isinstance(value, list | tuple):
        items = [unwrapped_all(each) for each in cast("Sequence[Any]", value)]
        return items if isinstance(value, list) else tuple(items)
    return unwrapped(value)


def is_known(value: Any) -> bool:
    """Whether nothing traced is in it, so that NumPy itself can tell."""
    leaves = jax.tree.leaves(value, is_leaf=lambda each: isinstance(each, Array))
    return not any(isinstance(each.value if isinstance(each, Array) else each, jax.Array) for each in leaves)


def deliver(result: Any, out: Any, where: Any, casting: str, is_array: bool = False, is_broadcast: bool = False) -> Any:
    """The result as the user's function gets it, or `out` with it written in, which may be of a larger shape where the
    result `is_broadcast` to it.

    Raises WindlassError (WL0907) where `out` is from outside, TypeError where its dtype has no place for the result,
    ValueError where its shape has none.
    """
    if isinstance(result, tuple | list):
        items = cast("Sequence[Any]", result)
        if isinstance(out, tuple):
            pairs = zip(items, out, strict=True)
            return tuple(deliver(each, to, where, casting, is_broadcast=is_broadcast) for each, to in pairs)
        parts = [deliver(each, None, True, casting) for each in items]
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return type(result)(*parts)
        return type(result)(parts)
    if out is None:
        if where is not True:
            raise unsupported("where= without out=")
        return wrapped(strongly_typed(result), is_array)
    if not isinstance(out, Array):
        raise WindlassError(
            Diagnostic(
                "WL0907",
                "out= is an array from outside the compiled function: writing to it would have no effect",
                help="pass the array to the compiled function as an argument",
            )
        )
    result = jnp.asarray(result)
    if not np.can_cast(np.dtype(result.dtype), out.dtype, casting):  # pyright: ignore[reportArgumentType]
        raise TypeError(
            f"Cannot cast ufunc output from dtype('{result.dtype}') to dtype('{out.dtype}') "
            f"with casting rule '{casting}'"
        )
    if not is_broadcast and result.shape != out.shape:
        raise ValueError(f"output array has shape {out.shape}, and the result {result.shape}")
    if where is not True:
        result = jnp.where(unwrapped(where), result.astype(out.dtype), out.value)
    if jnp.broadcast_shapes(result.shape, out.shape) != out.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape {result.shape}"
        )
    out.assign(result)
    return out


def unsupported(what: str) -> WindlassError:
    """The error for what NumPy has and we have not."""
    return WindlassError(
        Diagnostic("WL0909", f"{what} is not supported inside wl.jit", help="use a function of jax.numpy on the array")
    )


def written_outside() -> WindlassError:
    """The error for a function that writes to an array from outside."""
    return WindlassError(
        Diagnostic(
            "WL0907",
            "an array from outside the compiled function is written: it would have no effect",
            help="pass the array to the compiled function as an argument",
        )
    )


def shape_from_data(name: str) -> WindlassError:
    """The error for a function whose result has a shape that depends on elements."""
    return WindlassError(
        Diagnostic(
            "WL0904",
            f"how much numpy.{name} gives is not known while the function is compiled: it depends on the elements",
            notes=("arrays inside wl.jit have shapes that are numbers",),
            help="call it outside and pass what it gives, or use masks, numpy.where(condition, a, b) and sorted arrays",
        )
    )
