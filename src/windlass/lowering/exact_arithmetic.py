"""Keeping XLA from changing float results.

XLA's CPU compiler contracts a multiplication and an addition into one operation that rounds once, and XLA's algebraic
simplifier (on every device) turns divisions by constants into multiplications, merges constants across operations, and
rewrites quotients of quotients, square roots and exponentials. There are no compile options against it that a
program inside someone else's `jax.jit` could set (docs/decisions/0005-float-results.md). Two forms stop it (what
`special_values` does for every program comes later):

* A sum with a negative zero that the compiler can't see through: `a * b + z` may be contracted to `fma(a, b, z)`, which
  is exactly the rounded product, and what follows is then no sum with a product. On hardware with fused operations it
  costs nothing.
* A constant plus such a zero is the same number, but not a constant that could be folded.

XLA's GPU compiler contracts nothing, but gives quotients and roots of float32 within 2 units in the last place
(`div.full.f32`), and leaves out a rounding to a narrower float and back. There they are computed in float64 and rounded
once; and a rounding is said once more, by an op that XLA keeps.

The zero is made from a value that is known at run time only, the number m of the replica, in a way that always gives
-0.0: m·(m+1) mod 2 is 0, which no compiler proves. (An argument of the program would not do: inside a user's program it
may be a constant, and reading an array that is updated in place would make XLA copy it.)
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator

import numpy as np

from windlass.facts.cost import Device
from windlass.facts.decisions import find_deciding
from windlass.facts.ranges import range_of
from windlass.ir import Argument, Block, Builder, Function, Op, Result, TensorType, Value
from windlass.ops import (
    Abs,
    Add,
    And,
    BitcastConvert,
    BroadcastInDim,
    Case,
    Compare,
    Concatenate,
    Constant,
    Convert,
    Divide,
    DynamicSlice,
    Exponential,
    Gather,
    If,
    Iota,
    Log,
    Multiply,
    Negate,
    Opaque,
    Or,
    Pad,
    Power,
    Reduce,
    ReducePrecision,
    ReplicaId,
    Reshape,
    Return,
    Reverse,
    Rsqrt,
    Scatter,
    Select,
    Slice,
    Sqrt,
    Subtract,
    Transpose,
    While,
    bit_width,
)
from windlass.ops.combiners import combiner_of
from windlass.ops.shardings import MANUAL
from windlass.ops.special_functions import ErfInv, Lgamma, Square

PROTECTED = frozenset({"f16", "bf16", "f32", "f64"})

CARRIERS: tuple[type[Op], ...] = (
    Abs,
    BroadcastInDim,
    Concatenate,
    DynamicSlice,
    Negate,
    Pad,
    Reshape,
    Reverse,
    Select,
    Slice,
    Transpose,
)
"""Ops that hand a value on (up to its sign): once loops are fused, a product behind them meets the sum after them."""

QUOTIENT_RISKS: tuple[type[Op], ...] = (Divide, Sqrt, Rsqrt, Exponential, Power)
PRODUCT_RISKS: tuple[type[Op], ...] = (Exponential,)
LOGARITHM_RISKS: tuple[type[Op], ...] = (Exponential, Power, Sqrt, Rsqrt)
POWER_RISKS: tuple[type[Op], ...] = (Exponential, Multiply, Square, Power, Sqrt, Rsqrt)

WIDENED = frozenset({"bf16", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2", "f8E5M2FNUZ"})
"""Types that XLA:CPU computes in a wider one. It then rounds, unless it is the wider one that is asked for."""
NOT_COMPUTED: tuple[type[Op], ...] = (BitcastConvert, Constant, Convert, DynamicSlice, Gather, Iota)
"""Ops after which XLA rounds, or need not."""

SMALLEST_NORMAL = 2.0**-126
"""Of float32 and bfloat16."""
_SMALLEST_SAFE = {"f32": SMALLEST_NORMAL, "bf16": SMALLEST_NORMAL, "f64": 2.0**-1022}

SIGN_BITS = {16: 1 << 15, 32: 1 << 31, 64: 1 << 63}


def keep_float_results(function: Function, device: Device) -> None:
    """Put the function, in place, into a form in which XLA, for the device, keeps each float operation as written."""
    _protect_block(function.body, _Zeros(function.body, device), is_entry=True)


def keep_decisions(function: Function, device: Device) -> None:
    """The same for the operations that decide (see `windlass.facts.decisions`): others are left to XLA."""
    deciding = find_deciding(function.body)
    if deciding:
        _protect_block(function.body, _Zeros(function.body, device, only=deciding), is_entry=True)


class _Zeros:
    """Negative zeros that no compiler sees through, one for each element type, made when first needed."""

    def __init__(
        self,
        block: Block,
        device: Device,
        passed: dict[str, Value] | None = None,
        only: Container[Value] | None = None,
    ) -> None:
        self.block = block
        self.device = device
        self.only = only
        """The ops that are protected; None: all."""
        self.made: dict[str, Value] = passed or {}
        self.bit: Op | None = None
        self.guards: set[Op] = set()
        """Sums with a zero that were put in."""
        self.constants: dict[Value, bool] = {}
        """Whether XLA can compute a value before the program runs, as far as that was asked."""

    def protects(self, op: Op) -> bool:
        """Whether the op is to be protected."""
        return self.only is None or op in self.only

    def of(self, dtype: str) -> Value:
        """The zero as a scalar of the element type, at the start of the block."""
        found = self.made.get(dtype)
        if found is None:
            width = bit_width(dtype)
            with Builder(self.block, before=self.block.first if self.bit is None else self.bit.next):
                if self.bit is None:
                    self.bit = _even_bit()
                bit = self.bit if width == 32 else Convert(self.bit, f"ui{width}")
                word = Or(bit, Constant.of(SIGN_BITS[width], f"ui{width}"))
                found = self.made[dtype] = BitcastConvert(word, dtype)
        return found

    def mask(self, width: int) -> Value:
        """Zero bits that no compiler knows to be zero, as an unsigned integer."""
        name = f"ui{width}"
        found = self.made.get(name)
        if found is None:
            self.of("f32")
            assert self.bit is not None
            with Builder(self.block, before=self.bit.next):
                found = self.made[name] = self.bit if width == 32 else Convert(self.bit, name)
        return found

    def beside(self, value: Value) -> Value:
        """The zero in the shape of a value, where the active builder is."""
        zero = self.of(value.dtype)
        return BroadcastInDim(zero, value.shape, ()) if value.shape else zero


def _even_bit() -> Op:
    """m·(m+1) mod 2, which is 0."""
    number = ReplicaId()
    one = Constant.of(1, "ui32")
    return And(Multiply(number, Add(number, one)), one)


def _protect_block(block: Block, zeros: _Zeros, is_entry: bool) -> None:
    # Nothing is known of the range of a zero that is put in, so ranges are asked for first.
    small = [
        op for op in block if isinstance(op, Log | Lgamma | Rsqrt) and zeros.protects(op) and _may_be_subnormal(op)
    ]
    for op in list(block):
        if isinstance(op, While):
            _protect_loop(op, zeros)
        elif isinstance(op, Case | If):
            for region in op.regions:
                # Branches take no arguments: they see the values around them.
                _protect_block(region.block, zeros, is_entry=False)
        elif isinstance(op, Opaque) and op.operation == MANUAL:
            for region in op.bodies:
                # It sees nothing of what is around it, and what it gives may be added to something there.
                _protect_block(region.block, _Zeros(region.block, zeros.device), is_entry=True)
        elif not zeros.protects(op):
            continue
        elif isinstance(op, Convert):
            _keep_rounding(op, zeros.device)
        elif isinstance(op, Scatter):
            _keep_sums_apart(op)
        elif isinstance(op.type, TensorType) and op.type.dtype in PROTECTED:
            _protect_op(op, zeros, is_entry)
    for op in small:
        _keep_subnormal_operand(op)


def _protect_op(op: Op, zeros: _Zeros, is_entry: bool) -> None:
    match op:
        case Multiply():
            _hide_constants(op, zeros)
            _guard_operands(op, PRODUCT_RISKS, zeros)
            if all(isinstance(_origin(each), Sqrt | Rsqrt) for each in op.operands):
                _guard_operands(op, (Sqrt, Rsqrt), zeros)
            if _meets_sum(op, set(), is_entry):
                _guard_result(op, zeros)
        case Square() | ErfInv():
            # What XLA makes of these ends with a product.
            if _meets_sum(op, set(), is_entry):
                _guard_result(op, zeros)
        case Divide():
            _hide_constants(op, zeros)
            _guard_operands(op, QUOTIENT_RISKS, zeros)
            _spread_divisor(op, zeros)
            _compute_in_double(op, zeros)
        case Sqrt():
            _compute_in_double(op, zeros)
        case Add() | Subtract():
            _hide_constants(op, zeros)
        case Log():
            _guard_operands(op, LOGARITHM_RISKS, zeros)
        case Power():
            _guard_operands(op, POWER_RISKS, zeros)
        case _:
            pass


def _protect_loop(loop: While, zeros: _Zeros) -> None:
    """Protect a loop's body, handing the zeros in as values that the loop carries unchanged."""
    computed = [
        op
        for op in loop.body.walk()
        if zeros.protects(op)
        and isinstance(op, Multiply | Square | ErfInv | Divide | Add | Subtract | Log | Power | Sqrt)
        and isinstance(op.type, TensorType)
        and op.type.dtype in PROTECTED
    ]
    if not computed:
        return
    touched = {op.dtype for op in computed}
    if zeros.device.name == "gpu" and any(isinstance(op, Divide | Sqrt) for op in computed):
        touched.add("f64")
    masks = {f"ui{bit_width(op.dtype)}" for op in computed if isinstance(op, Divide)}
    needed = [*sorted(touched), *sorted(masks)]
    outer = [zeros.mask(int(each[2:])) if each in masks else zeros.of(each) for each in needed]
    copies: dict[Value, Value] = {}
    cond, body = loop.cond.clone(copies), loop.body.clone(copies)
    only = None if zeros.only is None else {copy for op, copy in copies.items() if op in zeros.only}
    inner: dict[str, Value] = {}
    for dtype, zero in zip(needed, outer, strict=True):
        cond.block.add_argument(zero.type)
        inner[dtype] = body.block.add_argument(zero.type)
    old_return = body.block.terminator
    with Builder(body.block, before=old_return):
        Return((*old_return.operands, *inner.values()))
    old_return.erase()
    _protect_block(body.block, _Zeros(body.block, zeros.device, inner, only), is_entry=False)
    assert loop.block is not None
    with Builder(loop.block, before=loop, source=loop.source):
        protected = While(cond, body, (*loop.operands, *outer))
    protected.extra = loop.extra
    protected.made_by = loop.made_by
    for old, new in zip(loop.results, protected.results, strict=False):
        old.replace_all_uses_with(new)
    loop.erase()


