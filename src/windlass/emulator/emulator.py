"""CUDA semantics on the CPU, thread by thread: what raised and native code is compared with."""

from __future__ import annotations

import ctypes
import math
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from windlass.diagnostics import Diagnostic, EmulationError
from windlass.diagnostics.limits import out_of_memory
from windlass.emulator.arguments import BoundArguments, bind_arguments
from windlass.emulator.library import MemoryRegion
from windlass.emulator.module import ARGUMENT, SHARED, SHARED_LIMIT, VARIABLE, CompiledModule, MemoryPiece, as_pointer
from windlass.emulator.report import FINISHED, LANE_TAKES_NO_PART, PAUSED, FaultReport
from windlass.ir.signature import DeviceCode, DeviceVariable, KernelSignature

_MOST_THREADS = 1024
_GRID_LIMITS = (2**31 - 1, 65535, 65535)
_BLOCK_LIMITS = (1024, 1024, 64)
_HEAP_REGIONS = 4096
_SLICE_SECONDS = 0.1

# There is one machine per process (its state is the runtime library's).
_machine = threading.Lock()


class Emulator:
    """Runs the kernels of one translation unit as CUDA defines them, and finds what is wrong with them.

    `__device__` variables keep their values from launch to launch. `variables` are, by linker name, the arrays whose
    memory they are; those that are not among them get memory of the emulator's own.
    """

    def __init__(self, code: DeviceCode, variables: Mapping[str, np.ndarray] | None = None) -> None:
        self.code = code
        self._variables = variables or {}
        self._compiled: CompiledModule | None = None

    @property
    def _module(self) -> CompiledModule:
        if self._compiled is None:
            self._compiled = CompiledModule(self.code, self._variables)
        return self._compiled

    # ---- launches

    def launch(
        self,
        kernel: str | KernelSignature,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        arguments: Sequence[object],
        shared_bytes: int = 0,
        *,
        detect_races: bool = True,
        detect_uninitialized: bool = True,
        seconds: float = 60.0,
        memories: Sequence[tuple[str, int, int]] = (),
    ) -> None:
        """Runs `kernel` (a signature, or a readable or mangled name) on a grid of blocks.

        `arguments` are one per parameter: C-contiguous NumPy arrays for pointers (updated in place; views into one
        buffer stay aliases), None for a null pointer, numbers and structured scalars by value. `shared_bytes` is the
        size of `extern __shared__` arrays. Accesses to memory are always checked against the arrays' bounds;
        `detect_races` and `detect_uninitialized` turn the other two checks off. What the kernel prints goes to
        `sys.stdout`. `memories` are the name, address and size of what the kernel may reach beside its arguments, in
        place.

        Raises EmulationError; the arrays then are as they were (variables are not). Without barriers and warp
        intrinsics threads run one after another; blocks always do, so a kernel whose blocks wait for later blocks runs
        out of time (`seconds`).
        """
        signature = kernel if isinstance(kernel, KernelSignature) else self._find_kernel(kernel)
        grid_shape = self._shape(signature, "grid", grid, _GRID_LIMITS)
        block_shape = self._shape(signature, "block", block, _BLOCK_LIMITS)
        if int(np.prod(block_shape, dtype=np.int64)) > _MOST_THREADS:
            raise _refused(signature, f"a block of {'×'.join(map(str, block_shape))} has more than 1024 threads")
        if not 0 <= shared_bytes <= SHARED_LIMIT:
            raise _refused(signature, f"{shared_bytes} bytes of shared memory: a block may have 0 to {SHARED_LIMIT}")
        module = self._module
        if signature.mangled not in module.instrumented.kernels:
            raise _refused(signature, f"the device code has no kernel {signature.mangled}")
        bound = bind_arguments(module.library, signature, arguments, module.memories)
        bound.memories += [MemoryPiece(*each, ARGUMENT, 0) for each in memories]
        try:
            run = _LaunchRun(module, signature, bound, grid_shape, block_shape, shared_bytes)
            with _machine:
                run.execute(detect_races, detect_uninitialized, seconds)
            bound.copy_back(run.written)
        finally:
            bound.free(module.library)

    def launch_on_memory(
        self,
        signature: KernelSignature,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        values: Sequence[bytes],
        memories: Sequence[tuple[str, int, int]],
        shared_bytes: int = 0,
        *,
        seconds: float = 3600.0,
    ) -> None:
        """Runs a kernel on memory of this process, in place: for host programs, whose pointers are plain addresses.

        `values` are the bytes of each parameter; `memories` the name, address and size of each piece that may be
        accessed.

        Raises EmulationError; what the kernel wrote until then stays.
        """
        module = self._module
        regions = [MemoryPiece(*each, ARGUMENT) for each in memories]
        bound = BoundArguments(values=list(values), memories=regions)
        with _machine:
            _LaunchRun(module, signature, bound, grid, block, shared_bytes).execute(False, False, seconds)

    def _find_kernel(self, name: str) -> KernelSignature:
        for signature in self.code.kernels:
            if name in (signature.mangled, signature.name):
                return signature
        plain = [signature for signature in self.code.kernels if signature.name.split("<")[0].split("(")[0] == name]
        if len(plain) == 1:
            return plain[0]
        known = ", ".join(signature.name for signature in self.code.kernels) or "none"
        raise EmulationError(Diagnostic("WL0601", f"there is no kernel '{name}'", notes=(f"kernels: {known}",)))

    @staticmethod
    def _shape(
        signature: KernelSignature, what: str, given: int | Sequence[int], limits: tuple[int, int, int]
    ) -> tuple[int, int, int]:
        try:
            extents = [int(extent) for extent in np.atleast_1d(cast(Any, given))]
        except (TypeError, ValueError):
            extents = []
        if not 1 <= len(extents) <= 3:
            raise _refused(signature, f"a {what} is one to three integers, not {given!r}")
        shape = (*extents, 1, 1)[:3]
        if any(not 1 <= extent <= limit for extent, limit in zip(shape, limits, strict=True)):
            bounds = ", ".join(map(str, limits))
            raise _refused(signature, f"a {what} of {tuple(extents)}: extents go from 1 to ({bounds})")
        return cast(tuple[int, int, int], shape)

    # ---- device variables

    def restore_addresses(self) -> None:
        """Give the variables that begin with addresses (tables of functions) their initial values anew."""
        if self._compiled is not None:
            self._compiled.initialize(lambda variable: variable.holds_addresses)

    def set_variable(self, name: str, value: object) -> None:
        """Writes a `__device__` or `__constant__` variable, given by its readable or mangled name."""
        variable, memory = self._find_variable(name)
        if variable.dtype is None:
            packed = np.ascontiguousarray(cast(Any, value)).tobytes()
        else:
            try:
                packed = np.broadcast_to(np.asarray(cast(Any, value), variable.dtype), variable.shape).tobytes()
            except (TypeError, ValueError) as error:
                raise EmulationError(
                    Diagnostic("WL0601", f"the value does not fit variable '{variable.name}'", notes=(str(error),))
                ) from error
        if len(packed) != variable.size:
            raise EmulationError(
                Diagnostic(
                    "WL0601", f"variable '{variable.name}' has {variable.size} bytes, the value has {len(packed)}"
                )
            )
        ctypes.memmove(memory.address, packed, len(packed))

    def read_variable(self, name: str) -> np.ndarray:
        """A copy of a device variable's value; bytes where its type is none of NumPy's."""
        variable, memory = self._find_variable(name)
        raw = ctypes.string_at(memory.address, variable.size)
        if variable.dtype is None:
            return np.frombuffer(raw, np.uint8).copy()
        return np.frombuffer(raw, variable.dtype).reshape(variable.shape).copy()

    def _find_variable(self, name: str) -> tuple[DeviceVariable, MemoryPiece]:
        for variable in self.code.variables:
            if name in (variable.name, variable.mangled):
                for memory in self._module.memories:
                    if memory.name == variable.mangled:
                        return variable, memory
        known = ", ".join(variable.name for variable in self.code.variables) or "none"
        raise EmulationError(
            Diagnostic("WL0601", f"there is no device variable '{name}'", notes=(f"variables: {known}",))
        )


