"""Captured loops and branches: plain Python where bounds and conditions are known, one operation where they are not.

The body is a function from the values of the names that it assigns to their new values, and it may write to any array
that there is. Run once on trial (under `jax.eval_shape`, which keeps nothing of it), it shows which memories it writes
and what becomes of each name. Memories are carried through the operation by identity: after a loop in which
`u, v = v, u` swaps two names, each memory holds what it would hold in NumPy, for the loop's body is repeated until the
names stand where they stood.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.array import Array, Flat, Scalar, as_jax, wrapped
from windlass.frontends.arrays.tracing import Storage, at_this_level, current_tracing, keeping_memories, live_storages

ENTRY_POINTS = ("run_for", "run_while", "run_if", "values_of", "changing", "UNDEFINED")
"""What captured functions call."""
MOST_UNROLLED = 8
"""Loops of so few steps run as plain Python."""
MOST_UNROLLED_OF_WHILE = 64
"""After so many rounds a `while` loop whose condition is known becomes one operation, if it can."""
MOST_UNROLLED_BY_NEED = 1000
"""So many steps run as plain Python where the loop can't be captured."""
LONGEST_PERIOD = 6
MOST_TRIALS = 6

State: TypeAlias = tuple[Any, ...]
Body: TypeAlias = Callable[..., State]
Test: TypeAlias = Callable[..., tuple[Any, State]]


class Undefined:
    """What an unbound name is among values."""

    def __repr__(self) -> str:
        return "<unbound>"


UNDEFINED = Undefined()


def values_of(getters: Sequence[Callable[[], Any]]) -> State:
    """The values of names, UNDEFINED for those that are unbound."""
    values: list[Any] = []
    for getter in getters:
        try:
            values.append(getter())
        except NameError:
            values.append(UNDEFINED)
    return tuple(values)


class NotCapturable(Exception):
    """The body can't be one operation; the text says why."""


CAPTURE_ERRORS = (NotCapturable, WindlassError, TypeError, IndexError, KeyError, jax.errors.JAXTypeError)
"""What may go wrong where a body runs once for all rounds, and not where it runs for each."""


def is_traced(value: Any) -> bool:
    """Whether the value is not known while the function is compiled."""
    return isinstance(value.value if isinstance(value, Array) else value, Tracer)


def changing(owner: Any, is_outside: bool) -> None:
    """Say that an element or attribute of `owner` is about to be written, which only arrays can undo.

    Raises NotCapturable where that is something else within a loop or branch of the program, and WindlassError
    (WL0907) for a NumPy array from outside of the function.
    """
    if isinstance(owner, Array | Flat):
        return
    tracing = current_tracing()
    if tracing is None:
        return
    if is_outside and isinstance(owner, np.ndarray):
        raise WindlassError(
            Diagnostic(
                "WL0907",
                "a NumPy array from outside the compiled function is written: later calls would not do it again",
                help="pass the array to the compiled function as an argument",
            )
        )
    if tracing.is_within_branch():
        kind = type(owner)
        name = "a NumPy array that the function did not make" if kind is np.ndarray else f"an object of {kind.__name__}"
        raise NotCapturable(f"{name} is changed within it")


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
            if len(steps) > MOST_UNROLLED_BY_NEED or (
                isinstance(error, WindlassError) and not _is_capture_fault(error)
            ):
                raise _explained(error) from error
            return _run_plainly(steps, body, state)
    start, stop, step = _range_bounds([_plain(bound) for bound in bounds])
    trips = _trip_count(start, stop, step)
    try:
        with keeping_memories():
            return _for_loop(body, state, start, step, trips)
    except NotCapturable as error:
        raise _explained(error) from error


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
        if rounds == MOST_UNROLLED_OF_WHILE and _is_tracing() and not _changed_memories(before):
            try:
                with keeping_memories():
                    return _while_loop(test, body, state)
            except CAPTURE_ERRORS as error:
                if isinstance(error, WindlassError) and not _is_capture_fault(error):
                    raise
        state = body(*after)
        rounds += 1
    try:
        with keeping_memories():
            # What the test did is done. Where it did nothing it is asked again, as the operation's own condition.
            if not _changed_memories(before) and _are_same(state, after):
                try:
                    with keeping_memories():
                        return _while_loop(test, body, state)
                except NotCapturable:
                    pass  # it may be that the condition changes something in some rounds only
            return _rotated_loop(continues, test, body, after)
    except NotCapturable as error:
        raise _explained(error) from error


