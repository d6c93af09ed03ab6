"""What becomes of a program that XLA divides among devices: the form in which least is communicated."""

from __future__ import annotations

from collections.abc import Callable

from windlass.communication import exchange_halos_in, holds_constraints
from windlass.communication.machines import Machine, machine_for
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

    machine = machine_for(platform)
    best, least = forms[0], measured(forms[0])
    if not least.bytes:
        return best
    # What is left alone is what most often is as good; the others are worth a look only if it is better.
    limit = measured(forms[-1])
    if _is_better(limit, least, limit, machine):
        best, least = forms[-1], limit
        for form in forms[1:-1]:
            if _is_better(found := measured(form), least, limit, machine):
                best, least = form, found
    return best


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


def _is_better(one: Traffic, other: Traffic, limit: Traffic, machine: Machine) -> bool:
    """Whether one form is cheaper than the other; never one that moves more bytes than what XLA makes by itself."""
    if (one.bytes <= limit.bytes) != (other.bytes <= limit.bytes):
        return one.bytes <= limit.bytes
    return machine.cost(*one) < machine.cost(*other)
