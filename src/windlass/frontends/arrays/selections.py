"""What a boolean mask picks of an array: as many elements as the mask has that are true, which is not known before the
program runs.

A `Selection` is all elements together with the mask. Elementwise functions are computed of all, reductions look at
those that the mask picks, and `x[mask] = selection` writes these back. For what asks for their places in a row, they
are put one behind the other: `Selection.span`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend.core import get_opaque_trace_state

from windlass.diagnostics import ArrayTypeError, ArrayValueError, Diagnostic, WindlassError
from windlass.frontends.arrays.array import Array, Scalar
from windlass.frontends.arrays.indexing import MASK_HELP, is_basic, is_integer, plain
from windlass.frontends.arrays.integers import note_range
from windlass.frontends.arrays.lengths import Bounds, Length, Stretch, is_all
from windlass.frontends.arrays.masks import Pick
from windlass.frontends.arrays.operators import define_operators
from windlass.frontends.arrays.places import numbers_of, places_of, taken
from windlass.frontends.arrays.spans import Span, as_span, expect_broadcast, read_aligned
from windlass.frontends.arrays.tracing import Check, Storage, current_tracing, position_now
from windlass.frontends.arrays.ufuncs import REDUCERS
from windlass.frontends.arrays.unknown_lengths import LEAVES, Leaving, UnknownLength
from windlass.stablehlo.private_jax import is_computed_alike

ELEMENTWISE = frozenset({"where", "clip", "round", "around", "nan_to_num", "isclose", "real", "imag", "angle", "copy",
                         "zeros_like", "ones_like", "full_like", "fix", "sinc", "i0", "select"})  # fmt: skip
"""Functions of NumPy, other than ufuncs, that look at elements one by one."""
REDUCTIONS = frozenset({"sum", "prod", "mean", "std", "var", "any", "all"})
"""Reductions that take `where=`, and have a value where nothing is picked."""
EXTREMES = {"max": "maximum", "amax": "maximum", "min": "minimum", "amin": "minimum"}


class NeedsPlaces(Exception):
    """Something can't be told of all elements and the mask: it needs those that are picked one behind the other."""


