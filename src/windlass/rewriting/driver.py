"""The worklist driver: applies rules until none applies, or a budget is spent.

It ends by construction: each rule lowers the measure of measure.py (the laws check this), or needs the consent of the
cost model, which it gets for a bounded number of times in a row; and should rules undo each other all the same, the
budget stops them, the program is kept as it is (valid at each step), and the ledger names the rules that went round.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.diagnostics.deadline import ending_at, is_late
from windlass.diagnostics.environment import patience
from windlass.facts.cost import CPU, Device, estimate_saving, find_dying
from windlass.facts.decisions import find_deciding
from windlass.facts.ranges import forget_loops, granting
from windlass.ir import Block, Builder, Function, Op, TypeFault, Value
from windlass.ops import Constant, While
from windlass.ops.control import Branching
from windlass.rewriting.collecting import without_collections
from windlass.rewriting.common_subexpressions import share_common_subexpressions
from windlass.rewriting.ledger import Entry, Ledger
from windlass.rewriting.passes import MOST_RUNS, Pass
from windlass.rewriting.rule import Application, Rule, RuleSet


@dataclass(frozen=True)
class Budget:
    """How much rewriting is allowed: `steps` applications (None: 40 for each op, plus 1,000) and `seconds` of time."""

    steps: int | None = None
    seconds: float = field(default_factory=lambda: 10.0 * patience())


LEAST_SAVING, SAVING_OF_OP = 0.1, 0.03
"""The part of a launch that has to be saved where the program gets more ops by it, and for each of them: the model is
no better than that, and more ops take longer to compile."""

LOSS_FOR_LOOP = 0.5
"""The part of a launch that may be lost, by the model, where a loop goes and fewer ops take its place: it is no better
than that (12 rounds of a maximum take 3.7 µs in all, the reduction 3.6 to 4.6), and what is no loop can be computed
together with what is around it."""

NOTHING = 1e-12
"""Seconds: what sums of floats may be off by. Where nothing is saved nor lost, fewer ops are better."""

FAMILY = 24
"""An op that came to be by so many rewrites in a row is left alone by rules that need the cost model's consent.

