"""What becomes of a program that XLA divides among devices: the form in which least is communicated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from windlass.communication import (
    Exchanged,
    count_folds_without_nan,
    exchange_and_estimate,
    holds_constraints,
    tell_what_divides,
)
from windlass.communication.choices import (
    BEFORE_RULES,
    EXCHANGED,
    FEWEST_BYTES,
    LEFT,
    Candidate,
    Choice,
    explain_choice,
)
from windlass.communication.machines import Machine
from windlass.ir import Module
from windlass.lowering.finishing import Surroundings
from windlass.ops.shardings import Sharding
from windlass.stablehlo.calibrating_messages import machine_at
from windlass.stablehlo.measuring import Traffic, measure_traffic

FEW_OPS = 1000
"""Programs of so many ops are compiled in each form, to be sure; larger ones where estimates are near one another."""
MARGIN = 4
"""What is estimated at so many times the bytes is not looked at."""


class Distributed(NamedTuple):
    """A program in the form that was chosen; why, unless there was nothing to choose."""

    module: Module
    choice: Choice | None


def distribute(
    module: Module,
    surroundings: Surroundings,
    platform: str,
    complete: Callable[[Module], None],
    make_plain: Callable[[], Module | None] = lambda: None,
) -> Distributed:
    """The program as it is, or with its halos exchanged, or as it was before the rules; each is completed.

    Rules know of no mesh, and what makes a program cheaper on one device may move elements between devices. So the
    forms are compared: XLA compiles them, and what they communicate is counted. Of a large program those are not
    compiled whose estimates lie far apart. `complete` does, in place, what is done to the form that is chosen: so it is
    done before it is counted.
    """
    is_alone = surroundings.is_left_to_xla or not surroundings.is_partitioned
    if is_alone or not (any(surroundings.shardings) or holds_constraints(module)):
        complete(module)
        return Distributed(module, None)
    name, shardings = module.name or "", surroundings.shardings
    devices = max((each.mesh.devices for each in shardings if each is not None), default=1)
    machine = machine_at(platform, devices)
    exchanged = exchange_and_estimate(module, shardings, machine)
    if exchanged is not None and (clear := _clear_choice(name, module, exchanged)) is not None:
        complete(exchanged.module)
        return Distributed(exchanged.module, clear)
    plain = make_plain()
    forms: dict[str, Module] = {}
    decisions: dict[str, tuple[str, ...]] = {}
    for given, suffix in ((module, ""), (plain, BEFORE_RULES)):
        if given is None:
            continue
        found = exchanged if given is module else exchange_and_estimate(given, shardings, machine)
        for form, each in _exchanged_forms(given, found, shardings, machine):
            forms[form + suffix], decisions[form + suffix] = each.module, each.decisions
        forms[LEFT + suffix] = given
    for form in (LEFT, LEFT + BEFORE_RULES):
        if form in forms:
            decisions[form] = tell_what_divides(forms[form], shardings)
    for form in forms.values():
        complete(form)
    wrong = {name: count_folds_without_nan(form, shardings) for name, form in forms.items()}
    counted: dict[str, Traffic] = {}

    def measured(name: str) -> Traffic:
        if name not in counted:
            counted[name] = measure_traffic(forms[name], shardings, platform)
        return counted[name]

    best = _choose(tuple(forms), wrong, measured, machine)
    candidates = {each: Candidate(each, *counted.get(each, (None, None)), loses_nan=wrong[each]) for each in forms}
    return Distributed(forms[best], explain_choice(name, candidates.values(), candidates[best], decisions[best]))


def _exchanged_forms(
    module: Module, exchanged: Exchanged | None, shardings: Sequence[Sharding | None], machine: Machine
) -> Iterator[tuple[str, Exchanged]]:
    """The program with its halos exchanged in the least time by estimate and, if it is small, in the fewest bytes.

    The second is for where few large messages take less time, but move more bytes than XLA does by itself.
    """
    if exchanged is None:
        return
    yield EXCHANGED, exchanged
    if exchanged.traffic is not None and not _is_large(module):
        thrifty = exchange_and_estimate(module, shardings, machine._replace(latency=0.0))
        if thrifty is not None and thrifty.traffic is not None and thrifty.traffic[0] < exchanged.traffic[0]:
            yield EXCHANGED + FEWEST_BYTES, thrifty


def _is_large(module: Module) -> bool:
    return sum(1 for _ in module.main.walk()) > FEW_OPS


def _clear_choice(name: str, module: Module, exchanged: Exchanged) -> Choice | None:
    """Why a large program has its halos exchanged, where that is by far better than what XLA makes of it."""
    if not _is_large(module) or exchanged.traffic is None or MARGIN * exchanged.traffic[0] > exchanged.by_xla:
        return None
    ours = Candidate(EXCHANGED, *exchanged.traffic, is_estimate=True)
    return explain_choice(name, (ours, Candidate(LEFT, exchanged.by_xla, is_estimate=True)), ours, exchanged.decisions)


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
