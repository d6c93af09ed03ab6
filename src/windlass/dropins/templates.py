"""CUDA C++ made of expressions: what CuPy's and PyCUDA's elementwise and reduction kernels have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from windlass.cuda import Kernel
from windlass.diagnostics import CompilationError, Diagnostic, LaunchError
from windlass.dropins.parts import Part, joined, part_of, with_lines_of
from windlass.dropins.sources import compile_source

C_TYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
    "float16": "__half", "float32": "float", "float64": "double",
}  # fmt: skip

Pieces: TypeAlias = Sequence[str | Part]

_kernels: dict[tuple[str, ...], Kernel] = {}


def c_type(dtype: np.dtype[Any]) -> str:
    """The name of a dtype in CUDA C++.

    Raises LaunchError (WL0401) for dtypes that it has no name for.
    """
    found = C_TYPES.get(dtype.name)
    if found is None:
        raise LaunchError(Diagnostic("WL0401", f"kernels made of expressions take no {dtype}"))
    return found


class ElementwiseTemplate:
    """An operation on the elements of arrays; `i` is the number of the element, `n` how many there are."""

    def __init__(
        self, name: str, operation: str, preamble: str, loop_prep: str, after_loop: str, options: Sequence[str] | None
    ) -> None:
        self.name = name
        self.operation = part_of(operation, f"operation of {name}")
        self.preamble = part_of(preamble, f"preamble of {name}")
        self.loop_prep = part_of(loop_prep, f"loop_prep of {name}")
        self.after_loop = part_of(after_loop, f"after_loop of {name}")
        self.options = tuple(options or ())

    def compiled(
        self, parameters: Pieces, integer: str, head: str = "", before: str = "", element: str = "", size: str = "n"
    ) -> Kernel:
        """The kernel that does it for each `i` below its last argument, which is called `size`.

        `head` stands at the source's begin, `before` at the kernel's, and `element` before the operation.
        """
        pieces = (
            head, self.preamble, f'\nextern "C" __global__ void {symbol_of(self.name)}(', *parameters,
            f", {integer} {size}) {{\n{before}\n", self.loop_prep, ";\n",
            f"for ({integer} i = ({integer})blockIdx.x * blockDim.x + threadIdx.x; i < {size}; i += {size}) {{\n"
            f"{element}\n{{", self.operation, "\n;}\n}\n",
            self.after_loop, ";\n}\n",
        )  # fmt: skip
        return compiled(pieces, self.name, self.options)


class ReductionTemplate:
    """Expressions that bring elements to one value: `map_expr` gives `b`, `reduce_expr` combines it with `a`."""

    def __init__(
        self,
        name: str,
        identity: str,
        map_expr: str,
        reduce_expr: str,
        preamble: str,
        options: Sequence[str] | None,
    ) -> None:
        self.name = name
        self.identity = part_of(identity, f"identity of {name}")
        self.map_expr = part_of(map_expr, f"map_expr of {name}")
        self.reduce_expr = part_of(reduce_expr, f"reduce_expr of {name}")
        self.preamble = part_of(preamble, f"preamble of {name}")
        self.options = tuple(options or ())

    def compiled(
        self,
        parameters: Pieces,
        head: str,
        reads: str,
        before: str,
        result: Pieces,
        names: Sequence[str],
    ) -> Kernel:
        """The kernel whose last arguments are how many rows there are and their length.

        `head` stands at the source's begin and defines `_type_reduce`, `before` at the kernel's, `reads` says what an
        element of `windlass_row` needs, `result` stores what comes of `a`; `names` are the integers' type, and the
        element's number and the row's length in expressions.
        """
        integer, index, length = names
        pieces = (
            head, self.preamble, f'\nextern "C" __global__ void {symbol_of(self.name)}(', *parameters,
            f", {integer} windlass_rows, {integer} {length}) {{\n"
            f"{integer} windlass_row = ({integer})blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"if (windlass_row >= windlass_rows) return;\n{before}\n"
            "_type_reduce a = _type_reduce(", self.identity, ");\n"
            f"for ({integer} {index} = 0; {index} < {length}; {index}++) {{\n{reads}\n"
            "_type_reduce b = static_cast<_type_reduce>(", self.map_expr, ");\na = (", self.reduce_expr, ");\n}\n",
            *result, "\n}\n",
        )  # fmt: skip
        return compiled(pieces, self.name, self.options)


def symbol_of(name: str) -> str:
    """A kernel's name in CUDA C++.

    >>> symbol_of("a-b")
    'a_b'
    """
    return re.sub(r"\W", "_", name)


def compiled(pieces: Pieces, name: str, options: Sequence[str]) -> Kernel:
    """The kernel of that name; the same source is compiled once.

    Raises CompilationError with clang's messages, at the lines of the user's texts.
    """
    key = (joined(pieces), *options)
    kernel = _kernels.get(key)
    if kernel is None:
        parts = [each for each in pieces if isinstance(each, Part)]
        try:
            module = compile_source(key[0], options)
        except CompilationError as error:
            raise with_lines_of(parts, error) from None
        for part in parts:
            module.code.source_text.setdefault(part.file, part.whole())
        kernel = _kernels[key] = module[symbol_of(name)]
    return kernel
