"""Captured branches and conditions: `if`, `a if b else c`, `and`, `or`, `not` and chains of comparisons.

Where the truth of a condition is known they are what Python makes of them; where it is not, one operation, whose sides
run only if they are asked for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.array import Array, Scalar
from windlass.frontends.arrays.forms import Form, FormsDiffer, form_to_meet, meeting, with_forms
from windlass.frontends.arrays.joins import Join, Sharing, join_of
from windlass.frontends.arrays.kept_objects import keeping_objects
from windlass.frontends.arrays.sharing import add_doubts, doubts_now, put_back
from windlass.frontends.arrays.states import (
    UNDEFINED,
    Body,
    NotCapturable,
    State,
    Trial,
    aval_of,
    explained,
    is_number,
    is_on_trial,
    is_traced,
    names_of,
    plain,
    run_on_trial,
    stays,
    truth_of,
    values_of,
)
from windlass.frontends.arrays.tracing import Storage, at_this_level, keeping_memories, known_outside, note_needed
from windlass.frontends.arrays.unsure import is_bound
from windlass.frontends.arrays.values import as_jax

ENTRY_POINTS = ("run_if", "choose", "both", "either", "negated", "compared", "among")
"""What captured functions call."""


def run_if(test: Any, then: Body, otherwise: Body, getters: Sequence[Callable[[], Any]]) -> State:
    """`if test: ... else: ...`."""
    state = values_of(getters)
    if not is_traced(test):
        return then(*state) if test else otherwise(*state)
    try:
        with keeping_memories(), keeping_objects((then, otherwise), state):
            return branch(plain(test), then, otherwise, state, names_of(getters))
    except NotCapturable as error:
        note_needed(plain(test))
        raise explained(error) from error


def choose(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """`then if test else otherwise`."""
    if not is_traced(test):
        return then() if test else otherwise()
    (found,) = run_if(test, lambda _: (then(),), lambda _: (otherwise(),), [lambda: UNDEFINED])
    return found


def both(left: Any, right: Callable[[], Any], is_condition: bool) -> Any:
    """`left and right`; where it is a condition, only its truth is asked for."""
    if not is_traced(left):
        return left and right()
    return choose(left, _side("and", left, right, is_condition), _side("and", left, lambda: left, is_condition))


def either(left: Any, right: Callable[[], Any], is_condition: bool) -> Any:
    """`left or right`; where it is a condition, only its truth is asked for."""
    if not is_traced(left):
        return left or right()
    return choose(left, _side("or", left, lambda: left, is_condition), _side("or", left, right, is_condition))


def negated(value: Any) -> Any:
    """`not value`."""
    return Scalar(~truth_of(value)) if is_traced(value) else not value


def compared(names: tuple[str, ...], left: Any, *operands: Callable[[], Any]) -> Any:
    """`left < second < third`; `names` are those of the comparisons in `operator`."""
    right = operands[0]()
    found = getattr(operator, names[0])(left, right)
    if len(operands) == 1:
        return found
    return both(found, lambda: compared(names[1:], right, *operands[1:]), False)


def among(value: Any, things: Any) -> Any:
    """`value in things`."""
    if isinstance(things, range) and is_traced(value):
        low, *_, high = sorted((things[0], things[-1])) if things else (0, -1)
        return (value >= low) & (value <= high) & ((value - low) % abs(things.step) == 0)
    if isinstance(things, Array) and (is_traced(things) or is_traced(value)):
        return np.any(things == value)
    items: Any = list(things) if isinstance(things, tuple | list | set | frozenset | dict) else []
    if not any(map(is_traced, (value, *items))):
        return value in things
    found: Any = False
    for item in items:
        if item is value:
            return True
        same = item == value
        if is_traced(same):
            found = same if found is False else found | same
        elif same:
            return True
    return found


def _side(word: str, left: Any, side: Callable[[], Any], is_condition: bool) -> Callable[[], Any]:
    """A side of `and` and `or`, as what the other is: a truth, or a value of the left side's dtype."""

    def give() -> Any:
        value = side()
        if is_condition:
            return Scalar(truth_of(value))
        if not is_number(value) or aval_of(value).dtype != aval_of(left).dtype:
            raise WindlassError(
                Diagnostic(
                    "WL0904",
                    f"which side `{word}` gives is not known while the function is compiled, and they differ in type",
                    help="compare both sides, as in (a != 0) " + word + " (b != 0), or write numpy.where",
                )
            )
        return value

    return give


