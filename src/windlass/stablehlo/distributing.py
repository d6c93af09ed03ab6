"""What becomes of a program that XLA divides among devices: the form in which least is communicated."""

from __future__ import annotations

import math
from collections.abc import Callable

from windlass.communication import count_folds_without_nan, exchange_halos_in, holds_constraints
from windlass.communication.machines import machine_for
from windlass.ir import Module
from windlass.lowering.finishing import Surroundings
from windlass.stablehlo.measuring import Traffic, measure_traffic


def distribute(
    module: Module,
    surroundings: Surroundings,
    platform: str,
    complete: Callable[[Module], None],
    plain: Module | None = None,
) -> Module:
    """The program as it is, or with its halos exchanged, or `plain`: as it was before the rules; each is completed.

    Rules know of no mesh, and what makes a program cheaper on one device may move elements between devices. So the
    forms are compared: XLA compiles them, and what they communicate is counted. `complete` does, in place, what is done
    to the form that is chosen: so it is done before it is counted.
    """
    forms = _forms(module, surroundings, platform, plain)
    for form in forms:
        complete(form)
    if len(forms) == 1:
        return forms[0]

    def measured(form: Module) -> Traffic:
        return measure_traffic(form, surroundings.shardings, platform)

    wrong = [count_folds_without_nan(form, surroundings.shardings) for form in forms]
    least = measured(forms[0])
    if not least.bytes and wrong[0] == min(wrong):
        return forms[0]
    # What is left alone is what most often is as good; the others are worth a look only if it is.
    limit = measured(forms[-1])
    if math.isinf(limit.bytes):
        return forms[0]
    machine = machine_for(platform)

    def badness(place: int, traffic: Traffic) -> tuple[int, bool, float]:
        """First what is right, then what moves no more bytes than XLA by itself, then what takes the least time."""
        return wrong[place], traffic.bytes > limit.bytes, machine.cost(*traffic)

    best, least_bad = 0, badness(0, least)
    last = len(forms) - 1
    if badness(last, limit) <= least_bad:
        best, least_bad = last, badness(last, limit)
        for place in range(last - 1, 0, -1):
            if (found := badness(place, measured(forms[place]))) <= least_bad:
                best, least_bad = place, found
    return forms[best]


def _forms(module: Module, surroundings: Surroundings, platform: str, plain: Module | None) -> list[Module]:
    """The forms that the program may take, what is left to XLA last."""
    is_alone = surroundings.is_left_to_xla or not surroundings.is_partitioned
    if is_alone or not (any(surroundings.shardings) or holds_constraints(module)):
        return [module]
    forms: list[Module] = []
    for each in (module, plain):
        if each is not None:
            exchanged = exchange_halos_in(each, surroundings.shardings, machine_for(platform))
            forms += [each] if exchanged is None else [exchanged, each]
    return forms