def run_if(test: Any, then: Body, otherwise: Body, getters: Sequence[Callable[[], Any]]) -> State:
    """`if test: ... else: ...`."""
    state = values_of(getters)
    if not is_traced(test):
        return then(*state) if test else otherwise(*state)
    try:
        with keeping_memories():
            return _branch(_plain(test), then, otherwise, state)
    except NotCapturable as error:
        raise _explained(error) from error


def _run_plainly(steps: Iterable[Any], body: Body, state: State) -> State:
    for index in steps:
        state = body(index, *state)
    return state


# -- what a body does -------------------------------------------------------------------------------------------------


@dataclass
class Trial:
    """What a trial run showed: the memories written, and each name's value before and after."""

    written: list[Storage]
    after: State


def _run_on_trial(run: Callable[..., State], *arguments: Any) -> Trial:
    """Run with abstract arguments; keep nothing but the trial's findings."""
    storages = live_storages()
    before = {id(storage): storage.value for storage in storages}
    found: list[Trial] = []

    def trial(*traced: Any) -> None:
        with at_this_level():
            after = run(*traced)
        found.append(Trial([each for each in storages if each.value is not before[id(each)]], after))

    try:
        jax.eval_shape(trial, *arguments)
    finally:
        for storage in storages:
            storage.value = before[id(storage)]
    return found[-1]


def _changed_memories(before: dict[int, Any]) -> bool:
    """Whether a memory holds something else than before; those that are new do not count."""
    return any(id(each) in before and each.value is not before[id(each)] for each in live_storages())


def _are_same(before: State, after: State) -> bool:
    return all(
        _stays(one, other, {id(each) for each in live_storages()}) for one, other in zip(before, after, strict=True)
    )


def _place(value: Any) -> tuple[Any, ...] | None:
    """Which memory, and how, an array is; None for what is no array."""
    if not isinstance(value, Array):
        return None
    shadow = value._shadow  # pyright: ignore[reportPrivateUsage]
    return (id(value.storage), value._steps, shadow.shape, shadow.dtype)  # pyright: ignore[reportPrivateUsage]


def _is_number(value: Any) -> bool:
    return isinstance(value, Array | jax.Array | np.generic | int | float | complex | bool)


def _is_memory(value: Any) -> bool:
    """Whether it is an array that can be written to; numbers are values."""
    return isinstance(value, Array) and not value.is_scalar


def _stays(before: Any, after: Any, outer: set[int]) -> bool:
    """Whether a name is what it was, so that nothing of it has to be carried."""
    if isinstance(before, Array) and isinstance(after, Array):
        return id(after.storage) in outer and _place(before) == _place(after)
    if before is after:
        return True
    if isinstance(before, int | float | complex | str) and type(before) is type(after):
        return bool(before == after)
    return False


@dataclass
class Plan:
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


def _plan(body: Callable[[Any, State], State], state: State, index: Any) -> Plan:
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
                current[position] = wrapped(value)
            return body(number, tuple(current))

        trial = _run_on_trial(run, index, [jnp.asarray(_plain(value)) for value in changing.values()])
        plan, moving = _plan_of(state, trial, outer)
        more = [each for each in plan.by_value if each not in changing and state[each] is not UNDEFINED]
        if not more:
            break
        changing.update({each: state[each] for each in more})
    if moving:
        plan.period = _find_period(body, state, index, moving, plan.by_value)
    return plan


