"""Checks of what always holds in the IR, as numbered rules. Tests run them at every door between rooms.

* V1: each block ends in a terminator, and has none before its end.
* V2: ops, blocks and regions know where they are: links in both directions, parents, argument numbers.
* V3: an operand is defined earlier in the same block, or in a block around it.
* V4: use counts are right: each value counts every op that takes it, as often as that op does, and no other.
* V5: an op's result types are those that its `infer` gives.
* V6: attributes of arguments and results are as many as these, or none.
* V7: the regions of an op have no parameter, op or block in common with another op.
"""

from __future__ import annotations

from collections.abc import Iterator

from windlass.ir.core import Block, Op, Region, Terminator
from windlass.ir.program import Function, Module
from windlass.ir.values import TypeFault, Value


class VerificationFault(Exception):
    """The IR breaks one of its own rules: an error in Windlass, not in the user's program."""


def verify(subject: Function | Module) -> None:
    """Check all rules.

    Raises VerificationFault that lists each fault found, with the number of its rule.
    """
    functions = [subject] if isinstance(subject, Function) else list(subject.functions.values())
    faults = [f"@{function.name}: {fault}" for function in functions for fault in find_faults(function)]
    if faults:
        raise VerificationFault("\n".join(faults))


def find_faults(function: Function) -> list[str]:
    """What is wrong with the function, rule by rule; empty where all is well.

    >>> from windlass.ir.core import Block
    >>> find_faults(Function("main", Block()))
    ['V1: a block is empty']
    """
    checker = _FunctionChecker()
    faults = list(checker.check_block(function.body, None, frozenset()))
    faults += checker.check_uses()
    arguments, attributes = len(function.arguments), len(function.argument_attributes)
    if attributes not in (0, arguments):
        faults.append(f"V6: {attributes} attribute lists for {arguments} arguments")
    if function.body.last is not None:
        results, attributes = len(function.results), len(function.result_attributes)
        if attributes not in (0, results):
            faults.append(f"V6: {attributes} attribute lists for {results} results")
    return faults


class _FunctionChecker:
    def __init__(self) -> None:
        self.taken: dict[Value, dict[Op, int]] = {}
        """Counted anew: how often each op takes each value."""
        self.defined: list[Value] = []
        self.seen: set[Op | Block | Region] = set()

    def check_block(self, block: Block, parent: Region | None, around: frozenset[Value]) -> Iterator[str]:
        if block in self.seen:
            yield "V7: a block is in two regions"
            return
        self.seen.add(block)
        if block.parent is not parent:
            yield "V2: a block does not know the region that it is in"
        for index, argument in enumerate(block.arguments):
            if argument.block is not block or argument.index != index:
                yield f"V2: argument {index} does not know its block or its number"
        visible = set(around) | set(block.arguments)
        self.defined += block.arguments
        if block.first is None:
            yield "V1: a block is empty"
        previous: Op | None = None
        op = block.first
        while op is not None:
            yield from self.check_op(op, block, previous, visible)
            visible.update(op.results)
            self.defined += op.results
            previous, op = op, op.next
        if block.last is not previous:
            yield "V2: the block's last op is not the end of its list"

    def check_op(self, op: Op, block: Block, previous: Op | None, visible: set[Value]) -> Iterator[str]:
        if op in self.seen:
            yield f"V7: {type(op).__name__} is in two places"
            return
        self.seen.add(op)
        if op.block is not block or op.previous is not previous:
            yield f"V2: {op!r} is wrongly linked"
        if isinstance(op, Terminator) != (op is block.last):
            where = "in the middle of" if isinstance(op, Terminator) else "not a terminator but ends"
            yield f"V1: {op!r} is {where} a block"
        for operand in op.operands:
            counts = self.taken.setdefault(operand, {})
            counts[op] = counts.get(op, 0) + 1
            if operand not in visible:
                yield f"V3: {op!r} takes {operand!r}, which is not defined before it"
        try:
            inferred = op.infer()
        except TypeFault as fault:
            yield f"V5: {op!r} is not valid: {fault}"
        else:
            expected = inferred if isinstance(inferred, tuple) else (inferred,)
            found = tuple(result.type for result in op.results)
            if found != expected:
                yield f"V5: {op!r} has types {found}, inferred are {expected}"
        inside = frozenset(visible)
        for region in op.regions:
            if region in self.seen:
                yield f"V7: {type(op).__name__} shares a region"
                continue
            self.seen.add(region)
            if region.parent is not op:
                yield f"V2: a region of {op!r} does not know its op"
            for inner in region.blocks:
                yield from self.check_block(inner, region, inside)

    def check_uses(self) -> Iterator[str]:
        for value in self.defined:
            expected = self.taken.get(value, {})
            # Ops that float outside of any block may take values too.
            counted = {user: count for user, count in value.uses.items() if user in self.seen or user.block is not None}
            if counted != expected:
                yield f"V4: {value!r} counts {sum(counted.values())} uses, there are {sum(expected.values())}"
