"""Integers of a loop-level function as affine indices: over the ids of threads and the counters of the loops around.

    byte = i * 4 + 8                 →  4·x + 8
    for j in range(n - i): a[j]      →  j, a dimension, and at the load it is below n - x

Raising, native code, schedules and checks of independence ask here what an address is, between which numbers it lies,
and under which conditions an op runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass.affine.dimensions import EVERYWHERE, Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import ZERO, Data, Index, Range, RuntimeScalar
from windlass.affine.predicate import FALSE, TRUE, DataCondition, Predicate
from windlass.facts.integers import (
    compare_symbolically,
    exceeds_symbolic,
    looks_unsigned,
    numeric_bounds,
    symbolic_result,
)
from windlass.facts.threads import ThreadIds
from windlass.ir import Argument, Block, Op, TensorType, Value
from windlass.ir.values import Result
from windlass.loops import Access, DoWhile, For, If, Parallel, Subscript, accessed_dtype
from windlass.ops.base import INTEGER
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert, Convert, byte_width, dtype_range
from windlass.ops.creation import Constant
from windlass.ops.elementwise import And, Not, Or, Select, Xor

MOST_ROUNDS = 2**61
"""A loop whose trip count is not known to be smaller has a counter that is not known."""
NO_POINTS_APART = Domain((), EVERYWHERE, TRUE)
"""Where a function runs outside of its launch: once."""
ORDER_OF_LOOPS = 100
"""Where the counters of loops stand among the dimensions: within those of threads."""


@dataclass(frozen=True)
class ScalarHandle:
    """A scalar that is known at run time only, told by its SSA value; it may differ between points over `dims`."""

    value: Value
    dims: tuple[Dimension, ...]

    @property
    def identity(self) -> int:
        return id(self.value)


class IndexReader:
    """Reads the integers and conditions of one function, of which `known` are the first: ids of threads, and arguments.

    Arguments that `known` doesn't have are numbers of which only the type is known. What is computed in ways that are
    not affine is an atom `Data` with its bounds, equal only to itself.

    >>> from windlass.ir import tensor_type
    >>> from windlass.ops.elementwise import Add, Multiply
    >>> i = Argument(tensor_type((), "i64"))
    >>> x = Dimension("x", 100, 0)
    >>> reader = IndexReader({i: Index.of(x)})
    >>> reader.index_of(Add(Multiply(i, Constant.of(4, "i64")), Constant.of(8, "i64")))
    4*x + 8
    """

    def __init__(
        self, known: Mapping[Value, Index], dimensions: tuple[Dimension, ...] = (), within: Predicate = TRUE
    ) -> None:
        self._indices: dict[Value, Index] = dict(known)
        self._conditions: dict[Value, Predicate] = {}
        self._domains: dict[Block, Domain] = {}
        self._outermost = Domain(dimensions, EVERYWHERE, TRUE).restrict(within)

    @staticmethod
    def of_launch(parallel: Parallel, ids: ThreadIds, within: Predicate = TRUE) -> IndexReader:
        """A reader for a launch, or the points of it for which a condition holds: its ids are what
        `facts.threads.thread_ids` says."""
        return IndexReader(dict(zip(parallel.body.block.arguments, ids.items, strict=True)), ids.dimensions, within)

    def dimension_of(self, loop: For) -> Dimension | None:
        """The dimension that the counter of a loop is; None where no bound of its trip count is known."""
        counter = self.index_of(loop.body.block.arguments[0])
        return next((atom for atom in counter.terms if isinstance(atom, Dimension)), None)

    def domain_at(self, block: Block | None) -> Domain:
        """The points at which a block runs, as far as the conditions and trip counts around it tell."""
        if block is None:
            return NO_POINTS_APART
        known = self._domains.get(block)
        if known is None:
            known = self._domains[block] = self._find_domain(block)
        return known

    def index_of(self, value: Value) -> Index:
        """An integer, over the whole integers: it holds where the value is computed.

        Raises ValueError for what is no integer.
        """
        known = self._indices.get(value)
        if known is None:
            if not _is_integer(value):
                raise ValueError(f"a value of type {value.type} is no index")
            known = self._indices[value] = self._read(value)
        return known

    def affine_index_of(self, value: Value) -> Index | None:
        """As `index_of`; None where some part of it is neither affine nor the same at all points."""
        index = self.index_of(value)
        return None if index.has_data else index

    def condition_of(self, value: Value) -> Predicate:
        """A truth value, as a condition on points."""
        known = self._conditions.get(value)
        if known is None:
            known = self._conditions[value] = self._read_condition(value)
        return known

    def range_of(self, value: Value, where: Block | None = None) -> Range:
        """Between which numbers an integer lies, both included: where it is computed, or in a block further in."""
        domain = self.domain_at(where or _home(value))
        return self.index_of(value).value_range(domain.box)

    def is_inside(self, access: Access, size_bytes: int, begin: int = 0) -> bool:
        """Whether an access is proved to lie within a memory of that size; its buffer begins `begin` bytes in it."""
        offset = self.index_of(access.offset) + begin
        domain = self.domain_at(_home(access))
        last = size_bytes - byte_width(accessed_dtype(access))
        inside = Predicate.compare("GE", offset, ZERO) & Predicate.compare("LE", offset, Index(last))
        return domain.mask.implies(inside, domain.box)

    def always_holds(self, condition: Value, where: Block | None) -> bool:
        """Whether a truth value is proved to be true at all points at which a block runs."""
        return self.always_is(condition, True, where)

    def always_is(self, condition: Value, truth: bool, where: Block | None) -> bool:
        """Whether a truth value is proved to be that one at all points at which a block runs."""
        domain = self.domain_at(where)
        predicate = self.condition_of(condition)
        return domain.mask.implies(predicate if truth else ~predicate, domain.box)

    # -- how ------------------------------------------------------------------------------------------------------

    def _find_domain(self, block: Block) -> Domain:
        around = _around(block)
        if around is None:
            return NO_POINTS_APART
        if isinstance(around, Parallel):  # of the launch, or the threads of a block in it
            return self.domain_at(around.block) if around.kind in ("block", "lane") else self._outermost
        domain = self.domain_at(around.block)
        if isinstance(around, If):
            condition = self.condition_of(around.condition)
            return domain.restrict(condition if block is around.then.block else ~condition)
        if isinstance(around, For):
            counter = self.index_of(block.arguments[0])
            dimension = self.dimension_of(around)
            if dimension is not None:
                domain = domain.extended(dimension)
            return domain.restrict(Predicate.compare("LT", counter, self.index_of(around.trip_count)))
        return domain

    def _read(self, value: Value) -> Index:
        match value:
            case Argument():
                return self._read_argument(value)
            case Constant():
                return Index(int(value.number))
            case Subscript(indices=()):
                return Index(value.start)
            case Result(owner=If() as choice):
                yields = [region.block.terminator.operands[value.index] for region in (choice.then, choice.otherwise)]
                return self._read_merged(value, yields)
            case Select():
                return self._read_merged(value, value.operands[1:])
            case Op() if value.operands and all(_is_integer(operand) for operand in value.operands):
                box = self.domain_at(_home(value)).box
                operands = [self.index_of(operand) for operand in value.operands]
                found = symbolic_result(value, operands, box)
                if found is None and isinstance(value, Convert | BitcastConvert) and self._is_kept(value):
                    return operands[0]
                return found or self._unknown(value, numeric_bounds(value, operands, box))
            case Convert() if value.operand.dtype == "i1":
                return self._unknown(value, (0, 1))
            case _:
                return self._unknown(value, dtype_range(value.dtype))

    def _is_kept(self, value: Convert | BitcastConvert) -> bool:
        """Whether the conditions under which an integer is converted tell that the other type has it."""
        least, most = dtype_range(value.dtype)
        index, domain = self.index_of(value.operand), self.domain_at(_home(value))
        if domain.mask.is_true or exceeds_symbolic(index, domain.box):
            return False
        within = Predicate.compare("GE", index, Index(least)) & Predicate.compare("LE", index, Index(most))
        return domain.mask.implies(within, domain.box)

    def _read_merged(self, value: Value, given: Sequence[Value]) -> Index:
        """One of several numbers: the index that all are, or something between the least and the greatest."""
        indices = [self.index_of(each) for each in given]
        if len(set(indices)) == 1:
            return indices[0]
        ranges = [self.range_of(each) for each in given]
        return self._unknown(value, (min(low for low, _ in ranges), max(high for _, high in ranges)))

    def _read_argument(self, value: Argument) -> Index:
        loop = _around(value.block)
        if not isinstance(loop, For) or value.index > 0:
            return self._unknown(value, dtype_range(value.dtype))
        around = self.domain_at(_home(loop))
        most = self.index_of(loop.trip_count).value_range(around.box)[1]
        if most > MOST_ROUNDS:
            # Where it differs the loop's own block would tell, which asks for the counter.
            return Index.of(Data(ScalarHandle(value, around.dimensions), 0, dtype_range(value.dtype)[1]))
        return Index.of(Dimension(value.name or "i", max(most, 1), ORDER_OF_LOOPS + len(around.dimensions)))

    def _unknown(self, value: Value, bounds: Range) -> Index:
        """A number of which only bounds are known; an argument of the function is the same at all points."""
        home = _home(value)
        domain = self.domain_at(home)
        if not domain.dimensions and not _is_repeated(home):
            return Index.of(RuntimeScalar(value, *bounds))
        return Index.of(Data(ScalarHandle(value, domain.dimensions), *bounds))

    def _read_condition(self, value: Value) -> Predicate:
        match value:
            case Constant():
                return TRUE if value.number else FALSE
            case And(operands=(left, right)):
                return self.condition_of(left) & self.condition_of(right)
            case Or(operands=(left, right)):
                return self.condition_of(left) | self.condition_of(right)
            case Select(operands=(chooses, left, right)):
                condition = self.condition_of(chooses)
                return (condition & self.condition_of(left)) | (~condition & self.condition_of(right))
            case Not(operands=(operand,)):
                return ~self.condition_of(operand)
            case Xor(operands=(left, right)):
                one, other = self.condition_of(left), self.condition_of(right)
                return (one & ~other) | (~one & other)
            case Compare() if value.operands[0].dtype in INTEGER:
                found = self._read_comparison(value)
                if found is not None:
                    return found
            case _:
                pass
        return DataCondition(ScalarHandle(value, self.domain_at(_home(value)).dimensions))

    def _read_comparison(self, op: Compare) -> Predicate | None:
        box = self.domain_at(op.block).box
        operands = [self.index_of(operand) for operand in op.operands]
        if any(exceeds_symbolic(index, box) for index in operands):
            return None
        return compare_symbolically(op, self._signed_operands(op), operands).simplify(box)

    def _signed_operands(self, op: Compare) -> tuple[Index, Index] | None:
        """The signed numbers whose bits are compared as unsigned ones, where they are."""
        if not any(looks_unsigned(operand) for operand in op.operands):
            return None
        signed: list[Index] = []
        for operand in op.operands:
            if isinstance(operand, BitcastConvert) and looks_unsigned(operand):
                signed.append(self.index_of(operand.operand))
            elif isinstance(operand, Constant):
                least, most = dtype_range("i" + operand.dtype.removeprefix("ui"))
                number = int(operand.number)
                signed.append(Index(number - (most - least + 1) if number > most else number))
            else:
                return None
        return signed[0], signed[1]


def _is_integer(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.dtype in INTEGER


def _home(value: Value) -> Block | None:
    """The block in which a value is computed; None for what stands in no function."""
    match value:
        case Result():
            return value.owner.block
        case Argument() | Op():
            return value.block
        case _:
            return None


def _around(block: Block | None) -> Op | None:
    """The op that runs a block; None for the body of a function."""
    return block.parent.parent if block is not None and block.parent is not None else None


def _is_repeated(block: Block | None) -> bool:
    """Whether a loop goes round the block, or several points run it."""
    while block is not None:
        around = _around(block)
        if isinstance(around, For | DoWhile | Parallel):
            return True
        block = around.block if around is not None else None
    return False
