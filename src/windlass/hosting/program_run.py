"""One run of a CUDA program: host code runs natively, kernels through their raised form or the emulator.

The host side is a shared library with a runtime of ours (hosting/runtime). When it launches a kernel, it calls back
into this process with the launch's extents and the bytes of its arguments. Device memory is memory of this process.

Whether a kernel is raised or emulated is said in `launching.tiering`.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import (
    CompilationError,
    Diagnostic,
    LaunchError,
    RaisingError,
    WindlassError,
)
from windlass.diagnostics.cache import load_shared_library
from windlass.diagnostics.deferral import deferred
from windlass.hosting.entry_points import LIST, PREFIX, Entry, read_entries
from windlass.hosting.libraries import LibraryCall, Session
from windlass.ir.signature import Parameter
from windlass.ir.textures import WORDS, TextureForm, TextureObject
from windlass.launching.form import How
from windlass.launching.kernel import Kernel
from windlass.launching.records import SplitRecord, kernel_with_pointers_apart, takes_pointers_in_records
from windlass.launching.texture_forms import with_known_textures
from windlass.launching.tiering import Tier
from windlass.runtime.launch_shape import Extents, LaunchShape

if TYPE_CHECKING:
    from windlass.launching import explaining, texture_launch
    from windlass.launching.module import Module
    from windlass.launching.tiering import Mode
    from windlass.reports.report import Report
else:
    explaining = deferred("windlass.launching.explaining")
    texture_launch = deferred("windlass.launching.texture_launch")

Array: TypeAlias = NDArray[Any]

SUCCESS, INVALID_CONFIGURATION, LAUNCH_FAILURE = 0, 9, 719
DEVICE_ERRORS = {"WL0602": 700, "WL0613": 700, "WL0617": 700, "WL0609": 716, "WL0607": 710, "WL0611": 801}
"""What a program is told by the emulator's error: illegal or misaligned address, assert, not supported."""
MOST_THREADS = 1024
EXTENT_LIMITS = (2**31 - 1, 65535, 65535, 1024, 1024, 64)

_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint), ctypes.c_size_t, ctypes.c_void_p
)
_SIZES = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int), ctypes.c_int)
_ADDRESS = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
_MANAGED = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
_LIBRARY = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64), ctypes.c_void_p)
_AGAIN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
_MOVE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)
_OBSERVE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64))
_FILL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_int, ctypes.c_size_t)


class _Services(ctypes.Structure):
    _fields_ = (
        ("launch", _LAUNCH),
        ("parameter_sizes", _SIZES),
        ("variable_address", _ADDRESS),
        ("place_managed", _MANAGED),
        ("library", _LIBRARY),
        ("library_again", _AGAIN),
        ("move", _MOVE),
        ("fill", _FILL),
        ("observe", _OBSERVE),
    )


@dataclass(frozen=True)
class LaunchRecord:
    """One launch of a program: `arrays` are its pointer arguments by name, views of memory as the launch left it.

    `how` is "raised" or "emulated"; `reason` says why it is not raised, where that was tried. For a call of a library
    that reads or writes device memory, `kernel` is the function's name, `how` is "library"; grid and block are zero.

    `explain` gives the report on such a launch, which is compiled if need be. It may be called while the launch is
    observed; there is none of a library's call.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    how: str
    seconds: float
    reason: WindlassError | None
    arrays: Mapping[str, Array | None]
    explain: Callable[[], Report] | None = field(default=None, compare=False, repr=False)


def _addresses(kernel: Kernel, values: Sequence[bytes]) -> list[tuple[str, int]]:
    """The names and values of all pointers among the arguments, those in structs too."""
    found: list[tuple[str, int]] = []
    for parameter, value in zip(kernel.signature.parameters, values, strict=True):
        if parameter.kind == "pointer":
            found.append((parameter.name, int.from_bytes(value, "little")))
        found += _members(parameter, value)
    return found


def _members(parameter: Parameter, value: bytes) -> list[tuple[str, int]]:
    """The names and values of the pointers in a struct."""
    return [
        (each.parameter.name, int.from_bytes(value[each.offset : each.offset + 8], "little"))
        for each in parameter.pointers
    ]


def _without_members(parameter: Parameter, value: bytes) -> bytes:
    """A struct's bytes, those of its pointers 0: where memory lies says nothing of what a kernel does."""
    plain = bytearray(value)
    for each in parameter.pointers:
        plain[each.offset : each.offset + 8] = bytes(8)
    return bytes(plain)


