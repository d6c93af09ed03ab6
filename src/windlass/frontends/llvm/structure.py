"""From a control-flow graph to structured loops and branches.

The dominator tree says what nests in what. Below a block stand the blocks that only its two targets lead to: they
become the sides of an `If`. Blocks where several ways meet are emitted once, after the `If`; each way there is a *way*
of the flow, with the values for the block's phis, and with a boolean that tells whether it is taken where there are
several. So short circuits, early returns and switches need no duplication, and their cost is a few booleans.

A loop is emitted as a body of its own. Ways that lead back to its header continue it; those that lead out leave it and
are handed on. Blocks after a loop that are dominated from within it are emitted after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from windlass.frontends.llvm.control_flow import RETURN, ControlFlow, FlowLoop, FlowNode
from windlass.frontends.llvm.emitter import number_of, scalar_type
from windlass.frontends.llvm.induction import CountedLoop, find_counted_loops
from windlass.frontends.llvm.translator import Translator
from windlass.frontends.llvm.trip_count import TripCount, is_countable
from windlass.frontends.llvm.values import AddressNumber, LLVMValue, PointerValue
from windlass.ir import Argument, Block, BufferType, Builder, Op, Region, Type, Value, current_builder
from windlass.ir.values import Result
from windlass.llvm.layout import LLVMType, PointerType, members_of
from windlass.llvm.syntax import Instruction
from windlass.loops import Condition, DoWhile, For, If, SelectBuffer, Undefined, ViewBuffer, Yield


@dataclass(slots=True)
class Way:
    """A way to a target: taken if `condition` holds (always if it is None), with these values for the target's phis."""

    condition: Value | None
    values: list[Value]


Flow = dict[str, Way]
"""The ways out of a piece of code, by target; without any, the piece never ends (a trap, an endless loop)."""


