"""Reverse mode: the cotangents of operands, from those of results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from windlass.autodiff.activity import find_varying, is_differentiable
from windlass.autodiff.cotangents import Cotangent, moved_mask, settle_all, sum_of_cotangents
from windlass.autodiff.forward import (
    has_partials,
    is_linear_in,
    refuse_captures,
    tangent_function,
    tangents_of,
)
from windlass.autodiff.planning import LoopMemory, Plan, Planning, following
from windlass.autodiff.regions import pull_back_choice, pull_back_loop
from windlass.autodiff.separating import transpose_with
from windlass.ir import Argument, Block, Builder, Function, Op, Value
from windlass.ir.core import Terminator
from windlass.ops import (
    BitcastConvert,
    BroadcastInDim,
    Case,
    Constant,
    If,
    OptimizationBarrier,
    Return,
    Select,
    Transpose,
    While,
    reduce_sum,
)
from windlass.ops.base import NoDerivative, TensorOp


def pull_back(ops: Sequence[Op], active: Collection[Value], seeds: Mapping[Value, Cotangent]) -> dict[Value, Cotangent]:
    """The cotangents of the active values, from those of what the ops compute of them; none where it is zero.

    Ops are placed where the active builder is. Raises NoDerivative.
    """
    reached = set(find_varying(ops, active))
    cotangents = {value: seed for value, seed in seeds.items() if value in reached}
    for op in reversed(ops):
        own = [cotangents.pop(result, None) if result not in active else None for result in op.results]
        if all(each is None for each in own):
            continue
        if isinstance(op, While | If | Case):
            if isinstance(op, While):
                pulled = pull_back_loop(op, own, reached, cotangents, pull_back)
            else:
                pulled = pull_back_choice(op, own, reached, cotangents, pull_back)
            for value, cotangent in pulled.items():
                if value in reached:
                    _add(cotangents, value, cotangent)
            continue
        refuse_captures(op, reached)
        wanted = [operand in reached for operand in op.operands]
        for operand, found in zip(op.operands, cotangents_of(op, own, wanted), strict=True):
            _add(cotangents, operand, found)
    return {value: cotangents[value] for value in active if value in cotangents}


def cotangents_of(op: Op, given: Sequence[Cotangent | None], wanted: Sequence[bool]) -> Sequence[Cotangent | None]:
    """The cotangents of the operands that are wanted, from those of the results; None is zero.

    Raises NoDerivative.
    """
    if not isinstance(op, TensorOp):
        raise NoDerivative(op)
    first = given[0]
    if isinstance(op, Select):
        # Not a product with a mask: what comes back where a side was not taken is zero, whatever it is multiplied by.
        assert first is not None
        sides = [None, first.restricted(op.pred, True), first.restricted(op.pred, False)]
        return [each if is_wanted else None for each, is_wanted in zip(sides, wanted, strict=True)]
    found: list[Cotangent | None] = [None] * len(op.operands)
    if has_partials(op):
        assert first is not None
        for position, operand in enumerate(op.operands):
            product = first.times(op.partial(position)) if wanted[position] else None
            if product is not None:
                found[position] = product if operand.tensor.rank == op.tensor.rank else _summed(op, product, position)
        return found
    if not is_linear_in(op, wanted):
        return _transposed_tangents(op, given, wanted)
    full = tuple(
        Constant.splat(0, result.type) if each is None else each.settle()
        for each, result in zip(given, op.results, strict=True)
    )
    places = [position for position, is_wanted in enumerate(wanted) if is_wanted]
    pulled = [_pullback_by_letters(op, full[0])] if op.follows_letters else op.pullbacks(full, places)
    for position, cotangent in zip(places, pulled, strict=True):
        found[position] = Cotangent(gathered(cotangent, op.operands[position]), moved_mask(op, given, position))
    return found


def _summed(op: TensorOp, cotangent: Cotangent, position: int) -> Cotangent:
    """The cotangent of an operand that is a single number for all places."""
    return Cotangent(gathered(cotangent.settle(), op.operands[position]), moved_mask(op, [cotangent], position))


def _transposed_tangents(
    op: TensorOp, given: Sequence[Cotangent | None], wanted: Sequence[bool]
) -> list[Cotangent | None]:
    """The transpose of the ops that give the tangents: they are linear in those of the operands."""
    tangents = [Argument(operand.type) if each else None for operand, each in zip(op.operands, wanted, strict=True)]
    with Builder(scratch := Block()):
        results = tangents_of(op, tangents)
    seeds: dict[Value, Cotangent] = {}
    for result, cotangent in zip(results, given, strict=True):
        if result is not None:
            _add(seeds, result, cotangent)
    found = transpose_with(pull_back, scratch, [each for each in tangents if each is not None], seeds)
    return [None if each is None else found.get(each) for each in tangents]


def _add(cotangents: dict[Value, Cotangent], value: Value, cotangent: Cotangent | None) -> None:
    """Let a value have one more cotangent, of which None is zero."""
    total = sum_of_cotangents(cotangents.get(value), cotangent)
    if total is not None:
        cotangents[value] = total


def gathered(cotangent: Value, operand: Value) -> Value:
    """The cotangent of an operand that may be a single number for all places."""
    if operand.tensor.rank == cotangent.tensor.rank:
        return cotangent
    return reduce_sum(cotangent, tuple(range(cotangent.tensor.rank)))


def _pullback_by_letters(op: TensorOp, cotangent: Value) -> Value:
    """The transpose of an op of one operand that repeats, permutes and sums, by the letters of its axes."""
    axes = op.axes()
    assert axes is not None
    (own,), (result,) = axes.operands, axes.results
    kept = [letters for letters in result if letters in own and letters]
    value = reduce_sum(cotangent, tuple(axis for axis, letters in enumerate(result) if letters not in kept))
    places = tuple(own.index(letters) for letters in kept)
    shape = op.operands[0].shape
    if places == tuple(range(len(shape))):
        return value
    if sorted(places) == list(range(len(shape))):
        return Transpose(value, tuple(places.index(axis) for axis in range(len(shape))))
    return BroadcastInDim(value, shape, places)


def planned(build: Callable[[], Function], plan: Plan) -> tuple[Function, list[LoopMemory]]:
    """What is built in reverse mode by a plan, and what was planned for each loop.

    Under a budget it is built twice: first to find out what loops would take.

    Raises NotEnoughMemory.
    """
    planning = Planning(plan)
    with following(planning):
        built = build()
    budget = plan.memory
    if budget is not None:
        taken = max((each.working for each in planning.loops), default=0) + sum(each.kept for each in planning.loops)
        if taken > budget:
            planning = Planning(plan, planning.divided())
            with following(planning):
                built = build()
    return built, planning.loops


def pullback_function(function: Function, active: Collection[int], has_results: bool = False) -> Function:
    """The cotangents of the active arguments: a function of all arguments and of the cotangents of the results.

    It takes one cotangent for each result that is of floats or complex numbers, in their order. With `has_results` it
    gives the function's own results before the cotangents. Raises NoDerivative.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Multiply
    >>> block = Block([tensor("f32", 3).type, tensor("f32", 3).type])
    >>> with Builder(block):
    ...     _ = Return((Multiply(*block.arguments),))
    >>> pullback = pullback_function(Function("multiply", block), [0, 1])
    >>> [value.type for value in pullback.body.terminator.operands]
    [tensor<3xf32>, tensor<3xf32>]
    """
    arguments = function.arguments
    returned = function.body.terminator.operands
    types = [argument.type for argument in arguments]
    block = Block([*types, *(value.type for value in returned if is_differentiable(value.type))])
    varying = find_varying(function.body, [arguments[index] for index in active])
    if any(isinstance(value, BitcastConvert) for value in varying):
        return _pullback_by_tangents(function, active, has_results, block)
    mapping: dict[Value, Value] = dict(zip(arguments, block.arguments, strict=False))
    with Builder(block):
        ops = [op.clone(mapping) for op in function.body if not isinstance(op, Terminator)]
        seeds: dict[Value, Cotangent] = {}
        given = iter(block.arguments[len(types) :])
        for value in returned:
            if is_differentiable(value.type):
                _add(seeds, mapping.get(value, value), Cotangent(next(given)))
        chosen = [block.arguments[index] for index in sorted(active)]
        # Where a loop is replaced by one that records, its users are told: this is one for the results.
        given_back = (
            OptimizationBarrier(tuple(mapping.get(value, value) for value in returned)) if has_results else None
        )
        found = pull_back(ops, chosen, seeds)
        results: tuple[Value, ...] = ()
        if given_back is not None:
            results = given_back.operands
            given_back.erase()
        Return((*results, *settle_all(chosen, found)))
    return Function(f"{function.name}_pullback", block)


def _pullback_by_tangents(function: Function, active: Collection[int], has_results: bool, block: Block) -> Function:
    """The transpose of the tangents: where floats travel as integers, only these have a type that is right."""
    tangent = tangent_function(function, active, may_miss=True)
    count = len(function.arguments)
    linear = range(count, len(tangent.arguments))
    transposed = transposed_function(tangent, linear, range(len(tangent.results)))
    with Builder(block):
        own = block.arguments[:count]
        results = function.inline(dict(zip(function.arguments, own, strict=True))) if has_results else ()
        found = transposed.inline(dict(zip(transposed.arguments, block.arguments, strict=True)))
        Return((*results, *found))
    return Function(f"{function.name}_pullback", block)


def transposed_function(function: Function, linear: Collection[int], given: Collection[int]) -> Function:
    """The transpose of a function in arguments that it is linear in.

    It takes the other arguments and a cotangent for each result in `given`, in their order (those of the others are
    zero), and gives the cotangents of the arguments in `linear`. Raises NoDerivative.
    """
    chosen = sorted(linear)
    others = [argument for index, argument in enumerate(function.arguments) if index not in linear]
    returned = [function.body.terminator.operands[index] for index in sorted(given)]
    block = Block([*(each.type for each in others), *(value.type for value in returned)])
    cotangents = block.arguments[len(others) :]
    tangents = [Argument(function.arguments[index].type) for index in chosen]
    mapping: dict[Value, Value] = dict(zip(others, block.arguments, strict=False))
    mapping.update((function.arguments[index], each) for index, each in zip(chosen, tangents, strict=True))
    with Builder(block):
        with Builder(scratch := Block()):
            for op in function.body:
                if not isinstance(op, Terminator):
                    op.clone(mapping)
        seeds: dict[Value, Cotangent] = {}
        for value, cotangent in zip(returned, cotangents, strict=True):
            _add(seeds, mapping.get(value, value), Cotangent(cotangent))
        found = transpose_with(pull_back, scratch, tangents, seeds)
        Return(settle_all(tangents, found))
    return Function(f"{function.name}_transposed", block)
