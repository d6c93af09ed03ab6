"""Solutions of systems that are multiplied with something thin: an inverse times a vector is one solution."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from windlass.facts.structure import find_diagonal
from windlass.ir import Result, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    Clamp,
    Constant,
    CustomCall,
    DotGeneral,
    Gather,
    Multiply,
    Reshape,
    Scatter,
    Transpose,
    TriangularSolve,
)
from windlass.ops.combiners import combiner_region
from windlass.ops.contraction import matmul
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.contractions import made_by, sides
from windlass.rules.diagonals import identity_matrix
from windlass.rules.letters import Letters, Product, Term, arrange, is_plain, read

__all__ = ["matmul"]


def tame(a: Value) -> Value:
    """A matrix of small elements, so that a solver's result depends little on its order of operations."""
    return Multiply(a, Constant.of(0.05, a.dtype, a.shape))


LEFT_LOWER_UNIT = "{diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}"


def lapack_solve(a: Value, b: Value, config: str) -> CustomCall:
    """A call of LAPACK's trsm, as JAX makes it on CPUs."""
    call = CustomCall((a, b), f"lapack_{'s' if a.dtype == 'f32' else 'd'}trsm_ffi", (b.type,))
    call.extra = {"mhlo.backend_config": config}
    return call


@dataclass(frozen=True)
class Solution:
    """The solutions of op(a) · x = b, a being a triangular matrix and b one of right sides."""

    op: TriangularSolve | CustomCall
    b: Value

    @property
    def is_transposed(self) -> bool | None:
        """Whether op(a) is the transpose of a; None if it is its adjoint."""
        if isinstance(self.op, TriangularSolve):
            spelled = self.op.transpose_a
        else:
            solver = self.op.solver
            spelled = solver.transpose_a if solver is not None else "ADJOINT"
        return {"NO_TRANSPOSE": False, "TRANSPOSE": True}.get(spelled)

    def solve(self, right: Value, is_turned: bool = False) -> Value:
        """The solutions for other right sides; with the transpose of op(a) if `is_turned`."""
        op = self.op
        spelled = "TRANSPOSE" if self.is_transposed != is_turned else "NO_TRANSPOSE"
        if isinstance(op, TriangularSolve):
            return TriangularSolve(
                op.a, right, True, op.lower, op.unit_diagonal, spelled if is_turned else op.transpose_a
            )
        fields = {**op.field_values(), "inputs": (op.inputs[0], right), "result_types": (right.type,)}
        made = CustomCall.from_fields(fields)
        # How it may be sharded was said of the other shape.
        made.extra = {name: text for name, text in (op.extra or {}).items() if name != "sdy.sharding_rule"}
        if is_turned:
            config = made.extra["mhlo.backend_config"]
            made.extra["mhlo.backend_config"] = re.sub(r"trans_x = \d+", f"trans_x = {ord(spelled[0])}", config)
        return made.results[0]


def find_solution(value: Value) -> Solution | None:
    """What a value is a solution of, by XLA or LAPACK.

    >>> a, b = tensor("f32", 9, 9), tensor("f32", 9, 2, name="b")
    >>> find_solution(TriangularSolve(a, b, True, True, False, "NO_TRANSPOSE")).b
    b
    """
    op = value.owner if isinstance(value, Result) else value
    if isinstance(op, TriangularSolve):
        return Solution(op, op.b) if op.left_side and op.tensor.rank == 2 else None
    if not isinstance(op, CustomCall):
        return None
    solver = op.solver
    return Solution(op, op.inputs[1]) if solver is not None and solver.left_side else None


def as_matrix(term: Term, first: int) -> Term:
    """The term with this letter's axis first and all others as one behind it."""
    rest = tuple(letter for letter in term.letters if letter != first)
    order = tuple(term.letters.index(letter) for letter in (first, *rest))
    value = term.value if order == tuple(range(len(order))) else Transpose(term.value, order)
    shape = (value.shape[0], math.prod(value.shape[1:]))
    return Term(value if value.shape == shape else Reshape(value, shape), (first, *rest))


def back(matrix: Value, letters: Letters, sizes: dict[int, int]) -> Term:
    """What `as_matrix` made a matrix, as it was but for the order of axes."""
    shape = tuple(sizes[letter] for letter in letters)
    return Term(matrix if matrix.shape == shape else Reshape(matrix, shape), letters)


def sample_product_of_solution(draw: Draw) -> DotGeneral:
    """The solutions of triangular systems, times a vector or a thin matrix, along their columns or rows."""
    size, count = draw.integer(2, 4), draw.integer(3, 5)
    if draw.boolean():
        a, b = tensor("f64", size, size, name="a"), tensor("f64", size, count, name="b")
        config = LEFT_LOWER_UNIT if draw.boolean() else LEFT_LOWER_UNIT.replace("trans_x = 78", "trans_x = 84")
        solution = lapack_solve(tame(a), b, config).results[0]
    else:
        a, b = tensor("f32", size, size, name="a"), tensor("f32", size, count, name="b")
        turned = draw.choose(("NO_TRANSPOSE", "TRANSPOSE"))
        solution = TriangularSolve(tame(a), b, True, draw.boolean(), True, turned)
    axis = draw.integer(0, 1)
    thin = tensor(b.dtype, solution.shape[axis], *draw.choose(((), (1,))), name="y")
    if draw.boolean():
        return DotGeneral(solution, thin, (), (), (axis,), (0,))
    return DotGeneral(thin, solution, (), (), (0,), (axis,))


