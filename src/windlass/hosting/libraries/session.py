"""Library calls of one run of a program: its handles and descriptors, and the way of a call to its routine."""

from __future__ import annotations

import ctypes
import itertools
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.diagnostics.deferral import deferred
from windlass.hosting.libraries.memory import Array, Matrices, ProgramMemory
from windlass.hosting.libraries.routines import (
    Address,
    Columns,
    Factor,
    Failure,
    LibraryError,
    Option,
    Result,
    Routine,
    Stream,
    find_routine,
    is_group,
)

if TYPE_CHECKING:
    from windlass.hosting.libraries import tensor_programs
else:
    tensor_programs = deferred("windlass.hosting.libraries.tensor_programs")

Object = TypeVar("Object")
Choice = TypeVar("Choice", bound=Option)
FIRST_HANDLE = 0x10000
NOT_SUPPORTED = 801
LAUNCH_FAILURE = 719


class Stateful:
    """What programs hold by a handle or a descriptor. Handles have a stream."""

    stream: int = 0
    status: int = 0


@dataclass(frozen=True)
class LibraryCall:
    """A call that was done: which routine, how long it took, and the arrays that it read or wrote, by name."""

    name: str
    seconds: float
    arrays: Mapping[str, Array | None]


@dataclass
class Call:
    """A call that is being done: what a routine may ask for, beyond its arguments."""

    session: Session
    routine: Routine
    name: str
    """The name that the program called, such as cublasSgemm_v2_64."""
    arrays: dict[str, Array | None] = field(default_factory=dict[str, Any])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype that the routine's name says."""
        assert self.routine.dtype is not None
        return self.routine.dtype

    @property
    def real_dtype(self) -> np.dtype[Any]:
        """The dtype of the parts of a complex number of the routine's dtype."""
        return real_dtype(self.dtype)

    def view(
        self,
        name: str,
        address: int,
        shape: tuple[int, ...],
        steps: tuple[int, ...],
        dtype: np.dtype[Any] | None = None,
    ) -> Array:
        """Elements in device memory, `steps` elements apart along each axis; see `ProgramMemory.view`."""
        found = self.session.memory.view(name, address, dtype or self.dtype, shape, steps)
        self.arrays.setdefault(name, found)
        return found

    def vector(self, name: str, address: int, n: int, step: int = 1, dtype: np.dtype[Any] | None = None) -> Array:
        """A vector as BLAS has it: with a negative step it begins at its highest address."""
        if step < 0:
            item = (dtype or self.dtype).itemsize
            return self.view(name, address + max(n - 1, 0) * -step * item, (n,), (step,), dtype)
        return self.view(name, address, (n,), (step,), dtype)

    def matrix(self, name: str, place: Columns, rows: int, columns: int, dtype: np.dtype[Any] | None = None) -> Array:
        """A matrix by columns."""
        self._check_columns(name, place, rows)
        return self.view(name, place.address, (rows, columns), (1, place.leading), dtype)

    def matrices(
        self,
        name: str,
        place: Columns,
        count: int,
        stride: int,
        rows: int,
        columns: int,
        dtype: np.dtype[Any] | None = None,
    ) -> Array:
        """Matrices by columns, `stride` elements apart."""
        self._check_columns(name, place, rows)
        return self.view(name, place.address, (count, rows, columns), (stride, 1, place.leading), dtype)

    def pointed_matrices(
        self, name: str, place: Columns, count: int, rows: int, columns: int, dtype: np.dtype[Any] | None = None
    ) -> Matrices:
        """Matrices by columns, whose addresses lie one after another in device memory."""
        self._check_columns(name, place, rows)
        addresses = self.view(f"{name} (array of pointers)", place.address, (count,), (1,), np.dtype(np.uint64))
        return Matrices(
            self.session.memory,
            name,
            tensor_programs.where_known(addresses).copy(),
            (rows, columns),
            place.leading,
            dtype or self.dtype,
        )

    def integers(self, name: str, address: int, count: int, dtype: np.dtype[Any]) -> Any:
        """Integers in device memory, copied as int64: NumPy's where they are known, else an array that is traced."""
        return tensor_programs.where_known(self.vector(name, address, count, dtype=dtype)).astype(np.int64)

    def _check_columns(self, name: str, place: Columns, rows: int) -> None:
        far = place.leading
        self.require(far >= max(1, rows), f"columns of '{name}' have {rows} rows, but are {far} apart")

    def scalar(self, scalar: Factor, dtype: np.dtype[Any] | None = None) -> Any:
        """The value of a factor, as a NumPy scalar."""
        dtype = dtype or self.dtype
        if scalar.content is not None:
            return self.session.memory.resolve(np.frombuffer(scalar.content[: dtype.itemsize], dtype)[0])
        return self.session.memory.view("a factor", scalar.address, dtype, (1,), (1,))[0].copy()

    def host_array(self, name: str, address: int, count: int, dtype: Any) -> Array:
        """Numbers on the host, copied."""
        self.require(address != 0, f"'{name}' is a null pointer")
        return np.frombuffer(self.session.memory.read(address, count * np.dtype(dtype).itemsize), dtype)

    def put(self, result: Result, value: Any, dtype: np.dtype[Any] | None = None) -> None:
        """Write a number where the caller asked for it, on the host or the device."""
        if not result:
            raise LibraryError(Failure.invalid, "there is nowhere to put the result")
        self.session.memory.put(result, value, dtype or self.dtype)

    def give(self, place: Result, value: Stateful) -> None:
        """Write the handle of a new object where the caller asked for it."""
        self.put(place, self.session.keep(value), np.dtype(np.uint64))

    def require(self, condition: bool, message: str) -> None:
        """Raises LibraryError with the status for invalid arguments where a condition does not hold."""
        if not condition:
            raise LibraryError(Failure.invalid, message)

    def refuse(self, message: str) -> LibraryError:
        """The error for what is valid but not there."""
        return LibraryError(Failure.unsupported, message)


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of real parts.

    >>> real_dtype(np.dtype(np.complex64))
    dtype('float32')
    """
    return np.real(np.zeros(0, dtype)).dtype if dtype.kind == "c" else dtype


class Session:
    """The libraries' side of one run of a program."""

    def __init__(self, library: Any, observe: Callable[[LibraryCall], None] | None = None) -> None:
        self.memory: ProgramMemory = ProgramMemory(library)
        self.observe = observe
        self.objects: dict[int, Stateful] = {}
        self.strings: dict[str, Any] = {}
        self.legacy_handle: Stateful | None = None
        self._perform: Any = library.windlass_perform_library_call
        self._perform.argtypes = (ctypes.c_void_p, ctypes.c_int)
        self._perform.restype = None
        self._numbers = itertools.count(1)
        self._captured: dict[int, Callable[[], int]] = {}

    # -- objects ------------------------------------------------------------------------------------------------------

    def keep(self, value: Stateful, number: int | None = None) -> int:
        """A handle for an object; `number` is for objects that live in the program's own memory."""
        number = number or FIRST_HANDLE + 16 * next(self._numbers)
        self.objects[number] = value
        return number

    def drop(self, value: Stateful) -> None:
        """Forget an object."""
        for number in [number for number, each in self.objects.items() if each is value]:
            del self.objects[number]

    def object(self, kind: type[Object], number: int) -> Object:
        """The object that a handle stands for.

        Raises LibraryError where it stands for none, or one of another kind.
        """
        found = self.objects.get(number)
        if not isinstance(found, kind):
            raise LibraryError(Failure.uninitialized, f"{number:#x} is no {kind.__name__.lower()} that was created")
        return found

    def text(self, content: str) -> int:
        """The address of a text that stays."""
        kept = self.strings.setdefault(content, ctypes.create_string_buffer(content.encode()))
        return ctypes.addressof(kept)

    # -- calls --------------------------------------------------------------------------------------------------------

    def call(self, name: str, kinds: str, words: Sequence[int], result: int) -> None:
        """Do a call, and put its result, at most 16 bytes, at the address `result`.

        What is raised by a routine itself, as by a defect of its own, is a failure to the program too.
        """
        routine = find_routine(name)
        assert routine is not None
        try:
            self._call(routine, name, kinds, words, result)
        except BaseException:
            self._finish(routine, result, routine.library.statuses[Failure.failed])
            raise

    def _call(self, routine: Routine, name: str, kinds: str, words: Sequence[int], result: int) -> None:
        try:
            arguments = self._arguments(routine, kinds, words, result)
        except LibraryError as error:
            self._finish(routine, result, self._report(routine, error))
            return
        stream = stream_of(routine, arguments)
        if not stream or Address not in routine.words.values():
            # What doesn't touch device memory is done when it is asked for, whatever the stream.
            self._finish(routine, result, self._do(routine, name, arguments))
            return
        done: list[Any] = []
        number = next(self._numbers)

        def again() -> int:
            done.append(self._do(routine, name, arguments))
            return LAUNCH_FAILURE if isinstance(done[-1], int) and done[-1] else 0

        self._captured[number] = again
        self._perform(stream, number)
        if done:
            # It was done now: no graph holds it.
            del self._captured[number]
        self._finish(routine, result, done[0] if done else None)

    def call_again(self, number: int) -> int:
        """Do a call that a stream captured; gives a CUDA error number."""
        return self._captured[number]()

    def _do(self, routine: Routine, name: str, arguments: Sequence[Any]) -> Any:
        call = Call(self, routine, name)
        begin = time.perf_counter()
        try:
            outcome = routine.function(call, *arguments)
        except LibraryError as error:
            return self._report(routine, error)
        if self.observe is not None and call.arrays:
            self.observe(LibraryCall(routine.name, time.perf_counter() - begin, call.arrays))
        return outcome

    def _report(self, routine: Routine, error: LibraryError) -> int:
        diagnostic = Diagnostic("WL0420", f"{routine.name}: {error.message}")
        if self.memory.is_traced:
            raise LaunchError(diagnostic)
        print(diagnostic, file=sys.stderr, flush=True)
        return error.status if error.status is not None else routine.library.statuses[error.failure]

    def _finish(self, routine: Routine, result: int, outcome: Any) -> None:
        if routine.is_legacy:
            # What these return is a result of theirs; the status is asked for separately.
            if isinstance(outcome, int) and outcome and self.legacy_handle is not None:
                self.legacy_handle.status = outcome
            return
        if isinstance(outcome, str):
            outcome = self.text(outcome)
        ctypes.c_int64.from_address(result).value = int(outcome or 0)

    def _arguments(self, routine: Routine, kinds: str, words: Sequence[int], result: int) -> list[Any]:
        source = iter(zip(kinds, words, strict=True))
        return [self._argument(routine, kind, source, result) for kind in routine.parameters.values()]

    def _argument(self, routine: Routine, wanted: Any, source: Iterator[tuple[str, int]], result: int) -> Any:
        if routine.is_legacy:
            if wanted is Result:
                return result
            if isinstance(wanted, type) and issubclass(wanted, Stateful):
                if self.legacy_handle is None:
                    self.legacy_handle = wanted()
                return self.legacy_handle
        if is_group(wanted):
            return wanted(*(self._argument(routine, each, source, result) for each in wanted.kinds().values()))
        kind, word = next(source)
        if wanted is int or wanted is Stream:
            return word - (1 << 64) if word >> 63 else word
        if wanted is Address or wanted is Result:
            return word
        if wanted is float:
            return read_float(kind, word)
        if wanted is Factor:
            if kind != "p":
                return Factor(word.to_bytes(8, "little") + next_part(routine, kind, source), 0)
            return self._scalar(word)
        if issubclass(wanted, Option):
            return read_letter(wanted, chr(word & 255)) if routine.is_legacy else read_option(wanted, word)
        return self.object(wanted, word)

    def _scalar(self, address: int) -> Factor:
        """A factor: copied now from the host, where it may change, and read on the device when the call is done."""
        if self.memory.allocation(address) is not None:
            return Factor(None, address)
        return Factor(self.memory.read_number(address), address)


