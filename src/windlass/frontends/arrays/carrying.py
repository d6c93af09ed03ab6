"""How a loop's names and memories go round: found by running its body on trial, before it becomes one operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from windlass.frontends.arrays.array import Array, wrapped
from windlass.frontends.arrays.containers import note_met
from windlass.frontends.arrays.forms import Form, FormsDiffer, form_to_meet
from windlass.frontends.arrays.joins import keeps
from windlass.frontends.arrays.sharing import Met, add_doubts, relate
from windlass.frontends.arrays.states import (
    UNDEFINED,
    NotCapturable,
    State,
    Trial,
    aval_of,
    carried_value,
    common_shape,
    converted,
    is_memory,
    is_number,
    is_traced,
    laid_alike,
    place_of,
    run_on_trial,
    stays,
)
from windlass.frontends.arrays.tracing import Storage, current_tracing, known_outside
from windlass.frontends.arrays.unsure import (
    Returned,
    Unsure,
    gathered,
    is_bound,
    left_by,
    possible_value,
    possibly,
    spread,
    zeros_like,
)
from windlass.frontends.arrays.values import as_jax

LONGEST_PERIOD = 6
MOST_TRIALS = 6
Advance = Callable[[Any, State], State]


@dataclass
class Slot:
    """A name whose value goes round: the parts of it that do."""

    name: str
    structure: Any
    known: list[Any]
    """The parts that stay what they are, by number; those that go round are None."""
    goes: list[bool]
    """Which parts go round."""
    before: list[Any]
    """The parts that go round as they are before the loop, UNDEFINED where the name is unbound."""
    after: list[Any]
    """The same after a round."""
    tells: str
    """What tells whether the name is bound: it is "always", by there having been a "round", or a "flag" of its own."""
    places: Any
    """The lines that return it, where it is what the function returns."""
    first_doubts: list[Any]
    """What is in doubt of the parts before the loop."""
    doubts: list[Any]
    """The same after a round."""
    values: list[Any]
    """What the name holds before the loop, and after a round."""
    outer: set[int]
    groups: list[int | None] = field(default_factory=list[int | None])
    """For each part that goes round the memory that it shares with parts of other names; None where it has its own, or
    it is not known whether they share it."""

    @property
    def wraps(self) -> list[bool]:
        """Whether the parts are arrays even where they have no axes."""
        return [is_memory(each) and each.ndim == 0 for each in self.after]

    def parts_of(self, value: Any) -> list[Any]:
        """The parts of the name's value that go round.

        Raises NotCapturable where it is made of other parts.
        """
        inner = _unpacked(possible_value(value))
        if inner is UNDEFINED:
            return [UNDEFINED for goes in self.goes if goes]
        leaves, structure = spread(inner)
        if structure != self.structure:
            raise NotCapturable(f"'{self.name}' is made of other parts from round to round")
        return [leaf for leaf, goes in zip(leaves, self.goes, strict=True) if goes]

    def add_doubts(self, parts: Sequence[Any]) -> bool:
        """Note what is in doubt of the parts after a round; whether that was not known."""
        is_new = False
        for number, part in enumerate(parts):
            if is_memory(part) and part.storage.doubt is not None and self.doubts[number] is None:
                self.doubts[number], is_new = part.storage.doubt, True
        return is_new

    def array(self, number: int, part: Any) -> Any:
        """One of the parts, an array of JAX, as what the name holds."""
        array = wrapped(jnp.asarray(part), is_array=self.wraps[number])
        return laid_alike(array, self.before[number], self.after[number])

    def value(self, parts: Sequence[Any], bound: Any) -> Any:
        """What the name holds; `parts` are arrays."""
        rest = iter(parts)
        found = gathered(
            self.structure, [next(rest) if goes else known for goes, known in zip(self.goes, self.known, strict=True)]
        )
        note_met(found, self.values, self.outer)
        return possibly(found if self.places is None else Returned(found, self.places), bound)


def arrays_of(slots: Sequence[Slot], values: Sequence[Sequence[Any]], may_be_first: bool = True) -> list[list[Any]]:
    """The arrays that names hold whose parts have these values: of names that share a memory, the same ones.

    `may_be_first` says that there may have been no round before.
    """
    shared: dict[int, Any] = {}
    met: list[Met] = []

    def array(slot: Slot, number: int, value: Any) -> Any:
        found = slot.array(number, value)
        if is_memory(found):
            ways: list[Any] = [slot.before[number] if may_be_first else None, slot.after[number]]
            met.append(Met(found.storage, [each.storage if is_memory(each) else None for each in ways]))
            found.storage.doubt = slot.doubts[number] or (slot.first_doubts[number] if may_be_first else None)
        return found

    for must_be_bound in (True, False):
        for slot, group in zip(slots, values, strict=True):
            for number, value in enumerate(group):
                key = slot.groups[number]
                # One array of a name that was bound before, where there is one.
                if (
                    key is not None
                    and key not in shared
                    and (slot.before[number] is not UNDEFINED or not must_be_bound)
                ):
                    shared[key] = array(slot, number, value)
    found = [
        [
            array(slot, number, value) if key is None else shared[key]
            for number, (value, key) in enumerate(zip(group, slot.groups, strict=True))
        ]
        for slot, group in zip(slots, values, strict=True)
    ]
    relate(met)
    return found


def note_sharing(slots: Sequence[Slot]) -> None:
    """Find the parts that lie in one memory after a round, as one view of it, and before the loop, too, or are unbound:
    they are one array in each round."""
    together: dict[Any, list[tuple[Slot, int]]] = {}
    for slot in slots:
        slot.groups = [None] * len(slot.after)
        for number, after in enumerate(slot.after):
            if is_memory(after):
                together.setdefault(place_of(after), []).append((slot, number))
    for key, parts in enumerate(together.values()):
        befores = [slot.before[number] for slot, number in parts if slot.before[number] is not UNDEFINED]
        if len({place_of(each) for each in befores}) < 2 and all(is_memory(each) for each in befores):
            for slot, number in parts:
                slot.groups[number] = key if len(parts) > 1 else None


@dataclass
class LoopPlan:
    """How the names of a body are carried: the values of those with slots go round; the rest stay as they are.

    `period` is how often the body runs until names that swap memories stand where they stood.
    """

    slots: dict[int, Slot]
    period: int
    written: list[Storage]
    swaps: dict[int, int] = field(default_factory=dict[int, int])
    """For each name that has swapped its array for another's after a round, the position of that one."""
    fixed: dict[int, Any] = field(default_factory=dict[int, Any])
    """Names that the body binds to something that is no number, or to a known number, the same each time."""
    is_settled: bool = False
    """Whether one round shows what all do: nothing that a name held before is read, the memories that are written were
    not known, and there are no doubts."""

    def first_parts(self) -> list[list[Any]]:
        """What goes round at first where `is_settled`: nothing is known of it but dtypes and shapes."""
        return [[jnp.asarray(zeros_like(aval_of(each))) for each in slot.after] for slot in self.slots.values()]