def _refused(signature: KernelSignature, headline: str) -> EmulationError:
    return EmulationError(Diagnostic("WL0601", headline, notes=(f"kernel {signature.name}",)))


class _LaunchRun:
    """One launch: the tables that the runtime library works on, and the loop that waits for it."""

    def __init__(
        self,
        module: CompiledModule,
        signature: KernelSignature,
        bound: BoundArguments,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
    ) -> None:
        self.module = module
        self.signature = signature
        self.bound = bound
        self.grid = grid
        self.block = block
        fixed = [
            MemoryPiece(memory.name, memory.address, shared_bytes, SHARED)
            if memory.is_dynamic
            else replace(memory, kind=VARIABLE)
            if memory.address in bound.variables
            else memory
            for memory in module.memories
        ]
        by_address = {memory.address: memory for memory in (*fixed, *bound.memories)}
        self.memories = [by_address[address] for address in sorted(by_address)]
        self.written: set[int] = set()

    def execute(self, detect_races: bool, detect_uninitialized: bool, seconds: float) -> None:
        """Run the launch.

        Raises EmulationError. If shuffles read from lanes that take no part, and that is to be detected, the launch
        runs once more with other values for them: only where that makes a difference is it an error.
        """
        shuffles = any("shfl" in site.text for site in self.module.instrumented.sites)
        before = self._contents() if detect_uninitialized and shuffles else None
        self._run(detect_races, detect_uninitialized, seconds)
        fault = self.module.library.fault
        if before is None or fault.outcome != LANE_TAKES_NO_PART:
            return
        error = FaultReport(self.module, self.signature, self.bound, self.memories, self.block, fault).error()
        after = self._contents()
        for memory, content in zip(self._changeable(), before, strict=True):
            ctypes.memmove(memory.address, content, memory.size)
        try:
            self._run(False, False, seconds, is_repeated=True)
        except EmulationError:
            raise error from None
        if self._contents() != after:
            raise error

    def _changeable(self) -> list[MemoryPiece]:
        return [memory for memory in self.memories if memory.kind in (ARGUMENT, VARIABLE)]

    def _contents(self) -> list[bytes]:
        return [ctypes.string_at(memory.address, memory.size) for memory in self._changeable()]

    def _run(
        self, detect_races: bool, detect_uninitialized: bool, seconds: float, *, is_repeated: bool = False
    ) -> None:
        library, launch, memories = self.module.library, self.module.library.launch, self.memories
        regions = (MemoryRegion * (len(memories) + _HEAP_REGIONS))()
        for region, memory in zip(regions, memories, strict=False):
            region.base, region.size, region.kind = memory.address, memory.size, memory.kind
            region.granule_shift = memory.granule_shift
        sites = self.module.sites
        site_region = np.zeros(len(sites), np.uint32)
        pointers, keep = self.bound.pointers()
        launch.sites, launch.site_region = as_pointer(sites), as_pointer(site_region)
        launch.regions = ctypes.addressof(regions)
        launch.region_count, launch.region_capacity = len(memories), len(regions)
        launch.functions, launch.function_count = as_pointer(self.module.functions), len(self.module.functions)
        launch.grid[:], launch.block[:] = self.grid, self.block
        launch.kernel, launch.arguments = self.module.entry(self.signature.mangled), ctypes.addressof(pointers)
        launch.uses_fibres = self.module.instrumented.uses_fibres[self.signature.mangled]
        launch.checks_races, launch.checks_uninitialized = detect_races, detect_uninitialized
        launch.varies_undefined = is_repeated
        launch.frame_bytes = self.module.instrumented.frame_bytes
        launch.slice_seconds = min(_SLICE_SECONDS, seconds)
        deadline = time.monotonic() + seconds
        try:
            outcome = library.run()
            while outcome == PAUSED:
                self._print(is_repeated)
                if time.monotonic() > deadline:
                    raise self._out_of_time(seconds)
                outcome = library.resume()
            self._print(is_repeated)
        finally:
            library.free_shadow()
        del keep
        if outcome < 0:
            raise out_of_memory(f"the {math.prod(self.block)} threads of a block in the emulator")
        if outcome != FINISHED:
            raise FaultReport(self.module, self.signature, self.bound, memories, self.block, library.fault).error()
        self.written = {regions[place].base for place in range(launch.region_count) if regions[place].written}

    def _print(self, is_repeated: bool) -> None:
        text = self.module.library.take_output()
        if text and not is_repeated:
            sys.stdout.write(text)

    def _out_of_time(self, seconds: float) -> EmulationError:
        position = self.signature.position
        return EmulationError(
            Diagnostic(
                "WL0610",
                f"kernel {self.signature.name} is still running after {seconds:g} seconds",
                position,
                source=self.module.code.source_line(position),
                help="does it loop for ever, or wait for a block that runs later? Else give it more `seconds`",
            )
        )
