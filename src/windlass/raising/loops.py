"""Loops: which of the forms that they can take is tried in which order.

All iterations at once is best; short loops may be repeated instead; what remains is a loop of tensor ops.
A form that does not work leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from windlass.affine.index import Index
from windlass.affine.predicate import Predicate
from windlass.ir import Block, Op, Value
from windlass.loops import DoWhile, For
from windlass.raising.blocks import run_block
from windlass.raising.codes import LOOP
from windlass.raising.conditions import merge_items, yielded_dtype
from windlass.raising.items import Item
from windlass.raising.obstacle import Obstacle
from windlass.raising.operands import index_of, predicate_of
from windlass.raising.privatization import has_barrier, stored_to
from windlass.raising.report import LoopNote
from windlass.raising.trail import Attempt
from windlass.raising.vectorization import vectorize
from windlass.raising.while_loops import run_as_while, run_counted_while

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

Form: TypeAlias = "tuple[str, Callable[[], str]]"
"""The name of a form, and what tries it: it gives what the loop became."""

FEW_TRIPS = 4
"""Loops of so few iterations are repeated rather than made a dimension."""
MOST_UNROLLED_TRIPS = 32
MOST_UNROLLED_OPS = 1500
"""Ops of the loop level times iterations that are repeated at most."""


def run_for(state: RaisingState, op: For) -> None:
    """Raise a counted loop in the best form that works.

    Raises Obstacle if none does.
    """
    trips = index_of(state, op.trip_count).simplify(state.box)
    count = trips.value_range(state.box)[1]
    if count <= 0 or state.domain.is_empty:
        for result, initial in zip(op.results, op.initial, strict=True):
            state.environment[result] = state.environment[initial]
        return
    is_static = trips.is_static
    can_unroll = (
        not op.counts_elements
        and is_static
        and count <= (FEW_TRIPS if op.serializes else MOST_UNROLLED_TRIPS)
        and count * weight(op.body.block) <= MOST_UNROLLED_OPS
    )
    forms: list[Form] = []
    if is_static and count > 1 and not op.serializes:
        forms.append(("vectorize", lambda: vectorize(state, op, trips, count, can_unroll)))
    if can_unroll:
        # Barriers in a loop are a sign of tiles: all of them at once may be one contraction. A loop that fills a tile
        # is best as one store, from which loads can be forwarded.
        # Iterations that together with the threads go through rows are one dimension with them, however few they are.
        is_short = (
            count <= FEW_TRIPS
            and not has_barrier(op.body.block)
            and not _fills_tile(state, op)
            and not _begins_at_thread(state, op)
        )
        forms.insert(0 if is_short else len(forms), ("unroll", lambda: _unroll_for(state, op, trips, count)))
    if not op.counts_elements:
        forms.append(("while", lambda: run_counted_while(state, op, trips)))
    try_forms(state, op, forms, count if is_static else None)


def _fills_tile(state: RaisingState, op: For) -> bool:
    """Whether a loop carries no values and stores to shared memory."""
    return not op.initial and bool(stored_to(state, op.body.block))


def _begins_at_thread(state: RaisingState, op: For) -> bool:
    """Whether the loop's length is computed from where a thread begins: `for (i = thread; i < n; i += threads)`."""
    seen: set[Value] = set()
    pending: list[Value] = [op.trip_count]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, Op):
            pending += value.operands
        elif isinstance(item := state.environment.get(value), Index) and item.dimensions:
            return True
    return False


def run_do_while(state: RaisingState, op: DoWhile) -> None:
    """Raise a loop that tests at its end."""
    forms: list[Form] = []
    if weight(op.body.block) <= MOST_UNROLLED_OPS:
        forms.append(("unroll", lambda: _unroll_do_while(state, op)))
    forms.append(("while", lambda: run_as_while(state, op)))
    try_forms(state, op, forms, None)