def plan_of(body: Advance, state: State, index: Any, names: Sequence[str], stops: Sequence[int]) -> LoopPlan:
    """Find how a loop's names are carried.

    Raises NotCapturable.
    """
    outer = known_outside()
    changing: dict[int, Slot] = {}
    while True:
        # What is bound to another number must not be known in the trial, nor is what follows from it.
        def run(number: Any, values: Any) -> State:
            current = list(state)
            arrays = arrays_of(list(changing.values()), values)
            for (position, slot), parts in zip(changing.items(), arrays, strict=True):
                current[position] = slot.value(parts, True)
            return body(number, tuple(current))

        trial = run_on_trial(
            run, index, [[jnp.asarray(carried_value(each)) for each in slot.before] for slot in changing.values()]
        )
        plan, moving = _plan_from(state, trial, outer, names, stops)
        more = {
            position: slot
            for position, slot in plan.slots.items()
            if position not in changing and state[position] is not UNDEFINED and not isinstance(state[position], Unsure)
        }
        if not more:
            break
        changing.update(more)
        for position, slot in plan.slots.items():
            if position in changing:
                changing[position] = slot
    if moving:
        plan.period = _find_period(body, state, index, moving)
    return plan


def _plan_from(
    state: State, trial: Trial, outer: set[int], names: Sequence[str], stops: Sequence[int]
) -> tuple[LoopPlan, list[int]]:
    """What a trial shows of the names, and which of them change places; see `LoopPlan`.

    Raises NotCapturable.
    """
    plan = LoopPlan({}, 1, trial.written)
    forms: dict[int, Form] = {}
    moving: list[int] = []
    for position, (before, after) in enumerate(zip(state, trial.after, strict=True)):
        if stays(before, after, outer):
            continue
        name = names[position]
        if is_memory(before) and is_memory(after) and id(after.storage) in outer:
            moving.append(position)
        elif after is UNDEFINED:
            raise NotCapturable(f"'{name}' is unbound after the loop's body")
        elif before is UNDEFINED and position not in stops and is_bound(after) is True and not _is_traced(after):
            plan.fixed[position] = after
        else:
            form = form_to_meet(before, after)
            if form is not None:
                forms[position] = form
                continue
            if isinstance(before, Array) and before.storage in trial.written:
                raise NotCapturable(f"the array '{name}' is written in place and its name then bound to a new one")
            plan.slots[position] = _slot_of(name, before, after, outer, trial)
    if forms:
        raise FormsDiffer(forms)
    note_sharing(list(plan.slots.values()))
    plan.is_settled = (
        not moving
        and all(slot.tells == "round" for slot in plan.slots.values())
        and all(isinstance(storage.value, Tracer) or _is_of_checks(storage) for storage in trial.written)
        and not any(trial.doubts.values())
    )
    places = {place_of(state[position]): position for position in moving}
    plan.swaps = {position: places.get(place_of(trial.after[position]), position) for position in moving}
    return plan, moving


