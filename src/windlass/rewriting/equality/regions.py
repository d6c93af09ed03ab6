"""The regions of a block that are saturated, and what takes their place.

A region holds ops that are near to contractions and reductions. Nothing that it takes from outside depends on what it
gives: so whatever equal program takes its place, no value comes to depend on itself, and effects keep their order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from windlass.diagnostics.deadline import is_late
from windlass.facts.cost import Cost, Device, estimate_cost
from windlass.facts.terms import op_of, sources
from windlass.ir import Block, Builder, Function, Op, Region, TensorType, Value
from windlass.ir.captures import captures
from windlass.ops import Reduce, ReduceWindow, Return
from windlass.ops.base import TensorOp
from windlass.rewriting.driver import SAVING_OF_OP, Budget, count, is_enough, rewrite_function
from windlass.rewriting.equalities import Equality
from windlass.rewriting.equality.extraction import Choice, Extraction, goes_in_circles
from windlass.rewriting.equality.graph import EqualityGraph
from windlass.rewriting.equality.matching import Limits, Saturation, usable
from windlass.rewriting.ordering import sort_block
from windlass.rewriting.passes import Change, Pass
from windlass.rewriting.rule import RuleSet

REACH = 3
"""How many ops away from a contraction or reduction a region goes."""
MOST_OPS = 150
LEAST_OPS = 2
"""Ops of a region that are not free: of fewer, rules have found out all there is."""
SATURATION = "saturated_regions"


@dataclass(frozen=True)
class EqualRegion:
    """Ops of one block in order, what they take from outside, and those of their results that are taken outside."""

    ops: tuple[Op, ...]
    inputs: tuple[Value, ...]
    results: tuple[Value, ...]

    @classmethod
    def of(cls, ops: Sequence[Op]) -> EqualRegion:
        inside = set(ops)
        inputs = dict.fromkeys(value for op in ops for value in op.operands if op_of(value) not in inside)
        results = [value for op in ops for value in op.results if any(user not in inside for user in value.uses)]
        return cls(tuple(ops), tuple(inputs), tuple(results))

    def cost(self, device: Device) -> Cost:
        return estimate_cost(self.results, set(self.inputs), device)

    def moved(self, mapping: Mapping[Value, Value]) -> EqualRegion:
        """The same region of a copy of its block."""
        ops = (op_of(mapping[op.results[0]]) for op in self.ops)
        return EqualRegion(
            tuple(op for op in ops if op is not None),
            tuple(mapping.get(value, value) for value in self.inputs),
            tuple(mapping[value] for value in self.results),
        )


@dataclass(frozen=True)
class EqualProgram:
    """What may take a region's place: a function, and the values that it is to be called on."""

    function: Function
    inputs: tuple[Value, ...]

    def cost(self, device: Device) -> Cost:
        return estimate_cost(self.function.results, set(self.function.arguments), device)


def saturating(rules: RuleSet, equalities: Sequence[Equality] = (), limits: Limits | None = None) -> Pass:
    """The pass that saturates regions by these rules and equalities, and puts in their place what is cheaper."""
    open_rules, closed_rules = usable(rules), rules.without(SATURATION)

    def saturate_regions(block: Block, device: Device) -> Iterator[Change]:
        for region in list_regions(block):
            if is_late():
                return
            found: list[tuple[float, int, EqualProgram]] = []
            for program in list_equal_programs(region, block, open_rules, equalities, device, limits):
                rewrite_function(program.function, closed_rules, Budget(), device)
                found.append((program.cost(device).seconds, count(program.function.body) - 1, program))
            if not found:
                continue
            # Of programs that the model can't tell apart the shorter one.
            seconds, ops, best = min(found, key=lambda each: each[0] + SAVING_OF_OP * device.launch * each[1])
            more = ops - count(region.ops)
            if not is_enough(region.cost(device).seconds - seconds, more, device.launch):
                continue
            # What is around it has a say: something may no longer be computed together with the region.
            saved = whole_cost(block, device, closed_rules) - whole_cost(block, device, closed_rules, region, best)
            if is_enough(saved, more, device.launch):
                root = next(op for op in region.ops if is_seed(op))
                kind, source = type(root).__name__, root.source
                yield Change(kind, source, replace_region(region, block, best), saved)

    equation = "a region = the cheapest of the programs that rules, and equalities both ways, make of it"
    return Pass(SATURATION, equation, saturate_regions)


