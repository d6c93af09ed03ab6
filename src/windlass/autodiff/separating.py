"""Linear programs transposed: what does not depend on the values that a program is linear in is computed apart.

That it can be, choices, loops and folds that give both are divided: one gives what varies, another what does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from windlass.autodiff.activity import body_of, find_varying, folds_apart
from windlass.autodiff.cotangents import Cotangent
from windlass.autodiff.forward import choose
from windlass.facts.terms import sources
from windlass.ir import Block, Builder, Op, Region, Value
from windlass.ir.builder import current_builder
from windlass.ops import Case, If, Return, While
from windlass.ops.reduction import Folding
from windlass.rewriting.driver import remove_dead_code

Cotangents: TypeAlias = "dict[Value, Cotangent]"
PullBack: TypeAlias = Callable[[Sequence[Op], Sequence[Value], Mapping[Value, Cotangent]], Cotangents]
"""The cotangents of active values through ops, from those of what is computed of them."""


def transpose_with(
    pull: PullBack, scratch: Block, linear: Sequence[Value], seeds: Mapping[Value, Cotangent]
) -> Cotangents:
    """The cotangents of values that the ops of a block are linear in; none where it is zero.

    What does not depend on these values moves to where the active builder is; the rest of the block is erased.
    """
    varying = set(find_varying(scratch, linear))
    separate(scratch, varying)
    dependent: list[Op] = []
    builder = current_builder()
    for op in list(scratch):
        if any(value in varying for value in sources(op)):
            dependent.append(op)
        else:
            scratch.unlink(op)
            if builder is not None:
                builder.place(op)
    found = pull(dependent, linear, seeds)
    for op in reversed(dependent):
        op.erase()
    return found


def separate(block: Block, varying: set[Value]) -> None:
    """Let what does not vary be computed by choices, loops and folds of their own, at every depth, before those that
    do."""
    for op in list(block):
        if isinstance(op, Folding) and folds_apart(op):
            with Builder(block, before=op):
                _fold_apart(op, varying)
        if isinstance(op, While | If | Case):
            for region in op.regions:
                separate(region.block, varying)
            with Builder(block, before=op):
                _compute_apart(op, varying)


def _fold_apart(op: Folding, varying: set[Value]) -> None:
    """Give those who use folds of what does not vary such results of another op, which has no others."""
    places = [place for place, result in enumerate(op.results) if result not in varying]
    if len(places) == len(op.results) or not any(op.results[place].uses for place in places):
        return
    old, count = op.regions[0].block, len(op.results)
    taken = [old.arguments[place] for place in (*places, *(count + place for place in places))]
    with Builder(block := Block([argument.type for argument in taken])):
        mapping: dict[Value, Value] = dict(zip(taken, block.arguments, strict=True))
        for each in body_of(op.regions[0]):
            each.clone(mapping)
        Return(tuple(mapping[old.terminator.operands[place]] for place in places))
    remove_dead_code(block)
    fields: dict[str, Any] = {field.name: getattr(op, field.name) for field in op.fields}
    for name in ("inputs", "init_values"):
        fields[name] = tuple(fields[name][place] for place in places)
    fields["body"] = Region(block)
    apart = type(op)(**fields)
    for place, result in zip(places, apart.results, strict=True):
        op.results[place].replace_all_uses_with(result)


def _compute_apart(op: While | If | Case, varying: set[Value]) -> None:
    """Give those who use results that do not vary such results of another op, which has no others."""
    places = [place for place, result in enumerate(op.results) if result not in varying]
    if len(places) == len(op.results) or not any(op.results[place].uses for place in places):
        return
    if isinstance(op, While):
        results = _loop_of(op, places)
    else:
        regions: list[Region] = []
        for region in op.regions:
            with Builder(block := Block()):
                mapping: dict[Value, Value] = {}
                for each in body_of(region):
                    each.clone(mapping)
                returned = region.block.terminator.operands
                Return(tuple(mapping.get(returned[place], returned[place]) for place in places))
            remove_dead_code(block)
            regions.append(Region(block))
        results = choose(op, op.operands[0], regions)
    for place, result in zip(places, results, strict=True):
        op.results[place].replace_all_uses_with(result)


def _loop_of(op: While, places: Sequence[int]) -> tuple[Value, ...]:
    """The loop with only the values at these places, which depend on no others."""
    regions: list[Region] = []
    for region in (op.cond, op.body):
        arguments, returned = region.block.arguments, region.block.terminator.operands
        with Builder(block := Block([arguments[place].type for place in places])):
            mapping: dict[Value, Value] = dict(
                zip((arguments[place] for place in places), block.arguments, strict=True)
            )
            for each in body_of(region):
                each.clone(mapping)
            chosen = returned if region is op.cond else [returned[place] for place in places]
            Return(tuple(mapping.get(value, value) for value in chosen))
        remove_dead_code(block)
        regions.append(Region(block))
    cond, body = regions
    return While(cond, body, tuple(op.operands[place] for place in places)).results