def stream_of(routine: Routine, arguments: Sequence[Any]) -> int:
    """The stream that a call goes into; 0 for none."""
    for kind, each in zip(routine.parameters.values(), arguments, strict=True):
        found = each if kind is Stream else each.stream if isinstance(each, Stateful) else 0
        if found:
            return int(found)
    return 0


def next_part(routine: Routine, kind: str, source: Iterator[tuple[str, int]]) -> bytes:
    """The imaginary part of a factor by value, where complex numbers of doubles are passed as two."""
    if routine.dtype != np.complex128 or kind != "d":
        return b""
    found, word = next(source)
    if found != "d":
        raise LibraryError(Failure.unsupported, "its older form without a handle is not supported")
    return word.to_bytes(8, "little")


def read_float(kind: str, word: int) -> float:
    """The float in a word of that kind.

    >>> read_float("f", 0x3F800000)
    1.0
    """
    if kind == "f":
        return float(struct.unpack("<f", (word & 0xFFFFFFFF).to_bytes(4, "little"))[0])
    return float(struct.unpack("<d", word.to_bytes(8, "little"))[0])


def read_option(kind: type[Option], word: int) -> Option:
    """The option that a number stands for.

    Raises LibraryError where it stands for none.
    """
    number = word - (1 << 64) if word >> 63 else word
    try:
        return kind(number)
    except ValueError:
        raise LibraryError(Failure.invalid, f"{number} is none of the values of {kind.__name__}") from None


def read_letter(kind: type[Choice], letter: str) -> Choice:
    """The option that a letter stands for, as in Fortran's BLAS.

    Raises LibraryError where it stands for none.
    """
    found = next((each for each in kind if each.letter == letter.upper()), None)
    if found is None:
        raise LibraryError(Failure.invalid, f"{letter!r} is none of the values of {kind.__name__}")
    return found
