"""NumPy's functions on `Array`s: computed by jax.numpy, with NumPy's result types, `out=` and views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.array import ANSWERS, Array, wrapped
from windlass.frontends.arrays.indexing import checked_index

WIDENING = frozenset({"sum", "prod", "cumsum", "cumprod", "nansum", "nanprod", "nancumsum", "nancumprod", "trace"})
"""These give 64-bit integers for narrower ones."""
AVERAGING = frozenset({"mean", "std", "var", "average", "median", "nanmean", "nanstd", "nanvar", "nanmedian",
                       "quantile", "percentile", "nanquantile", "nanpercentile"})  # fmt: skip
"""These give doubles for integers."""
JOINING = frozenset({"where", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "append", "select",
                     "dot", "vdot", "inner", "outer", "tensordot", "einsum", "kron", "cross", "convolve", "correlate",
                     "interp", "clip", "block", "insert", "solve", "lstsq", "multi_dot", "matmul"})  # fmt: skip
"""These promote all their arrays to one dtype."""
VIEWS: dict[str, Callable[..., Any]] = {
    "transpose": lambda a, axes=None: a.transpose(axes),
    "reshape": lambda a, shape, order="C", copy=None: a.reshape(shape, order=order, copy=copy),
    "ravel": lambda a, order="C": a.ravel(order),
    "squeeze": lambda a, axis=None: a.squeeze(axis),
    "swapaxes": lambda a, axis1, axis2: a.swapaxes(axis1, axis2),
    "real": lambda val: val.real,
    "imag": lambda val: val.imag,
    "flip": lambda m, axis=None: _flip(m, axis),
    "expand_dims": lambda a, axis: _expand(a, axis),  # noqa: PLW0108 (defined below)
    "atleast_1d": lambda a: a if a.ndim else a.reshape(1),
    "atleast_2d": lambda a: a if a.ndim > 1 else a.reshape(1, -1),
    "flipud": lambda m: _flip(m, 0),
    "fliplr": lambda m: _flip(m, 1),
    "permute_dims": lambda a, axes=None: a.transpose(axes),
    "matrix_transpose": lambda x: x.swapaxes(-1, -2),
    "rollaxis": lambda a, axis, start=0: a.transpose(_rolled_axes(a.ndim, axis, start)),
    "array_split": lambda ary, sections, axis=0: _split(np.array_split, ary, sections, axis),
    "split": lambda ary, sections, axis=0: _split(np.split, ary, sections, axis),
    "hsplit": lambda ary, sections: _split(np.split, ary, sections, 0 if ary.ndim == 1 else 1),
    "vsplit": lambda ary, sections: _split(np.split, ary, sections, 0),
    "diagonal": lambda a, offset=0, axis1=0, axis2=1: a.diagonal(offset, axis1, axis2),
    "linalg.diagonal": lambda x, offset=0: x.diagonal(offset, -2, -1),
    "broadcast_to": lambda array, shape, subok=False: array.broadcast_to(shape),
    "rot90": lambda m, k=1, axes=(0, 1): _rotate(m, k, axes),
    "moveaxis": lambda a, source, destination: _move_axis(a, source, destination),  # noqa: PLW0108
}
"""Functions whose result shares the memory of their argument."""
REDUCERS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
            "logical_or": "any"}  # fmt: skip
ACCUMULATORS = {"add": "cumsum", "multiply": "cumprod"}


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What NumPy's `ufunc` (or a method of it) gives for these inputs, of which at least one is an `Array`."""
    options = dict(options)
    out = options.pop("out", None)
    out = out[0] if isinstance(out, tuple) and len(cast("tuple[Any, ...]", out)) == 1 else out
    if not all(_is_operand(each) for each in inputs):
        return NotImplemented
    if method != "at" and all(_is_known(each) for each in (*inputs, options.get("where"))):
        found = getattr(ufunc, method)(*(_unwrap_all(each) for each in inputs), **_unwrap_all(options))
        return _deliver(found, out, True, "unsafe")
    values = [_unwrap(each) for each in inputs]
    where = options.pop("where", True)
    dtype = options.pop("dtype", None)
    if method == "__call__":
        casting = options.pop("casting", "same_kind")
        _expect_no_options(ufunc.__name__, options)
        result = _call(ufunc, values, dtype)
    elif method == "reduce" and ufunc.__name__ in REDUCERS:
        casting = "unsafe"
        name = REDUCERS[ufunc.__name__]
        options.setdefault("axis", 0)
        if where is not True:
            options["where"] = _unwrap(where)
            where = True
        result = _typed_call(name, getattr(jnp, name), values, {**options, **({"dtype": dtype} if dtype else {})})
    elif method == "accumulate" and ufunc.__name__ in ACCUMULATORS:
        casting = "unsafe"
        name = ACCUMULATORS[ufunc.__name__]
        options.setdefault("axis", 0)
        result = _typed_call(name, getattr(jnp, name), values, options)
    elif method == "outer":
        casting = "same_kind"
        first, second = (jnp.asarray(value) for value in values)
        result = _call(ufunc, [jnp.reshape(first, (*first.shape, *(1,) * second.ndim)), second], dtype)
    elif method == "at":
        return _at(ufunc, inputs)
    else:
        raise _unsupported(f"numpy.{ufunc.__name__}.{method}")
    return _deliver(result, out, where, casting)


