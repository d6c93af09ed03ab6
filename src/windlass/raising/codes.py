"""The codes of what stands in the way of raising, and what helps."""

from __future__ import annotations

NOT_RAISED = "WL0301"

RESULT_OF_ATOMIC = "WL0302"

TOO_IRREGULAR = "WL0303"

NO_MEMORY = "WL0304"

LAUNCH_MISMATCH = "WL0305"

MISALIGNED = "WL0306"

LOOP = "WL0308"

RACE = "WL0309"

OUTSIDE = "WL0310"

STOPS = "WL0426"

TOO_SLOW = "WL0434"

FAULTS = frozenset({MISALIGNED, OUTSIDE, STOPS})
"""What is wrong with the kernel itself: the emulator says where, and at which thread."""

HELP = {
    NOT_RAISED: "run the kernel with wl.emulate, or write this line without it",
    TOO_IRREGULAR: "control flow this irregular runs better as native loops",
    NO_MEMORY: "pass each array as a parameter of its own, and index it where it is used",
    MISALIGNED: "copy the bytes to where they are aligned",
    STOPS: "wl.emulate tells at which thread",
    LOOP: "make the iterations independent, or keep what they carry in plain variables",
    RACE: "use atomic operations, or let one thread do it; wl.emulate names both lines of a race",
}
"""What would help where the obstacle itself knows nothing better, by code."""
