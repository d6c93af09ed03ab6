"""NumPy's functions on `Array`s: computed by jax.numpy, with NumPy's result types, `out=` and views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.frontends.arrays import linear_algebra, narrow_integers, selections, span_functions, span_making
from windlass.frontends.arrays.array import ANSWERS, Array, Scalar, wrapped
from windlass.frontends.arrays.index_functions import CHANGING, INDEXED
from windlass.frontends.arrays.lists import with_arrays_for_lists
from windlass.frontends.arrays.memory_order import laid_as_in_numpy, laid_as_indexed
from windlass.frontends.arrays.operands import deliver, is_known, shape_from_data, unsupported, unwrapped, unwrapped_all
from windlass.frontends.arrays.promotion import dtype_or_number, typed_call
from windlass.frontends.arrays.sorting import FUNCTIONS
from windlass.frontends.arrays.tracing import current_tracing
from windlass.frontends.arrays.ufuncs import apply_ufunc
from windlass.frontends.arrays.unknown_lengths import UnknownLength
from windlass.frontends.arrays.view_functions import share_memory, view_of


def apply_function(function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a function of NumPy gives where an `Array` is among its arguments."""
    name = function.__name__
    other = next((each for each in (*arguments, *options.values()) if isinstance(each, UnknownLength)), None)
    if other is not None:  # NumPy does not ask what is given for indices
        return span_functions.apply_function(other.span, function, arguments, options)
    if name not in INDEXED and name not in CHANGING:
        arguments, options = with_arrays_for_lists(function, arguments, options)
    view = view_of(function, arguments, options)
    if view is not NotImplemented:
        return view
    found = _computed(function, arguments, options)
    return found if options.get("out") is not None else laid_as_in_numpy(found, function, arguments, options)


