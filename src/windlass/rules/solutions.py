"""Solutions of systems that are multiplied with something thin: an inverse times a vector is one solution."""

from __future__ import annotations

import math

from windlass.ir import Result, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Constant,
    CustomCall,
    DotGeneral,
    Gather,
    Multiply,
    Reshape,
    Transpose,
    TriangularSolve,
)
from windlass.ops.contraction import matmul
from windlass.ops.lapack import find_solver
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.structure import find_diagonal
from windlass.rules.contractions import dot
from windlass.rules.diagonals import identity_matrix
from windlass.rules.letters import feeds_only, is_plain

__all__ = ["matmul"]

x, y, z = hole("x"), hole("y"), hole("z")


def tame(a: Value) -> Value:
    """A matrix of small elements, so that a solver's result depends little on its order of operations."""
    return Multiply(a, Constant.of(0.05, a.dtype, a.shape))


def sample_product_of_solution(draw: Draw) -> DotGeneral:
    """The solutions of triangular systems, times a vector or a thin matrix."""
    size, count = draw.integer(2, 4), draw.integer(3, 5)
    a, b = tensor("f32", size, size, name="a"), tensor("f32", size, count, name="b")
    solution = TriangularSolve(tame(a), b, True, draw.boolean(), True, "NO_TRANSPOSE")
    return DotGeneral(solution, tensor("f32", count, *draw.choose(((), (1,))), name="y"), (), (), (1,), (0,))


def thin_product(op: DotGeneral, b: Value, z: Value) -> Value | None:
    """dot(b, z) as a matrix, if it has fewer columns than b and op has the axes of a plain matrix product."""
    if op.lhs_contracting_dimensions != (1,) or op.lhs_batching_dimensions or not is_plain(op) or b.tensor.rank != 2:
        return None
    columns = math.prod(op.shape[1:])
    if columns >= b.shape[1] or columns == 0:
        return None
    made: Value = op.with_operands((b, z))
    return made if made.tensor.rank == 2 else Reshape(made, (b.shape[0], columns))


@rewrite(
    dot(TriangularSolve(x, y, True, hole("lower"), hole("unit"), hole("transpose")), z),
    reassociates=True,
    sample=sample_product_of_solution,
)
def dot_of_solution(op: DotGeneral, x: Value, y: Value, z: Value) -> Value | None:
    """dot(solve(a, b), z) = solve(a, dot(b, z)), if z is thinner than b

    >>> a, b = tensor("f32", 9, 9), tensor("f32", 9, 9, name="b")
    >>> solution = TriangularSolve(a, b, True, True, False, "NO_TRANSPOSE")
    >>> made = dot_of_solution(DotGeneral(solution, tensor("f32", 9, name="z"), (), (), (1,), (0,)))
    >>> made.operand.b.shape
    (9, 1)
    """
    solve = op.lhs
    assert isinstance(solve, TriangularSolve)
    right = thin_product(op, y, z) if feeds_only(solve, op) else None
    if right is None:
        return None
    made = TriangularSolve(x, right, True, solve.lower, solve.unit_diagonal, solve.transpose_a)
    return made if made.shape == op.shape else Reshape(made, op.shape)


def lapack_solve(a: Value, b: Value, config: str) -> CustomCall:
    """A call of LAPACK's trsm, as JAX makes it on CPUs."""
    call = CustomCall((a, b), f"lapack_{'s' if a.dtype == 'f32' else 'd'}trsm_ffi", (b.type,))
    call.extra = {"mhlo.backend_config": config}
    return call


LEFT_LOWER_UNIT = "{diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}"


def sample_product_of_lapack_solution(draw: Draw) -> DotGeneral:
    size, count = draw.integer(2, 4), draw.integer(3, 5)
    a, b = tensor("f64", size, size, name="a"), tensor("f64", size, count, name="b")
    solution = lapack_solve(tame(a), b, LEFT_LOWER_UNIT).results[0]
    return DotGeneral(solution, tensor("f64", count, *draw.choose(((), (1,))), name="y"), (), (), (1,), (0,))


