"""What XLA's compilers want of a program that is otherwise finished, for each kind of device in one place.

On CPUs values that several fusions would compute again are made once, the inside of what is put together is computed
apart from its borders, and updates in place are kept from being copied (see `materialization`, `interiors` and
`in_place`); and what XLA's library would compute wrongly is kept from it
(`library_fusions`). On GPUs loops that would not fit into registers are divided (`splitting`).
"""

from __future__ import annotations

import math

from windlass.diagnostics.deadline import ending_at
from windlass.facts.cost import Device
from windlass.ir import Module
from windlass.lowering.in_place import settle_updates
from windlass.lowering.index_forms import bring_indices_into_form
from windlass.lowering.interiors import split_interiors
from windlass.lowering.library_fusions import Surroundings, avoid_wrong_fusions
from windlass.lowering.materialization import materialize_shared
from windlass.lowering.reduced_sums import settle_reduced_sums
from windlass.lowering.special_values import keep_special_values
from windlass.lowering.splitting import split_fusions

__all__ = ["Surroundings"]


def finish(
    module: Module,
    device: Device,
    until: float = math.inf,
    *,
    is_whole: bool = False,
    is_partitioned: bool = False,
    is_settled: bool = False,
) -> None:
    """Change the module in place for the device's compiler; what need not be done ends at a moment of `monotonic()`.

    `is_whole` says that no other program will call the module. One that `is_partitioned`, which XLA divides among
    devices, keeps its updates: calls would keep XLA from that. In one that `is_settled` it has been decided what is
    written out.
    """
    if device.name == "gpu":
        split_fusions(module, device)
    elif device.name == "cpu" and not is_partitioned:
        if not is_settled:
            with ending_at(until):
                materialize_shared(module)
                settle_reduced_sums(module)
                split_interiors(module)
        settle_updates(module, is_whole)


def avoid_miscompilations(module: Module, device: Device, surroundings: Surroundings) -> None:
    """Bring what the device's compiler gets wrong into forms that it gets right, in place, and change nothing else.

    This comes last, and for programs that are lowered as they stand, too.
    """
    keep_special_values(module)
    bring_indices_into_form(module)
    if device.name == "cpu":
        avoid_wrong_fusions(module, surroundings)