def find_factor(op: DotGeneral) -> tuple[Product, Term, Term, Solution] | None:
    """The product, its operand that is a solution (which nothing else uses), the other one, and the solution."""
    if op.lhs_batching_dimensions or len(op.lhs_contracting_dimensions) != 1 or not is_plain(op):
        return None
    if not made_by(op, TriangularSolve | Result) or 0 in (*op.lhs.shape, *op.rhs.shape):
        return None
    product = read(op)
    for term, other in sides(product):
        found = find_solution(term.value)
        if found is not None and is_alone(term.value, op):
            return product, term, other, found
    return None


@rewrite(any_op(DotGeneral), reassociates=True, sample=sample_product_of_solution)
def dot_of_solution(op: DotGeneral) -> Value | None:
    """dot(solve(a, b), z) = solve(a, dot(b, z)), if z is thinner than b: inv(a) @ v solves one system

    >>> a, b = tensor("f32", 9, 9), tensor("f32", 9, 9, name="b")
    >>> solution = TriangularSolve(a, b, True, True, False, "NO_TRANSPOSE")
    >>> made = dot_of_solution(DotGeneral(solution, tensor("f32", 9, name="z"), (), (), (1,), (0,)))
    >>> made.operand.b.shape
    (9, 1)
    """
    found = find_factor(op)
    if found is None:
        return None
    product, term, other, solution = found
    row, column = term.letters
    columns = other.value.tensor.size // other.sizes().get(column, 1)
    if column not in product.summed or columns >= solution.b.shape[1]:
        return None
    thin = tuple(letter for letter in other.letters if letter != column)
    right = product.with_term(term, Term(solution.b, term.letters), other, (row, *thin))
    if right is None:
        return None
    solved = solution.solve(as_matrix(Term(right, (row, *thin)), row).value)
    return arrange(back(solved, (row, *thin), product.sizes()), product.result)


@rewrite(any_op(DotGeneral), reassociates=True, sample=sample_product_of_solution)
def dot_of_rows_of_solution(op: DotGeneral) -> Value | None:
    """dot(zᵀ, solve(a, b)) = dot(solve(aᵀ, z)ᵀ, b), if z is thinner than b: v @ inv(a) solves one system

    >>> a, b = tensor("f32", 9, 9), tensor("f32", 9, 9, name="b")
    >>> solution = TriangularSolve(a, b, True, True, False, "NO_TRANSPOSE")
    >>> made = dot_of_rows_of_solution(DotGeneral(tensor("f32", 9, name="z"), solution, (), (), (0,), (0,)))
    >>> made.lhs.operand.transpose_a
    'TRANSPOSE'
    """
    found = find_factor(op)
    if found is None:
        return None
    product, term, other, solution = found
    row = term.letters[0]
    columns = other.value.tensor.size // other.sizes().get(row, 1)
    if row not in product.summed or columns >= solution.b.shape[1] or solution.is_transposed is None:
        return None
    matrix = as_matrix(other, row)
    solved = back(solution.solve(matrix.value, is_turned=True), matrix.letters, product.sizes())
    return product.with_term(term, Term(solution.b, term.letters), solved)


def sample_product_of_inverse(draw: Draw) -> DotGeneral:
    """A triangular inverse, or that of a matrix whose rows were exchanged, times a matrix as wide as itself."""
    size = draw.integer(2, 4)
    right: Value = identity_matrix(size, "f64")
    if draw.boolean():
        right = Gather(right, tensor("i32", size, 1, name="i"), (1,), (0,), (), (), (0,), 1, (1, size))
    if draw.boolean():
        solution: Value = TriangularSolve(
            tame(tensor("f64", size, size, name="a")), right, True, True, True, "TRANSPOSE"
        )
    else:
        solution = lapack_solve(tame(tensor("f64", size, size, name="a")), right, LEFT_LOWER_UNIT).results[0]
    return matmul(solution, tensor("f64", size, draw.integer(1, size), name="y"))


