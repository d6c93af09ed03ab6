"""What fold this is: the ops that combine values, and what holds of each.

Reductions, windows, scatters, loops that carry a sum, trees in shared memory, shuffles and atomics all fold values by
one of the `COMBINERS`. What finds or makes a fold asks here: by which op, from what beginning on, whether a term may
come twice, whether the order shows in the result, what becomes of NaN, whether a place comes along.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from windlass.ir.core import Op, Region
from windlass.ir.types import NUMPY_DTYPES, TensorType, tensor_type
from windlass.ir.values import Value
from windlass.ops.base import Array
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert, ReducePrecision
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, And, Multiply, Not, Or, Select, Subtract, Xor
from windlass.ops.evaluation import evaluate_block
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.regions import make_region
from windlass.ops.sampling import Draw

Combiner: TypeAlias = "type[Add | Multiply | Minimum | Maximum | And | Or | Xor]"

NAMES: dict[str, Combiner] = {
    "add": Add,
    "mul": Multiply,
    "min": Minimum,
    "max": Maximum,
    "and": And,
    "or": Or,
    "xor": Xor,
}
"""As CUDA calls them. All are associative and commutative, but for the rounding of floats."""

COMBINERS: tuple[Combiner, ...] = tuple(NAMES.values())

EXTREMES = (Maximum, Minimum)

IDEMPOTENT = (Maximum, Minimum, And, Or)
"""A term may be there twice."""


def combiner_named(kind: str) -> Combiner | None:
    """The op of an atomic or collective operation: those on floats and on unsigned numbers begin with f and u.

    >>> combiner_named("umin").__name__, combiner_named("fsub").__name__, combiner_named("exchange")
    ('Minimum', 'Add', None)
    """
    return NAMES.get(kind.removeprefix("f").removeprefix("u").replace("sub", "add"))


def name_of(combiner: Combiner) -> str:
    """What CUDA calls the op.

    >>> name_of(Minimum)
    'min'
    """
    return next(name for name, each in NAMES.items() if each is combiner)


def extreme_kept(direction: str) -> type[Minimum | Maximum]:
    """What is kept by `x direction kept ? x : kept`.

    >>> extreme_kept("LT").__name__
    'Minimum'
    """
    return Minimum if direction in ("LT", "LE") else Maximum


def is_order_free(combiner: type[Op] | None, type_: TensorType) -> bool:
    """Whether terms of this type give the same bits in any order."""
    return combiner in IDEMPOTENT or (combiner in COMBINERS and (type_.is_integer or type_.is_boolean))


# -- where folds begin ------------------------------------------------------------------------------------------------


def identity_of(combiner: type[Op], dtype: str) -> Any:
    """The number that leaves others unchanged under an op: 0 for Add, -inf for Maximum.

    Raises KeyError where the op has no such number.
    """
    numpy_dtype = NUMPY_DTYPES[dtype]
    if dtype == "i1":
        least, most = False, True
    elif numpy_dtype.kind in "iu":
        least, most = int(np.iinfo(numpy_dtype).min), int(np.iinfo(numpy_dtype).max)
    elif numpy_dtype.kind == "c":
        least, most = complex(-np.inf), complex(np.inf)
    else:
        least, most = -np.inf, np.inf
    all_bits = True if dtype == "i1" else (-1 if dtype.startswith("i") else most)
    identities: dict[type[Op], Any] = {
        Add: 0,
        Multiply: 1,
        Maximum: least,
        Minimum: most,
        Or: 0,
        Xor: 0,
        And: all_bits,
    }
    return np.array(identities[combiner]).astype(numpy_dtype)[()]


def neutral_of(combiner: type[Op], dtype: str) -> Any:
    """The identity that keeps the signs of zeros, too: -0.0 for sums of floats, of which 0.0 makes 0.0.

    >>> neutral_of(Add, "f32"), neutral_of(Maximum, "f32")
    (-0.0, np.float32(-inf))
    """
    if combiner is Add and NUMPY_DTYPES[dtype].kind not in "iub":
        return complex(-0.0, -0.0) if dtype.startswith("complex") else -0.0
    return identity_of(combiner, dtype)


def is_identity(init: Value, combiner: type[Op] | None) -> bool:
    """Whether a fold's initial value is a constant that leaves others unchanged, but for the signs of zeros."""
    if not isinstance(init, Constant) or combiner not in COMBINERS:
        return False
    return bool(init.number == identity_of(combiner, init.dtype))