class Structurer:
    """Emits the blocks of one function into structured form."""

    def __init__(self, translator: Translator, uncounted: Collection[str] = ()) -> None:
        self.translator = translator
        self.flow: ControlFlow = translator.flow
        self.emit = translator.emit
        self.open_blocks: list[Block] = [self.emit.prologue]
        self.open_loops: set[str] = set()
        self.guards: dict[Op, tuple[Value, bool]] = {}
        """The conditions that tell whether a `For` runs at all, and what they then give."""
        self.arms: dict[str, set[str]] = {name: set() for name in self.flow.order}
        self.joins: dict[str, list[str]] = {name: [] for name in self.flow.order}
        self.after_loop: dict[str, list[str]] = {name: [] for name in self.flow.loops}
        plans = find_counted_loops(self.flow, translator.provenance)
        self.counted: dict[str, CountedLoop] = {
            name: plan for name, plan in plans.items() if name not in uncounted and is_countable(plan)
        }
        for name in self.flow.order[1:]:
            above, left = self.flow.owner_of(name)
            if left is not None:
                self.after_loop[left.header].append(name)
            elif self.flow.nodes[name].predecessors == [above]:
                self.arms[above].add(name)
            else:
                self.joins[above].append(name)

    def run(self, body: Block) -> None:
        """Emit the whole function into `body`."""
        self.open_blocks.append(body)
        with Builder(body):
            self.emit_tree(self.flow.entry)
        self.open_blocks.pop()

    # -- blocks ---------------------------------------------------------------------------------------------------

    def emit_tree(self, name: str) -> Flow:
        """A block and all that it dominates, save what belongs after a loop around it."""
        loop = self.flow.loops.get(name)
        if loop is not None and name not in self.open_loops:
            return self.continue_with(self.emit_loop(loop), self.after_loop[name])
        node = self.flow.nodes[name]
        for instruction in node.instructions:
            self.translator.translate(instruction)
        return self.continue_with(self.emit_branch(node), self.joins[name])

    def emit_branch(self, node: FlowNode) -> Flow:
        """What the block's terminator does, with the code that only it leads to."""
        if not node.targets:
            return {}
        if node.condition is None:
            return self.follow(node, node.targets[0])
        self.stamp(node.terminator)
        condition = self.translator.scalar(node.condition)
        known = number_of(condition)
        if known is not None:
            return self.follow(node, node.targets[0 if known else 1])
        first, second = node.targets
        for target, other, test in ((first, second, condition), (second, first, None)):
            if target in self.arms[node.name] and self.flow.is_dead_end(target):
                test = test if test is not None else self.emit.negation(condition)
                self.emit_dead_end(test, target, self.values_on_edge(node, target))
                return self.follow(node, other)
        then_block, then_flow = self.emit_side(node, first)
        else_block, else_flow = self.emit_side(node, second)
        self.stamp(node.terminator)
        return self.join(condition, then_block, then_flow, else_block, else_flow)

    def emit_side(self, node: FlowNode, target: str) -> tuple[Block, Flow]:
        block = Block()
        self.open_blocks.append(block)
        with Builder(block, source=self.translator.position):
            flow = self.follow(node, target)
        self.open_blocks.pop()
        return block, flow

    def emit_dead_end(self, condition: Value, target: str, values: list[Value]) -> None:
        """Code that never comes back (it traps): nothing is said of what happens after it."""
        block = Block()
        self.open_blocks.append(block)
        with Builder(block, source=self.translator.position):
            self.bind(target, values)
            self.emit_tree(target)
            Yield(())
        self.open_blocks.pop()
        otherwise = Block()
        with Builder(otherwise):
            Yield(())
        If(condition, Region(block), Region(otherwise))

    def follow(self, node: FlowNode, target: str) -> Flow:
        """Go from a block to one of its targets."""
        if target in self.arms[node.name]:
            self.bind(target, self.values_on_edge(node, target))
            return self.emit_tree(target)
        return {target: Way(None, self.values_on_edge(node, target))}

    def continue_with(self, flow: Flow, joins: list[str]) -> Flow:
        """Emit the blocks in which ways of the flow meet, in order; gives what ways are left."""
        for name in joins:
            way = flow.pop(name, None)
            if way is None:
                continue
            if way.condition is None:
                self.bind(name, way.values)
                flow = self.emit_tree(name)
                continue
            if len(flow) == 1:
                for rest in flow.values():
                    rest.condition = None
            if self.flow.is_dead_end(name):
                self.emit_dead_end(way.condition, name, way.values)
                continue
            block = Block()
            self.open_blocks.append(block)
            with Builder(block, source=self.translator.position):
                self.bind(name, way.values)
                inner = self.emit_tree(name)
            self.open_blocks.pop()
            flow = self.join(way.condition, block, inner, Block(), flow)
        return flow

    def stamp(self, instruction: Instruction) -> None:
        """Give the ops that follow the position of this instruction."""
        builder = current_builder()
        assert builder is not None
        found = self.translator.module.positions.position(instruction.location)
        if found is not None:
            self.translator.position = found
        builder.source = self.translator.position

    # -- phis -----------------------------------------------------------------------------------------------------

    def values_on_edge(self, node: FlowNode, target: str) -> list[Value]:
        """What the target's phis get on this edge, as scalars and buffers."""
        if target == RETURN:
            return []
        values: list[Value] = []
        for phi in self.flow.nodes[target].phis:
            operand = phi.operands[phi.labels.index(node.label)]
            values += self.spread(self.translator.value(operand), phi.type, phi.name)
        return values

    def spread(self, value: LLVMValue, type_: LLVMType, name: str) -> list[Value]:
        """A value as the scalars and buffers that a phi carries: no buffer where all ways agree on it."""
        if isinstance(value, tuple):
            return [
                inner
                for part, (_, member) in zip(value, members_of(type_), strict=True)
                for inner in self.spread(part, member, name)
            ]
        base = self.translator.provenance.bases.get(name)
        is_number = not isinstance(type_, PointerType)
        if is_number and base is not None:
            is_mixed = base.kind == "value" or isinstance(value, Value)
            if is_mixed and not isinstance(value, Undefined):
                raise self.translator.refusal("WL0206", "an address is used as a number")
        if isinstance(value, Value):
            return [value]
        place = value if isinstance(value, PointerValue) else value.pointer
        if not is_number and (base is None or base.kind == "value"):
            return [place.offset, place.buffer]
        return [place.offset]

    def bind(self, name: str, values: list[Value]) -> None:
        """Give the block's phis their values."""
        remaining = iter(values)
        for phi in self.flow.nodes[name].phis:
            self.translator.values[phi.name] = self.gather(phi.type, phi.name, remaining)

    def gather(self, type_: LLVMType, name: str, remaining: Iterator[Value]) -> LLVMValue:
        """The reverse of `spread`."""
        members = members_of(type_)
        if members:
            return tuple(self.gather(member, name, remaining) for _, member in members)
        value = next(remaining)
        base = self.translator.provenance.bases.get(name)
        if isinstance(type_, PointerType):
            if base is None or base.kind == "value":
                return PointerValue(next(remaining), value)
            return PointerValue(self.translator.buffer_of(base), value)
        if base is not None:
            return AddressNumber(PointerValue(self.translator.buffer_of(base), value))
        return value

    # -- joining --------------------------------------------------------------------------------------------------

    def is_visible(self, value: Value) -> bool:
        """Whether a value is defined in a block that is still open, and so can be used after an inner block ends."""
        match value:
            case Op():
                block = value.block
            case Result():
                block = value.owner.block
            case Argument():
                block = value.block
            case _:
                block = None
        return any(block is each for each in self.open_blocks)

    def join(self, condition: Value, then_block: Block, then_flow: Flow, else_block: Block, else_flow: Flow) -> Flow:
        """An `If` of two sides with their flows. The sides' blocks are complete but for their `Yield`."""
        order = self.flow.nodes
        targets = sorted(
            {**then_flow, **else_flow},
            key=lambda name: len(order) if name == RETURN else order[name].position,
        )
        slots = Slots(self, condition, then_block, else_block)
        never = Way(self.emit.false, [])
        flags: dict[str, int | None] = dict.fromkeys(targets)
        if len(targets) > 1:
            last = targets[1:] if len(targets) == 2 else []
            for target in targets:
                if target in last:
                    continue
                left = then_flow.get(target, never).condition or self.emit.true
                right = else_flow.get(target, never).condition or self.emit.true
                flags[target] = slots.add(left, right)
        values: dict[str, list[int]] = {}
        for target in targets:
            left, right = then_flow.get(target), else_flow.get(target)
            count = len((left or right or never).values)
            lefts: list[Value | None] = list(left.values) if left is not None else [None] * count
            rights: list[Value | None] = list(right.values) if right is not None else [None] * count
            values[target] = [slots.add(one, other) for one, other in zip(lefts, rights, strict=True)]
        found = slots.finish()
        flow: Flow = {}
        for target in targets:
            place = flags[target]
            flow[target] = Way(None if place is None else found[place], [found[index] for index in values[target]])
        if len(targets) == 2:
            first = flow[targets[0]].condition
            assert first is not None
            flow[targets[1]].condition = self.emit.negation(first)
        return flow

    # -- loops ----------------------------------------------------------------------------------------------------

    def emit_loop(self, loop: FlowLoop) -> Flow:
        """A natural loop; its header's phis are bound to what they are on entry."""
        header = self.flow.nodes[loop.header]
        entering: list[Value] = []
        for phi in header.phis:
            entering += self.spread(self.translator.values[phi.name], phi.type, phi.name)
        plan = self.counted.get(loop.header)
        if plan is not None:
            return self.emit_counted(plan, header, entering)
        return self.emit_do_while(header, entering)

    def emit_body(self, header: FlowNode, block: Block, values: list[Value]) -> Flow:
        self.open_blocks.append(block)
        self.open_loops.add(header.name)
        position = self.translator.position
        with Builder(block, source=position):
            self.bind(header.name, values)
            flow = self.emit_tree(header.name)
        self.open_loops.discard(header.name)
        return flow

    def emit_do_while(self, header: FlowNode, entering: list[Value]) -> Flow:
        initial, types = self.generalize(entering)
        block = Block(types)
        flow = self.emit_body(header, block, list(block.arguments))
        back = flow.pop(header.name, None)
        with Builder(block, source=self.translator.position):
            if back is None:
                continues: Value = self.emit.false
                carried: list[Value] = list(block.arguments)
            else:
                continues = back.condition if back.condition is not None else self.emit.true
                carried = [self.as_type(value, type_.type) for value, type_ in zip(back.values, initial, strict=True)]
            exits = LoopExits(self, block, carried)
            targets = list(flow)
            flags: dict[str, int | Value | None] = dict.fromkeys(targets)
            if len(targets) > 1:
                for target in targets[:1] if len(targets) == 2 else targets:
                    condition = flow[target].condition
                    assert condition is not None
                    flags[target] = exits.add(condition)
            places = {target: [exits.add(value) for value in flow[target].values] for target in targets}
            Condition(continues, tuple(carried))
        self.open_blocks.pop()
        for value in carried[len(initial) :]:
            block.add_argument(value.type)
            initial.append(self.undefined_like(value))
        self.stamp(header.terminator)
        loop = DoWhile(tuple(initial), Region(block))
        return self.leave(flow, flags, places, loop.results)

    def leave(
        self,
        flow: Flow,
        flags: dict[str, int | Value | None],
        places: dict[str, list[int | Value]],
        results: tuple[Value, ...],
    ) -> Flow:
        """The ways out of a loop, in terms of its results."""

        def result(place: int | Value) -> Value:
            return results[place] if isinstance(place, int) else place

        targets = list(flow)
        found: Flow = {}
        for target in targets:
            place = flags[target]
            found[target] = Way(None if place is None else result(place), [result(each) for each in places[target]])
        if len(targets) == 2:
            first = found[targets[0]].condition
            assert first is not None
            found[targets[1]].condition = self.emit.negation(first)
        return found

    def emit_counted(self, plan: CountedLoop, header: FlowNode, entering: list[Value]) -> Flow:
        """A loop whose iterations can be counted beforehand: a `For` that carries true recurrences only."""
        self.stamp(self.flow.nodes[plan.latch].terminator)
        count = TripCount(self.translator, plan, dict(zip(self.phi_slots(header), entering, strict=True)))
        trip_count = count.emit_trip_count()
        names = self.phi_slots(header)
        recurrent = [index for index, name in enumerate(names) if name not in plan.inductions]
        initial, types = self.generalize([entering[index] for index in recurrent])
        block = Block([scalar_type("i64"), *types], ["iteration"])
        iteration = block.arguments[0]
        values: list[Value] = list(entering)
        for argument, index in zip(block.arguments[1:], recurrent, strict=True):
            values[index] = argument
        with Builder(block, source=self.translator.position):
            for index, name in enumerate(names):
                if name in plan.inductions:
                    values[index] = count.induction_at(name, iteration)
        flow = self.emit_body(header, block, values)
        back = flow.pop(header.name)
        (target,) = flow
        with Builder(block, source=self.translator.position):
            carried = [
                self.as_type(back.values[index], first.type) for index, first in zip(recurrent, initial, strict=True)
            ]
            exits = LoopExits(self, block, carried)
            ends = _counters_at_the_end(plan, names, values, back.values)
            places = [value if value in ends else exits.add(value) for value in flow[target].values]
            Yield(tuple(carried))
        self.open_blocks.pop()
        finals: dict[int | Value, Value] = {}
        for value in dict.fromkeys(places):
            if not isinstance(value, int):
                name, is_next = ends[value]
                after = trip_count if is_next else self.emit.subtract(trip_count, self.emit.constant(1, "i64"))
                finals[value] = count.induction_at(name, after)
        for value in carried[len(initial) :]:
            block.add_argument(value.type)
            initial.append(self.undefined_like(value))
        loop = For(trip_count, tuple(initial), Region(block))
        guard, holds = plan.test.guard
        condition = self.translator.values.get(guard)
        if isinstance(condition, Value):
            self.guards[loop] = (condition, holds)
        return {target: Way(None, [loop.results[each] if isinstance(each, int) else finals[each] for each in places])}

    def phi_slots(self, header: FlowNode) -> list[str]:
        """For each value that the header's phis carry, the phi's name (with a number where it carries several)."""
        names: list[str] = []
        for phi in header.phis:
            value = self.translator.values[phi.name]
            count = len(self.spread(value, phi.type, phi.name))
            names += [phi.name] if count == 1 else [f"{phi.name}#{index}" for index in range(count)]
        return names

    # -- types of carried values ----------------------------------------------------------------------------------

    def generalize(self, values: list[Value]) -> tuple[list[Value], list[Type]]:
        """Initial values of a loop and their types; buffers get the type that any buffer can have."""
        initial: list[Value] = [
            ViewBuffer(value, "global")
            if isinstance(value.type, BufferType) and value.type is not BufferType.of("global")
            else value
            for value in values
        ]
        return initial, [value.type for value in initial]

    def as_type(self, value: Value, type_: Type) -> Value:
        """A buffer under a more general type; other values as they are."""
        if value.type is not type_ and isinstance(value.type, BufferType):
            return ViewBuffer(value, "global")
        return value

    def undefined_like(self, value: Value) -> Value:
        return self.emit.undefined(value.type)


