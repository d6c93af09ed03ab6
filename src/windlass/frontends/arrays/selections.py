"""What a boolean mask picks of an array: as many elements as the mask has that are true, which is not known before the
program runs.

A `Selection` is all elements together with the mask. Elementwise functions are computed of all, reductions look at
those that the mask picks, and `x[mask] = selection` writes these back. What would need their number or their places in
a row is refused at the line that asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import ArrayTypeError, ArrayValueError, Diagnostic, WindlassError
from windlass.frontends.arrays.array import Array, Scalar
from windlass.frontends.arrays.indexing import MASK_HELP, plain
from windlass.frontends.arrays.masks import Pick
from windlass.frontends.arrays.operators import define_operators
from windlass.frontends.arrays.tracing import Check, current_tracing, position_now
from windlass.frontends.arrays.ufuncs import REDUCERS
from windlass.frontends.arrays.unknown_lengths import UnknownLength

ELEMENTWISE = frozenset({"where", "clip", "round", "around", "nan_to_num", "isclose", "real", "imag", "angle", "copy",
                         "zeros_like", "ones_like", "full_like", "fix", "sinc", "i0", "select"})  # fmt: skip
"""Functions of NumPy, other than ufuncs, that look at elements one by one."""
REDUCTIONS = frozenset({"sum", "prod", "mean", "std", "var", "any", "all"})
"""Reductions that take `where=`, and have a value where nothing is picked."""
EXTREMES = {"max": "maximum", "amax": "maximum", "min": "minimum", "amin": "minimum"}


class Selection(UnknownLength):
    """The elements of an array that a traced mask picks. `base` has all elements; `axis` is the axis of the selection
    that stands for those of the mask."""

    __slots__ = ("axis", "base", "mask")
    headline = "how many elements a mask picks is not known while the function is compiled"
    help = MASK_HELP

    def __init__(self, base: Any, mask: Any, axis: int) -> None:
        super().__init__()
        self.base: Array = base if isinstance(base, Array) else Array(base)
        self.mask = mask
        self.axis = axis

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
        return Scalar(jnp.sum(self.mask, dtype=jnp.int64))

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
        return Array(jnp.broadcast_to(self._spread_mask(), self.base.shape))

    def _spread_mask(self) -> Any:
        after = self.base.ndim - self.axis - self.mask.ndim
        return jnp.reshape(self.mask, (1,) * self.axis + self.mask.shape + (1,) * after)

    # -- with other values --------------------------------------------------------------------------------------------

    def aligned(self, other: Any, what: str = "what stands beside it") -> Any:
        """Another operand so that it stands beside `base`.

        Raises WindlassError (WL0904) where it has its own number of elements.
        """
        if isinstance(other, Selection):
            self._expect_same_mask(other)
            return other.base
        if isinstance(other, list | tuple):
            other = np.array(other)
        shape = np.shape(other) if not isinstance(other, Array) else other.shape
        after = self.base.ndim - self.axis - self.mask.ndim
        if len(shape) <= after:
            return other
        place = len(shape) - after - 1
        if shape[place] != 1:
            raise self.unknown(what)
        target = (*shape[:place], *(1,) * self.mask.ndim, *shape[place + 1 :])
        return other.reshape(target) if isinstance(other, Array | np.ndarray) else jnp.reshape(other, target)

    def _expect_same_mask(self, other: Selection) -> None:
        if other.mask is self.mask and other.axis == self.axis:
            return
        if other.mask.shape != self.mask.shape or other.axis != self.axis or other.ndim != self.ndim:
            raise self.unknown("whether it has as many elements as another selection")
        tracing = current_tracing()
        if tracing is not None:
            position, length = position_now()
            text = "two masks pick different elements: what they pick stands side by side only where they are equal"
            check = Check(text, position, MASK_HELP, "WL0922", length, ArrayValueError)
            tracing.require_never(jnp.any(jnp.asarray(self.mask) != jnp.asarray(other.mask)), check)

    def like(self, base: Any) -> Any:
        """Other values of the same selection."""
        if isinstance(base, tuple | list):
            return tuple(map(self.like, cast("Sequence[Any]", base)))
        base = base if isinstance(base, Array) else Array(jnp.asarray(base))
        return Selection(base, self.mask, self.axis + base.ndim - self.base.ndim)

    # -- NumPy's protocols --------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        if method == "reduce" and ufunc.__name__ in REDUCERS and out is None:
            return reduce_selection(REDUCERS[ufunc.__name__], inputs[0], inputs[1:] or (0,), options)
        if method != "__call__":
            raise self.unknown(f"numpy.{ufunc.__name__}.{method}")
        if ufunc is np.matmul:
            return _product(*inputs)
        first = next(each for each in inputs if isinstance(each, Selection))
        values = [first.aligned(each) for each in inputs]
        if isinstance(options.get("where"), Selection):
            options["where"] = first.aligned(options["where"])
        found = first.like(ufunc(*values, **options))
        if out is None:
            return found
        (target,) = out
        if not isinstance(target, Selection):
            raise self.unknown("what is written to `out`")
        if not np.can_cast(found.dtype, target.dtype, "same_kind"):
            raise ArrayTypeError(
                Diagnostic(
                    "WL0916",
                    f"Cannot cast ufunc '{ufunc.__name__}' output from dtype('{found.dtype}') to "
                    f"dtype('{target.dtype}') with casting rule 'same_kind'",
                )
            )
        target._expect_same_mask(found)
        target.base = found.base.astype(target.dtype)
        return target

    def __array_function__(self, function: Any, types: Any, arguments: Sequence[Any], options: Any) -> Any:
        name = function.__name__
        if name in REDUCTIONS or name in EXTREMES or name in ("ptp", "count_nonzero", "average"):
            return reduce_selection(name, arguments[0], arguments[1:], options)
        if name in ("size", "shape", "ndim") and len(arguments) == 1 and not options:
            return getattr(arguments[0], name)
        if name in ("dot", "vdot", "inner") and len(arguments) == 2:
            return _product(np.conj(arguments[0]) if name == "vdot" else arguments[0], arguments[1])
        if name == "norm" and len(arguments) == 1 and not options and self.ndim == 1:
            return np.sqrt(reduce_selection("sum", np.square(np.abs(cast("Any", self))), (), {}))
        if name in ELEMENTWISE and options.get("out") is None:
            values = [self.aligned(each) if _is_value(each) else each for each in arguments]
            named = {key: self.aligned(each) if _is_value(each) else each for key, each in options.items()}
            return self.like(function(*values, **named))
        raise self.unknown(f"what numpy.{name} gives")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, Selection) and index.dtype == np.bool_ and self.ndim == index.ndim == 1:
            self._expect_same_mask(index)
            return Selection(self.base, self.mask & jnp.asarray(index.base.value), self.axis)
        entries = index if isinstance(index, tuple) else (index,)
        if self.axis == 0 and isinstance(entries[0], slice) and entries[0] == slice(None) and Ellipsis not in entries:
            kept: Any = self.base[(*(slice(None),) * self.mask.ndim, *entries[1:])]
            return Selection(kept, self.mask, 0)
        raise self.unknown("which of its elements are asked for")

    def __setitem__(self, index: Any, value: Any) -> None:
        raise self.unknown("which of its elements are written")

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

    def ravel(self, order: str = "C") -> Selection:
        if self.ndim != 1:
            raise self.unknown("'ravel' of several axes")
        return self

    flatten = ravel

    def dot(self, other: Any) -> Any:
        return _product(self, other)

    @property
    def T(self) -> Selection:  # noqa: N802 (NumPy's name)
        return self.ravel()


define_operators(Selection)
for _name in (*REDUCTIONS, "max", "min", "ptp"):

    def _method(self: Selection, *rest: Any, _name: str = _name, **options: Any) -> Any:
        return reduce_selection(_name, self, rest, options)

    setattr(Selection, _name, _method)
for _name in ("clip", "round"):

    def _elementwise(self: Selection, *rest: Any, _name: str = _name, **options: Any) -> Any:
        return getattr(np, _name)(self, *rest, **options)

    setattr(Selection, _name, _elementwise)


def _is_value(value: Any) -> bool:
    return isinstance(value, Selection | Array | jax.Array | np.ndarray | list)


# -- reductions -------------------------------------------------------------------------------------------------------


def reduce_selection(name: str, selection: Selection, rest: Sequence[Any], options: dict[str, Any]) -> Any:
    """What `numpy.sum(selection, *rest, **options)` and its kin give."""
    options = {key: value for key, value in options.items() if value is not np._NoValue and value is not None}  # pyright: ignore[reportPrivateUsage]
    axis = rest[0] if rest else options.pop("axis", None)
    keeps = bool(options.pop("keepdims", False))
    if len(rest) > 1 or options.pop("out", None) is not None:
        raise selection.unknown(f"numpy.{name} with these arguments")
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
        raise selection.unknown("numpy.average with weights along an axis")
    return np.sum(selection * weights) / np.sum(weights)


def _product(left: Any, right: Any) -> Any:
    """`left @ right`: of two selections of one axis, or of one whose last axis is known."""
    selection = left if isinstance(left, Selection) else right
    if isinstance(left, Selection) and isinstance(right, Selection):
        if left.ndim == right.ndim == 1:
            return np.sum(np.multiply(left, right))
    elif isinstance(left, Selection) and left.ndim > 1 and left.axis < left.ndim - 1 and np.ndim(right) in (1, 2):
        return Selection(np.matmul(cast("Any", left.base), right), left.mask, left.axis)
    raise selection.unknown("a product with it")


# -- reading and writing ----------------------------------------------------------------------------------------------


def pick(array: Array, choice: Pick) -> Selection:
    """`array[..., mask, ...]`: a copy of what the mask picks."""
    return Selection(array[choice.entries].copy(), choice.mask, choice.axis)


def write(array: Array, choice: Pick, value: Any) -> None:
    """`array[..., mask, ...] = value`."""
    view = array[choice.entries]
    selection = Selection(view, choice.mask, choice.axis)
    new = selection.aligned(value, "how many numbers are to be written")
    array.write_where(view, selection.where.value, new)


def _from_parts(axis: int, parts: Sequence[Any]) -> Any:
    base, mask = parts
    mask = mask.value if isinstance(mask, Array) else mask
    if not isinstance(base, Array) or not isinstance(mask, Tracer | jax.Array):
        return tuple(parts)
    return Selection(base, mask, axis)


jax.tree_util.register_pytree_node(Selection, lambda each: ((each.base, each.mask), each.axis), _from_parts)


def refuse_selections(result: Any) -> None:
    """Raises WindlassError (WL0904) for what a mask picks, or a slice of unknown length, among what is returned."""
    for each in jax.tree.leaves(result, is_leaf=lambda each: isinstance(each, Array | UnknownLength)):
        if isinstance(each, UnknownLength):
            raise each.unknown("the shape of what is returned")
