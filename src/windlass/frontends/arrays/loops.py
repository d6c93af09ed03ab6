"""Captured loops: plain Python where bounds and conditions are known, one operation where they are not.

Memories are carried through the operation by identity: after a loop in which `u, v = v, u` swaps two names, each memory
holds what it would hold in NumPy, for the loop's body is repeated until the names stand where they stood.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import WindlassError
from windlass.frontends.arrays.array import Array, Scalar, wrapped
from windlass.frontends.arrays.branches import branch
from windlass.frontends.arrays.states import (
    CAPTURE_ERRORS,
    UNDEFINED,
    Body,
    NotCapturable,
    State,
    Test,
    Trial,
    are_same,
    changed_memories,
    common_shape,
    converted,
    explained,
    is_capture_fault,
    is_memory,
    is_number,
    is_traced,
    laid_alike,
    place_of,
    plain,
    run_on_trial,
    stays,
    truth_of,
    values_of,
    without_leaks,
)
from windlass.frontends.arrays.tracing import Storage, at_this_level, current_tracing, keeping_memories, live_storages
from windlass.frontends.arrays.values import as_jax

ENTRY_POINTS = ("run_for", "run_while")
"""What captured functions call."""
MOST_UNROLLED = 8
"""Loops of so few steps run as plain Python."""
MOST_UNROLLED_OF_WHILE = 64
"""After so many rounds a `while` loop whose condition is known becomes one operation, if it can."""
MOST_UNROLLED_BY_NEED = 1000
"""So many steps run as plain Python where the loop can't be captured."""
LONGEST_PERIOD = 6
MOST_TRIALS = 6

# -- entry points -----------------------------------------------------------------------------------------------------


def run_for(function: Any, bounds: Sequence[Any], body: Body, getters: Sequence[Callable[[], Any]]) -> State:
    """`for name in function(*bounds)`, where `function` is most likely `range`."""
    state = values_of(getters)
    if function is not builtins.range:
        return _run_plainly(function(*bounds), body, state)
    if not any(is_traced(bound) for bound in bounds):
        steps = range(*(_as_index(bound) for bound in bounds))
        if len(steps) <= MOST_UNROLLED or not _is_tracing():
            return _run_plainly(steps, body, state)
        try:
            with keeping_memories():
                return _for_loop(body, state, steps.start, steps.step, len(steps))
        except CAPTURE_ERRORS as error:
            if len(steps) > MOST_UNROLLED_BY_NEED or (isinstance(error, WindlassError) and not is_capture_fault(error)):
                raise explained(error) from error
            return _run_plainly(steps, body, state)
    start, stop, step = _range_bounds([plain(bound) for bound in bounds])
    trips = _trip_count(start, stop, step)
    try:
        with keeping_memories():
            return _for_loop(body, state, start, step, trips)
    except NotCapturable as error:
        raise explained(error) from error


def run_while(test: Test, body: Body, getters: Sequence[Callable[[], Any]]) -> State:
    """`while test:`; plain Python as long as the test is known.

    `test` gives its value and the values of the names, since it may bind some (`:=`) and write to arrays.
    """
    state = values_of(getters)
    rounds = 0
    while True:
        before = {id(storage): storage.value for storage in live_storages()}
        continues, after = test(*state)
        if is_traced(continues):
            break
        if not continues:
            return after
        if rounds == MOST_UNROLLED_OF_WHILE and _is_tracing() and not changed_memories(before):
            try:
                with keeping_memories():
                    return _while_loop(test, body, state)
            except CAPTURE_ERRORS as error:
                if isinstance(error, WindlassError) and not is_capture_fault(error):
                    raise
        state = body(*after)
        rounds += 1
    try:
        with keeping_memories():
            # What the test did is done. Where it did nothing it is asked again, as the operation's own condition.
            if not changed_memories(before) and are_same(state, after):
                try:
                    with keeping_memories():
                        return _while_loop(test, body, state)
                except NotCapturable:
                    pass  # it may be that the condition changes something in some rounds only
            return _rotated_loop(continues, test, body, after)
    except NotCapturable as error:
        raise explained(error) from error


