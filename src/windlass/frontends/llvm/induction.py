"""Which loops can be counted before they run, and what their counters are.

A loop can be counted if it is left at its one latch only, by comparing a counter with something that the loop does not
change. A counter is a phi that gets the same amount added each time; pointers that walk through an array count too.
"""

from __future__ import annotations

from dataclasses import dataclass

from windlass.frontends.llvm.control_flow import ControlFlow, FlowLoop, FlowNode
from windlass.frontends.llvm.memory import signed_number
from windlass.frontends.llvm.provenance import Provenance
from windlass.frontends.llvm.translator import WORD_DTYPES
from windlass.llvm.layout import ArrayType, IntegerType, PointerType, VectorType
from windlass.llvm.syntax import Instruction, Local, Null, Number, Operand


@dataclass(frozen=True, slots=True)
class InductionTerm:
    """A multiple of something that does not change in the loop."""

    operand: Operand
    factor: int


@dataclass(frozen=True, slots=True)
class Induction:
    """A counter: in each iteration its step (a constant plus terms; bytes for pointers) is added to it.

    `words` are the flags of the addition: without `nsw` it may wrap around as a signed number, without `nuw` as an
    unsigned one.
    """

    name: str
    next_name: str
    is_pointer: bool
    bits: int
    constant: int
    terms: tuple[InductionTerm, ...]
    words: frozenset[str]
    start: Operand


