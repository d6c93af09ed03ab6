"""`numba.cuda.cudadrv.driver`: exceptions that programs catch, and copies between host and device."""

from __future__ import annotations

from typing import Any

from windlass.numba.cuda.cudadrv.error import CudaDriverError, CudaSupportError
from windlass.numba.cuda.device_array import data_of
from windlass.numba.cuda.host import Context, Device, Event, Stream


class CudaAPIError(CudaDriverError):
    """A call of the driver that failed."""

    def __init__(self, code: int = 0, msg: str = "") -> None:
        super().__init__(code, msg)
        self.code, self.msg = code, msg


def host_to_device(dst: Any, src: Any, size: int, stream: object = 0) -> None:
    """Copy so many bytes."""
    data_of(dst).reshape(-1).view("u1")[:size] = data_of(src).reshape(-1).view("u1")[:size]


device_to_host = device_to_device = host_to_device


def device_memset(dst: Any, val: int, size: int, stream: object = 0) -> None:
    """Set so many bytes."""
    data_of(dst).reshape(-1).view("u1")[:size] = val


__all__ = [
    "Context",
    "CudaAPIError",
    "CudaDriverError",
    "CudaSupportError",
    "Device",
    "Event",
    "Stream",
    "device_memset",
    "device_to_device",
    "device_to_host",
    "host_to_device",
]
