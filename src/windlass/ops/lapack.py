"""What calls of LAPACK's triangular solver mean, which JAX makes on CPUs instead of `stablehlo.triangular_solve`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from windlass.ir.types import MLIR_DTYPES
from windlass.ir.values import Value, tensor
from windlass.ops.linear_algebra import TriangularSolve

if TYPE_CHECKING:
    from windlass.ops.base import Array

TARGET = re.compile(r"lapack_[sdcz]trsm_ffi$")


@dataclass(frozen=True)
class Solver:
    """How a call of trsm reads its matrix: the fields of `TriangularSolve`."""

    left_side: bool
    lower: bool
    unit_diagonal: bool
    transpose_a: str

    def solve(self, a: Array, b: Array) -> Array:
        """The solutions, by the definition of `TriangularSolve`."""
        dtype = MLIR_DTYPES[a.dtype]
        matrix, right = tensor(dtype, *a.shape), tensor(dtype, *b.shape)
        op = TriangularSolve(matrix, right, self.left_side, self.lower, self.unit_diagonal, self.transpose_a)
        return np.asarray(op.evaluate(a, b))


def find_solver(target: str, inputs: Sequence[Value], config: str) -> Solver | None:
    """The solver that a call names, if it is LAPACK's trsm on single matrices.

    >>> a, b = tensor("f32", 3, 3, name="a"), tensor("f32", 3, 2, name="b")
    >>> config = "{diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}"
    >>> find_solver("lapack_strsm_ffi", (a, b), config)
    Solver(left_side=True, lower=True, unit_diagonal=True, transpose_a='NO_TRANSPOSE')
    """
    if not TARGET.match(target) or len(inputs) != 2:
        return None
    found = {name: chr(int(code)) for name, code in re.findall(r"(\w+) = (\d+) : ui8", config)}
    if set(found) != {"diag", "side", "trans_x", "uplo"} or any(value.tensor.rank != 2 for value in inputs):
        return None
    transpose = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}.get(found["trans_x"])
    if transpose is None:
        return None
    return Solver(found["side"] == "L", found["uplo"] == "L", found["diag"] == "U", transpose)
