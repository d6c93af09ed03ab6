"""Which values change a little where others do."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from windlass.autodiff.float_bits import FloatBits, follow
from windlass.ir import Op, Region, Type, Value
from windlass.ir.captures import captures
from windlass.ir.core import Terminator
from windlass.ir.types import TensorType
from windlass.ops import BitcastConvert, Case, If, While
from windlass.ops.combiners import combiners_of
from windlass.ops.reduction import Folding


def is_differentiable(type_: Type) -> bool:
    """Whether values of the type can change a little: floats and complex numbers.

    >>> from windlass.ir import tensor_type
    >>> is_differentiable(tensor_type((2,), "f32")), is_differentiable(tensor_type((2,), "i32"))
    (True, False)
    """
    return isinstance(type_, TensorType) and (type_.is_float or type_.is_complex)


def body_of(region: Region) -> list[Op]:
    """The ops of a region without what ends it."""
    return [op for op in region.block if not isinstance(op, Terminator)]


class Varying(dict[Value, FloatBits | None]):
    """Values that change with others; of integers, the floats whose bits they hold."""

    def add(self, value: Value, bits: FloatBits | None = None) -> bool:
        """Enter a value, which may be there with other floats; whether that is new."""
        if value in self:
            known = self[value]
            if bits is None or known is None or bits.joined(known) == known:
                return False
            bits = bits.joined(known)
        self[value] = bits
        return True


def is_float_in(value: Value, varying: Varying) -> bool:
    """Whether a value varies as what it is, not by the bits of others that it holds."""
    return value in varying and varying[value] is None


def find_varying(ops: Iterable[Op], active: Collection[Value]) -> Varying:
    """The active values and all that change with them, within regions too.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Add, Convert
    >>> x, y = tensor("f32"), tensor("f32")
    >>> one, other = Add(x, y), Convert(y, "i32")
    >>> find_varying([one, other], [y]) == {y: None, one: None}
    True
    """
    varying = Varying((value, None) for value in active)
    _extend(ops, varying)
    return varying


def _extend(ops: Iterable[Op], varying: Varying) -> bool:
    """Enter what the ops compute of what varies; whether anything is new."""
    is_new = False
    for op in ops:
        match op:
            case While():
                is_new |= _enter_loop(op, varying)
            case If() | Case():
                for region in op.regions:
                    is_new |= _extend(body_of(region), varying)
                    is_new |= _pass_on(op.results, region.block.terminator.operands, varying)
            case _:
                is_new |= _enter_results(op, varying)
    return is_new


def _enter_results(op: Op, varying: Varying) -> bool:
    is_new = False
    changed: Iterable[Value] = ()
    if isinstance(op, Folding) and folds_apart(op):
        given = zip(op.results, op.inputs, op.init_values, strict=True)
        changed = [result for result, *values in given if any(is_float_in(value, varying) for value in values)]
    elif not isinstance(op, BitcastConvert):
        captured = (value for region in op.regions for value in captures(region))
        changes = any(is_float_in(value, varying) for value in op.operands) or any(each in varying for each in captured)
        changed = op.results if changes else changed
    for result in changed:
        if is_differentiable(result.type):
            is_new |= varying.add(result)
    held = [varying.get(operand) for operand in op.operands]
    for result, followed in zip(
        op.results, follow(op, held, [operand in varying for operand in op.operands]), strict=True
    ):
        if followed is not None:
            is_new |= varying.add(result, followed.bits)
    return is_new


def _pass_on(results: Iterable[Value], values: Iterable[Value], varying: Varying) -> bool:
    """Let each result vary as the value that it stands for."""
    pairs = zip(results, values, strict=True)
    return sum(varying.add(result, varying[value]) for result, value in pairs if value in varying) > 0


def folds_apart(op: Folding) -> bool:
    """Whether each result depends on the input in its own place alone."""
    return all(combiner is not None for combiner in combiners_of(op.regions[0]))


def _enter_loop(op: While, varying: Varying) -> bool:
    """What varies in any round varies in the rounds after it."""
    arguments, following = op.body.block.arguments, op.body.block.terminator.operands
    is_new = _pass_on(arguments, op.operands, varying)
    while True:
        goes_on = _extend(body_of(op.body), varying)
        goes_on |= _pass_on(arguments, following, varying)
        if not goes_on:
            break
        is_new = True
    return _pass_on(op.results, arguments, varying) or is_new