class Selection(UnknownLength):
    """The elements of an array that a traced mask picks. `base` has all elements, and any numbers in the places of
    those that are not picked; `axis` is the axis of the selection that stands for those of the mask."""

    __slots__ = ("_length", "axis", "base", "has_views", "mask")
    headline = "how many elements a mask picks is not known while the function is compiled"
    help = MASK_HELP

    def __init__(self, base: Any, mask: Any, axis: int) -> None:
        super().__init__()
        self.base: Array = base if isinstance(base, Array) else Array(base)
        self.mask = mask
        self.axis = axis
        self.has_views = False
        self._length: Length | None = None
        """How many they are, where they are the first of `base` along the axis: see `_settle`."""

    # -- what is known of it ------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype:
        return self.base.dtype

    @property
    def ndim(self) -> int:
        return self.base.ndim - self.mask.ndim + 1

    @property
    def count(self) -> Any:
        """How many elements the mask picks, traced."""
        found = jnp.sum(self.mask, dtype=jnp.int64)
        note_range(found, 0, self.mask.size)
        return Scalar(found)

    @property
    def shape(self) -> tuple[Any, ...]:
        known = self.base.shape
        return (*known[: self.axis], self.count, *known[self.axis + self.mask.ndim :])

    @property
    def size(self) -> Any:
        return self.count * int(np.prod([each for each in self.shape if isinstance(each, int)], initial=1))

    @property
    def where(self) -> Any:
        """The mask as an array of the shape of `base`."""
        return Array(jnp.broadcast_to(self.spread_mask(), self.base.shape))

    def spread_mask(self) -> Any:
        """The mask so that it stands beside `base`."""
        after = self.base.ndim - self.axis - self.mask.ndim
        return jnp.reshape(self.mask, (1,) * self.axis + self.mask.shape + (1,) * after)

    @property
    def span(self) -> Span:
        """The elements that are picked, one behind the other: a copy, or a view after `_settle`."""
        if self._length is None:
            found = taken(self.base, places_of(self.mask), self.axis, self.mask.ndim)
        else:
            count, room = self._length.count, self._length.room
            bounds = [Bounds(0, 1, count, room) if axis == self.axis else None for axis in range(self.base.ndim)]
            found = Span(self.base, bounds)
        found.place = self.place
        return found

    def _settle(self) -> Span:
        """Put the elements one behind the other, for parts of it that are views.

        Where it is from outside of the loop or branch that is traced, it stays as it is: the parts are a copy then,
        and nobody may write to either.
        """
        found = self.span
        if self._length is None and self.base.storage.level == get_opaque_trace_state():
            (self._length,) = (each for each in found.extents if isinstance(each, Length))
            self.base, self.mask = found.view, self._length.mask(Stretch(0, self._length.room))
        elif self._length is None:
            self.has_views = True
            found.view.shadow.setflags(write=False)
        return found

    @property
    def axes(self) -> list[tuple[int, bool]]:
        known = [(extent, False) for extent in self.base.shape]
        return [*known[: self.axis], (self.mask.size, True), *known[self.axis + self.mask.ndim :]]

    @property
    def memory(self) -> Storage:
        return self.base.storage

    def leave(self) -> tuple[list[Any], Leaving]:
        return [self.base.value, self.mask], Leaving(2, self.unknown(LEAVES), mask_axis=self.axis)

    # -- with other values --------------------------------------------------------------------------------------------

    def aligned(self, other: Any) -> Any:
        """Another operand so that it stands beside `base`.

        Raises NeedsPlaces where it has its own number of elements.
        """
        if isinstance(other, Selection):
            if not self.has_mask_of(other):
                raise NeedsPlaces
            return other.base
        if isinstance(other, UnknownLength):
            raise NeedsPlaces
        if isinstance(other, list | tuple):
            other = np.array(other)
        shape = np.shape(other) if not isinstance(other, Array) else other.shape
        after = self.base.ndim - self.axis - self.mask.ndim
        if len(shape) > after:
            place = len(shape) - after - 1
            if shape[place] != 1:
                raise NeedsPlaces
            target = (*shape[:place], *(1,) * self.mask.ndim, *shape[place + 1 :])
            other = other.reshape(target) if isinstance(other, Array | np.ndarray) else jnp.reshape(other, target)
        if _has_derivatives(other):
            # Whatever is computed of what is not picked, and its derivative, reaches nothing.
            return Array(_filled(jnp.asarray(plain(other)), self.spread_mask()))
        return other

    def has_mask_of(self, other: Selection) -> bool:
        """Whether both have the same places of arrays of one shape."""
        if other.axis != self.axis or other.ndim != self.ndim or other.mask.shape != self.mask.shape:
            return False
        return is_computed_alike(other.mask, self.mask)

    def like(self, base: Any) -> Any:
        """Other values of the same selection."""
        if isinstance(base, tuple | list):
            return tuple(map(self.like, cast("Sequence[Any]", base)))
        base = base if isinstance(base, Array) else Array(jnp.asarray(base))
        return Selection(base, self.mask, self.axis + base.ndim - self.base.ndim)

    # -- NumPy's protocols --------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        target = None if out is None else out[0]
        if target is not None and not isinstance(target, UnknownLength):
            raise self.unknown("what is written to `out`")
        try:
            found = self._apply(ufunc, method, inputs, options)
        except NeedsPlaces:
            inputs, options = _as_spans((inputs, options))
            found = getattr(ufunc, method)(*inputs, **options)
        if target is None:
            return found
        if not np.can_cast(found.dtype, target.dtype, "same_kind"):
            raise ArrayTypeError(
                Diagnostic(
                    "WL0916",
                    f"Cannot cast ufunc '{ufunc.__name__}' output from dtype('{found.dtype}') to "
                    f"dtype('{target.dtype}') with casting rule 'same_kind'",
                )
            )
        target[...] = found
        return target

    def _apply(self, ufunc: Any, method: str, inputs: Any, options: dict[str, Any]) -> Any:
        """What a ufunc gives. Raises NeedsPlaces where all elements and the mask don't tell."""
        if method == "reduce" and ufunc.__name__ in REDUCERS:
            return reduce_selection(REDUCERS[ufunc.__name__], inputs[0], inputs[1:] or (0,), options)
        if method != "__call__":
            raise NeedsPlaces
        if ufunc is np.matmul:
            return _product(*inputs)
        first = next(each for each in inputs if isinstance(each, Selection))
        values = [first.aligned(each) for each in inputs]
        if isinstance(options.get("where"), Selection):
            raise NeedsPlaces
        return first.like(ufunc(*values, **options))

    def __array_function__(self, function: Any, types: Any, arguments: Sequence[Any], options: Any) -> Any:
        try:
            return self._function(function, arguments, options)
        except NeedsPlaces:
            arguments, options = _as_spans((tuple(arguments), options))
            return function(*arguments, **options)

    def _function(self, function: Any, arguments: Sequence[Any], options: Any) -> Any:
        """What a function of NumPy gives. Raises NeedsPlaces where all elements and the mask don't tell."""
        name = function.__name__
        if arguments and isinstance(arguments[0], Selection):
            if name in REDUCTIONS or name in EXTREMES or name in ("ptp", "count_nonzero", "average"):
                return reduce_selection(name, arguments[0], arguments[1:], options)
            if name in ("size", "shape", "ndim") and len(arguments) == 1 and not options:
                return getattr(arguments[0], name)
            if name == "norm" and len(arguments) == 1 and not options and self.ndim == 1:
                return np.sqrt(reduce_selection("sum", np.square(np.abs(cast("Any", self))), (), {}))
        if name in ("dot", "vdot", "inner") and len(arguments) == 2:
            return _product(np.conj(arguments[0]) if name == "vdot" else arguments[0], arguments[1])
        if name in ELEMENTWISE and options.get("out") is None:
            values = [self.aligned(each) if _is_value(each) else each for each in arguments]
            named = {key: self.aligned(each) if _is_value(each) else each for key, each in options.items()}
            return self.like(function(*values, **named))
        raise NeedsPlaces

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, Selection) and index.dtype == np.bool_ and self.ndim == index.ndim == 1:
            if self.has_mask_of(index):
                return Selection(self.base.copy(), self.mask & jnp.asarray(index.base.value), self.axis)
            index = index.span
        entries = index if isinstance(index, tuple) else (index,)
        if self.axis == 0 and is_all(entries[0]) and _are_plain(entries[1:]):
            kept: Any = self.base[(*(slice(None),) * self.mask.ndim, *entries[1:])]
            return Selection(kept, self.mask, 0)
        gives_view = all(map(is_basic, entries)) and not all(map(is_integer, entries))
        return (self._settle() if gives_view else self.span)[_as_spans(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.has_views:
            raise self.unknown("which of its elements are written, of which there are views,")
        entries = index if isinstance(index, tuple) else (index,)
        if isinstance(index, Selection) and index.dtype == np.bool_ and self.ndim == index.ndim == 1:
            if self.has_mask_of(index):
                Selection(self.base, self.mask & jnp.asarray(index.base.value), self.axis).write(value)
                return
            index = index.span
        if all(each is Ellipsis or is_all(each) for each in entries):
            # What stands where nothing is picked does not matter.
            self.base.assign(self._beside(value))
            return
        if self._length is None and self.mask.ndim == self.base.ndim == 1:
            self.base[places_of(self.mask)[_as_spans(index)]] = value
            return
        span = self._settle()
        if self.has_views:
            raise self.unknown("which of its elements are written")
        span[_as_spans(index)] = value

    def write(self, value: Any) -> None:
        """Write to those elements of `base` that are picked, and to no others."""
        self.base.write_where(self.base, self.where.value, self._beside(value))

    def _beside(self, value: Any) -> Any:
        """What is to be written, so that it stands beside `base`."""
        try:
            return self.aligned(value)
        except NeedsPlaces:
            return _spread_out(value, self)

    def __repr__(self) -> str:
        return f"windlass.Selection({self.base!r}, {self.mask!r})"

    # -- methods ------------------------------------------------------------------------------------------------------

    def astype(self, dtype: Any, **options: Any) -> Selection:
        return self.like(self.base.astype(dtype, **options))

    def copy(self, order: str = "C") -> Selection:
        return self.like(self.base.copy())

    @property
    def real(self) -> Selection:
        return self.like(self.base.real)

    @property
    def imag(self) -> Selection:
        return self.like(self.base.imag)

    def conj(self) -> Selection:
        return self.like(self.base.conj())

    def ravel(self, order: str = "C") -> Any:
        return self if self.ndim == 1 else np.ravel(cast("Any", self.span), cast("Any", order))

    def flatten(self, order: str = "C") -> Any:
        return self.ravel(order).copy()

    def dot(self, other: Any) -> Any:
        return _product(self, other)

    @property
    def T(self) -> Any:  # noqa: N802 (NumPy's name)
        return self if self.ndim == 1 else self.span.T

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        self[...] = np.sort(cast("Any", self), axis, kind)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Span, name):
            return super().__getattr__(name)
        return getattr(self.span, name)


define_operators(Selection)
for _name in (*REDUCTIONS, "max", "min", "ptp"):

    def _method(self: Selection, *rest: Any, _name: str = _name, **options: Any) -> Any:
        return reduce_selection(_name, self, rest, options)

    setattr(Selection, _name, _method)
for _name in ("clip", "round"):

    def _elementwise(self: Selection, *rest: Any, _name: str = _name, **options: Any) -> Any:
        return getattr(np, _name)(self, *rest, **options)

    setattr(Selection, _name, _elementwise)


def _are_plain(entries: Sequence[Any]) -> bool:
    """Whether indices take places of one axis each, and leave the axes before them alone."""
    return all(isinstance(each, slice) or each is None for each in entries) or (
        len(entries) == 1 and is_basic(entries[0]) and entries[0] is not Ellipsis
    )


def _is_value(value: Any) -> bool:
    return isinstance(value, Selection | Array | jax.Array | np.ndarray | list)


# -- reductions -------------------------------------------------------------------------------------------------------


def reduce_selection(name: str, selection: Selection, rest: Sequence[Any], options: dict[str, Any]) -> Any:
    """What `numpy.sum(selection, *rest, **options)` and its kin give."""
    options = {key: value for key, value in options.items() if value is not np._NoValue and value is not None}  # pyright: ignore[reportPrivateUsage]
    axis = rest[0] if rest else options.pop("axis", None)
    keeps = bool(options.pop("keepdims", False))
    if len(rest) > 1 or options.pop("out", None) is not None:
        raise NeedsPlaces
    if name == "average":
        return _average(selection, axis, options)
    if name == "ptp":
        return np.subtract(*(reduce_selection(each, selection, (axis,), {}) for each in ("max", "min")))
    if name == "count_nonzero":
        return reduce_selection("sum", np.not_equal(cast("Any", selection), 0), (axis,), {})
    count, first = selection.mask.ndim, selection.axis
    given = range(selection.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    normal = {range(selection.ndim)[each] for each in given}
    axes = [each if each < first else each + count - 1 for each in normal if each != first]
    base, where = selection.base, selection.where
    picks = options.pop("where", None)
    if picks is not None:
        where = where & selection.aligned(picks)
    if first not in normal:
        found = getattr(np, name)(base, axis=tuple(axes), keepdims=keeps, **options)
        return Selection(found, selection.mask, first - (0 if keeps else sum(each < first for each in axes)))
    axes += range(first, first + count)
    if name in EXTREMES:
        base = without_others(name, base, where)
        if "initial" not in options:
            text = f"zero-size array to reduction operation {EXTREMES[name]} which has no identity"
            expect_some(text, where, tuple(axes))
    else:
        options["where"] = where
    found = getattr(np, name)(base, axis=tuple(axes), keepdims=keeps, **options)
    if keeps and count > 1:
        shape = [1 if each in axes else extent for each, extent in enumerate(selection.base.shape)]
        found = found.reshape(tuple(shape[:first] + shape[first + count - 1 :]))
    return found


def without_others(name: str, base: Array, where: Any) -> Any:
    """All elements, those that are not picked replaced by what is never the greatest, or least."""
    kind = base.dtype.kind
    if kind == "c":
        raise WindlassError(
            Diagnostic("WL0909", f"numpy.{name} of complex numbers that a mask picks is not supported inside wl.jit",
                       help="compare their absolute values or parts")
        )  # fmt: skip
    is_max = EXTREMES[name] == "maximum"
    if kind == "b":
        other: Any = not is_max
    elif kind in "iu":
        other = np.iinfo(base.dtype).min if is_max else np.iinfo(base.dtype).max
    else:
        other = -np.inf if is_max else np.inf
    return Array(jnp.where(plain(where), jnp.asarray(base.value), jnp.asarray(other, base.dtype)))


def expect_some(text: str, where: Any, axes: tuple[int, ...]) -> None:
    """Let the program fail where nothing is picked along the axes."""
    tracing = current_tracing()
    if tracing is not None:
        position, length = position_now()
        check = Check(text, position, "pass initial=", "WL0916", length, ArrayValueError)
        tracing.require_never(~jnp.all(jnp.any(plain(where), axis=axes)), check)


def _average(selection: Selection, axis: Any, options: dict[str, Any]) -> Any:
    weights = options.pop("weights", None)
    if weights is None:
        return reduce_selection("mean", selection, (axis,), options)
    if axis is not None and selection.ndim > 1:
        raise NeedsPlaces
    return weighted_mean(selection, weights)


def weighted_mean(values: Any, weights: Any) -> Any:
    """`numpy.average` of a vector."""
    total = np.sum(weights)
    tracing = current_tracing()
    if tracing is not None:
        tracing.require_never(plain(total) == 0, ZeroDivisionError("Weights sum to zero, can't be normalized"))
    return np.sum(values * weights) / total


def _product(left: Any, right: Any) -> Any:
    """`left @ right`: of two selections of one axis, or of one whose last axis is known."""
    if isinstance(left, Selection) and isinstance(right, Selection):
        if left.ndim == right.ndim == 1:
            kind = np.result_type(left.dtype, right.dtype)
            product = np.multiply(left, right)
            return np.any(product) if kind.kind == "b" else np.sum(product, dtype=kind)
    elif isinstance(left, Selection) and left.ndim > 1 and left.axis < left.ndim - 1 and np.ndim(right) in (1, 2):
        return Selection(np.matmul(cast("Any", left.base), right), left.mask, left.axis)
    raise NeedsPlaces


# -- reading and writing ----------------------------------------------------------------------------------------------


def pick(array: Array, choice: Pick) -> Any:
    """`array[..., mask, ...]`: a copy of what the mask picks."""
    if not choice.mask.size:
        return _of_nothing(array[choice.entries], choice)
    found = Selection(array[choice.entries].copy(), choice.mask, choice.axis)
    if found.dtype.kind in "fc":
        found.base = Array(_filled(jnp.asarray(found.base.value), found.spread_mask()))
    return found


def write(array: Array, choice: Pick, value: Any) -> None:
    """`array[..., mask, ...] = value`."""
    if not choice.mask.size:
        _of_nothing(array[choice.entries], choice)[...] = value
        return
    Selection(array[choice.entries], choice.mask, choice.axis).write(value)


def _of_nothing(view: Array, choice: Pick) -> Array:
    """What a mask without elements picks."""
    shape = (*view.shape[: choice.axis], 0, *view.shape[choice.axis + choice.mask.ndim :])
    return Array(jnp.zeros(shape, view.dtype))


def _has_derivatives(value: Any) -> bool:
    return isinstance(plain(value), Tracer) and np.dtype(value.dtype).kind in "fc"


def _filled(value: Any, mask: Any) -> Any:
    """The elements, and ones where nothing is picked: so no derivative of what is computed there reaches them."""
    return jnp.where(mask, value, jnp.ones((), value.dtype))


def _as_spans(tree: Any) -> Any:
    """Arguments with spans in the place of selections."""
    return jax.tree.map(
        lambda each: each.span if isinstance(each, Selection) else each,
        tree,
        is_leaf=lambda each: isinstance(each, Array | UnknownLength),
    )


def _spread_out(value: Any, selection: Selection) -> Any:
    """Elements that stand one behind the other, at the places of the selection's `base` that they are for."""
    first, count = selection.axis, selection.mask.ndim
    places = places_of(selection.mask)
    target = (*selection.base.shape[:first], *places.extents, *selection.base.shape[first + count :])
    span = as_span(_as_spans(value))
    span = span if span.ndim <= len(target) else as_span(span[(0,) * (span.ndim - len(target))])
    expect_broadcast(target, span)
    axis = first - len(target) + span.ndim
    if axis < 0:
        return span.view
    room = cast("Length", places.extents[0]).room
    elements = read_aligned(span, target, tuple(each.easiest if isinstance(each, Length) else None for each in target))
    if elements.shape[axis] == room != 1:
        elements = jnp.take(elements, numbers_of(selection.mask), axis=axis, mode="clip")
        shape = selection.mask.shape
    else:
        shape = (1,) * count
    return Array(jnp.reshape(elements, (*elements.shape[:axis], *shape, *elements.shape[axis + 1 :])))


def _from_parts(axis: int, parts: Sequence[Any]) -> Any:
    base, mask = parts
    mask = mask.value if isinstance(mask, Array) else mask
    if not isinstance(base, Array) or not isinstance(mask, Tracer | jax.Array):
        return tuple(parts)
    return Selection(base, mask, axis)


jax.tree_util.register_pytree_node(Selection, lambda each: ((each.base, each.mask), each.axis), _from_parts)
