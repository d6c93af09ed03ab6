"""`Array`: NumPy's array over a JAX value, with writes in place and views that share memory."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays import indexing, sharing
from windlass.frontends.arrays.elements import Flags, Flat
from windlass.frontends.arrays.masks import pick_of
from windlass.frontends.arrays.tracing import Storage, can_be_written, current_tracing, note_needed
from windlass.frontends.arrays.unknown_lengths import UnknownLength
from windlass.frontends.arrays.values import (
    LOOKED_AT,
    NO_ELEMENTS,
    as_jax,
    cast_to,
    leaked,
    put,
    read_only,
    reshaped,
    unsupported,
    untraceable,
)
from windlass.frontends.arrays.views import (
    Broadcast,
    Diagonal,
    Permute,
    Regroup,
    Reinterpret,
    Shadow,
    ViewPart,
    ViewStep,
    ViewTake,
    known_order,
    lies_in,
    run_of,
    shadow_of,
    shadow_of_copy,
)
from windlass.stablehlo.private_jax import weakly_typed

ANSWERS: dict[str, Callable[..., Any]] = {}
"""What arrays give where NumPy asks them, by protocol: entered by functions.py, which knows NumPy's functions."""


class Array:
    """An array inside `wl.jit`. It behaves as `numpy.ndarray` does: slices, transposes and reshapes of it are views,
    `a[...] = v`, `a += v` and `out=a` write in place, and kernels launched on it update it.

    `value` is the JAX value, for use with jax.numpy and JAX transformations; functions of jax.numpy take an `Array`
    directly too. It is a NumPy array as long as nothing traced was written to an array that NumPy made.
    """

    __slots__ = ("_shadow", "steps", "storage")
    __array_priority__ = 1000.0
    is_scalar = False
    """Whether it is a number, as NumPy's scalars are, rather than an array."""

    def __init__(
        self, value: Any, storage: Storage | None = None, steps: tuple[ViewStep, ...] = (), shadow: Shadow | None = None
    ) -> None:
        if storage is None:
            strides = np.empty_like(value).strides if isinstance(value, np.ndarray) else None
            value = np.array(value, order="C") if isinstance(value, np.ndarray) else jnp.asarray(value)
            storage = Storage(value if isinstance(self, Scalar) else strongly_typed(value))
            if shadow is None:
                shadow = shadow_of(tuple(value.shape), np.dtype(value.dtype), strides)
        assert shadow is not None
        self.storage = storage
        self.steps = steps
        self._shadow = shadow

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shadow.shape

    @property
    def dtype(self) -> np.dtype:
        return self._shadow.dtype

    @property
    def ndim(self) -> int:
        return self._shadow.ndim

    @property
    def size(self) -> int:
        return self._shadow.size

    @property
    def itemsize(self) -> int:
        return self._shadow.itemsize

    @property
    def nbytes(self) -> int:
        return self._shadow.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        return self._shadow.strides

    @property
    def device(self) -> str:
        return "cpu"

    @shape.setter
    def shape(self, value: Any) -> None:
        raise unsupported("setting an array's shape", f"name a view of that shape: a = a.reshape({value})")

    @dtype.setter
    def dtype(self, value: Any) -> None:
        raise unsupported("setting an array's dtype", f"name a view of that dtype: a = a.view({np.dtype(value)!r})")

    @strides.setter
    def strides(self, value: Any) -> None:
        raise unsupported("setting an array's strides", "name a view: numpy.lib.stride_tricks.as_strided(a, ...)")

    @property
    def shadow(self) -> Shadow:
        """A NumPy array that lies as this one does in NumPy, without elements."""
        return self._shadow

    def lie(self, strides: tuple[int, ...]) -> None:
        """Let a new array lie in memory at these strides, which decides what is a view of it and what a copy."""
        self._shadow = shadow_of(self.shape, self.dtype, strides)

    @property
    def flags(self) -> Flags:
        """NumPy's flags: `a.flags.writeable`, `a.flags.c_contiguous`, …"""
        return Flags(self)

    def setflags(self, write: bool | None = None, align: Any = None, uic: Any = None) -> None:
        tracing = current_tracing()
        if tracing is not None and tracing.is_within_branch():
            raise unsupported("setting flags in a loop or branch of the program", "set them before it")
        self._shadow.setflags(write=write, align=align, uic=uic)

    @property
    def value(self) -> Any:
        """The JAX value of the elements as they are now.

        Raises WindlassError (WL0908) where that is not known, since what may be the same array was written.
        """
        sharing.expect_known(self.storage)
        return elements_of(self)

    @property
    def is_traced(self) -> bool:
        """Whether the elements are not known while the function is compiled."""
        return isinstance(self.storage.value, Tracer) or not self.is_static

    def __jax_array__(self) -> Any:
        return jnp.asarray(self.value)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[index] for index in range(self.shape[0]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        value = self.value
        if isinstance(value, Tracer):
            note_needed(value)
            raise untraceable(NO_ELEMENTS, LOOKED_AT)
        return np.array(value, dtype)

    @property
    def is_whole(self) -> bool:
        """Whether it shows all of its memory as it is."""
        return not self.steps

    @property
    def _shows_all(self) -> bool:
        """Whether it shows all of its memory, in any order; asked of arrays that may be written."""
        return self.nbytes == self.storage.value.nbytes

    @property
    def is_static(self) -> bool:
        """Whether it is known which elements of its memory it shows."""
        return all(step.is_static for step in self.steps if isinstance(step, ViewTake))

    def first_element(self) -> int | None:
        """The number of the first element in its memory, if that is one array in C order and all its elements are."""
        if not self.is_static or any(isinstance(step, ViewPart | Reinterpret) for step in self.steps):
            return None
        base = self._shadow
        while isinstance(base.base, np.ndarray):
            base = base.base
        first = self._shadow.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return first // self.itemsize if base.flags.c_contiguous else None

    def contiguous_run(self) -> tuple[Storage, int] | None:
        """The storage and the number of the first element, if this is one run of elements in C order; else None."""
        first = self.first_element() if self._shadow.flags.c_contiguous or not self.size else None
        return None if first is None else (self.storage, first)

    # -- views --------------------------------------------------------------------------------------------------------

    def _view(self, step: ViewStep, shadow: Shadow) -> Array:
        return Array(None, self.storage, (*self.steps, step), shadow)

    @property
    def T(self) -> Array:  # noqa: N802 (NumPy's name)
        return self.transpose()

    def transpose(self, *axes: Any) -> Array:
        order = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list)) else axes
        shadow = self._shadow.transpose(*([] if not order else [order]))
        normal = tuple(axis % self.ndim for axis in order) if order else tuple(reversed(range(self.ndim)))
        return self._view(Permute(normal), shadow)

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        shadow = self._shadow.swapaxes(axis1, axis2)  # which also says where there is no such axis
        axes = list(range(self.ndim))
        axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
        return self._view(Permute(tuple(axes)), shadow)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Array:
        extents = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        # NumPy itself says what -1 is, and what does not fit.
        target = shadow_of(self.shape, self.dtype).reshape([operator.index(extent) for extent in extents]).shape
        order = known_order(order)
        if order == "K":
            raise ValueError("order 'K' is not permitted for reshaping")
        if order == "F" or (order == "A" and self._shadow.flags.fnc):
            return self.T.reshape(target[::-1], copy=copy).T
        if not copy and self.ndim > 1 and not self.storage.has_known_order:
            # A view in one order and a copy in another: it is one or the other.
            found = Array(reshaped(self.value, target))
            sharing.relate_two(found.storage, self.storage)
            return found
        try:
            shadow = np.reshape(self._shadow, target, copy=False)
        except ValueError:
            if copy is False:
                raise
            return Array(reshaped(self.value, target))
        view = self._view(Regroup(target), shadow)
        return view.copy() if copy else view

    def ravel(self, order: str = "C") -> Array:
        axes, is_run = self._run_of(order)
        if is_run or not self.storage.has_known_order:
            return self.transpose(axes).reshape(-1)
        return self.flatten(order)

    def flatten(self, order: str = "C") -> Array:
        axes, _ = self._run_of(order)
        return Array(reshaped(self.value.transpose(axes), (-1,)))

    def _run_of(self, order: str) -> tuple[tuple[int, ...], bool]:
        """The axes from slow to fast that the order asks for, and whether NumPy's `ravel` gives a view for it."""
        wanted = known_order(order)
        if wanted in "KA" and self.ndim > 1 and not self.storage.has_known_order:
            raise WindlassError(
                Diagnostic(
                    "WL0908",
                    f"it is not known in which order 'order=\"{wanted}\"' takes these elements",
                    notes=("a loop or branch made this array one of several, which lie in memory in different ways",),
                    help="say the order, 'C' or 'F'",
                )
            )
        return run_of(self._shadow, wanted)

    def squeeze(self, axis: Any = None) -> Array:
        shadow = self._shadow.squeeze(axis)
        if shadow is self._shadow:
            return self
        return self._view(Regroup(shadow.shape), shadow)

    @property
    def mT(self) -> Array:  # noqa: N802 (NumPy's name)
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)

    def view(self, dtype: Any = None, type: Any = None) -> Array:
        if type is not None or (isinstance(dtype, builtins.type) and issubclass(dtype, np.ndarray)):
            raise unsupported("views of another class of arrays", "use the array itself")
        shadow = self._shadow.view() if dtype is None else self._shadow.view(dtype)
        if shadow.dtype.kind not in "biufc" and shadow.dtype != self.dtype:
            raise unsupported(f"views as {shadow.dtype}", "use views of numbers")
        return self._view(Regroup(self.shape) if shadow.dtype == self.dtype else Reinterpret(shadow.dtype), shadow)

    def getfield(self, dtype: Any, offset: int = 0) -> Array:
        shadow = self._shadow.getfield(dtype, offset)
        if shadow.dtype == self.dtype:
            return self._view(Regroup(self.shape), shadow)
        count, place = self.itemsize // shadow.itemsize, offset // shadow.itemsize
        if self.itemsize % shadow.itemsize or offset % shadow.itemsize or shadow.dtype.kind not in "biufc":
            raise unsupported(f"fields of {shadow.dtype} at byte {offset}", "use fields that divide an element")
        # As the last axis in C order, whose strides do not count here: the shadow has those.
        parts = self._view(Regroup((*self.shape, 1)), shadow_of((*self.shape, 1), self.dtype))
        fields = parts.view(shadow.dtype)
        assert fields.shape[-1] == count
        return Array(None, self.storage, fields[..., place].steps, shadow)

    def setfield(self, val: Any, dtype: Any, offset: int = 0) -> None:
        self.getfield(dtype, offset).assign(val)

    @property
    def real(self) -> Array:
        if is_python_number(self):
            return as_python_number(jnp.real(self.value))
        return self._view(ViewPart("real"), cast("Any", self._shadow).real) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Array:
        if is_python_number(self):
            return as_python_number(jnp.imag(self.value))
        if self.dtype.kind == "c":
            return self._view(ViewPart("imag"), cast("Any", self._shadow).imag)
        zeros = Array(np.zeros(self.shape, self.dtype))
        zeros.setflags(write=False)
        return zeros

    def conj(self, *rest: Any, **options: Any) -> Any:
        if self.dtype.kind != "c" and not rest and not options:
            return self
        found = np.conjugate(cast("Any", self), *rest, **options)
        return as_python_number(found.value) if is_python_number(self) else found

    conjugate = conj

    @real.setter
    def real(self, value: Any) -> None:
        (self._view(ViewPart("real"), cast("Any", self._shadow).real) if self.dtype.kind == "c" else self).assign(value)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self._view(ViewPart("imag"), cast("Any", self._shadow).imag).assign(value)

    @property
    def flat(self) -> Flat:
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[...] = value

    def copy(self, order: str = "C") -> Array:
        return Array(self.value, shadow=shadow_of_copy(self._shadow, self.dtype, known_order(order)))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        shadow = self._shadow.diagonal(offset, axis1, axis2)
        return self._view(Diagonal(offset, axis1 % self.ndim, axis2 % self.ndim), shadow)

    def broadcast_to(self, shape: Any, is_writeable: bool = False) -> Array:
        shadow = np.broadcast_to(self._shadow, shape)
        if is_writeable and self._shadow.flags.writeable:
            shadow.flags.writeable = True
        return self._view(Broadcast(shadow.shape), shadow)

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copy()

    # -- elements -----------------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        entries = index if isinstance(index, tuple) else (index,)
        if not all(indexing.is_basic(entry) for entry in entries):
            if any(isinstance(entry, UnknownLength) for entry in entries):
                return ANSWERS["take"](self, entries)
            choice = pick_of(index, self.shape)
            if choice is not None:
                return ANSWERS["pick"](self, choice)
            places = indexing.checked_index(index, self.shape)
            is_traced = any(isinstance(each, jax.Array) for each in places)
            found = Array((jnp.asarray(self.value) if is_traced else self.value)[places])
            return ANSWERS["order"](found, self, index)
        if ANSWERS["moves"](entries):
            return ANSWERS["span"](self, entries)
        step, shadow = indexing.basic_step(self._shadow, entries)
        found = Array(self._nothing(shadow)) if step is None else self._view(step, shadow)
        if len(entries) == self.ndim and all(indexing.is_integer(entry) for entry in entries):
            # One element: NumPy gives a number, which is a copy.
            return wrapped(found.value)
        # NumPy gives copies for indices that are arrays, also for those that have no axes.
        return found.copy() if any(indexing.is_zero_dimensional_array(entry) for entry in entries) else found

    def row(self, number: Any) -> Any:
        """`a[number]` for a traced number that is a place along the first axis: nothing is checked."""
        shadow = self._shadow[0]
        rest = self.shape[1:]
        starts, ones = (jnp.asarray(number), *(0,) * len(rest)), (1,) * self.ndim
        view = self._view(ViewTake(starts, ones, (1, *rest), (0,), rest), shadow)
        return view if rest else wrapped(view.value)

    def window(self, axis: int, start: Any, step: int, count: int) -> Array:
        """`a[start : start + step * count : step]` along an axis, as a view, for a start that may be traced: nothing is
        checked."""
        before = (slice(None),) * axis
        starts = tuple(start if each == axis else 0 for each in range(self.ndim))
        steps = tuple(step if each == axis else 1 for each in range(self.ndim))
        shadow = self._shadow[(*before, slice(0, step * count, step))]
        return self._view(ViewTake(starts, steps, shadow.shape, (), shadow.shape), shadow)

    def __setitem__(self, index: Any, value: Any) -> None:
        entries = index if isinstance(index, tuple) else (index,)
        if all(indexing.is_basic(entry) for entry in entries):
            if ANSWERS["moves"](entries):
                ANSWERS["write span"](self, entries, value)
                return
            step, shadow = indexing.basic_step(self._shadow, entries)
            if step is not None:
                self._view(step, shadow).assign(value)
            return
        if any(isinstance(entry, UnknownLength) for entry in entries):
            ANSWERS["put"](self, entries, value)
            return
        choice = pick_of(index, self.shape)
        if choice is not None:
            ANSWERS["write"](self, choice, value)
            return
        new = _unwrap(value)
        place = jnp.asarray(self.value).at[indexing.checked_index(index, self.shape)]
        self.assign(place.set(cast_to(new, self.dtype)))

    def write_where(self, view: Array, mask: Any, value: Any) -> None:
        """Write `value` to those elements of a view of this array that the mask picks."""
        view.assign(jnp.where(mask, cast_to(_unwrap(value), self.dtype), view.value))

    def assign(self, value: Any) -> None:
        """Write `value`, broadcast and cast to this array's dtype, into the memory that this array shows.

        Raises WindlassError (WL0908) where it is not known which memory that is, and ArrayValueError (WL0919) where
        the array is read-only.
        """
        if not self._shadow.flags.writeable:
            raise read_only(
                "an array is written that is read-only",
                "numpy.diagonal, numpy.broadcast_to and their kin give views that NumPy lets nobody write",
            )
        if not all(step.may_be_written for step in self.steps):
            raise read_only("a view is written whose elements share memory", "what was written would show many times")
        if not can_be_written(self.storage):
            raise WindlassError(
                Diagnostic(
                    "WL0917",
                    "an array from outside is written in a function that JAX transforms: nothing of it would be kept",
                    help="let that function return the new value, or write a Python loop",
                )
            )
        new = ANSWERS["fitted"](value, self.shape) if isinstance(value, UnknownLength) else _unwrap(value)
        if not isinstance(new, jax.Array) and isinstance(elements_of(self), np.ndarray):
            part = np.empty(self.shape, self.dtype)
            part[...] = new
            sharing.write(self.storage, put(self.storage.value, self.steps, part), self._shows_all)
            return
        new = cast_to(new, self.dtype)
        if new.ndim > self.ndim and all(extent == 1 for extent in new.shape[: new.ndim - self.ndim]):
            new = jnp.reshape(new, new.shape[new.ndim - self.ndim :])
        if jnp.broadcast_shapes(new.shape, self.shape) != self.shape:
            raise ValueError(f"could not broadcast input array from shape {new.shape} into shape {self.shape}")
        whole = self.storage.value
        whole = as_jax(whole) if self.steps else whole
        sharing.write(self.storage, put(whole, self.steps, jnp.broadcast_to(new, self.shape)), self._shows_all)

    def fill(self, value: Any) -> None:
        self.assign(value)

    def item(self, *index: Any) -> Any:
        if not index and self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        places = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
        found = self.reshape(()).value if not places else (self.flat[places[0]] if len(places) == 1 else self[places])
        return as_python_number(_unwrap(found))

    def tolist(self) -> Any:
        return np.asarray(self).tolist()

    @staticmethod
    def _nothing(shadow: Shadow) -> Any:
        """What stands for elements of an axis that has none, where the program fails."""
        return jnp.zeros(shadow.shape, shadow.dtype)

    def __delitem__(self, index: Any) -> None:
        raise ValueError("cannot delete array elements")

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(cast("Any", self) == value))

    # -- what Python asks of numbers ----------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        return bool(self._known("the truth of an array", "Python asked for it"))

    def __int__(self) -> int:
        return int(self._known("its value as a Python int", "keep it as an array"))

    def __float__(self) -> float:
        return float(self._known("its value as a Python float", "keep it as an array"))

    def __complex__(self) -> complex:
        return complex(self._known("its value as a Python complex", "keep it as an array"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.shape:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(
            self._known(
                "a number that Python needs as an index or a count",
                "a list, a tuple, `range` or a function of Python's asks for it",
            )
        )

    def _known(self, what: str, note: str) -> Any:
        value = self.value
        if isinstance(value, Tracer):
            note_needed(value)
            raise untraceable(f"{what} is not known while the function is compiled", note)
        return value

    # -- NumPy's protocols --------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return ANSWERS["ufunc"](ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if any(issubclass(each, UnknownLength) for each in types):
            return NotImplemented  # what a mask picks knows better
        return ANSWERS["function"](function, arguments, options)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Array:
        wanted, order_ = np.dtype(dtype), known_order(order)
        if not np.can_cast(self.dtype, wanted, casting):  # pyright: ignore[reportArgumentType]
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {wanted!r} according to the rule '{casting}'"
            )
        if self.is_scalar:
            return wrapped(cast_to(self.value, wanted))
        if not copy and wanted == self.dtype and lies_in(self._shadow, order_):
            return self
        return Array(cast_to(self.value, wanted), shadow=shadow_of_copy(self._shadow, wanted, order_))

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
        self.assign(np.sort(cast("Any", self), axis, kind, order, stable=stable))

    def dot(self, other: Any) -> Any:
        return np.dot(cast("Any", self), other)


class Scalar(Array):
    """A number inside `wl.jit`, as NumPy's scalars and Python's numbers are: nothing changes it.

    Operators with `=` give a new one, so that other names of it stay what they are.
    """

    __slots__ = ()
    is_scalar = True

    def _view(self, step: ViewStep, shadow: Shadow) -> Array:
        copy = Array(self.value)
        return Array(None, copy.storage, (step,), shadow)

    def assign(self, value: Any) -> None:
        """Raises TypeError: numbers stay what they are."""
        raise TypeError(f"'numpy.{self.dtype.name}' object does not support item assignment")

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"'numpy.{self.dtype.name}' object is not iterable")

    def __getitem__(self, index: Any) -> Any:
        if index == ():
            return self
        if isinstance(index, int | slice) or getattr(index, "is_scalar", False):
            raise IndexError("invalid index to scalar variable.")
        return Array(self.value)[index]

    def copy(self, order: str = "C") -> Array:
        return self


