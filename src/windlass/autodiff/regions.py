"""Cotangents through choices and loops: branches are pulled back within, loops go round once more, from end to start.

What a round backwards needs of the values that the loop carried is recorded on the way forwards, and nothing else: not
what is the same in all rounds, not counters, and nothing at all where rounds are linear (recording.py). Where it is not
known before how often the loop goes round, it is counted (rounds.py), and rounds are computed again from checkpoints
(checkpoints.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from windlass.autodiff.activity import body_of, is_differentiable
from windlass.autodiff.checkpoints import LARGE_STATE, MOST, USUAL_BYTES, Checkpoints, places_within
from windlass.autodiff.cotangents import (
    EVERYWHERE,
    Cotangent,
    Mask,
    added,
    condition_of,
    settle_all,
    sum_of_cotangents,
)
from windlass.autodiff.forward import choose
from windlass.autodiff.keeping import most_at_once
from windlass.autodiff.planning import MOST_RECORDED, Demand, LoopMemory, current_planning
from windlass.autodiff.recording import (
    INDEX,
    Recorded,
    Replay,
    Round,
    clone_behind,
    counting_down,
    counting_to,
    values_to_keep,
)
from windlass.autodiff.rounds import in_segments, rounds_by_counter
from windlass.autodiff.separating import Cotangents, PullBack, transpose_with
from windlass.facts.terms import op_of, sources
from windlass.ir import Argument, Block, Builder, Region, TensorType, Value, tensor_type
from windlass.ir.builder import current_builder
from windlass.ir.captures import captures
from windlass.ir.core import Terminator
from windlass.ops import Add, Case, Constant, If, OptimizationBarrier, Or, Return, Subtract, While
from windlass.rewriting.driver import remove_dead_code


def pull_back_choice(
    op: If | Case, given: Sequence[Cotangent | None], reached: set[Value], begun: Cotangents, pull: PullBack
) -> Cotangents:
    """The cotangents of what the branches take from outside: a choice between those of each branch.

    Where a branch has none, or one that is zero in places, the choice gives a condition, too. Those of `begun` that the
    branches can add to are taken from there.
    """
    wanted = list(dict.fromkeys(value for region in op.regions for value in captures(region) if value in reached))
    if not wanted:
        return {}
    known = take_everywhere(wanted, begun)
    blocks: list[Block] = []
    pulled: list[Cotangents] = []
    for region in op.regions:
        with Builder(block := Block()):
            mapping: dict[Value, Value] = {}
            ops = [each.clone(mapping) for each in body_of(region)]
            returned = [mapping.get(value, value) for value in region.block.terminator.operands]
            seeds = seeds_of(returned, given)
            for value, cotangent in known.items():
                seeds[value] = sum_of_cotangents(seeds.get(value), cotangent) or cotangent
            pulled.append(pull(ops, wanted, seeds))
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


class _Backwards(NamedTuple):
    """A round backwards: a block of what the loop carries, of cotangents, of where some of these are not zero, and of
    the cotangents so far of the values `outside`.

    It gives the cotangents of the values carried in, those of the values `outside` with what the round adds to them,
    and where they are not zero: of the carried values at the places in `masked`, and of the outside values in `parts`,
    in this round. `same` are masks of outside values that are the same in all rounds.
    """

    round: Round
    given: tuple[Value, ...]
    """The block's arguments but for what the loop carries."""
    masked: list[int]
    outside: list[Value]
    parts: list[Value]
    same: dict[Value, Mask]


