"""What becomes of a program that XLA divides among devices: the form in which least is communicated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from windlass.communication import count_folds_without_nan, exchange_halos_in, holds_constraints
from windlass.communication.choices import BEFORE_RULES, EXCHANGED, LEFT, Candidate, Choice, explain_choice
from windlass.communication.machines import Machine
from windlass.ir import Module
from windlass.lowering.finishing import Surroundings
from windlass.stablehlo.calibrating_messages import machine_at
from windlass.stablehlo.measuring import Traffic, measure_traffic


class Distributed(NamedTuple):
    """A program in the form that was chosen; why, unless there was nothing to choose."""

    module: Module
    choice: Choice | None


def distribute(
    module: Module,
    surroundings: Surroundings,
    platform: str,
    complete: Callable[[Module], None],
    plain: Module | None = None,
) -> Distributed:
    """The program as it is, or with its halos exchanged, or `plain`: as it was before the rules; each is completed.

    Rules know of no mesh, and what makes a program cheaper on one device may move elements between devices. So the
    forms are compared: XLA compiles them, and what they communicate is counted. `complete` does, in place, what is done
    to the form that is chosen: so it is done before it is counted.
    """
    is_alone = surroundings.is_left_to_xla or not surroundings.is_partitioned
    if is_alone or not (any(surroundings.shardings) or holds_constraints(module)):
        complete(module)
        return Distributed(module, None)
    devices = max((each.mesh.devices for each in surroundings.shardings if each is not None), default=1)
    machine = machine_at(platform, devices)
    forms = _forms(module, surroundings, machine, plain)
    for form in forms.values():
        complete(form)
    wrong = {name: count_folds_without_nan(form, surroundings.shardings) for name, form in forms.items()}
    counted: dict[str, Traffic] = {}

    def measured(name: str) -> Traffic:
        if name not in counted:
            counted[name] = measure_traffic(forms[name], surroundings.shardings, platform)
        return counted[name]

    best = _choose(tuple(forms), wrong, measured, machine)
    candidates = {name: Candidate(name, *counted.get(name, (None, None)), loses_nan=wrong[name]) for name in forms}
    return Distributed(forms[best], explain_choice(module.name or "", candidates.values(), candidates[best]))


def _choose(
    names: Sequence[str], wrong: Mapping[str, int], measured: Callable[[str], Traffic], machine: Machine
) -> str:
    """The best of these forms, of which the last is left to XLA most."""
    first, *between, last = names if len(names) > 1 else (*names, *names)
    if first == last:
        return first
    least = measured(first)
    if not least.bytes and wrong[first] == min(wrong.values()):
        return first
    # What is left alone is what most often is as good; the others are worth a look only if it is.
    limit = measured(last)
    if math.isinf(limit.bytes):
        return first

    def badness(name: str) -> tuple[int, bool, float]:
        """First what is right, then what moves no more bytes than XLA by itself, then what takes the least time."""
        traffic = measured(name)
        return wrong[name], traffic.bytes > limit.bytes, machine.cost(*traffic)

    best = first
    if badness(last) <= badness(first):
        best = last
        for name in reversed(between):
            if badness(name) <= badness(best):
                best = name
    return best


def _forms(module: Module, surroundings: Surroundings, machine: Machine, plain: Module | None) -> dict[str, Module]:
    """The forms that the program may take, what is left to XLA last."""
    forms: dict[str, Module] = {}
    for each, when in ((module, ""), (plain, BEFORE_RULES)):
        if each is not None:
            exchanged = exchange_halos_in(each, surroundings.shardings, machine)
            if exchanged is not None:
                forms[EXCHANGED + when] = exchanged
            forms[LEFT + when] = each
    return forms
