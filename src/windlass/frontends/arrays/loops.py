"""Captured loops: plain Python where bounds and conditions are known, one operation where they are not.

Memories are carried through the operation by identity: after a loop in which `u, v = v, u` swaps two names, each memory
holds what it would hold in NumPy, for the loop's body is repeated until the names stand where they stood.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.array import Scalar
from windlass.frontends.arrays.branches import branch
from windlass.frontends.arrays.carrying import Carried, LoopPlan, plan_of, settled
from windlass.frontends.arrays.forms import Form, in_forms, meeting, with_forms
from windlass.frontends.arrays.kept_objects import keeping_objects
from windlass.frontends.arrays.rounds import Rounds, rounds_of
from windlass.frontends.arrays.statements import LOOP_BODY, PREFIX
from windlass.frontends.arrays.states import (
    CAPTURE_ERRORS,
    UNDEFINED,
    Body,
    NotCapturable,
    State,
    Test,
    are_same,
    changed_memories,
    explained,
    is_capture_fault,
    is_on_trial,
    is_traced,
    names_of,
    plain,
    run_on_trial,
    truth_of,
    values_of,
)
from windlass.frontends.arrays.swaps import Swapping, run_swapping
from windlass.frontends.arrays.tracing import (
    Storage,
    at_this_level,
    current_tracing,
    keeping_memories,
    live_storages,
    note_needed,
    position_now,
)
from windlass.frontends.arrays.unsure import Unsure, is_bound, left_by

ENTRY_POINTS = ("run_for", "run_while")
"""What captured functions call."""
MOST_UNROLLED = 8
"""Loops of so few steps run as plain Python."""
MOST_UNROLLED_IN_NESTS = 64
"""But not where they stand in others that do, if their steps together are more, each counted as often as the loops
around that are operations let it be traced."""
MOST_NESTED = 3
"""Nor where so many loops stand in one another, from this one on: the outer ones are operations."""
MOST_UNROLLED_OF_WHILE = 64
"""After so many rounds a `while` loop whose condition is known becomes one operation, if it can."""
MOST_UNROLLED_BY_NEED = 1000
"""So many steps run as plain Python where the loop can't be captured."""
MOST_ROUNDS = 10_000
"""So many rounds of a function's loops run as plain Python, those of trials counted."""

# -- entry points -----------------------------------------------------------------------------------------------------


def run_for(things: Any, body: Body, getters: Sequence[Callable[[], Any]], stops: Sequence[int] = ()) -> State:
    """`for target in things`, which ends early where one of the names at `stops` is bound."""
    state = values_of(getters)
    rounds = rounds_of(things)
    loop = Loop(body, names_of(getters), tuple(stops))
    count = rounds.count
    if not rounds.takes_traced or count is None:
        return _run_plainly(enumerate(rounds), loop, state)
    if not is_traced(count):
        # What it goes over may change within: an array's elements are those that it has when it comes to them.
        if not _is_tracing() or (_is_short(loop, count) and not (count and _leaves_by_data(loop, rounds, state))):
            with _within(unrolled=count):
                return _run_plainly(enumerate(rounds), loop, state)
        try:
            with keeping_memories(), keeping_objects((body,), state):
                return _for_loop(loop, state, rounds, count)
        except CAPTURE_ERRORS as error:
            if count > MOST_UNROLLED_BY_NEED or (isinstance(error, WindlassError) and not is_capture_fault(error)):
                raise explained(error) from error
            return _run_plainly(enumerate(rounds), loop, state)
    try:
        with keeping_memories(), keeping_objects((body,), state):
            return _for_loop(loop, state, rounds, plain(count))
    except NotCapturable as error:
        note_needed(plain(count))
        raise explained(error) from error