@dataclass
class BranchPlan:
    """What the two sides of a branch do to the names: `joins` are those whose values the branch gives, by position;
    `fixed` are those that are the same on either side, or unbound."""

    trials: list[Trial]
    joins: dict[int, Join]
    fixed: dict[int, Any]

    def written(self) -> list[Storage]:
        """The memories that one side or the other writes."""
        return list({id(each): each for trial in self.trials for each in trial.written}.values())


def _plan(then: Body, otherwise: Body, state: State, names: Sequence[str]) -> BranchPlan:
    """Raises NotCapturable."""
    outer = known_outside()
    trials = [run_on_trial(lambda: then(*state)), run_on_trial(lambda: otherwise(*state))]
    plan = BranchPlan(trials, {}, {})
    forms: dict[int, Form] = {}
    for position, before in enumerate(state):
        first, second = (trial.after[position] for trial in trials)
        if stays(before, first, outer) and stays(before, second, outer):
            continue
        if first is second or stays(first, second, outer):
            plan.fixed[position] = first
        elif (form := form_to_meet(first, second)) is not None:
            forms[position] = form
        else:
            plan.joins[position] = join_of(names[position] if names else "", first, second, outer)
    if forms:
        raise FormsDiffer(forms)
    return plan


def branch(test: Any, then: Body, otherwise: Body, state: State, names: Sequence[str] = ()) -> State:
    """The state after one operation that runs either side. Raises NotCapturable."""
    return meeting(
        lambda forms: (
            _branch_in(test, with_forms(then, forms), with_forms(otherwise, forms), state, names)
            if forms
            else _branch_in(test, then, otherwise, state, names)
        )
    )


def _branch_in(test: Any, then: Body, otherwise: Body, state: State, names: Sequence[str]) -> State:
    """The same, in forms that names have where the ways meet."""
    plan = _plan(then, otherwise, state, names)
    written = plan.written()
    truth = truth_of(test)
    kept = [as_jax(storage.value) for storage in written]
    doubts = doubts_now()
    bounds = {
        position: _bound_by(truth, *(trial.after[position] for trial in plan.trials))
        for position, join in plan.joins.items()
        if join.is_unsure
    }

    def side(run: Body) -> Callable[[], Any]:
        def branch() -> Any:
            for storage, value in zip(written, kept, strict=True):
                storage.value = value
            put_back(doubts)
            with at_this_level():
                after = run(*state)
            news = [join.values_on(after[position]) for position, join in plan.joins.items()]
            flags = [is_bound(after[position]) for position, bound in bounds.items() if bound is None]
            return [as_jax(storage.value) for storage in written], news, [jnp.asarray(each) for each in flags]

        return branch

    gives_names = any(join.ways for join in plan.joins.values()) or None in bounds.values()
    if written and not gives_names and is_on_trial():
        # Only that they are written matters: branches in loops and branches are not traced again and again.
        results, news, flags = jax.lax.optimization_barrier(kept), [[] for _ in plan.joins], []
    elif written or gives_names:
        results, news, flags = jax.lax.cond(truth, side(then), side(otherwise))
    else:
        results, news, flags = [], [[] for _ in plan.joins], []
    for storage, value in zip(written, results, strict=True):
        storage.value = value
    put_back(doubts)
    for trial in plan.trials:
        add_doubts(trial.doubts.items())
    remaining = iter(flags)
    after = list(state)
    sharing = Sharing(plan.trials)
    for (position, join), values in zip(plan.joins.items(), news, strict=True):
        bound = bounds.get(position, True)
        after[position] = join.value(values, next(remaining) if bound is None else bound, sharing)
    sharing.close()
    for position, value in plan.fixed.items():
        after[position] = value
    return tuple(after)


def _bound_by(truth: Any, first: Any, second: Any) -> Any:
    """Whether a name is bound after a branch, from the condition alone; None where the sides have to tell."""
    match is_bound(first), is_bound(second):
        case True, False:
            return truth
        case False, True:
            return ~truth
        case _:
            return None