def _run_plainly(steps: Iterable[Any], body: Body, state: State) -> State:
    for index in steps:
        state = body(index, *state)
    return state


# -- how names are carried --------------------------------------------------------------------------------------------


@dataclass
class LoopPlan:
    """How the names of a body are carried: `by_value` are positions whose values go round; the rest stay as they are.

    `period` is how often the body runs until names that swap memories stand where they stood.
    """

    by_value: list[int]
    period: int
    written: list[Storage]
    after: State
    fixed: dict[int, Any]
    """Names that the body binds to something that is no number, or to a known number, the same each time."""
    wraps: dict[int, bool]
    """Of the positions in `by_value`, whether they are arrays even where they have no axes."""

    def likes(self, state: State) -> dict[int, tuple[Any, Any]]:
        """For each position in `by_value` what the name is bound to before and after a round."""
        return {position: (state[position], self.after[position]) for position in self.by_value}


def _plan(body: Callable[[Any, State], State], state: State, index: Any) -> LoopPlan:
    """Find how a loop's names are carried.

    Raises NotCapturable.
    """
    outer = {id(storage) for storage in live_storages()}
    changing: dict[int, Any] = {}
    while True:
        # What is bound to another number must not be known in the trial, nor is what follows from it.
        def run(number: Any, values: Any) -> State:
            current = list(state)
            for position, value in zip(changing, values, strict=True):
                current[position] = laid_alike(wrapped(value), state[position])
            return body(number, tuple(current))

        trial = run_on_trial(run, index, [jnp.asarray(plain(value)) for value in changing.values()])
        plan, moving = _plan_of(state, trial, outer)
        more = [each for each in plan.by_value if each not in changing and state[each] is not UNDEFINED]
        if not more:
            break
        changing.update({each: state[each] for each in more})
    if moving:
        plan.period = _find_period(body, state, index, moving, plan.by_value)
    return plan


def _plan_of(state: State, trial: Trial, outer: set[int]) -> tuple[LoopPlan, list[int]]:
    """What a trial shows of the names, and which of them change places; see `LoopPlan`.

    Raises NotCapturable.
    """
    by_value: list[int] = []
    moving: list[int] = []
    fixed: dict[int, Any] = {}
    wraps: dict[int, bool] = {}
    for position, (before, after) in enumerate(zip(state, trial.after, strict=True)):
        if stays(before, after, outer):
            continue
        if is_memory(before) and is_memory(after) and id(after.storage) in outer:
            moving.append(position)
        elif after is UNDEFINED:
            raise NotCapturable("a name is unbound after the loop's body")
        elif before is UNDEFINED and not (is_number(after) and is_traced(after)):
            fixed[position] = after
        elif is_number(after) and (is_number(before) or before is UNDEFINED):
            if isinstance(before, Array) and before.storage in trial.written:
                raise NotCapturable("an array is written in place and its name then bound to a new one")
            by_value.append(position)
            wraps[position] = is_memory(after) and after.ndim == 0
        else:
            raise NotCapturable(f"a name is bound to {type(after).__name__} where it was {type(before).__name__}")
    return LoopPlan(by_value, 1, trial.written, trial.after, fixed, wraps), moving


def _find_period(
    body: Callable[[Any, State], State], state: State, index: Any, moving: list[int], by_value: list[int]
) -> int:
    def repeated(count: int) -> Callable[[Any], State]:
        def run(number: Any) -> State:
            current = state
            for _ in range(count):
                current = body(number, current)
            return current

        return run

    for count in range(2, LONGEST_PERIOD + 1):
        after = run_on_trial(repeated(count), index).after
        if all(place_of(after[position]) == place_of(state[position]) for position in moving):
            return count
    raise NotCapturable("names of arrays change places in a way that does not come round")


@dataclass
class Carried:
    """The values that go round: those of memories, and those of names."""

    storages: list[Storage]
    positions: list[int]
    likes: dict[int, tuple[Any, Any]]
    """For each position what the name is bound to before and after a round."""

    def read(self, state: State) -> tuple[list[Any], list[Any]]:
        return [as_jax(storage.value) for storage in self.storages], [
            plain(state[position]) for position in self.positions
        ]

    def install(self, state: State, values: tuple[list[Any], list[Any]], wraps: dict[int, bool]) -> State:
        for storage, value in zip(self.storages, values[0], strict=True):
            storage.value = value
        current = list(state)
        for position, value in zip(self.positions, values[1], strict=True):
            found = wrapped(jnp.asarray(value), is_array=wraps[position])
            current[position] = laid_alike(found, *self.likes[position])
        return tuple(current)


