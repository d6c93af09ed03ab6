"""`pycuda.compiler`: CUDA C++ from source text, and its functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windlass.cuda import Kernel
from windlass.diagnostics import Diagnostic, LaunchError
from windlass.dropins.sources import compile_source
from windlass.pycuda.driver import ArgumentHandler, DeviceAllocation, In
from windlass.pycuda.gpuarray import GPUArray


class SourceModule:
    """`SourceModule(source)`: kernels and variables of one CUDA C++ source.

    `options` are nvcc's: -I and -D are heard, others change nothing here.
    """

    def __init__(
        self,
        source: str,
        nvcc: str = "nvcc",
        options: Sequence[str] | None = None,
        keep: bool = False,
        no_extern_c: bool = False,
        arch: str | None = None,
        code: str | None = None,
        cache_dir: str | None = None,
        include_dirs: Sequence[str] = (),
    ) -> None:
        self.module = compile_source(source, options or (), include=include_dirs)

    def get_function(self, name: str) -> DeviceFunction:
        """A kernel by its name."""
        return DeviceFunction(self.module[name])

    def get_global(self, name: str) -> tuple[DeviceAllocation, int]:
        """A device variable's memory, and how many bytes it has."""
        data = self.module.variables[name].reshape(-1).view(np.uint8)
        return DeviceAllocation(data), len(data)


class DeviceFunction:
    """A kernel: `function(*arguments, block=(x, y, z), grid=(x, y))`."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def prepare(self, arg_types: object, **_: object) -> DeviceFunction:
        """Nothing has to be prepared: the kernel's own types are known."""
        return self

    def prepared_call(self, grid: Sequence[int], block: Sequence[int], *arguments: Any, shared_size: int = 0) -> None:
        """A launch, extents first."""
        self(*arguments, grid=grid, block=block, shared=shared_size)

    def __call__(
        self,
        *arguments: Any,
        block: Sequence[int] | None = None,
        grid: Sequence[int] = (1, 1),
        shared: int = 0,
        stream: object = None,
        time_kernel: bool = False,
        texrefs: Sequence[object] = (),
    ) -> None:
        if block is None:
            raise LaunchError(Diagnostic("WL0403", f"{self.kernel.name}: give block=(threads, 1, 1)"))
        parameters = self.kernel.signature.parameters
        values: list[Any] = []
        for place, argument in enumerate(arguments):
            dtype = parameters[place].dtype if place < len(parameters) else None
            values.append(_as_value(argument, dtype))
        self.kernel[tuple(grid), tuple(block), shared](*values)


def _as_value(argument: Any, dtype: np.dtype[Any] | None) -> Any:
    match argument:
        case In():
            return np.array(argument.array)
        case ArgumentHandler():
            return argument.array
        case GPUArray():
            return argument.memory
        case DeviceAllocation():
            item = (dtype or np.dtype(np.uint8)).itemsize
            return argument.data[: len(argument.data) // item * item].view(dtype or np.uint8)
        case _:
            return argument
