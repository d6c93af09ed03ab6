"""NVIDIA's driver (libcuda), as far as launches of our own code need it; found by name, without a CUDA toolkit."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, LaunchError

Extents = tuple[int, int, int]
Array = NDArray[Any]


class Driver(Protocol):
    """What launches ask of a driver. Addresses and handles are integers of the device's."""

    @property
    def architecture(self) -> int:
        """The device's, as in `sm_90`."""
        ...

    def load(self, ptx: str, entry: str) -> Loaded:
        """A kernel of a module of PTX."""
        ...

    def allocate(self, size: int) -> int: ...
    def free(self, address: int) -> None: ...
    def copy_in(self, address: int, array: Array) -> None: ...
    def copy_out(self, array: Array, address: int) -> None: ...


class Loaded(Protocol):
    """A kernel on the device, with the variables of its module."""

    def variable(self, name: str) -> int:
        """The address of a variable by its linker's name."""
        ...

    def run(
        self, grid: Extents, block: Extents, shared_bytes: int, is_cooperative: bool, words: Sequence[bytes]
    ) -> None:
        """Run it with these arguments, as they lie in memory, and wait until it has ended."""
        ...


@functools.cache
def find_driver() -> Driver | None:
    """The driver with its first device; None where there is none."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return CUDADriver(ctypes.CDLL(name))
    except (OSError, LaunchError):
        return None


class CUDADriver:
    """libcuda, with the primary context of device 0, which JAX has too."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self.call("cuInit", 0)
        device, self._context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        major, minor = ctypes.c_int(), ctypes.c_int()
        for number, attribute in ((major, 75), (minor, 76)):  # the compute capability
            self.call("cuDeviceGetAttribute", ctypes.byref(number), attribute, device)
        self.architecture = 10 * major.value + minor.value

    def call(self, function: str, *arguments: Any) -> None:
        """Call a function in the device's context.

        Raises LaunchError (WL1604) where it fails.
        """
        if hasattr(self, "_context") and self._context:
            self._library.cuCtxSetCurrent(self._context)
        status = self._library[function](*arguments)
        if status != 0:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(status, ctypes.byref(text))
            said = (text.value or b"").decode("utf-8", "replace") or "an unknown error"
            raise LaunchError(Diagnostic("WL1604", f"NVIDIA's driver failed in {function}: {said} ({status})"))

    def load(self, ptx: str, entry: str) -> CUDAKernel:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx.encode() + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        return CUDAKernel(self, module, function)

    def allocate(self, size: int) -> int:
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        return address.value

    def free(self, address: int) -> None:
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def copy_in(self, address: int, array: Array) -> None:
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), _place(array), ctypes.c_size_t(array.nbytes))

    def copy_out(self, array: Array, address: int) -> None:
        self.call("cuMemcpyDtoH_v2", _place(array), ctypes.c_uint64(address), ctypes.c_size_t(array.nbytes))


class CUDAKernel:
    """A function of a module that the driver has loaded."""

    def __init__(self, driver: CUDADriver, module: ctypes.c_void_p, function: ctypes.c_void_p) -> None:
        self._driver, self._module, self._function = driver, module, function
        self._most_shared = 48 << 10

    def variable(self, name: str) -> int:
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        self._driver.call(
            "cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), self._module, name.encode()
        )
        return address.value

    def run(
        self, grid: Extents, block: Extents, shared_bytes: int, is_cooperative: bool, words: Sequence[bytes]
    ) -> None:
        if shared_bytes > self._most_shared:
            self._driver.call("cuFuncSetAttribute", self._function, 8, shared_bytes)
            self._most_shared = shared_bytes
        held = [ctypes.create_string_buffer(word, len(word)) for word in words]
        given = (ctypes.c_void_p * max(len(held), 1))(*(ctypes.addressof(each) for each in held))
        name = "cuLaunchCooperativeKernel" if is_cooperative else "cuLaunchKernel"
        extra = () if is_cooperative else (None,)
        shape = [ctypes.c_uint(each) for each in (*grid, *block, shared_bytes)]
        self._driver.call(name, self._function, *shape, None, given, *extra)
        self._driver.call("cuCtxSynchronize")


def _place(array: Array) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(np.asarray(array).ctypes.data)