def _plan_of(state: State, trial: Trial, outer: set[int]) -> tuple[Plan, list[int]]:
    """What a trial shows of the names, and which of them change places; see `Plan`.

    Raises NotCapturable.
    """
    by_value: list[int] = []
    moving: list[int] = []
    fixed: dict[int, Any] = {}
    wraps: dict[int, bool] = {}
    for position, (before, after) in enumerate(zip(state, trial.after, strict=True)):
        if _stays(before, after, outer):
            continue
        if _is_memory(before) and _is_memory(after) and id(after.storage) in outer:
            moving.append(position)
        elif after is UNDEFINED:
            raise NotCapturable("a name is unbound after the loop's body")
        elif before is UNDEFINED and not (_is_number(after) and is_traced(after)):
            fixed[position] = after
        elif _is_number(after) and (_is_number(before) or before is UNDEFINED):
            if isinstance(before, Array) and before.storage in trial.written:
                raise NotCapturable("an array is written in place and its name then bound to a new one")
            by_value.append(position)
            wraps[position] = _is_memory(after) and after.ndim == 0
        else:
            raise NotCapturable(f"a name is bound to {type(after).__name__} where it was {type(before).__name__}")
    return Plan(by_value, 1, trial.written, trial.after, fixed, wraps), moving


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
        after = _run_on_trial(repeated(count), index).after
        if all(_place(after[position]) == _place(state[position]) for position in moving):
            return count
    raise NotCapturable("names of arrays change places in a way that does not come round")


@dataclass
class Carried:
    """The values that go round: those of memories, and those of names."""

    storages: list[Storage]
    positions: list[int]

    def read(self, state: State) -> tuple[list[Any], list[Any]]:
        return [as_jax(storage.value) for storage in self.storages], [
            _plain(state[position]) for position in self.positions
        ]

    def install(self, state: State, values: tuple[list[Any], list[Any]], wraps: dict[int, bool]) -> State:
        for storage, value in zip(self.storages, values[0], strict=True):
            storage.value = value
        current = list(state)
        for position, value in zip(self.positions, values[1], strict=True):
            current[position] = wrapped(jnp.asarray(value), is_array=wraps[position])
        return tuple(current)


def _settle(
    state: State, carried: Carried, wraps: dict[int, bool], index: Any, body: Callable[[Any, State], State]
) -> list[Any]:
    """First values of the names, in the dtypes and shapes that they keep; widens `carried.storages` as needed."""
    initial = [_plain(state[position]) for position in carried.positions]
    for _ in range(MOST_TRIALS):
        given: list[Any] = []

        def step(number: Any, values: Any, given: list[Any] = given) -> State:
            current = carried.install(state, values, wraps)
            after = body(number, current)
            given[:] = [jax.typeof(jnp.asarray(_plain(after[position]))) for position in carried.positions]
            return after

        start = [jnp.zeros((), np.int32) if each is UNDEFINED else jnp.asarray(each) for each in initial]
        trial = _run_on_trial(step, index, ([as_jax(storage.value) for storage in carried.storages], start))
        more = [storage for storage in trial.written if storage not in carried.storages]
        carried.storages += more
        wanted: list[Any] = []
        for value, aval, raw in zip(start, given, initial, strict=True):
            if raw is UNDEFINED:
                wanted.append(jnp.zeros(aval.shape, aval.dtype))
                continue
            dtype = jnp.promote_types(value.dtype, aval.dtype) if not value.weak_type else aval.dtype
            shape = _common_shape(value.shape, aval.shape)
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
    results: tuple[list[Any], list[Any]], state: State, carried: Carried, wraps: dict[int, bool], plan: Plan
) -> State:
    """The state after an operation."""
    after = list(carried.install(state, results, wraps))
    for position, value in plan.fixed.items():
        after[position] = _without_leaks(value)
    return tuple(after)


def _without_leaks(value: Any) -> Any:
    """A value that a trial left behind; unbound if it is one that exists only inside the operation."""
    if isinstance(value, Array):
        known = value.storage.value
        return value if not isinstance(known, Tracer) else UNDEFINED
    return UNDEFINED if isinstance(value, Tracer) else value


# -- loops ------------------------------------------------------------------------------------------------------------


