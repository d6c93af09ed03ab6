"""Loops, and whole functions, that are run as they were written, as no program within them has been of use.

A function that is split asks before each statement whether from there on a program can run; in a loop of short
statements the questions take longer than the statements do. So where all the questions of two executions led to
nothing, it rests: the next ones are Python's own, without a question. Then it is asked again, as values may have become
others, after a rest twice as long each time.
"""

from __future__ import annotations

from dataclasses import dataclass

QUIET = 2
"""Executions without a program before a rest."""
FIRST_REST, LONGEST_REST = 15, 1023
"""Executions without a question."""


@dataclass
class Rest:
    """What is known of one loop, or one function."""

    quiet: int = 0
    """Executions, one after the other, in which no program ran, was made, or was compared with Python."""
    left: int = 0
    """Executions without a question that are still to come."""
    length: int = FIRST_REST

    def take(self) -> bool:
        """Whether this execution is one without questions."""
        if not self.left:
            return False
        self.left -= 1
        return True

    def note(self, is_quiet: bool) -> None:
        """Note how an execution with questions went."""
        if not is_quiet:
            self.quiet, self.length = 0, FIRST_REST
            return
        self.quiet += 1
        if self.quiet >= QUIET:
            self.left = self.length
            self.length = min(2 * self.length + 1, LONGEST_REST)


class Rests:
    """Those of one function: of its loops by where they stand, and of all of it."""

    def __init__(self) -> None:
        self.function = Rest()
        self._loops: dict[tuple[int, int], Rest] = {}

    def of_loop(self, number: int, start: int) -> Rest:
        return self._loops.setdefault((number, start), Rest())