# -- regions ----------------------------------------------------------------------------------------------------------


def combiner_region(combiner: Callable[[Value, Value], Value], dtype: str) -> Region:
    """The region of a reduction of one tensor by a binary op, such as `Add`."""
    return make_region([tensor_type((), dtype)] * 2, combiner)


def scattering_region(combiner: Callable[[Value, Value], Value] | None, dtype: str) -> Region:
    """What a scatter does with an old and a new value: combine them, or forget the old one."""
    return combiner_region(combiner or (lambda _, new: new), dtype)


def combiner_of(region: Region) -> type[Op] | None:
    """The class of the one op that the region applies to its two scalar parameters, if that is all it does.

    A rounding to the type that the result has anyway does not count: `lowering.library_fusions` writes it.

    >>> combiner_of(combiner_region(Add, "f32")).__name__
    'Add'
    >>> combiner_of(combiner_region(lambda x, y: ReducePrecision.to_own_type(Add(x, y)), "f32")).__name__
    'Add'
    """
    if len(region.blocks) != 1:
        return None
    block = region.blocks[0]
    op = block.first
    if op is None or len(block.arguments) != 2 or op.regions:
        return None
    last = op.next
    if isinstance(last, ReducePrecision) and last.is_identity and last.operands == (op,):
        returned, last = last, last.next
    else:
        returned = op
    if last is not block.last or block.terminator.operands != (returned,):
        return None
    first, second = block.arguments
    straight = op.operands == (first, second)
    crossed = op.operands == (second, first) and op.is_commutative
    # A body may convert or compare: only an op that takes and gives the same type combines.
    return type(op) if (straight or crossed) and op.type is first.type is second.type else None


def combiners_of(region: Region) -> tuple[type[Op] | None, ...]:
    """For each value that a reducer gives, the op that combines the parameters for it and sees no others.

    `fmin` and `fmax` are Minimum and Maximum here.

    >>> region = sample_reducer(Draw(lambda low, high: low), ["f32", "i32"])
    >>> [combiner.__name__ for combiner in combiners_of(region)]
    ['Add', 'Add']
    """
    arguments, values = region.block.arguments, region.block.terminator.operands
    pairs = zip(arguments[: len(values)], arguments[len(values) :], values, strict=True)
    return tuple(_combiner_of_value(value, left, right) for left, right, value in pairs)


def _combiner_of_value(value: Value, left: Value, right: Value) -> type[Op] | None:
    if not isinstance(value, Op) or value.type is not left.type:
        return None
    if value.operands == (left, right) or (value.operands == (right, left) and value.is_commutative):
        return type(value)
    step = read_step(value)
    return step[0].combiner if step is not None and set(step[1:]) == {left, right} else None


def selecting_region(dtypes: Sequence[str], direction: str) -> Region:
    """A body that takes, of two rows of numbers, that whose first number compares so to the other's."""
    count = len(dtypes)

    def choose(*values: Value) -> tuple[Value, ...]:
        is_left = Compare(values[0], values[count], direction)
        return tuple(Select(is_left, *pair) for pair in zip(values[:count], values[count:], strict=True))

    return make_region([tensor_type((), dtype) for dtype in (*dtypes, *dtypes)], choose)


def find_selection(region: Region) -> str | None:
    """How numbers compare that a body as of `selecting_region` takes.

    >>> find_selection(selecting_region(["f32", "i32"], "GE"))
    'GE'
    """
    values, arguments = region.block.terminator.operands, region.block.arguments
    first = values[0]
    if not isinstance(first, Select) or not isinstance(first.pred, Compare):
        return None
    test, count = first.pred, len(values)
    if test.operands != (arguments[0], arguments[count]) or test.compare_type is not None:
        return None
    for value, left, right in zip(values, arguments[:count], arguments[count:], strict=True):
        if not isinstance(value, Select) or value.operands != (test, left, right):
            return None
    return test.direction


