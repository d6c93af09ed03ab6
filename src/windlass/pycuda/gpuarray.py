"""`pycuda.gpuarray`: arrays of the device, with arithmetic and the usual functions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from windlass.dropins.arrays import Array, DeviceArray, values_of
from windlass.pycuda.driver import DeviceAllocation


class GPUArray(DeviceArray, NDArrayOperatorsMixin):
    """An array of the device; `get()` copies it to the host.

    >>> x = to_gpu(np.arange(4, dtype=np.float32))
    >>> (2 * x + 1).get().tolist()
    [1.0, 3.0, 5.0, 7.0]
    """

    def __init__(self, shape: Any, dtype: Any, allocator: object = None) -> None:
        self.data = np.empty(shape, dtype)

    @classmethod
    def of(cls, data: Any) -> Self:
        """The array with these values, which it shares where they lie in C order."""
        return super().of(np.asarray(data, order="C"))

    @property
    def gpudata(self) -> DeviceAllocation:
        """Its memory, for kernels and copies."""
        return DeviceAllocation(self.data.reshape(-1).view(np.uint8))

    @property
    def ptr(self) -> int:
        return int(self.data.ctypes.data)

    def get(self, ary: Array | None = None, **_: object) -> Array:
        """A copy on the host."""
        if ary is None:
            return self.data.copy()
        ary[...] = self.data
        return ary

    def set(self, ary: Any, **_: object) -> None:
        """Take over values from the host."""
        self.data[...] = np.asarray(ary)

    def copy(self) -> GPUArray:
        return GPUArray.of(self.data.copy())

    def fill(self, value: Any, stream: object = None) -> GPUArray:
        self.data.fill(value)
        return self

    def astype(self, dtype: Any) -> GPUArray:
        return GPUArray.of(self.data.astype(dtype))

    def __getitem__(self, key: Any) -> GPUArray:
        return self.of(self.data[values_of(key)])

    def __repr__(self) -> str:
        return repr(self.data)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        """Operators and NumPy's elementwise functions, on values of the device."""
        if out:
            options["out"] = tuple(map(values_of, out))
        result = getattr(ufunc, method)(*map(values_of, inputs), **options)
        return out[0] if out else GPUArray.of(result)

    def __array__(self, *_: object, **__: object) -> Array:
        raise TypeError("an array of the device is no NumPy array: call its get()")


def to_gpu(ary: Any, allocator: object = None) -> GPUArray:
    """A copy of an array on the device."""
    return GPUArray.of(np.array(ary))


to_gpu_async = to_gpu


def empty(shape: Any, dtype: Any = np.float64, allocator: object = None, order: str = "C") -> GPUArray:
    """An array without values."""
    return GPUArray(shape, dtype)


def zeros(shape: Any, dtype: Any = np.float64, allocator: object = None, order: str = "C") -> GPUArray:
    """An array of zeros."""
    return GPUArray.of(np.zeros(shape, dtype))


def empty_like(other: GPUArray) -> GPUArray:
    """An array without values like another."""
    return GPUArray(other.shape, other.dtype)


def zeros_like(other: GPUArray) -> GPUArray:
    """An array of zeros like another."""
    return zeros(other.shape, other.dtype)


def ones_like(other: GPUArray) -> GPUArray:
    """An array of ones like another."""
    return GPUArray.of(np.ones(other.shape, other.dtype))


def arange(*arguments: Any, dtype: Any = None) -> GPUArray:
    """Numbers in a row."""
    return GPUArray.of(np.arange(*arguments, dtype=dtype))


def sum(a: GPUArray, dtype: Any = None, stream: object = None) -> GPUArray:
    """The sum of all elements, an array without axes."""
    return GPUArray.of(np.asarray(a.data.sum(dtype=dtype))).reshape(())


def max(a: GPUArray, stream: object = None) -> GPUArray:
    """The greatest element, an array without axes."""
    return GPUArray.of(np.asarray(a.data.max())).reshape(())


def min(a: GPUArray, stream: object = None) -> GPUArray:
    """The least element, an array without axes."""
    return GPUArray.of(np.asarray(a.data.min())).reshape(())


def dot(a: GPUArray, b: GPUArray, dtype: Any = None, stream: object = None) -> GPUArray:
    """The inner product, an array without axes."""
    return GPUArray.of(np.asarray(np.dot(a.data.reshape(-1), b.data.reshape(-1)))).reshape(())
