"""Forward mode: what the results of ops change by, as their operands do."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from itertools import islice

from windlass.autodiff.activity import Varying, body_of, find_varying, is_differentiable, is_float_in
from windlass.autodiff.float_bits import FloatBits, Parts, follow, missing
from windlass.ir import Block, Builder, Function, Op, Region, Value
from windlass.ir.builder import current_builder
from windlass.ir.captures import captures
from windlass.ir.core import Terminator
from windlass.ir.types import TensorType
from windlass.ops import (
    Add,
    BitcastConvert,
    BroadcastInDim,
    Case,
    Constant,
    CustomDerivative,
    If,
    MissingDerivative,
    Multiply,
    Negate,
    Return,
    While,
)
from windlass.ops.base import NoDerivative, TensorOp
from windlass.rewriting.driver import remove_dead_code


def tangents_of(op: Op, given: Sequence[Value | None]) -> tuple[Value | None, ...]:
    """What the results of an op change by, as its operands change by what is given; None is zero.

    Raises NoDerivative.
    """
    if all(each is None for each in given) or not any(is_differentiable(result.type) for result in op.results):
        return (None,) * len(op.results)
    if not isinstance(op, TensorOp):
        raise NoDerivative(op)
    if has_partials(op):
        total: Value | None = None
        for position, tangent in enumerate(given):
            if tangent is not None:
                total = sum_of(total, scaled(spread(tangent, op.tensor), op.partial(position)))
        return (total,)
    if type(op).tangents is not TensorOp.tangents:
        found = op.tangents(tuple(given))
    elif is_linear_in(op, [tangent is not None for tangent in given]):
        found = _linear_tangents(op, given)
    else:
        raise NoDerivative(op)
    return tuple(
        each if is_differentiable(result.type) else None for result, each in zip(op.results, found, strict=True)
    )


def has_partials(op: TensorOp) -> bool:
    """Whether the op works on each element by itself, and says how the result changes with each operand."""
    return type(op).partial is not TensorOp.partial and type(op).tangents is TensorOp.tangents


def is_linear_in(op: TensorOp, chosen: Sequence[bool]) -> bool:
    """Whether the op is linear in each of the operands chosen."""
    linear = frozenset[int]().union(*op.linear_positions())
    return all(position in linear for position, is_chosen in enumerate(chosen) if is_chosen)


def _linear_tangents(op: TensorOp, given: Sequence[Value | None]) -> tuple[Value | None, ...]:
    """The op again, on the tangents of each set of operands that it is linear in."""
    totals: list[Value | None] = [None] * len(op.results)
    left = {position for position, tangent in enumerate(given) if tangent is not None}
    for positions in op.linear_positions():
        if left.isdisjoint(positions):
            continue
        left -= positions
        operands = [
            (given[position] or Constant.splat(0, operand.type)) if position in positions else operand
            for position, operand in enumerate(op.operands)
        ]
        regions = {name: getattr(op, name).clone({}) for name in op.region_names}
        results = op.with_fields(tuple(operands), **regions).results
        totals = [sum_of(total, result) for total, result in zip(totals, results, strict=True)]
    return tuple(totals)


def refuse_captures(op: Op, active: Container[Value]) -> None:
    """Raise NoDerivative where a region uses active values of enclosing blocks: they are no operands."""
    if not op.regions or not any(is_differentiable(result.type) for result in op.results):
        return
    if any(value in active for region in op.regions for value in captures(region)):
        raise NoDerivative(op)


def sum_of(left: Value | None, right: Value | None) -> Value | None:
    """left + right, of which None is zero."""
    if left is None or right is None:
        return left or right
    return Add(left, right)


def scaled(value: Value, factor: Value | float | None) -> Value | None:
    """The value times what `TensorOp.partial` gives."""
    match factor:
        case None:
            return None
        case Value():
            return Multiply(value, factor)
        case 1:
            return value
        case -1:
            return Negate(value)
        case _:
            return Multiply(value, Constant.splat(factor, value.type))


def spread(value: Value, type_: TensorType) -> Value:
    """The value at all places of a type, if it is a single number."""
    return value if value.tensor.rank == type_.rank else BroadcastInDim(value, type_.shape, ())


class TangentWalker:
    """Places ops anew, and beside them those that give their tangents, where the active builder is.

    `mapping` and `tangents` are of values as they were; `varying` are those that have tangents. Where an op has no
    derivative, what its results change by is a `MissingDerivative`. An integer that holds the bits of floats has the
    tangents of each (float_bits.py); a float has one.
    """

    def __init__(self, mapping: dict[Value, Value], tangents: dict[Value, Parts], varying: Varying) -> None:
        self.mapping = mapping
        self.tangents = tangents
        self.varying = varying

    def run(self, ops: Iterable[Op]) -> None:
        """Enter values and tangents of all results."""
        builder = current_builder()
        outside = None if builder is None else builder.source
        for op in ops:
            if builder is not None:
                builder.source = op.source or outside
            if isinstance(op, While | If | Case):
                # What varies may decide how often a loop goes round, or between branches, and no more than that.
                if any(result in self.varying for result in op.results):
                    self._enter(op, self._loop(op) if isinstance(op, While) else self._choice(op))
                else:
                    op.clone(self.mapping)
                continue
            made = op.clone(self.mapping)
            given = [self.tangents.get(operand) for operand in op.operands]
            if any(each is not None for each in given) or op.regions:
                self._enter_tangents(op, made, given)
        if builder is not None:
            builder.source = outside

    def _enter_tangents(self, op: Op, made: Op, given: Sequence[Parts | None]) -> None:
        held = [self.varying.get(operand) for operand in op.operands]
        own = [
            parts[0] if parts is not None and bits is None else None for parts, bits in zip(given, held, strict=True)
        ]
        try:
            refuse_captures(op, self.tangents)
            if isinstance(made, CustomDerivative) and any(each is not None for each in own):
                values, found = made.push_forward(tuple(own))
                self.mapping.update(zip(op.results, values, strict=True))
            else:
                found = (None,) if isinstance(made, BitcastConvert) else tangents_of(made, own)
        except NoDerivative as failure:
            captured = [self.tangents.get(value) for region in op.regions for value in captures(region)]
            found = tuple(
                missing([*given, *captured], [result.type], failure.reason, failure.source)[0]
                if is_differentiable(result.type)
                else None
                for result in made.results
            )
        followed = follow(made, held, [each is not None for each in given])
        for result, tangent, other in zip(op.results, found, followed, strict=True):
            if tangent is None or not is_differentiable(result.type):
                if other is not None:
                    self.tangents[result] = other.move(made, given)
            elif other is None:
                self.tangents[result] = (tangent,)
            else:
                # A float that is partly its own, and partly what others made of bits.
                parts = other.move(made, given) if other.bits is None else self._unknown(given, result)
                self.tangents[result] = (Add(tangent, parts[0]),)

    def _unknown(self, given: Sequence[Parts | None], result: Value, bits: FloatBits | None = None) -> Parts:
        types = [result.tensor] if bits is None else bits.tangent_types(result)
        builder = current_builder()
        reason = "a number is either a float or made of the bits of one, as data decide"
        return missing(given, types, reason, None if builder is None else builder.source)

    def parts(self, value: Value, bits: FloatBits | None = None) -> Parts:
        """The tangents of a value that stands for one that holds these floats, or is one; zeros if it doesn't vary."""
        found = self.tangents.get(value)
        if found is None:
            types = [value.tensor] if bits is None else bits.tangent_types(value)
            return tuple(Constant.splat(0, type_) for type_ in types)
        return found if self.varying[value] == bits else self._unknown([found], value, bits)

    def parts_of_all(self, pairs: Iterable[tuple[Value, Value]]) -> Iterator[Value]:
        """The tangents of the second values, each of which stands for the first one beside it."""
        return (part for result, value in pairs for part in self.parts(value, self.varying[result]))

    def value(self, value: Value) -> Value:
        return self.mapping.get(value, value)

    def _enter(self, op: Op, results: tuple[Value, ...]) -> None:
        moved = iter(results[len(op.results) :])
        for result, made in zip(op.results, results, strict=False):
            self.mapping[result] = made
            if result in self.varying:
                self.tangents[result] = tuple(islice(moved, self._count(result)))

    def _count(self, result: Value) -> int:
        bits = self.varying[result]
        return 1 if bits is None else max(len(bits.signs), 1)

    def _inner(self) -> TangentWalker:
        return TangentWalker(dict(self.mapping), dict(self.tangents), self.varying)

    def _choice(self, op: If | Case) -> tuple[Value, ...]:
        """The branches give the tangents of what varies behind their results."""
        regions: list[Region] = []
        for region in op.regions:
            with Builder(block := Block(), source=op.source):
                inner = self._inner()
                inner.run(body_of(region))
                returned = region.block.terminator.operands
                pairs = [pair for pair in zip(op.results, returned, strict=True) if pair[0] in self.varying]
                Return((*map(inner.value, returned), *inner.parts_of_all(pairs)))
            regions.append(Region(block))
        return choose(op, self.value(op.operands[0]), regions)

    def _loop(self, op: While) -> tuple[Value, ...]:
        """The loop carries the tangents of what varies behind its values."""
        carried = [place for place, result in enumerate(op.results) if result in self.varying]
        results = [op.results[place] for place in carried]
        begins = zip(results, (op.operands[place] for place in carried), strict=True)
        initial = (*map(self.value, op.operands), *self.parts_of_all(begins))
        types = [value.type for value in initial]
        with Builder(cond := Block(types), source=op.source):
            inner = self._inner()
            inner.mapping.update(zip(op.cond.block.arguments, cond.arguments, strict=False))
            for each in body_of(op.cond):
                each.clone(inner.mapping)
            Return(tuple(map(inner.value, op.cond.block.terminator.operands)))
        with Builder(body := Block(types), source=op.source):
            inner = self._inner()
            arguments = op.body.block.arguments
            inner.mapping.update(zip(arguments, body.arguments, strict=False))
            moved = iter(body.arguments[len(arguments) :])
            for place, result in zip(carried, results, strict=True):
                inner.tangents[arguments[place]] = tuple(islice(moved, self._count(result)))
            inner.run(body_of(op.body))
            following = op.body.block.terminator.operands
            pairs = zip(results, (following[place] for place in carried), strict=True)
            Return((*map(inner.value, following), *inner.parts_of_all(pairs)))
        return While(Region(cond), Region(body), initial).results