CHOICES = (And, Compare, Maximum, Minimum, Not, Or, Select, Xor)
"""What these make of their operands is decided by the operands' order alone, NaN apart."""


def choosing_region(dtype: str, index: str, direction: str) -> Region:
    """The body of jnp.argmax (GT) and jnp.argmin (LT)."""

    def choose(a: Value, i: Value, b: Value, j: Value) -> tuple[Value, Value]:
        better: Value = Compare(a, b, direction)
        if a.tensor.is_float:
            better = Or(better, Compare(a, a, "NE"))
        first = Or(better, And(Compare(a, b, "EQ"), Compare(i, j, "LT")))
        return Select(better, a, b), Select(first, i, j)

    return make_region([tensor_type((), each) for each in (dtype, index, dtype, index)], choose)


def find_choice(region: Region) -> type[Maximum] | type[Minimum] | None:
    """Maximum or Minimum where the region takes the larger or smaller of two numbers with its index, first one first.

    It has to consist of comparisons and choices. These see no more of numbers than their order, so it is tried on
    numbers in all orders.

    >>> find_choice(choosing_region("f32", "i32", "LT")).__name__
    'Minimum'
    """
    block = region.block
    if len(block.arguments) != 4 or any(
        not isinstance(op, CHOICES) or (isinstance(op, Compare) and op.compare_type == "TOTALORDER")
        for op in block
        if op is not block.last
    ):
        return None
    number, index = (block.arguments[place].tensor for place in (0, 1))
    if not (number.is_float or number.is_integer) or not index.is_integer:
        return None
    numbers = [-1, 0, 1] if number.is_integer else [-np.inf, -1, 0, 1, np.inf, np.nan]
    if number.dtype.startswith("ui"):
        numbers = [0, 1, 2]
    a, b, i, j = (
        np.array(column)
        for column in zip(
            *((a, b, i, j) for a in numbers for b in numbers for i in range(3) for j in range(i, 3)), strict=True
        )
    )
    given = [a.astype(number.numpy_dtype), i.astype(index.numpy_dtype)]
    given += [b.astype(number.numpy_dtype), j.astype(index.numpy_dtype)]
    _, found = evaluate_block(block, given)
    for combiner, larger in ((Maximum, b > a), (Minimum, b < a)):
        second = larger | (np.isnan(b) & ~np.isnan(a)) if number.is_float else larger
        second = second & ~np.isnan(a) if number.is_float else second
        if np.array_equal(np.where(second, j, i), found):
            return combiner
    return None


def find_extreme(region: Region) -> type[Maximum] | type[Minimum] | None:
    """Maximum or Minimum where the region gives that of two floats neither of which is NaN: fmax and fmin.

    As for `find_choice`, it is tried on numbers in all orders.

    >>> def fmax(a: Value, b: Value) -> Value:
    ...     return Select(Compare(a, a, "NE"), b, Select(Compare(b, b, "NE"), a, Maximum(a, b)))
    >>> find_extreme(combiner_region(fmax, "f32")).__name__
    'Maximum'
    """
    block = region.block
    if len(block.arguments) != 2 or any(
        not isinstance(op, CHOICES) or (isinstance(op, Compare) and op.compare_type == "TOTALORDER")
        for op in block
        if op is not block.last
    ):
        return None
    number = block.arguments[0].tensor
    if not number.is_float:
        return None
    numbers = np.array([-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf], number.numpy_dtype)
    given = [each.ravel() for each in np.meshgrid(numbers, numbers)]
    (found,) = evaluate_block(block, given)
    for combiner in (Maximum, Minimum):
        (wanted,) = evaluate_block(combiner_region(combiner, number.dtype).block, given)
        if np.array_equal(wanted, found) and np.array_equal(np.signbit(wanted), np.signbit(found)):
            return combiner
    return None


def sample_reducer(draw: Draw, dtypes: list[str]) -> Region:
    """A reducer that is associative and commutative; two inputs get the maximum of the first and the sum of the second,
    or each its own op."""
    choices = (Or, And) if set(dtypes) == {"i1"} else (Add, Maximum, Minimum, Multiply)
    combiners = [draw.choose((Or, And) if dtype == "i1" else choices) for dtype in dtypes]
    scalars = [tensor_type((), dtype) for dtype in dtypes]

    def body(*values: Value) -> tuple[Value, ...]:
        count = len(dtypes)
        pairs = zip(combiners, values[:count], values[count:], strict=True)
        return tuple(combiner(left, right) for combiner, left, right in pairs)

    return make_region([*scalars, *scalars], body)


