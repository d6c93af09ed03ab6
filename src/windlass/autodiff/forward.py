"""Forward mode: what the results of ops change by, as their operands do."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence

from windlass.autodiff.activity import body_of, find_varying, is_differentiable
from windlass.ir import Block, Builder, Function, Op, Region, Value
from windlass.ir.captures import captures
from windlass.ir.core import Terminator
from windlass.ir.types import TensorType
from windlass.ops import (
    Add,
    BroadcastInDim,
    Case,
    Constant,
    CustomDerivative,
    If,
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

    `mapping` and `tangents` are of values as they were; `varying` are those that have tangents.
    """

    def __init__(self, mapping: dict[Value, Value], tangents: dict[Value, Value], varying: set[Value]) -> None:
        self.mapping = mapping
        self.tangents = tangents
        self.varying = varying

    def run(self, ops: Iterable[Op]) -> None:
        """Enter values and tangents of all results. Raises NoDerivative."""
        for op in ops:
            if isinstance(op, While | If | Case):
                # What varies may decide how often a loop goes round, or between branches, and no more than that.
                if any(result in self.varying for result in op.results):
                    self._enter(op, self._loop(op) if isinstance(op, While) else self._choice(op))
                else:
                    op.clone(self.mapping)
                continue
            refuse_captures(op, self.tangents)
            made = op.clone(self.mapping)
            given = [self.tangents.get(operand) for operand in op.operands]
            if isinstance(made, CustomDerivative) and any(each is not None for each in given):
                values, found = made.push_forward(tuple(given))
                self.mapping.update(zip(op.results, values, strict=True))
            else:
                found = tangents_of(made, given)
            pairs = zip(op.results, found, strict=True)
            moved = [(result, each) for result, each in pairs if each is not None and is_differentiable(result.type)]
            self.tangents.update(moved)

    def tangent(self, value: Value) -> Value:
        """The tangent of a value, zeros if it does not vary."""
        found = self.tangents.get(value)
        return Constant.splat(0, value.type) if found is None else found

    def value(self, value: Value) -> Value:
        return self.mapping.get(value, value)

    def _enter(self, op: Op, results: tuple[Value, ...]) -> None:
        moved = iter(results[len(op.results) :])
        for result, made in zip(op.results, results, strict=False):
            self.mapping[result] = made
            if result in self.varying:
                self.tangents[result] = next(moved)

    def _inner(self) -> TangentWalker:
        return TangentWalker(dict(self.mapping), dict(self.tangents), self.varying)

    def _choice(self, op: If | Case) -> tuple[Value, ...]:
        """The branches give the tangents of what varies behind their results."""
        regions: list[Region] = []
        for region in op.regions:
            with Builder(block := Block()):
                inner = self._inner()
                inner.run(body_of(region))
                returned = region.block.terminator.operands
                pairs = zip(op.results, returned, strict=True)
                moved = [inner.tangent(value) for result, value in pairs if result in self.varying]
                Return((*map(inner.value, returned), *moved))
            regions.append(Region(block))
        return choose(op, self.value(op.operands[0]), regions)

    def _loop(self, op: While) -> tuple[Value, ...]:
        """The loop carries the tangents of what varies behind its values."""
        carried = [place for place, result in enumerate(op.results) if result in self.varying]
        initial = (*map(self.value, op.operands), *(self.tangent(op.operands[place]) for place in carried))
        types = [value.type for value in initial]
        with Builder(cond := Block(types)):
            inner = self._inner()
            inner.mapping.update(zip(op.cond.block.arguments, cond.arguments, strict=False))
            for each in body_of(op.cond):
                each.clone(inner.mapping)
            Return(tuple(map(inner.value, op.cond.block.terminator.operands)))
        with Builder(body := Block(types)):
            inner = self._inner()
            arguments = op.body.block.arguments
            inner.mapping.update(zip(arguments, body.arguments, strict=False))
            moved = body.arguments[len(arguments) :]
            inner.tangents.update((arguments[place], each) for place, each in zip(carried, moved, strict=True))
            inner.run(body_of(op.body))
            following = op.body.block.terminator.operands
            Return((*map(inner.value, following), *(inner.tangent(following[place]) for place in carried)))
        return While(Region(cond), Region(body), initial).results


def choose(op: If | Case, chosen: Value, regions: Sequence[Region]) -> tuple[Value, ...]:
    """The results of a choice between other branches."""
    return (If(chosen, *regions) if isinstance(op, If) else Case(chosen, tuple(regions))).results


def value_function(function: Function, active: Collection[int]) -> Function:
    """The function as `tangent_function` has it: where derivative rules give results in a way of their own, they do."""
    function = function.clone()
    varying = find_varying(function.body, [function.arguments[index] for index in active])
    for op in [*function.walk()]:
        if isinstance(op, CustomDerivative) and any(operand in varying for operand in op.operands):
            assert op.block is not None
            with Builder(op.block, before=op):
                given = tuple(Constant.splat(0, each.type) if each in varying else None for each in op.operands)
                values, _ = op.push_forward(given)
            for old, new in zip(op.results, values, strict=True):
                if old is not new:
                    old.replace_all_uses_with(new)
    remove_dead_code(function.body)
    return function


def tangent_function(function: Function, active: Collection[int], has_results: bool = False) -> Function:
    """What the results change by: a function of all arguments and of the tangents of the active ones.

    It gives one tangent for each result that is of floats or complex numbers, in their order; with `has_results` the
    function's own results before them. Raises NoDerivative.

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
    tangents: dict[Value, Value] = {
        arguments[index]: tangent for index, tangent in zip(chosen, block.arguments[len(types) :], strict=True)
    }
    varying = find_varying(function.body, [arguments[index] for index in chosen])
    with Builder(block):
        walker = TangentWalker(mapping, tangents, varying)
        walker.run(op for op in function.body if not isinstance(op, Terminator))
        returned = function.body.terminator.operands
        results = map(walker.value, returned) if has_results else ()
        Return((*results, *(walker.tangent(value) for value in returned if is_differentiable(value.type))))
    return Function(f"{function.name}_tangent", block)
