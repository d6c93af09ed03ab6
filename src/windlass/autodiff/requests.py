"""What users say of the memory of gradients: `checkpoint=` and `memory=` of `wl.grad`, `wl.jit`, `Kernel.jax`."""

from __future__ import annotations

import re
from typing import Any

from windlass.autodiff.planning import Binomial, Periodic, Plan
from windlass.diagnostics import Diagnostic, WindlassError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12} | {
    f"{letter}i": 1 << 10 * power for power, letter in enumerate("kmgt", 1)
}


def plan_for(asker: str, checkpoint: Any, memory: Any) -> Plan:
    """The plan that `checkpoint` and `memory` of a function, which is called `asker`, ask for.

    Raises WindlassError (WL0931) where that is no plan.

    >>> plan_for("wl.grad", None, "2GiB").memory
    2147483648
    """
    if not (checkpoint is None or isinstance(checkpoint, Periodic | Binomial)):
        raise _refused(
            f"{asker}: checkpoint={checkpoint!r} is no schedule", "pass wl.Periodic(n), wl.Binomial(k) or None"
        )
    number = None
    if isinstance(checkpoint, Periodic | Binomial):
        number = checkpoint.every if isinstance(checkpoint, Periodic) else checkpoint.places
    if number is not None and number < 1:
        raise _refused(f"{asker}: checkpoint={checkpoint!r} keeps nothing", "its number is 1 or more")
    if memory is not None and checkpoint is not None:
        raise _refused(
            f"{asker}: memory= and checkpoint= are both given", "pass one: a budget chooses the schedule itself"
        )
    return Plan(checkpoint, None if memory is None else _bytes_of(asker, memory))


def _bytes_of(asker: str, memory: Any) -> int:
    if isinstance(memory, int) and not isinstance(memory, bool) and memory > 0:
        return memory
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?|)b?\s*", memory.lower()) if isinstance(memory, str) else None
    if found is None or not float(found[1]):
        raise _refused(f"{asker}: memory={memory!r} is no number of bytes", 'pass bytes, or such as "2GiB"')
    return int(float(found[1]) * _UNITS[found[2]])


def _refused(headline: str, help_: str) -> WindlassError:
    return WindlassError(Diagnostic("WL0931", headline, help=help_))