def _settle(
    state: State, carried: Carried, wraps: dict[int, bool], index: Any, body: Callable[[Any, State], State]
) -> list[Any]:
    """First values of the names, in the dtypes and shapes that they keep; widens `carried.storages` as needed."""
    initial = [plain(state[position]) for position in carried.positions]
    for _ in range(MOST_TRIALS):
        given: list[Any] = []

        def step(number: Any, values: Any, given: list[Any] = given) -> State:
            current = carried.install(state, values, wraps)
            after = body(number, current)
            given[:] = [jax.typeof(jnp.asarray(plain(after[position]))) for position in carried.positions]
            return after

        start = [jnp.zeros((), np.int32) if each is UNDEFINED else jnp.asarray(each) for each in initial]
        trial = run_on_trial(step, index, ([as_jax(storage.value) for storage in carried.storages], start))
        more = [storage for storage in trial.written if storage not in carried.storages]
        carried.storages += more
        wanted: list[Any] = []
        for value, aval, raw in zip(start, given, initial, strict=True):
            if raw is UNDEFINED:
                wanted.append(jnp.zeros(aval.shape, aval.dtype))
                continue
            dtype = jnp.promote_types(value.dtype, aval.dtype) if not value.weak_type else aval.dtype
            shape = common_shape(value.shape, aval.shape)
            wanted.append(jnp.broadcast_to(jax.lax.convert_element_type(value, dtype), shape))
        settled = not more and all(
            raw is not UNDEFINED and value.dtype == new.dtype and value.shape == new.shape and not value.weak_type
            for value, new, raw in zip(start, wanted, initial, strict=True)
        )
        initial = wanted
        if settled:
            return initial
    raise NotCapturable("the dtypes or shapes of names change from step to step")


def _finish(
    results: tuple[list[Any], list[Any]], state: State, carried: Carried, wraps: dict[int, bool], plan: LoopPlan
) -> State:
    """The state after an operation."""
    after = list(carried.install(state, results, wraps))
    for position, value in plan.fixed.items():
        after[position] = without_leaks(value)
    return tuple(after)


# -- operations -------------------------------------------------------------------------------------------------------


def _for_loop(body: Body, state: State, start: Any, step: Any, trips: Any) -> State:
    def advance(number: Any, current: State) -> State:
        return body(Scalar(number), *current)

    # Python's integers promote weakly, and so does a loop's counter: it starts as Python's 0.
    abstract = jax.ShapeDtypeStruct((), np.int64, weak_type=True)
    plan = _plan(advance, state, abstract)
    period = plan.period
    carried = Carried(list(plan.written), list(plan.by_value), plan.likes(state))

    def several(number: Any, current: State) -> State:
        for offset in range(period):
            current = advance(number + offset * step, current)
        return current

    initial = _settle(state, carried, plan.wraps, abstract, several)

    def cond(values: Any) -> Any:
        return values[0] < values[1]

    def run(values: Any) -> Any:
        count, limit, inner = values
        with at_this_level():
            after = several(start + count * (step * period), carried.install(state, inner, plan.wraps))
        written, named = carried.read(after)
        named = [converted(value, like.dtype, like.shape) for value, like in zip(named, inner[1], strict=True)]
        return count + 1, limit, (written, named)

    before = ([as_jax(storage.value) for storage in carried.storages], initial)
    whole = trips // period
    _, _, results = jax.lax.while_loop(cond, run, (0, jnp.asarray(whole, jnp.int64), before))
    state = _finish(results, state, carried, plan.wraps, plan)
    return state if period == 1 else _remaining_rounds(body, state, start, step, whole * period, trips, period)