def run_while(test: Test, body: Body, getters: Sequence[Callable[[], Any]], stops: Sequence[int] = ()) -> State:
    """`while test:`, which ends early where one of the names at `stops` is bound; plain Python as long as the test, and
    whether it ends, is known.

    `test` gives its value and the values of the names, since it may bind some (`:=`) and write to arrays.
    """
    state = values_of(getters)
    loop = Loop(body, names_of(getters), tuple(stops))
    rounds = 0
    while True:
        before = {id(storage): storage.value for storage in live_storages()}
        left = loop.has_left(state)
        if left is True:
            return state
        continues, after = test(*state)
        if is_traced(continues) or left is not False:
            break
        if not continues:
            return after
        is_captured = rounds == MOST_UNROLLED_OF_WHILE or (
            rounds == 0 and bool(stops) and _leaves_by_data(loop, None, state)
        )
        if is_captured and _is_tracing() and not changed_memories(before):
            try:
                with keeping_memories(), keeping_objects((test, body), state):
                    return _while_loop(test, loop, state, True)
            except CAPTURE_ERRORS as error:
                if isinstance(error, WindlassError) and not is_capture_fault(error):
                    raise
        _count_round()
        state = body(*after)
        rounds += 1
    try:
        with keeping_memories(), keeping_objects((test, body), state):
            # What the test did is done. Where it did nothing it is asked again, as the operation's own condition.
            if not changed_memories(before) and are_same(state, after):
                try:
                    with keeping_memories():
                        ran = truth_of(continues) if left is False else truth_of(continues) & ~left
                        return _while_loop(test, loop, state, ran)
                except NotCapturable:
                    pass  # it may be that the condition changes something in some rounds only
            if left is not False:
                raise NotCapturable("the condition of a `while` loop that is left early changes something")
            return _rotated_loop(continues, test, loop, after)
    except NotCapturable as error:
        note_needed(plain(continues))
        raise explained(error) from error


def _is_short(loop: Loop, count: int) -> bool:
    """Whether a loop of so many steps is unrolled."""
    if count < 2:
        return True
    tracing = current_tracing()
    around = 1 if tracing is None else tracing.unrolled * (tracing.loops + 1)
    return (
        count <= MOST_UNROLLED
        and around * count <= MOST_UNROLLED_IN_NESTS
        and depth_of(loop.body.__code__) < MOST_NESTED
    )


@functools.cache
def depth_of(body: CodeType) -> int:
    """How many loops stand in one another within a loop's body.

    Those of functions that it calls are not seen: their rounds count as they are met.
    """
    inner = [each for each in body.co_consts if isinstance(each, CodeType)]
    return max((depth_of(each) + each.co_name.startswith(f"{PREFIX}{LOOP_BODY}") for each in inner), default=0)


def _count_round() -> None:
    """Count a round that runs as plain Python while a function is compiled.

    Raises WindlassError (WL0910) where there are too many.
    """
    tracing = current_tracing()
    if tracing is None:
        return
    tracing.rounds += 1
    if tracing.rounds > MOST_ROUNDS:
        position, length = position_now()
        raise WindlassError(
            Diagnostic(
                "WL0910",
                f"the loops of this function that can't become operations have more than {MOST_ROUNDS:,} rounds",
                position,
                length,
                notes=("each of them would be compiled by itself",),
                help="loop over a range or an array, and keep names bound to arrays of one shape and dtype",
            )
        )


@contextmanager
def _within(unrolled: int = 1, loops: int = 0) -> Generator[None]:
    """Within stand the rounds of a loop that is unrolled, or the body of one that is an operation."""
    tracing = current_tracing()
    if tracing is None:
        yield
        return
    before = tracing.unrolled, tracing.loops
    tracing.unrolled *= max(unrolled, 1)
    tracing.loops += loops
    try:
        yield
    finally:
        tracing.unrolled, tracing.loops = before


def _run_plainly(steps: Iterable[tuple[int, Any]], loop: Loop, state: State) -> State:
    """The rounds one after the other, each of them under the condition that the loop has not been left."""
    for _, item in steps:
        _count_round()
        left = loop.has_left(state)
        if left is True:
            break
        if left is False:
            state = loop.body(item, *state)
        else:
            state = branch(left, _nothing, functools.partial(loop.body, item), state, loop.names)
    return state


def _nothing(*state: Any) -> State:
    return state


def _leaves_by_data(loop: Loop, rounds: Rounds | None, state: State) -> bool:
    """Whether it is known only as the program runs if the loop is left in its first round."""
    if not loop.stops or not _is_tracing():
        return False
    try:
        given = () if rounds is None else (rounds.item(0),)
        after = run_on_trial(lambda: loop.body(*given, *state)).after
        # Asked one by one: what the trial left behind is nothing to compute with.
        bounds = [is_bound(after[position]) for position in loop.stops]
        return all(each is not True for each in bounds) and any(each is not False for each in bounds)
    except CAPTURE_ERRORS:
        return False