def _counters_at_the_end(
    plan: CountedLoop, names: Sequence[str], values: Sequence[Value], following: Sequence[Value]
) -> dict[Value, tuple[str, bool]]:
    """For each counter's value in the last iteration its name, and for its next one: whether that is it."""
    found: dict[Value, tuple[str, bool]] = {}
    for is_next, each in ((False, values), (True, following)):
        first: dict[Value, str] = {}
        for name, value in zip(names, each, strict=True):
            first.setdefault(value, name)
        for value, name in first.items():
            if name in plan.inductions:
                found.setdefault(value, (name, is_next))
    return found


class LoopExits:
    """What a loop hands out besides what it carries: each value once, and none that is known outside."""

    def __init__(self, structurer: Structurer, block: Block, carried: list[Value]) -> None:
        self.structurer = structurer
        self.block = block
        self.carried = carried

    def add(self, value: Value) -> int | Value:
        """The number of the result that has this value on leaving, or the value itself."""
        blocks = self.structurer.open_blocks
        assert blocks[-1] is self.block
        blocks.pop()
        is_known = self.structurer.is_visible(value)
        blocks.append(self.block)
        if is_known:
            return value
        for index, each in enumerate(self.carried):
            if each is value:
                return index
        self.carried.append(value)
        return len(self.carried) - 1


