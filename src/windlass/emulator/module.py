"""A device module made ready to run: instrumented, compiled for this machine, its variables in checked memory."""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm_binding
import numpy as np

from windlass.diagnostics import Diagnostic, EmulationError
from windlass.emulator.audit import audit
from windlass.emulator.instructions import PREFIX
from windlass.emulator.instrument import INITIAL, instrument
from windlass.emulator.library import EmulatorLibrary, load_library
from windlass.emulator.mathematics import MEMORY_FUNCTIONS
from windlass.emulator.sites import GlobalSite, Instrumented
from windlass.ir.signature import DeviceCode
from windlass.llvm.debug_info import decode_string
from windlass.llvm.object_code import undefined_symbols
from windlass.llvm.positions import DebugPositions

llvm: Any = llvm_binding  # llvmlite has no type stubs

ARGUMENT, VARIABLE, CONSTANT, SHARED, LITERAL, HEAP = range(6)
SHARED_LIMIT = 227 << 10
_GUARD = 16 << 30
_SMALL_GUARD = 1 << 20
MOST_FRAME_BYTES = 3 << 20
"""machine.h: STACK_BYTES, without what is left for what the kernel calls."""
_compiling = threading.Lock()
_names = itertools.count()


@dataclass(frozen=True)
class MemoryPiece:
    """A piece of memory that kernels may touch."""

    name: str
    address: int
    size: int
    kind: int
    granule_shift: int = 2

    @property
    def is_dynamic(self) -> bool:
        """Whether this is `extern __shared__` memory, whose size the launch gives."""
        return self.kind == SHARED and self.size == 0


