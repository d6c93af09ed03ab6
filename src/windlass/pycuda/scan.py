"""`pycuda.scan`: running results of an associative expression, with the element itself or of those before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.dropins.parts import Part, part_of
from windlass.dropins.templates import compiled, symbol_of
from windlass.pycuda.compiler import DeviceFunction
from windlass.pycuda.gpuarray import GPUArray, empty_like
from windlass.pycuda.tools import dtype_to_ctype


class _ScanKernel:
    """`scan_expr` combines `a`, what came of the elements before, and `b`, the next one."""

    _body: str

    def __init__(
        self,
        dtype: Any,
        scan_expr: str,
        neutral: object = None,
        name_prefix: str = "scan",
        options: Sequence[str] | None = None,
        preamble: str = "",
        devices: object = None,
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.name = name_prefix
        number = dtype_to_ctype(self.dtype)
        first = part_of(str(neutral), f"neutral of {name_prefix}") if neutral is not None else "windlass_in[0]"
        expression = part_of(scan_expr, f"scan_expr of {name_prefix}")
        before, after = self._body.split("EXPRESSION")
        pieces: list[str | Part] = [
            part_of(preamble, f"preamble of {name_prefix}"),
            f'\nextern "C" __global__ void {symbol_of(name_prefix)}('
            f"const {number} *windlass_in, {number} *windlass_out, long windlass_n) {{\n{number} a = ",
            first,
            f";\n{before.replace('NUMBER', number)}",
            expression,
            f"{after}\n}}\n",
        ]
        self.kernel = compiled(pieces, name_prefix, tuple(options or ()))

    def __call__(
        self, input_ary: GPUArray, output_ary: Any = None, allocator: object = None, queue: object = None
    ) -> GPUArray:
        """The results in `output_ary`; in `input_ary` where there is none, in a new array where it is "new"."""
        target: GPUArray = input_ary if output_ary is None else output_ary
        if isinstance(output_ary, str):
            target = empty_like(input_ary)
        for array in (input_ary, target):
            if array.dtype != self.dtype or array.ndim != 1 or not array.flags.forc or array.shape != input_ary.shape:
                raise LaunchError(
                    Diagnostic(
                        "WL0404",
                        f"{self.name} scans arrays of one length in one piece, of {self.dtype}; "
                        f"got {array.dtype} of shape {array.shape}",
                    )
                )
        if len(input_ary):
            values = GPUArray.of(input_ary.data.copy()) if target is input_ary else input_ary
            DeviceFunction(self.kernel)(values, target, len(input_ary), grid=(1, 1), block=(1, 1, 1))
        return target


class InclusiveScanKernel(_ScanKernel):
    """`InclusiveScanKernel(dtype, "a+b")`: each result has its own element in it.

    >>> from windlass.pycuda import gpuarray
    >>> total = InclusiveScanKernel(np.int32, "a+b")
    >>> total(gpuarray.to_gpu(np.array([1, 2, 3, 4], np.int32))).get().tolist()
    [1, 3, 6, 10]
    """

    _body = """windlass_out[0] = windlass_in[0];
for (long windlass_i = 1; windlass_i < windlass_n; windlass_i++) {
    NUMBER b = windlass_in[windlass_i];
    a = (EXPRESSION);
    windlass_out[windlass_i] = a;
}"""

    def __init__(self, dtype: Any, scan_expr: str, neutral: object = None, *rest: Any, **options: Any) -> None:
        # The first result is the first element, which a neutral element would give as well.
        super().__init__(dtype, scan_expr, None, *rest, **options)


class ExclusiveScanKernel(_ScanKernel):
    """`ExclusiveScanKernel(dtype, "a+b", neutral=0)`: each result is of the elements before.

    >>> from windlass.pycuda import gpuarray
    >>> before = ExclusiveScanKernel(np.int32, "max(a, b)", "-2147483648")
    >>> before(gpuarray.to_gpu(np.array([1, 3, 2, 4], np.int32))).get()[1:].tolist()
    [1, 3, 3]
    """

    _body = """for (long windlass_i = 0; windlass_i < windlass_n; windlass_i++) {
    NUMBER b = windlass_in[windlass_i];
    windlass_out[windlass_i] = a;
    a = (EXPRESSION);
}"""

    def __init__(self, dtype: Any, scan_expr: str, neutral: object, *rest: Any, **options: Any) -> None:
        super().__init__(dtype, scan_expr, neutral, *rest, **options)
