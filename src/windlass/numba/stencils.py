"""`stencil`: a function of one element, which indexes its arrays relative to that, over all of an array.

A loop over the elements that have all their neighbours, captured as one program; the others get `cval`.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.arrays import Array
from windlass.frontends.arrays.capture import captured
from windlass.frontends.arrays.explaining import position_of
from windlass.numba.host_functions import StrongFunction


class Stencil:
    """A function made by `stencil`: called on arrays, with `out=` if they are to be written there."""

    def __init__(
        self,
        function: Callable[..., Any],
        neighborhood: Sequence[tuple[int, int]] | None = None,
        cval: Any = None,
        standard_indexing: Sequence[str] = (),
    ) -> None:
        self.py_func = getattr(function, "py_func", function)
        self.__name__, self.__doc__ = self.py_func.__name__, self.py_func.__doc__
        self.neighborhood = None if neighborhood is None else tuple(map(tuple, neighborhood))
        self.cval = cval
        self._names = tuple(inspect.signature(self.py_func).parameters)
        self._standard = frozenset(standard_indexing)
        if self._names and self._names[0] in self._standard:
            raise ValueError("the first argument of a stencil is indexed relatively")
        self._sweep = StrongFunction(_sweep_all)

    def __repr__(self) -> str:
        return f"<stencil {self.__name__}>"

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        """What the function gives of each element of the first array.

        Raises TypeError for another number of arguments, LaunchError (WL0911) where it can't be told how far the
        function looks.
        """
        if len(arguments) != len(self._names):
            raise TypeError(f"{self.__name__} takes {len(self._names)} arguments, got {len(arguments)}")
        first = arguments[0]
        if not isinstance(first, np.ndarray | Array) or not first.ndim:
            raise TypeError(f"the first argument of {self.__name__} has to be an array")
        relative = tuple(
            isinstance(each, np.ndarray | Array) and each.ndim > 0 and name not in self._standard
            for name, each in zip(self._names, arguments, strict=True)
        )
        around = self.neighborhood
        if around is None:
            names = [name for name, is_relative in zip(self._names, relative, strict=True) if is_relative]
            around = _neighborhood_of(self.py_func, names, first.ndim)
        if len(around) != first.ndim:
            raise ValueError(f"the neighborhood has {len(around)} axes, the array {first.ndim}")
        for each, is_relative in zip(arguments, relative, strict=True):
            if is_relative and any(size < wanted for size, wanted in zip(each.shape, first.shape, strict=True)):
                raise ValueError(
                    "Secondary stencil array does not have some dimension at least as large as the primary array."
                )
        bounds = tuple(
            (max(0, -low), size - max(0, high)) for (low, high), size in zip(around, first.shape, strict=True)
        )
        return self._sweep(self.py_func, relative, bounds, self.cval, tuple(arguments), out)


class _Relative:
    """An array that is indexed relative to a place."""

    __slots__ = ("_array", "_place")

    def __init__(self, array: Any, place: tuple[Any, ...]) -> None:
        self._array, self._place = array, place

    def __getitem__(self, offsets: Any) -> Any:
        given = offsets if isinstance(offsets, tuple) else (offsets,)
        if len(given) != len(self._place):
            raise IndexError(f"{len(given)} relative indices for an array of {len(self._place)} axes")
        return self._array[tuple(map(_moved, self._place, given))]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._array, name)


def _moved(place: Any, offset: Any) -> Any:
    if isinstance(offset, slice):
        return slice(place + offset.start, place + offset.stop, offset.step)
    return place + offset


def _sweep_all(
    function: Any, relative: tuple[bool, ...], bounds: Any, cval: Any, arguments: tuple[Any, ...], out: Any
) -> Any:
    shape = arguments[0].shape
    if _is_empty(bounds):
        return np.full(shape, 0.0 if cval is None else cval) if out is None else out
    if out is None:
        first = function(*_seen_from(arguments, relative, _first_of(bounds)))
        out = np.full(shape, 0 if cval is None else cval, _dtype_of(first))
    elif cval is not None:
        out[...] = cval
    _captured_sweep(function, relative, bounds, arguments, out, ())
    return out


def _sweep(function: Any, relative: Any, bounds: Any, arguments: Any, out: Any, place: Any) -> None:
    low, high = bounds[len(place)]
    if len(place) + 1 == len(bounds):
        for i in range(low, high):
            out[_extended(place, i)] = function(*_seen_from(arguments, relative, _extended(place, i)))
    else:
        for i in range(low, high):
            _captured_sweep(function, relative, bounds, arguments, out, _extended(place, i))


def _captured_sweep(*given: Any) -> None:
    captured(_sweep)(*given)


def _extended(place: tuple[Any, ...], number: Any) -> tuple[Any, ...]:
    return (*place, number)


def _first_of(bounds: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(low for low, _ in bounds)


def _is_empty(bounds: Sequence[tuple[int, int]]) -> bool:
    return any(high <= low for low, high in bounds)


def _dtype_of(value: Any) -> Any:
    return value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype


def _seen_from(arguments: Sequence[Any], relative: Sequence[bool], place: tuple[Any, ...]) -> list[Any]:
    return [
        _Relative(each, place) if is_relative else each for each, is_relative in zip(arguments, relative, strict=True)
    ]


def _neighborhood_of(function: Any, names: Sequence[str], rank: int) -> tuple[tuple[int, int], ...]:
    """How far the function looks along each axis, read off its text.

    Raises LaunchError (WL0911) for indices that are no numbers.
    """
    ends = [(0, 0)] * rank
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        raise _unknown(function, "its source text can't be read") from None
    for node in ast.walk(tree):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name) or node.value.id not in names:
            continue
        given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for axis, each in enumerate(given[:rank]):
            try:
                offset = ast.literal_eval(each)
            except ValueError:
                offset = None
            if not isinstance(offset, int):
                raise _unknown(function, f"the index {ast.unparse(each)} is no number")
            ends[axis] = (min(ends[axis][0], offset), max(ends[axis][1], offset))
    return tuple(ends)


def _unknown(function: Any, reason: str) -> LaunchError:
    return LaunchError(
        Diagnostic(
            "WL0911",
            f"how far the stencil {function.__name__} looks can't be told: {reason}",
            position_of(function),
            help="say how far, for each axis: stencil(neighborhood=((-1, 1), (-1, 1)))",
        )
    )


def stencil(func_or_mode: Any = "constant", **options: Any) -> Any:
    """`numba.stencil`: a decorator with or without arguments.

    `neighborhood` says how far the function looks, with an end for each side of each axis, where its text doesn't;
    elements that lack neighbours get `cval` (0); arrays named in `standard_indexing` are indexed as always.

    >>> @stencil
    ... def middle(x):
    ...     return 0.5 * (x[-1] + x[1])
    >>> middle(np.array([0.0, 1.0, 4.0, 9.0])).tolist()
    [0.0, 2.0, 5.0, 0.0]
    """
    unknown = sorted(set(options) - {"neighborhood", "cval", "standard_indexing"})
    if unknown or (isinstance(func_or_mode, str) and func_or_mode != "constant"):
        what = f"options {', '.join(unknown)}" if unknown else f"mode '{func_or_mode}'"
        raise LaunchError(
            Diagnostic(
                "WL0911", f"stencils have no {what}", help="the mode is 'constant': elements at the border get cval"
            )
        )
    if callable(func_or_mode):
        return Stencil(func_or_mode, **options)
    return lambda function: Stencil(function, **options)
