"""The worklist driver: applies rules until none applies, or a budget is spent.

It ends by construction: each rule lowers the measure of measure.py (the laws check this), or needs the consent of the
cost model, which it gets for a bounded number of times in a row; and should rules undo each other all the same, the
budget stops them, the program is kept as it is (valid at each step), and the ledger names the rules that went round.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from windlass.ir import Block, Builder, Function, Op, TypeFault, Value
from windlass.rewriting.common_subexpressions import share_common_subexpressions
from windlass.rewriting.cost import CPU, Device, estimate_saving
from windlass.rewriting.ledger import Entry, Ledger
from windlass.rewriting.rule import Rule, RuleSet


@dataclass(frozen=True)
class Budget:
    """How much rewriting is allowed: `steps` applications (None: 40 for each op, plus 1,000) and `seconds` of time."""

    steps: int | None = None
    seconds: float = 10.0


FAMILY = 24
"""An op that came to be by so many rewrites in a row is left alone by rules that need the cost model's consent.

They might undo what rules by measure do, and the other way round, without end.
"""


def rewrite_function(
    function: Function, rules: RuleSet, budget: Budget | None = None, device: Device = CPU, estimates: bool = False
) -> Ledger:
    """Rewrite `function` in place to a fixpoint of `rules`, dead code and common subexpressions removed.

    Gives the ledger of what was done; with `estimates`, what each rewrite saves on the device is in it.

    Raises TypeFault if a rule gives a value of another type than it replaces, which is a defect of the rule.
    """
    driver = _Driver(function.body, rules, budget or Budget(), device, estimates)
    driver.run()
    return driver.ledger


class _Driver:
    def __init__(self, body: Block, rules: RuleSet, budget: Budget, device: Device, estimates: bool) -> None:
        self.body = body
        self.rules = rules
        self.device = device
        self.estimates = estimates
        self.generations: dict[Op, int] = {}
        self.ledger = Ledger()
        self.worklist: list[Op] = []
        size = sum(1 for _ in body.walk())
        self.steps_left = budget.steps if budget.steps is not None else 40 * size + 1000
        self.deadline = time.monotonic() + budget.seconds

    def run(self) -> None:
        self.push_all(self.body)
        while True:
            self.drain()
            if self.ledger.exhausted or not share_common_subexpressions(self.body, self.push_with_users):
                return

    def push(self, op: Op) -> None:
        if not op.queued:
            op.queued = True
            self.worklist.append(op)

    def push_all(self, block: Block) -> None:
        """Queue every op so that the first of the block comes off the list first."""
        for op in reversed(list(block.walk())):
            self.push(op)

    def push_with_users(self, op: Op) -> None:
        self.push(op)
        for result in op.results:
            for user in result.uses:
                self.push(user)

    def drain(self) -> None:
        by_root = self.rules.by_root
        ticks = 0
        while self.worklist:
            op = self.worklist.pop()
            op.queued = False
            if op.block is None:
                continue
            if op.is_pure and op.is_unused:
                self.erase(op)
                continue
            applicable = by_root.get(type(op))
            if not applicable:
                continue
            ticks += 1
            if self.steps_left <= 0 or (ticks % 64 == 0 and time.monotonic() > self.deadline):
                self.ledger.exhausted = "steps" if self.steps_left <= 0 else "seconds"
                self.clear()
                return
            self.try_rules(applicable, op)

    def try_rules(self, applicable: list[Rule], op: Op) -> None:
        """Apply the first of the rules that fits the op and does not decline."""
        for rule in applicable:
            for matcher in rule.matchers:
                found = matcher(op)
                if found is None:
                    continue
                found["op"] = op
                if self.apply(rule, found, op):
                    return

    def clear(self) -> None:
        """Forget the queue, but leave no dead code behind."""
        for op in self.worklist:
            op.queued = False
        self.worklist = []
        remove_dead_code(self.body)

    def apply(self, rule: Rule, found: dict[str, Any], op: Op) -> bool:
        block = op.block
        assert block is not None
        builder = Builder(block, op, op.source)
        builder.made_by = (*op.made_by[-7:], rule.name)
        builder.placed = placed = []
        with builder:
            replacement = rule.body(*[found[name] for name in rule.parameters])
        if replacement is None:
            for made in reversed(placed):
                made.erase()
            return False
        news: tuple[Value, ...] = replacement if isinstance(replacement, tuple) else (replacement,)
        generation = self.generations.get(op, 0) + 1
        saved: float | None = None
        if rule.by_cost or self.estimates:
            if rule.by_cost and generation > FAMILY:
                saved = -1.0
            else:
                saved = estimate_saving(op, replacement, set(placed), self.device)
            if rule.by_cost and saved <= 0:
                for made in reversed(placed):
                    made.erase()
                return False
        for made in placed:
            self.generations[made] = generation
        olds = op.results
        if [old.type for old in olds] != [new.type for new in news]:
            raise TypeFault(f"rule {rule.name} replaced {[old.type for old in olds]} by {[new.type for new in news]}")
        for old, new in zip(olds, news, strict=True):
            for user in old.uses:
                self.push(user)
            old.replace_all_uses_with(new)
        self.steps_left -= 1
        self.ledger.entries.append(
            Entry(len(self.ledger.entries), rule.name, type(op).__name__, op.source, len(placed), saved)
        )
        for made in reversed(placed):
            self.push(made)
            for region in made.regions:
                for inner in region.walk():
                    self.push(inner)
        self.erase(op)
        return True

    def erase(self, op: Op) -> None:
        self.generations.pop(op, None)
        operands = op.operands
        if op.regions:
            operands += tuple(operand for region in op.regions for inner in region.walk() for operand in inner.operands)
        op.erase()
        for operand in operands:
            owner = operand if isinstance(operand, Op) else getattr(operand, "owner", None)
            if isinstance(owner, Op):
                if owner.is_pure and owner.is_unused:
                    self.push(owner)
                else:
                    # A user less can make a rule that asks for a single use applicable.
                    for result in owner.results:
                        if len(result.uses) == 1:
                            self.push(next(iter(result.uses)))


def remove_dead_code(block: Block) -> int:
    """Erase pure ops whose results are unused, those in regions too; gives how many."""
    removed = 0
    for op in reversed(list(block)):
        for region in op.regions:
            for inner in region.blocks:
                removed += remove_dead_code(inner)
        if op.is_pure and op.is_unused:
            op.erase()
            removed += 1
    return removed
