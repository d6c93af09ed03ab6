"""What was rewritten: each application of a rule, in order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from windlass.diagnostics import Position


@dataclass(frozen=True, slots=True)
class Entry:
    """One application: which rule, on which kind of op, from which source line, and how many ops it placed.

    `saved` is the time that it saves by the cost model's estimate, in seconds, where that was asked for.
    """

    step: int
    rule: str
    op: str
    source: Position | None
    placed: int
    saved: float | None = None


@dataclass
class Ledger:
    """The applications in order, and whether the driver stopped early.

    The driver is deterministic: running it again with `Budget(steps=n)` gives the program after the first n entries,
    which is how a wrong result is bisected to the rule at fault.
    """

    entries: list[Entry] = field(default_factory=list[Entry])
    exhausted: str | None = None
    """Which budget ran out ("steps", "seconds"), or None where a fixpoint was reached."""

    def count_by_rule(self) -> Counter[str]:
        return Counter(entry.rule for entry in self.entries)

    def describe_cycle(self) -> str | None:
        """The rules that kept firing when a budget ran out, or None."""
        if self.exhausted is None:
            return None
        recent = Counter(entry.rule for entry in self.entries[-200:])
        busiest = ", ".join(f"{name} ({count})" for name, count in recent.most_common(4))
        return f"stopped after {len(self.entries)} rewrites ({self.exhausted}); most active at the end: {busiest}"