# -- steps of a fold --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FoldKind:
    """A combiner on numbers of a type, one object each: see `the_kind`.

    With `prefers_numbers` it is `fmin` or `fmax`: of NaN and a number the number.
    """

    combiner: Combiner
    dtype: str
    prefers_numbers: bool = False

    @property
    def name(self) -> str:
        """What CUDA calls the operation; "fminimum" and "fmaximum" are, as in LLVM, those through which NaN spreads.

        >>> [the_kind(Maximum, dtype).name for dtype in ("i32", "ui32", "f32")], the_kind(Maximum, "f32", True).name
        (['max', 'umax', 'fmaximum'], 'fmax')
        """
        name, is_extreme = name_of(self.combiner), self.combiner in EXTREMES
        if NUMPY_DTYPES[self.dtype].kind not in "iub":
            return f"f{name}imum" if is_extreme and not self.prefers_numbers else "f" + name
        return "u" + name if is_extreme and self.dtype.startswith("u") else name

    @property
    def is_idempotent(self) -> bool:
        """Whether a term may be combined in more than once."""
        return self.combiner in IDEMPOTENT

    @property
    def may_be_seeded(self) -> bool:
        """Whether an identity leaves a trace: 0.0 + -0.0 is 0.0, and fmax(-inf, NaN) is -inf."""
        return self.prefers_numbers or (self.combiner is Add and NUMPY_DTYPES[self.dtype].kind not in "iub")

    def identity(self, is_seeded: bool) -> Any:
        """Where a fold begins: with what leaves no trace, or with what does so where that was combined in."""
        if is_seeded:
            return identity_of(self.combiner, self.dtype)
        # NaN gives way to all numbers.
        return float("nan") if self.prefers_numbers else neutral_of(self.combiner, self.dtype)

    def combine(self, left: Value, right: Value) -> Value:
        """The op on tensors."""
        if self.prefers_numbers:
            return extreme_of_numbers(self.combiner, left, right)
        return self.combiner(left, right)

    def is_neutral(self, numbers: Array) -> Array:
        """Which numbers change nothing else."""
        found = identity_of(self.combiner, self.dtype)
        return numbers == found if found.dtype.kind not in "iu" else numbers.view(found.dtype) == found

    def combine_numbers(self, left: Array, right: Array) -> Array:
        """What the op gives for two numbers, which may be signless."""
        region = combiner_region(self.combine, self.dtype)
        given = [np.asarray(each).view(NUMPY_DTYPES[self.dtype]) for each in (left, right)]
        (found,) = evaluate_block(region.block, given)
        return np.asarray(found).view(np.asarray(left).dtype)


def kind_named(name: str, dtype: str) -> FoldKind:
    """The kind of that `name` on numbers of a type, which may be signless.

    >>> kind_named("umax", "i32") is the_kind(Maximum, "ui32"), kind_named("fmaximum", "f32").prefers_numbers
    (True, False)
    """
    combiner = combiner_named(name.removesuffix("imum"))
    assert combiner is not None, name
    is_extreme_of_floats = combiner in EXTREMES and name.startswith("f")
    unsigned = "u" if name.startswith("u") else ""
    return the_kind(combiner, unsigned + dtype, is_extreme_of_floats and not name.endswith("imum"))


def the_kind(combiner: Combiner, dtype: str, prefers_numbers: bool = False) -> FoldKind:
    """The one object that stands for a kind."""
    return _the_kind(combiner, dtype, prefers_numbers)


@functools.cache
def _the_kind(combiner: Combiner, dtype: str, prefers_numbers: bool) -> FoldKind:
    # A cache takes a default that is spelled out for another call.
    return FoldKind(combiner, dtype, prefers_numbers)