def try_forms(state: RaisingState, op: For | DoWhile, forms: list[Form], count: int | None) -> None:
    """Take the first form that works."""
    position = op.source or state.position
    failures: list[Obstacle] = []
    attempts: list[Attempt] = []
    moment = state.checkpoint()
    for name, form in forms:
        key = (op, name, len(state.frames))
        failure = state.hopeless.get(key)
        if failure is None:
            state.builder.source = position
            try:
                became = form()
            except Obstacle as obstacle:
                state.restore(moment)
                obstacle.op = obstacle.op or op
                if obstacle.is_final:
                    obstacle.attempts = (*attempts, Attempt(op, name), *obstacle.attempts)
                    raise
                failure = state.hopeless[key] = obstacle
            else:
                reasons = tuple(each.reason for each in failures)
                state.report.loops.append(LoopNote(position, became, count, reasons))
                state.builder.source = position
                return
        failures.append(failure)
        attempts.append(Attempt(op, name, failure.reason))
    decisive = next((place for place, each in enumerate(failures) if each.code != LOOP), len(failures) - 1)
    raise failures[decisive].after((*attempts[:decisive], *attempts[decisive + 1 :]))


def weight(block: Block) -> int:
    """A rough number of the ops that one iteration takes; loops inside count several times."""
    total = 0
    for op in block:
        total += 1
        factor = 4 if isinstance(op, For | DoWhile) else 1
        for region in op.regions:
            total += factor * weight(region.block)
    return total


# -- repeated ---------------------------------------------------------------------------------------------------------


def _unroll_for(state: RaisingState, op: For, trips: Index, count: int) -> str:
    """Interpret the body once for each iteration, under a mask where some lanes have fewer."""
    body = op.body.block
    domain = state.domain
    items: list[Item] = [state.lookup(initial) for initial in op.initial]
    dtypes = [yielded_dtype(op, position) for position in range(len(items))]
    for iteration in range(count):
        runs = Predicate.compare("LT", Index(iteration), trips).simplify(state.box)
        inner = domain.restrict(runs)
        if runs.is_false or inner.is_empty:
            break
        if op.serializes:
            state.serial_depth = state.while_depth
        state.environment[body.arguments[0]] = Index(iteration)
        state.environment.update(zip(body.arguments[1:], items, strict=True))
        with state.within(inner):
            last = run_block(state, body)
            new = [state.lookup(value) for value in last.operands]
        items = [
            merge_items(state, runs, after, before, dtype)
            for after, before, dtype in zip(new, items, dtypes, strict=True)
        ]
    state.environment.update(zip(op.results, items, strict=True))
    return "unrolled"


def _unroll_do_while(state: RaisingState, op: DoWhile) -> str:
    """Interpret the body again and again as long as it is known which lanes go on.

    Raises Obstacle where that depends on data or takes too many rounds.
    """
    body = op.body.block
    dtypes = [yielded_dtype(op, position) for position in range(len(op.initial))]
    items: list[Item] = [state.lookup(initial) for initial in op.initial]
    outer = state.domain
    domain = outer
    rounds: list[tuple[Predicate, list[Item]]] = []
    size = weight(body)
    while True:
        state.environment.update(zip(body.arguments, items, strict=True))
        with state.within(domain):
            last = run_block(state, body)
            goes_on = predicate_of(state, last.operands[0]).simplify(domain.box)
            items = [state.lookup(value) for value in last.operands[1:]]
        if goes_on.is_false:
            break
        if goes_on.has_data:
            raise state.obstacle("how often the loop runs is known at run time only")
        following = domain.restrict(goes_on)
        if following.is_empty:
            break
        rounds.append((goes_on, items))
        if len(rounds) >= MOST_UNROLLED_TRIPS or len(rounds) * size > MOST_UNROLLED_OPS:
            raise state.obstacle("the loop runs too often to be repeated")
        domain = following
    for goes_on, before in reversed(rounds):
        items = [
            merge_items(state, goes_on, after, other, dtype)
            for after, other, dtype in zip(items, before, dtypes, strict=True)
        ]
    state.environment.update(zip(op.results, items, strict=True))
    return "unrolled"
