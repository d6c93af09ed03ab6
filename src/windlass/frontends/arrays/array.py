"""`Array`: NumPy's array over a JAX value, with writes in place and views that share memory."""

from __future__ import annotations

import operator
import threading
import weakref
from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.views import Part, Permute, Regroup, Shadow, Step, Take, shadow_of


class Storage:
    """The memory that an array and its views share: one JAX value, replaced at each write.

    `is_uncertain` marks a copy that stands for one of several memories, which one being unknown until the program runs:
    reading it is right, writing to it would have to reach a memory that is not known.
    """

    __slots__ = ("__weakref__", "is_uncertain", "value")

    def __init__(self, value: Any, is_uncertain: bool = False) -> None:
        self.value = value
        self.is_uncertain = is_uncertain
        _alive.storages.add(self)


class _Alive(threading.local):
    """The storages of this thread, each function being traced by one thread."""

    def __init__(self) -> None:
        self.storages: weakref.WeakSet[Storage] = weakref.WeakSet()


_alive = _Alive()


def live_storages() -> list[Storage]:
    """The storages of this thread that something still refers to."""
    return list(_alive.storages)


class Array:
    """An array inside `wl.jit`. It behaves as `numpy.ndarray` does: slices, transposes and reshapes of it are views,
    `a[...] = v`, `a += v` and `out=a` write in place, and kernels launched on it update it.

    `value` is the JAX value, for use with jax.numpy and JAX transformations; functions of jax.numpy take an `Array`
    directly too.
    """

    __slots__ = ("_shadow", "_steps", "storage")
    __array_priority__ = 1000.0

    def __init__(
        self, value: Any, storage: Storage | None = None, steps: tuple[Step, ...] = (), shadow: Shadow | None = None
    ) -> None:
        if storage is None:
            value = jnp.asarray(value)
            storage = Storage(value)
            shadow = shadow_of(tuple(value.shape), np.dtype(value.dtype))
        assert shadow is not None
        self.storage = storage
        self._steps = steps
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
    def value(self) -> Any:
        """The JAX value of the elements as they are now."""
        found = self.storage.value
        for step in self._steps:
            found = step.get(found)
        return found

    def __jax_array__(self) -> Any:
        return self.value

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[index] for index in range(self.shape[0]))

    def __repr__(self) -> str:
        return f"windlass.Array({self.value!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        value = self.value
        if isinstance(value, Tracer):
            raise _untraceable("an array that is being traced has no elements yet", "NumPy was asked for them")
        return np.asarray(value, dtype)

    @property
    def is_whole(self) -> bool:
        """Whether it shows all of its memory as it is."""
        return not self._steps

    def contiguous_run(self) -> tuple[Storage, int] | None:
        """The storage and the number of the first element, if this is one run of elements in C order; else None."""
        if not self._shadow.flags.c_contiguous and self.size:
            return None
        if any(isinstance(step, Part) or (isinstance(step, Take) and not step.is_static) for step in self._steps):
            return None
        base = self._shadow
        while isinstance(base.base, np.ndarray):
            base = base.base
        first = self._shadow.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return self.storage, first // self.itemsize

    # -- views --------------------------------------------------------------------------------------------------------

    def _view(self, step: Step, shadow: Shadow) -> Array:
        return Array(None, self.storage, (*self._steps, step), shadow)

    @property
    def T(self) -> Array:  # noqa: N802 (NumPy's name)
        return self.transpose()

    def transpose(self, *axes: Any) -> Array:
        order = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list)) else axes
        shadow = self._shadow.transpose(*([] if not order else [order]))
        normal = tuple(axis % self.ndim for axis in order) if order else tuple(reversed(range(self.ndim)))
        return self._view(Permute(normal), shadow)

    def swapaxes(self, first: int, second: int) -> Array:
        axes = list(range(self.ndim))
        axes[first], axes[second] = axes[second], axes[first]
        return self.transpose(tuple(axes))

    def reshape(self, *shape: Any, order: str = "C") -> Array:
        extents = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        target = tuple(operator.index(extent) for extent in extents)
        if -1 in target:
            known = int(np.prod([extent for extent in target if extent != -1]))
            target = tuple(self.size // max(known, 1) if extent == -1 else extent for extent in target)
        if order not in ("C", "A", "K"):
            return Array(jnp.reshape(self.value, target, order=order))
        if int(np.prod(target)) != self.size:
            raise ValueError(f"cannot reshape array of size {self.size} into shape {target}")
        try:
            shadow = np.reshape(self._shadow, target, copy=False)
        except ValueError:
            return Array(jnp.reshape(self.value, target))
        return self._view(Regroup(target), shadow)

    def ravel(self, order: str = "C") -> Array:
        return self.reshape((-1,), order=order)

    def flatten(self, order: str = "C") -> Array:
        return Array(jnp.ravel(self.value, order=order))

    def squeeze(self, axis: Any = None) -> Array:
        shadow = self._shadow.squeeze(axis)
        return self._view(Regroup(shadow.shape), shadow)

    def view(self, *arguments: Any) -> Array:
        if arguments and np.dtype(arguments[0]) != self.dtype:
            raise _unsupported("views of another dtype", f"use jax.lax.bitcast_convert_type(a.value, {arguments[0]})")
        return self._view(Regroup(self.shape), self._shadow.view())

    @property
    def real(self) -> Array:
        return self._view(Part("real"), cast("Any", self._shadow).real) if self.dtype.kind == "c" else self.view()

    @property
    def imag(self) -> Array:
        if self.dtype.kind == "c":
            return self._view(Part("imag"), cast("Any", self._shadow).imag)
        return Array(jnp.zeros(self.shape, self.dtype))

    @real.setter
    def real(self, value: Any) -> None:
        (self._view(Part("real"), cast("Any", self._shadow).real) if self.dtype.kind == "c" else self).assign(value)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self._view(Part("imag"), cast("Any", self._shadow).imag).assign(value)

    @property
    def flat(self) -> Array:
        return self.reshape((-1,))

    def copy(self, order: str = "C") -> Array:
        return Array(self.value)

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copy()

    # -- elements -----------------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        step = self._take(index)
        if step is None:
            return Array(self.value[_plain_index(index)])
        view, shadow = step
        return self._view(view, shadow)

    def __setitem__(self, index: Any, value: Any) -> None:
        step = self._take(index)
        if step is not None:
            view, shadow = step
            self._view(view, shadow).assign(value)
            return
        plain = _plain_index(index)
        new = _unwrap(value)
        old = self.value
        if not isinstance(plain, tuple) and getattr(plain, "dtype", None) == np.bool_ and np.ndim(new) == 0:
            mask = jnp.reshape(plain, (*plain.shape, *(1,) * (self.ndim - plain.ndim)))
            self.assign(jnp.where(mask, _cast(new, self.dtype), old))
            return
        self.assign(old.at[plain].set(_cast(new, self.dtype)))

    def assign(self, value: Any) -> None:
        """Write `value`, broadcast and cast to this array's dtype, into the memory that this array shows.

        Raises WindlassError (WL0908) where that memory is not known before the program runs.
        """
        if self.storage.is_uncertain:
            raise WindlassError(
                Diagnostic(
                    "WL0908",
                    "this array is written after a loop that swapped it with another an unknown number of times",
                    notes=("which memory it stands for is not known before the program runs",),
                    help="write to a copy: u = u.copy()",
                )
            )
        new = jnp.broadcast_to(_cast(_unwrap(value), self.dtype), self.shape)
        self.storage.value = _put(self.storage.value, self._steps, new)

    def fill(self, value: Any) -> None:
        self.assign(value)

    def item(self) -> Any:
        return self.reshape(())

    def tolist(self) -> Any:
        return np.asarray(self).tolist()

    def _take(self, index: Any) -> tuple[Step, Shadow] | None:
        """The step for basic indexing, and its shadow; None for advanced indexing."""
        entries = index if isinstance(index, tuple) else (index,)
        if not all(_is_basic(entry) for entry in entries):
            return None
        count = sum(entry is not None and entry is not Ellipsis for entry in entries)
        if count > self.ndim:
            raise IndexError(f"too many indices: the array has {self.ndim} axes, {count} were indexed")
        if not any(entry is Ellipsis for entry in entries):
            entries = (*entries, Ellipsis)
        full: list[Any] = []
        for entry in entries:
            full += [slice(None)] * (self.ndim - count) if entry is Ellipsis else [entry]
        starts: list[Any] = []
        steps: list[int] = []
        counts: list[int] = []
        dropped: list[int] = []
        static: list[Any] = []
        axis = 0
        for entry in full:
            if entry is None:
                static.append(None)
                continue
            extent = self.shape[axis]
            if isinstance(entry, slice):
                start, stop, step = _static_bounds(entry).indices(extent)
                found = range(start, stop, step)
                if not found:
                    start, stop, step = 0, 0, 1
                static.append(slice(start, None if stop < 0 else stop, step))
                starts.append(start)
                steps.append(step)
                counts.append(len(found))
            else:
                number = _known_integer(entry)
                if number is None:
                    number = _unwrap(entry)
                    static.append(0 if extent else slice(0, 0))
                else:
                    if not -extent <= number < extent:
                        raise IndexError(f"index {number} is out of bounds for axis {axis} with size {extent}")
                    number %= extent
                    static.append(number)
                starts.append(number)
                steps.append(1)
                counts.append(1)
                dropped.append(axis)
            axis += 1
        shadow = self._shadow[(*static, ...)]
        return Take(tuple(starts), tuple(steps), tuple(counts), tuple(dropped), shadow.shape), shadow

    # -- what Python asks of numbers ----------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        return bool(self._known("its truth", "an `if` or `while` on it can't be captured here"))

    def __int__(self) -> int:
        return int(self._known("its value as a Python int", "keep it as an array"))

    def __float__(self) -> float:
        return float(self._known("its value as a Python float", "keep it as an array"))

    def __complex__(self) -> complex:
        return complex(self._known("its value as a Python complex", "keep it as an array"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.shape:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self._known("its value as an index", "keep it as an array"))

    def _known(self, what: str, note: str) -> Any:
        value = self.value
        if isinstance(value, Tracer):
            raise _untraceable(f"{what} is not known while the function is compiled", note)
        return value

    # -- NumPy's protocols --------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from windlass.frontends.arrays.functions import apply_ufunc

        return apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        from windlass.frontends.arrays.functions import apply_function

        return apply_function(function, arguments, options)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Array:
        return Array(_cast(self.value, np.dtype(dtype)))

    def sort(self, axis: int = -1) -> None:
        self.assign(jnp.sort(self.value, axis=axis))

    def dot(self, other: Any) -> Any:
        return np.dot(cast("Any", self), other)


def _is_basic(entry: Any) -> bool:
    if entry is None or isinstance(entry, slice | EllipsisType):
        return True
    if isinstance(entry, bool | np.bool_):
        return False
    if isinstance(entry, int | np.integer):
        return True
    dtype = getattr(entry, "dtype", None)
    return dtype is not None and np.dtype(dtype).kind in "iu" and getattr(entry, "shape", None) == ()


def _known_integer(entry: Any) -> int | None:
    """The integer, or None if it is traced."""
    if isinstance(entry, int | np.integer):
        return int(entry)
    value = _unwrap(entry)
    return None if isinstance(value, Tracer) else int(value)


def _static_bounds(entry: slice) -> slice:
    bounds: list[int | None] = []
    for bound in (entry.start, entry.stop, entry.step):
        known = None if bound is None else _known_integer(bound)
        if bound is not None and known is None:
            raise _untraceable(
                "a slice's bounds have to be known while the function is compiled",
                "the size of what it gives would depend on them",
            )
        bounds.append(known)
    return slice(*bounds)


def _plain_index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(_plain_index(entry) for entry in cast("tuple[Any, ...]", index))
    if isinstance(index, list):
        return (
            jnp.asarray(np.asarray(index))
            if not any(isinstance(each, Array) for each in index)
            else jnp.stack([_unwrap(each) for each in cast("Sequence[Any]", index)])
        )
    return _unwrap(index)


def _unwrap(value: Any) -> Any:
    return value.value if isinstance(value, Array) else value


def _cast(value: Any, dtype: np.dtype) -> Any:
    """The value in the dtype, as NumPy casts on assignment (complex to real drops the imaginary part)."""
    value = jnp.asarray(value)
    if jnp.issubdtype(value.dtype, jnp.complexfloating) and dtype.kind != "c":
        value = jnp.real(value)
    return value if value.dtype == dtype else value.astype(dtype)


def _put(whole: Any, steps: tuple[Step, ...], part: Any) -> Any:
    if not steps:
        return part
    first, *rest = steps
    if not rest:
        return first.put(whole, part)
    return first.put(whole, _put(first.get(whole), tuple(rest), part))


def _untraceable(headline: str, note: str) -> WindlassError:
    return WindlassError(
        Diagnostic(
            "WL0904",
            headline,
            notes=(note,),
            help="compute with arrays instead: numpy.where(condition, a, b) chooses, a masked update leaves elements "
            "as they are",
        )
    )


def _unsupported(what: str, help_: str) -> WindlassError:
    return WindlassError(Diagnostic("WL0909", f"{what} are not supported inside wl.jit", help=help_))


def _define_operators() -> None:
    """Python's operators through NumPy's ufuncs, so that types promote as NumPy's do."""
    binary = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
        "mod": np.remainder, "pow": np.power, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
        "lshift": np.left_shift, "rshift": np.right_shift, "matmul": np.matmul,
    }  # fmt: skip
    comparisons = {
        "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "gt": np.greater,
        "ge": np.greater_equal,
    }  # fmt: skip

    def forward(ufunc: Any) -> Any:
        def operate(self: Array, other: Any) -> Any:  # a ufunc itself would not be bound to the array
            return ufunc(self, other)

        return operate

    def backward(ufunc: Any) -> Any:
        return lambda self, other: ufunc(other, self)

    def in_place(ufunc: Any) -> Any:
        def update(self: Array, other: Any) -> Array:
            ufunc(self, other, out=self)
            return self

        return update

    for name, ufunc in binary.items():
        setattr(Array, f"__{name}__", forward(ufunc))
        setattr(Array, f"__r{name}__", backward(ufunc))
        setattr(Array, f"__i{name}__", in_place(ufunc))
    for name, ufunc in comparisons.items():
        setattr(Array, f"__{name}__", forward(ufunc))
    for name, ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
        setattr(Array, f"__{name}__", lambda self, ufunc=ufunc: ufunc(self))
    setattr(Array, "__divmod__", lambda self, other: (self // other, self % other))  # noqa: B010
    Array.__hash__ = None  # pyright: ignore[reportAttributeAccessIssue]
    for name in (
        "sum", "prod", "mean", "std", "var", "min", "max", "argmin", "argmax", "all", "any", "cumsum", "cumprod",
        "clip", "round", "argsort", "repeat", "take", "trace", "diagonal", "nonzero", "conj", "conjugate", "ptp",
        "searchsorted", "compress", "choose",
    ):  # fmt: skip
        function = getattr(np, name)
        setattr(Array, name, lambda self, *rest, function=function, **options: function(self, *rest, **options))


def _from_leaf(_: None, children: Sequence[Any]) -> Any:
    """An array from its leaf; JAX also rebuilds trees with leaves that are no arrays, which are handed through."""
    (leaf,) = children
    return Array(leaf) if isinstance(leaf, jax.Array | np.ndarray) else leaf


_define_operators()
# Functions of jax.numpy and JAX's transformations take an Array as what it holds now, and give new ones.
jax.tree_util.register_pytree_node(Array, lambda array: ((array.value,), None), _from_leaf)