def _meets_sum(value: Value, seen: set[int], is_entry: bool) -> bool:
    """Whether the value reaches a sum, or leaves the function or a region, through ops that hand it on."""
    for user in value.uses:
        if isinstance(user, Add | Subtract | Reduce | Case | If | Opaque) or (isinstance(user, Return) and is_entry):
            return True
        if isinstance(user, CARRIERS) and id(user) not in seen:
            seen.add(id(user))
            if _meets_sum(user, seen, is_entry):
                return True
    return False


def _guard_result(op: Op, zeros: _Zeros) -> None:
    """Let every user of the op take it with a zero added."""
    users = list(op.uses)
    assert op.block is not None
    zeros.of(op.dtype)
    with Builder(op.block, before=op.next, source=op.source):
        guarded = Add(op, zeros.beside(op))
    zeros.guards.add(guarded)
    for user in users:
        user.replace_operand(op, guarded)


def _guard_operands(op: Op, risks: tuple[type[Op], ...], zeros: _Zeros) -> None:
    """Add a zero to the operands that XLA would merge with the op."""
    assert op.block is not None
    for operand in dict.fromkeys(op.operands):
        if isinstance(_origin(operand), risks):
            zeros.of(operand.dtype)
            with Builder(op.block, before=op, source=op.source):
                op.replace_operand(operand, Add(operand, zeros.beside(operand)))