@rewrite(any_op(DotGeneral), reassociates=True, sample=sample_product_of_inverse)
def dot_of_inverse(op: DotGeneral) -> Value | None:
    """dot(solve(a, I), z) = solve(a, z), if z has at most as many columns as a: inv(a) @ b solves the systems of b

    Also where rows of the identity were exchanged, and for a solution of solutions.

    >>> inverse = TriangularSolve(tensor("f32", 9, 9), identity_matrix(9), True, True, False, "NO_TRANSPOSE")
    >>> dot_of_inverse(matmul(inverse, tensor("f32", 9, 9, name="z"))).b
    z
    """
    found = find_factor(op)
    if found is None:
        return None
    product, term, other, solution = found
    row, column = term.letters
    if column not in product.summed or other.value.tensor.size > solution.b.tensor.size:
        return None
    chain = [solution]
    while (inner := find_solution(chain[-1].b)) is not None and is_alone(chain[-1].b):
        chain.append(inner)
    rows = find_diagonal(chain[-1].b)
    matrix = as_matrix(other, column)
    solved = matrix.value
    if rows is None or not rows.is_identity:
        choice = find_row_choice(chain[-1].b)
        if choice is None or choice[1:] != (0, 1):
            return None
        solved = take_rows(solved, 0, choice[0])
    for each in reversed(chain):
        solved = each.solve(solved)
    letters = (row, *matrix.letters[1:])
    return arrange(back(solved, letters, product.sizes()), product.result)


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


def take_rows(table: Value, axis: int, indices: Value) -> Gather:
    """The parts of a table at these places along an axis, their axis first.

    >>> take_rows(tensor("f32", 9, 4), 0, tensor("i32", 5, name="i")).type
    tensor<5x4xf32>
    """
    sizes = tuple(1 if each == axis else size for each, size in enumerate(table.shape))
    return Gather(table, indices, tuple(range(1, table.tensor.rank)), (axis,), (), (), (axis,), 1, sizes)


def sample_product_of_row_choice(draw: Draw) -> DotGeneral:
    """Rows of the identity times a vector or a matrix, from either side, along either axis."""
    size, count = draw.integer(2, 5), draw.integer(2, 5)
    indices = tensor("i32", count, 1, name="i")
    if draw.boolean():
        table = Reshape(identity_matrix(size), (size, size, 1))
        rows: Value = Gather(table, indices, (0, 2), (1,), (), (), (1,), 1, (size, 1, 1))
        rows = Reshape(Transpose(rows, (1, 2, 0)), (count, size))
    else:
        rows = Gather(identity_matrix(size), indices, (1,), (0,), (), (), (0,), 1, (1, size))
    axis = draw.integer(0, 1)
    other = tensor("f32", rows.shape[axis], *draw.choose(((), (3,))), name="y")
    if draw.boolean():
        return DotGeneral(rows, other, (), (), (axis,), (0,))
    return DotGeneral(other, rows, (), (), (0,), (axis,))


def _row_choice_of(op: DotGeneral) -> tuple[Product, Term, Term, tuple[Value, int, int]] | None:
    if op.lhs_batching_dimensions or not is_plain(op) or len(op.lhs_contracting_dimensions) != 1:
        return None
    choices = [find_row_choice(operand) if operand.tensor.rank == 2 else None for operand in op.operands]
    if choices == [None, None]:
        return None
    product = read(op)
    for found, (term, other) in zip(choices, sides(product), strict=True):
        if found is not None:
            return product, term, other, found
    return None


@rewrite(any_op(DotGeneral), reassociates=True, sample=sample_product_of_row_choice)
def dot_of_row_choice(op: DotGeneral) -> Value | None:
    """dot(I[i], y) = y[i]: rows of the identity choose rows, those of a permutation in particular

    >>> rows = Gather(identity_matrix(9), tensor("i32", 5, 1, name="i"), (1,), (0,), (), (), (0,), 1, (1, 9))
    >>> type(dot_of_row_choice(matmul(rows, tensor("f32", 9, 4, name="y")))).__name__
    'Gather'
    """
    known = _row_choice_of(op)
    if known is None:
        return None
    product, term, other, (indices, along, across) = known
    summed = term.letters[across]
    if summed not in product.summed:
        return None
    rows = take_rows(other.value, other.letters.index(summed), indices)
    rest = tuple(letter for letter in other.letters if letter != summed)
    return arrange(Term(rows, (term.letters[along], *rest)), product.result)


@rewrite(any_op(DotGeneral), reassociates=True, sample=sample_product_of_row_choice)
def dot_of_rows_of_row_choice(op: DotGeneral) -> Value | None:
    """dot(v, I[i]) = zeros with the elements of the vector v added at i

    >>> rows = Gather(identity_matrix(9), tensor("i32", 5, 1, name="i"), (1,), (0,), (), (), (0,), 1, (1, 9))
    >>> made = dot_of_rows_of_row_choice(DotGeneral(tensor("f32", 5, name="v"), rows, (), (), (0,), (0,)))
    >>> made.owner.updates
    (v,)
    """
    known = _row_choice_of(op)
    if known is None:
        return None
    product, term, other, (indices, along, across) = known
    if term.letters[along] not in product.summed or other.value.tensor.rank != 1:
        return None
    size = term.value.shape[across]
    # A gather takes the nearest row where there is none; a scatter would leave it out.
    last = Constant.of(size - 1, indices.dtype)
    inside = Clamp(Constant.of(0, indices.dtype), indices, last)
    at = Reshape(inside, (indices.tensor.size, 1))
    dtype = other.value.dtype
    zeros, body = Constant.of(0, dtype, (size,)), combiner_region(Add, dtype)
    return Scatter((zeros,), at, (other.value,), (), (0,), (), (), (0,), 1, body).results[0]
