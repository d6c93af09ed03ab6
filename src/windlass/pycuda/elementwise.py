"""`pycuda.elementwise` and `pycuda.reduction`: kernels made of an expression for one element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.dropins.devices import THREADS, blocks_of
from windlass.dropins.parts import part_of
from windlass.dropins.templates import ElementwiseTemplate, ReductionTemplate
from windlass.pycuda.compiler import DeviceFunction
from windlass.pycuda.gpuarray import GPUArray
from windlass.pycuda.tools import ScalarArg, VectorArg, declared, dtype_to_ctype


class ElementwiseKernel(ElementwiseTemplate):
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
        arguments: str | Sequence[VectorArg | ScalarArg],
        operation: str,
        name: str = "kernel",
        keep: bool = False,
        options: Any = None,
        preamble: str = "",
        loop_prep: str = "",
        after_loop: str = "",
    ) -> None:
        super().__init__(name, operation, preamble, loop_prep, after_loop, options)
        self.kernel = self.compiled([part_of(declared(arguments), f"arguments of {name}")], "long")

    def __call__(self, *arguments: Any, **_: object) -> None:
        n = _elements(self.name, arguments)
        if n:
            DeviceFunction(self.kernel)(*arguments, n, grid=(blocks_of(n), 1), block=(THREADS, 1, 1))


class ReductionKernel(ReductionTemplate):
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
        arguments: str | Sequence[VectorArg | ScalarArg] = "",
        name: str = "reduce_kernel",
        keep: bool = False,
        options: Any = None,
        preamble: str = "",
        allocator: object = None,
    ) -> None:
        self.dtype = np.dtype(dtype_out)
        super().__init__(name, neutral, map_expr or "in[i]", reduce_expr, preamble, options)
        head = f"typedef {dtype_to_ctype(self.dtype)} _type_reduce;\n"
        names = ("long", "i", "n")
        parameters = (part_of(declared(arguments), f"arguments of {name}"), ", _type_reduce *windlass_out")
        self.kernel = self.compiled(parameters, head, "", "", ["windlass_out[windlass_row] = a;"], names)

    def __call__(self, *arguments: Any, **_: object) -> GPUArray:
        n = _elements(self.name, arguments)
        result = np.zeros(1, self.dtype)
        DeviceFunction(self.kernel)(*arguments, GPUArray.of(result), 1, n, grid=(1, 1), block=(1, 1, 1))
        return GPUArray.of(result).reshape(())


def _elements(name: str, arguments: Sequence[Any]) -> int:
    """How many elements the arrays have, which are numbered as they lie in memory.

    Raises LaunchError (WL0404, WL0407) where that is not the same for all.
    """
    arrays = [each for each in arguments if isinstance(each, GPUArray)]
    if not arrays:
        raise LaunchError(Diagnostic("WL0407", f"{name} has no array that says how many elements there are"))
    sizes = {each.size for each in arrays}
    if len(sizes) > 1:
        raise LaunchError(Diagnostic("WL0404", f"{name}: arrays have {sorted(sizes)} elements"))
    in_c_order = all(each.flags.c_contiguous for each in arrays)
    if not in_c_order and not all(each.flags.f_contiguous for each in arrays):
        raise LaunchError(
            Diagnostic(
                "WL0404",
                f"{name}: the arrays' elements do not lie one after another in the same order",
                notes=tuple(f"shape {each.shape}, strides {each.strides}" for each in arrays),
                help='copy them first: x.copy(order="C")',
            )
        )
    return sizes.pop()
