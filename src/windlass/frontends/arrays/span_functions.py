"""NumPy's functions of spans (`spans.py`): elementwise functions give spans, reductions look at the places that have
elements, products do both."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import ArrayTypeError, Diagnostic
from windlass.frontends.arrays import span_making
from windlass.frontends.arrays.array import ANSWERS, Array, Scalar, wrapped
from windlass.frontends.arrays.indexing import plain
from windlass.frontends.arrays.lengths import Extent, Length, Stretch, expect_equal, spread_mask
from windlass.frontends.arrays.selections import (
    ELEMENTWISE,
    EXTREMES,
    REDUCTIONS,
    expect_some,
    weighted_mean,
    without_others,
)
from windlass.frontends.arrays.span_indexing import add_at
from windlass.frontends.arrays.spans import (
    LINEAR,
    Span,
    as_span,
    elements_of,
    lifted,
    of_elements,
)
from windlass.frontends.arrays.ufuncs import REDUCERS
from windlass.frontends.arrays.unknown_lengths import UnknownLength

# -- ufuncs -----------------------------------------------------------------------------------------------------------


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What NumPy's `ufunc` (or a method of it) gives for these inputs, of which one is a span, or `out` is."""
    options = {key: value for key, value in options.items() if value is not np._NoValue}  # pyright: ignore[reportPrivateUsage]
    out = options.pop("out", None)
    out = out[0] if isinstance(out, tuple) and len(cast("tuple[Any, ...]", out)) == 1 else out
    inputs = [each.span if isinstance(each, UnknownLength) else each for each in inputs]
    span = next(each for each in (*inputs, out) if isinstance(each, Span))
    if any(isinstance(each, Span) for each in options.values()):
        raise span.unknown(f"numpy.{ufunc.__name__} with where=")
    if method == "reduce" and ufunc.__name__ in REDUCERS and out is None:
        axis = inputs[1] if len(inputs) > 1 else options.pop("axis", 0)
        return reduce_span(REDUCERS[ufunc.__name__], inputs[0], axis, options)
    if method == "at":
        return add_at(ufunc, *inputs)
    if method == "accumulate" and out is None:
        return _accumulated(ufunc, *inputs, **options)
    if method == "outer":
        first, second = map(as_span, inputs)
        found = lifted(lambda *values: ufunc(*values, **options), first[(..., *(None,) * second.ndim)], second)
    elif method != "__call__":
        raise span.unknown(f"numpy.{ufunc.__name__}.{method}")
    elif ufunc is np.matmul:
        found = product(*inputs)
    else:
        is_linear = ufunc.__name__ in LINEAR
        found = lifted(lambda *values: ufunc(*values, **options), *inputs, is_linear=is_linear)
    if out is None:
        return found
    if not isinstance(out, UnknownLength):
        raise span.unknown("what is written to `out`")
    found = as_span(found)
    if not np.can_cast(found.dtype, out.dtype, options.get("casting", "same_kind")):
        text = (
            f"Cannot cast ufunc '{ufunc.__name__}' output from dtype('{found.dtype}') to dtype('{out.dtype}') "
            "with casting rule 'same_kind'"
        )
        raise ArrayTypeError(Diagnostic("WL0916", text))
    out[...] = found
    return out


def _accumulated(ufunc: np.ufunc, span: Span, axis: Any = 0, **options: Any) -> Any:
    """Running folds, from an axis' first element on: what is before it is the operation's identity."""
    axis = range(span.ndim)[int(axis)]
    length = span.extents[axis]
    elements = span.read(span.easiest)
    if isinstance(length, Length):
        if ufunc.identity is None:
            raise span.unknown(f"numpy.{ufunc.__name__}.accumulate")
        mask = spread_mask(length.mask(length.easiest), axis, span.ndim)
        elements = jnp.where(mask, elements, jnp.asarray(ufunc.identity, elements.dtype))
    return of_elements(elements_of(ufunc.accumulate(Array(elements), axis=axis, **options)), span.extents)


# -- reductions -------------------------------------------------------------------------------------------------------