def pull_back_loop(
    op: While, given: Sequence[Cotangent | None], reached: set[Value], begun: Cotangents, pull: PullBack
) -> Cotangents:
    """The cotangents of what a loop begins with and takes from outside.

    Those of `begun` that the loop can add to are taken from there.
    """
    rounds = rounds_by_counter(op)
    active = [place for place, result in enumerate(op.results) if result in reached]
    if rounds == 0:
        return seeds_of([op.operands[place] for place in active], [given[place] for place in active])
    planning = current_planning()
    if isinstance(rounds, int) and 1 < planning.segment() < rounds:
        return _pull_back_segments(op, given, rounds, reached, pull)
    given = _continued(op, given, begun)
    backwards = _round_backwards(op, active, given, reached, pull)
    working = _working(backwards)
    rounds, replay = _replay(backwards.round, rounds, working, reached)
    outside, masked, parts = backwards.outside, backwards.masked, backwards.parts
    seeds = [given[place] or Cotangent(Constant.splat(0, op.operands[place].type)) for place in active]
    # Rounds that are known before are counted from 0, others down from their number.
    first = Constant.of(0, INDEX.dtype) if isinstance(rounds, int) else rounds
    known = take_everywhere([value for value in outside if value not in parts and value not in backwards.same], begun)
    parts_of_state = [
        [first],
        [seed.settle() for seed in seeds],
        [_condition_at_end(op, place, given[place]) for place in masked],
        [known[value].value if value in known else Constant.splat(0, value.type) for value in outside],
        [Constant.of(False, "i1", value.shape) for value in parts],
        replay.initial(),
    ]
    initial = [value for part in parts_of_state for value in part]
    with Builder(body := Block([value.type for value in initial])):
        arguments = iter(body.arguments)
        (index,), cotangents, conditions, totals, reaches, kept = [
            list(islice(arguments, len(part))) for part in parts_of_state
        ]
        one = Constant.of(1, index.dtype)
        if isinstance(rounds, int):
            place, following = Subtract(Constant.of(rounds - 1, INDEX.dtype), index), Add(index, one)
        else:
            place = following = Subtract(index, one)
        mapping, kept = replay.enter(kept, place)
        mapping.update(zip(backwards.given, [*cotangents, *conditions, *totals], strict=True))
        block = backwards.round.block
        clone_behind(block.terminator.operands, block, mapping)
        found = iter([mapping.get(value, value) for value in block.terminator.operands])
        Return(
            (
                following,
                *islice(found, len(active) + len(masked) + len(outside)),
                *[Or(reach, each) for reach, each in zip(reaches, found, strict=True)],
                *kept,
            )
        )
    _erase(block)
    cond = counting_to(rounds, body) if isinstance(rounds, int) else counting_down(body)
    results = iter(While(cond, Region(body), tuple(initial)).results[1:])
    (of_active, of_masked, of_outside, of_parts) = [
        list(islice(results, len(each))) for each in (active, masked, outside, parts)
    ]
    conditions = dict(zip([*masked, *parts], [*of_masked, *of_parts], strict=True))
    masks = {key: frozenset({(condition, True)}) for key, condition in conditions.items()} | backwards.same
    keys = [*zip((op.operands[place] for place in active), active, strict=True), *zip(outside, outside, strict=True)]
    return seeds_of(
        [value for value, _ in keys],
        [
            Cotangent(each, masks.get(key, EVERYWHERE))
            for (_, key), each in zip(keys, [*of_active, *of_outside], strict=True)
        ],
    )


def _continued(op: While, given: Sequence[Cotangent | None], begun: Cotangents) -> list[Cotangent | None]:
    """The cotangents of the results; of what the loop carries unchanged, with those that there are of it already."""
    pairs = zip(op.operands, op.body.block.arguments, op.body.block.terminator.operands, given, strict=True)
    return [
        sum_of_cotangents(each, take_everywhere([operand], begun).get(operand))
        if following is argument and (each is None or not each.mask)
        else each
        for operand, argument, following, each in pairs
    ]


def take_everywhere(values: Iterable[Value], begun: Cotangents) -> Cotangents:
    """Those of the cotangents of these values that hold everywhere, which are taken out: they are to be added to."""
    return {value: begun.pop(value) for value in values if value in begun and not begun[value].mask}