def _for_loop(body: Body, state: State, start: Any, step: Any, trips: Any) -> State:
    def advance(number: Any, current: State) -> State:
        return body(Scalar(number), *current)

    first = start
    # Python's integers promote weakly, and so does a loop's counter: it starts as Python's 0.
    abstract = jax.ShapeDtypeStruct((), np.int64, weak_type=True)
    plan = _plan(advance, state, abstract)
    period = plan.period
    wraps = plan.wraps
    carried = Carried(list(plan.written), list(plan.by_value))

    def several(number: Any, current: State) -> State:
        for offset in range(period):
            current = advance(number + offset * step, current)
        return current

    initial = _settle(state, carried, wraps, abstract, several)

    def cond(values: Any) -> Any:
        return values[0] < values[1]

    def run(values: Any) -> Any:
        count, limit, inner = values
        with at_this_level():
            after = several(first + count * (step * period), carried.install(state, inner, wraps))
        written, named = carried.read(after)
        named = [_converted(value, like.dtype, like.shape) for value, like in zip(named, inner[1], strict=True)]
        return count + 1, limit, (written, named)

    before = ([as_jax(storage.value) for storage in carried.storages], initial)
    whole = trips // period
    _, _, results = jax.lax.while_loop(cond, run, (0, jnp.asarray(whole, jnp.int64), before))
    state = _finish(results, state, carried, wraps, plan)
    if period == 1:
        return state
    done = whole * period
    if isinstance(trips, int):
        for number in range(done, trips):
            state = body(start + number * step if isinstance(start, int) else Scalar(first + number * step), *state)
        return state

    def some(count: int) -> Body:
        def run_some(*current: Any) -> State:
            for offset in range(count):
                current = body(Scalar(first + (done + offset) * step), *current)
            return current

        return run_some

    rest = some(0)
    for count in range(1, period):
        rest = functools.partial(_either, trips - done == count, some(count), rest)
    return rest(*state)


def _either(test: Any, then: Body, otherwise: Body, *state: Any) -> State:
    return _branch(test, then, otherwise, state)


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
    carried = Carried(list(plan.written), list(plan.by_value))
    initial = _settle(state, carried, plan.wraps, nothing, advance)

    def cond(values: Any) -> Any:
        before = {id(storage): storage.value for storage in live_storages()}
        try:
            with at_this_level():
                current = carried.install(state, values, plan.wraps)
                entering = {id(storage): storage.value for storage in live_storages()}
                going = _has_not_failed(carried.storages)
                found, after = test(*current)
                if _changed_memories(entering) or not _are_same(current, after):
                    raise NotCapturable("the condition of a `while` loop changes something")
        finally:
            for storage in live_storages():
                storage.value = before.get(id(storage), storage.value)
        truth = _truth_of(found)
        return truth if going is None else truth & going

    def run(values: Any) -> Any:
        with at_this_level():
            after = body(*carried.install(state, values, plan.wraps))
        written, named = carried.read(after)
        return written, [
            _converted(value, like.dtype, like.shape) for value, like in zip(named, values[1], strict=True)
        ]

    results = jax.lax.while_loop(cond, run, ([as_jax(storage.value) for storage in carried.storages], initial))
    return _finish(results, state, carried, plan.wraps, plan)


def _rotated_loop(continues: Any, test: Test, body: Body, state: State) -> State:
    """A loop whose test binds names or writes to arrays: it has run once, and runs again at the end of each round.

    Raises NotCapturable.
    """

    def turn(_: Any, *current: Any) -> State:
        found, after = test(*body(*current))
        return (Scalar(_truth_of(found)), *after)

    def again(truth: Any, *current: Any) -> tuple[Any, State]:
        return truth, (truth, *current)

    return _while_loop(again, turn, (Scalar(_truth_of(continues)), *state))[1:]


def _has_not_failed(storages: Sequence[Storage]) -> Any:
    """Whether all checks within the loop have held so far: it ends where one fails. None where there are none."""
    tracing = current_tracing()
    if tracing is None or tracing.failure not in storages:
        return None
    return tracing.failure.value == 0