class CompiledModule:
    """The code, sites and variables of one translation unit; `variables` as in `Emulator`."""

    def __init__(self, code: DeviceCode, variables: Mapping[str, np.ndarray]) -> None:
        self.library: EmulatorLibrary = load_library()
        try:
            self.instrumented: Instrumented = instrument(
                code.llvm_ir, lambda name: self.library.address(name) is not None
            )
        except ValueError as error:
            raise _not_emulated(error) from error
        if self.instrumented.frame_bytes > MOST_FRAME_BYTES:
            raise _not_emulated(
                f"a function's values may take {self.instrumented.frame_bytes >> 10} KiB of a stack, of which the "
                f"emulator's threads have {MOST_FRAME_BYTES >> 10} KiB"
            )
        self.code = code
        self.positions = DebugPositions(code.llvm_ir, code.source_text)
        self.memories: list[MemoryPiece] = []
        self._given = {name: array for name, array in variables.items() if array.nbytes}
        self.dynamic_shared: int | None = None
        self._pieces: list[tuple[int, int, int]] = []
        self._engine: Any = None
        weakref.finalize(self, _free_pieces, self.library, self._pieces)
        with _compiling:
            self._compile()
        self.sites = self._site_table()

    def entry(self, mangled: str) -> int:
        """The address of a kernel's entry point, which takes an array of pointers to the arguments."""
        return int(self._engine.get_function_address(self.instrumented.kernels[mangled]))

    def _compile(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        triple = _triple()
        text = f'target triple = "{triple}"\n' + self.instrumented.text
        try:
            module = llvm.parse_assembly(text)
            module.name = f"windlass.{next(_names)}"
            module.verify()
            audit(str(module), self.instrumented.runtime_functions, self.instrumented.kernels)
        except (RuntimeError, ValueError) as error:
            raise _not_emulated(error) from error
        addresses, functions = self._rename(module)
        machine = llvm.Target.from_triple(triple).create_target_machine(opt=2, codemodel="large", jit=True)
        code = machine.emit_object(module)
        for name in sorted(undefined_symbols(code)):
            address = addresses.get(name) or self.library.compiler_functions.get(name) or self.library.address(name)
            if address is not None:
                llvm.add_symbol(name, address)
            elif name not in MEMORY_FUNCTIONS:
                raise _not_emulated(f"its machine code needs `{name}`, which there is not")
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(f'target triple = "{triple}"'), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        self.functions = np.array(sorted(map(engine.get_function_address, functions)), np.uint64)
        self._engine = engine
        self.initialize(lambda variable: variable.holds_addresses or variable.name not in self._given)

    def _rename(self, module: Any) -> tuple[dict[str, int], list[str]]:
        """Gives what the kernel has named names of our own, which no function of the process has.

        Gives the addresses of all that the code needs from outside, by name, and the functions that may be called
        through pointers: kernels may not.
        """
        addresses: dict[str, int] = {}
        variables = [each for each in module.global_variables if not each.name.startswith(INITIAL)]
        for number, (variable, known) in enumerate(zip(variables, self.instrumented.globals, strict=True)):
            variable.name = f"{PREFIX}variable.{number}"
            addresses[variable.name] = self._place(known.name, known.size, known.space, known.is_constant)
        outside = self.instrumented.runtime_functions | self.instrumented.library_functions
        kernels = {decode_string(name) for name in self.instrumented.kernels}
        functions: list[str] = []
        for number, function in enumerate(list(module.functions)):
            name = function.name
            if name in self.instrumented.runtime_functions:
                addresses[name] = self.library.runtime_address(name)
            elif name in outside or name.startswith(("llvm.", PREFIX)):
                continue
            else:
                function.name = f"{PREFIX}function.{number}"
                if function.is_declaration:  # whose address is taken, and nothing else
                    addresses[function.name] = self.library.runtime_address("wl_nothing")
                elif name not in kernels:
                    functions.append(function.name)
        return addresses, functions

    def initialize(self, is_wanted: Callable[[GlobalSite], bool]) -> None:
        """Give the wanted ones of the variables that have one their initial value."""
        for variable, memory in zip(self.instrumented.globals, self.memories, strict=True):
            if variable.initial is not None and is_wanted(variable):
                address = self._engine.get_global_value_address(variable.initial)
                ctypes.memmove(memory.address, address, variable.size)

    def _place(self, name: str, size: int, space: int, is_constant: bool) -> int:
        if space == 3 and size == 0:
            if self.dynamic_shared is None:
                self.dynamic_shared = self._allocate(SHARED_LIMIT, _GUARD)
            self.memories.append(MemoryPiece(name, self.dynamic_shared, 0, SHARED))
            return self.dynamic_shared
        is_private = space == 0
        given = self._given.get(name)
        if given is None:
            address = self._allocate(size, _SMALL_GUARD if is_private else _GUARD)
        elif given.nbytes == size:
            address = as_pointer(given)
        else:
            raise ValueError(f"variable {name} has {size} bytes, its array {given.nbytes}")
        kind = SHARED if space == 3 else VARIABLE
        if is_constant and kind == VARIABLE:
            kind = LITERAL if is_private else CONSTANT
        self.memories.append(MemoryPiece(name, address, size, kind))
        return address

    def _allocate(self, size: int, guard: int) -> int:
        address, width = self.library.place(size, guard)
        self._pieces.append((address, size, width))
        return address

    def _site_table(self) -> np.ndarray:
        """machine.h: site, one per instrumented instruction; equal source positions have equal numbers."""
        numbers: dict[object, int] = {}
        table = np.zeros((len(self.instrumented.sites), 4), np.uint32)
        for index, site in enumerate(self.instrumented.sites):
            position = 0
            if site.kind == "call":
                place = self.positions.chain(site.debug) or index
                position = numbers.setdefault(place, len(numbers))
            table[index] = (site.size, site.alignment - 1, site.flags, position)
        return table


def _triple() -> str:
    """This machine, with object code in ELF, which is read before it is linked."""
    triple = llvm.get_default_triple()
    return triple if "linux" in triple else f"{triple}-elf"


def _not_emulated(reason: object) -> EmulationError:
    return EmulationError(Diagnostic("WL0611", "the device code can't be emulated", notes=(str(reason).strip(),)))


def _free_pieces(library: EmulatorLibrary, pieces: list[tuple[int, int, int]]) -> None:
    for address, size, guard in pieces:
        library.free(address, size, guard)


def as_pointer(array: np.ndarray) -> int:
    """The address of an array's first byte."""
    return array.ctypes.data
