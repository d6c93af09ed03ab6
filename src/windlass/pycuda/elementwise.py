"""`pycuda.elementwise` and `pycuda.reduction`: kernels made of an expression for one element."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from windlass.cuda import Kernel, compile
from windlass.cupy.templates import c_type
from windlass.diagnostics import Diagnostic, LaunchError
from windlass.pycuda.compiler import DeviceFunction
from windlass.pycuda.gpuarray import GPUArray

BLOCK = 128


class ElementwiseKernel:
    """`ElementwiseKernel("float a, float *x, float *y", "y[i] = a * x[i]", "name")`: for each i of the arrays.

    >>> from windlass.pycuda import gpuarray
    >>> scale = ElementwiseKernel("float a, float *x", "x[i] *= a", "scale")
    >>> x = gpuarray.to_gpu(np.arange(4, dtype=np.float32))
    >>> scale(3, x)
    >>> x.get().tolist()
    [0.0, 3.0, 6.0, 9.0]
    """

    def __init__(
        self,
        arguments: str,
        operation: str,
        name: str = "kernel",
        keep: bool = False,
        options: Any = None,
        preamble: str = "",
        loop_prep: str = "",
        after_loop: str = "",
    ) -> None:
        symbol = re.sub(r"\W", "_", name)
        source = f"""{preamble}
extern "C" __global__ void {symbol}({arguments}, long n) {{
    {loop_prep};
    for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += n) {{ {operation}; }}
    {after_loop};
}}
"""
        self.name = name
        self.kernel: Kernel = compile(source)[symbol]

    def __call__(self, *arguments: Any, **_: object) -> None:
        sizes = {each.size for each in arguments if isinstance(each, GPUArray)}
        if not sizes:
            raise LaunchError(Diagnostic("WL0407", f"{self.name} has no array that says how many elements there are"))
        n = next(iter(sizes))
        if len(sizes) > 1:
            raise LaunchError(Diagnostic("WL0404", f"{self.name}: arrays have {sorted(sizes)} elements"))
        if n:
            DeviceFunction(self.kernel)(*arguments, n, grid=(-(-n // BLOCK), 1), block=(BLOCK, 1, 1))


class ReductionKernel:
    """`ReductionKernel(dtype_out, neutral="0", reduce_expr="a+b", map_expr="x[i]*y[i]", arguments="float *x, ...")`.

    >>> from windlass.pycuda import gpuarray
    >>> dot = ReductionKernel(np.float32, "0", "a+b", "x[i]*y[i]", "float *x, float *y")
    >>> x = gpuarray.to_gpu(np.arange(4, dtype=np.float32))
    >>> float(dot(x, x).get())
    14.0
    """

    def __init__(
        self,
        dtype_out: Any,
        neutral: str,
        reduce_expr: str,
        map_expr: str | None = None,
        arguments: str = "",
        name: str = "reduce_kernel",
        keep: bool = False,
        options: Any = None,
        preamble: str = "",
        allocator: object = None,
    ) -> None:
        self.dtype = np.dtype(dtype_out)
        symbol, out = re.sub(r"\W", "_", name), c_type(self.dtype)
        source = f"""{preamble}
extern "C" __global__ void {symbol}({arguments}, {out} *_out, long n) {{
    {out} a = {neutral};
    for (long i = 0; i < n; i++) {{
        {out} b = {map_expr or "in[i]"};
        a = {reduce_expr};
    }}
    *_out = a;
}}
"""
        self.kernel: Kernel = compile(source)[symbol]

    def __call__(self, *arguments: Any, **_: object) -> GPUArray:
        n = next(each.size for each in arguments if isinstance(each, GPUArray))
        result = np.zeros(1, self.dtype)
        DeviceFunction(self.kernel)(*arguments, GPUArray.of(result), n, grid=(1, 1), block=(1, 1, 1))
        return GPUArray.of(result).reshape(())