def choose(op: If | Case, chosen: Value, regions: Sequence[Region]) -> tuple[Value, ...]:
    """The results of a choice between other branches."""
    return (If(chosen, *regions) if isinstance(op, If) else Case(chosen, tuple(regions))).results


def value_function(function: Function, active: Collection[int]) -> Function:
    """The function as `tangent_function` has it: where derivative rules give results in a way of their own, they do."""
    function = function.clone()
    varying = find_varying(function.body, [function.arguments[index] for index in active])
    for op in [*function.walk()]:
        if isinstance(op, CustomDerivative) and any(is_float_in(operand, varying) for operand in op.operands):
            assert op.block is not None
            with Builder(op.block, before=op):
                given = tuple(
                    Constant.splat(0, each.type) if is_float_in(each, varying) else None for each in op.operands
                )
                values, _ = op.push_forward(given)
            for old, new in zip(op.results, values, strict=True):
                if old is not new:
                    old.replace_all_uses_with(new)
    remove_dead_code(function.body)
    return function


def tangent_function(
    function: Function, active: Collection[int], has_results: bool = False, may_miss: bool = False
) -> Function:
    """What the results change by: a function of all arguments and of the tangents of the active ones.

    It gives one tangent for each result that is of floats or complex numbers, in their order; with `has_results` the
    function's own results before them. Raises NoDerivative; with `may_miss` what nobody knows is there, as a
    `MissingDerivative`: it may not be asked for.

    >>> from windlass.ir.values import tensor
    >>> block = Block([tensor("f32", 3).type, tensor("f32", 3).type])
    >>> with Builder(block):
    ...     _ = Return((Multiply(*block.arguments),))
    >>> tangent = tangent_function(Function("multiply", block), [0])
    >>> [argument.type for argument in tangent.arguments]
    [tensor<3xf32>, tensor<3xf32>, tensor<3xf32>]
    """
    arguments = function.arguments
    chosen = sorted(active)
    types = [argument.type for argument in arguments]
    block = Block([*types, *(types[index] for index in chosen)])
    mapping: dict[Value, Value] = dict(zip(arguments, block.arguments, strict=False))
    tangents: dict[Value, Parts] = {
        arguments[index]: (tangent,) for index, tangent in zip(chosen, block.arguments[len(types) :], strict=True)
    }
    varying = find_varying(function.body, [arguments[index] for index in chosen])
    with Builder(block):
        walker = TangentWalker(mapping, tangents, varying)
        walker.run(op for op in function.body if not isinstance(op, Terminator))
        returned = function.body.terminator.operands
        results = map(walker.value, returned) if has_results else ()
        Return((*results, *(walker.parts(value)[0] for value in returned if is_differentiable(value.type))))
    made = Function(f"{function.name}_tangent", block)
    if not may_miss:
        remove_dead_code(block)
        for op in made.walk():
            if isinstance(op, MissingDerivative):
                raise NoDerivative(op)
    return made
