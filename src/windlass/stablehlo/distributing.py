"""What becomes of a program that XLA divides among devices: the form in which least is communicated."""

from __future__ import annotations

import math

from windlass.communication import exchange_halos_in, holds_constraints
from windlass.ir import Module
from windlass.lowering.finishing import Surroundings
from windlass.stablehlo.measuring import measure_bytes


def distribute(module: Module, surroundings: Surroundings, platform: str, plain: Module | None = None) -> Module:
    """The program as it is, or with its halos exchanged, or `plain`: as it was before the rules.

    Rules know of no mesh, and what makes a program cheaper on one device may move elements between devices. So the
    forms are compared: XLA compiles them, and what they communicate is counted.
    """
    is_alone = surroundings.is_left_to_xla or not surroundings.is_partitioned
    if is_alone or not (any(surroundings.shardings) or holds_constraints(module)):
        return module
    forms: list[Module] = []
    for each in (module, plain):
        if each is not None:
            exchanged = exchange_halos_in(each, surroundings.shardings)
            forms += [each] if exchanged is None else [exchanged, each]
    if len(forms) == 1:
        return module

    def measured(form: Module) -> float:
        found = measure_bytes(form, surroundings.shardings, platform)
        return math.inf if found is None else found

    best = forms[0]
    least = measured(best)
    # What is left alone is what most often is as good; the others are worth a look only if it is better.
    limit = measured(forms[-1]) if least else math.inf
    if limit < least:
        best, least = forms[-1], limit
        for form in forms[1:-1]:
            if (found := measured(form)) <= least:
                best, least = form, found
    return best
