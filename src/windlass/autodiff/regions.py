"""Cotangents through choices and loops: branches are pulled back within, loops go round once more, from end to start.

What a round backwards needs of the values that the loop carried is recorded on the way forwards, and nothing else: not
what is the same in all rounds, not counters, and nothing at all where rounds are linear (recording.py). Where it is not
known before how often the loop goes round, it is counted (rounds.py), and rounds are computed again from checkpoints
(checkpoints.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from windlass.autodiff.activity import body_of, folds_apart, is_differentiable
from windlass.autodiff.checkpoints import Checkpoints
from windlass.autodiff.cotangents import EVERYWHERE, Cotangent, Mask, condition_of, settle_all, sum_of_cotangents
from windlass.autodiff.forward import choose
from windlass.autodiff.recording import INDEX, Recorded, Replay, counting_down, counting_to
from windlass.autodiff.rounds import rounds_by_counter
from windlass.facts.terms import op_of
from windlass.ir import Argument, Block, Builder, Op, Region, Value, tensor_type
from windlass.ir.captures import captures
from windlass.ops import Add, Case, Constant, If, Or, Return, Subtract, While
from windlass.ops.reduction import Folding
from windlass.rewriting.driver import remove_dead_code

Cotangents: TypeAlias = "dict[Value, Cotangent]"
PullBack: TypeAlias = Callable[[Sequence[Op], Sequence[Value], Mapping[Value, Cotangent]], Cotangents]
"""The cotangents of active values through ops, from those of what is computed of them."""

MOST_RECORDED = 1 << 30
"""Bytes. Of a loop that would take more to be recorded, rounds are computed again from checkpoints."""


def pull_back_choice(
    op: If | Case, given: Sequence[Cotangent | None], reached: set[Value], pull: PullBack
) -> Cotangents:
    """The cotangents of what the branches take from outside: a choice between those of each branch.

    Where a branch has none, or one that is zero in places, the choice gives a condition, too.
    """
    wanted = list(dict.fromkeys(value for region in op.regions for value in captures(region) if value in reached))
    if not wanted:
        return {}
    blocks: list[Block] = []
    pulled: list[Cotangents] = []
    for region in op.regions:
        with Builder(block := Block()):
            mapping: dict[Value, Value] = {}
            ops = [each.clone(mapping) for each in body_of(region)]
            returned = [mapping.get(value, value) for value in region.block.terminator.operands]
            pulled.append(pull(ops, wanted, seeds_of(returned, given)))
        blocks.append(block)
    masked = [value for value in wanted if any(value not in found or found[value].mask for found in pulled)]
    regions: list[Region] = []
    for block, found in zip(blocks, pulled, strict=True):
        with Builder(block):
            Return((*settle_all(wanted, found), *(_condition(value, found.get(value), pulled) for value in masked)))
        remove_dead_code(block)
        regions.append(Region(block))
    results = choose(op, op.operands[0], regions)
    conditions = dict(zip(masked, results[len(wanted) :], strict=True))
    return {
        value: Cotangent(result, frozenset({(conditions[value], True)}) if value in conditions else EVERYWHERE)
        for value, result in zip(wanted, results, strict=False)
    }


def _condition(value: Value, cotangent: Cotangent | None, pulled: Sequence[Cotangents]) -> Value:
    """Where a branch gives a cotangent of the value: a single boolean, if each does so everywhere or nowhere."""
    if cotangent is not None and cotangent.mask:
        return condition_of(cotangent.mask, value.tensor)
    has_places = any(value in found and found[value].mask for found in pulled)
    return Constant.of(cotangent is not None, "i1", value.shape if has_places else ())


def seeds_of(values: Sequence[Value], given: Sequence[Cotangent | None]) -> Cotangents:
    """Cotangents by value: those of a value that is returned several times are added."""
    seeds: Cotangents = {}
    for value, cotangent in zip(values, given, strict=True):
        total = sum_of_cotangents(seeds.get(value), cotangent)
        if total is not None and is_differentiable(value.type):
            seeds[value] = total
    return seeds


class _Round(NamedTuple):
    """A round backwards: a block of what the loop carries, of cotangents, and of where some of these are not zero.

    It gives the cotangents of the values carried in, what it adds to those of the values `outside`, and where these are
    not zero: of the carried values at the places in `masked`, and of the outside values in `parts`. `same` are masks
    of outside values that are the same in all rounds. `used` are the places of the carried values that it needs.
    """

    block: Block
    used: list[int]
    masked: list[int]
    outside: list[Value]
    parts: list[Value]
    same: dict[Value, Mask]


def pull_back_loop(op: While, given: Sequence[Cotangent | None], reached: set[Value], pull: PullBack) -> Cotangents:
    """The cotangents of what a loop begins with and takes from outside."""
    rounds = rounds_by_counter(op)
    active = [place for place, result in enumerate(op.results) if result in reached]
    if rounds == 0:
        return seeds_of([op.operands[place] for place in active], [given[place] for place in active])
    backwards = _round_backwards(op, active, given, reached, pull)
    rounds, replay = _replay(op, backwards.used, rounds, reached)
    outside, masked, parts = backwards.outside, backwards.masked, backwards.parts
    seeds = [given[place] or Cotangent(Constant.splat(0, op.operands[place].type)) for place in active]
    # Rounds that are known before are counted from 0, others down from their number.
    first = Constant.of(0, INDEX.dtype) if isinstance(rounds, int) else rounds
    parts_of_state = [
        [first],
        [seed.settle() for seed in seeds],
        [Constant.splat(0, value.type) for value in outside],
        [_condition_at_end(op, place, given[place]) for place in masked],
        [Constant.of(False, "i1", value.shape) for value in parts],
        replay.initial(),
    ]
    initial = [value for part in parts_of_state for value in part]
    with Builder(body := Block([value.type for value in initial])):
        arguments = iter(body.arguments)
        (index,), cotangents, totals, conditions, reaches, kept = [
            list(islice(arguments, len(part))) for part in parts_of_state
        ]
        one = Constant.of(1, index.dtype)
        if isinstance(rounds, int):
            place, following = Subtract(Constant.of(rounds - 1, INDEX.dtype), index), Add(index, one)
        else:
            place = following = Subtract(index, one)
        values, kept = replay.enter(kept, place)
        mapping: dict[Value, Value] = {backwards.block.arguments[each]: value for each, value in values.items()}
        mapping.update(zip(backwards.block.arguments[len(op.operands) :], [*cotangents, *conditions], strict=True))
        for each in backwards.block:
            if each is not backwards.block.terminator:
                each.clone(mapping)
        found = iter([mapping.get(value, value) for value in backwards.block.terminator.operands])
        Return(
            (
                following,
                *islice(found, len(active)),
                *[Add(total, each) for total, each in zip(totals, islice(found, len(outside)), strict=True)],
                *islice(found, len(masked)),
                *[Or(reach, each) for reach, each in zip(reaches, found, strict=True)],
                *kept,
            )
        )
    _erase(backwards.block)
    cond = counting_to(rounds, body) if isinstance(rounds, int) else counting_down(body)
    results = While(cond, Region(body), tuple(initial)).results
    conditions = dict(zip([*masked, *parts], results[len(active) + len(outside) + 1 :], strict=False))
    masks = {key: frozenset({(condition, True)}) for key, condition in conditions.items()} | backwards.same
    keys = [*zip((op.operands[place] for place in active), active, strict=True), *zip(outside, outside, strict=True)]
    return seeds_of(
        [value for value, _ in keys],
        [Cotangent(each, masks.get(key, EVERYWHERE)) for (_, key), each in zip(keys, results[1:], strict=False)],
    )


def _replay(
    op: While, used: Sequence[int], rounds: int | Value | None, reached: set[Value]
) -> tuple[int | Value, Replay]:
    """How often the loop goes round, and how the carried values at the places used are found again."""
    if isinstance(rounds, int):
        if rounds * Recorded.bytes_of_round(op, used) <= MOST_RECORDED:
            return rounds, Recorded(op, used, rounds, reached)
        replay = Checkpoints(op, used, MOST_RECORDED, rounds)
        replay.begin()
        return rounds, replay
    replay = Checkpoints(op, used)
    if rounds is None:
        return replay.begin_counting(), replay
    replay.begin()
    return rounds, replay


def _condition_at_end(op: While, place: int, cotangent: Cotangent | None) -> Value:
    type_ = op.operands[place].tensor
    if cotangent is None:
        return Constant.of(False, "i1", type_.shape)
    return condition_of(cotangent.mask, type_)


def _round_backwards(
    op: While, active: Sequence[int], given: Sequence[Cotangent | None], reached: set[Value], pull: PullBack
) -> _Round:
    """One round; where cotangents are zero is carried along where that is known of the first, and stays known."""
    carried = op.body.block.arguments
    outside = [value for value in captures(op.body) if value in reached]
    masked: list[int] = []
    if any(each is not None and each.mask for each in given):
        masked = [place for place in active if (each := given[place]) is None or each.mask]
    while True:
        kinds = [*(carried[place].type for place in active), *(tensor_type(carried[p].shape, "i1") for p in masked)]
        block = Block([*(value.type for value in carried), *kinds])
        cotangents = dict(zip(active, block.arguments[len(carried) :], strict=False))
        conditions = dict(zip(masked, block.arguments[len(carried) + len(active) :], strict=True))
        with Builder(block):
            mapping: dict[Value, Value] = dict(zip(carried, block.arguments, strict=False))
            ops = [each.clone(mapping) for each in body_of(op.body)]
            following = [mapping.get(value, value) for value in op.body.block.terminator.operands]
            masks = {place: frozenset({(condition, True)}) for place, condition in conditions.items()}
            seeds = seeds_of(
                [following[place] for place in active],
                [Cotangent(each, masks.get(place, EVERYWHERE)) for place, each in cotangents.items()],
            )
            found = pull(ops, [*(block.arguments[place] for place in active), *outside], seeds)
            kept = [place for place in masked if (each := found.get(block.arguments[place])) is None or each.mask]
            if kept == masked:
                break
        _erase(block)
        masked = kept
    outside = [value for value in outside if value in found]
    same = {value: found[value].mask for value in outside if _is_known_before(found[value].mask, block)}
    parts = [value for value in outside if found[value].mask and value not in same]
    taken = [block.arguments[place] for place in active]
    with Builder(block):
        Return(
            (
                *settle_all([*taken, *outside], found),
                *(_condition_of_place(block.arguments[place], found) for place in masked),
                *(condition_of(found[value].mask, value.tensor) for value in parts),
            )
        )
    remove_dead_code(block)
    used = [place for place in range(len(carried)) if block.arguments[place].uses]
    return _Round(block, used, masked, outside, parts, same)


def _condition_of_place(value: Value, found: Cotangents) -> Value:
    return condition_of(found[value].mask, value.tensor) if value in found else Constant.of(False, "i1", value.shape)


def _is_known_before(mask: Mask, block: Block) -> bool:
    """Whether the conditions do not depend on the round that the block is."""
    owners = [value.block if isinstance(value, Argument) else op_of(value) for value, _ in mask]
    return all(owner is not block and getattr(owner, "block", None) is not block for owner in owners)


def _erase(block: Block) -> None:
    for each in reversed(list(block)):
        each.erase()


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
