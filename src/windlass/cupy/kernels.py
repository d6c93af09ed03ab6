"""CuPy's raw kernels: CUDA C++ source, compiled when a kernel is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from windlass.cuda import Kernel, Module
from windlass.diagnostics import Diagnostic, LaunchError
from windlass.dropins.sources import compile_source


class RawModule:
    """`cupy.RawModule(code=...)` or `RawModule(path=...)`: kernels and variables of one CUDA C++ source.

    `options` are nvcc's: -I and -D are heard, others (such as --std, -use_fast_math) change nothing here.
    """

    def __init__(
        self,
        *,
        code: str | None = None,
        path: str | None = None,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool = False,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("RawModule takes either code or path")
        self._source: str | Path = Path(path) if path is not None else str(code)
        self._options = tuple(options)
        self._names = tuple(name_expressions or ())

    @cached_property
    def _module(self) -> Module:
        return compile_source(self._source, self._options, instances=self._names)

    def get_function(self, name: str) -> RawKernel:
        """A kernel by its name, or by one of the name expressions of templates."""
        return RawKernel.of(self._module[name])

    def get_global(self, name: str) -> Any:
        """A variable of the device, as an array that shares its memory."""
        from windlass.cupy.device_array import as_device_array

        return as_device_array(self._module.variables[name])

    def compile(self, log_stream: object = None) -> None:
        """Compile now."""
        _ = self._module


class RawKernel:
    """`cupy.RawKernel(code, name)`: `kernel(grid, block, arguments, shared_mem=0)`; arrays are updated in place.

    >>> import windlass.cupy as cp
    >>> twice = cp.RawKernel('extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }', "twice")
    >>> x = cp.arange(3, dtype=cp.float32)
    >>> twice((1,), (3,), (x,))
    >>> x.tolist()
    [0.0, 2.0, 4.0]
    """

    def __init__(
        self,
        code: str,
        name: str,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool = False,
    ) -> None:
        self.code = code
        self.name = name
        self._options = tuple(options)
        self._known: Kernel | None = None

    @classmethod
    def of(cls, kernel: Kernel) -> RawKernel:
        """A kernel that is compiled already."""
        made = cls("", kernel.name)
        made._known = kernel
        return made

    @property
    def kernel(self) -> Kernel:
        """The kernel as Windlass has it: for `explain`, `lower` and `wl.emulate`."""
        if self._known is None:
            self._known = compile_source(self.code, self._options)[self.name]
        return self._known

    def jax(self, grid: Any, block: Any, shared_mem: int = 0) -> Callable[..., Any]:
        """A pure function of the kernel's arguments, for JAX and `wl.grad`: `windlass.cuda.Kernel.jax` says how.

        >>> square = RawKernel('extern "C" __global__ void f(float *x) { x[threadIdx.x] *= x[threadIdx.x]; }', "f")
        >>> square.jax((1,), (3,))(np.arange(3, dtype=np.float32)).tolist()
        [0.0, 1.0, 4.0]
        """
        return self.kernel.jax(grid, block, shared_mem)

    def ptx(self, sm: int | str = 90) -> str:
        """The kernel as PTX, which a CuPy on a machine with a GPU takes: `windlass.cuda.Kernel.ptx` says more."""
        return self.kernel.ptx(sm)

    def compile(self, log_stream: object = None) -> None:
        """Compile now."""
        _ = self.kernel

    def __call__(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: object = None,
        enable_cooperative_groups: bool = False,
    ) -> None:
        self.kernel[tuple(grid), tuple(block), shared_mem](*(as_argument(each) for each in args))


def as_argument(value: Any) -> Any:
    """Arrays without axes are numbers to kernels, as they are to CuPy; a plain view otherwise."""
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    return value


def fuse(*functions: Callable[..., Any], kernel_name: str | None = None) -> Any:
    """`cupy.fuse`: the function as it is, for NumPy's functions need no fusing to be right.

    >>> fuse(abs)(-1), fuse(kernel_name="absolute")(abs)(-2)
    (1, 2)
    """
    if len(functions) > 1:
        raise LaunchError(Diagnostic("WL0407", f"fuse takes one function, got {len(functions)}"))
    return functions[0] if functions else lambda function: function  # pyright: ignore[reportUnknownLambdaType]