def read_step(op: Value) -> tuple[FoldKind, Value, Value] | None:
    """What an op of two numbers folds by, and the two; None for what folds nothing, and for ops of booleans."""
    if isinstance(op, Select):
        found = find_extreme_of_numbers(op)
        return None if found is None else (the_kind(found[0], op.dtype, True), *found[1:])
    combiner = next((each for each in COMBINERS if type(op) is each), None)
    if combiner is None or op.tensor.is_boolean or op.tensor.is_complex:
        return None
    assert isinstance(op, Op)
    left, right = op.operands
    return the_kind(combiner, op.dtype), left, right


def extreme_of_numbers(extreme: Combiner, left: Value, right: Value) -> Value:
    """`fmin` or `fmax` of two values, by `Minimum` or `Maximum` and two tests for NaN."""
    return prefer_numbers(extreme(left, right), left, right)


def prefer_numbers(found: Value, left: Value, right: Value) -> Value:
    """What was found of two values, but one of them where the other is NaN."""
    found = Select(Compare(right, right, "NE"), left, found)
    return Select(Compare(left, left, "NE"), right, found)


def find_extreme_of_numbers(op: Value) -> tuple[type[Minimum | Maximum], Value, Value] | None:
    """`fmin` or `fmax` of two values as `extreme_of_numbers` spells it; None for anything else.

    Constants need no test for NaN where they are numbers.
    """
    instead: dict[Value, Value] = {}
    current = op
    while isinstance(current, Select):
        test = current.pred
        if not isinstance(test, Compare) or test.direction != "NE" or test.lhs is not test.rhs:
            return None
        instead.setdefault(test.lhs, current.on_true)
        current = current.on_false
    if not isinstance(current, Maximum | Minimum) or not instead or not current.tensor.is_float:
        return None
    left, right = current.operands
    if not instead.keys() <= {left, right}:
        return None
    for one, other in ((left, right), (right, left)):
        if instead.get(one, other) is not other or not (one in instead or _is_number(one)):
            return None
    return type(current), left, right


def _is_number(value: Value) -> bool:
    """Whether a float is known not to be NaN."""
    return isinstance(value, Constant) and value.is_splat and value.number == value.number


# -- chains of steps --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chain:
    """A value combined with terms, last ones first, by one op in one type; from sums others may be subtracted.

    `steps` are the values on the way from the new one to the old.
    """

    combiner: Combiner
    dtype: str
    terms: tuple[Value, ...]
    subtracted: tuple[Value, ...]
    steps: tuple[Value, ...]


def find_chain(new: Value, old: Value, depends: Callable[[Value], bool]) -> Chain | None:
    """How `new` combines `old` with terms that don't depend on it; None if it does anything else.

    `depends` says whether a value depends on the old one. Bits may be taken for another type in between.

    >>> from windlass.ir.values import tensor
    >>> old, x, y = (tensor("f32", name=name) for name in ("old", "x", "y"))
    >>> chain = find_chain(Add(x, Subtract(old, y)), old, lambda value: value not in (x, y))
    >>> chain.combiner.__name__, chain.terms, chain.subtracted
    ('Add', (x,), (y,))
    """
    kinds: set[tuple[Combiner, str]] = set()
    terms: list[Value] = []
    subtracted: list[Value] = []
    steps: list[Value] = []
    current = new
    while current is not old:
        steps.append(current)
        if isinstance(current, BitcastConvert):
            current = current.operand
            continue
        is_difference = isinstance(current, Subtract)
        combiner = Add if is_difference else next((each for each in COMBINERS if type(current) is each), None)
        if combiner is None:
            return None
        assert isinstance(current, Op)
        left, right = current.operands
        if depends(right) and not is_difference:
            left, right = right, left
        if depends(right) or not depends(left):
            return None
        # Only the order of numbers tells unsigned ones from others.
        kinds.add((combiner, current.dtype if combiner in EXTREMES else current.dtype.removeprefix("u")))
        if len(kinds) > 1:
            return None
        (subtracted if is_difference else terms).append(right)
        current = left
    return Chain(*kinds.pop(), tuple(terms), tuple(subtracted), tuple(steps)) if kinds else None


def bits_of(value: Value) -> Value:
    """The value whose bits these are."""
    while isinstance(value, BitcastConvert):
        value = value.operand
    return value
