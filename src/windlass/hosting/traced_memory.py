"""Device memory of a host function that is traced: an allocation is an array of `wl.jit`, or a part of one.

The addresses are real, but nothing lies there. An allocation has the dtype that it is first used with; others see it
reinterpreted, as complex numbers see their parts.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.arrays import Array
from windlass.frontends.arrays.tracing import Storage
from windlass.frontends.arrays.views import Regroup, Strided, shadow_of
from windlass.hosting.host_numbers import MOST_COPIED, NAMES, HostNumbers
from windlass.hosting.libraries.memory import ProgramMemory

BYTE = np.dtype(np.uint8)


@dataclass
class Region:
    """An allocation: where it begins, its size in bytes, and its elements in a row.

    `is_own` says that the function allocated it: nothing else sees its array.
    """

    start: int
    size: int
    elements: Array
    is_own: bool

    @property
    def known(self) -> bytes | None:
        """What it holds, where that does not depend on what is traced."""
        value = self.elements.value
        return None if isinstance(value, Tracer) else np.asarray(value).tobytes()

    def typed(self, dtype: np.dtype[Any]) -> Array:
        """Its elements as of this dtype.

        Raises LaunchError (WL0422) where the bits of traced numbers would become others.
        """
        before = self.elements.dtype
        if before == dtype:
            return self.elements
        known = self.known
        if known is not None and self.is_own:
            self.elements = Array(np.frombuffer(known[: self.size // dtype.itemsize * dtype.itemsize], dtype).copy())
            return self.elements
        count = self.size // dtype.itemsize * dtype.itemsize // before.itemsize
        part = self.elements if count == self.elements.size else self.elements[:count]
        if known is None and not _are_parts(before, dtype):
            raise cannot_trace(
                f"memory that holds {before} is used as {dtype}",
                "the bits of numbers that are traced can't be taken for other numbers",
            )
        return part.view(dtype)


def _are_parts(first: np.dtype[Any], second: np.dtype[Any]) -> bool:
    """Whether these are complex numbers and their parts."""
    return any(
        a.kind == "c" and b.kind == "f" and a.itemsize == 2 * b.itemsize for a, b in ((first, second), (second, first))
    )


def cannot_trace(headline: str, note: str, help: str | None = None) -> LaunchError:
    """What is said of something in a host function that can't be part of a compiled function."""
    return LaunchError(Diagnostic("WL0422", f"a host function can't be traced: {headline}", notes=(note,), help=help))


