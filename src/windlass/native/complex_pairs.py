"""Loops of complex numbers as loops of pairs of floats, which native code computes with.

    while …: z = z · z + c        →        while …: (x, y) = (x·x - y·y + a, x·y + y·x + b)

Each complex value becomes its real and its imaginary part, arrays too: parts are taken before the loop, and put
together after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, cast

import numpy as np

from windlass.ir import Block, Builder, Op, Region, TensorType, Type, Value, tensor_type
from windlass.ir.captures import captures
from windlass.ir.core import Terminator
from windlass.native.refusal import NotNative
from windlass.ops.base import PART_OF_COMPLEX, TensorOp
from windlass.ops.combiners import combiner_of, scattering_region
from windlass.ops.comparison import Compare
from windlass.ops.complex import Complex, Conj, Imag, Real
from windlass.ops.control import Case, If, While
from windlass.ops.conversion import Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Abs, Add, And, Divide, Multiply, Negate, Or, Select, Subtract
from windlass.ops.float_functions import Hypot
from windlass.ops.indexing import Scatter
from windlass.ops.reduction import Reduce
from windlass.ops.regions import Return

Pair: TypeAlias = tuple[Value, Value]


def is_complex(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.is_complex


def has_complex(loop: While) -> bool:
    """Whether a loop carries, takes or computes complex numbers."""
    return any(is_complex(value) for op in (loop, *loop.body.walk()) for value in (*op.operands, *op.results))


class SplitLoop:
    """A loop of complex numbers, and before it the same on pairs, whose results are used instead until `undo`."""

    def __init__(self, loop: While) -> None:
        """Raises NotNative, before anything is changed, where an op has no form on pairs."""
        assert loop.block is not None
        for op in loop.body.walk():
            _require_form(op)
        self._loop = loop
        self._joined: dict[Value, Value] = {}
        self._before = loop.previous
        taken = dict.fromkeys([*loop.operands, *(value for region in loop.regions for value in captures(region))])
        with Builder(loop.block, before=loop, source=loop.source):
            pairs = _Pairs({value: _parts_of(value) for value in taken if is_complex(value)})
            self.loop = pairs.loop(loop)
            parts = iter(self.loop.results)
            for result in loop.results:
                if not is_complex(result):
                    self._joined[result] = next(parts)
                    continue
                pair = next(parts), next(parts)
                if result.uses:
                    self._joined[result] = Complex(*pair)
        for result, joined in self._joined.items():
            result.replace_all_uses_with(joined)

    def accept(self) -> None:
        """Take the loop of complex numbers away."""
        self._loop.erase()

    def undo(self) -> None:
        """Have everything as it was."""
        for result, joined in self._joined.items():
            joined.replace_all_uses_with(result)
        while (made := self._loop.previous) is not self._before:
            assert made is not None
            made.erase()


def _parts_of(value: Value) -> Pair:
    """The parts of a value from outside."""
    if isinstance(value, Constant):
        return _constants_of(value)
    if isinstance(value, Complex):
        return value.lhs, value.rhs
    return Real(value), Imag(value)


def _constants_of(value: Constant) -> Pair:
    dtype, data = PART_OF_COMPLEX[value.dtype], value.value.data
    if data.size == 1:
        data = data.reshape(())
    real, imaginary = (Constant.of(part(data), dtype, value.shape) for part in (np.real, np.imag))
    return real, imaginary


class _Pairs:
    """Places the ops of a block anew, on pairs, where the active builder is."""

    def __init__(self, found: dict[Value, Pair | Value]) -> None:
        self._found = found

    def enter(self, values: Sequence[Value], flat: Sequence[Value]) -> None:
        """Note what values became: pairs and others one after the other, as `flat` gives them."""
        rest = iter(flat)
        for value in values:
            self._found[value] = (next(rest), next(rest)) if is_complex(value) else next(rest)

    def pair(self, value: Value) -> Pair:
        return cast("Pair", self._found[value])

    def value(self, value: Value) -> Value:
        """What a value became that is not complex: itself, if it is from outside."""
        return cast("Value", self._found.get(value, value))

    def flat(self, values: Iterable[Value]) -> tuple[Value, ...]:
        return tuple(
            part for value in values for part in (self.pair(value) if is_complex(value) else (self.value(value),))
        )

    def loop(self, op: While) -> While:
        return While(self._region(op.cond), self._region(op.body), self.flat(op.operands))

    def _region(self, region: Region) -> Region:
        block = Block(_flat_types(region.block.arguments))
        with Builder(block):
            inner = _Pairs(dict(self._found))
            inner.enter(region.block.arguments, block.arguments)
            for op in region.block:
                if not isinstance(op, Terminator):
                    inner.place(op)
            Return(inner.flat(region.block.terminator.operands))
        return Region(block)

    def place(self, op: Op) -> None:
        """Place what one op became."""
        match op:
            case Constant() if is_complex(op):
                self._found[op] = _constants_of(op)
            case While() | If() | Case() if _concerns(op):
                made = self._with_regions(op)
                made.source = op.source
                self.enter(op.results, made.results)
            case _ if _concerns(op):
                self._found[op.results[0]] = found = self._became(op)
                for part in found if isinstance(found, tuple) else (found,):
                    if isinstance(part, Op):
                        part.source = part.source or op.source
            case _:
                taken = [*op.operands, *(value for region in op.regions for value in captures(region))]
                mapping = {value: self.value(value) for value in taken}
                op.clone(mapping)
                self._found.update((result, mapping[result]) for result in op.results)

    def _with_regions(self, op: While | If | Case) -> Op:
        match op:
            case While():
                return self.loop(op)
            case If():
                return If(self.value(op.pred), *map(self._region, op.regions))
            case Case():
                return Case(self.value(op.index), tuple(map(self._region, op.regions)))

    def _became(self, op: Op) -> Pair | Value:
        form = _FORMS.get(type(op))
        if form is not None:
            return form(op, *(self.pair(each) if is_complex(each) else self.value(each) for each in op.operands))
        regions = {name: _region_of_parts(region) for name, region in zip(op.region_names, op.regions, strict=True)}
        made: list[Value] = []
        for part in range(2):
            given = (self.pair(each)[part] if is_complex(each) else self.value(each) for each in op.operands)
            found = op.with_fields(tuple(given), **{name: each.clone({}) for name, each in regions.items()})
            made += found.results
        first, second = made
        return first, second


def _concerns(op: Op) -> bool:
    """Whether an op, or one within it, takes or gives complex numbers."""
    inside = (inner for region in op.regions for inner in region.walk())
    return any(is_complex(value) for each in (op, *inside) for value in (*each.operands, *each.results))


def _require_form(op: Op) -> None:
    if isinstance(op, While | If | Case | Constant | Terminator) or not _concerns(op):
        return
    is_movement = isinstance(op, TensorOp) and op.limbs == "each" and not op.regions
    is_folding = isinstance(op, Reduce | Scatter) and len(op.results) == 1 and _is_of_parts(op.regions[0])
    is_known = type(op) in _FORMS and not (isinstance(op, Convert) and op.tensor.is_boolean)
    if not (is_known or is_movement or is_folding):
        raise NotNative(f"{type(op).__name__} of complex numbers has no native code", op.source)


def _is_of_parts(region: Region) -> bool:
    """Whether a region that combines two numbers does the same with their parts: adds them, or takes the second."""
    return combiner_of(region) is Add or region.block.terminator.operands[0] is region.block.arguments[1]


def _region_of_parts(region: Region) -> Region:
    dtype = PART_OF_COMPLEX[region.block.arguments[0].dtype]
    return scattering_region(Add if combiner_of(region) is Add else None, dtype)


def _flat_types(values: Iterable[Value]) -> list[Type]:
    found: list[Type] = []
    for value in values:
        type_ = value.type
        if isinstance(type_, TensorType) and type_.is_complex:
            found += [tensor_type(type_.shape, PART_OF_COMPLEX[type_.dtype])] * 2
        else:
            found.append(type_)
    return found


# -- ops --------------------------------------------------------------------------------------------------------------


def _add(_: Op, left: Pair, right: Pair) -> Pair:
    return Add(left[0], right[0]), Add(left[1], right[1])


def _subtract(_: Op, left: Pair, right: Pair) -> Pair:
    return Subtract(left[0], right[0]), Subtract(left[1], right[1])


def _multiply(_: Op, left: Pair, right: Pair) -> Pair:
    (a, b), (c, d) = left, right
    return Subtract(Multiply(a, c), Multiply(b, d)), Add(Multiply(a, d), Multiply(b, c))


def _divide(_: Op, left: Pair, right: Pair) -> Pair:
    """By the ratio of the divisor's parts, so that no square overflows; by zero each part of its own.

    R. L. Smith, Algorithm 116: Complex division, 1962.
    """
    (a, b), (c, d) = left, right
    sizes = Abs(c), Abs(d)
    is_real = Compare(*sizes, "GE")
    larger, smaller = Select(is_real, c, d), Select(is_real, d, c)
    ratio = Divide(smaller, larger)
    scale = Divide(_splat(1, c), Add(larger, Multiply(smaller, ratio)))
    real = Select(is_real, Add(a, Multiply(b, ratio)), Add(Multiply(a, ratio), b))
    imaginary = Select(is_real, Subtract(b, Multiply(a, ratio)), Subtract(Multiply(b, ratio), a))
    is_zero = And(*(Compare(each, _splat(0, c), "EQ") for each in sizes))
    by_zero = Divide(a, sizes[0]), Divide(b, sizes[0])
    return Select(is_zero, by_zero[0], Multiply(real, scale)), Select(is_zero, by_zero[1], Multiply(imaginary, scale))


def _splat(number: float, like: Value) -> Value:
    return Constant.splat(number, like.type)


def _compare(op: Op, left: Pair, right: Pair) -> Value:
    assert isinstance(op, Compare)
    parts = [Compare(one, other, op.direction) for one, other in zip(left, right, strict=True)]
    return And(*parts) if op.direction == "EQ" else Or(*parts)


def _convert(op: Op, given: Pair | Value) -> Pair | Value:
    assert isinstance(op, Convert)
    part = PART_OF_COMPLEX.get(op.dtype)
    if not isinstance(given, tuple):
        assert part is not None
        real = given if given.dtype == part else Convert(given, part)
        return real, _splat(0, real)
    if part is None:
        return given[0] if given[0].dtype == op.dtype else Convert(given[0], op.dtype)
    return Convert(given[0], part), Convert(given[1], part)


def _select(_: Op, condition: Value, on_true: Pair, on_false: Pair) -> Pair:
    return Select(condition, on_true[0], on_false[0]), Select(condition, on_true[1], on_false[1])


_FORMS: dict[type[Op], Callable[..., Pair | Value]] = {
    Abs: lambda _, operand: Hypot(*operand),
    Add: _add,
    Compare: _compare,
    Complex: lambda _, real, imaginary: (real, imaginary),
    Conj: lambda _, operand: (operand[0], Negate(operand[1])),
    Convert: _convert,
    Divide: _divide,
    Imag: lambda _, operand: operand[1],
    Multiply: _multiply,
    Negate: lambda _, operand: (Negate(operand[0]), Negate(operand[1])),
    Real: lambda _, operand: operand[0],
    Select: _select,
    Subtract: _subtract,
}
"""What ops of complex numbers are on pairs; those that move elements do the same to both parts."""