def reduce_span(name: str, span: Span, axis: Any, options: Mapping[str, Any]) -> Any:
    """What `numpy.sum(span, axis, **options)` and its kin give."""
    options = {key: value for key, value in options.items() if value is not np._NoValue and value is not None}  # pyright: ignore[reportPrivateUsage]
    keeps = bool(options.pop("keepdims", False))
    if options.pop("out", None) is not None or isinstance(options.get("where"), Span):
        raise span.unknown(f"numpy.{name} with these arguments")
    if name == "ptp":
        return np.subtract(*(reduce_span(each, span, axis, {"keepdims": keeps}) for each in ("max", "min")))
    if name == "count_nonzero":
        return reduce_span("sum", cast("Span", np.not_equal(cast("Any", span), 0)), axis, {"keepdims": keeps})
    axes = np.lib.array_utils.normalize_axis_tuple(range(span.ndim) if axis is None else axis, span.ndim)
    left = [each for each in range(span.ndim) if each not in axes]
    masks = [
        spread_mask(extent.mask(extent.easiest), each, span.ndim)
        for each, extent in enumerate(span.extents)
        if isinstance(extent, Length) and (each in axes or name in EXTREMES)
    ]
    elements = span.read(span.easiest)
    if masks:
        where = jnp.broadcast_to(functools.reduce(operator.and_, masks), elements.shape)
        if name in EXTREMES:
            if "where" in options:
                raise span.unknown(f"numpy.{name} with where=")
            if "initial" not in options:
                _expect_elements(name, [span.extents[each] for each in axes])
            elements = plain(without_others(name, Array(elements), where))
        else:
            options["where"] = Array(where & jnp.asarray(plain(options.get("where", True))))
    found = elements_of(getattr(np, name)(Array(elements), axis=axes, keepdims=keeps, **options))
    kept = [1 if each in axes else span.extents[each] for each in range(span.ndim)]
    return _of_extents(found, kept if keeps else [kept[each] for each in left])


def _of_extents(value: Any, extents: Sequence[Extent]) -> Any:
    """What is computed for the easiest stretches: a span, or an array or number where all lengths are known."""
    return of_elements(value, extents) if any(isinstance(each, Length) for each in extents) else wrapped(value)


def _expect_elements(name: str, extents: Sequence[Extent]) -> None:
    counts = [each.count for each in extents if isinstance(each, Length)]
    has_some = functools.reduce(operator.and_, [jnp.asarray(each) > 0 for each in counts])
    expect_some(f"zero-size array to reduction operation {EXTREMES[name]} which has no identity", has_some, ())


def _place_of_extreme(name: str, span: Span, axis: Any = None, **options: Any) -> Any:
    """`argmax` and `argmin`, of one axis."""
    if span.ndim != 1 or options or axis not in (None, 0, -1):
        raise span.unknown(f"numpy.{name}")
    (length,) = cast("tuple[Length]", span.extents)
    mask = length.mask(length.easiest)
    kind = "max" if name == "argmax" else "min"
    expect_some(f"attempt to get {name} of an empty sequence", mask, (0,))
    elements = Array(span.read(span.easiest))
    others = without_others(kind, elements, mask)
    found = elements_of(getattr(np, name)(others))
    # Where all elements are the least there is, the first place may have none.
    first = jnp.argmax(mask)
    found = jnp.where(mask[found], found, first)
    return Scalar(found.astype(jnp.int64) + length.first)


# -- products ---------------------------------------------------------------------------------------------------------


def product(left: Any, right: Any) -> Any:
    """`left @ right` of one or two axes each."""
    first, second = as_span(left), as_span(right)
    if not (1 <= first.ndim <= 2 and 1 <= second.ndim <= 2):
        raise (first if isinstance(left, Span) else second).unknown("a product of several matrices")
    inner, other = first.extents[-1], second.extents[-2 if second.ndim == 2 else -1]
    shared = other if isinstance(other, Length) else inner
    if isinstance(shared, Length):
        expect_equal(inner, other)
    elif inner != other:
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n?,k),(k,m?)->"
            f"(n?,m?) (size {other} is different from {inner})"
        )
    along = shared.easiest if isinstance(shared, Length) else None
    rows, columns = first.extents[:-1], second.extents[1:] if second.ndim == 2 else ()

    one = first.read((*(_easiest(each) for each in rows), along))
    two = second.read((along, *(_easiest(each) for each in columns)))
    if isinstance(shared, Length):
        mask = shared.mask(shared.easiest)
        one = jnp.where(spread_mask(mask, one.ndim - 1, one.ndim), one, jnp.zeros((), one.dtype))
        two = jnp.where(spread_mask(mask, 0, two.ndim), two, jnp.zeros((), two.dtype))
    return _of_extents(elements_of(np.matmul(cast("Any", Array(one)), cast("Any", Array(two)))), (*rows, *columns))


def _easiest(extent: Extent) -> Stretch | None:
    return extent.easiest if isinstance(extent, Length) else None


def _dot(left: Any, right: Any) -> Any:
    return left * right if 0 in (np.ndim(left), np.ndim(right)) else product(left, right)