class TracedMemory(ProgramMemory):
    """The memory of one trace of a function of the program whose host side is `library`."""

    is_traced = True

    def __init__(self, library: Any) -> None:
        super().__init__(library)
        self.library = library
        self.regions: dict[int, Region] = {}
        self.numbers = HostNumbers()
        self._of_storage: dict[int, tuple[Storage, int]] = {}

    def add(self, array: Array, name: str) -> int:
        """The address of an array, which gets one. Views of one memory lie where they do in it.

        Raises LaunchError (WL0405) for one whose elements don't follow one another in memory.
        """
        run = array.contiguous_run()
        if run is not None:
            storage, first = run
            known = self._of_storage.get(id(storage))
            if known is None:
                value = storage.value
                whole = shadow_of((value.size,), np.dtype(value.dtype))
                known = storage, self._place(Array(None, storage, (Regroup((value.size,)),), whole))
                self._of_storage[id(storage)] = known
            return known[1] + first * array.itemsize
        flags = array.flags
        if flags.c_contiguous:
            return self._place(array.reshape(-1))
        if flags.f_contiguous:
            return self._place(array.T.reshape(-1))
        raise LaunchError(
            Diagnostic(
                "WL0405",
                f"argument '{name}' is a view that is not contiguous: shape {array.shape}",
                notes=("a host function sees memory as one run of elements",),
                help="pass a copy",
            )
        )

    def _place(self, elements: Array) -> int:
        reserve = self.library.windlass_reserve
        reserve.restype = ctypes.c_size_t
        start = int(reserve(ctypes.c_size_t(elements.nbytes)))
        self.regions[start] = Region(start, elements.nbytes, elements, False)
        return start

    def allocation(self, address: int) -> tuple[int, int] | None:
        """Where the allocation begins that an address lies in, and its size; None for memory of the host.

        Raises LaunchError (WL0422) for device memory that was there before: what it holds is not part of the
        compiled function.
        """
        side = self.library.windlass_side(ctypes.c_void_p(address))
        if side == 2:
            raise cannot_trace(
                "it uses a device variable, or memory that another function allocated",
                "what that holds is not part of the compiled function",
                "pass it as an argument",
            )
        return super().allocation(address) if side else None

    def region(self, address: int) -> Region | None:
        """The allocation that an address lies in."""
        home = self.allocation(address)
        if home is None:
            # The end of a range is behind its memory.
            home = next(
                ((each.start, each.size) for each in self.regions.values() if each.start + each.size == address), None
            )
        if home is None:
            return None
        start, size = home
        found = self.regions.get(start)
        if found is None:
            # Fresh memory is zero, as it is where programs run.
            found = self.regions[start] = Region(start, size, Array(np.zeros(size, np.uint8)), True)
        return found

    def elements(self, address: int, dtype: np.dtype[Any]) -> tuple[Array, int] | None:
        """The elements of the allocation that an address lies in, and the number of the one there."""
        region = self.region(address)
        if region is None:
            return None
        offset = address - region.start
        if offset % dtype.itemsize:
            raise cannot_trace(f"an address is no multiple of {dtype.itemsize} bytes", f"elements there are {dtype}")
        return region.typed(dtype), offset // dtype.itemsize

    def view(
        self, name: str, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], steps: tuple[int, ...]
    ) -> Any:
        if 0 in shape:
            return Array(np.zeros(shape, dtype))
        self.check_bounds(name, address, dtype, shape, steps)
        found = self.elements(address, dtype)
        assert found is not None
        return strided_view(*found, shape, steps)

    def put(self, address: int, value: Any, dtype: np.dtype[Any]) -> None:
        if self.region(address) is not None:
            self.view("result", address, dtype, (1,), (1,))[0] = value
            return
        value = value.value if isinstance(value, Array) else value
        if isinstance(value, Tracer):
            value = self.numbers.name(jnp.reshape(value, ()).astype(dtype), dtype)
        super().put(address, value, dtype)

    def resolve(self, number: Any) -> Any:
        return self.numbers.resolve(number)

    def read(self, address: int, size: int) -> bytes:
        region = self.region(address)
        if region is None:
            return super().read(address, size)
        known, start = region.known, address - region.start
        if known is None:
            raise cannot_trace(
                f"a library call needs {size} bytes of device memory",
                "they are not known while the function is compiled",
                "pass them from the host",
            )
        return known[start : start + size]

    # -- copies -------------------------------------------------------------------------------------------------------

    def move(self, target: int, source: int, size: int) -> None:
        """memmove between memories of either side.

        Raises LaunchError (WL0422) where host code would get numbers that are traced.
        """
        into, out_of = self.region(target), self.region(source)
        if into is None and out_of is None:
            ctypes.memmove(target, source, size)
        elif into is None:
            assert out_of is not None
            known, start = out_of.known, source - out_of.start
            content = self._named(out_of, source, size) if known is None else known[start : start + size]
            ctypes.memmove(target, content, size)
        elif out_of is None:
            self._write_known(into, target - into.start, ctypes.string_at(source, size))
        else:
            self._move_within(into, target, out_of, source, size)

    def _named(self, region: Region, address: int, size: int) -> bytes:
        """Names for numbers that host code gets."""
        dtype = region.elements.dtype
        found = self.elements(address, dtype)
        assert found is not None
        elements, first = found
        count = size // dtype.itemsize
        if count > MOST_COPIED or size % dtype.itemsize:
            raise cannot_trace(
                f"{size} bytes of device memory are copied to the host",
                f"up to {MOST_COPIED} numbers there can be followed",
                "copy to an array that is an argument of the function, or let a kernel compute with them",
            )
        values = jnp.asarray(elements[first : first + count].value)
        return np.array([self.numbers.name(values[place], dtype) for place in range(count)], dtype).tobytes()

    def _move_within(self, into: Region, target: int, out_of: Region, source: int, size: int) -> None:
        known = out_of.known
        if known is not None:
            start = source - out_of.start
            self._write_known(into, target - into.start, known[start : start + size])
            return
        dtype = out_of.elements.dtype
        from_, to = self.elements(source, dtype), self.elements(target, dtype)
        assert from_ is not None and to is not None
        if size % dtype.itemsize:
            raise cannot_trace(f"{size} bytes are copied", f"elements there are {dtype}")
        count = size // dtype.itemsize
        to[0][to[1] : to[1] + count] = from_[0][from_[1] : from_[1] + count].copy()

    def fill(self, target: int, value: int, size: int) -> None:
        """memset of device memory."""
        region = self.region(target)
        if region is None:
            ctypes.memset(target, value, size)
        else:
            self._write_known(region, target - region.start, bytes([value]) * size)

    def _write_known(self, region: Region, offset: int, content: bytes) -> None:
        dtype = region.elements.dtype
        if region.is_own and region.known is not None:
            # The names of traced numbers say what they are.
            for kind in NAMES:
                whole = content[: len(content) // kind.itemsize * kind.itemsize]
                if self.numbers.are_named(np.frombuffer(whole, kind)) is not None:
                    dtype = kind
        if offset % dtype.itemsize or len(content) % dtype.itemsize:
            if region.known is None:
                raise cannot_trace(f"{len(content)} bytes are written at byte {offset}", f"elements there are {dtype}")
            dtype = BYTE
        elements = region.typed(dtype)
        first = offset // dtype.itemsize
        elements[first : first + len(content) // dtype.itemsize] = self.numbers.resolve(np.frombuffer(content, dtype))


def strided_view(elements: Array, start: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> Array:
    """A view of elements in a row: `shape` of them from number `start` on, `steps` apart along each axis.

    Where the steps nest, as those of matrices by columns do, it is made of slices, which programs are quicker with than
    with places one by one.
    """
    nested = _nested_view(elements, start, shape, steps)
    if nested is not None:
        return nested
    step = Strided(start, shape, steps)
    shadow = shadow_of(shape, elements.dtype, tuple(each * elements.itemsize for each in steps))
    if not step.may_be_written:
        shadow.flags.writeable = False
    return Array(None, elements.storage, (*elements.steps, step), shadow)


def _nested_view(elements: Array, start: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> Array | None:
    """The view as a slice in rows, whose axes are put in order; None where the steps don't nest, or a row is short."""
    order = sorted(range(len(shape)), key=lambda axis: (-steps[axis], axis))
    rooms = list[int]()
    inner = 1
    for place, axis in reversed(list(enumerate(order))):
        if steps[axis] != inner and shape[axis] > 1:
            return None
        # Of an axis with one element it does not matter how far the next would be.
        outer = order[place - 1]
        room = shape[axis] if place == 0 or shape[outer] == 1 else steps[outer] // inner
        if room < shape[axis]:
            return None
        rooms.insert(0, room)
        inner *= room
    if start + inner > elements.size:
        return None
    rows = elements if (start, inner) == (0, elements.size) else elements[start : start + inner]
    found = rows.reshape(*rooms)
    if rooms != [shape[axis] for axis in order]:
        found = found[tuple(slice(shape[axis]) for axis in order)]
    return found if order == sorted(order) else found.transpose(*(int(axis) for axis in np.argsort(order)))