def _is_of_checks(storage: Storage) -> bool:
    tracing = current_tracing()
    return tracing is not None and storage is tracing.failure


def _slot_of(name: str, before: Any, after: Any, outer: set[int], trial: Trial) -> Slot:
    places = [each.places for each in map(possible_value, (before, after)) if isinstance(each, Returned)]
    first, second = (_unpacked(possible_value(each)) for each in (before, after))
    leaves, structure = spread(second)
    if first is UNDEFINED:
        goes = [is_number(each) and _is_traced(each) for each in leaves]
        others: list[Any] = [UNDEFINED] * len(leaves)
    else:
        others, other = spread(first)
        if structure != other:
            raise NotCapturable(f"'{name}' is bound to {_kind(second)} where it was {_kind(first)}")
        goes = [not stays(one, two, outer) for one, two in zip(others, leaves, strict=True)]
        for one, two, does_go in zip(others, leaves, goes, strict=True):
            if does_go and not (is_number(one) and is_number(two)):
                raise NotCapturable(f"'{name}' is bound to {_kind(two)} where it was {_kind(one)}")
    tells = "always" if is_bound(before) is True else "flag"
    if before is UNDEFINED and is_bound(after) is True:
        tells = "round"
    lines = tuple(dict.fromkeys(each for group in places for each in group)) if places else None
    firsts = [each for each, does_go in zip(others, goes, strict=True) if does_go]
    lasts = [each for each, does_go in zip(leaves, goes, strict=True) if does_go]
    return Slot(
        name,
        structure,
        [None if does_go else leaf for leaf, does_go in zip(leaves, goes, strict=True)],
        goes,
        firsts,
        lasts,
        tells,
        lines,
        [each.storage.doubt if is_memory(each) else None for each in firsts],
        [trial.doubt_of(each) for each in lasts],
        [each for each in (first, second) if each is not UNDEFINED],
        outer,
    )


def _unpacked(value: Any) -> Any:
    return value.value if isinstance(value, Returned) else value


def _is_traced(value: Any) -> bool:
    """Whether some part of it is not known."""
    return any(is_traced(each) for each in spread(_unpacked(possible_value(value)))[0])