def _name_memory(size: int, parameters: Sequence[str]) -> str:
    """What an allocation is called in messages: after the parameters that point into it."""
    return "' and '".join(parameters) or f"an allocation of {size} bytes"


class BuiltProgram(Protocol):
    """What a run needs of a program: its host side as a shared library, and each source's kernels and variables."""

    library: bytes
    sources: Sequence[Path]
    modules: Sequence[Module | None]
    names: Sequence[Mapping[str, str]]
    mode: Mode


class Tracing(Protocol):
    """What is done in place of launches and copies where a host function is traced (`traced_run.py`)."""

    def launch(self, kernel: Kernel, extents: tuple[int, ...], shared_bytes: int, values: Sequence[bytes]) -> None:
        """Note a launch."""
        ...

    def move(self, target: int, source: int, size: int) -> None:
        """Note a copy of bytes."""
        ...

    def fill(self, target: int, value: int, size: int) -> None:
        """Note that bytes are set."""
        ...

    def operate(self, operation: str, kinds: str, words: Sequence[int]) -> int:
        """The word of what an operation on floats gives, some of which name traced numbers."""
        ...


def _unloadable(error: Exception, help: str) -> CompilationError:
    return CompilationError(Diagnostic("WL0109", "the program can't be loaded", notes=(str(error),), help=help))