# -- functions --------------------------------------------------------------------------------------------------------


def apply_function(span: Span, function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a function of NumPy gives where a span is among its arguments.

    Raises WindlassError (WL0904) where the number of elements would have to be known.
    """
    name = function.__name__
    arguments = [each.span if isinstance(each, UnknownLength) else each for each in arguments]
    named = {key: value for key, value in options.items() if value is not np._NoValue and value is not None}  # pyright: ignore[reportPrivateUsage]
    first = arguments[0] if arguments else None
    if isinstance(first, Span) and (name in REDUCTIONS or name in EXTREMES or name in ("ptp", "count_nonzero")):
        rest = dict(zip(("axis", "dtype", "out"), arguments[1:], strict=False)) | named
        return reduce_span(name, first, rest.pop("axis", None), rest)
    found = FUNCTIONS.get(name)
    if found is not None and named.get("out") is None and (name != "where" or len(arguments) == 1):
        return found(*arguments, **named)
    if name in ELEMENTWISE and named.get("out") is None:
        keys = [key for key, value in named.items() if isinstance(value, Span | Array)]
        others = {key: value for key, value in named.items() if key not in keys}
        places = [
            place for place, each in enumerate(arguments) if isinstance(each, Span | Array | np.ndarray | jax.Array)
        ]

        def call(*values: Any) -> Any:
            given = list(arguments)
            for place, value in zip(places, values, strict=False):
                given[place] = value
            return function(*given, **others, **dict(zip(keys, values[len(places) :], strict=True)))

        return lifted(call, *(arguments[place] for place in places), *(named[key] for key in keys))
    raise span.unknown(f"what numpy.{name} gives")


def _flip(span: Span, axis: Any = None) -> Any:
    axes = np.lib.array_utils.normalize_axis_tuple(range(span.ndim) if axis is None else axis, span.ndim)
    return span[tuple(slice(None, None, -1) if each in axes else slice(None) for each in range(span.ndim))]


def _norm(span: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord not in (None, 2) or not (span.ndim == 1 or (ord is None and axis is None)):
        raise span.unknown("what numpy.linalg.norm gives")
    return np.sqrt(reduce_span("sum", np.square(np.abs(span)), axis, {"keepdims": keepdims}))


def _average(span: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return reduce_span("mean", span, axis, {})
    if span.ndim != 1:
        raise span.unknown("numpy.average with weights along an axis")
    return weighted_mean(span, weights)


def _taken(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    span = as_span(a)
    if mode != "raise":
        raise span.unknown(f"what numpy.take in the mode '{mode}' gives")
    whole = np.ravel(span.settled) if axis is None and span.ndim > 1 else span.settled
    axis = range(span.ndim)[axis or 0]
    return whole[(*(slice(None),) * axis, indices) if axis else indices]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **span_making.FUNCTIONS,
    "argmax": lambda span, *rest, **options: _place_of_extreme("argmax", span, *rest, **options),
    "argmin": lambda span, *rest, **options: _place_of_extreme("argmin", span, *rest, **options),
    "average": _average,
    "cumprod": lambda span, axis=None, **options: _accumulated(np.multiply, span, _only(span, axis), **options),
    "cumsum": lambda span, axis=None, **options: _accumulated(np.add, span, _only(span, axis), **options),
    "diff": lambda span: (span[1:] != span[:-1]) if span.dtype == np.bool_ else span[1:] - span[:-1],
    "dot": _dot,
    "flip": _flip,
    "fliplr": lambda span: _flip(span, 1),
    "flipud": lambda span: _flip(span, 0),
    "inner": lambda left, right: _dot(left, right if np.ndim(right) < 2 else np.transpose(right)),
    "ndim": lambda span: span.ndim,
    "norm": _norm,
    "outer": lambda left, right: np.multiply(as_span(left)[:, None], right),
    "shape": lambda span: span.shape,
    "take": lambda a, indices, axis=None, **options: _taken(a, indices, axis, **options),
    "size": lambda span, axis=None: span.size if axis is None else span.shape[axis],
    "transpose": lambda span, axes=None: span.transpose(axes),
    "vdot": lambda left, right: _dot(np.conj(left), right),
}
"""Functions of NumPy whose result is found otherwise than element by element."""


def _only(span: Span, axis: Any) -> int:
    if axis is None and span.ndim != 1:
        raise span.unknown("a running fold of several axes")
    return 0 if axis is None else axis


ANSWERS.update({"ufunc of spans": apply_ufunc, "function of spans": apply_function})
