"""`numba.cuda.cudadrv.devicearray`: the class of device arrays."""

from __future__ import annotations

from typing import Any

from windlass.numba.cuda.device_array import DeviceNDArray, to_device
from windlass.numba.cuda.device_array import device_array_like as from_array_like

DeviceNDArrayBase = DeviceNDArray


def is_cuda_ndarray(obj: Any) -> bool:
    """Whether something is a device array.

    >>> is_cuda_ndarray(to_device([1, 2])), is_cuda_ndarray([1, 2])
    (True, False)
    """
    return isinstance(obj, DeviceNDArray)


def auto_device(obj: Any, stream: object = 0, copy: bool = True) -> tuple[DeviceNDArray, bool]:
    """A device array with the values, and whether it is new."""
    if isinstance(obj, DeviceNDArray):
        return obj, False
    return to_device(obj), True


__all__ = ["DeviceNDArray", "DeviceNDArrayBase", "auto_device", "from_array_like", "is_cuda_ndarray"]
