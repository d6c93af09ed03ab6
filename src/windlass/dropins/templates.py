"""CUDA C++ made of expressions: what CuPy's and PyCUDA's elementwise and reduction kernels have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windlass.cuda import Kernel, compile
from windlass.diagnostics import Diagnostic, LaunchError

C_TYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
    "float16": "__half", "float32": "float", "float64": "double",
}  # fmt: skip

_kernels: dict[str, Kernel] = {}


def c_type(dtype: np.dtype[Any]) -> str:
    """The name of a dtype in CUDA C++.

    Raises LaunchError (WL0401) for dtypes that it has no name for.
    """
    found = C_TYPES.get(dtype.name)
    if found is None:
        raise LaunchError(Diagnostic("WL0401", f"kernels made of expressions take no {dtype}"))
    return found


@dataclass(eq=False, repr=False)
class ElementwiseTemplate:
    """An operation on the elements of arrays; `i` is the number of the element, `n` how many there are."""

    name: str
    operation: str
    preamble: str
    loop_prep: str
    after_loop: str

    def compiled(self, parameters: str, integer: str, typedefs: str = "", before: str = "", after: str = "") -> Kernel:
        """The kernel that does it for each `i` below its last argument `n`, after and before what is done beside it."""
        source = f"""{typedefs}{self.preamble}
extern "C" __global__ void {symbol_of(self.name)}({parameters}, {integer} n) {{
    {self.loop_prep};
    for ({integer} i = ({integer})blockIdx.x * blockDim.x + threadIdx.x; i < n; i += n) {{
        {before}
        {{ {self.operation}
        ; }}
        {after}
    }}
    {self.after_loop};
}}
"""
        return compiled(source, self.name)


@dataclass(eq=False, repr=False)
class ReductionTemplate:
    """Expressions that bring elements to one value: `map_expr` gives `b`, `reduce_expr` combines it with `a`."""

    name: str
    identity: object
    map_expr: str
    reduce_expr: str
    preamble: str

    def compiled(
        self, parameters: str, out_type: str, reads: str, result: str, typedefs: str, names: Sequence[str]
    ) -> Kernel:
        """The kernel whose last arguments are the results, how many rows there are and their length.

        `reads` says what an element of `windlass_row` needs, `result` stores what comes of `a`; `typedefs` define
        `_type_reduce`; `names` are the integers' type, and the element's number and the row's length in expressions.
        """
        integer, index, length = names
        parameters += f", {out_type} *windlass_out, {integer} windlass_rows, {integer} {length}"
        source = f"""{typedefs}
{self.preamble}
extern "C" __global__ void {symbol_of(self.name)}({parameters}) {{
    {integer} windlass_row = ({integer})blockIdx.x * blockDim.x + threadIdx.x;
    if (windlass_row >= windlass_rows) return;
    _type_reduce a = _type_reduce({self.identity});
    for ({integer} {index} = 0; {index} < {length}; {index}++) {{
        {reads}
        _type_reduce b = ({self.map_expr});
        a = ({self.reduce_expr});
    }}
    {result}
}}
"""
        return compiled(source, self.name)


def symbol_of(name: str) -> str:
    """A kernel's name in CUDA C++.

    >>> symbol_of("a-b")
    'a_b'
    """
    return re.sub(r"\W", "_", name)


def compiled(source: str, name: str) -> Kernel:
    """The kernel of that name; the same source is compiled once."""
    kernel = _kernels.get(source)
    if kernel is None:
        kernel = _kernels[source] = compile(source)[symbol_of(name)]
    return kernel