def _kind(value: Any) -> str:
    if is_memory(value):
        return f"an array of shape {value.shape}"
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _find_period(body: Advance, state: State, index: Any, moving: list[int]) -> int:
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


class Carried:
    """The values that go round: those of memories, and the parts of names."""

    def __init__(self, plan: LoopPlan, state: State) -> None:
        self.plan = plan
        self.state = state
        self.storages = list(plan.written)
        self.asks_for_round = False
        """Whether something asked if there was a round before."""

    def read(self, state: State) -> tuple[list[Any], list[list[Any]], list[Any]]:
        """The memories, the parts of names and the flags, as they are in this state."""
        slots = self.plan.slots.items()
        memories = [as_jax(storage.value) for storage in self.storages]
        parts = [[carried_value(each) for each in slot.parts_of(state[position])] for position, slot in slots]
        flags = [jnp.asarray(is_bound(state[position])) for position, slot in slots if slot.tells == "flag"]
        return memories, parts, flags

    def read_alike(self, state: State, like: Any) -> tuple[list[Any], list[list[Any]], list[Any]]:
        """The same, in the dtypes and shapes of what came in; what a name lacks that was unbound is as it was."""
        memories, parts, flags = self.read(state)
        parts = [
            [
                one if part is UNDEFINED else converted(part, one.dtype, one.shape)
                for part, one in zip(group, ones, strict=True)
            ]
            for group, ones in zip(parts, like[1], strict=True)
        ]
        return memories, parts, flags

    def initial(self, parts: list[list[Any]]) -> tuple[list[Any], list[list[Any]], list[Any]]:
        memories = [as_jax(storage.value) for storage in self.storages]
        flags = [
            jnp.asarray(is_bound(self.state[position]))
            for position, slot in self.plan.slots.items()
            if slot.tells == "flag"
        ]
        return memories, parts, flags

    def install(self, values: Any, has_run: Any, is_after: bool = False) -> State:
        """The state at the beginning of a round (or after all), with the memories set; `has_run` tells whether there
        was a round before, or is what gives that."""
        memories, parts, flags = values
        for storage, value in zip(self.storages, memories, strict=True):
            storage.value = value
        current = list(self.state)
        remaining = iter(flags)
        arrays = arrays_of(list(self.plan.slots.values()), parts, not is_after or has_run is not True)
        for (position, slot), group in zip(self.plan.slots.items(), arrays, strict=True):
            bound = {"always": True, "round": has_run}.get(slot.tells)
            current[position] = slot.value(group, next(remaining) if bound is None else bound)
        return tuple(current)

    def finish(self, values: Any, has_run: Any) -> State:
        """The state after the loop."""
        after = list(self.install(values, has_run, is_after=True))
        for position, value in self.plan.fixed.items():
            after[position] = possibly(value, has_run)
        return tuple(after)

    def left_by(self, stops: Sequence[int], values: Any, has_run: Any) -> Any:
        """Whether one of the names is bound, traced; None where none ever is."""
        if not stops:
            return None
        memories = [storage.value for storage in self.storages]
        current = self.install(values, has_run)
        for storage, value in zip(self.storages, memories, strict=True):
            storage.value = value
        found = left_by([current[position] for position in stops])
        return None if found is False else jnp.asarray(found)

    # -- whether there was a round, for loops that do not count -------------------------------------------------------

    def ran_before(self, flags: Sequence[Any]) -> Any:
        """What tells in a round whether there was one before."""

        def tell() -> Any:
            self.asks_for_round = True
            return flags[0] if flags else jnp.asarray(True)

        return tell

    def flags_of_running(self) -> list[Any]:
        """The flag that goes round for this, if something asks for it."""
        return [jnp.asarray(False)] if self.asks_for_round else []


