"""NumPy's ufuncs on `Array`s, and their methods: `reduce`, `accumulate`, `outer`, `at`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from windlass.frontends.arrays.arithmetic import COMPARISONS, VALUES
from windlass.frontends.arrays.array import Array
from windlass.frontends.arrays.indexing import as_one_array
from windlass.frontends.arrays.memory_order import laid_as_in_numpy
from windlass.frontends.arrays.operands import deliver, is_known, unsupported, unwrapped, unwrapped_all
from windlass.frontends.arrays.promotion import as_dtype, dtype_or_kind, strong_dtype, typed_call
from windlass.frontends.arrays.strong_numbers import strong_inputs
from windlass.frontends.arrays.ufunc_methods import accumulate, pairs, reduce, reduce_at, update_at

REDUCERS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
            "logical_or": "any"}  # fmt: skip
ACCUMULATORS = {"add": "cumsum", "multiply": "cumprod"}
BY_NUMBERS = frozenset({"power", "float_power", "floor_divide", "remainder", "divmod", "fmod"})
"""Of which numbers that are known as the second operand make another program."""
MORE: dict[str, Callable[..., Any]] = {
    "conjugate": jnp.conj,
}


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What NumPy's `ufunc` (or a method of it) gives for these inputs, of which at least one is an `Array`."""
    found = _computed(ufunc, method, inputs, options)
    if found is NotImplemented or options.get("out") is not None or method == "at":
        return found
    return laid_as_in_numpy(found, getattr(ufunc, method), inputs, options)


def _computed(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    options = dict(options)
    out = options.pop("out", None)
    out = out[0] if isinstance(out, tuple) and len(cast("tuple[Any, ...]", out)) == 1 else out
    if not all(_is_operand(each) for each in inputs):
        return NotImplemented
    if method == "__call__":
        inputs = strong_inputs(ufunc.__name__, inputs)
    if method != "at" and all(is_known(each) for each in (*inputs, options.get("where"))):
        found = getattr(ufunc, method)(*(unwrapped_all(each) for each in inputs), **unwrapped_all(options))
        casting = options.get("casting", "same_kind") if method == "__call__" else "unsafe"
        return deliver(found, out, True, casting, is_broadcast=method == "__call__")
    values = [unwrapped(each) for each in inputs]
    where = options.pop("where", True)
    dtype = options.pop("dtype", None)
    if method == "__call__":
        casting = options.pop("casting", "same_kind")
        _expect_no_options(ufunc.__name__, options)
        result = _call(ufunc, values, dtype)
    elif method == "outer":
        casting = "same_kind"
        _expect_no_options(f"{ufunc.__name__}.outer", options)
        result = _call(ufunc, pairs(values), dtype)
    elif method == "at":
        return update_at(ufunc, _target(ufunc), *inputs)
    else:
        casting = "unsafe"
        if where is not True:
            options["where"] = unwrapped(where)
            where = True
        options = {key: value for key, value in options.items() if value is not np._NoValue}  # pyright: ignore[reportPrivateUsage]
        result = _folded(ufunc, method, values, {**options, **({"dtype": dtype} if dtype is not None else {})})
    return deliver(result, out, where, casting, is_broadcast=method == "__call__")


def _folded(ufunc: np.ufunc, method: str, values: Sequence[Any], options: dict[str, Any]) -> Any:
    """What `reduce`, `accumulate` and `reduceat` give."""
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
        raise ValueError(f"{method} only supported for binary functions")
    names = {"reduce": REDUCERS, "accumulate": ACCUMULATORS}.get(method, {})
    unknown = {"logical_and": {"dtype", "initial"}, "logical_or": {"dtype", "initial"}, "add": set(), "multiply": set()}
    if ufunc.__name__ in names and not unknown.get(ufunc.__name__, {"dtype"}) & options.keys():
        name = names[ufunc.__name__]
        return typed_call(name, getattr(jnp, name), values, {"axis": 0, **options})
    first, *rest = [unwrapped(as_one_array(each)) if isinstance(each, list | tuple) else each for each in values]
    first = jnp.asarray(first)
    apply = _target(ufunc)
    if method == "reduceat":
        return reduce_at(ufunc, apply, first, rest[0], options)
    if rest:
        options["axis"] = int(rest[0])
    return (reduce if method == "reduce" else accumulate)(ufunc, apply, first, options)


def _target(ufunc: np.ufunc) -> Callable[..., Any]:
    """The ufunc on JAX values of the types that NumPy's own loop would have.

    Raises WindlassError (WL0909) where JAX has none.
    """
    target = VALUES.get(ufunc.__name__) or getattr(jnp, ufunc.__name__, None) or MORE.get(ufunc.__name__)
    if target is None:
        raise unsupported(f"numpy.{ufunc.__name__}")
    return target


def _call(ufunc: np.ufunc, values: Sequence[Any], dtype: Any) -> Any:
    """A ufunc by jax.numpy, on inputs cast to the types that NumPy's own loop would have."""
    target = _target(ufunc)
    values = [as_one_array(value) if isinstance(value, list | tuple) else value for value in values]
    if ufunc.__name__ in COMPARISONS:
        values = _comparable(values)
    types = [dtype_or_kind(value) for value in values]
    if all(isinstance(kind, type) for kind in types):
        types = [strong_dtype(kind) for kind in types]
    try:
        wanted = (None,) * ufunc.nin + (None if dtype is None else np.dtype(dtype),) * ufunc.nout
        resolve = cast("Any", ufunc.resolve_dtypes)
        resolved = resolve((*types, *(None,) * ufunc.nout), **({} if dtype is None else {"signature": wanted}))
    except (TypeError, ValueError) as error:
        if any(isinstance(kind, np.dtype) and kind.kind == "V" for kind in types):
            return target(*values)  # ml_dtypes' floats, which NumPy's resolution does not know by itself
        raise TypeError(str(error)) from None
    cast_in = [as_dtype(value, kind) for value, kind in zip(values, resolved[: ufunc.nin], strict=True)]
    if ufunc.__name__ in BY_NUMBERS and isinstance(values[1], bool | int | float | complex | np.generic):
        cast_in[1] = np.asarray(values[1], resolved[1])
    result = target(*cast_in)
    if ufunc.nout > 1:
        return tuple(as_dtype(part, kind) for part, kind in zip(result, resolved[ufunc.nin :], strict=True))
    return as_dtype(result, resolved[ufunc.nin])


def _comparable(values: list[Any]) -> list[Any]:
    """Integers to compare: NumPy compares Python's with an array's exactly, also where the dtype has them not."""
    for value, other in ((0, 1), (1, 0)):
        number, kind = values[value], dtype_or_kind(values[other])
        if not isinstance(kind, np.dtype) or kind.kind not in "iu" or dtype_or_kind(number) is not int:
            continue
        if isinstance(number, jax.Array):
            values[value] = as_dtype(number, np.int64)
        elif not np.iinfo(kind).min <= number <= np.iinfo(kind).max:
            values[value] = np.int8(1 if number > 0 else -1)
            values[other] = jnp.zeros(jnp.shape(values[other]), jnp.int8)
    return values


def _is_operand(value: Any) -> bool:
    return isinstance(value, Array | jax.Array | np.ndarray | np.generic | int | float | complex | bool | list | tuple)


def _expect_no_options(name: str, options: Mapping[str, Any]) -> None:
    left = [key for key, value in options.items() if key not in ("order", "subok") and value is not None]
    if left:
        raise unsupported(f"numpy.{name} with {', '.join(left)}=")
