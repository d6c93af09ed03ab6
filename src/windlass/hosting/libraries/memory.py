"""Device memory of a running program as NumPy arrays: vectors, matrices by columns, batches; with bounds checked."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.hosting.libraries.routines import Failure, LibraryError

Array: TypeAlias = NDArray[Any]
PAGE = 4096
LONGEST_NUMBER = 16


class ProgramMemory:
    """The memory of a program whose host side is `library` (hosting/runtime)."""

    is_traced: ClassVar[bool] = False
    """Whether it has no contents, and what is read and written is part of a tensor program."""

    def __init__(self, library: Any) -> None:
        self.find: Any = library.windlass_allocation
        self.find.argtypes = (ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64))

        self._allocate: Any = getattr(library, "__windlass_malloc")
        self._allocate.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        self._free: Any = library.cudaFree
        self._free.argtypes = (ctypes.c_void_p,)

    def allocate(self, size: int, place: int) -> int:
        """Allocate device memory and put its address at `place`; gives a CUDA error number."""
        return int(self._allocate(place, size))

    def free(self, address: int) -> int:
        """Free device memory; gives a CUDA error number."""
        return int(self._free(address))

    def allocation(self, address: int) -> tuple[int, int] | None:
        """Where the allocation begins that an address lies in, and its size."""
        start, size = ctypes.c_uint64(), ctypes.c_uint64()
        if not address or not self.find(address, ctypes.byref(start), ctypes.byref(size)):
            return None
        return start.value, size.value

    def view(
        self, name: str, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], steps: tuple[int, ...]
    ) -> Array:
        """Elements at an address; `steps` counts elements from one to the next along each axis.

        Raises LibraryError where the address is no device memory, or an element lies outside its allocation.
        """
        if 0 in shape:
            return np.zeros(shape, dtype)
        start, size = self.check_bounds(name, address, dtype, shape, steps)
        buffer: Any = (ctypes.c_ubyte * size).from_address(start)
        strides = tuple(step * dtype.itemsize for step in steps)
        return np.ndarray(shape, dtype, buffer, address - start, strides)

    def check_bounds(
        self, name: str, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], steps: tuple[int, ...]
    ) -> tuple[int, int]:
        """The allocation in which all elements of a view lie.

        Raises LibraryError where there is none.
        """
        lowest = sum(min((extent - 1) * step, 0) for extent, step in zip(shape, steps, strict=True))
        highest = sum(max((extent - 1) * step, 0) for extent, step in zip(shape, steps, strict=True))
        home = self.allocation(address)
        if home is None:
            raise LibraryError(
                Failure.illegal_access if address else Failure.invalid,
                f"'{name}' is a null pointer"
                if not address
                else f"'{name}' is {address:#x}, which is no device memory",
            )
        start, size = home
        offset = address - start
        needed = (highest + 1) * dtype.itemsize
        if offset + lowest * dtype.itemsize < 0 or offset + needed > size:
            raise LibraryError(
                Failure.illegal_access,
                f"'{name}' needs {needed} bytes, and its allocation of {size} bytes has {size - offset} there",
            )
        return start, size

    def put(self, address: int, value: Any, dtype: np.dtype[Any]) -> None:
        """Write a number somewhere in the process's memory."""
        content = np.asarray(value).astype(dtype).tobytes()
        ctypes.memmove(address, content, len(content))

    def read_number(self, address: int) -> bytes:
        """The bytes of a number somewhere in the process's memory, with what follows it on the same page."""
        if not address:
            raise LibraryError(Failure.invalid, "a factor is a null pointer")
        return self.read(address, min(LONGEST_NUMBER, PAGE - address % PAGE))

    def resolve(self, number: Any) -> Any:
        """The value of a number that host code gives, which may stand for another in a trace."""
        return number

    def move(self, target: int, source: int, size: int) -> None:
        """Copy bytes between memories of either side."""
        ctypes.memmove(target, source, size)

    def read(self, address: int, size: int) -> bytes:
        """Bytes of memory on either side."""
        return ctypes.string_at(address, size)


class Matrices:
    """Matrices of one shape by columns, each at an address of its own.

    Where all of them lie in one allocation, as they mostly do, they are read and written at once.
    """

    def __init__(
        self,
        memory: ProgramMemory,
        name: str,
        addresses: Array,
        shape: tuple[int, int],
        leading: int,
        dtype: np.dtype[Any],
    ) -> None:
        self.memory, self.name, self.addresses = memory, name, addresses
        self.shape, self.leading, self.dtype = shape, leading, dtype
        self._whole = self._places = None
        home = memory.allocation(int(addresses[0])) if len(addresses) and 0 not in shape else None
        if home is None:
            return
        offsets = addresses.astype(np.int64) - home[0]
        length = (shape[1] - 1) * leading + shape[0]
        is_inside = offsets.min() >= 0 and offsets.max() + length * dtype.itemsize <= home[1]
        if is_inside and not (offsets % dtype.itemsize).any():
            self._whole = memory.view(name, home[0], dtype, (home[1] // dtype.itemsize,), (1,))
            rows, columns = np.indices(shape)
            self._places = (offsets // dtype.itemsize)[:, None, None] + rows + leading * columns

    def __len__(self) -> int:
        return len(self.addresses)

    def __iter__(self) -> Iterator[Array]:
        for place, address in enumerate(self.addresses):
            steps = (1, self.leading)
            yield self.memory.view(f"{self.name}[{place}]", int(address), self.dtype, self.shape, steps)

    def stacked(self) -> Array:
        """All matrices, copied."""
        if self._whole is not None:
            return self._whole[self._places]
        return np.stack(list(self)) if len(self) else np.zeros((0, *self.shape), self.dtype)

    def put(self, values: Array) -> None:
        """Write all matrices."""
        if self._whole is not None:
            self._whole[self._places] = values
            return
        for target, each in zip(self, values, strict=True):
            target[...] = each