def whole_cost(
    block: Block,
    device: Device,
    rules: RuleSet,
    region: EqualRegion | None = None,
    program: EqualProgram | None = None,
) -> float:
    """The seconds that a block takes when the rules have been applied to it, with a program in a region's place.

    The block stays as it is. To one within a loop or a branch rules are not applied, as they would need what is around.
    """
    mapping: dict[Value, Value] = {}
    copy = block.clone(mapping)
    if region is not None and program is not None:
        inputs = tuple(mapping.get(value, value) for value in program.inputs)
        replace_region(region.moved(mapping), copy, EqualProgram(program.function, inputs))
    try:
        if block.parent is None:
            rewrite_function(Function("whole", copy), rules, Budget(), device)
        given = {*copy.arguments, *captures(Region(copy))}
        return estimate_cost(copy.terminator.operands, given, device).seconds
    finally:
        for op in copy.walk():
            op.drop_operands()


def list_equal_programs(
    region: EqualRegion,
    block: Block,
    rules: RuleSet,
    equalities: Sequence[Equality],
    device: Device,
    limits: Limits | None = None,
) -> list[EqualProgram]:
    """The region as it comes out of its graph: the cheapest by trees, and by integer linear programming.

    None where nothing was found out about the region.
    """
    graph = EqualityGraph(block.parent)
    try:
        mapping: dict[Value, Value] = {}
        with graph.build():
            for op in region.ops:
                op.clone(mapping)
        for op in region.ops:
            for result in op.results:
                graph.enter(mapping[result])
        saturation = Saturation(graph, rules, equalities, limits)
        saturation.run()
        if not saturation.fired.total():
            return []
        roots = [graph.number(mapping[value]) for value in region.results]
        extraction = Extraction(graph, roots, device)
        trees = extraction.choose_trees()
        least = extraction.choose(trees)
        return [
            take_out(extraction, each, roots, block.parent is not None)
            for each in (trees, least)
            if each is not None and not goes_in_circles(each)
        ]
    finally:
        graph.close()


def take_out(extraction: Extraction, chosen: Choice, roots: Sequence[int], is_within: bool = False) -> EqualProgram:
    """What was chosen, as a function of what is given, which has the roots for results.

    Where it `is_within` a loop or a branch, its ops are taken for such: some cost more there.
    """
    classes = extraction.graph.classes
    order = list_in_order(chosen, roots)
    taken = dict.fromkeys((*roots, *(operand for number in order for operand in chosen[number].operands)))
    given = {number: value for number in taken if (value := classes[number].given) is not None}
    block = Block([value.type for value in given.values()])
    if is_within:
        Region(block)
    made: dict[int, Value] = dict(zip(given, block.arguments, strict=True))
    with Builder(block):
        for number in order:
            if number in made:
                continue
            node = chosen[number]
            op = node.op.clone(dict(zip(node.op.operands, (made[each] for each in node.operands), strict=True)))
            op.made_by = (SATURATION,) if node.made_by is None else (SATURATION, node.made_by)
            for home, result in zip(node.homes, op.results, strict=True):
                if chosen.get(home) is node:
                    made.setdefault(home, result)
        Return(tuple(made[number] for number in roots))
    return EqualProgram(Function("region", block), tuple(given.values()))


def list_in_order(chosen: Choice, roots: Sequence[int]) -> list[int]:
    """The classes that are computed, each after those that it is computed from."""
    order: dict[int, None] = {}
    pending = list(reversed(roots))
    while pending:
        number = pending[-1]
        is_done = number in order or number not in chosen
        waiting = () if is_done else [each for each in chosen[number].operands if each in chosen and each not in order]
        if waiting:
            pending += reversed(waiting)
            continue
        pending.pop()
        if number in chosen:
            order.setdefault(number)
    return list(order)