They might undo what rules by measure do, and the other way round, without end.
"""


MOST_SWEEPS = 4
"""How often all ops are queued again after rewriting came to rest."""


Watch = Callable[[int, Rule, Op], None]


@without_collections()
def rewrite_function(
    function: Function,
    rules: RuleSet,
    budget: Budget | None = None,
    device: Device = CPU,
    estimates: bool = False,
    watch: Watch | None = None,
    keeps_decisions: bool = False,
) -> Ledger:
    """Rewrite `function` in place to a fixpoint of `rules`, dead code and common subexpressions removed.

    Gives the ledger of what was done; with `estimates`, what each rewrite saves on the device is in it. `watch` is told
    of each rewrite just before it takes place: its number, the rule, and the op, which has to be left as it is. With
    `keeps_decisions`, no floats that decide (see `windlass.facts.decisions`) are reassociated.

    Raises TypeFault if a rule gives a value of another type than it replaces, WindlassError (WL0804) if it raises
    another exception: these are defects of the rule.
    """
    driver = _Driver(function.body, rules, budget or Budget(), device, estimates, watch)
    driver.keeps_decisions = keeps_decisions
    with granting(rules.granted), ending_at(driver.deadline):
        driver.run()
    for op in function.walk():
        for region in op.regions:
            region.findings = None  # tables of rounds may be large, and programs are kept
    return driver.ledger


class _Driver:
    def __init__(
        self, body: Block, rules: RuleSet, budget: Budget, device: Device, estimates: bool, watch: Watch | None
    ) -> None:
        self.body = body
        self.rules = rules
        self.device = device
        self.estimates = estimates
        self.watch = watch
        self.generations: dict[Op, int] = {}
        self.ledger = Ledger()
        self.worklist: list[Op] = []
        self.holders: deque[Op] = deque()
        """Loops and branches that had a turn: the next one comes when nothing else is queued."""
        self.visited: set[Op] = set()
        """Loops and branches that had a turn."""
        size = sum(1 for _ in body.walk())
        self.steps_left = budget.steps if budget.steps is not None else 40 * size + 1000
        self.deadline = time.monotonic() + budget.seconds
        self.runs_left = MOST_RUNS
        self.settled: dict[tuple[str, Block], int] = {}
        """The revision of a block in which a pass found nothing to change."""
        self.unshared = -1
        """The revision of the body in which no two ops were the same."""
        self.swept = 0
        self.sweeps_left = MOST_SWEEPS
        self.is_rested = not rules.at_rest
        """Whether the passes that come at rest have been run."""
        self.is_last = False
        """Whether only the rules that come last are left."""
        self.keeps_decisions = False
        self.deciding: set[Op] = set()
        """Ops of floats that may not be reassociated."""

    def run(self) -> None:
        self.push_all(self.body)
        while True:
            self.drain()
            if self.ledger.exhausted:
                return
            if self.share():
                continue
            if self.is_last:
                return
            if self.sweep() or self.run_passes():
                continue
            if not self.is_rested:
                self.is_rested = True
                if self.run_each(self.rules.at_rest):
                    continue
            self.is_last = True
            self.push_all(self.body)

    def share(self) -> int:
        """Make ops one that are the same, if anything changed since none were; gives how many there were."""
        if self.body.revision == self.unshared:
            return 0
        shared: list[Op] = []
        removed = share_common_subexpressions(self.body, shared.append)
        if shared and self.keeps_decisions:
            self.deciding = find_deciding(self.body)
        for op in dict.fromkeys(shared):
            self.push_with_users(op)
        if not removed:
            self.unshared = self.body.revision
        return removed

    def sweep(self) -> bool:
        """Queue ops once more, if there were rewrites since they were queued: all but those that are plain arithmetic.

        What a rule asks of an operand may follow from ops far above it, of which the op isn't told when they change:
        that a matrix is diagonal, say. Such rules begin at products, reductions and movements. The first time, all that
        is within other ops is queued.
        """
        done = len(self.ledger.entries)
        if done == self.swept or self.sweeps_left == 0:
            return False
        is_first = self.sweeps_left == MOST_SWEEPS
        self.swept = done
        self.sweeps_left -= 1
        if is_first:
            # Of loops as they are now, more may be found out than of those that they were made from.
            forget_loops(self.body)
        for op in reversed(list(self.body.walk())):
            is_in_loop = op.block is not self.body
            if (is_first and is_in_loop) or not (op.is_elementwise or op.is_free):
                self.push(op)
        return bool(self.worklist or self.holders)

    def run_passes(self) -> int:
        """Let the passes change each block, the inner ones first; gives how many changes they made."""
        if self.runs_left == 0 or not self.rules.passes:
            return 0
        self.runs_left -= 1
        return self.run_each(self.rules.passes)

    def run_each(self, passes: Iterable[Pass]) -> int:
        """Let these passes change each block, the inner ones first, and queue all ops if they do."""
        blocks = [self.body]
        blocks += [block for op in self.body.walk() for region in op.regions for block in region.blocks]
        first = len(self.ledger.entries)
        for each in passes:
            for block in reversed(blocks):
                self.run_pass(each, block)
        changes = len(self.ledger.entries) - first
        if changes:
            self.push_all(self.body)
        return changes

    def run_pass(self, each: Pass, block: Block) -> None:
        """Let a pass change a block, as far as the budget goes."""
        if each.reassociates and self.deciding:
            return
        if self.steps_left <= 0 or is_late() or self.settled.get((each.name, block)) == block.revision:
            return
        before = len(self.ledger.entries)
        try:
            for change in each.body(block, self.device.at(block)):
                number = len(self.ledger.entries)
                self.ledger.entries.append(
                    Entry(number, each.name, change.root, change.source, len(change.placed), change.saved)
                )
                self.steps_left -= 1
                if self.steps_left <= 0 or is_late():
                    return
        except (TypeFault, WindlassError):
            raise
        except Exception as error:
            raise failed(each.name, error) from error
        if len(self.ledger.entries) == before:
            self.settled[each.name, block] = block.revision

    def push(self, op: Op) -> None:
        if not op.queued:
            op.queued = True
            if op in self.visited:
                # Rules look through all that it holds: not anew for each rewrite inside.
                self.holders.append(op)
            else:
                self.worklist.append(op)

    def push_all(self, block: Block) -> None:
        """Queue every op so that the first of the block comes off the list first."""
        if self.keeps_decisions:
            self.deciding = find_deciding(self.body)
        for op in reversed(list(block.walk())):
            self.push(op)

    def push_with_users(self, op: Op) -> None:
        self.push(op)
        for result in op.results:
            for user in result.uses:
                self.push(user)

    def drain(self) -> None:
        candidates = self.rules.candidates
        while self.worklist or self.holders:
            op = self.worklist.pop() if self.worklist else self.holders.popleft()
            op.queued = False
            if op.block is None:
                continue
            if op.is_removable and op.is_unused:
                self.erase(op)
                continue
            applicable = candidates(op, self.is_last)
            if not applicable:
                continue
            if isinstance(op, While | Branching):
                self.visited.add(op)
            if self.steps_left <= 0 or is_late():
                self.ledger.exhausted = "steps" if self.steps_left <= 0 else "seconds"
                self.clear()
                return
            self.try_rules(applicable, op)

    def try_rules(self, applicable: list[tuple[Rule, Application]], op: Op) -> None:
        """Apply the first of the rules that fits the op and does not decline."""
        block = op.block
        assert block is not None
        builder = Builder(block, op, op.source)
        builder.placed = placed = list[Op]()
        builder.nested = nested = list[Op]()
        with builder:
            for rule, application in applicable:
                if rule.reassociates and op in self.deciding:
                    continue
                try:
                    replacement = application(op)
                except TypeFault:
                    raise
                except Exception as error:
                    raise failed(rule.name, error, op) from error
                is_applied = replacement is not None and self.apply(rule, op, replacement, placed)
                if nested:
                    self.forget(nested, is_applied)
                    nested.clear()
                if is_applied:
                    return
                if placed:
                    for made in reversed(placed):
                        made.erase()
                    placed.clear()

    def forget(self, nested: list[Op], is_applied: bool) -> None:
        """Let ops that a rule made in blocks of its own use nothing, unless they have become part of the program."""
        homes: dict[Block, bool] = {}
        for op in nested:
            block = op.block
            if block is None:
                continue
            if block not in homes:
                homes[block] = is_applied and self.holds(block)
            if not homes[block]:
                op.drop_operands()

    def holds(self, block: Block) -> bool:
        """Whether a block is part of the program."""
        while block is not self.body:
            holder = None if block.parent is None else block.parent.parent
            if holder is None or holder.block is None:
                return False
            block = holder.block
        return True

    def clear(self) -> None:
        """Forget the queue, but leave no dead code behind."""
        for op in (*self.worklist, *self.holders):
            op.queued = False
        self.worklist = []
        self.holders.clear()
        remove_dead_code(self.body)

    def apply(self, rule: Rule, op: Op, replacement: Value | tuple[Value, ...], placed: list[Op]) -> bool:
        """Put the replacement, made of the placed ops, in the op's place, if the cost model consents."""
        block = op.block
        assert block is not None
        news: tuple[Value, ...] = replacement if isinstance(replacement, tuple) else (replacement,)
        generation = self.generations.get(op, 0) + 1
        saved: float | None = None
        if rule.by_cost or self.estimates:
            if rule.by_cost and generation > FAMILY:
                return False
            saved = estimate_saving(op, replacement, set(placed), self.device.at(block))
            if rule.by_cost and not self.is_worth(saved, op, news, placed):
                return False
        made_by = (*op.made_by[-7:], rule.name)
        if op in self.deciding:
            self.deciding.update(placed)
        for made in placed:
            made.made_by = made_by
            self.generations[made] = generation
        olds = op.results
        if [old.type for old in olds] != [new.type for new in news]:
            raise TypeFault(f"rule {rule.name} replaced {[old.type for old in olds]} by {[new.type for new in news]}")
        if self.watch is not None:
            self.watch(len(self.ledger.entries), rule, op)
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
                    if not inner.was_tried:
                        self.push(inner)
        self.erase(op)
        holder = block.parent.parent if block.parent is not None else None
        if holder is not None:
            # What an op holds has changed: rules that look inside may apply.
            self.push(holder)
        return True

    def is_worth(self, saved: float, op: Op, news: tuple[Value, ...], placed: list[Op]) -> bool:
        """Whether enough time is saved: where there are more ops then, more than the model could be wrong by."""
        assert op.block is not None
        launch = self.device.at(op.block).launch
        if saved <= 0:
            loses_loop = isinstance(op, While) and not any(isinstance(each, While) for each in placed)
            if saved < (-LOSS_FOR_LOOP * launch if loses_loop else -NOTHING):
                return False
            kept = [each for each in placed if not each.is_free]
            return count(kept) < count(find_dying(op, news, set(placed)))
        return saved > launch or is_enough(saved, count(placed) - count(find_dying(op, news, set(placed))), launch)

    def erase(self, op: Op) -> None:
        self.generations.pop(op, None)
        self.visited.discard(op)
        operands = op.operands
        if op.regions:
            operands += tuple(operand for region in op.regions for inner in region.walk() for operand in inner.operands)
        op.erase()
        for operand in operands:
            owner = operand if isinstance(operand, Op) else getattr(operand, "owner", None)
            if isinstance(owner, Op):
                if owner.is_removable and owner.is_unused:
                    self.push(owner)
                else:
                    if owner.regions:
                        # One of its results may have become unused.
                        self.push(owner)
                    # A user less can make a rule that asks for a single use applicable.
                    for result in owner.results:
                        if len(result.uses) == 1:
                            self.push(next(iter(result.uses)))


