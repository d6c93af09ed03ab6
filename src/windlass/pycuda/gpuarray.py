"""`pycuda.gpuarray`: arrays of the device, with arithmetic and the usual functions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from windlass.dropins.arrays import Array, DeviceArray, values_of
from windlass.pycuda.driver import DeviceAllocation
from windlass.pycuda.vectors import Vectors

vec = Vectors()


class GPUArray(DeviceArray, NDArrayOperatorsMixin):
    """An array of the device; `get()` copies it to the host.

    >>> x = to_gpu(np.arange(4, dtype=np.float32))
    >>> (2 * x + 1).get().tolist()
    [1.0, 3.0, 5.0, 7.0]
    """

    def __init__(self, shape: Any, dtype: Any, allocator: object = None, *, order: Any = "C") -> None:
        self.data = np.empty(shape, dtype, order)

    @classmethod
    def of(cls, data: Any) -> Self:
        """The array with these values, which it shares."""
        return super().of(np.asarray(data))

    @property
    def memory(self) -> Array:
        """Its memory as kernels see it: from its first number on, axes whose order is C's.

        Raises ValueError for arrays that go backwards in memory.
        """
        data = self.data
        if data.flags.c_contiguous:
            return data
        if data.flags.f_contiguous:
            return data.T
        if any(stride < 0 or stride % data.itemsize for stride in data.strides):
            raise ValueError(f"an array with strides {data.strides} has no memory that begins with it: copy it first")
        to_last = int(np.dot(np.subtract(data.shape, 1), data.strides))
        length = to_last // data.itemsize + 1 if data.size else 0
        return np.lib.stride_tricks.as_strided(data, (length,), (data.itemsize,))

    @property
    def gpudata(self) -> DeviceAllocation:
        """Its memory, for kernels and copies."""
        return DeviceAllocation(self.memory.reshape(-1).view(np.uint8))

    @property
    def flags(self) -> Any:
        return self.data.flags

    @property
    def itemsize(self) -> int:
        return self.data.itemsize

    @property
    def ptr(self) -> int:
        return int(self.data.ctypes.data)

    def get(self, ary: Array | None = None, **_: object) -> Array:
        """A copy on the host."""
        if ary is None:
            return self.data.copy(order="K")
        ary[...] = self.data
        return ary

    def set(self, ary: Any, **_: object) -> None:
        """Take over values from the host."""
        self.data[...] = np.asarray(ary)

    def copy(self, order: Any = "K") -> GPUArray:
        """A copy, whose axes lie in the same order unless another is named."""
        return GPUArray.of(self.data.copy(order=order))

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
    return GPUArray.of(np.array(ary, order="K"))


to_gpu_async = to_gpu


def empty(shape: Any, dtype: Any = np.float64, allocator: object = None, order: Any = "C") -> GPUArray:
    """An array without values."""
    return GPUArray(shape, dtype, order=order)


def zeros(shape: Any, dtype: Any = np.float64, allocator: object = None, order: Any = "C") -> GPUArray:
    """An array of zeros."""
    return GPUArray.of(np.zeros(shape, dtype, order=order))


def empty_like(other: GPUArray, dtype: Any = None, order: Any = "K") -> GPUArray:
    """An array without values like another, whose axes lie in the same order."""
    return GPUArray.of(np.empty_like(other.data, dtype, order))


def zeros_like(other: GPUArray, dtype: Any = None, order: Any = "K") -> GPUArray:
    """An array of zeros like another."""
    return GPUArray.of(np.zeros_like(other.data, dtype, order))


def ones_like(other: GPUArray, dtype: Any = None, order: Any = "K") -> GPUArray:
    """An array of ones like another."""
    return GPUArray.of(np.ones_like(other.data, dtype, order))


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