class Loop:
    """A loop's body, the names that it is given and gives back, and at which of them (by position) the loop ends."""

    def __init__(self, body: Body, names: Sequence[str], stops: Sequence[int]) -> None:
        self.body = body
        self.names = names
        self.stops = stops

    def within(self, forms: Mapping[int, Form]) -> Loop:
        """The loop with the names in these forms after each round."""
        return Loop(with_forms(self.body, forms), self.names, self.stops) if forms else self

    def has_left(self, state: State) -> Any:
        """Whether the loop has been left early: a boolean, or a traced one."""
        return left_by([state[position] for position in self.stops])


# -- operations -------------------------------------------------------------------------------------------------------


def _for_loop(loop: Loop, state: State, rounds: Rounds, trips: Any) -> State:
    """Raises NotCapturable."""
    return meeting(lambda forms: _for_loop_in(loop.within(forms), in_forms(state, forms), rounds, trips))


def _for_loop_in(loop: Loop, state: State, rounds: Rounds, trips: Any) -> State:
    """The same, in forms that names go round in."""

    def advance(number: Any, current: State) -> State:
        with _within(loops=1):
            return loop.body(rounds.item(number), *current)

    # Python's integers promote weakly, and so does a loop's counter: it starts as Python's 0.
    abstract = jax.ShapeDtypeStruct((), np.int64, weak_type=True)
    is_sure_to_run = isinstance(trips, int) and trips > 0
    plan, state = _plan_forgetting(advance, state, abstract, loop, is_sure_to_run)
    period = plan.period
    if period > 1 and loop.stops:

        def swapping_loop(body: Body, begun: State, names: Sequence[str]) -> State:
            return _for_loop(Loop(body, names, loop.stops), begun, rounds, trips)

        return run_swapping(Swapping(state, plan.swaps, period), loop.body, state, loop.names, swapping_loop)
    carried = Carried(plan, state)

    def several(number: Any, current: State) -> State:
        for offset in range(period):
            current = advance(number * period + offset if period > 1 else number, current)
        return current

    initial = plan.first_parts() if plan.is_settled else settled(carried, abstract, several, is_sure_to_run)

    def cond(values: Any) -> Any:
        count, limit, inner = values
        going = count < limit
        left = carried.left_by(loop.stops, inner, count > 0)
        return going if left is None else going & ~left

    def run(values: Any) -> Any:
        count, limit, inner = values
        with at_this_level():
            after = several(count, carried.install(inner, count > 0))
        return count + 1, limit, carried.read_alike(after, inner)

    whole = trips // period
    has_run = whole > 0
    first = (0, jnp.asarray(whole, jnp.int64), carried.initial(initial))
    if is_on_trial():
        # Only shapes and dtypes of what comes out matter: loops in loops are not traced again and again.
        _, _, results = jax.lax.optimization_barrier(first)
    else:
        _, _, results = jax.lax.while_loop(cond, run, first)
    state = carried.finish(results, has_run)
    return state if period == 1 else _remaining_rounds(advance, state, whole * period, trips, period)


def _plan_forgetting(
    advance: Callable[[Any, State], State], state: State, index: Any, loop: Loop, is_sure_to_run: bool
) -> tuple[LoopPlan, State]:
    """How the names go round, and what they hold at first.

    Names that may be bound, as those of inner loops are in the rounds of an outer one, are taken to be unbound where
    each round binds them anyway: then nothing of them goes from round to round.
    """
    doubtful = [position for position, each in enumerate(state) if isinstance(each, Unsure)]
    if doubtful and is_sure_to_run:
        bare = tuple(UNDEFINED if isinstance(each, Unsure) else each for each in state)
        try:
            plan = plan_of(advance, bare, index, loop.names, loop.stops)
        except NotCapturable:
            plan = None  # it may be that one of them is read
        if plan is not None and all(each not in plan.slots or plan.slots[each].tells == "round" for each in doubtful):
            is_bound_anew = {*plan.slots, *plan.fixed}
            kept = [
                new if position in is_bound_anew else old
                for position, (old, new) in enumerate(zip(state, bare, strict=True))
            ]
            return plan, tuple(kept)
    return plan_of(advance, state, index, loop.names, loop.stops), state


def _remaining_rounds(
    advance: Callable[[Any, State], State], state: State, done: Any, trips: Any, period: int
) -> State:
    """The state after the rounds from `done` on, fewer than `period`."""
    if isinstance(trips, int):
        for number in range(done, trips):
            state = advance(number, state)
        return state

    def some(count: int) -> Body:
        def run_some(*current: Any) -> State:
            for offset in range(count):
                current = advance(done + offset, current)
            return current

        return run_some

    rest = some(0)
    for count in range(1, period):
        rest = functools.partial(_either, trips - done == count, some(count), rest)
    return rest(*state)


