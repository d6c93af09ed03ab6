"""A host function as part of a compiled function: it runs on device memory without contents, and what it does is noted.

Its launches, library calls and copies become operations of the function that `wl.jit` traces, in their order; host code
in between, which computes sizes and decides what to launch, runs as it is. So what host code decides may not depend on
the contents of arrays: code that would look at them raises an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.arrays import Array
from windlass.hosting.host_numbers import unknown_to_host
from windlass.hosting.traced_memory import TracedMemory, cannot_trace
from windlass.runtime.launch_shape import Extents, LaunchShape

if TYPE_CHECKING:
    from windlass.hosting.entry_points import Entry
    from windlass.hosting.program_run import ProgramRun
    from windlass.ir.signature import Parameter
    from windlass.launching.kernel import Kernel


class Trace:
    """One trace of a host function of a program that is loaded."""

    def __init__(self, run: ProgramRun) -> None:
        self.run = run
        self.memory = TracedMemory(run.library)
        self.numbers = self.memory.numbers
        self.move, self.fill, self.operate = self.memory.move, self.memory.fill, self.numbers.operate

    def call(self, entry: Entry, words: Sequence[int]) -> int:
        """Trace the function with these arguments; gives the word that it returns."""
        session = self.run.session
        usual, session.memory = session.memory, self.memory
        observe, session.observe = session.observe, None
        try:
            result, fault = self.run.call(entry, words, self)
        finally:
            session.memory, session.observe = usual, observe
            self.run.library.windlass_release_reserved()
        if fault:
            raise cannot_trace(
                f"{entry.shown} reads or writes device memory in host code",
                "its contents are not known while the function is compiled",
                "copy with cudaMemcpy between device arrays, or let a kernel do it",
            )
        return result

    def named(self, kind: str, value: Any) -> Any:
        """A number that the function is given: a traced one by its name."""
        value = value.value if isinstance(value, Array) else value
        if not isinstance(value, Tracer):
            return value
        if kind not in "fd":
            raise unknown_to_host("an integer")
        dtype = np.dtype(np.float32 if kind == "f" else np.float64)
        return self.numbers.name(value.astype(dtype), dtype)

    # -- what the program does ----------------------------------------------------------------------------------------

    def launch(self, kernel: Kernel, extents: tuple[int, ...], shared_bytes: int, values: Sequence[bytes]) -> None:
        """Launch a kernel on the arrays that its pointers stand for."""
        shape = LaunchShape(cast("Extents", extents[:3]), cast("Extents", extents[3:]), shared_bytes)
        arguments, given_back = list[Any](), list[tuple[Array, Array]]()
        for parameter, value in zip(kernel.signature.parameters, values, strict=True):
            if parameter.kind != "pointer":
                arguments.append(self._number(kernel, parameter, value))
                continue
            array = self._array(kernel, parameter, int.from_bytes(value, "little"))
            if array is not None and array.contiguous_run() is None:
                # A kernel needs one run of memory.
                copy = array.copy()
                given_back.append((array, copy))
                array = copy
            arguments.append(array)
        kernel[shape](*arguments)
        for array, copy in given_back:
            array[...] = copy

    def _number(self, kernel: Kernel, parameter: Parameter, value: bytes) -> Any:
        if parameter.dtype is None or parameter.pointers:
            raise cannot_trace(
                f"argument '{parameter.name}' of {kernel.name} is a struct with pointers",
                "in which memory they point is not followed",
                "pass the pointers by themselves",
            )
        number = np.frombuffer(value, parameter.dtype)[0]
        if parameter.kind == "scalar":
            return self.numbers.resolve(number)
        halves, wholes = (value[: len(value) // size * size] for size in (4, 8))
        if any(
            self.numbers.are_named(np.frombuffer(each, dtype)) is not None
            for each, dtype in ((halves, np.float32), (wholes, np.float64))
        ):
            raise unknown_to_host(f"a member of a struct, an argument of {kernel.name},")
        return number

    def _array(self, kernel: Kernel, parameter: Parameter, address: int) -> Array | None:
        """The memory from an address to the end of its allocation; None for a null pointer."""
        if address == 0:
            return None
        inner = int(np.prod(parameter.shape, dtype=np.int64))
        region = self.memory.region(address)
        dtype = parameter.dtype
        if region is None:
            raise LaunchError(
                Diagnostic(
                    "WL0401",
                    f"{kernel.name}: argument '{parameter.name}' is {address:#x}, which is no device memory",
                    kernel.signature.position,
                    help="allocate it with cudaMalloc, and copy to it",
                )
            )
        if dtype is None:
            dtype = region.elements.dtype
        found = self.memory.elements(address, dtype)
        assert found is not None
        elements, first = found
        count = (elements.size - first) // inner
        rest = elements if (first, count * inner) == (0, elements.size) else elements[first : first + count * inner]
        return rest.reshape(count, *parameter.shape) if parameter.shape else rest