def settled(carried: Carried, index: Any, body: Advance, is_sure_to_run: bool = False) -> list[list[Any]]:
    """First parts of the names, in the dtypes and shapes that they keep; widens `carried.storages` as needed.

    Raises NotCapturable, also where a name would change its type by going round; a number may become an array only
    where there is sure to be a round.
    """
    slots = list(carried.plan.slots.items())
    initial: list[list[Any]] = []
    for _, slot in slots:
        pairs = zip(slot.before, slot.after, strict=True)
        initial.append([_first_part(slot.name, one, two, is_sure_to_run) for one, two in pairs])
    for _ in range(MOST_TRIALS):
        given: list[list[Any]] = []
        has_new_doubts: list[bool] = []

        def step(
            number: Any, values: Any, given: list[list[Any]] = given, has_new_doubts: list[bool] = has_new_doubts
        ) -> State:
            current = carried.install(values, carried.ran_before([]))
            after = body(number, current)
            for position, slot in slots:
                parts = slot.parts_of(after[position])
                given.append([part if part is UNDEFINED else _Given.of(part) for part in parts])
                has_new_doubts.append(slot.add_doubts(parts))
            return after

        trial = run_on_trial(step, index, carried.initial(initial))
        more = [storage for storage in trial.written if storage not in carried.storages]
        carried.storages += more
        is_settled = not any([more, *has_new_doubts, add_doubts(trial.doubts.items())])
        wanted: list[list[Any]] = []
        for group, ones, (_, slot) in zip(initial, given, slots, strict=True):
            news: list[Any] = []
            for first, value, one in zip(slot.before, group, ones, strict=True):
                new = value if one is UNDEFINED else _widened(slot.name, first, value, one, is_sure_to_run)
                news.append(new)
                is_settled = (
                    is_settled and value.dtype == new.dtype and value.shape == new.shape and not value.weak_type
                )
            wanted.append(news)
        initial = wanted
        if is_settled:
            return initial
    raise NotCapturable("the dtypes or shapes of names change from step to step")


@dataclass(frozen=True)
class _Given:
    """What a round gives a part of a name: its type, and itself if it is a number of the source."""

    aval: Any
    number: int | float | complex | None

    @classmethod
    def of(cls, part: Any) -> _Given:
        number = part if isinstance(part, int | float | complex) else None
        return cls(jax.typeof(jnp.asarray(carried_value(part))), number)


def _widened(name: str, first: Any, value: Any, given: _Given, is_sure_to_run: bool) -> Any:
    """A first value in the dtype and shape that it has after a round, too; `first` is what the name holds before.

    Raises NotCapturable.
    """
    aval = given.aval
    dtype = jnp.result_type(value, aval)
    shape = common_shape(value.shape, aval.shape, name)
    was = first if isinstance(first, int | float | complex) else value
    if first is not UNDEFINED and value.shape != shape and not is_sure_to_run:
        text = f"'{name}' is a number before, and an array of shape {shape} after a round"
        raise NotCapturable(text, f"begin with an array: {name} = numpy.zeros({shape})")
    if shape != aval.shape:
        raise NotCapturable(f"'{name}' is an array of shape {shape} before, and a number after a round")
    is_kept = (first is UNDEFINED and given.number is None and value.weak_type) or keeps(was, value, dtype)
    if not (is_kept and keeps(given.number if given.number is not None else aval, aval, dtype)):
        text = f"'{name}' is {value.dtype} before, and {aval.dtype} after a round"
        raise NotCapturable(text, "begin with what a round gives, as in float(n) for n, or x.astype(dtype)")
    return jnp.broadcast_to(jax.lax.convert_element_type(value, dtype), shape)


def _first_part(name: str, before: Any, after: Any, is_sure_to_run: bool) -> Any:
    """What goes round at first; of the type that it has after a round, too, as far as the plan's trial tells: so that
    one more trial shows that it stays so."""
    if before is UNDEFINED:
        return zeros_like(aval_of(after))
    value = jnp.asarray(carried_value(before))
    if after is UNDEFINED:
        return value
    number = after if isinstance(after, int | float | complex) else None
    try:
        return _widened(name, before, value, _Given(aval_of(after), number), is_sure_to_run)
    except NotCapturable:
        return value  # found again, or not, where it goes round