def apply_function(function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a function of NumPy gives where an `Array` is among its arguments."""
    name = function.__name__
    view = _view(function, arguments, options)
    if view is not NotImplemented:
        return view
    if name == "where" and len(arguments) == 1 and not _is_known(arguments[0]):
        raise _shape_from_data("where with one argument")
    if name == "copyto":
        return _copy_to(*arguments, **options)
    if name in ("shape", "ndim", "size"):
        return getattr(np, name)(np.broadcast_to(np.zeros(()), jnp.shape(_unwrap(arguments[0]))), *arguments[1:])
    if name in ("may_share_memory", "shares_memory"):
        return _share_memory(function, *arguments, **options)
    if name == "result_type":
        return np.result_type(*(_dtype_or_number(each) for each in arguments))
    options = dict(options)
    out = options.pop("out", None)
    if name in INDEXED:
        return _deliver(INDEXED[name](*arguments, **options), out, True, "same_kind")
    if all(_is_known(each) for each in (*arguments, *options.values())) and name not in CHANGING:
        plain = [_unwrap_all(each) for each in arguments]
        return _deliver(
            function(*plain, **{key: _unwrap_all(each) for key, each in options.items()}), out, True, "unsafe"
        )
    if name in CHANGING:
        return CHANGING[name](*arguments, **options)
    if name in WITHOUT_SHAPE and not (name == "bincount" and "length" in options):
        raise _shape_from_data(name)
    target = _find(function)
    plain = [_unwrap_all(each) for each in arguments]
    named = {key: _unwrap_all(value) for key, value in options.items() if value is not np._NoValue}  # pyright: ignore[reportPrivateUsage]
    if name.endswith("_like") and "dtype" not in named and len(plain) < 2 and name != "full_like":
        named["dtype"] = np.dtype(plain[0].dtype)
    result = _typed_call(name, target, plain, named)
    return _deliver(result, out, True, "same_kind", is_array=name in GIVES_ARRAYS or name.endswith("_like"))


# -- result types -----------------------------------------------------------------------------------------------------


def _call(ufunc: np.ufunc, values: Sequence[Any], dtype: Any) -> Any:
    """A ufunc by jax.numpy, on inputs cast to the types that NumPy's own loop would have."""
    target = getattr(jnp, ufunc.__name__, None) or _MORE_UFUNCS.get(ufunc.__name__)
    if target is None:
        raise _unsupported(f"numpy.{ufunc.__name__}")
    types = [_dtype_or_kind(value) for value in values]
    if dtype is None and all(isinstance(kind, type) for kind in types):
        return target(*values)  # Python's numbers, whose result is weak again
    try:
        wanted = (None,) * ufunc.nin + (None if dtype is None else np.dtype(dtype),) * ufunc.nout
        resolve = cast("Any", ufunc.resolve_dtypes)
        resolved = resolve((*types, *(None,) * ufunc.nout), **({} if dtype is None else {"signature": wanted}))
    except (TypeError, ValueError) as error:
        if any(isinstance(kind, np.dtype) and kind.kind == "V" for kind in types):
            return target(*values)  # ml_dtypes' floats, which NumPy's resolution does not know by itself
        raise TypeError(str(error)) from None
    cast_in = [_as(value, kind) for value, kind in zip(values, resolved[: ufunc.nin], strict=True)]
    result = target(*cast_in)
    if ufunc.nout > 1:
        return tuple(_as(part, kind) for part, kind in zip(result, resolved[ufunc.nin :], strict=True))
    return _as(result, resolved[ufunc.nin])


def _typed_call(name: str, target: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
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
        if kind.kind in "biu":
            arguments[0] = jnp.asarray(arguments[0]).astype(np.float64)
    elif name in JOINING:
        arguments = _promoted(name, arguments)
    elif target.__module__.endswith("linalg") and arguments and jnp.result_type(arguments[0]).kind in "biu":
        arguments[0] = jnp.asarray(arguments[0]).astype(np.float64)
    return target(*arguments, **options)


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
    common = np.result_type(*(_dtype_or_number(each) for each in arrays))

    def promote(value: Any) -> Any:
        return _as(value, common) if isinstance(value, jax.Array | np.ndarray | np.generic) else value

    return [
        type(argument)(promote(each) for each in argument)
        if is_sequence_first and isinstance(argument, list | tuple)
        else promote(argument)
        if position in positions and (not is_sequence_first or position == 0)
        else argument
        for position, argument in enumerate(arguments)
    ]


def _dtype_or_kind(value: Any) -> Any:
    """The dtype of an array; for a Python number its type, which NumPy promotes weakly."""
    if isinstance(value, bool):
        return np.dtype(np.bool_)
    if isinstance(value, int | float | complex) and not isinstance(value, np.generic):
        return type(value)
    if isinstance(value, jax.Array) and value.weak_type:
        return {"i": int, "f": float, "c": complex}.get(np.dtype(value.dtype).kind, np.dtype(value.dtype))
    return np.dtype(jnp.result_type(value))


def _dtype_or_number(value: Any) -> Any:
    kind = _dtype_or_kind(_unwrap(value)) if not isinstance(value, np.dtype | type | str) else value
    return {int: 0, float: 0.0, complex: 0j}.get(kind, kind) if isinstance(kind, type) else kind


def _as(value: Any, dtype: Any) -> Any:
    array = jnp.asarray(value)
    target = np.dtype(dtype)
    if array.dtype == target and not getattr(array, "weak_type", False):
        return array
    return jax.lax.convert_element_type(array, target)


# -- results ----------------------------------------------------------------------------------------------------------


def _deliver(result: Any, out: Any, where: Any, casting: str, is_array: bool = False) -> Any:
    if isinstance(result, tuple | list):
        items = cast("Sequence[Any]", result)
        if isinstance(out, tuple):
            return tuple(_deliver(each, to, where, casting) for each, to in zip(items, out, strict=True))
        parts = [_wrap(each) for each in items]
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return type(result)(*parts)
        return type(result)(parts)
    if out is None:
        if where is not True:
            raise _unsupported("where= without out=")
        return wrapped(result, is_array)
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
    if where is not True:
        result = jnp.where(_unwrap(where), result.astype(out.dtype), out.value)
    if jnp.broadcast_shapes(result.shape, out.shape) != out.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape {result.shape}"
        )
    out.assign(result)
    return out


def _wrap(value: Any) -> Any:
    return wrapped(value)


def _is_known(value: Any) -> bool:
    """Whether nothing traced is in it, so that NumPy itself can tell."""
    leaves = jax.tree.leaves(value, is_leaf=lambda each: isinstance(each, Array))
    return not any(isinstance(each.value if isinstance(each, Array) else each, jax.Array) for each in leaves)


def _unwrap(value: Any) -> Any:
    return value.value if isinstance(value, Array) else value


def _unwrap_all(value: Any) -> Any:
    if isinstance(value, list | tuple):
        items = [_unwrap_all(each) for each in cast("Sequence[Any]", value)]
        return items if isinstance(value, list) else tuple(items)
    return _unwrap(value)


def _is_operand(value: Any) -> bool:
    return isinstance(value, Array | jax.Array | np.ndarray | np.generic | int | float | complex | bool | list | tuple)


def _expect_no_options(name: str, options: Mapping[str, Any]) -> None:
    left = [key for key, value in options.items() if key not in ("order", "subok") and value is not None]
    if left:
        raise _unsupported(f"numpy.{name} with {', '.join(left)}=")


def _unsupported(what: str) -> WindlassError:
    return WindlassError(
        Diagnostic("WL0909", f"{what} is not supported inside wl.jit", help="use a function of jax.numpy on the array")
    )


def _find(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of jax.numpy with the same name, in the same submodule."""
    submodule = (getattr(function, "__module__", "") or "").removeprefix("numpy").strip(".").split(".")[0]
    home = getattr(jnp, submodule, jnp) if submodule in ("linalg", "fft") else jnp
    found = getattr(home, function.__name__, None) or getattr(jnp, function.__name__, None)
    if found is None:
        raise _unsupported(f"numpy.{function.__name__}")
    return found


# -- functions with effects, and views --------------------------------------------------------------------------------


def _copy_to(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    value = jnp.broadcast_to(jnp.asarray(_unwrap(src)), dst.shape)
    _deliver(value, dst, where, casting)


def _at(ufunc: np.ufunc, inputs: Sequence[Any]) -> None:
    """`ufunc.at(a, indices, b)`: unbuffered, so that repeated indices accumulate."""
    array, indices, *rest = inputs
    if not isinstance(array, Array):
        raise _outside()
    methods = {"add": "add", "multiply": "multiply", "maximum": "max", "minimum": "min", "subtract": "add"}
    if ufunc.__name__ not in methods or len(rest) != 1:
        raise _unsupported(f"numpy.{ufunc.__name__}.at")
    (value,) = rest
    kind = _dtype_or_number(value)
    if not np.can_cast(np.result_type(array.dtype, kind), array.dtype, "same_kind"):
        raise TypeError(
            f"Cannot cast ufunc '{ufunc.__name__}' output from {np.result_type(array.dtype, kind)!r} to "
            f"{array.dtype!r} with casting rule 'same_kind'"
        )
    plain = _as(_unwrap_all(value), array.dtype)
    if ufunc.__name__ == "subtract":
        plain = -plain
    place = jnp.asarray(array.value).at[checked_index(indices, array.shape)]
    array.assign(getattr(place, methods[ufunc.__name__])(plain))


# -- functions that take indices --------------------------------------------------------------------------------------


def _take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    array = a if isinstance(a, Array) else Array(np.asarray(a) if isinstance(a, list | tuple) else a)
    if axis is None:
        array, axis = array.reshape(-1), 0
    axis = range(array.ndim)[axis]
    extent = array.shape[axis]
    places = _unwrap(indices) if not isinstance(indices, list | tuple) else np.asarray(_unwrap_all(indices))
    if mode != "raise":
        places = jnp.clip(jnp.asarray(places), 0, extent - 1) if mode == "clip" else jnp.asarray(places) % extent
    if not np.ndim(places):
        found = array[(*(slice(None),) * axis, wrapped(places) if isinstance(places, jax.Array) else places)]
        return found.copy() if isinstance(found, Array) else found
    return array[(*(slice(None),) * axis, places)]


def _places_along(array: Array, indices: Any, axis: Any) -> tuple[Any, ...]:
    """The advanced index of `take_along_axis`: the given places along one axis, its own along the others."""
    places = indices if isinstance(indices, Array) else Array(np.asarray(indices))
    axis = range(array.ndim)[axis]
    grid: list[Any] = []
    for number, extent in enumerate(places.shape):
        own = np.arange(extent).reshape([-1 if each == number else 1 for each in range(places.ndim)])
        grid.append(places if number == axis else (own if array.shape[number] != 1 else own * 0))
    return tuple(grid)


def _take_along(arr: Any, indices: Any, axis: Any = -1) -> Any:
    array = arr if isinstance(arr, Array) else Array(np.asarray(arr))
    if axis is None:
        array, axis = array.flatten(), 0
    return array[_places_along(array, indices, axis)]


def _put_along(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    if not isinstance(arr, Array):
        raise _outside()
    arr[_places_along(arr, indices, axis)] = values


def _put_values(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    if not isinstance(a, Array):
        raise _outside()
    if mode != "raise":
        raise _unsupported(f"numpy.put with mode='{mode}'")
    places = ind if np.ndim(_unwrap_all(ind)) else [ind]
    values = _unwrap_all(v)
    if np.ndim(values) and np.size(values) != np.size(_unwrap_all(places)):
        values = jnp.resize(jnp.asarray(values), (np.size(_unwrap_all(places)),))
    a.flat[places] = values


def _put_mask(a: Any, mask: Any, values: Any) -> None:
    if not isinstance(a, Array):
        raise _outside()
    new = jnp.asarray(_unwrap_all(values))
    if new.shape != a.shape:
        new = jnp.resize(new, a.shape)
    a.assign(jnp.where(jnp.reshape(jnp.asarray(_unwrap_all(mask)), a.shape), new.astype(a.dtype), a.value))


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if not isinstance(a, Array):
        raise _outside()
    if wrap or a.ndim != 2 or np.ndim(_unwrap_all(val)):
        raise _unsupported("numpy.fill_diagonal but of one number on a matrix")
    diagonal = np.arange(min(a.shape))
    a[diagonal, diagonal] = val


def _outside() -> WindlassError:
    return WindlassError(
        Diagnostic(
            "WL0907",
            "an array from outside the compiled function is written: it would have no effect",
            help="pass the array to the compiled function as an argument",
        )
    )


def _shape_from_data(name: str) -> WindlassError:
    return WindlassError(
        Diagnostic(
            "WL0904",
            f"how much numpy.{name} gives is not known while the function is compiled: it depends on the elements",
            notes=("arrays inside wl.jit have shapes that are numbers",),
            help="call it outside and pass what it gives, or use masks, numpy.where(condition, a, b) and sorted arrays",
        )
    )


INDEXED: dict[str, Callable[..., Any]] = {"take": _take, "take_along_axis": _take_along}
"""Functions that read at indices, which have to be checked."""
CHANGING: dict[str, Callable[..., Any]] = {
    "put": _put_values, "putmask": _put_mask, "fill_diagonal": _fill_diagonal, "put_along_axis": _put_along,
}  # fmt: skip
"""Functions that write to their first argument."""
WITHOUT_SHAPE = frozenset({"unique", "unique_values", "unique_counts", "unique_inverse", "unique_all", "nonzero",
                           "flatnonzero", "argwhere", "extract", "compress", "union1d", "intersect1d", "setdiff1d",
                           "setxor1d", "trim_zeros", "bincount"})  # fmt: skip
"""The shape of what they give depends on the elements."""
GIVES_ARRAYS = frozenset({"where", "copy", "squeeze", "reshape", "broadcast_to", "select", "choose", "array", "asarray",
                          "atleast_1d", "piecewise", "block"})  # fmt: skip
"""What they give is an array even where it has no axes."""


def _view(function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """The view that a function of NumPy gives; NotImplemented where it gives a new array."""
    name = function.__name__
    full_name = f"linalg.{name}" if function.__module__ == "numpy.linalg" else name
    how = VIEWS.get(full_name) or (VIEWS.get(name) if name != "diagonal" else None)
    if how is not None and arguments and isinstance(arguments[0], Array):
        return how(*arguments, **options)
    if name == "diag" and arguments and isinstance(arguments[0], Array) and arguments[0].ndim == 2:
        return arguments[0].diagonal(*arguments[1:], *options.values())
    return _einsum_view(arguments, options) if name == "einsum" else NotImplemented


def _share_memory(function: Callable[..., Any], first: Any, second: Any, max_work: Any = None) -> bool:
    """What `shares_memory` and `may_share_memory` give.

    Raises WindlassError (WL0904) where it depends on traced indices.
    """
    if not isinstance(first, Array) or not isinstance(second, Array) or first.storage is not second.storage:
        return False
    if first.is_static and second.is_static:
        return bool(function(first.shadow, second.shadow, max_work))
    if function is np.may_share_memory:
        return True
    raise WindlassError(
        Diagnostic(
            "WL0904",
            "whether these views share elements is not known while the function is compiled",
            help="ask numpy.may_share_memory",
        )
    )


def _einsum_view(arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What `einsum` gives of one array where it only renames axes; NotImplemented otherwise.

    NumPy itself tells, for an array whose strides are powers of two: those of its view are their sums.
    """
    given = [each for each in arguments if isinstance(each, Array)]
    if len(given) != 1 or any(isinstance(each, np.ndarray | jax.Array) for each in arguments):
        return NotImplemented
    (array,) = given
    if options.get("out") is not None or array.is_scalar or not array.size:
        return NotImplemented

    def of(other: Any) -> Any:
        return np.einsum(*(other if each is array else _unwrap_all(each) for each in arguments), **options)

    probe = np.lib.stride_tricks.as_strided(
        np.zeros(1 << array.ndim, np.int8),
        [min(extent, 2) for extent in array.shape],
        [1 << axis for axis in range(array.ndim)],
    )
    found = of(probe)
    if not isinstance(found, np.ndarray) or not np.shares_memory(found, probe):
        return NotImplemented
    groups = [[axis for axis in range(array.ndim) if stride >> axis & 1] for stride in found.strides]
    found, places = array, list(range(array.ndim))
    for group in groups:
        for axis in group[1:]:
            found = found.diagonal(0, places.index(group[0]), places.index(axis))
            places = [each for each in places if each not in (group[0], axis)] + [group[0]]
    found = found.transpose(tuple(places.index(group[0]) for group in groups))
    return Array(None, array.storage, found.steps, of(array.shadow))


def _rotate(array: Array, k: int, axes: Sequence[int]) -> Array:
    first, second = axes
    if first % array.ndim == second % array.ndim:
        raise ValueError("Axes must be different.")
    turns = k % 4
    if turns in (0, 2):
        return _flip(_flip(array, first), second) if turns else array.view()
    return _flip(array, second).swapaxes(first, second) if turns == 1 else _flip(array.swapaxes(first, second), second)


def _flip(array: Array, axis: Any) -> Array:
    axes = range(array.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    flipped = {each % array.ndim for each in axes}
    return array[tuple(slice(None, None, -1) if each in flipped else slice(None) for each in range(array.ndim))]


def _expand(array: Array, axis: Any) -> Array:
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    rank = array.ndim + len(axes)
    inserted = {each % rank for each in axes}
    return array[tuple(None if each in inserted else slice(None) for each in range(rank))]


def _rolled_axes(rank: int, axis: int, start: int) -> tuple[int, ...]:
    return tuple(extent - 1 for extent in np.rollaxis(np.empty(tuple(range(1, rank + 1))), axis, start).shape)


def _split(how: Callable[..., Any], array: Array, sections: Any, axis: int) -> list[Array]:
    """The views that NumPy's function gives, by what it gives for the numbers along the axis."""
    axis = range(array.ndim)[axis]
    parts = how(np.arange(array.shape[axis]), sections)
    starts = [int(part[0]) if part.size else 0 for part in parts]
    return [
        array[(*(slice(None),) * axis, slice(start, start + part.size))]
        for start, part in zip(starts, parts, strict=True)
    ]


def _move_axis(array: Array, source: Any, destination: Any) -> Array:
    return array.transpose(_moved_axes(array.ndim, source, destination))


def _moved_axes(rank: int, source: Any, destination: Any) -> tuple[int, ...]:
    """The permutation that moves axes, read off the extents of an array whose extents are all different."""
    probe = np.moveaxis(np.empty(tuple(range(1, rank + 1))), source, destination)
    return tuple(extent - 1 for extent in probe.shape)


_MORE_UFUNCS: dict[str, Callable[..., Any]] = {
    "divide": jnp.true_divide,
    "conjugate": jnp.conj,
    "absolute": jnp.abs,
    "logical_xor": jnp.logical_xor,
}


ANSWERS.update(ufunc=apply_ufunc, function=apply_function)