def _truth_of(value: Any) -> Any:
    found = jnp.asarray(_plain(value))
    if found.size != 1:
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
    found = jnp.reshape(found, ())
    return found if found.dtype == jnp.bool_ else found != 0


# -- branches ---------------------------------------------------------------------------------------------------------


def _branch(test: Any, then: Body, otherwise: Body, state: State) -> State:
    outer = {id(storage) for storage in live_storages()}
    trials = [_run_on_trial(lambda: then(*state)), _run_on_trial(lambda: otherwise(*state))]
    written = list({id(each): each for trial in trials for each in trial.written}.values())
    values: list[int] = []
    fixed: dict[int, Any] = {}
    uncertain: set[int] = set()
    for position, before in enumerate(state):
        first, second = (trial.after[position] for trial in trials)
        if _stays(before, first, outer) and _stays(before, second, outer):
            continue
        if _is_number(first) and _is_number(second):
            values.append(position)
            if any(_is_memory(each) and id(each.storage) in outer for each in (first, second)):
                uncertain.add(position)
        elif first is UNDEFINED or second is UNDEFINED:
            fixed[position] = UNDEFINED
        elif first is second:
            fixed[position] = first
        else:
            raise NotCapturable("a name is bound to different things that are no numbers in the two branches")
    types: list[tuple[Any, Any]] = []
    for position in values:
        avals = [_aval(trial.after[position]) for trial in trials]
        shape = _common_shape(*(each.shape for each in avals))
        dtype = jnp.result_type(*avals)
        is_weak = all(each.weak_type and each.dtype == dtype for each in avals)
        types.append((None if is_weak else dtype, shape))
    kept = [as_jax(storage.value) for storage in written]

    def side(run: Body) -> Callable[[], Any]:
        def branch() -> Any:
            for storage, value in zip(written, kept, strict=True):
                storage.value = value
            with at_this_level():
                after = run(*state)
            news = [
                _converted(_plain(after[position]), dtype, shape)
                for position, (dtype, shape) in zip(values, types, strict=True)
            ]
            return [as_jax(storage.value) for storage in written], news

        return branch

    results, news = jax.lax.cond(_truth_of(test), side(then), side(otherwise))
    for storage, value in zip(written, results, strict=True):
        storage.value = value
    after = list(state)
    for position, value in zip(values, news, strict=True):
        is_array = any(_is_memory(trial.after[position]) for trial in trials)
        after[position] = array = wrapped(value, is_array)
        array.storage.is_uncertain = position in uncertain
    for position, value in fixed.items():
        after[position] = _without_leaks(value)
    return tuple(after)


def _aval(value: Any) -> Any:
    """Shape, dtype and weakness of a value that a trial left behind."""
    if isinstance(value, Array) and value.is_whole:
        return jax.typeof(value.storage.value)
    return jax.eval_shape(lambda: jnp.asarray(_plain(value)))


# -- small things -----------------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Array) else value


def _common_shape(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """One shape for a name that has both; a number may become an array.

    Raises NotCapturable.
    """
    if first == second or not second:
        return first
    if not first:
        return second
    raise NotCapturable(f"a name is bound to an array of shape {first} and to one of shape {second}")


def _converted(value: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """The value as an array of the dtype (None leaves it and its weakness) and shape."""
    array = jnp.asarray(value)
    if dtype is not None:
        array = jax.lax.convert_element_type(array, dtype)
    return array if array.shape == shape else jnp.broadcast_to(array, shape)


def _as_index(bound: Any) -> int:
    return int(_plain(bound)) if isinstance(bound, Array | jax.Array) else bound


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


def _is_capture_fault(error: WindlassError) -> bool:
    return error.diagnostics[0].code in ("WL0904", "WL0908", "WL0910")


def _explained(error: Exception) -> Exception:
    if not isinstance(error, NotCapturable):
        return error
    return WindlassError(
        Diagnostic(
            "WL0910",
            f"this loop or branch can't become one operation: {error}",
            help="keep names bound to arrays of one shape and dtype, or loop over a known small range",
        )
    )
