"""What the handler of XLA's calls knows of each code: rows of words in memory that stays for good."""

from __future__ import annotations

from enum import IntEnum


class Word(IntEnum):
    """Words of the row of a code."""

    CODE = 0
    NEXT = 1
    """The next row of the same bucket."""
    PART = 2
    """The address of the code."""
    MOST_PARTS = 3
    SLOTS = 4
    """The number of slots: of what a launch is given."""
    OPERANDS = 5
    RESULTS = 6
    SLOT_ROWS = 7
    """The address of the slots' own rows (`SlotWord`)."""
    MESSAGES = 8
    """The address of the addresses of formats: what is said where a checked access goes beyond its memory, and where it
    is misaligned within it."""
    LAST_BYTES = 9
    """The address of where the last accesses begin that stay in their memory."""
    NANOSECONDS = 10
    """How long one launch takes on one thread, as far as known."""


class SlotWord(IntEnum):
    """Words of the row of a slot."""

    KIND = 0
    OPERAND = 1
    RESULT = 2
    ELEMENTS = 3
    """The operand's elements in one launch."""
    BYTES = 4
    MASK = 5
    """The bits of an address that have to be 0."""


class Kind(IntEnum):
    """How a slot of a launch's context is filled."""

    NULL = 0
    READ = 1
    """The address of the operand."""
    WRITTEN = 2
    """The address of the result, which begins as the operand."""
    BITS = 3
    """The operand's own bytes."""
    F32_TO_F64 = 4
    I32_TO_I64 = 5
    U32_TO_I64 = 6
    I32_TO_F64 = 7
    U32_TO_F64 = 8
    ROOM = 9
    """The address of a result of which no operand is a part: it holds anything at first."""