def elements_of(array: Array) -> Any:
    """The value of the elements, which may be in doubt: to be carried along, not to be computed with."""
    found = array.storage.value
    if isinstance(found, Tracer) and array.storage.tracing is not current_tracing():
        raise leaked()
    for step in array.steps:
        found = step.get(found)
    return found


def wrapped(value: Any, is_array: bool = False) -> Any:
    """A value of JAX as an array, or as a number where it has no axes; NumPy's arrays too, its numbers as they are."""
    if isinstance(value, np.generic) or not isinstance(value, jax.Array | np.ndarray):
        return value
    if value.ndim or is_array:
        return Array(value)
    return value[()] if isinstance(value, np.ndarray) else Scalar(value)


def strongly_typed(value: Any) -> Any:
    """A value of JAX's as an array or a number of NumPy is: not promoted weakly."""
    is_weak = isinstance(value, jax.Array) and value.weak_type
    return jax.lax.convert_element_type(value, value.dtype) if is_weak else value


def is_python_number(value: Any) -> bool:
    """Whether it is a number of Python's own, known or not."""
    if isinstance(value, Scalar):
        return bool(getattr(value.value, "weak_type", False))
    return isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic)


def as_python_number(value: Any) -> Any:
    """What Python's own number would be for a JAX or NumPy scalar: promoted weakly."""
    if isinstance(value, np.ndarray | np.generic):
        return value.item()
    kind = np.dtype(value.dtype).kind
    wide = {"i": "int64", "u": "int64", "f": "float64", "c": "complex128"}.get(kind)
    return Scalar(value) if wide is None else Scalar(weakly_typed(value, np.dtype(wide)))


def _unwrap(value: Any) -> Any:
    return value.value if isinstance(value, Array) else value