@dataclass(frozen=True, slots=True)
class Test:
    """What decides whether the loop goes on: `predicate(counter + offset, bound)`.

    `is_next` tells whether the counter is read after its step. `extension` is "sext" or "zext" where the counter is
    widened before it is compared. `is_guarded` tells that the loop is entered only if `predicate(start, bound)`.
    `guard` is the comparison that tells exactly whether the loop runs at all, and what it then gives; "" if there is
    none.
    """

    induction: Induction
    is_next: bool
    offset: int
    extension: str
    predicate: str
    bound: Operand
    words: frozenset[str]
    is_guarded: bool
    guard: tuple[str, bool] = ("", True)


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A loop whose iterations can be counted. `inductions` are all its counters, by the name of the phi."""

    header: str
    latch: str
    exit: str
    inductions: dict[str, Induction]
    test: Test


INVERSE = {
    "eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "sgt": "sle", "sle": "sgt", "ult": "uge", "uge": "ult",
    "ugt": "ule", "ule": "ugt",
}  # fmt: skip
SWAPPED = {
    "eq": "eq", "ne": "ne", "slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle", "ult": "ugt", "ugt": "ult",
    "ule": "uge", "uge": "ule",
}  # fmt: skip


def find_counted_loops(flow: ControlFlow, provenance: Provenance) -> dict[str, CountedLoop]:
    """All loops that can be counted, by header."""
    finder = _Finder(flow, provenance)
    return {header: plan for header, loop in flow.loops.items() if (plan := finder.plan(loop)) is not None}


class _Finder:
    def __init__(self, flow: ControlFlow, provenance: Provenance) -> None:
        self.flow = flow
        self.provenance = provenance
        self.definitions: dict[str, tuple[Instruction, str]] = {
            instruction.name: (instruction, node.name)
            for node in flow.nodes.values()
            for instruction in (*node.phis, *node.instructions)
        }

    def definition(self, operand: Operand) -> Instruction | None:
        if isinstance(operand, Local) and operand.name in self.definitions:
            return self.definitions[operand.name][0]
        return None

    def is_invariant(self, operand: Operand, loop: FlowLoop) -> bool:
        if isinstance(operand, Local):
            found = self.definitions.get(operand.name)
            return found is None or found[1] not in loop.blocks
        return True

    def plan(self, loop: FlowLoop) -> CountedLoop | None:
        header = self.flow.nodes[loop.header]
        latches = [name for name in header.predecessors if name in loop.blocks]
        outside = [name for name in header.predecessors if name not in loop.blocks]
        exits = [
            (name, target)
            for name in loop.blocks
            for target in self.flow.nodes[name].targets
            if target not in loop.blocks
        ]
        if len(latches) != 1 or len(outside) != 1 or len(exits) != 1 or exits[0][0] != latches[0]:
            return None
        latch = self.flow.nodes[latches[0]]
        exit_target = exits[0][1]
        entry = self.flow.nodes[outside[0]]
        inductions: dict[str, Induction] = {}
        for phi in header.phis:
            found = self.induction(phi, loop, latch, entry)
            if found is not None:
                inductions[phi.name] = found
        test = self.test(loop, latch, entry, inductions, exit_target)
        if test is None:
            return None
        return CountedLoop(loop.header, latch.name, exit_target, inductions, test)

    # -- counters -------------------------------------------------------------------------------------------------

    def induction(self, phi: Instruction, loop: FlowLoop, latch: FlowNode, entry: FlowNode) -> Induction | None:
        following = phi.operands[phi.labels.index(latch.label)]
        start = phi.operands[phi.labels.index(entry.label)]
        step = self.definition(following)
        if step is None or not isinstance(following, Local) or self.is_invariant(following, loop):
            return None
        words = frozenset(step.words)
        if isinstance(phi.type, PointerType):
            base = self.provenance.bases.get(phi.name)
            first = step.operands[0] if step.operands else None
            if base is None or base.kind == "value" or not isinstance(first, Local) or first.name != phi.name:
                return None
            terms = self.address_terms(step, loop)
            if terms is None:
                return None
            return Induction(phi.name, step.name, True, 64, terms[0], terms[1], words, start)
        if not isinstance(phi.type, IntegerType) or phi.type.bits not in WORD_DTYPES or phi.type.bits == 1:
            return None
        if self.provenance.bases.get(phi.name) is not None or step.opcode not in ("add", "sub", "or"):
            return None
        if step.opcode == "or" and "disjoint" not in words:
            return None
        left, right = step.operands
        if isinstance(right, Local) and right.name == phi.name and step.opcode != "sub":
            left, right = right, left
        if not isinstance(left, Local) or left.name != phi.name or not self.is_invariant(right, loop):
            return None
        factor = -1 if step.opcode == "sub" else 1
        if isinstance(right, Number):
            constant, terms = factor * signed_number(right), ()
        elif isinstance(right, Local):
            constant, terms = 0, (InductionTerm(right, factor),)
        else:
            return None
        if step.opcode == "or":
            return None
        return Induction(phi.name, step.name, False, phi.type.bits, constant, terms, words, start)

    def address_terms(self, step: Instruction, loop: FlowLoop) -> tuple[int, tuple[InductionTerm, ...]] | None:
        """The bytes that a getelementptr adds, if they do not change in the loop."""
        if step.opcode != "getelementptr":
            return None
        constant, terms = 0, list[InductionTerm]()
        type_ = step.element
        for position, operand in enumerate(step.operands[1:]):
            if position > 0:
                if not isinstance(type_, ArrayType | VectorType):
                    return None
                type_ = type_.element
            if isinstance(operand, Number):
                constant += signed_number(operand) * type_.size
            elif isinstance(operand, Local) and self.is_invariant(operand, loop):
                terms.append(InductionTerm(operand, type_.size))
            else:
                return None
        return constant, tuple(terms)

    # -- the test -------------------------------------------------------------------------------------------------

    def test(
        self, loop: FlowLoop, latch: FlowNode, entry: FlowNode, inductions: dict[str, Induction], exit_target: str
    ) -> Test | None:
        if latch.condition is None:
            return None
        comparison = self.definition(latch.condition)
        if comparison is None or comparison.opcode != "icmp":
            return None
        predicate = comparison.words[-1]
        if latch.targets[0] == exit_target:
            predicate = INVERSE[predicate]
        left, right = comparison.operands
        if self.is_invariant(left, loop):
            left, right, predicate = right, left, SWAPPED[predicate]
        if not self.is_invariant(right, loop):
            return None
        traced = self.trace(left, inductions)
        if traced is None:
            return None
        induction, is_next, offset, extension, words = traced
        if "samesign" in comparison.words and predicate[0] == "u" and "nsw" in words:
            predicate = "s" + predicate[1:]
        if induction.is_pointer:
            base = self.provenance.bases.get(induction.name)
            if isinstance(right, Null) or self.provenance.base_of(right) != base:
                return None
        elif self.provenance.base_of(right) is not None:
            return None
        if not is_next or offset != 0:
            return Test(induction, is_next, offset, extension, predicate, right, words, False)
        entered = predicate
        if predicate == "ne":
            entered = "slt" if "nsw" in words else "ult"
        is_guarded, guard = self.find_guard(entry, loop, induction.start, right, entered)
        if induction.terms or (predicate == "ne" and induction.constant < 0):
            guard = ("", True)
        return Test(induction, is_next, offset, extension, predicate, right, words, is_guarded, guard)

    def trace(
        self, operand: Operand, inductions: dict[str, Induction]
    ) -> tuple[Induction, bool, int, str, frozenset[str]] | None:
        """Which counter the operand is: itself or after its step, plus a constant, perhaps widened."""
        if not isinstance(operand, Local):
            return None
        for induction in inductions.values():
            if operand.name == induction.name:
                return induction, False, 0, "", induction.words
            if operand.name == induction.next_name:
                return induction, True, 0, "", induction.words
        instruction = self.definition(operand)
        if instruction is None:
            return None
        if instruction.opcode in ("sext", "zext"):
            inner = self.trace(instruction.operands[0], inductions)
            if inner is None or inner[3]:
                return None
            return (*inner[:3], instruction.opcode, inner[4])
        if instruction.opcode == "add" and isinstance(instruction.operands[1], Number):
            inner = self.trace(instruction.operands[0], inductions)
            if inner is None or inner[3] or inner[0].is_pointer:
                return None
            number = signed_number(instruction.operands[1])
            return inner[0], inner[1], inner[2] + number, "", inner[4] & frozenset(instruction.words)
        return None

    # -- guards ---------------------------------------------------------------------------------------------------

    def find_guard(
        self, entry: FlowNode, loop: FlowLoop, start: Operand, bound: Operand, predicate: str
    ) -> tuple[bool, tuple[str, bool]]:
        """Whether a branch on the way to the loop makes sure of `predicate(start, bound)`.

        Then also the comparison that says just that and decides whether the loop is entered, if there is one.
        """
        current, below = entry, loop.header
        for _ in range(8):
            if len(current.targets) == 2 and current.condition is not None:
                comparison = self.definition(current.condition)
                if comparison is not None and comparison.opcode == "icmp":
                    known, holds = comparison.words[-1], current.targets[0] == below
                    left, right = comparison.operands
                    if not holds:
                        known = INVERSE[known]
                    for relation, one, other in ((known, left, right), (SWAPPED[known], right, left)):
                        if self._says(relation, one, other, predicate, start, bound):
                            return True, (comparison.name, holds)
                        if self._implies(relation, one, other, predicate, start, bound):
                            return True, ("", True)
            if len(current.predecessors) != 1:
                return False, ("", True)
            below, current = current.name, self.flow.nodes[current.predecessors[0]]
        return False, ("", True)

    def _says(self, known: str, left: Operand, right: Operand, predicate: str, start: Operand, bound: Operand) -> bool:
        """Whether `known(left, right)` is `predicate(start, bound)`."""
        if known == predicate and self.same(left, start) and self.same(right, bound):
            return True
        # x > 0 is written x >= 1 as well, and for unsigned numbers x != 0.
        if not (isinstance(start, Number) and isinstance(left, Number) and self.same(right, bound)):
            return False
        first, other = signed_number(start), signed_number(left)
        if predicate == "slt":
            return known == "sle" and other == first + 1
        if predicate == "ult" and first >= 0 and other >= 0:
            return (known == "ne" and first == other == 0) or (known == "ule" and other == first + 1)
        return False

    def _implies(
        self, known: str, left: Operand, right: Operand, predicate: str, start: Operand, bound: Operand
    ) -> bool:
        """Whether `known(left, right)` is more than `predicate(start, bound)`: a greater start."""
        if not (isinstance(start, Number) and isinstance(left, Number) and self.same(right, bound)):
            return False
        first, other = signed_number(start), signed_number(left)
        if predicate == "slt":
            return known == "slt" and other >= first
        return predicate == "ult" and known == "ult" and other >= first >= 0

    def same(self, left: Operand, right: Operand) -> bool:
        if isinstance(left, Local) and isinstance(right, Local):
            return left.name == right.name
        if isinstance(left, Number) and isinstance(right, Number):
            return signed_number(left) == signed_number(right)
        return False
