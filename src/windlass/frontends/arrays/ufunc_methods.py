"""The methods of NumPy's ufuncs where jax.numpy has no function for them: any ufunc, step by step in NumPy's order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from windlass.frontends.arrays.array import Array
from windlass.frontends.arrays.indexing import as_wide, checked_index
from windlass.frontends.arrays.operands import unwrapped, unwrapped_all, written_outside
from windlass.frontends.arrays.promotion import as_dtype, dtype_or_kind

Apply = Callable[..., Any]
"""A ufunc on JAX values, in the types that NumPy resolves."""
SCATTERS = {"add": "add", "subtract": "add", "multiply": "multiply", "maximum": "max", "minimum": "min"}


def folded_types(ufunc: np.ufunc, value: Any, dtype: Any) -> tuple[Any, Any]:
    """The types that a fold of the ufunc takes elements in, and gives.

    Raises TypeError where NumPy has none.
    """
    resolve = cast("Any", ufunc.resolve_dtypes)
    wanted = {} if dtype is None else {"signature": (None, None, np.dtype(dtype))}
    kind = np.dtype(value.dtype)
    _, element, result = resolve((None if dtype is None else np.dtype(dtype), kind, None), reduction=True, **wanted)
    return element, result


def reduce(ufunc: np.ufunc, apply: Apply, value: Any, options: dict[str, Any]) -> Any:
    """`ufunc.reduce`: from the first element on, or from the initial value.

    Raises ValueError for several axes of an operation that depends on the order, and where there is nothing to fold.
    """
    axis, keepdims = options.get("axis", 0), options.get("keepdims", False)
    initial, where = options.get("initial"), unwrapped(options.get("where", True))
    axes = tuple(range(value.ndim)) if axis is None else tuple(
        range(value.ndim)[each] for each in (axis if isinstance(axis, tuple) else (axis,))
    )  # fmt: skip
    if len(axes) > 1 and ufunc.identity is None and ufunc.__name__ not in ("fmax", "fmin", "maximum", "minimum"):
        name = ufunc.__name__
        raise ValueError(f"reduction operation '{name}' is not reorderable, so at most one axis may be specified")
    element, result = folded_types(ufunc, value, options.get("dtype"))
    kept = tuple(1 if each in axes else extent for each, extent in enumerate(value.shape))
    others = tuple(each for each in range(value.ndim) if each not in axes)
    shape = tuple(value.shape[each] for each in others)

    def lined_up(each: Any) -> Any:
        return jnp.reshape(jnp.transpose(each, (*axes, *others)), (-1, *shape))

    line = lined_up(as_dtype(value, element))
    start = ufunc.identity if initial is None and (not line.shape[0] or where is not True) else initial
    if start is None and (not line.shape[0] or where is not True):
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    if start is None:
        start, line, taken = as_dtype(line[0], result), line[1:], None
    else:
        start, taken = jnp.broadcast_to(as_dtype(unwrapped(start), result), shape), None
    if where is not True:
        taken = lined_up(jnp.broadcast_to(jnp.asarray(where), value.shape))

    def step(found: Any, given: Any) -> tuple[Any, None]:
        item, is_taken = given
        after = as_dtype(apply(found, item), result)
        return (after if taken is None else jnp.where(is_taken, after, found)), None

    found, _ = jax.lax.scan(step, start, (line, taken))
    return jnp.reshape(found, kept) if keepdims else found


def accumulate(ufunc: np.ufunc, apply: Apply, value: Any, options: dict[str, Any]) -> Any:
    """`ufunc.accumulate`: all that `reduce` has on its way."""
    axis = range(value.ndim)[options.get("axis", 0)]
    element, result = folded_types(ufunc, value, options.get("dtype"))
    line = jnp.moveaxis(as_dtype(value, element), axis, 0)
    if not line.shape[0]:
        return as_dtype(value, result)
    start = as_dtype(line[0], result)

    def step(found: Any, item: Any) -> tuple[Any, Any]:
        after = as_dtype(apply(found, item), result)
        return after, after

    _, later = jax.lax.scan(step, start, line[1:])
    return jnp.moveaxis(jnp.concatenate([start[None], later]), 0, axis)


def reduce_at(ufunc: np.ufunc, apply: Apply, value: Any, indices: Any, options: dict[str, Any]) -> Any:
    """`ufunc.reduceat`: one fold from each index to the next; one element where the next is not after it."""
    axis = range(value.ndim)[options.get("axis", 0)]
    element, result = folded_types(ufunc, value, options.get("dtype"))
    line = jnp.moveaxis(as_dtype(value, element), axis, 0)
    extent = line.shape[0]
    places = indices if isinstance(indices, jax.Array) else np.asarray(indices)
    (first,) = checked_index(as_wide(places), (extent,))
    first = jnp.asarray(first)
    after = jnp.maximum(jnp.append(first[1:], extent), first + 1)
    shape = (-1,) + (1,) * (line.ndim - 1)

    def step(distance: Any, found: Any) -> Any:
        item = line[jnp.minimum(first + distance, extent - 1)]
        folded = as_dtype(apply(found, item), result)
        return jnp.where(jnp.reshape(first + distance < after, shape), folded, found)

    longest = jnp.max(after - first) if first.size else 0
    return jnp.moveaxis(jax.lax.fori_loop(1, longest, step, as_dtype(line[first], result)), 0, axis)


def update_at(ufunc: np.ufunc, apply: Apply, array: Any, indices: Any, *rest: Any) -> None:
    """`ufunc.at(a, indices, b)`: unbuffered, so that repeated indices meet what was there before.

    What the ufunc gives is cast to the array's dtype, whatever it is, as NumPy does.
    """
    if not isinstance(array, Array):
        raise written_outside()
    values = [jnp.asarray(unwrapped_all(each)) if isinstance(each, list | tuple) else unwrapped(each) for each in rest]
    resolve = cast("Any", ufunc.resolve_dtypes)
    types = resolve((array.dtype, *map(dtype_or_kind, values), *(None,) * ufunc.nout))
    places = checked_index(indices, array.shape)
    whole = jnp.asarray(array.value)
    is_modular = array.dtype.kind in "iu" and ufunc.__name__ in ("add", "subtract", "multiply")
    if ufunc.__name__ in SCATTERS and array.dtype.kind != "b" and (is_modular or types[-1] == array.dtype):
        value = as_dtype(values[0], array.dtype)
        place = whole.at[places]
        array.assign(getattr(place, SCATTERS[ufunc.__name__])(-value if ufunc.__name__ == "subtract" else value))
        return
    numbers = jnp.asarray(jnp.arange(array.size).reshape(array.shape)[places])
    cast_values = map(as_dtype, values, types[1:-1])
    operands = [jnp.ravel(jnp.broadcast_to(each, numbers.shape)) for each in cast_values]
    numbers = jnp.ravel(numbers)

    def step(count: Any, elements: Any) -> Any:
        place = numbers[count]
        after = apply(as_dtype(elements[place], types[0]), *(each[count] for each in operands))
        return elements.at[place].set(as_dtype(after, array.dtype))

    found = jax.lax.fori_loop(0, numbers.size, step, jnp.ravel(whole))
    array.assign(jnp.reshape(found, array.shape))


def pairs(values: Sequence[Any]) -> list[Any]:
    """The operands of `ufunc.outer`: each element of the first is to meet each of the second."""
    first, second = values
    return [jnp.reshape(jnp.asarray(first), (*np.shape(first), *(1,) * np.ndim(second))), second]
