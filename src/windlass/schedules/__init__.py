"""Schedules as values: which rewrites are applied, to what, in which order, with choices left open for a search.

    from windlass.schedules import attempt, choice, passes, rules, seq

    schedule = seq(rules("slices", "pads"), optional("merge", passes("equal_ops_at_once")), attempt(rules("chains")))
    wl.optimize(schedule=schedule)

Takes names of rules, families and passes of the catalogue; gives frozen values that compare by what they do, print as
what makes them, and are read back from that text (`read_schedule`). They may only reorder and leave out what the
catalogue holds, so that a program keeps its meaning under any schedule. Start reading at `schedule.py`.
"""

from windlass.schedules.loops import interchange, parallelize, tile, unroll
from windlass.schedules.reading import read_schedule
from windlass.schedules.schedule import Schedule, attempt, choice, on, optional, seq
from windlass.schedules.tensors import everything, passes, rules

__all__ = [
    "Schedule",
    "attempt",
    "choice",
    "everything",
    "interchange",
    "on",
    "optional",
    "parallelize",
    "passes",
    "read_schedule",
    "rules",
    "seq",
    "tile",
    "unroll",
]
