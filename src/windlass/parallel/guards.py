"""Guards that compilers put before loops, and that a loop of no iterations makes superfluous.

    r = If(start < bound) { For(bound - start, initial) { ... } } else { initial }

is the `For` alone, whose trip count is not positive where the guard fails. The structurer notes which trip counts have
such a guard; here it is checked that the branch does nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

from windlass.ir import Block, Op, Value
from windlass.loops import For, If, Yield


def remove_guards(block: Block, guards: Mapping[Op, tuple[Value, bool]]) -> None:
    """Remove the guards in a block and within its ops.

    `guards` tells for each guarded loop the condition and what it gives where the loop runs.
    """
    for op in tuple(block):
        for region in op.regions:
            remove_guards(region.block, guards)
        if isinstance(op, If):
            _remove(op, guards)


def _remove(branch: If, guards: Mapping[Op, tuple[Value, bool]]) -> None:
    sides = [(branch.then.block, branch.otherwise.block, True), (branch.otherwise.block, branch.then.block, False)]
    for entered, skipped, holds in sides:
        effects = [op for op in entered if not op.is_pure and not isinstance(op, Yield)]
        if skipped.first is not skipped.last or len(effects) != 1 or not isinstance(effects[0], For):
            continue
        loop = effects[0]
        if guards.get(loop) != (branch.condition, holds):
            continue
        initial: dict[Value, Value] = dict(zip(loop.results, loop.initial, strict=True))
        pairs = list(zip(entered.terminator.operands, skipped.terminator.operands, strict=True))
        if any(initial.get(value) is not other for value, other in pairs):
            continue
        take_branch(branch, entered)
        return


def take_branch(branch: If, entered: Block) -> None:
    """Put what one of its sides holds in the place of a branch that always takes it."""
    results = entered.terminator.operands
    home = branch.block
    assert home is not None
    for op in tuple(entered):
        if not isinstance(op, Yield):
            entered.unlink(op)
            home.insert_before(op, branch)
    for result, value in zip(branch.results, results, strict=True):
        result.replace_all_uses_with(value)
    branch.erase()