def _may_be_subnormal(op: Log | Lgamma | Rsqrt) -> bool:
    if op.dtype == "f64" and not isinstance(op, Lgamma):
        return False
    smallest = _SMALLEST_SAFE.get(op.dtype)
    return smallest is not None and range_of(op.operand).low < smallest


def _keep_subnormal_operand(op: Log | Lgamma | Rsqrt) -> None:
    """XLA takes what is smaller than the smallest normal float32 for that, or for 0: give it 2²⁴ times as much.

    The logarithm then grows by that of 2²⁴. That of the gamma function, which is -log |x| there, falls by it. One over
    the root is 2¹² times as much. Subnormal doubles are kept, but the gamma function's are multiplied by pi, which they
    are too coarse for: they are given 2⁶⁰ times as much.
    """
    operand, factor = op.operand, 2.0**60 if op.dtype == "f64" else 2.0**24
    users = list(op.uses)
    assert op.block is not None

    def filled(number: float) -> Value:
        return BroadcastInDim(Constant.of(number, op.dtype), op.shape, ())

    with Builder(op.block, before=op, source=op.source):
        size = operand if isinstance(op, Log) else Abs(operand)
        is_small = Compare(size, filled(_SMALLEST_SAFE[op.dtype]), "LT")
        op.replace_operand(operand, Select(is_small, Multiply(operand, filled(factor)), operand))
    with Builder(op.block, before=op.next, source=op.source):
        match op:
            case Log():
                changed: Value = Subtract(op, filled(math.log(factor)))
            case Lgamma():
                changed = Add(op, filled(math.log(factor)))
            case Rsqrt():
                changed = Multiply(op, filled(math.sqrt(factor)))
        kept = Select(is_small, changed, op)
    for user in users:
        user.replace_operand(op, kept)