class ProgramRun:
    """One run of a program: what it launches, and on which memory."""

    def __init__(
        self,
        program: BuiltProgram,
        observe: Callable[[LaunchRecord], None] | None,
        library: bytes | None = None,
    ) -> None:
        self.program = program
        self.observe = observe
        self.kernels: dict[tuple[int, str], Kernel] = {}
        self.tiers: dict[tuple[Kernel, LaunchShape], Tier] = {}
        self.views: dict[tuple[int, int], Array] = {}
        self.interrupted: BaseException | None = None
        try:
            self.library: Any = load_shared_library(library or program.library, os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError as error:
            raise _unloadable(error, "is one of its sources missing?") from error
        self.session = Session(self.library, self._record_call)
        self.trace: Tracing | None = None
        """What is traced now, in place of running it."""
        self.services = _Services(
            _LAUNCH(self.launch),
            _SIZES(self.parameter_sizes),
            _ADDRESS(self.variable_address),
            _MANAGED(self.place_managed),
            _LIBRARY(self.call_library),
            _AGAIN(self.call_library_again),
            _MOVE(self.move),
            _FILL(self.fill),
            _OBSERVE(self.observe_floats),
        )
        self.library.windlass_connect(ctypes.byref(self.services))

    def run(self, arguments: Sequence[str]) -> int:
        """Call the program's main function."""
        library = self.library
        try:
            main = library.main
        except AttributeError as error:
            raise _unloadable(error, "is one of its sources missing? A program needs a main function") from error
        words = [os.fsencode(str(each)) for each in (self.program.sources[0].with_suffix(""), *arguments)]
        argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)
        environment = [f"{name}={value}".encode() for name, value in os.environ.items()]
        envp = (ctypes.c_char_p * (len(environment) + 1))(*environment, None)
        sys.stdout.flush()
        library.windlass_run.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        status = library.windlass_run(ctypes.cast(main, ctypes.c_void_p), len(words), argv, envp)
        if self.interrupted is not None:
            raise self.interrupted
        return int(status)

    @cached_property
    def entries(self) -> Mapping[str, list[Entry]]:
        """The host functions that can be called, by their names in the source."""
        return read_entries(ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(self.library, LIST))).decode())

    def call(self, entry: Entry, words: Sequence[int], trace: Tracing | None = None) -> tuple[int, int]:
        """Call a host function with arguments as words, or trace it.

        Gives the word that it returns, and where in a trace's memory host code touched it by itself, which ended the
        call; 0 where it did not.

        Raises LaunchError (WL0421) where the function ends the program, and what was raised within a call.
        """
        arguments = (ctypes.c_uint64 * max(len(words), 1))(*words)
        result, fault = (ctypes.c_uint64 * 2)(), ctypes.c_uint64()
        point = ctypes.cast(getattr(self.library, f"{PREFIX}{entry.symbol}"), ctypes.c_void_p)
        self.trace, self.interrupted = trace, None
        sys.stdout.flush()
        try:
            status = self.library.windlass_call(
                point, arguments, result, ctypes.c_int(trace is None), ctypes.byref(fault)
            )
        finally:
            self.trace = None
        if self.interrupted is not None:
            raise self.interrupted
        if status >= 0 and not fault.value:
            raise LaunchError(
                Diagnostic("WL0421", f"{entry.shown} ended the program with status {status}", help="let it return")
            )
        return int(result[0]), int(fault.value)

    # -- services for the program -------------------------------------------------------------------------------------

    def kernel(self, unit: int, name: str) -> Kernel | None:
        name = self.program.names[unit].get(name, name)
        found = self.kernels.get((unit, name))
        module = self.program.modules[unit]
        if found is None and module is not None and name in module:
            found = self.kernels[unit, name] = module[name]
        return found

    def parameter_sizes(self, unit: int, name: bytes, sizes: Any, capacity: int) -> int:
        """The sizes of a kernel's parameters; -1 where there is no such kernel."""
        kernel = self.kernel(unit, name.decode())
        if kernel is None or len(kernel.signature.parameters) > capacity:
            return -1
        for place, parameter in enumerate(kernel.signature.parameters):
            sizes[place] = parameter.size
        return len(kernel.signature.parameters)

    def variable_address(self, unit: int, name: bytes) -> int:
        """Where a device variable's value is kept; 0 where there is no such variable."""
        module, plain = self._variable(unit, name)
        return 0 if module is None else module.variables.storage[plain].ctypes.data

    def place_managed(self, unit: int, name: bytes, address: int, size: int) -> None:
        """Let kernels have a variable where the host has it."""
        module, plain = self._variable(unit, name)
        if module is not None:
            module.move_variable(plain, np.ctypeslib.as_array((ctypes.c_ubyte * size).from_address(address)))

    def _variable(self, unit: int, name: bytes) -> tuple[Module | None, str]:
        """A device variable's module and its name there; no module where there is no such variable."""
        module = self.program.modules[unit]
        plain = self.program.names[unit].get(name.decode(), name.decode())
        return (module if module is not None and plain in module.variables.storage else None), plain

    def launch(self, unit: int, name: bytes, extents: Any, shared_bytes: int, arguments: int) -> int:
        """Run a kernel; gives a CUDA error number, and says on stderr what is wrong."""
        kernel = self.kernel(unit, name.decode())
        assert kernel is not None
        if self.interrupted is not None:
            return LAUNCH_FAILURE
        numbers = tuple(int(extents[place]) for place in range(6))
        in_limits = all(0 < each <= most for each, most in zip(numbers, EXTENT_LIMITS, strict=True))
        if not in_limits or int(np.prod(numbers[3:])) > MOST_THREADS:
            return INVALID_CONFIGURATION
        pointers = (ctypes.c_void_p * len(kernel.signature.parameters)).from_address(arguments) if arguments else ()
        values = [
            ctypes.string_at(pointer, parameter.size)
            for pointer, parameter in zip(pointers, kernel.signature.parameters, strict=True)
        ]
        try:
            if self.trace is not None:
                self.trace.launch(kernel, numbers, shared_bytes, values)
            else:
                self._run_kernel(kernel, numbers, shared_bytes, values)
        except WindlassError as error:
            if self.trace is not None:
                self._note(error)
                return LAUNCH_FAILURE
            print(error, file=sys.stderr, flush=True)
            if isinstance(error, LaunchError):
                return INVALID_CONFIGURATION
            return DEVICE_ERRORS.get(error.diagnostics[0].code, LAUNCH_FAILURE)
        except BaseException as error:
            self._note(error)
            return LAUNCH_FAILURE
        return SUCCESS

    def call_library(self, name: bytes, kinds: bytes, words: Any, result: int) -> None:
        """Do a call of a library; its result goes to an address."""
        if self.interrupted is not None:
            return
        try:
            self.session.call(name.decode(), kinds.decode(), words[: len(kinds)], result)
        except BaseException as error:
            self._note(error)

    def call_library_again(self, number: int) -> int:
        """Do a call of a library that a stream captured; gives a CUDA error number."""
        try:
            return self.session.call_again(number)
        except BaseException as error:
            self._note(error)
            return LAUNCH_FAILURE

    def move(self, target: int, source: int, size: int) -> int:
        """Copy bytes in a trace; gives a CUDA error number."""
        return self._do_in_trace(lambda trace: trace.move(target, source, size))

    def fill(self, target: int, value: int, size: int) -> int:
        """Fill bytes in a trace; gives a CUDA error number."""
        return self._do_in_trace(lambda trace: trace.fill(target, value & 255, size))

    def observe_floats(self, operation: bytes, kinds: bytes, words: Any) -> int:
        """Do an operation on floats in a trace, of which some name traced numbers; gives a CUDA error number."""

        def operate(trace: Tracing) -> None:
            words[0] = trace.operate(operation.decode(), kinds.decode(), words[: len(kinds) - 1])

        return self._do_in_trace(operate)

    def _do_in_trace(self, action: Callable[[Tracing], None]) -> int:
        assert self.trace is not None
        if self.interrupted is None:
            try:
                action(self.trace)
            except BaseException as error:
                self._note(error)
        return LAUNCH_FAILURE if self.interrupted is not None else SUCCESS

    def _note(self, error: BaseException) -> None:
        """Nothing can be raised through the program's own frames: it is raised when the program has ended."""
        self.interrupted = self.interrupted or error

    def _record_call(self, call: LibraryCall) -> None:
        sys.stdout.flush()
        if self.observe is not None:
            self.observe(LaunchRecord(call.name, (0, 0, 0), (0, 0, 0), 0, "library", call.seconds, None, call.arrays))

    # -- launches -----------------------------------------------------------------------------------------------------

    def _run_kernel(self, kernel: Kernel, extents: tuple[int, ...], shared_bytes: int, values: list[bytes]) -> None:
        shape = LaunchShape(cast("Extents", extents[:3]), cast("Extents", extents[3:]), shared_bytes)
        tier = self.tiers.get((kernel, shape))
        if tier is None:
            tier = self.tiers[kernel, shape] = Tier(kernel, shape, self.program.mode)
        memories = self._memories()
        how, seconds = tier.run(
            lambda: self._run_compiled(kernel, shape, values, memories),
            lambda: self._emulate(kernel, shape, values, memories),
            refusals=(RaisingError, LaunchError),
        )
        sys.stdout.flush()
        if self.observe is not None:
            named = zip(kernel.signature.parameters, self._arguments(kernel, values, memories, True), strict=True)
            arrays: dict[str, Any] = {}
            for parameter, each in named:
                if parameter.kind == "pointer":
                    arrays[parameter.name] = each
                elif isinstance(each, SplitRecord):
                    names = (member.parameter.name for member in parameter.pointers)
                    arrays.update(zip(names, each.arrays, strict=True))

            def report() -> Report:
                return self._explain(kernel, shape, values, memories)

            self.observe(
                LaunchRecord(
                    kernel.name, shape.grid, shape.block, shared_bytes, how, seconds, tier.reason, arrays, report
                )
            )

    def _explain(
        self, kernel: Kernel, shape: LaunchShape, values: list[bytes], memories: list[tuple[int, int]]
    ) -> Report:
        textures = self._textures(kernel, values, memories)
        plain, arguments = with_known_textures(kernel, self._arguments(kernel, values, memories), textures)
        return explaining.explain(plain, shape.grid, shape.block, *arguments, shared_bytes=shape.shared_bytes)

    def _run_compiled(
        self, kernel: Kernel, shape: LaunchShape, values: list[bytes], memories: list[tuple[int, int]]
    ) -> How:
        self._refuse_pointers_to_variables(kernel, values)
        arguments = self._arguments(kernel, values, memories)
        launch = kernel[shape]
        if isinstance(launch, texture_launch.TextureLaunch):
            return launch.run_compiled(arguments, self._textures(kernel, values, memories))
        return launch.run_compiled(arguments)

    def _refuse_pointers_to_variables(self, kernel: Kernel, values: list[bytes]) -> None:
        """Raised launches take a variable, and an array that an argument points to, for different memories."""
        plain = kernel_with_pointers_apart(kernel) if takes_pointers_in_records(kernel) else kernel
        for name, array in plain.variables().items():
            start = array.ctypes.data
            for pointer, address in _addresses(kernel, values):
                if start <= address < start + array.nbytes:
                    raise RaisingError(
                        Diagnostic(
                            "WL0304",
                            f"argument '{pointer}' points into variable '{name}', which the kernel uses too",
                            kernel.signature.position,
                        )
                    )

    def _emulate(
        self, kernel: Kernel, shape: LaunchShape, values: list[bytes], memories: list[tuple[int, int]]
    ) -> None:
        pointers = _addresses(kernel, values)
        named = [
            (_name_memory(size, [name for name, address in pointers if start <= address < start + size]), start, size)
            for start, size in memories
        ]
        kernel.module.emulator.launch_on_memory(
            kernel.signature, shape.grid, shape.block, values, named, shape.shared_bytes
        )

    def _memories(self) -> list[tuple[int, int]]:
        """Address and size of each allocation."""
        capacity = 256
        while True:
            pairs = (ctypes.c_uint64 * (2 * capacity))()
            count = self.library.windlass_allocations(pairs, capacity)
            if count <= capacity:
                return [(pairs[2 * i], pairs[2 * i + 1]) for i in range(count) if pairs[2 * i + 1]]
            capacity = 2 * count

    def _arguments(
        self, kernel: Kernel, values: list[bytes], memories: list[tuple[int, int]], is_lenient: bool = False
    ) -> list[Any]:
        """What the bytes of the arguments stand for: numbers, records, and arrays that are views of memory."""
        found: list[Any] = []
        for parameter, value in zip(kernel.signature.parameters, values, strict=True):
            if parameter.kind == "pointer":
                address = int.from_bytes(value, "little")
                found.append(self._array(kernel, parameter, address, memories, is_lenient))
            elif parameter.dtype is None:
                found.append(np.frombuffer(value, np.uint8))
            elif parameter.pointers:
                arrays = (
                    self._array(kernel, each.parameter, address, memories, is_lenient=True)
                    for each, (_, address) in zip(parameter.pointers, _members(parameter, value), strict=True)
                )
                found.append(
                    SplitRecord(np.frombuffer(_without_members(parameter, value), parameter.dtype)[0], tuple(arrays))
                )
            else:
                found.append(np.frombuffer(value, parameter.dtype)[0])
        return found

    def _textures(
        self, kernel: Kernel, values: list[bytes], memories: list[tuple[int, int]]
    ) -> dict[int | str, TextureObject]:
        """What the kernel's textures and surfaces stand for: an object is the address of a descriptor."""
        found: dict[int | str, TextureObject] = {}
        for use in kernel.texture_uses:
            if isinstance(use.key, str):
                address = int(kernel.module.variables.storage[use.key])
            else:
                address = int.from_bytes(values[use.key], "little")
            if (address, 8 * WORDS) not in memories:
                headline = f"{kernel.name}: '{use.name}' is {address:#x}, which is no texture or surface object"
                raise LaunchError(Diagnostic("WL0431", headline, kernel.signature.position))
            words = tuple((ctypes.c_int64 * WORDS).from_address(address))
            form, texels = TextureForm.from_words(words)
            if not any(start <= texels and texels + form.size_bytes <= start + size for start, size in memories):
                headline = f"{kernel.name}: the memory of '{use.name}' is no longer there"
                raise LaunchError(Diagnostic("WL0431", headline, kernel.signature.position))
            count = form.size_bytes // form.dtype.itemsize
            view = np.ctypeslib.as_array((ctypes.c_ubyte * (count * form.dtype.itemsize)).from_address(texels))
            found[use.key] = TextureObject(form, view.view(form.dtype))
        return found

    def _array(
        self, kernel: Kernel, parameter: Parameter, address: int, memories: list[tuple[int, int]], is_lenient: bool
    ) -> Array | None:
        """The memory from an address to the end of its allocation; None for a null pointer."""
        if address == 0:
            return None
        home = next(((start, size) for start, size in memories if start <= address < start + size), None)
        if home is None:
            if is_lenient:
                return None
            raise LaunchError(
                Diagnostic(
                    "WL0401",
                    f"{kernel.name}: argument '{parameter.name}' is {address:#x}, which is no device memory",
                    kernel.signature.position,
                    help="allocate it with cudaMalloc, and copy to it",
                )
            )
        view = self.views.get(home)
        if view is None:
            start, size = home
            view = self.views[home] = np.ctypeslib.as_array((ctypes.c_ubyte * size).from_address(start))
        rest = view[address - home[0] :]
        dtype = parameter.dtype or np.dtype(np.uint8)
        inner = int(np.prod(parameter.shape, dtype=np.int64))
        count = len(rest) // (dtype.itemsize * inner)
        return rest[: count * inner * dtype.itemsize].view(dtype).reshape(count, *parameter.shape)
