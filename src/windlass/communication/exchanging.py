"""Halo exchange in a whole program: the entry to the room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from windlass.communication.estimating import count_in_regions, estimate_by_xla
from windlass.communication.known_everywhere import copy_for_each_axis
from windlass.communication.machines import CPUS, Machine
from windlass.communication.overlapping import write_as_overlapping
from windlass.communication.padded import write_as_padded
from windlass.communication.parts_of_longer import write_parts_of_longer
from windlass.communication.preparing import (
    drop_empty_parts,
    drop_idle_broadcasts,
    write_as_slices,
    write_scatters_as_updates,
)
from windlass.communication.propagation import CONSTRAINT, propagate
from windlass.communication.reading import Unreadable
from windlass.communication.regions import exchange_in_function
from windlass.communication.strided import write_strided_as_dense
from windlass.communication.telling import tell_divisions, tell_left
from windlass.communication.transforms import write_transforms_by_axis
from windlass.communication.unfolding import keep_axes_apart
from windlass.communication.unread import drop_unread_updates
from windlass.ir import Function, Module, Value
from windlass.ir.values import TypeFault
from windlass.ops import Maximum, Minimum, Opaque, Reduce
from windlass.ops.shardings import Sharding, meshes_in

WRITERS = (
    keep_axes_apart, write_strided_as_dense, write_as_slices, write_transforms_by_axis, write_as_overlapping,
    write_parts_of_longer, write_as_padded,
)  # fmt: skip
MOST_ROUNDS = 50
"""Ops are written anew so often, each time as far as it is known how values are divided."""


def holds_constraints(module: Module) -> bool:
    """Whether the program itself says how values in it are to be divided."""
    ops = (op for function in module.functions.values() for op in function.walk())
    return any(isinstance(op, Opaque) and op.operation == CONSTRAINT for op in ops)


class Exchanged(NamedTuple):
    """A program with its halos exchanged, and what is known of its communication without compiling it."""

    module: Module
    traffic: tuple[float, float] | None
    """Bytes that each device receives in a run, and messages; None where XLA may add some."""
    by_xla: float
    """About how many bytes XLA alone would move, at least."""
    decisions: tuple[str, ...] = ()
    """Who decided how values are divided, and what is left to XLA."""


def exchange_halos_in(module: Module, shardings: Sequence[Sharding | None], machine: Machine = CPUS) -> Module | None:
    """The program with its halos exchanged by regions of local code; None where there is nothing to exchange.

    `shardings` are those of the main function's arguments, where they are known; `machine` says what a message costs
    beside bytes. The module is not changed.
    """
    found = exchange_and_estimate(module, shardings, machine)
    return None if found is None else found.module


def exchange_and_estimate(
    module: Module, shardings: Sequence[Sharding | None], machine: Machine = CPUS
) -> Exchanged | None:
    """As `exchange_halos_in`, with what is known of the communication."""
    copy = module.clone()
    main = copy.main
    known, meshes = _known(main, shardings), meshes_in(module.globals)
    drop_idle_broadcasts(main)
    drop_empty_parts(main)
    write_scatters_as_updates(main)
    copy_for_each_axis(main, lambda value: value not in known or not known[value].is_divided)
    found = propagate(main, known, meshes)
    for _ in range(MOST_ROUNDS):
        if found is None or not any(write(main, found) for write in WRITERS):
            break
        found = propagate(main, known, meshes)
    if found is None:
        return None
    by_xla, decisions = estimate_by_xla(copy, found), tell_divisions(found)
    drop_unread_updates(main, found)
    try:
        count = exchange_in_function(main, found, machine)
    except (Unreadable, TypeFault):
        return None
    if not count:
        return None
    return Exchanged(copy, count_in_regions(copy, found), by_xla, (*decisions, *tell_left(copy, found)))


def tell_what_divides(module: Module, shardings: Sequence[Sharding | None]) -> tuple[str, ...]:
    """Who decides how values of the program are divided, and what may communicate, where XLA alone divides it."""
    found = propagate(module.main, _known(module.main, shardings), meshes_in(module.globals))
    return () if found is None else (*tell_divisions(found), *tell_left(module, found))


def count_folds_without_nan(module: Module, shardings: Sequence[Sharding | None]) -> int:
    """How many maxima and minima of floats XLA would take over devices: it gives a number where one of them has NaN."""
    found = propagate(module.main, _known(module.main, shardings), meshes_in(module.globals))
    count = 0
    for op in module.main.walk() if found is not None else ():
        if isinstance(op, Reduce) and op.combiner in (Maximum, Minimum) and op.inputs[0].tensor.is_float:
            assert found is not None
            divisions = found.divisions(op.inputs[0]) or ()
            count += any(divisions[axis] is not None for axis in op.dimensions if divisions)
    return count


def _known(main: Function, shardings: Sequence[Sharding | None]) -> dict[Value, Sharding]:
    return {
        argument: sharding
        for argument, sharding in zip(main.arguments, shardings, strict=True)
        if sharding is not None and len(sharding.axes) == argument.tensor.rank
    }
