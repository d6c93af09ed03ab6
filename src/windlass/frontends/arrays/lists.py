"""Lists where NumPy takes lists for arrays: they become arrays before a function sees them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from windlass.frontends.arrays.array import Array
from windlass.frontends.arrays.indexing import as_one_array

NO_ARRAYS = frozenset({
    "axis", "axes", "shape", "new_shape", "reps", "kth", "source", "destination", "indices_or_sections", "pad_width",
    "mode", "dims", "optimize", "range", "ord", "order", "dtype", "shift", "casting", "subscripts", "funclist", "func",
    "constant_values", "end_values", "out", "window_shape",
})  # fmt: skip
"""Parameters whose lists are no arrays."""
OF_ARRAYS = frozenset({"arrays", "tup", "keys", "choices", "condlist", "choicelist"})
"""Parameters whose lists hold arrays."""


def with_arrays_for_lists(
    function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a function of NumPy with an array for each list or tuple that stands for one."""
    if not any(isinstance(each, list | tuple) for each in (*arguments, *options.values())):
        return tuple(arguments), dict(options)
    if function is np.einsum and not isinstance(arguments[0], str):
        return tuple(arguments), dict(options)  # lists of axes
    names = _parameters(function)
    given = [
        _as_array(each, names[min(position, len(names) - 1)] if names else "")
        for position, each in enumerate(arguments)
    ]
    return tuple(given), {name: _as_array(each, name) for name, each in options.items()}


def _as_array(value: Any, name: str) -> Any:
    if not isinstance(value, list | tuple) or name in NO_ARRAYS or (name == "arrays" and _is_nested(value)):
        return value
    items = cast("Sequence[Any]", value)
    if name in OF_ARRAYS:
        return type(value)(
            _array_of(each) if isinstance(each, list | tuple | int | float | complex) else each for each in items
        )
    return _array_of(value)


def _array_of(value: Any) -> Any:
    found = as_one_array(value) if isinstance(value, list | tuple) else np.asarray(value)
    return found if isinstance(found, Array | np.ndarray) else Array(found)


def _is_nested(value: Any) -> bool:
    """Whether it is what `numpy.block` takes: lists of lists of arrays."""
    return any(
        isinstance(inner, Array) for each in value if isinstance(each, list | tuple) for inner in cast("Any", each)
    )


@functools.cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters that arguments without names go to; the last is for all that follow, too."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return ()
    rest = [each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters]
    return tuple(each.name for each in parameters)[: rest.index(True) + 1 if True in rest else None]


def first_parameter(function: Callable[..., Any]) -> str:
    """The name of a function's first parameter; empty where it can't be told."""
    return next(iter(_parameters(function)), "")


def holds_arrays(value: Any) -> bool:
    """Whether it is a list or tuple that holds an `Array`, in lists within, too."""
    return isinstance(value, list | tuple) and any(
        isinstance(each, Array) or holds_arrays(each) for each in cast("Sequence[Any]", value)
    )