def _computed(function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    name = function.__name__
    if name == "where" and len(arguments) == 1:
        name, function = "nonzero", np.nonzero
    if name == "copyto":
        return _copy_to(*arguments, **options)
    if name in ("shape", "ndim", "size"):
        return getattr(np, name)(np.broadcast_to(np.zeros(()), jnp.shape(unwrapped(arguments[0]))), *arguments[1:])
    if name in ("may_share_memory", "shares_memory"):
        return share_memory(function, *arguments, **options)
    if name == "einsum_path":
        return function(*(each.shadow if isinstance(each, Array) else each for each in arguments), **options)
    if name == "result_type":
        return np.result_type(*(dtype_or_number(each) for each in arguments))
    options = dict(options)
    out = options.pop("out", None)
    if out is None and _makes_a_span(name, arguments):
        return span_making.FUNCTIONS[name](*arguments, **options)
    if name in INDEXED:
        return deliver(INDEXED[name](*arguments, **options), out, True, "same_kind")
    if all(is_known(each) for each in (*arguments, *options.values())) and name not in CHANGING:
        plain = [unwrapped_all(each) for each in arguments]
        result = function(*plain, **{key: unwrapped_all(each) for key, each in options.items()})
        return deliver(result, out, True, "unsafe", is_broadcast=name in BROADCASTING)
    if name in CHANGING:
        return CHANGING[name](*arguments, **options)
    if name in WITHOUT_SHAPE and not (name == "bincount" and "length" in options):
        raise shape_from_data(name)
    target = _find(function)
    plain = [unwrapped_all(each) for each in arguments]
    named = {key: unwrapped_all(value) for key, value in options.items() if value is not np._NoValue}  # pyright: ignore[reportPrivateUsage]
    if name.endswith("_like"):
        named = {key: value for key, value in named.items() if key not in ("order", "subok", "device")}
        if "dtype" not in named and len(plain) < 2 and name != "full_like":
            named["dtype"] = np.dtype(plain[0].dtype)
    result = typed_call(name, target, plain, named)
    if name == "argpartition":
        result = result.astype(np.int64)  # jax.numpy gives 32 bits
    elif name == "gradient" and isinstance(result, list):
        result = tuple(result)
    elif name.startswith("histogram") and name != "histogram_bin_edges":
        is_counted = name == "histogram" and named.get("weights") is None and not named.get("density")
        result = (result[0].astype(np.int64 if is_counted else np.float64), *result[1:])
    is_array = name in GIVES_ARRAYS or name.endswith("_like")
    return deliver(result, out, True, "same_kind", is_array, is_broadcast=name in BROADCASTING)


def _makes_a_span(name: str, arguments: Sequence[Any]) -> bool:
    """Whether what it gives has as many elements as data decide, and can be had in a program."""
    if name in span_making.SORTING:
        # Outside of programs NumPy sorts, which is several times faster on CPUs.
        tracing = current_tracing()
        return tracing is not None and tracing.is_whole and not all(map(is_known, arguments))
    if name not in span_making.MAKING:
        return False
    return not is_known(arguments[1] if name == "delete" else arguments[0])


def _find(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of jax.numpy with the same name, in the same submodule."""
    own = linear_algebra.FUNCTIONS.get(function) or narrow_integers.FUNCTIONS.get(function)
    if own is not None:
        return own
    submodule = (getattr(function, "__module__", "") or "").removeprefix("numpy").strip(".").split(".")[0]
    home = getattr(jnp, submodule, jnp) if submodule in ("linalg", "fft") else jnp
    found = FUNCTIONS.get(function.__name__) if home is jnp else None
    found = found or getattr(home, function.__name__, None) or getattr(jnp, function.__name__, None)
    if found is None:
        raise unsupported(f"numpy.{function.__name__}")
    return found


# -- functions with effects, and views --------------------------------------------------------------------------------


def _copy_to(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    value = jnp.broadcast_to(jnp.asarray(unwrapped(src)), dst.shape)
    deliver(value, dst, where, casting, is_broadcast=True)


# -- arrays among the leaves of JAX's trees ----------------------------------------------------------------------------


def _from_leaf(_: None, children: Sequence[Any]) -> Any:
    """An array from its leaf. JAX also rebuilds trees with leaves that are no arrays, which are handed through, and
    trees outside of `wl.jit`: for derivative rules, which are code for JAX."""
    (leaf,) = children
    is_array = isinstance(leaf, jax.Array | np.ndarray) and current_tracing() is not None
    return Array(leaf) if is_array else leaf


def _number_from_leaf(_: None, children: Sequence[Any]) -> Any:
    (leaf,) = children
    return leaf if current_tracing() is None else wrapped(leaf)


WITHOUT_SHAPE = frozenset({"unique", "unique_values", "unique_counts", "unique_inverse", "unique_all", "nonzero",
                           "flatnonzero", "argwhere", "extract", "compress", "union1d", "intersect1d", "setdiff1d",
                           "setxor1d", "trim_zeros", "bincount", "polydiv", "roots"})  # fmt: skip
"""The shape of what they give depends on the elements."""
BROADCASTING = frozenset({"clip", "fix", "isposinf", "isneginf", "einsum"})
"""Functions that write to an `out` of a larger shape, as ufuncs do."""
GIVES_ARRAYS = frozenset({"where", "copy", "squeeze", "reshape", "broadcast_to", "select", "choose", "array", "asarray",
                          "atleast_1d", "piecewise", "block"})  # fmt: skip
"""What they give is an array even where it has no axes."""


assert span_functions, "it gives the answers of spans"
ANSWERS.update(
    ufunc=apply_ufunc, function=apply_function, order=laid_as_indexed, pick=selections.pick, write=selections.write
)
# Functions of jax.numpy and JAX's transformations take an Array as what it holds now, and give new ones.
jax.tree_util.register_pytree_node(Array, lambda array: ((array.value,), None), _from_leaf)
jax.tree_util.register_pytree_node(Scalar, lambda number: ((number.value,), None), _number_from_leaf)