@rewrite(any_op(DotGeneral), reassociates=True, sample=sample_product_of_lapack_solution)
def dot_of_lapack_solution(op: DotGeneral) -> Value | None:
    """dot(trsm(a, b), z) = trsm(a, dot(b, z)), if z is thinner than b: inv(a) @ v solves one system

    >>> solution = lapack_solve(tensor("f32", 9, 9), tensor("f32", 9, 9, name="b"), LEFT_LOWER_UNIT).results[0]
    >>> made = dot_of_lapack_solution(DotGeneral(solution, tensor("f32", 9, name="z"), (), (), (1,), (0,)))
    >>> made.operand.owner.inputs[1].shape
    (9, 1)
    """
    value = op.lhs
    call = value.owner if isinstance(value, Result) else None
    if not isinstance(call, CustomCall) or not feeds_only(value, op):
        return None
    solver = find_solver(call)
    if solver is None or not solver.left_side:
        return None
    right = thin_product(op, call.inputs[1], op.rhs)
    if right is None:
        return None
    fields = {**call.field_values(), "inputs": (call.inputs[0], right), "result_types": (right.type,)}
    made = CustomCall.from_fields(fields)
    # How it may be sharded was said of the other shape.
    made.extra = {name: text for name, text in (call.extra or {}).items() if name != "sdy.sharding_rule"}
    solution = made.results[0]
    return solution if solution.shape == op.shape else Reshape(solution, op.shape)


def find_row_choice(value: Value) -> tuple[Value, int, int] | None:
    """Which rows of the identity a matrix holds: the computed indices, the axis along which these go, and the other.

    Sees through transposes, and through reshapes that add or drop axes of size 1.
    """
    if isinstance(value, Transpose):
        found = find_row_choice(value.operand)
        return found and (found[0], value.permutation.index(found[1]), value.permutation.index(found[2]))
    if isinstance(value, Reshape):
        found = find_row_choice(value.operand)
        old = [axis for axis, size in enumerate(value.operand.shape) if size != 1]
        new = [axis for axis, size in enumerate(value.shape) if size != 1]
        if found is None or [value.operand.shape[axis] for axis in old] != [value.shape[axis] for axis in new]:
            return None
        place = dict(zip(old, new, strict=True))
        return (found[0], place[found[1]], place[found[2]]) if found[1] in place and found[2] in place else None
    if not isinstance(value, Gather):
        return None
    table = value.operand
    if isinstance(table, Reshape):
        table = table.operand
    found_diagonal = find_diagonal(table)
    if found_diagonal is None or not found_diagonal.is_identity:
        return None
    long = [axis for axis, size in enumerate(value.operand.shape) if size != 1]
    indices = value.start_indices
    if len(value.start_index_map) != 1 or value.operand_batching_dims or indices.tensor.size != max(indices.shape):
        return None
    chosen = value.start_index_map[0]
    sizes = tuple(1 if axis == chosen else size for axis, size in enumerate(value.operand.shape))
    if chosen not in long or len(long) != 2 or value.slice_sizes != sizes or indices.tensor.size < 2:
        return None
    across = [axis for axis in value.offset_dims if value.shape[axis] != 1]
    along = [axis for axis in range(value.tensor.rank) if axis not in value.offset_dims and value.shape[axis] != 1]
    if len(across) != 1 or len(along) != 1:
        return None
    return Reshape(indices, (indices.tensor.size,)), along[0], across[0]


def sample_product_of_row_choice(draw: Draw) -> DotGeneral:
    size, count = draw.integer(2, 5), draw.integer(2, 5)
    indices = tensor("i32", count, 1, name="i")
    if draw.boolean():
        table = Reshape(identity_matrix(size), (size, size, 1))
        rows: Value = Gather(table, indices, (0, 2), (1,), (), (), (1,), 1, (size, 1, 1))
        rows = Reshape(Transpose(rows, (1, 2, 0)), (count, size))
    else:
        rows = Gather(identity_matrix(size), indices, (1,), (0,), (), (), (0,), 1, (1, size))
    return DotGeneral(rows, tensor("f32", size, *draw.choose(((), (3,))), name="y"), (), (), (1,), (0,))


@rewrite(any_op(DotGeneral), reassociates=True, sample=sample_product_of_row_choice)
def dot_of_row_choice(op: DotGeneral) -> Value | None:
    """dot(I[i], y) = y[i]: rows of the identity choose rows, those of a permutation in particular

    >>> rows = Gather(identity_matrix(9), tensor("i32", 5, 1, name="i"), (1,), (0,), (), (), (0,), 1, (1, 9))
    >>> type(dot_of_row_choice(matmul(rows, tensor("f32", 9, 4, name="y")))).__name__
    'Gather'
    """
    if (
        op.lhs.tensor.rank != 2
        or op.lhs_batching_dimensions
        or not is_plain(op)
        or len(op.lhs_contracting_dimensions) != 1
    ):
        return None
    found = find_row_choice(op.lhs)
    if found is None or found[2] != op.lhs_contracting_dimensions[0]:
        return None
    table, axis = op.rhs, op.rhs_contracting_dimensions[0]
    rank = table.tensor.rank
    sizes = tuple(1 if each == axis else size for each, size in enumerate(table.shape))
    return Gather(table, found[0], tuple(range(1, rank)), (axis,), (), (), (axis,), 1, sizes)