def is_enough(saved: float, more: int, launch: float) -> bool:
    """Whether these seconds are worth so many more ops, on a device on which a launch takes that long."""
    return saved > 0 and (more <= 0 or saved > min(1.0, max(LEAST_SAVING, SAVING_OF_OP * more)) * launch)


def count(ops: Iterable[Op]) -> int:
    """How many ops there are, those inside of others too, but for constants."""
    return sum(
        1 + sum(1 for region in op.regions for inner in region.walk() if not isinstance(inner, Constant))
        for op in ops
        if not isinstance(op, Constant)
    )


def failed(name: str, error: Exception, op: Op | None = None) -> WindlassError:
    """What is said of a rule that was tried on an op, or of a pass."""
    notes: tuple[str, ...] = ()
    if op is not None:
        notes = (f"it was tried on {type(op).__name__} of type {', '.join(str(each.type) for each in op.results)}",)
    return WindlassError(
        Diagnostic(
            "WL0804",
            f"rule {name} failed: {type(error).__name__}: {error}",
            None if op is None else op.source,
            notes=notes,
            help=f"leave the rule out: without=['{name}']",
        )
    )


def remove_dead_code(block: Block) -> int:
    """Erase ops without effects whose results are unused, those in regions too; gives how many."""
    removed = 0
    for op in reversed(list(block)):
        for region in op.regions:
            for inner in region.blocks:
                removed += remove_dead_code(inner)
        if op.is_removable and op.is_unused:
            op.erase()
            removed += 1
    return removed
