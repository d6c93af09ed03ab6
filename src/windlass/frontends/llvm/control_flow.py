"""The control-flow graph of a function: edges, dominators, natural loops.

Blocks are known by name. A switch is spread over a chain of two-way blocks of our own, so that every block ends in a
jump, a two-way branch, a return or nothing. What a phi calls its predecessor is the edge's `label`, which for those
blocks is the name of the block that held the switch.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from windlass.llvm.layout import I1
from windlass.llvm.syntax import BasicBlock, FunctionText, Instruction, Local, Operand

RETURN = ""
"""Stands for leaving the function, as a target of edges; no block has an empty name."""


@dataclass(slots=True)
class FlowNode:
    """A block of the graph: its instructions without the terminator, and what the terminator does.

    With two `targets` the first is taken if `condition` holds; with none the block ends in `unreachable`.
    """

    name: str
    label: str
    instructions: list[Instruction]
    targets: tuple[str, ...]
    condition: Operand | None
    terminator: Instruction
    phis: list[Instruction] = field(default_factory=list[Instruction])
    predecessors: list[str] = field(default_factory=list[str])
    position: int = 0
    """In reverse postorder."""


@dataclass(slots=True, eq=False)
class FlowLoop:
    """A natural loop: its header, all its blocks (those of inner loops among them), and the loop around it."""

    header: str
    blocks: set[str]
    parent: FlowLoop | None = None

    @property
    def depth(self) -> int:
        return 1 if self.parent is None else 1 + self.parent.depth


class IrreducibleError(Exception):
    """A cycle with two entries; `node` is one of them."""

    def __init__(self, node: FlowNode) -> None:
        super().__init__(f"the cycle at {node.name} has several entries")
        self.node = node


class ControlFlow:
    """Nodes in reverse postorder, immediate dominators and their children, loops by header.

    Raises IrreducibleError where a cycle has several entries.
    """

    def __init__(self, function: FunctionText) -> None:
        self.nodes: dict[str, FlowNode] = {}
        for block in function.blocks.values():
            self._add(block)
        self.entry = next(iter(self.nodes))
        self.order = self._reverse_postorder()
        self.nodes = {name: self.nodes[name] for name in self.order}
        for name in self.order:
            for target in self.nodes[name].targets:
                if target != RETURN:
                    self.nodes[target].predecessors.append(name)
        self.dominator = self._dominators()
        self.children: dict[str, list[str]] = {name: [] for name in self.order}
        for name in self.order[1:]:
            self.children[self.dominator[name]].append(name)
        self.reaches_return = self._reaching()
        self.loops = self._find_loops()
        self.loop_of: dict[str, FlowLoop | None] = self._innermost()

    # -- construction ---------------------------------------------------------------------------------------------

    def _add(self, block: BasicBlock) -> None:
        phis = [each for each in block.instructions if each.opcode == "phi"]
        body = [each for each in block.instructions[:-1] if each.opcode != "phi"]
        last = block.terminator
        name = block.name
        if last.opcode == "switch":
            self._add_switch(name, body, phis, last)
            return
        condition = None
        if last.opcode == "br":
            targets = last.labels
            condition = last.operands[0] if len(targets) == 2 else None
            if len(set(targets)) == 1:
                targets, condition = targets[:1], None
        else:
            targets = (RETURN,) if last.opcode == "ret" else ()
        self.nodes[name] = FlowNode(name, name, body, targets, condition, last, phis)

    def _add_switch(self, name: str, body: list[Instruction], phis: list[Instruction], last: Instruction) -> None:
        """A chain of tests, one for each target other than the default."""
        value, default = last.operands[0], last.labels[0]
        cases: dict[str, list[Operand]] = {}
        for case, label in zip(last.operands[1:], last.labels[1:], strict=True):
            if label != default:
                cases.setdefault(label, []).append(case)
        current, tests = name, body
        if not cases:
            self.nodes[name] = FlowNode(name, name, body, (default,), None, last, phis)
            return
        for index, (label, numbers) in enumerate(cases.items()):
            found: Operand | None = None
            for number in numbers:
                test = Instruction("icmp", f"{name}.is.{len(tests)}.{index}", I1, (value, number), ("eq",))
                test.location, test.block = last.location, current
                tests.append(test)
                here = Local(I1, test.name)
                if found is None:
                    found = here
                else:
                    either = Instruction("or", f"{name}.either.{len(tests)}.{index}", I1, (found, here))
                    either.location, either.block = last.location, current
                    tests.append(either)
                    found = Local(I1, either.name)
            following = default if index == len(cases) - 1 else f"{name}.case.{index + 1}"
            self.nodes[current] = FlowNode(current, name, tests, (label, following), found, last, phis)
            current, tests, phis = following, [], []

    def _reverse_postorder(self) -> list[str]:
        seen = {self.entry}
        finished: list[str] = []
        stack = [(self.entry, iter(self.nodes[self.entry].targets))]
        while stack:
            name, targets = stack[-1]
            for target in targets:
                if target != RETURN and target not in seen:
                    seen.add(target)
                    stack.append((target, iter(self.nodes[target].targets)))
                    break
            else:
                finished.append(name)
                stack.pop()
        order = finished[::-1]
        for position, name in enumerate(order):
            self.nodes[name].position = position
        return order

    def _dominators(self) -> dict[str, str]:
        """Immediate dominators, as Cooper, Harvey and Kennedy find them."""
        position = {name: index for index, name in enumerate(self.order)}
        dominator = {self.entry: self.entry}
        changed = True
        while changed:
            changed = False
            for name in self.order[1:]:
                best: str | None = None
                for other in self.nodes[name].predecessors:
                    if other not in dominator:
                        continue
                    if best is None:
                        best = other
                        continue
                    left, right = best, other
                    while left != right:
                        while position[left] > position[right]:
                            left = dominator[left]
                        while position[right] > position[left]:
                            right = dominator[right]
                    best = left
                assert best is not None
                if dominator.get(name) != best:
                    dominator[name] = best
                    changed = True
        return dominator

    def dominates(self, above: str, below: str) -> bool:
        """Whether every way to `below` passes `above`."""
        position = self.nodes[above].position
        while self.nodes[below].position > position:
            below = self.dominator[below]
        return below == above

    def _reaching(self) -> set[str]:
        """The blocks from which the function's end can be reached; none if it never ends."""
        pending = [name for name in self.order if RETURN in self.nodes[name].targets]
        found = set(pending)
        while pending:
            for name in self.nodes[pending.pop()].predecessors:
                if name not in found:
                    found.add(name)
                    pending.append(name)
        return found

    def _find_loops(self) -> dict[str, FlowLoop]:
        loops: dict[str, FlowLoop] = {}
        for name in self.order:
            node = self.nodes[name]
            for target in node.targets:
                if target == RETURN or self.nodes[target].position > node.position:
                    continue
                if not self.dominates(target, name):
                    raise IrreducibleError(self.nodes[target])
                loop = loops.setdefault(target, FlowLoop(target, {target}))
                pending = [name]
                while pending:
                    each = pending.pop()
                    if each not in loop.blocks:
                        loop.blocks.add(each)
                        pending.extend(self.nodes[each].predecessors)
        self._absorb_dead_ends(loops)
        by_size = sorted(loops.values(), key=lambda loop: len(loop.blocks))
        for index, loop in enumerate(by_size):
            loop.parent = next((outer for outer in by_size[index + 1 :] if loop.header in outer.blocks), None)
        return loops

    def _absorb_dead_ends(self, loops: dict[str, FlowLoop]) -> None:
        """Blocks that lead to `unreachable` only (after a trap) belong to the loop that they are reached from."""
        for name in self.order:
            node = self.nodes[name]
            if name in self.reaches_return or self._on_cycle(name, loops):
                continue
            for loop in loops.values():
                inside = all(other in loop.blocks for other in node.predecessors)
                if node.predecessors and inside and self._ends_soon(name):
                    loop.blocks.add(name)

    def _on_cycle(self, name: str, loops: dict[str, FlowLoop]) -> bool:
        return any(name in loop.blocks for loop in loops.values())

    def _ends_soon(self, name: str) -> bool:
        """Whether all ways from here end in `unreachable` without a cycle."""
        pending, seen = [name], {name}
        while pending:
            node = self.nodes[pending.pop()]
            for target in node.targets:
                if target == RETURN or self.nodes[target].position <= node.position:
                    return False
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
        return True

    def _innermost(self) -> dict[str, FlowLoop | None]:
        found: dict[str, FlowLoop | None] = dict.fromkeys(self.order)
        for loop in sorted(self.loops.values(), key=lambda each: -len(each.blocks)):
            for name in loop.blocks:
                found[name] = loop
        return found

    # -- questions ------------------------------------------------------------------------------------------------

    def is_dead_end(self, name: str) -> bool:
        """Whether no way from here reaches the function's end (as after a trap)."""
        return name != RETURN and name not in self.reaches_return and self._ends_soon(name)

    def owner_of(self, name: str) -> tuple[str, FlowLoop | None]:
        """Where the code of a block goes: below its dominator, or, if that is in loops that the block is not in, after
        the outermost of these."""
        above = self.dominator[name]
        left: FlowLoop | None = None
        loop = self.loop_of[above]
        while loop is not None and name not in loop.blocks:
            left = loop
            loop = loop.parent
        return above, left
