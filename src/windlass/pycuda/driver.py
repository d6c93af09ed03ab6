"""`pycuda.driver`: device memory, copies, the arguments In, Out and InOut, events, streams, the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from windlass.dropins import arguments, devices
from windlass.dropins.arrays import Array

ArgumentHandler, In, Out, InOut = arguments.ArgumentHandler, arguments.In, arguments.Out, arguments.InOut


class Error(Exception):
    """What PyCUDA raises."""


class LogicError(Error):
    """A call that can't be right."""


class DeviceAllocation:
    """Device memory: `data` are its bytes. Adding a number gives the memory from there on."""

    def __init__(self, data: Array) -> None:
        self.data = data

    def __add__(self, offset: int) -> DeviceAllocation:
        return DeviceAllocation(self.data[int(offset) :])

    def __int__(self) -> int:
        return int(self.data.ctypes.data)

    def __len__(self) -> int:
        return len(self.data)

    def free(self) -> None:
        """Give the memory back."""
        self.data = self.data[:0]

    def as_buffer(self, size: int, offset: int = 0) -> memoryview:
        """Its bytes."""
        return self.data[offset : offset + size].data


def mem_alloc(size: int) -> DeviceAllocation:
    """Device memory of so many bytes.

    Raises LogicError for sizes that are not positive.
    """
    if int(size) <= 0:
        raise LogicError(f"mem_alloc takes a positive number of bytes, got {size}")
    return DeviceAllocation(np.zeros(int(size), np.uint8))


def mem_get_info() -> tuple[int, int]:
    """Free and total bytes."""
    return devices.MEMORY


def bytes_of(array: Any, is_written: bool = False) -> Array:
    """The bytes of a contiguous array, shared with it.

    Raises LogicError for arrays that are not contiguous.
    """
    whole = np.asarray(array)
    if not whole.flags.c_contiguous:
        raise LogicError("the array is not contiguous; pass np.ascontiguousarray(array)")
    if is_written and not whole.flags.writeable:
        raise LogicError("the array is read-only")
    return whole.reshape(-1).view(np.uint8)


def memcpy_htod(dest: DeviceAllocation, src: Any) -> None:
    """Copy an array to the device.

    Raises LogicError where it does not fit.
    """
    source = bytes_of(src)
    if len(source) > len(dest.data):
        raise LogicError(f"{len(source)} bytes do not fit into {len(dest.data)}")
    dest.data[: len(source)] = source


def memcpy_dtoh(dest: Any, src: DeviceAllocation) -> None:
    """Copy from the device into an array.

    Raises LogicError where the device has less.
    """
    target = bytes_of(dest, is_written=True)
    if len(target) > len(src.data):
        raise LogicError(f"{len(target)} bytes are wanted of {len(src.data)}")
    target[:] = src.data[: len(target)]


def memcpy_dtod(dest: DeviceAllocation, src: DeviceAllocation, size: int) -> None:
    """Copy within the device."""
    dest.data[:size] = src.data[:size]


def memcpy_htod_async(dest: DeviceAllocation, src: Any, stream: object = None) -> None:
    """As memcpy_htod: it is done when it is asked for."""
    memcpy_htod(dest, src)


def memcpy_dtoh_async(dest: Any, src: DeviceAllocation, stream: object = None) -> None:
    """As memcpy_dtoh: it is done when it is asked for."""
    memcpy_dtoh(dest, src)


def memset_d8(dest: DeviceAllocation, data: int, count: int) -> None:
    """Fill with a byte."""
    dest.data[:count] = data


def memset_d32(dest: DeviceAllocation, data: int, count: int) -> None:
    """Fill with a word of 32 bits."""
    dest.data[: 4 * count].view(np.uint32)[:] = np.uint32(data & 0xFFFFFFFF)


def to_device(array: Any) -> DeviceAllocation:
    """A copy of an array on the device."""
    return DeviceAllocation(bytes_of(np.ascontiguousarray(array)).copy())


def from_device(memory: DeviceAllocation, shape: Any, dtype: Any, order: str = "C") -> Array:
    """A copy of device memory as an array."""
    result = np.empty(shape, dtype, order="F" if order == "F" else "C")
    memcpy_dtoh(result, memory)
    return result


def from_device_like(memory: DeviceAllocation, other: Array) -> Array:
    """A copy of device memory as an array like another."""
    return from_device(memory, other.shape, other.dtype)


def pagelocked_empty(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> Array:
    """An array of the host."""
    return np.empty(shape, dtype)


def pagelocked_zeros(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> Array:
    """An array of zeros of the host."""
    return np.zeros(shape, dtype)


class Device(devices.Device):
    """The one device there is."""

    absent = LogicError

    @staticmethod
    def count() -> int:
        return 1

    def name(self) -> str:
        return devices.NAME

    def compute_capability(self) -> tuple[int, int]:
        return devices.COMPUTE_CAPABILITY

    def total_memory(self) -> int:
        return devices.MEMORY.total

    def make_context(self, flags: int = 0) -> Context:
        return Context(self)


class Context(devices.Context):
    """A context of the device."""

    def detach(self) -> None:
        """Leave it."""


class Stream(devices.Stream):
    """A stream: what is asked for in it is done at once."""

    def __init__(self, flags: int = 0) -> None:
        super().__init__()


class Event(devices.Event):
    """A moment. Recording it and waiting for it give the event itself."""

    unrecorded = LogicError

    def __init__(self, flags: int = 0) -> None:
        super().__init__()

    def record(self, stream: object = None) -> Event:
        super().record(stream)
        return self

    def synchronize(self) -> Event:
        return self

    def time_since(self, other: Event) -> float:
        """Milliseconds since another event."""
        return other.milliseconds_until(self)

    def time_till(self, other: Event) -> float:
        """Milliseconds until another event."""
        return self.milliseconds_until(other)


def init(flags: int = 0) -> None:
    """Make the driver ready, which it is."""


def get_version() -> tuple[int, int, int]:
    """The version of CUDA that this stands for."""
    return 12, 6, 0
