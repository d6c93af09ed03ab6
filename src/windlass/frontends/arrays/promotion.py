"""Types as NumPy promotes them, for functions of jax.numpy, which promote otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.frontends.arrays.narrow_integers import DOUBLING, is_of_integers
from windlass.frontends.arrays.operands import unsupported, unwrapped
from windlass.frontends.arrays.tracing import current_tracing

WIDENING = frozenset({"sum", "prod", "cumsum", "cumprod", "nansum", "nanprod", "nancumsum", "nancumprod", "trace"})
"""These give 64-bit integers for narrower ones."""
AVERAGING = frozenset({"mean", "std", "var", "average", "median", "nanmean", "nanstd", "nanvar", "nanmedian",
                       "quantile", "percentile", "nanquantile", "nanpercentile"})  # fmt: skip
"""These give doubles for integers."""
JOINING = frozenset({"where", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "append", "select",
                     "dot", "vdot", "inner", "outer", "tensordot", "einsum", "kron", "cross", "interp",
                     "clip", "block", "insert", "multi_dot", "matmul"})  # fmt: skip
"""These promote all their arrays to one dtype."""


INDICES = frozenset({"searchsorted", "digitize", "count_nonzero", "bincount", "argpartition", "lexsort"})
"""These give indices or counts, of 64 bits."""


def typed_call(name: str, target: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """`target` on arguments promoted so that the result has the dtype which NumPy gives."""
    arguments, options = list(arguments), dict(options)
    if name in WIDENING and options.get("dtype") is None and arguments:
        kind = np.dtype(jnp.result_type(arguments[0]))
        if kind.kind in "bi" and kind.itemsize < 8:
            arguments[0] = jnp.asarray(arguments[0]).astype(np.int64)
        elif kind.kind == "u" and kind.itemsize < 8:
            arguments[0] = jnp.asarray(arguments[0]).astype(np.uint64)
    elif name in AVERAGING and arguments:
        kind = np.dtype(jnp.result_type(arguments[0]))
        if kind.kind == "b" and name in ("nanquantile", "nanpercentile"):
            raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
        if kind.kind in "biu":
            arguments[0] = jnp.asarray(arguments[0]).astype(np.float64)
        elif name.endswith(("quantile", "percentile")) and len(arguments) > 1:
            common = np.result_type(kind, dtype_or_number(arguments[1]))
            arguments[0] = as_dtype(arguments[0], common) if kind.kind == "f" else arguments[0]
    elif name in JOINING:
        arguments = _promoted(name, arguments)
    elif name == "vector_norm" and jnp.result_type(arguments[0]).kind in "biu":
        arguments[0] = jnp.asarray(arguments[0]).astype(np.float64)
    elif name in ("cov", "corrcoef"):
        arguments[:2] = [each if each is None else as_dtype(each, _with_double(each)) for each in arguments[:2]]
    elif name == "gradient" and jnp.result_type(arguments[0]).kind in "biu":
        if jnp.result_type(arguments[0]).kind == "b":
            raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
        arguments[0] = as_dtype(arguments[0], np.float64)
    elif name in DOUBLING and arguments:
        if name == "unwrap" and jnp.result_type(arguments[0]).kind in "bu":
            raise unsupported("numpy.unwrap of integers without signs")
        places = (0, 1) if name == "histogram2d" else (0,)
        for place in places:
            if place < len(arguments) and is_of_integers(arguments[place]):
                arguments[place] = as_dtype(arguments[place], np.float64)
    elif name == "polyval" and len(arguments) > 1 and isinstance(arguments[1], float | complex | int):
        arguments[1] = np.asarray(arguments[1])
    elif name == "vander":
        arguments[0] = as_dtype(arguments[0], np.promote_types(jnp.result_type(arguments[0]), np.int64))
    if name == "select":
        choices = promoted_alike([*arguments[1], arguments[2] if len(arguments) > 2 else options.pop("default", 0)])
        arguments = [arguments[0], choices[:-1], choices[-1]]
    found = target(*arguments, **options)
    if name == "histogram" and not options.get("density") and options.get("weights") is None:
        bins = arguments[1] if len(arguments) > 1 else options.get("bins", 10)
        return as_dtype(found[0], np.int64), found[1] if np.ndim(bins) == 0 else jnp.asarray(bins)
    return as_dtype(found, np.int64) if name in INDICES and not jnp.issubdtype(found.dtype, jnp.inexact) else found


def _with_double(value: Any) -> np.dtype:
    return np.result_type(np.dtype(jnp.result_type(value)), np.float64)


def _promoted(name: str, arguments: list[Any]) -> list[Any]:
    """All arrays in one dtype, NumPy's; Python numbers stay weak, as they are for NumPy."""
    is_sequence_first = name in (
        "concatenate",
        "stack",
        "hstack",
        "vstack",
        "dstack",
        "column_stack",
        "multi_dot",
        "block",
    )
    positions = range(1, len(arguments)) if name == "where" else range(len(arguments))
    candidates: list[Any] = []
    for position in positions:
        argument = arguments[position]
        candidates += list(argument) if is_sequence_first and isinstance(argument, list | tuple) else [argument]
    arrays = [
        each for each in candidates if isinstance(each, jax.Array | np.ndarray | np.generic | int | float | complex)
    ]
    if not any(isinstance(each, jax.Array | np.ndarray | np.generic) for each in arrays):
        return arguments
    if name in ("dot", "inner", "outer", "vdot", "matmul", "kron"):
        arrays = arrays[:2]
    if name in ("concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "block"):
        arrays = [
            each for each in arrays if not isinstance(each, int | float | complex) or isinstance(each, np.generic)
        ]
    common = np.result_type(*(dtype_or_number(each) for each in arrays))

    def promote(value: Any) -> Any:
        return as_dtype(value, common) if isinstance(value, jax.Array | np.ndarray | np.generic) else value

    return [
        type(argument)(promote(each) for each in argument)
        if is_sequence_first and isinstance(argument, list | tuple)
        else promote(argument)
        if position in positions and (not is_sequence_first or position == 0)
        else argument
        for position, argument in enumerate(arguments)
    ]


def promoted_alike(values: Sequence[Any]) -> list[Any]:
    """The values in one dtype, NumPy's."""
    common = np.result_type(*(dtype_or_number(each) for each in values))
    return [as_dtype(each, common) for each in values]


def dtype_or_kind(value: Any, is_strong: bool | None = None) -> Any:
    """The dtype of an array; for a Python number its type, which NumPy promotes weakly, unless numbers are Numba's."""
    tracing = current_tracing()
    if is_strong is None and tracing is not None and tracing.has_strong_numbers:
        return strong_dtype(dtype_or_kind(value, False))
    if isinstance(value, bool):
        return np.dtype(np.bool_)
    if isinstance(value, int | float | complex) and not isinstance(value, np.generic):
        return type(value)
    if isinstance(value, jax.Array) and value.weak_type:
        return {"i": int, "f": float, "c": complex}.get(np.dtype(value.dtype).kind, np.dtype(value.dtype))
    return np.dtype(jnp.result_type(value))


def strong_dtype(kind: Any) -> np.dtype[Any]:
    """The dtype that a Python number's type stands for; a dtype as it is."""
    return np.dtype({int: np.int64, float: np.float64, complex: np.complex128}.get(kind, kind))


def dtype_or_number(value: Any) -> Any:
    kind = dtype_or_kind(unwrapped(value)) if not isinstance(value, np.dtype | type | str) else value
    return {int: 0, float: 0.0, complex: 0j}.get(kind, kind) if isinstance(kind, type) else kind


def as_dtype(value: Any, dtype: Any) -> Any:
    """The value in the dtype.

    Raises OverflowError for an integer of Python's that the dtype has not.
    """
    target = np.dtype(dtype)
    # NumPy raises, not we: where both operands are Python's numbers, Python itself would not (handlers.is_pythons).
    array = jnp.asarray(np.array(value, target) if type(value) is int and target.kind in "iu" else value)
    if array.dtype == target and not getattr(array, "weak_type", False):
        return array
    return jax.lax.convert_element_type(array, target)