def _either(test: Any, then: Body, otherwise: Body, *state: Any) -> State:
    return branch(test, then, otherwise, state)


def _while_loop(test: Test, loop: Loop, state: State, has_run: Any) -> State:
    """A loop whose test does nothing but give a value; `has_run` says whether there is a first round.

    Raises NotCapturable, also where the test does more.
    """
    return meeting(lambda forms: _while_loop_in(test, loop.within(forms), in_forms(state, forms), has_run))


def _while_loop_in(test: Test, loop: Loop, state: State, has_run: Any) -> State:
    """The same, in forms that names go round in."""

    def advance(number: Any, current: State) -> State:
        with _within(loops=1):
            return loop.body(*current)

    nothing = jnp.asarray(0, jnp.int32)
    plan = plan_of(advance, state, nothing, loop.names, loop.stops)
    if plan.period > 1:

        def swapping_test(*current: Any) -> tuple[Any, State]:
            *names, rounds = current
            found, after = test(*names)
            return found, (*after, rounds)

        def swapping_loop(body: Body, begun: State, names: Sequence[str]) -> State:
            return _while_loop(swapping_test, Loop(body, names, loop.stops), begun, has_run)

        return run_swapping(Swapping(state, plan.swaps, plan.period), loop.body, state, loop.names, swapping_loop)
    carried = Carried(plan, state)
    initial = settled(carried, nothing, advance, has_run is True)

    def cond(values: Any) -> Any:
        inner, ran = values
        before = {id(storage): storage.value for storage in live_storages()}
        try:
            with at_this_level():
                current = carried.install(inner, carried.ran_before(ran))
                entering = {id(storage): storage.value for storage in live_storages()}
                going = _has_not_failed(carried.storages)
                found, after = test(*current)
                if changed_memories(entering) or not are_same(current, after):
                    raise NotCapturable("the condition of a `while` loop changes something")
        finally:
            for storage in live_storages():
                storage.value = before.get(id(storage), storage.value)
        left = carried.left_by(loop.stops, inner, carried.ran_before(ran))
        conditions = [each for each in (going, None if left is None else ~left) if each is not None]
        truth = found if isinstance(found, bool) else truth_of(found)
        if truth is True and conditions:
            truth, *conditions = conditions
        for each in conditions:
            truth = truth & each
        return jnp.asarray(truth)

    def run(values: Any) -> Any:
        inner, ran = values
        with at_this_level():
            after = advance(nothing, carried.install(inner, carried.ran_before(ran)))
        return carried.read_alike(after, inner), [jnp.asarray(True) for _ in ran]

    results, _ = jax.lax.while_loop(cond, run, (carried.initial(initial), carried.flags_of_running()))
    return carried.finish(results, has_run)


def _rotated_loop(continues: Any, test: Test, loop: Loop, state: State) -> State:
    """A loop whose test binds names or writes to arrays: it has run once, and runs again at the end of each round.

    Raises NotCapturable.
    """

    def turn(_: Any, *current: Any) -> State:
        after = loop.body(*current)
        left = loop.has_left(after)
        if left is True:
            return (Scalar(jnp.asarray(False)), *after)
        if left is False:
            found, after = test(*after)
            return (Scalar(truth_of(found)), *after)

        def ask(_: Any, *current: Any) -> State:
            found, after = test(*current)
            return (Scalar(truth_of(found)), *after)

        return branch(left, _nothing, ask, (False, *after), ("", *loop.names))

    def again(truth: Any, *current: Any) -> tuple[Any, State]:
        return truth, (truth, *current)

    turning = Loop(turn, ("", *loop.names), ())
    truth = truth_of(continues)
    return _while_loop(again, turning, (Scalar(truth), *state), truth)[1:]


def _has_not_failed(storages: Sequence[Storage]) -> Any:
    """Whether all checks within the loop have held so far: it ends where one fails. None where there are none."""
    tracing = current_tracing()
    if tracing is None or tracing.failure not in storages:
        return None
    return tracing.failure.value == 0


def _is_tracing() -> bool:
    return current_tracing() is not None or any(isinstance(storage.value, Tracer) for storage in live_storages())