def _keep_rounding(op: Convert, device: Device) -> None:
    """Have what is computed in a small type rounded to it before it becomes another float."""
    operand = op.operand
    dtype, source = operand.dtype, _moved(operand)
    if not (op.tensor.is_float and operand.tensor.is_float):
        return
    is_computed = dtype in WIDENED and not isinstance(source, (Argument, *NOT_COMPUTED))
    if device.name == "gpu":
        # That goes through a narrower type, too.
        is_narrowed = isinstance(source, Convert) and bit_width(source.operand.dtype) > bit_width(dtype)
        is_at_risk = (is_computed or is_narrowed) and bit_width(op.dtype) > bit_width(dtype)
    else:
        is_at_risk = is_computed
    if is_at_risk:
        assert op.block is not None
        with Builder(op.block, before=op, source=op.source):
            # XLA:CPU drops it where the type that it computes in is asked for: float32, and float16 for 8 bits.
            is_said_again = dtype == "bf16" or device.name == "gpu"
            same = ReducePrecision.to_own_type(operand) if is_said_again else Convert(operand, "f32")
        op.replace_operand(operand, same)


def _compute_in_double(op: Divide | Sqrt, zeros: _Zeros) -> None:
    """On GPUs: divide, or take the root, in float64, and round to float32, which gives float32's own result (Figueroa,
    "When is double rounding innocuous?", 1995), and then to what is smaller.

    LLVM would make the operation in float32 of it: a zero is added before it is rounded, through which it doesn't see.
    """
    if zeros.device.name != "gpu" or op.dtype == "f64":
        return
    users = list(op.uses)
    assert op.block is not None
    zeros.of("f64")
    with Builder(op.block, before=op.next, source=op.source):
        wide = [Convert(each, "f64") for each in op.operands]
        found = Divide(*wide) if isinstance(op, Divide) else Sqrt(*wide)
        rounded: Value = Convert(Add(found, zeros.beside(found)), "f32")
        if op.dtype != "f32":
            rounded = Convert(ReducePrecision.to_own_type(rounded), op.dtype)
    for user in users:
        user.replace_operand(op, rounded)
    op.erase()


def _keep_sums_apart(op: Scatter) -> None:
    """XLA adds to what updates are added to what should be added to the result. It doesn't where the updates' sum is
    rounded, to the type that it has anyway."""
    if combiner_of(op.update_computation) is not Add or op.results[0].dtype not in PROTECTED:
        return
    if _meets_sum(op.results[0], set(), is_entry=False):
        block = op.update_computation.block
        (returned,) = block.terminator.operands
        if not isinstance(returned, ReducePrecision):
            with Builder(block, before=block.last):
                block.terminator.replace_operand(returned, ReducePrecision.to_own_type(returned))


def _spread_divisor(op: Divide, zeros: _Zeros) -> None:
    """Make a divisor that is the same for many elements look different for each.

    XLA divides by it just once and multiplies. So bits of the dividend are mixed in, under a mask that is zero; where
    the dividend may turn out to be the same for many elements too, bits of their places.
    """
    dividend, divisor = op.operands
    if not op.shape or dividend is divisor or not isinstance(_moved(divisor), Constant | BroadcastInDim):
        return
    width = bit_width(op.dtype)
    mask = zeros.mask(width)
    assert op.block is not None
    with Builder(op.block, before=op, source=op.source):
        varied: Value = BitcastConvert(dividend, f"ui{width}")
        if _may_be_uniform(dividend, {}):
            varied = Reshape(Iota((math.prod(op.shape),), f"ui{width}", 0), op.shape)
        nothing = And(varied, BroadcastInDim(mask, op.shape, ()))
        spread = BitcastConvert(Or(nothing, BitcastConvert(divisor, f"ui{width}")), op.dtype)
    op.replace_operand(divisor, spread)


