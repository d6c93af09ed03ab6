"""What it takes to make the folds that a block's threads hold: which leaves, by which op, in which form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from windlass.ir import Argument, Op, Terminator, Value
from windlass.ir.values import Result
from windlass.ops.combiners import FoldKind
from windlass.ops.elementwise import Add
from windlass.raising.block_execution import BlockExecution
from windlass.raising.block_values import Candidate, CellLeaves
from windlass.raising.fold_forms import FoldForm, find_forms
from windlass.raising.partial_folds import FOLD, NUMBER, Array


@dataclass(frozen=True, eq=False)
class FoldPart:
    """The leaves of one source in a fold: what a value is in the threads, or what a memory holds after an op.

    Without a form each thread has its own leaf.
    """

    source: Value
    moment: Op | None
    form: FoldForm | None


@dataclass(frozen=True, eq=False)
class Recipe:
    """How to make a fold. `is_seeded` says that a neutral number is combined in, which may leave a trace.

    Threads are counted round by round where there is a `counter` of rounds.
    """

    value: Value
    kind: FoldKind
    parts: tuple[FoldPart, ...]
    is_seeded: bool
    counter: Value | None


@dataclass(eq=False)
class _Share:
    """What the threads have of the leaves of one source, of which there are `most`."""

    source: Value
    moment: Op | None
    sets: Sequence[int]
    threads: Array
    most: int
    is_own: bool = False
    form: FoldForm | None = None


@dataclass(eq=False)
class _Draft:
    """A recipe whose shares have no forms yet."""

    candidate: Candidate
    kind: FoldKind
    shares: list[_Share]
    is_seeded: bool
    is_renamed: bool


FEWEST_LEAVES = 8
"""Segments of fewer leaves are combined as they are spelled."""

MOST_SETS = 1 << 14
"""Folds of more threads, times the rounds of the loops around, take too long to look at."""


def find_recipes(execution: BlockExecution) -> list[tuple[Recipe, Op]]:
    """How to make the candidates that can be made, each with its user."""
    drafts = [_draft(execution, each) for each in execution.candidates]
    if any(draft is not None and draft.is_renamed for draft in drafts):
        # Folds of the same leaves are best made together, and so called by the same names.
        renamed = [_draft(execution, each, renames=True) for each in execution.candidates]
        drafts = [two or one for one, two in zip(drafts, renamed, strict=True)]
    kept = [draft for draft in drafts if draft is not None]
    groups: dict[tuple[Value, Op | None, FoldKind], list[_Share]] = {}
    for draft in kept:
        for share in draft.shares:
            if not share.is_own:
                groups.setdefault((share.source, share.moment, draft.kind), []).append(share)
        if draft.kind.combiner is Add:
            # Of several sums some of which begin with 0.0, all may.
            draft.is_seeded = any(other.is_seeded for other in kept if other.kind is draft.kind)
    for group in groups.values():
        forms = find_forms([(share.sets, share.threads) for share in group], group[0].most) if len(group) > 1 else None
        for number, share in enumerate(group):
            alone = None if forms else find_forms([(share.sets, share.threads)], share.most)
            share.form = forms[number] if forms else alone[0] if alone else None
    found: list[tuple[Recipe, Op]] = []
    for draft in kept:
        shares = draft.shares
        forms = [share.form for share in shares if not share.is_own]
        if None in forms or not any(form and form.scheme.length >= FEWEST_LEAVES for form in forms):
            continue
        parts = tuple(FoldPart(share.source, share.moment, share.form) for share in shares)
        found.append(
            (
                Recipe(draft.candidate.value, draft.kind, parts, draft.is_seeded, draft.candidate.counter),
                draft.candidate.user,
            )
        )
    return found


def maker_of(value: Value) -> Op:
    """The op that a value is a result of, or the first op of the block that it is a parameter of."""
    if isinstance(value, Argument):
        assert value.block is not None and value.block.first is not None
        return value.block.first
    assert isinstance(value, Op | Result)
    return value if isinstance(value, Op) else value.owner


def _draft(execution: BlockExecution, candidate: Candidate, renames: bool = False) -> _Draft | None:
    """What the active threads hold; where a block ends with the candidate, what all threads hold that have it.

    Leaves of threads that were stored to shared memory are called leaves of cells if that is asked for, or needed.
    """
    partials, active, point = candidate.partials, candidate.active, candidate.point
    if isinstance(candidate.user, Terminator):
        if isinstance(candidate.value, Argument) or maker_of(candidate.value) not in execution.defined:
            return None
        active, point = execution.defined[maker_of(candidate.value)]
    threads = np.flatnonzero(active)
    mine = partials.take(threads)
    folds = mine.status == FOLD
    kinds = {kind for kind in mine.kinds[folds] if kind is not None}
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    numbers = mine.status == NUMBER
    if not (folds | (numbers & kind.is_neutral(mine.numbers))).all():
        return None
    seeded = mine.is_seeded[folds]
    if kind.prefers_numbers and (numbers.any() or seeded.any() != seeded.all()):
        return None
    sets = [int(each) if is_fold else 0 for each, is_fold in zip(mine.sets, folds, strict=True)]
    if len(sets) > MOST_SETS or max(each.bit_count() for each in sets) < FEWEST_LEAVES:
        return None
    shares = _shares(execution, sets, threads, point)
    is_renamed = renames or shares is None or sum(not share.is_own for share in shares) > 1
    if is_renamed:
        # Several values of each thread may be side by side in one memory.
        stored = _shares(execution, _as_stored(execution, sets, threads), threads, point)
        is_renamed = stored is not None
        shares = stored or shares
    is_seeded = bool(seeded.any()) or (kind.may_be_seeded and bool(numbers.any()))
    return None if shares is None else _Draft(candidate, kind, shares, is_seeded, is_renamed)


def _shares(execution: BlockExecution, sets: Sequence[int], threads: Array, point: int) -> list[_Share] | None:
    """The sets of leaves by source, at some point; None where what cells held at different times goes together."""
    found: list[_Share] = []
    cells: dict[Value, list[CellLeaves]] = {}
    for leaves in execution.leaves:
        if isinstance(leaves, CellLeaves):
            cells.setdefault(leaves.cells.allocation, []).append(leaves)
            continue
        own = _cut(sets, leaves.first, execution.count)
        if any(own):
            is_own = _is_own(own, threads, execution.count)
            found.append(_Share(leaves.value, None, own, threads, execution.count, is_own))
    for allocation, generations in cells.items():
        together, seen = [0] * len(sets), 0
        birth, death = -1, point + 1
        for leaves in generations:
            own = _cut(sets, leaves.first, len(leaves.births))
            union = 0
            for each in own:
                union |= each
            if union & seen:
                return None
            if union:
                seen |= union
                places = [place for place in range(union.bit_length()) if union >> place & 1]
                birth = max(birth, int(leaves.births[places].max()))
                death = min(death, int(leaves.deaths[places].min()))
                together = [one | other for one, other in zip(together, own, strict=True)]
        if not seen:
            continue
        if death <= birth:
            return None
        # The last moment at which anything came to the memory is the same for as many folds as possible.
        births = np.concatenate([leaves.births for leaves in generations])
        moment = int(births[births < death].max())
        found.append(_Share(allocation, execution.points[moment], together, threads, len(generations[0].births)))
    return found


def _as_stored(execution: BlockExecution, sets: Sequence[int], threads: Array) -> list[int]:
    """The sets with leaves of cells in place of those of values all of which were stored to one memory."""
    found = list(sets)
    for leaves in execution.leaves:
        if isinstance(leaves, CellLeaves):
            continue
        own = _cut(sets, leaves.first, execution.count)
        union = 0
        for each in own:
            union |= each
        used = [thread for thread in range(union.bit_length()) if union >> thread & 1]
        homes = [execution.homes.get(leaves.first + thread, -1) for thread in used]
        if _is_own(own, threads, execution.count) or -1 in homes:
            continue
        start = 0
        for place in range(1, len(used) + 1):
            # Neighbours that stay neighbours go together.
            if place < len(used) and homes[place] - homes[start] == used[place] - used[start]:
                continue
            width, old = used[place - 1] - used[start] + 1, leaves.first + used[start]
            mask = (1 << width) - 1
            found = [each & ~(mask << old) | (each >> old & mask) << homes[start] for each in found]
            start = place
    return found


def _is_own(sets: Sequence[int], threads: Array, count: int) -> bool:
    """Whether each of `count` threads has its own leaf alone."""
    return all(each == 1 << int(thread) % count for each, thread in zip(sets, threads, strict=True))


def _cut(sets: Sequence[int], first: int, count: int) -> list[int]:
    """The part of each set that is of so many leaves from the first on, which is number 0 then."""
    mask = (1 << count) - 1
    return [each >> first & mask for each in sets]


@dataclass
class BlockFolds:
    """Where a kernel folds over blocks.

    `uses` are the ops that take a fold, and which; `definitions` the ops whose results are folds wherever they are
    used. `captures` says after which ops to remember what a shared memory holds or a value is.
    """

    uses: dict[Op, list[Recipe]] = field(default_factory=dict["Op", "list[Recipe]"])
    definitions: dict[Op, list[Recipe]] = field(default_factory=dict["Op", "list[Recipe]"])
    captures: dict[Op, list[Value]] = field(default_factory=dict["Op", "list[Value]"])
    openings: dict[Op, list[Value]] = field(default_factory=dict["Op", "list[Value]"])
    """Parameters of a loop's body to be remembered before its first op."""
    ops: frozenset[Op] = frozenset()
    """All ops at which something is to be done."""
