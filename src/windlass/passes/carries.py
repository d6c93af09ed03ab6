"""Loops made anew with fewer carried values, or with other values in their regions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from windlass.facts.terms import op_of
from windlass.ir import Block, Builder, Op, Region, Value
from windlass.ops import Return, While


def copy_block(
    block: Block,
    kept: Sequence[int],
    mapping: Mapping[Value, Value],
    yielded: Sequence[int] | None = None,
    left_out: Collection[Op] = (),
) -> Block:
    """The block with only the `kept` parameters; `mapping` gives others, and values that are known elsewhere.

    It returns what it returned at the places `yielded` (None: all). Ops that are left out have their values in
    `mapping`, or these are not needed.
    """
    return _copy(block, kept, dict(mapping), yielded, left_out)


def _copy(
    block: Block,
    kept: Sequence[int],
    known: dict[Value, Value],
    yielded: Sequence[int] | None,
    left_out: Collection[Op],
) -> Block:
    """As `copy_block`; what stands for each value in the copy enters `known`."""
    new = Block([block.arguments[place].type for place in kept], [block.arguments[place].name for place in kept])
    known.update((block.arguments[place], made) for place, made in zip(kept, new.arguments, strict=True))
    with Builder(new):
        for op in block:
            if op is block.last or op in left_out:
                continue
            op.clone(known)
        given = block.terminator.operands
        places = range(len(given)) if yielded is None else yielded
        Return(tuple(known.get(given[place], given[place]) for place in places))
    return new


def rebuild_loop(
    loop: While,
    kept: Sequence[int],
    mapping: Mapping[Value, Value] | None = None,
    left_out: Collection[Op] = (),
    results: Mapping[int, Value] | None = None,
) -> tuple[Value, ...]:
    """The loop carrying only the `kept` values; gives a value for each result of the old one.

    `mapping` gives the values in the regions that stand for others, and are equal to them; `results` those of carries
    that are not kept (their initial values, where it has none).
    """
    given = mapping or {}
    blocks: list[Block] = []
    for region, yielded in ((loop.cond, None), (loop.body, kept)):
        known = dict(given)
        blocks.append(_copy(region.block, kept, known, yielded, left_out))
        _hand_over(known, given)
    cond, body = blocks
    made = While(Region(cond), Region(body), tuple(loop.operands[place] for place in kept))
    found = list(loop.operands)
    for place, value in (results or {}).items():
        found[place] = value
    for place, result in zip(kept, made.results, strict=True):
        _tell(loop.results[place], result)
        found[place] = result
    return tuple(found)


def _hand_over(copies: Mapping[Value, Value], given: Mapping[Value, Value]) -> None:
    """Let copies be known as well as what they are copies of: their facts, and that rules have been tried on them."""
    for old, new in copies.items():
        if old in given:
            continue
        _tell(old, new)
        op, copy = op_of(old), op_of(new)
        if op is not None and copy is not None:
            copy.was_tried = not op.queued and not op.region_names and _is_same(op, copy, given)


def _tell(old: Value, new: Value) -> None:
    facts = getattr(old, "facts", None)
    if facts is not None:
        new.facts = facts


def _is_same(op: Op, copy: Op, given: Mapping[Value, Value]) -> bool:
    """Whether a copy takes copies only, and as much takes it."""
    for operand in op.operands:
        maker = op_of(operand)
        if operand in given or (maker is not None and any(each in given for each in maker.operands)):
            return False
    return all(len(one.uses) == len(other.uses) for one, other in zip(op.results, copy.results, strict=True))


def arguments_at(loop: While, place: int) -> tuple[Value, Value]:
    """The carried value as the condition and the body see it."""
    return loop.cond.block.arguments[place], loop.body.block.arguments[place]


def run_once(block: Block, arguments: Sequence[Value]) -> tuple[Value, ...]:
    """What the block gives for these arguments, its ops copied to where the active builder is."""
    mapping: dict[Value, Value] = dict(zip(block.arguments, arguments, strict=True))
    for op in block:
        if op is not block.last:
            op.clone(mapping)
    return tuple(mapping.get(value, value) for value in block.terminator.operands)


__all__ = ["arguments_at", "copy_block", "rebuild_loop", "run_once"]
