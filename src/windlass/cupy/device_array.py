"""CuPy's arrays: NumPy arrays with the methods that CuPy has beside NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any

import numpy as np

from windlass.dropins.arrays import Array


class ndarray(np.ndarray[Any, Any]):  # noqa: N801
    """An array of the device, which here is memory like any other.

    >>> ndarray((2, 3), np.float32).device
    <CUDA Device 0>
    """

    @property
    def device(self) -> Any:
        from windlass.cupy.cuda import Device

        return Device(0)

    def get(self, stream: object = None, order: str = "C", out: Array | None = None, blocking: bool = True) -> Array:
        """A copy as a plain NumPy array."""
        plain = np.array(self.view(np.ndarray), order="F" if order == "F" else "C")
        if out is None:
            return plain
        out[...] = plain
        return out

    def set(self, values: Any, stream: object = None) -> None:
        """Take over values of an array of the same shape."""
        self[...] = np.asarray(values)

    def scatter_add(self, slices: Any, value: Any) -> None:
        """Add values to elements, once for each time that an element is named.

        >>> x = as_device_array(np.zeros(3))
        >>> x.scatter_add([0, 2, 2], 1.0)
        >>> x.tolist()
        [1.0, 0.0, 2.0]
        """
        np.add.at(self, slices, value)

    def scatter_max(self, slices: Any, value: Any) -> None:
        """Bring elements up to values, whichever of them names an element."""
        np.maximum.at(self, slices, value)

    def scatter_min(self, slices: Any, value: Any) -> None:
        """Bring elements down to values, whichever of them names an element."""
        np.minimum.at(self, slices, value)

    def __array_wrap__(self, array: Array, context: object = None, return_scalar: bool = False) -> ndarray:
        """What NumPy computes of device arrays: a device array even where it is one number."""
        return array.view(ndarray)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return np.asarray(found).view(ndarray) if isinstance(found, np.generic) else found


def as_device_array(value: Any) -> Any:
    """Arrays (and arrays in tuples and lists) as device arrays; other things as they are."""
    if isinstance(value, np.ndarray):
        array: Array = value
        return array.view(ndarray) if type(array) is np.ndarray else array
    if type(value) in (tuple, list):
        return type(value)(as_device_array(each) for each in value)
    return value


def asnumpy(value: Any, stream: object = None, order: str = "C", out: Array | None = None) -> Array:
    """A plain NumPy array of the same values.

    >>> type(asnumpy(as_device_array(np.arange(3)))).__name__
    'ndarray'
    """
    if isinstance(value, ndarray):
        return value.get(stream, order, out)
    return np.asarray(value)


class ufunc:  # noqa: N801
    """One of NumPy's universal functions, with its methods; the arrays that it makes are device arrays.

    >>> ufunc(np.add).reduce(as_device_array(np.arange(4))).tolist()
    6
    """

    def __init__(self, function: np.ufunc) -> None:
        self._function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return _apply(self._function, *arguments, **options)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._function, name)
        if not callable(found):
            return found
        return partial(_apply, found)

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"


def _apply(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    result = function(*arguments, **options)
    # CuPy gives arrays without axes where NumPy gives numbers.
    return np.asarray(result).view(ndarray) if isinstance(result, np.generic) else as_device_array(result)


@cache
def array_function(name: str) -> Callable[..., Any]:
    """NumPy's function of that name; the arrays that it makes are device arrays."""
    function = getattr(np, name)
    if isinstance(function, np.ufunc):
        return ufunc(function)

    @wraps(function)
    def on_device(*arguments: Any, **options: Any) -> Any:
        return _apply(function, *arguments, **options)

    return on_device
