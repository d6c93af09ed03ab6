"""Rewriting in another order than all rules at once: the door for schedules (see `windlass.schedules`)."""

from __future__ import annotations

from typing import Protocol

from windlass.facts.cost import Device
from windlass.ir import Function
from windlass.rewriting.driver import Budget
from windlass.rewriting.ledger import Ledger
from windlass.rewriting.rule import RuleSet


class Rewriting(Protocol):
    """What takes the place of `rewrite_function`. Equal ones do the same, and have one hash."""

    def rewrite(
        self, function: Function, rules: RuleSet, budget: Budget, device: Device, estimates: bool = False
    ) -> Ledger:
        """Rewrite the function in place, by some of these rules."""
        ...
