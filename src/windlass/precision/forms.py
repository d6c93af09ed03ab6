"""How ops are computed on limbs: the forms that op classes name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from windlass.ir import Value
from windlass.ops import (
    Add,
    And,
    Case,
    Compare,
    Constant,
    Convert,
    Fma,
    If,
    Iota,
    Multiply,
    Negate,
    Power,
    Reduce,
    ReduceWindow,
    ReplicaId,
    Scatter,
    Sort,
    While,
    bit_width,
)
from windlass.ops.base import BroadcastInDim, TensorOp
from windlass.precision import conversions
from windlass.precision.arithmetic import Arithmetic, limbs_of, splat_number
from windlass.precision.folds import fold_by_halves
from windlass.precision.functions import Functions
from windlass.precision.products import convolve, multiply_matrices
from windlass.precision.spreading import Spread, Spreader, form, no_form

# -- elementwise ------------------------------------------------------------------------------------------------------

ARITHMETIC: dict[str, Callable[..., Spread]] = {
    "abs": Arithmetic.abs,
    "add": Arithmetic.add,
    "ceil": Arithmetic.ceil,
    "clamp": Arithmetic.clamp,
    "divide": Arithmetic.divide,
    "floor": Arithmetic.floor,
    "maximum": Arithmetic.maximum,
    "minimum": Arithmetic.minimum,
    "multiply": Arithmetic.multiply,
    "negate": Arithmetic.negate,
    "round_nearest_away": Arithmetic.round_nearest_away,
    "round_nearest_even": Arithmetic.round_nearest_even,
    "sqrt": Arithmetic.sqrt,
    "square": lambda a, x: a.multiply(x, x),
    "subtract": Arithmetic.subtract,
}

FUNCTIONS: dict[str, Callable[..., Spread]] = {
    "acos": Functions.acos,
    "acosh": Functions.acosh,
    "asin": Functions.asin,
    "asinh": Functions.asinh,
    "atan": Functions.atan,
    "atan2": Functions.atan2,
    "atanh": Functions.atanh,
    "cbrt": Functions.cbrt,
    "cosh": Functions.cosh,
    "copy_sign": Functions.copy_sign,
    "cosine": Functions.cos,
    "exponential": Functions.exp,
    "exponential_base_10": Functions.exp10,
    "exponential_base_2": Functions.exp2,
    "exponential_minus_one": Functions.expm1,
    "hypot": Functions.hypot,
    "log": Functions.log,
    "log_base_10": Functions.log10,
    "log_base_2": Functions.log2,
    "log_plus_one": Functions.log1p,
    "logistic": Functions.logistic,
    "remainder": Functions.remainder,
    "rsqrt": Functions.rsqrt,
    "sine": Functions.sin,
    "sinh": Functions.sinh,
    "tan": Functions.tan,
    "tanh": Functions.tanh,
}


def _enter_elementwise(name: str, function: Callable[..., Spread], of: str) -> None:
    @form(name)
    def compute(spreader: Spreader, op: TensorOp) -> Sequence[Spread]:
        return (function(getattr(spreader, of), *map(spreader.number, op.operands)),)

    del compute


for _name, _function in ARITHMETIC.items():
    _enter_elementwise(_name, _function, "arithmetic")
for _name, _function in FUNCTIONS.items():
    _enter_elementwise(_name, _function, "functions")


@form("compare")
def compare(spreader: Spreader, op: Compare) -> Sequence[Spread]:
    """By the first limbs that differ."""
    left, right = map(spreader.number, op.operands)
    return (spreader.arithmetic.compare(left, right, op.direction, op.compare_type),)


@form("fma")
def multiply_and_add(spreader: Spreader, op: Fma) -> Sequence[Spread]:
    """A product with a limb more, and a sum."""
    x, y, z = map(spreader.number, op.operands)
    a = spreader.arithmetic
    return (a.add(a.multiply(x, y), z),)


@form("power")
def power(spreader: Spreader, op: Power) -> Sequence[Spread]:
    """Small integers as exponents are products."""
    x, y = map(spreader.number, op.operands)
    exponent = splat_number(op.rhs)
    if exponent is not None and exponent == int(exponent) and abs(exponent) <= MOST_PRODUCTS:
        return (spreader.functions.integer_power(x, int(exponent)),)
    return (spreader.functions.power(x, y),)


MOST_PRODUCTS = 4


# -- making and converting --------------------------------------------------------------------------------------------


@form("constant")
def constant(spreader: Spreader, op: Constant) -> Sequence[Spread]:
    """Limbs of the numbers."""
    limbs, shape = spreader.limbs, op.shape
    if op.is_splat:
        return (tuple(Constant.of(limb, limbs.dtype, shape) for limb in limbs_of(float(op.number), limbs)),)
    rest = op.array.astype(np.float64)
    found: list[Value] = []
    narrow = np.dtype({"f32": np.float32, "f64": np.float64}[limbs.dtype])
    with np.errstate(all="ignore"):
        for _ in range(limbs.count):
            limb = rest.astype(narrow)
            found.append(Constant.of(limb, limbs.dtype))
            rest = np.where(np.isfinite(limb), rest - limb, 0)
            if not rest.any():
                break
    return (tuple(found),)


@form("iota")
def iota(spreader: Spreader, op: Iota) -> Sequence[Spread]:
    """Exact in one limb, or counted in integers."""
    limbs = spreader.limbs
    if op.shape[op.iota_dimension] <= 1 << limbs.format.digits:
        return ((Iota(op.shape, limbs.dtype, op.iota_dimension),),)
    return (conversions.from_integer(spreader.arithmetic, Iota(op.shape, "i64", op.iota_dimension)),)


@form("convert")
def convert(spreader: Spreader, op: Convert) -> Sequence[Spread]:
    """From a float of the limbs' type or less: one limb. To such a float: the first limb."""
    a, limbs, source, target = spreader.arithmetic, spreader.limbs, op.operand, op.dtype
    if spreader.is_wide(source):
        x = spreader.number(source)
        if target == limbs.wide:
            return (x,)
        if op.tensor.is_boolean:
            return (conversions.to_boolean(x),)
        if op.tensor.is_integer:
            return (conversions.to_integer(a, x, target),)
        if op.tensor.is_float:
            if bit_width(target) > bit_width(limbs.dtype):
                return (conversions.join_wide(a, x, target),)
            return (x[0] if target == limbs.dtype else Convert(x[0], target),)
        raise no_form(op, limbs)
    if source.tensor.is_complex:
        raise no_form(op, limbs)
    return (conversions.to_number(a, spreader.value(source)),)