def replace_region(region: EqualRegion, block: Block, program: EqualProgram) -> list[Op]:
    """Put the program in the region's place; gives the ops that were placed."""
    mapping: dict[Value, Value] = dict(zip(program.function.arguments, program.inputs, strict=True))
    with Builder(block, block.terminator) as builder:
        builder.placed = placed = list[Op]()
        for op in program.function.body:
            if op is not program.function.body.terminator:
                op.clone(mapping)
    news = [mapping[value] for value in program.function.results]
    for old, new in zip(region.results, news, strict=True):
        old.replace_all_uses_with(new)
    for op in reversed(region.ops):
        op.erase()
    sort_block(block)
    return placed


# -- which ops ------------------------------------------------------------------------------------------------------


def is_seed(op: Op) -> bool:
    """Whether regions grow around the op."""
    return op.is_contraction or isinstance(op, Reduce | ReduceWindow)


def may_join(op: Op) -> bool:
    """Whether the op may be part of a region: not what has an effect, runs programs of its own, or bears a note."""
    return (
        isinstance(op, TensorOp)
        and op.is_pure
        and not op.extra
        and not op.repetitions()
        and all(isinstance(result.type, TensorType) for result in op.results)
        and not any(captures(region) for region in op.regions)
    )


def list_regions(block: Block) -> Iterator[EqualRegion]:
    """The regions of a block. Each is found when the one before it has been dealt with, and may have been replaced."""
    for component in _list_components(block):
        rest = component
        while rest:
            ops = _take_convex(block, rest)
            rest = [op for op in rest if op not in set(ops)]
            region = EqualRegion.of(ops)
            work = [op for op in ops if not op.is_free]
            if len(work) >= LEAST_OPS and any(map(is_seed, ops)) and region.results:
                yield region
            if not ops:
                return


def _list_components(block: Block) -> list[list[Op]]:
    """Ops that are near to seeds, those that are connected together, in order."""
    near: dict[Op, int] = {op: 0 for op in block if is_seed(op) and may_join(op)}
    pending = deque(near)
    while pending:
        op = pending.popleft()
        if near[op] < REACH:
            for other in _neighbours(op):
                if other not in near and may_join(other):
                    near[other] = near[op] + 1
                    pending.append(other)
    component: dict[Op, int] = {}
    members: list[list[Op]] = []
    for first in near:
        if first in component or not first.operands:
            continue
        pending = deque([first])
        component[first] = len(members)
        while pending:
            for other in _neighbours(pending.popleft()):
                if other in near and other not in component:
                    component[other] = len(members)
                    if other.operands:
                        pending.append(other)
        members.append([])
    for op in block:
        if op in component:
            members[component[op]].append(op)
    return members


def _neighbours(op: Op) -> list[Op]:
    """The ops beside it that give its operands, take its results, or multiply an operand of it too."""
    makers = [made for value in op.operands if (made := op_of(value)) is not None]
    users = [user for value in op.results for user in value.uses] if op.operands else []
    if op.is_contraction:
        users += [user for value in op.operands for user in value.uses if user.is_contraction]
    return [each for each in dict.fromkeys((*makers, *users)) if each.block is op.block]


def _take_convex(block: Block, wanted: Sequence[Op]) -> list[Op]:
    """As many of the ops as may be one region, in order: none depends on another through what stays outside.

    Nor does one depend on an effect that comes after something outside which depends on the region: it would have to
    be computed before that.
    """
    candidates, inside, after = set(wanted), dict[Op, None](), set[Op]()
    work = 0
    for op in block:
        depends = False
        waits = bool(after) and not op.is_pure
        for value in sources(op):
            made = op_of(value)
            depends |= made in inside
            waits |= made in after
        if op in candidates and not waits and work < MOST_OPS:
            inside[op] = None
            work += not op.is_free
        elif depends or waits:
            after.add(op)
    return list(inside)
