"""Memory that plays the device, for library routines that are called from Python, without a program around them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windlass.hosting.libraries import LibraryCall, Session

Array = NDArray[Any]
_SINGLE: Any = np.complex64
_DOUBLE: Any = np.complex128
_FLOAT: Any = np.float32


class _Function:
    """A function of the host runtime; ctypes would have these attributes be set."""

    argtypes: Any = None
    restype: Any = None

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


@dataclass(frozen=True)
class Pointer:
    """An address that a call is given."""

    address: int

    def __add__(self, count: int) -> Pointer:
        return Pointer(self.address + count)


class Device:
    """Arrays as device memory, and calls of library routines on them."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.host: list[Array] = []
        self.calls: list[LibraryCall] = []
        self.delayed: list[int] | None = None
        library: Any = type("Runtime", (), {})()
        library.windlass_allocation = _Function(self._find)
        library.windlass_perform_library_call = _Function(self._perform)
        library.cudaFree = _Function(lambda address: 0)
        setattr(library, "__windlass_malloc", _Function(lambda place, size: 2))
        self.session = Session(library, self.calls.append)

    def _find(self, address: int, start: Any, size: Any) -> int:
        for each in self.arrays:
            begin = each.ctypes.data
            if begin <= address < begin + each.nbytes:
                start._obj.value, size._obj.value = begin, each.nbytes
                return 1
        return 0

    def _perform(self, stream: int, number: int) -> None:
        if self.delayed is None:
            self.session.call_again(number)
        else:
            self.delayed.append(number)

    def put(self, values: Any, dtype: Any = None) -> tuple[Pointer, Array]:
        """Device memory with these values: its address, and the memory as an array in one row."""
        kept = np.array(values, dtype, order="F").ravel(order="F").copy()
        self.arrays.append(kept)
        return Pointer(kept.ctypes.data), kept

    def number(self, value: Any, dtype: Any) -> Pointer:
        """A number on the host."""
        kept = np.zeros(16, np.uint8)
        content = np.asarray(value, dtype).tobytes()
        kept[: len(content)] = np.frombuffer(content, np.uint8)
        self.host.append(kept)
        return Pointer(kept.ctypes.data)

    def place(self, dtype: Any = np.uint64) -> tuple[Pointer, Array]:
        """A place on the host for a result."""
        kept = np.zeros(2, dtype)
        self.host.append(kept)
        return Pointer(kept.ctypes.data), kept

    def pointers(self, *pointers: Pointer) -> Pointer:
        """An array of addresses on the device."""
        return self.put([each.address for each in pointers], np.uint64)[0]

    def create(self, name: str, *arguments: Any) -> int:
        """The handle that a routine makes, whose place is its first argument."""
        pointer, found = self.place()
        assert self.call(name, pointer, *arguments) == 0
        return int(found[0])

    def call(self, name: str, *arguments: Any, returns: str = "i") -> Any:
        """Call a routine as a program would; gives its status, or what it returns."""
        kinds, words = "", list[int]()
        for each in arguments:
            if isinstance(each, Pointer):
                kinds, words = kinds + "p", [*words, each.address]
            elif isinstance(each, _SINGLE):
                kinds, words = kinds + "c", [*words, int.from_bytes(each.tobytes(), "little")]
            elif isinstance(each, _DOUBLE):
                parts = [int.from_bytes(part.tobytes(), "little") for part in (each.real, each.imag)]
                kinds, words = kinds + "dd", [*words, *parts]
            elif isinstance(each, (float, _FLOAT)):
                kinds += "f" if isinstance(each, _FLOAT) else "d"
                words.append(int.from_bytes(np.asarray(each).tobytes(), "little"))
            else:
                kinds, words = kinds + "i", [*words, int(each) & (2**64 - 1)]
        result = np.zeros(16, np.uint8)
        self.session.call(name, kinds, words, result.ctypes.data)
        if returns == "s":
            return ctypes.string_at(int(result.view(np.int64)[0])).decode()
        dtype = {"i": np.int32, "f": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}[returns]
        return result.view(dtype)[0]