def _may_be_uniform(value: Value, known: dict[Value, bool]) -> bool:
    """Whether XLA might find that the value is the same for many elements: made of numbers that are broadcast."""
    found = known.get(value)
    if found is None:
        moved = _moved(value)
        source = moved.owner if isinstance(moved, Result) else moved
        if isinstance(source, Constant | BroadcastInDim | Reduce):
            found = True
        elif isinstance(source, Op) and source is moved and source.operands:
            same_shape = all(each.shape == source.shape for each in source.operands)
            found = same_shape and all(_may_be_uniform(each, known) for each in source.operands)
        else:
            found = False
        known[value] = found
    return found


def _hide_constants(op: Op, zeros: _Zeros) -> None:
    """Make constant operands unknown where XLA would fold them into a neighbour's, or replace the op."""
    assert op.block is not None
    lhs, rhs = op.operands
    for operand, other in ((lhs, rhs), (rhs, lhs)):
        number = _splat_number(operand)
        if number is None:
            if _is_constant(operand, zeros.constants) and _may_be_merged(op, other, zeros):
                zeros.of(op.dtype)
                with Builder(op.block, before=op, source=op.source):
                    op.replace_operand(operand, Add(operand, zeros.beside(operand)))
            continue
        if not _is_folded(op, operand is rhs, number, other, zeros):
            continue
        zeros.of(op.dtype)
        with Builder(op.block, before=op, source=op.source):
            zero = zeros.of(op.dtype)
            if number == 0:
                # XLA drops the addition of a constant zero: take the hidden one itself.
                hidden = zero if np.signbit(number) else Negate(zero)
            else:
                hidden = Add(Constant.of(number, op.dtype), zero)
            whole = BroadcastInDim(hidden, op.shape, ()) if op.shape else hidden
        op.replace_operand(operand, whole)


def _is_folded(op: Op, is_right: bool, number: float, other: Value, zeros: _Zeros) -> bool:
    mantissa = np.frexp(number)[0]
    if isinstance(op, Divide) and is_right:
        return not op.shape and abs(mantissa) != 0.5
    if number == 0 and (isinstance(op, Add) or (isinstance(op, Subtract) and is_right and np.signbit(number))):
        return True
    return _may_be_merged(op, other, zeros)


def _may_be_merged(op: Op, other: Value, zeros: _Zeros) -> bool:
    """Whether XLA might merge a constant operand, beside another one, with that of a neighbour."""
    if isinstance(op, Multiply) and any(isinstance(user, Multiply | Divide) for user in _readers(op)):
        return True
    origin = _origin(other)
    # A guard's zero is no constant: nothing is folded across it.
    return isinstance(origin, Add | Subtract | Multiply | Divide) and origin not in zeros.guards


def _is_constant(value: Value, known: dict[Value, bool]) -> bool:
    """Whether a value is a constant, or made of nothing else: XLA then makes a constant of it."""
    found = known.get(value)
    if found is None:
        found = isinstance(value, Constant)
        if not found and isinstance(value, Op) and value.is_pure and not value.region_names:
            operands = value.operands
            found = bool(operands) and all(_is_constant(each, known) for each in operands)
        known[value] = found
    return found


def _moved(value: Value) -> Value:
    """What a value is before it was moved about, broadcasts not undone."""
    while isinstance(value, Reshape | Transpose | Slice | Negate | Reverse):
        value = value.operand
    return value


def _splat_number(value: Value) -> float | None:
    """The number that fills a constant, or None."""
    while isinstance(value, BroadcastInDim | Reshape):
        value = value.operand
    if isinstance(value, Constant) and value.is_splat and value.tensor.is_float:
        return float(value.number)
    return None


def _origin(value: Value) -> Value:
    """The op that a value was computed by, before it was moved about."""
    while isinstance(value, BroadcastInDim | Reshape | Transpose | Slice | Negate | Reverse):
        value = value.operand
    return value


def _readers(value: Value) -> Iterator[Op]:
    """The ops that compute with a value, found through those that only move it about or add a zero to it."""
    for user in value.uses:
        if isinstance(user, BroadcastInDim | Reshape | Transpose | Slice | Negate | Reverse):
            yield from _readers(user)
        else:
            yield user
