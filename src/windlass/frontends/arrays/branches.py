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

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.array import Scalar, wrapped
from windlass.frontends.arrays.states import (
    UNDEFINED,
    Body,
    NotCapturable,
    State,
    Trial,
    aval_of,
    common_shape,
    converted,
    explained,
    is_memory,
    is_number,
    is_traced,
    laid_alike,
    plain,
    run_on_trial,
    stays,
    truth_of,
    values_of,
    without_leaks,
)
from windlass.frontends.arrays.tracing import Storage, at_this_level, keeping_memories, live_storages
from windlass.frontends.arrays.values import as_jax

ENTRY_POINTS = ("run_if", "choose", "both", "either", "negated", "compared")
"""What captured functions call."""


def run_if(test: Any, then: Body, otherwise: Body, getters: Sequence[Callable[[], Any]]) -> State:
    """`if test: ... else: ...`."""
    state = values_of(getters)
    if not is_traced(test):
        return then(*state) if test else otherwise(*state)
    try:
        with keeping_memories():
            return branch(plain(test), then, otherwise, state)
    except NotCapturable as error:
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
    """What the two sides of a branch do to the names: `values` are positions whose values the branch gives.

    `fixed` are names that are bound to the same thing that is no number, or unbound, on either side; `uncertain` are
    those of `values` that stand for a memory from outside on one of them.
    """

    trials: list[Trial]
    values: list[int]
    fixed: dict[int, Any]
    uncertain: set[int]

    def written(self) -> list[Storage]:
        """The memories that one side or the other writes."""
        return list({id(each): each for trial in self.trials for each in trial.written}.values())

    def types(self) -> list[tuple[Any, Any]]:
        """The dtype (None where it is weak) and shape of each value."""
        types: list[tuple[Any, Any]] = []
        for position in self.values:
            avals = [aval_of(trial.after[position]) for trial in self.trials]
            shape = common_shape(*(each.shape for each in avals))
            dtype = jnp.result_type(*avals)
            is_weak = all(each.weak_type and each.dtype == dtype for each in avals)
            types.append((None if is_weak else dtype, shape))
        return types


def _plan(then: Body, otherwise: Body, state: State) -> BranchPlan:
    """Raises NotCapturable."""
    outer = {id(storage) for storage in live_storages()}
    trials = [run_on_trial(lambda: then(*state)), run_on_trial(lambda: otherwise(*state))]
    plan = BranchPlan(trials, [], {}, set())
    for position, before in enumerate(state):
        first, second = (trial.after[position] for trial in trials)
        if stays(before, first, outer) and stays(before, second, outer):
            continue
        if is_number(first) and is_number(second):
            plan.values.append(position)
            if any(is_memory(each) and id(each.storage) in outer for each in (first, second)):
                plan.uncertain.add(position)
        elif first is UNDEFINED or second is UNDEFINED:
            plan.fixed[position] = UNDEFINED
        elif first is second:
            plan.fixed[position] = first
        else:
            raise NotCapturable("the two sides give different things that are no numbers")
    return plan


def branch(test: Any, then: Body, otherwise: Body, state: State) -> State:
    """The state after one operation that runs either side. Raises NotCapturable."""
    plan = _plan(then, otherwise, state)
    written, types = plan.written(), plan.types()
    kept = [as_jax(storage.value) for storage in written]

    def side(run: Body) -> Callable[[], Any]:
        def branch() -> Any:
            for storage, value in zip(written, kept, strict=True):
                storage.value = value
            with at_this_level():
                after = run(*state)
            news = [
                converted(plain(after[position]), dtype, shape)
                for position, (dtype, shape) in zip(plan.values, types, strict=True)
            ]
            return [as_jax(storage.value) for storage in written], news

        return branch

    results, news = jax.lax.cond(truth_of(test), side(then), side(otherwise))
    for storage, value in zip(written, results, strict=True):
        storage.value = value
    after = list(state)
    for position, value in zip(plan.values, news, strict=True):
        is_array = any(is_memory(trial.after[position]) for trial in plan.trials)
        after[position] = array = laid_alike(
            wrapped(value, is_array), *(trial.after[position] for trial in plan.trials)
        )
        array.storage.is_uncertain = position in plan.uncertain
    for position, value in plan.fixed.items():
        after[position] = without_leaks(value)
    return tuple(after)