# -- movement ---------------------------------------------------------------------------------------------------------


@form("each")
def each_limb(spreader: Spreader, op: TensorOp) -> Sequence[Spread]:
    """The op on first limbs, on second limbs, and so on. What is no wide float is the same for each."""
    wide = [spreader.number(operand) for operand in op.operands if spreader.is_wide(operand)]
    count = max(map(len, wide))
    made: list[tuple[Value, ...]] = []
    for place in range(count):
        operands = [
            spreader.arithmetic.padded(spreader.number(operand), count)[place]
            if spreader.is_wide(operand)
            else spreader.value(operand)
            for operand in op.operands
        ]
        made.append(op.with_operands(tuple(operands)).results)
    return [
        tuple(results[index] for results in made) if spreader.is_wide(result) else made[0][index]
        for index, result in enumerate(op.results)
    ]


@form("first")
def first_limb(spreader: Spreader, op: TensorOp) -> Sequence[Spread]:
    """The op on the first limb alone, which tells: its sign, whether it is infinite."""
    made = op.with_operands(tuple(spreader.number(operand)[0] for operand in op.operands))
    return ((made,) if spreader.is_wide(op) else made,)


# -- regions ----------------------------------------------------------------------------------------------------------


@form("while")
def loop(spreader: Spreader, op: While) -> Sequence[Spread]:
    """The loop carries all limbs."""
    made = While(spreader.region(op.cond), spreader.region(op.body), spreader.flat(op.operands))
    return spreader.grouped(op.results, made.results)


@form("branches")
def choose(spreader: Spreader, op: If | Case) -> Sequence[Spread]:
    """Branches give all limbs."""
    regions = tuple(map(spreader.region, op.regions))
    chosen = spreader.value(op.operands[0])
    made = If(chosen, *regions) if isinstance(op, If) else Case(chosen, regions)
    return spreader.grouped(op.results, made.results)


@form("combine")
def combine(spreader: Spreader, op: Scatter | ReduceWindow) -> Sequence[Spread]:
    """The op on all limbs together: what combines two numbers combines their limbs."""
    region = op.region_names[0]
    fields: dict[str, Any] = op.field_values() | {region: spreader.region(op.regions[0], is_combiner=True)}
    for name in ("inputs", "updates", "init_values"):
        if name in fields:
            fields[name] = spreader.flat(fields[name])
    if isinstance(op, Scatter):
        fields["inputs"] = _told_apart(fields["inputs"])
        fields["scatter_indices"] = spreader.value(op.scatter_indices)
    made = type(op)(**fields)
    return spreader.grouped(op.results, made.results)


def _told_apart(inputs: tuple[Value, ...]) -> tuple[Value, ...]:
    """The inputs of a scatter, no two of which XLA finds to be the same: it would give them one buffer.

    So a constant beside another one gets a -0.0 added that is known at run time only.
    """
    found: list[Value] = []
    for value in inputs:
        if not any(each is value or isinstance(value, Constant) for each in found) or not value.tensor.is_float:
            found.append(value)
            continue
        number = ReplicaId()
        one = Constant.of(1, "ui32")
        nothing = Negate(Convert(And(Multiply(number, Add(number, one)), one), value.dtype))
        found.append(Add(value, BroadcastInDim(nothing, value.shape, ())))
    return tuple(found)


@form("sort")
def sort(spreader: Spreader, op: Sort) -> Sequence[Spread]:
    """All limbs are sorted together."""
    # Of each input left and right come in turn, and so of each limb.
    order: list[int] = []
    for value in op.inputs:
        count = spreader.limbs.count if spreader.is_wide(value) else 1
        first = len(order)
        order += [first + limb + side * count for limb in range(count) for side in range(2)]
    comparator = spreader.region(op.comparator, order, is_combiner=True)
    made = Sort(spreader.flat(op.inputs), comparator, op.dimension, op.is_stable)
    return spreader.grouped(op.results, made.results)


@form("fold")
def fold(spreader: Spreader, op: Reduce) -> Sequence[Spread]:
    """A tree: halves are combined until one is left."""
    return fold_by_halves(spreader, op)


# -- products ---------------------------------------------------------------------------------------------------------

form("dot")(multiply_matrices)
form("convolution")(convolve)
