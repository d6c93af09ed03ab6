"""Device arrays: memory of this process that programs treat as if it lay elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windlass.dropins.arrays import Array, DeviceArray, values_of
from windlass.frontends.kernels.types import adopted


class DeviceNDArray(DeviceArray):
    """What `cuda.to_device` and `cuda.device_array` give: an array that kernels take, copied to and from hosts' arrays.

    Indexing with integers for all axes gives numbers; other indices give views of the same memory.
    """

    def __init__(self, data: Array) -> None:
        self.data = data

    @property
    def flags(self) -> dict[str, bool]:
        """Whether the elements lie in C or F order."""
        flags = self.data.flags
        return {"C_CONTIGUOUS": flags.c_contiguous, "F_CONTIGUOUS": flags.f_contiguous}

    @property
    def alloc_size(self) -> int:
        return self.data.nbytes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface = dict(self.data.__array_interface__)
        address, is_read_only = interface["data"]
        return {
            "shape": interface["shape"],
            "strides": interface["strides"],
            "data": (address if self.size else 0, is_read_only),
            "typestr": interface["typestr"],
            "stream": None,
            "version": 3,
        }

    def __repr__(self) -> str:
        return f"<device array: {self.dtype}, shape {self.shape}>"

    def copy_to_host(self, ary: Array | None = None, stream: object = 0) -> Array:
        """The values, in `ary` or in a new array."""
        if ary is None:
            return self.data.copy(order="K")
        if ary.size != self.size:
            raise ValueError(f"the host's array has {ary.size} elements, the device's {self.size}")
        ary[...] = self.data.reshape(ary.shape)
        return ary

    def copy_to_device(self, ary: Any, stream: object = 0) -> None:
        """Take the values of another array."""
        source = np.asarray(values_of(ary))
        if source.size != self.size:
            raise ValueError(f"the array has {self.size} elements, the one to copy from {source.size}")
        self.data[...] = source.reshape(self.shape)

    def is_c_contiguous(self) -> bool:
        """Whether the last axis goes fastest, without gaps."""
        return self.data.flags.c_contiguous

    def is_f_contiguous(self) -> bool:
        """Whether the first axis goes fastest, without gaps."""
        return self.data.flags.f_contiguous

    def transpose(self, axes: Sequence[int] | None = None) -> DeviceNDArray:
        """With its axes in another order."""
        return DeviceNDArray(self.data.transpose(axes))

    def squeeze(self, axis: Any = None, stream: object = 0) -> DeviceNDArray:
        """Without axes of one element."""
        return DeviceNDArray(self.data.squeeze(axis))

    def view(self, dtype: Any) -> DeviceNDArray:
        """The same memory as elements of another dtype."""
        return DeviceNDArray(self.data.view(dtype))

    def split(self, section: int, stream: object = 0) -> Any:
        """Pieces of `section` elements."""
        for start in range(0, self.size, section):
            yield DeviceNDArray(self.data[start : start + section])

    def bind(self, stream: object = 0) -> DeviceNDArray:
        """The array, for use in a stream."""
        return self

    def getitem(self, index: Any, stream: object = 0) -> Any:
        """What `array[index]` gives."""
        return self[index]

    def setitem(self, index: Any, value: Any, stream: object = 0) -> None:
        """What `array[index] = value` does."""
        self[index] = value


class HostArray(np.ndarray):
    """A pinned, mapped or managed array: the host's, which kernels take without copies."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return DeviceNDArray(self.view(np.ndarray)).__cuda_array_interface__

    def copy_to_host(self, ary: Array | None = None, stream: object = 0) -> Array:
        """The values, in `ary` or in a new array."""
        return DeviceNDArray(self.view(np.ndarray)).copy_to_host(ary)

    def copy_to_device(self, ary: Any, stream: object = 0) -> None:
        """Take the values of another array."""
        DeviceNDArray(self.view(np.ndarray)).copy_to_device(ary)

    def is_c_contiguous(self) -> bool:
        """Whether the last axis goes fastest, without gaps."""
        return self.flags.c_contiguous


def allocate(shape: Any, dtype: Any, order: Any = "C", strides: Any = None) -> Array:
    """A new array, of zeros."""
    if strides is not None:
        found = np.dtype(dtype)
        extents = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
        steps = (strides,) if isinstance(strides, int | np.integer) else tuple(strides)
        size = sum((extent - 1) * step for extent, step in zip(extents, steps, strict=True)) + found.itemsize
        return np.ndarray(extents, found, np.zeros(size, np.uint8).data, strides=steps)
    return np.zeros(shape, dtype, order=order)


def to_device(obj: Any, stream: object = 0, copy: bool = True, to: DeviceNDArray | None = None) -> DeviceNDArray:
    """A device array with the values of `obj`, or `to` with these values."""
    if to is not None:
        to.copy_to_device(obj)
        return to
    if isinstance(obj, DeviceNDArray):
        return DeviceNDArray(obj.data.copy(order="K"))
    array = np.asarray(obj)
    if array.dtype.hasobject:
        raise TypeError(f"arrays of dtype {array.dtype} can't be on a device")
    return DeviceNDArray(np.array(array, order="K", copy=True).view(np.ndarray))


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: Any = "C", stream: object = 0
) -> DeviceNDArray:
    """A new device array, of zeros."""
    return DeviceNDArray(allocate(shape, _dtype(dtype), order, strides))


def device_array_like(ary: Any, stream: object = 0) -> DeviceNDArray:
    """A new device array of another's shape and dtype, with its axes in the same order in memory."""
    return DeviceNDArray(np.zeros_like(data_of(ary), order="K"))


def host_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: Any = "C", **_: Any) -> HostArray:
    """A new array that host and device share, of zeros."""
    return allocate(shape, _dtype(dtype), order, strides).view(HostArray)


def host_array_like(ary: Any, **_: Any) -> HostArray:
    """A new array that host and device share, of another's shape and dtype, with its axes in the same order."""
    return np.zeros_like(data_of(ary), order="K").view(HostArray)


def _dtype(dtype: Any) -> np.dtype[Any]:
    own = None if isinstance(dtype, type) else adopted(dtype)
    return np.dtype(dtype if own is None else own.dtype)


def data_of(array: Any) -> Array:
    """The memory of an array, whatever kind it is."""
    if isinstance(array, DeviceNDArray):
        return array.data
    if isinstance(array, np.ndarray):
        return array.view(np.ndarray)
    return as_cuda_array(array).data


def is_cuda_array(obj: Any) -> bool:
    """Whether something says where on a device its values lie."""
    return hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """A device array of what says where its values lie; NumPy arrays of `windlass.cupy` as well.

    Raises TypeError for other things.
    """
    if isinstance(obj, DeviceNDArray):
        return obj
    if isinstance(obj, np.ndarray):
        return DeviceNDArray(obj.view(np.ndarray))
    if not is_cuda_array(obj):
        raise TypeError(f"{type(obj).__name__} does not say where its values lie: it has no __cuda_array_interface__")
    return from_cuda_array_interface(obj.__cuda_array_interface__, owner=obj)


def from_cuda_array_interface(desc: dict[str, Any], owner: Any = None, sync: bool = True) -> DeviceNDArray:
    """A device array from the description of one."""

    class Holder:
        def __init__(self) -> None:
            self.owner = owner
            self.__array_interface__ = {key: value for key, value in desc.items() if key not in ("version", "stream")}
            self.__array_interface__["version"] = 3

    return DeviceNDArray(np.asarray(Holder()))
