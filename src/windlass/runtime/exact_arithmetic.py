"""Keeping XLA from changing float results.

XLA's CPU compiler contracts a multiplication and an addition into one operation that rounds once, and XLA's algebraic
simplifier (on every device) turns divisions by constants into multiplications, merges constants across operations, and
rewrites quotients of quotients, square roots and exponentials. There are no compile options against it that a
program inside someone else's `jax.jit` could set (docs/decisions/float-results.md). Two forms stop it:

* A sum with a negative zero that the compiler can't see through: `a * b + z` may be contracted to `fma(a, b, z)`, which
  is exactly the rounded product, and what follows is then no sum with a product. On hardware with fused operations it
  costs nothing.
* A constant plus such a zero is the same number, but not a constant that could be folded.

The zero is made from a runtime value whose bits are masked in a way that always gives -0.0: an integer m gives
m·(m+1) mod 2 = 0, which no compiler proves.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from windlass.ir import Argument, Block, Builder, Function, Op, TensorType, Value
from windlass.ops import (
    Abs,
    Add,
    And,
    BitcastConvert,
    BroadcastInDim,
    Case,
    Concatenate,
    Constant,
    Convert,
    Divide,
    DynamicSlice,
    DynamicUpdateSlice,
    Exponential,
    If,
    Log,
    Multiply,
    Negate,
    Or,
    Pad,
    Power,
    Real,
    Reduce,
    Return,
    Reshape,
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
LOGARITHM_RISKS: tuple[type[Op], ...] = (Exponential, Power, Sqrt)
POWER_RISKS: tuple[type[Op], ...] = (Exponential, Power)


SIGN_BITS = {"i16": -(2**15), "i32": -(2**31), "i64": -(2**63)}


def keep_float_results(function: Function) -> None:
    """Put the function, in place, into a form in which XLA keeps each float operation as it is written.

    A function that takes no arrays is left alone: there is no runtime value to make a zero from.
    """
    source = _zero_source(function)
    if source is not None:
        _protect_block(function.body, _Zeros(function.body, source), is_entry=True)


class _Zeros:
    """Negative zeros that no compiler sees through, one for each element type, made when first needed."""

    def __init__(self, block: Block, source: Value | None, passed: dict[str, Value] | None = None) -> None:
        self.block = block
        self.source = source
        self.made: dict[str, Value] = passed or {}
        self.bit: Value | None = None

    def of(self, dtype: str) -> Value:
        """The zero as a scalar of the element type, at the start of the block."""
        found = self.made.get(dtype)
        if found is None:
            assert self.source is not None
            with Builder(self.block, before=None if self.bit is None else _op_after(self.bit)) as builder:
                if self.bit is None:
                    builder.before = self.block.first
                    self.bit = _even_bit(self.source)
                integer = f"i{bit_width(dtype)}"
                word = Or(
                    self.bit if integer == "i32" else Convert(self.bit, integer),
                    Constant.of(np.array(SIGN_BITS[integer], f"int{bit_width(dtype)}")),
                )
                found = self.made[dtype] = BitcastConvert(word, dtype)
        return found

    def beside(self, value: Value) -> Value:
        """The zero in the shape of a value, where the active builder is."""
        zero = self.of(value.dtype)
        return BroadcastInDim(zero, value.shape, ()) if value.shape else zero


def _even_bit(source: Value) -> Value:
    """m·(m+1) mod 2, an i32 that is 0, from the first element of any tensor."""
    value = source
    if value.shape:
        rank = len(value.shape)
        value = Reshape(Slice(value, (0,) * rank, (1,) * rank, (1,) * rank), ())
    type_ = value.tensor
    if type_.is_complex:
        value = Real(value)
    if value.dtype != "i1":
        value = BitcastConvert(value, f"i{bit_width(value.dtype)}")
    if value.dtype != "i32":
        value = Convert(value, "i32")
    return And(Multiply(value, Add(value, Constant.of(1, "i32"))), Constant.of(1, "i32"))


def _zero_source(function: Function) -> Argument | None:
    """The argument to make zeros from: a scalar, else the smallest array, rather one that is not updated in place."""
    tensors = [each for each in function.arguments if isinstance(each.type, TensorType) and each.tensor.size]
    whole = [each for each in tensors if bit_width(each.dtype) >= 8 or each.dtype == "i1"]
    return min(whole, key=lambda each: (_is_updated(each), each.tensor.size), default=None)


def _is_updated(argument: Value) -> bool:
    for user in argument.uses:
        if isinstance(user, Reshape | BitcastConvert) and _is_updated(user):
            return True
        if isinstance(user, DynamicUpdateSlice | Scatter | While):
            return True
    return False


def _protect_block(block: Block, zeros: _Zeros, is_entry: bool) -> None:
    for op in list(block):
        if isinstance(op, While):
            _protect_loop(op, zeros)
        elif isinstance(op, Case | If):
            for region in op.regions:
                # Branches take no arguments: they see the values around them.
                _protect_block(region.block, zeros, is_entry=False)
        elif isinstance(op.type, TensorType) and op.type.dtype in PROTECTED:
            _protect_op(op, zeros, is_entry)


def _protect_op(op: Op, zeros: _Zeros, is_entry: bool) -> None:
    match op:
        case Multiply():
            _hide_constants(op, zeros)
            _guard_operands(op, PRODUCT_RISKS, zeros)
            if _meets_sum(op, set(), is_entry):
                _guard_result(op, zeros)
        case Divide():
            _hide_constants(op, zeros)
            _guard_operands(op, QUOTIENT_RISKS, zeros)
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
    needed = sorted(
        {
            op.type.dtype
            for op in loop.body.walk()
            if isinstance(op, Multiply | Divide | Add | Subtract | Log | Power)
            and isinstance(op.type, TensorType)
            and op.type.dtype in PROTECTED
        }
    )
    if not needed:
        return
    outer = [zeros.of(dtype) for dtype in needed]
    cond, body = loop.cond.clone({}), loop.body.clone({})
    inner: dict[str, Value] = {}
    for dtype, zero in zip(needed, outer, strict=True):
        cond.block.add_argument(zero.type)
        inner[dtype] = body.block.add_argument(zero.type)
    old_return = body.block.terminator
    with Builder(body.block, before=old_return):
        Return((*old_return.operands, *inner.values()))
    old_return.erase()
    _protect_block(body.block, _Zeros(body.block, None, inner), is_entry=False)
    assert loop.block is not None
    with Builder(loop.block, before=loop, source=loop.source):
        protected = While(cond, body, (*loop.operands, *outer))
    protected.extra = loop.extra
    protected.made_by = loop.made_by
    for old, new in zip(loop.results, protected.results, strict=False):
        old.replace_all_uses_with(new)
    loop.erase()


def _meets_sum(value: Value, seen: set[int], is_entry: bool) -> bool:
    """Whether the value reaches a sum, or leaves the function, through ops that hand it on."""
    for user in value.uses:
        if isinstance(user, Add | Subtract | Reduce | Case | If) or (isinstance(user, Return) and is_entry):
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


def _hide_constants(op: Op, zeros: _Zeros) -> None:
    """Make constant operands unknown where XLA would fold them into a neighbour's, or replace the op."""
    assert op.block is not None
    lhs, rhs = op.operands
    for operand, other in ((lhs, rhs), (rhs, lhs)):
        number = _splat_number(operand)
        if number is None or not _is_folded(op, operand is rhs, number, other):
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


def _is_folded(op: Op, is_right: bool, number: float, other: Value) -> bool:
    mantissa = np.frexp(number)[0]
    if isinstance(op, Divide) and is_right and abs(mantissa) != 0.5:
        return True
    if isinstance(op, Add) and number == 0:
        return True
    if isinstance(op, Multiply) and any(isinstance(user, Multiply | Divide) for user in _readers(op)):
        return True
    return isinstance(_origin(other), Add | Subtract | Multiply | Divide)


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


def _op_after(value: Value) -> Op | None:
    assert isinstance(value, Op)
    return value.next