def _replay(round_: Round, rounds: int | Value | None, working: int, reached: set[Value]) -> tuple[int | Value, Replay]:
    """How often the loop goes round, and how what is needed of a round is found again, by the plan."""
    planning = current_planning()
    ways = [values_to_keep(round_, is_least) for is_least in (False, True)]
    if planning.is_sparing:
        ways = ways[1:]
    of_state = Checkpoints.bytes_of_state(round_)
    known = rounds if isinstance(rounds, int) else None
    of_rounds = [sum(value.tensor.bytes for value in kept) for kept in ways]
    recorded = [MOST * of_state if known is None else known * each for each in of_rounds]
    # One state beside that of the round at hand, and the two that it is computed again with.
    least = 4 * of_state
    allowance = planning.allowance(Demand(recorded[0], recorded[-1] if known else least, least, working))
    places = planning.places()
    most = (planning.plan.memory or MOST_RECORDED) if allowance is None else allowance
    position = round_.op.source
    if known is not None and places is None:
        for kept, each, total in zip(ways, of_rounds, recorded, strict=True):
            if total <= most:
                planning.loops.append(LoopMemory(position, "recorded", known, each, total, working))
                return known, Recorded(round_, known, kept, reached)
    is_asked = places is not None or allowance is not None
    if places is None and allowance is not None:
        places = max((allowance - least) // max(of_state, 1) + 1, 1)
        # With more there is little to gain, and where to keep each round takes the longer the more there are.
        places = places if known is not None else min(places, MOST)
    bytes_ = USUAL_BYTES if known is None else MOST_RECORDED
    replay = Checkpoints(round_, places_within(bytes_, of_state) if places is None else places, known)
    kept = (replay.places + 1) * of_state
    planning.loops.append(LoopMemory(position, "states", known, of_state, kept, working))
    if rounds is None:
        is_online = is_asked or of_state >= LARGE_STATE
        return replay.begin_online() if is_online else replay.begin_counting(), replay
    replay.begin()
    return rounds, replay


def _condition_at_end(op: While, place: int, cotangent: Cotangent | None) -> Value:
    type_ = op.operands[place].tensor
    if cotangent is None:
        return Constant.of(False, "i1", type_.shape)
    return condition_of(cotangent.mask, type_)


def _round_backwards(
    op: While, active: Sequence[int], given: Sequence[Cotangent | None], reached: set[Value], pull: PullBack
) -> _Backwards:
    """One round; where cotangents are zero is carried along where that is known of the first, and stays known."""
    carried = op.body.block.arguments
    outside = [value for value in captures(op.body) if value in reached]
    masked: list[int] = []
    if any(each is not None and each.mask for each in given):
        masked = [place for place in active if (each := given[place]) is None or each.mask]
    inner = _captured_within(op.body)
    begun: set[Value] = set()
    planning = current_planning()
    count = len(planning.demands)
    while True:
        planning.forget_since(count)
        kinds = [*(carried[place].type for place in active), *(tensor_type(carried[p].shape, "i1") for p in masked)]
        block = Block([*(value.type for value in carried), *kinds, *(value.type for value in outside)])
        arguments = iter(block.arguments[len(carried) :])
        cotangents, conditions, totals = (
            dict(zip(each, islice(arguments, len(each)), strict=True)) for each in (active, masked, outside)
        )
        with Builder(block):
            mapping: dict[Value, Value] = dict(zip(carried, block.arguments, strict=False))
            ops = [each.clone(mapping) for each in body_of(op.body)]
            following = [mapping.get(value, value) for value in op.body.block.terminator.operands]
            masks = {place: frozenset({(condition, True)}) for place, condition in conditions.items()}
            seeds = seeds_of(
                [following[place] for place in active],
                [Cotangent(each, masks.get(place, EVERYWHERE)) for place, each in cotangents.items()],
            )
            # Where a loop is replaced by one that records, its users are told.
            users = OptimizationBarrier(tuple(mapping.values()))
            for value in begun:
                seeds[value] = Cotangent(totals[value])
            with planning.deeper():
                found = pull(ops, [*(block.arguments[place] for place in active), *outside], seeds)
            originals = dict(zip(users.operands, mapping, strict=True))
            users.erase()
        kept = [place for place in masked if (each := found.get(block.arguments[place])) is None or each.mask]
        # What loops and choices within add to is given to them; not where something has to be known of the sum.
        adding = {value for value in outside if value in inner and value in found and not found[value].mask}
        if kept == masked and adding <= begun:
            break
        _erase(block)
        masked, begun = kept, adding | begun
    outside = [value for value in outside if value in found]
    same = {value: found[value].mask for value in outside if _is_known_before(found[value].mask, block)}
    parts = [value for value in outside if found[value].mask and value not in same]
    same = {value: mask for value, mask in same.items() if mask}
    with Builder(block):
        Return(
            (
                *settle_all([block.arguments[place] for place in active], found),
                *(_condition_of_place(block.arguments[place], found) for place in masked),
                *(
                    found[value].settle() if value in begun else added(totals[value], found[value].settle())
                    for value in outside
                ),
                *(condition_of(found[value].mask, value.tensor) for value in parts),
            )
        )
    remove_dead_code(block)
    own = (*cotangents.values(), *conditions.values(), *(totals[value] for value in outside))
    return _Backwards(Round(op, block, _needed(block, own), originals), own, masked, outside, parts, same)


def _pull_back_segments(
    op: While, given: Sequence[Cotangent | None], rounds: int, reached: set[Value], pull: PullBack
) -> Cotangents:
    """The cotangents of a loop of segments of rounds: of these, each is recorded when its turn comes."""
    planning = current_planning()
    wanted = list(dict.fromkeys(value for value in sources(op) if value in reached))
    builder = current_builder()
    is_transposed = builder is None or builder.block is not op.block
    block = Block() if is_transposed else op.block
    assert block is not None
    with Builder(block, before=None if is_transposed else op):
        loops = in_segments(op, rounds, planning.segment())
    results = loops[-1].results[1:]
    seeds = {result: each for result, each in zip(results, given, strict=True) if each is not None}
    with planning.sparing(), planning.deeper():
        if is_transposed:
            return transpose_with(pull, block, wanted, seeds)
        for old, new in zip(op.results, results, strict=True):
            old.replace_all_uses_with(new)
        return pull(loops, wanted, seeds)


def _working(backwards: _Backwards) -> int:
    """What a loop and its way back carry and compute with, in bytes, about: twice what is carried, and the values of a
    round that are there at once."""
    carried = sum(value.tensor.bytes for value in backwards.round.op.operands)
    return 2 * (carried + sum(value.tensor.bytes for value in backwards.given)) + most_at_once(backwards.round.block)


def _needed(block: Block, given: Sequence[Value]) -> list[Value]:
    """What the ops that depend on what is given, and the block's results, take from those that don't."""
    dependent: set[Value] = set(given)
    needed: dict[Value, None] = {}
    for op in block:
        inputs = sources(op)
        if isinstance(op, Terminator) or any(value in dependent for value in inputs):
            needed.update((value, None) for value in inputs)
            dependent.update(op.results)
    return [value for value in needed if value not in dependent]


def _captured_within(region: Region) -> set[Value]:
    """What loops and choices of the region take from outside of it."""
    return {
        value
        for op in region.block
        if isinstance(op, While | If | Case)
        for inner in op.regions
        for value in captures(inner)
        if isinstance(value.type, TensorType)
    }


def _condition_of_place(value: Value, found: Cotangents) -> Value:
    return condition_of(found[value].mask, value.tensor) if value in found else Constant.of(False, "i1", value.shape)


def _is_known_before(mask: Mask, block: Block) -> bool:
    """Whether the conditions do not depend on the round that the block is."""
    owners = [value.block if isinstance(value, Argument) else op_of(value) for value, _ in mask]
    return all(owner is not block and getattr(owner, "block", None) is not block for owner in owners)


def _erase(block: Block) -> None:
    for each in reversed(list(block)):
        each.erase()
