"""`vectorize` and `guvectorize` for hosts: functions of numbers, or of inner arrays, over all of an array.

Each is a loop over elements around the user's function, captured as one program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.arrays import Array
from windlass.frontends.arrays.tracing import current_tracing
from windlass.frontends.kernels.types import Signature, array_of, from_dtype, none
from windlass.numba.cuda.vectorizing import (
    GeneralizedUfunc,
    choose_signature,
    guvectorize_on_device,
    vectorize_on_device,
)
from windlass.numba.host_functions import StrongFunction
from windlass.numba.types import read_signature

IDENTITIES = {0: 0, 1: 1, "zero": 0, "one": 1, None: None, "reorderable": None}


class HostUfunc:
    """A function of numbers on arrays, which are broadcast, as a ufunc of NumPy's."""

    def __init__(self, function: Callable[..., Any], signatures: Sequence[Signature], identity: Any = None) -> None:
        self.py_func = getattr(function, "py_func", function)
        self.signatures = tuple(signatures)
        self.identity = IDENTITIES[identity]
        self.__name__, self.__doc__ = self.py_func.__name__, self.py_func.__doc__
        self.nin, self.nout, self.nargs = self.py_func.__code__.co_argcount, 1, self.py_func.__code__.co_argcount + 1
        self._elements = StrongFunction(_over_elements)
        self._fold = StrongFunction(_fold)

    def __repr__(self) -> str:
        return f"<vectorized function {self.__name__}>"

    def __call__(self, *arguments: Any, out: Any = None, **options: Any) -> Any:
        """The function's values, element by element.

        Raises TypeError for another number of arguments and for what no signature takes, LaunchError (WL0909) for
        options of NumPy's ufuncs that there are not.
        """
        self._expect_no_options("", options)
        if len(arguments) == self.nin + 1 and out is None:
            *arguments, out = arguments  # pyright: ignore[reportAssignmentType]
        out = out[0] if isinstance(out, tuple) else out
        if len(arguments) != self.nin:
            raise TypeError(f"{self.__name__} takes {self.nin} arguments, got {len(arguments)}")
        inputs, dtype = self._typed(arguments)
        shape = np.broadcast_shapes(*(each.shape for each in inputs))
        flat = [each if not each.ndim else np.broadcast_to(each, shape).reshape(-1) for each in inputs]
        if 0 in shape:
            found: Any = np.empty(shape, np.float64 if dtype is None else dtype)
        else:
            found = self._elements(self.py_func, tuple(flat), dtype)
            if shape:
                found = found.reshape(shape)
            elif current_tracing() is None:
                found = np.asarray(found)[()]
        return _delivered(found, out)

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """All elements along axes brought to one: a function of two numbers is applied from the first to the last.

        Raises ValueError where there are none and the function has no identity.
        """
        rows, kept, axes = self._rows("reduce", array, axis, dtype)
        if not len(rows):
            if self.identity is None:
                raise ValueError(f"zero-size array to reduction operation {self.__name__} which has no identity")
            found: Any = np.full(kept, self.identity, rows.dtype)
        else:
            found = self._fold(self.py_func, rows, False).reshape(kept)
        if keepdims:
            found = np.expand_dims(found, axes)
        return _delivered(found if found.ndim or current_tracing() is not None else found[()], out)

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """What `reduce` has brought together at each element along an axis."""
        rows, kept, _ = self._rows("accumulate", array, axis, dtype)
        found: Any = self._fold(self.py_func, rows, True) if len(rows) else rows
        return _delivered(np.moveaxis(found.reshape((len(rows), *kept)), 0, axis), out)

    def outer(self, first: Any, second: Any, **options: Any) -> Any:
        """The function of each element of one array with each of another."""
        first, second = _as_array(first), _as_array(second)
        return self(first.reshape(first.shape + (1,) * second.ndim), second, **options)

    @property
    def types(self) -> list[str]:
        """The signatures by the letters that NumPy has for their types.

        >>> vectorize(["float64(float64, int32)"])(lambda x, y: x).types
        ['di->d']
        """
        return [
            "".join(each.dtype.char for each in signature.arguments) + "->" + signature.result.dtype.char
            for signature in self.signatures
        ]

    @property
    def ntypes(self) -> int:
        """How many signatures there are."""
        return len(self.signatures)

    def __getattr__(self, name: str) -> Any:
        if name in ("at", "reduceat"):
            raise LaunchError(
                Diagnostic(
                    "WL0909",
                    f"'{name}' of a vectorized function is not supported",
                    help=f"write a loop in an njit function that calls {self.__name__}",
                )
            )
        raise AttributeError(f"a vectorized function has no '{name}'")

    def _typed(self, arguments: Sequence[Any]) -> tuple[list[Any], Any]:
        """The arguments as arrays of the types that a signature takes, and the type of what it gives, None without."""
        inputs = [_as_array(each) for each in arguments]
        if not self.signatures:
            return inputs, None
        signature = choose_signature(self.__name__, self.signatures, arguments, inputs)
        typed = [each.astype(wanted.dtype) for each, wanted in zip(inputs, signature.arguments, strict=True)]
        return typed, signature.result.dtype

    def _rows(self, method: str, array: Any, axis: Any, dtype: Any) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
        """The array as rows along the axes, in the type of the results; the shape of all else, and the axes."""
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary functions")
        found = _as_array(array)
        listed = range(found.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(sorted(each % max(found.ndim, 1) for each in listed))
        rest = [each for each in range(found.ndim) if each not in axes]
        kept = tuple(found.shape[each] for each in rest)
        count = int(np.prod([found.shape[each] for each in axes]))
        rows = np.transpose(found, (*axes, *rest)).reshape(count, int(np.prod(kept)))
        if dtype is not None:
            return rows.astype(dtype), kept, axes
        if self.signatures:
            return rows.astype(self._typed((rows[:1], rows[:1]))[1]), kept, axes
        return rows, kept, axes

    def _expect_no_options(self, method: str, options: Any) -> None:
        if options:
            raise LaunchError(
                Diagnostic(
                    "WL0909",
                    f"{self.__name__}{method} with {', '.join(options)}= is not supported",
                    help="use numpy.where on what it gives",
                )
            )


def _over_elements(function: Any, flat: tuple[Any, ...], dtype: Any) -> Any:
    count = _count(flat)
    if count is None:
        return _as_number(function(*_at(flat, 0)), dtype)
    first = function(*_at(flat, 0))
    result = np.empty(count, _dtype_of(first, dtype))
    for i in range(count):
        result[i] = function(*_at(flat, i))
    return result


def _fold(function: Any, rows: Any, keeps_all: bool) -> Any:
    count, width = rows.shape
    dtype = _dtype_of(function(rows[0, 0], rows[0, 0]), None) if width else rows.dtype
    result = np.empty((count if keeps_all else 1, width), dtype)
    if width:
        for column in range(width):
            found = _as_number(rows[0, column], dtype)
            result[0, column] = found
            for row in range(1, count):
                found = _as_number(function(found, rows[row, column]), dtype)
                if keeps_all:
                    result[row, column] = found
            if not keeps_all:
                result[0, column] = found
    return result


def _count(flat: Sequence[Any]) -> int | None:
    """How many elements there are; None where all are numbers."""
    return next((each.size for each in flat if each.ndim), None)


def _at(flat: Sequence[Any], number: Any) -> list[Any]:
    return [each[number] if each.ndim else each[()] for each in flat]


def _dtype_of(value: Any, dtype: Any) -> Any:
    return np.asarray(value).dtype if dtype is None and not hasattr(value, "dtype") else dtype or value.dtype


def _as_number(value: Any, dtype: Any) -> Any:
    if dtype is None:
        return value
    return value.astype(dtype) if isinstance(value, Array) else np.dtype(dtype).type(value)


def _as_array(value: Any) -> Any:
    return value if isinstance(value, np.ndarray | Array) else np.asarray(value)


def _delivered(found: Any, out: Any) -> Any:
    if out is None:
        return found
    given = getattr(found, "dtype", None) or np.asarray(found).dtype
    if not np.can_cast(given, out.dtype, "same_kind"):
        raise TypeError(f"what it gives is of type {given}, which can't be cast to the {out.dtype} of out=")
    out[...] = found
    return out


class HostGeneralizedUfunc(GeneralizedUfunc):
    """A function of inner arrays that runs here."""

    def _prepare(self) -> None:
        self._outer = StrongFunction(_over_rows)

    def __call__(self, *arguments: Any, out: Any = None, stream: object = 0) -> Any:
        """The results, of which the outer axes are those of the arguments, broadcast.

        Without signatures, arrays for the results have to be given: they say which types these have.
        """
        if self.signatures:
            return super().__call__(*arguments, out=out, stream=stream)
        given = arguments if out is None else (*arguments, out)
        axes = [*self._taken, *self._given]
        if len(given) != len(axes):
            raise TypeError(
                f"{self.__name__} has no signatures: it takes {len(axes)} arrays, those of the results last"
            )
        found = [
            array_of(from_dtype(np.asarray(each).dtype), (slice(None),) * max(len(inner), place >= len(self._taken)))
            if inner or place >= len(self._taken)
            else from_dtype(np.asarray(each).dtype)
            for place, (each, inner) in enumerate(zip(given, axes, strict=True))
        ]
        typed = HostGeneralizedUfunc(self._function, [Signature(none, tuple(found))], self._layout)
        return typed(*given)

    def _run(self, count: int, flat: Sequence[Any], results: Sequence[Any]) -> None:
        kinds = [bool(axes) or not self._is_scalar(place) for place, axes in enumerate([*self._taken, *self._given])]
        self._outer(self._function, tuple(kinds), tuple(flat), tuple(results))


def _over_rows(function: Any, is_array: tuple[bool, ...], flat: tuple[Any, ...], results: tuple[Any, ...]) -> None:
    for i in range(len(results[0])):
        function(*_rows_at(is_array, (*flat, *results), i))


def _rows_at(is_array: Sequence[bool], arrays: Sequence[Any], number: Any) -> list[Any]:
    return [each[number] if is_row else each[number, 0] for is_row, each in zip(is_array, arrays, strict=True)]


def vectorize(*given: Any, target: str = "cpu", identity: Any = None, **options: Any) -> Any:
    """`numba.vectorize`: a function of numbers as one of arrays, which are broadcast. With target "cuda" a kernel.

    Signatures say which types are taken, in this order; without them those of the arguments are. Of NumPy's ufuncs it
    has `out=`, `reduce`, `accumulate` and `outer`.

    >>> @vectorize(["float64(float64, float64)"])
    ... def larger(x, y):
    ...     return x if x > y else y
    >>> larger(np.array([1.0, 5.0]), 3.0).tolist(), larger.reduce(np.array([2.0, 7.0, 4.0]))
    ([3.0, 5.0], np.float64(7.0))
    """
    if target == "cuda":
        return vectorize_on_device(*given, **options)
    if len(given) == 1 and callable(given[0]) and not isinstance(given[0], list | tuple | str):
        return HostUfunc(given[0], (), identity)
    listed = given[0] if given and isinstance(given[0], list | tuple) else list(given)
    signatures = [found for found in map(read_signature, listed) if found is not None]
    return lambda function: HostUfunc(function, signatures, identity)


def guvectorize(signatures: Any, layout: str | None = None, target: str = "cpu", **options: Any) -> Any:
    """`numba.guvectorize`: a function that writes inner arrays, for all the elements of the outer axes.

    The layout says which axes are inner ones: "(m,n),(n)->(m)". With target "cuda" a kernel.

    >>> @guvectorize(["(float64[:], float64, float64[:])"], "(n),()->(n)")
    ... def scaled(x, a, result):
    ...     for i in range(x.size):
    ...         result[i] = a * x[i]
    >>> scaled(np.ones((2, 3)), np.array([2.0, 3.0])).tolist()
    [[2.0, 2.0, 2.0], [3.0, 3.0, 3.0]]
    """
    if layout is None:
        if not isinstance(signatures, str) or "->" not in signatures:
            raise TypeError("guvectorize takes signatures and a layout such as '(n),()->(n)'")
        signatures, layout = [], signatures
    if target == "cuda":
        return guvectorize_on_device(signatures, layout)
    listed = signatures if isinstance(signatures, list | tuple) else [signatures]
    found = [each for each in map(read_signature, listed) if each is not None]
    return lambda function: HostGeneralizedUfunc(function, found, layout)