class Slots:
    """The results of an `If` that is being made; equal ones are shared, and values known outside are not yielded."""

    def __init__(self, structurer: Structurer, condition: Value, then_block: Block, else_block: Block) -> None:
        self.structurer = structurer
        self.condition = condition
        self.then_block = then_block
        self.else_block = else_block
        self.pairs: list[tuple[Value | None, Value | None]] = []
        self.direct: dict[int, Value] = {}

    def add(self, left: Value | None, right: Value | None) -> int:
        """A result that is `left` on the one side and `right` on the other; None where it does not matter."""
        index = len(self.pairs)
        self.pairs.append((left, right))
        structurer = self.structurer
        emit = structurer.emit
        one, other = left or right, right or left
        if one is None or other is None:
            raise AssertionError("a result that neither side gives")
        if one is other and structurer.is_visible(one):
            self.direct[index] = one
        elif one.type is scalar_type("i1") and number_of(one) is not None and number_of(other) is not None:
            first = number_of(one)
            if first == number_of(other):
                self.direct[index] = one
            else:
                self.direct[index] = self.condition if first else emit.negation(self.condition)
        return index

    def finish(self) -> list[Value]:
        """Close both blocks and make the `If`; gives the values of the results in the order of `add`."""
        yields: list[tuple[Value | None, Value | None]] = []
        places: dict[int, int] = {}
        for index, (left, right) in enumerate(self.pairs):
            if index in self.direct:
                continue
            for place, (one, other) in enumerate(yields):
                fits_left = left is None or one is None or one is left
                fits_right = right is None or other is None or other is right
                if fits_left and fits_right and self._type(left, right) is self._type(one, other):
                    yields[place] = (left or one, right or other)
                    places[index] = place
                    break
            else:
                places[index] = len(yields)
                yields.append((left, right))
        results = self._results(yields)
        found: list[Value] = []
        for index in range(len(self.pairs)):
            found.append(self.direct[index] if index in self.direct else results[places[index]])
        return found

    @staticmethod
    def _type(left: Value | None, right: Value | None) -> object:
        value = left if left is not None else right
        assert value is not None
        return value.type

    def _results(self, yields: list[tuple[Value | None, Value | None]]) -> list[Value]:
        structurer, emit = self.structurer, self.structurer.emit
        if self.then_block.first is None and self.else_block.first is None:
            found: list[Value] = []
            for left, right in yields:
                one, other = left or right, right or left
                assert one is not None and other is not None
                if isinstance(one.type, BufferType):
                    found.append(one if one is other else SelectBuffer(self.condition, one, other))
                else:
                    found.append(emit.select(self.condition, one, other))
            return found
        lefts: list[Value] = []
        rights: list[Value] = []
        for left, right in yields:
            one, other = left, right
            if one is None:
                assert other is not None
                one = structurer.undefined_like(other)
            if other is None:
                other = structurer.undefined_like(one)
            lefts.append(one)
            rights.append(other)
        for index, (one, other) in enumerate(zip(lefts, rights, strict=True)):
            if one.type is not other.type and isinstance(one.type, BufferType):
                with Builder(self.then_block):
                    lefts[index] = structurer.as_type(one, BufferType.of("global"))
                with Builder(self.else_block):
                    rights[index] = structurer.as_type(other, BufferType.of("global"))
        with Builder(self.then_block):
            Yield(tuple(lefts))
        with Builder(self.else_block):
            Yield(tuple(rights))
        made = If(self.condition, Region(self.then_block), Region(self.else_block))
        return list(made.results)