def _remaining_rounds(body: Body, state: State, start: Any, step: Any, done: Any, trips: Any, period: int) -> State:
    """The state after the rounds from `done` on, fewer than `period`."""
    if isinstance(trips, int):
        for number in range(done, trips):
            state = body(start + number * step if isinstance(start, int) else Scalar(start + number * step), *state)
        return state

    def some(count: int) -> Body:
        def run_some(*current: Any) -> State:
            for offset in range(count):
                current = body(Scalar(start + (done + offset) * step), *current)
            return current

        return run_some

    rest = some(0)
    for count in range(1, period):
        rest = functools.partial(_either, trips - done == count, some(count), rest)
    return rest(*state)


def _either(test: Any, then: Body, otherwise: Body, *state: Any) -> State:
    return branch(test, then, otherwise, state)


def _while_loop(test: Test, body: Body, state: State) -> State:
    """A loop whose test does nothing but give a value.

    Raises NotCapturable, also where the test does more.
    """

    def advance(number: Any, current: State) -> State:
        return body(*current)

    nothing = jnp.asarray(0, jnp.int32)
    plan = _plan(advance, state, nothing)
    if plan.period > 1:
        raise NotCapturable("names of arrays change places in a `while` loop: use a `for` loop, or copy the elements")
    carried = Carried(list(plan.written), list(plan.by_value), plan.likes(state))
    initial = _settle(state, carried, plan.wraps, nothing, advance)

    def cond(values: Any) -> Any:
        before = {id(storage): storage.value for storage in live_storages()}
        try:
            with at_this_level():
                current = carried.install(state, values, plan.wraps)
                entering = {id(storage): storage.value for storage in live_storages()}
                going = _has_not_failed(carried.storages)
                found, after = test(*current)
                if changed_memories(entering) or not are_same(current, after):
                    raise NotCapturable("the condition of a `while` loop changes something")
        finally:
            for storage in live_storages():
                storage.value = before.get(id(storage), storage.value)
        truth = truth_of(found)
        return truth if going is None else truth & going

    def run(values: Any) -> Any:
        with at_this_level():
            after = body(*carried.install(state, values, plan.wraps))
        written, named = carried.read(after)
        return written, [converted(value, like.dtype, like.shape) for value, like in zip(named, values[1], strict=True)]

    results = jax.lax.while_loop(cond, run, ([as_jax(storage.value) for storage in carried.storages], initial))
    return _finish(results, state, carried, plan.wraps, plan)


def _rotated_loop(continues: Any, test: Test, body: Body, state: State) -> State:
    """A loop whose test binds names or writes to arrays: it has run once, and runs again at the end of each round.

    Raises NotCapturable.
    """

    def turn(_: Any, *current: Any) -> State:
        found, after = test(*body(*current))
        return (Scalar(truth_of(found)), *after)

    def again(truth: Any, *current: Any) -> tuple[Any, State]:
        return truth, (truth, *current)

    return _while_loop(again, turn, (Scalar(truth_of(continues)), *state))[1:]


def _has_not_failed(storages: Sequence[Storage]) -> Any:
    """Whether all checks within the loop have held so far: it ends where one fails. None where there are none."""
    tracing = current_tracing()
    if tracing is None or tracing.failure not in storages:
        return None
    return tracing.failure.value == 0


def _as_index(bound: Any) -> int:
    return int(plain(bound)) if isinstance(bound, Array | jax.Array) else bound


def _is_tracing() -> bool:
    return current_tracing() is not None or any(isinstance(storage.value, Tracer) for storage in live_storages())


def _range_bounds(bounds: Sequence[Any]) -> tuple[Any, Any, Any]:
    wide = [bound if isinstance(bound, int) else jnp.asarray(bound).astype(jnp.int64) for bound in bounds]
    if len(wide) == 1:
        return 0, wide[0], 1
    return wide[0], wide[1], wide[2] if len(wide) == 3 else 1


def _trip_count(start: Any, stop: Any, step: Any) -> Any:
    span = (stop - start + step - 1) // step if isinstance(step, int) and step > 0 else None
    if span is None:
        step = jnp.asarray(step)
        up = -((start - stop) // jnp.where(step == 0, 1, step))
        span = up
    return jnp.maximum(span, 0)
