"""Bodies of threads written for several lanes: branches under masks, loops until no lane is left.

Masks stand only where lanes part. An arm that all lanes take is written once more without them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windlass.ir import Block, BufferType, Op, Region, Value
from windlass.loops import (
    Allocate,
    Assert,
    Atomic,
    AtomicUpdate,
    Barrier,
    BufferDistance,
    CompareExchange,
    Condition,
    DeviceVariableBuffer,
    DoWhile,
    For,
    If,
    Load,
    NullBuffer,
    Pop,
    Print,
    Push,
    SameBuffer,
    SelectBuffer,
    Store,
    Subscript,
    Undefined,
    ViewBuffer,
    Yield,
)
from windlass.native.arithmetic import Arithmetic
from windlass.native.lanes import Lanes
from windlass.native.memory import MemoryWriter, Place
from windlass.native.ranges import LaunchRanges
from windlass.native.refusal import NotNative, UncountedLoop
from windlass.native.strides import carried_arguments, lanes_part
from windlass.native.tape import TapeWriter
from windlass.native.text import ALL, scalar_type
from windlass.ops.base import TensorOp
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert, Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, And, Multiply, Negate, Not, Or, Select, ShiftLeft, Subtract, Xor
from windlass.ops.extremes import Maximum, Minimum

_CHEAP = (
    Add, And, BitcastConvert, Compare, Constant, Convert, Maximum, Minimum, Multiply, Negate, Not, Or, Select, Subtract,
    Subscript, Undefined, Xor,
)  # fmt: skip
MOST_SPECULATED = 12
"""So many cheap ops of a branch are computed for lanes that don't take it, rather than asking whether some do."""
ROUNDS_UNTIL_POLL = 1 << 16
"""After so many rounds, those of loops in it counted, a loop that may take long asks whether it is to stop."""
FEW_ROUNDS = 1 << 24
"""A loop that is known to go round no more often, with those in it, does not ask."""

Arm = tuple[list[str], str]
"""What a branch yields, and the label of the block where it ends."""


class BodyWriter:
    """Writes the body of a thread for the lanes."""

    def __init__(self, lanes: Lanes, memory: MemoryWriter, arithmetic: Arithmetic, ranges: LaunchRanges) -> None:
        self.lanes = lanes
        self._ranges = ranges
        self.text = lanes.text
        self.memory = memory
        self.arithmetic = arithmetic
        self._parts = 0
        """How many branches and loops around are run by some of the lanes only, or again and again."""
        tape = TapeWriter(lanes, memory)
        self._writers: dict[type[Op], Callable[..., None]] = {
            Allocate: memory.allocate,
            Load: memory.load,
            Store: memory.store,
            Atomic: memory.atomic,
            CompareExchange: memory.exchange,
            AtomicUpdate: lambda op: memory.update(op, self.write),
            Push: tape.push,
            Pop: tape.pop,
            NullBuffer: self._null,
            ViewBuffer: self._view,
            SelectBuffer: self._select_buffer,
            SameBuffer: self._same_buffer,
            BufferDistance: self._distance,
            DeviceVariableBuffer: lambda op: None,
            Undefined: self._undefined,
            Assert: self._assert,
            Subscript: self._subscript,
            Constant: lambda op: None,
            If: self._if,
            For: self._loop,
            DoWhile: self._loop,
        }

    def write(self, block: Block) -> None:
        """What the ops of the block do, but for the one that ends it.

        Raises NotNative where there is no native code for one of them.
        """
        for op in block:
            if isinstance(op, Yield | Condition):
                return
            self.write_op(op)

    def rounds_until_poll(self, loop: For) -> int:
        """After how many rounds a loop asks whether to stop: 0 if it doesn't, as it can't take long,
        or as loops in it ask."""
        within = self._rounds_within(loop.body.block)
        if within > FEW_ROUNDS or (1 + within) * self._ranges.of(loop.trip_count).high <= FEW_ROUNDS:
            return 0
        return max(ROUNDS_UNTIL_POLL // (1 + within), 1)

    def _rounds_within(self, block: Block) -> int:
        """How many rounds counted loops in a block go at most."""
        return sum(
            (1 + self._rounds_within(op.body.block)) * max(self._ranges.of(op.trip_count).high, 0)
            if isinstance(op, For)
            else sum(map(self._rounds_within, (each for region in op.regions for each in region.blocks)))
            for op in block
        )

    def poll_after(self, number: str, often: int) -> None:
        """Ask after the last of each so many (as power of two) whether to stop: then nothing more is done."""
        text, last = self.text, (1 << max(often, 1).bit_length() - 1) - 1
        rest = text.put(f"and i64 {number}, {last}")
        poll, on = text.fresh("poll"), text.fresh("on")
        text.branch(text.put(f"icmp eq i64 {rest}, {last}"), poll, on, is_rare=True)
        text.open(poll)
        text.branch(text.call("i1", "windlass.poll", "ptr %context"), "done", on)
        text.open(on)

    def write_op(self, op: Op) -> None:
        """What one op does."""
        writer = self._writers.get(type(op))
        if writer is not None:
            writer(op)
        elif isinstance(op, Convert) and (wide := self._widened(op)):
            self.lanes.names[op] = wide
        elif isinstance(op, TensorOp):
            is_vector = self.lanes.is_varying(op)
            given = [self.lanes.use(each, is_vector=is_vector) for each in op.operands]
            no_wrap = self._ranges.no_wrap(op)
            self.lanes.names[op] = self.arithmetic.write(op, given, is_vector=is_vector, no_wrap=no_wrap)
        else:
            raise NotNative(_REASONS.get(type(op), f"{type(op).__name__} has no native code"), op.source)

    def _widened(self, op: Convert) -> str:
        """A place in 64 bits that is computed in fewer, which never wrap around, as 64 bits all the way: so it grows
        from strip to strip by a step. The empty string where that is not known."""
        source = op.operand
        if op.dtype not in ("i64", "ui64") or source.dtype not in ("i32", "ui32") or self.lanes.is_varying(op):
            return ""
        return self._in_64_bits(source) if self._grows_plainly(source) else ""

    def _grows_plainly(self, value: Value) -> bool:
        flags = self._ranges.no_wrap(value) if isinstance(value, Op) else ""
        return "nuw" in flags or (bool(flags) and not value.dtype.startswith("u"))

    def _in_64_bits(self, value: Value) -> str:
        text = self.text
        if isinstance(value, Constant):
            return str(int(value.number))
        if value in self.lanes.wide:
            return self.lanes.wide[value]
        if isinstance(value, Add | Subtract | Multiply | ShiftLeft) and self._grows_plainly(value):
            verb = {Add: "add", Subtract: "sub", Multiply: "mul", ShiftLeft: "shl"}[type(value)]
            return text.put(f"{verb} nsw i64 {', '.join(self._in_64_bits(each) for each in value.operands)}")
        extends = "zext" if value.dtype.startswith("u") else "sext"
        return text.put(f"{extends} i32 {self.lanes.name(value)} to i64")

    # -- buffers ------------------------------------------------------------------------------------------------------

    def _null(self, op: NullBuffer) -> None:
        self.memory.places[op] = Place("null", "0", "a null pointer", 16)

    def _view(self, op: ViewBuffer) -> None:
        self.memory.places[op] = self.memory.places[op.buffer]

    def _select_buffer(self, op: SelectBuffer) -> None:
        one, other = (self.memory.places[each] for each in (op.on_true, op.on_false))
        condition = self.lanes.name(op.condition)
        pointer = self.text.put(f"select i1 {condition}, ptr {one.pointer}, ptr {other.pointer}")
        size = self.text.put(f"select i1 {condition}, i64 {one.size}, i64 {other.size}")
        self.memory.places[op] = Place(pointer, size, "one of two arrays")

    def _same_buffer(self, op: SameBuffer) -> None:
        """Only asked of a null pointer, which nothing else is."""
        places = [self.memory.places[each] for each in (op.lhs, op.rhs)]
        if not any(each.pointer == "null" for each in places):
            raise NotNative("a comparison of pointers into two arrays", op.source)
        self.lanes.names[op] = self.text.put(f"icmp eq ptr {places[0].pointer}, {places[1].pointer}")

    def _distance(self, op: BufferDistance) -> None:
        raise NotNative("the distance of two arrays", op.source)

    # -- values -------------------------------------------------------------------------------------------------------

    def _undefined(self, op: Undefined) -> None:
        if isinstance(op.type, BufferType):
            self.memory.places[op] = Place("null", "0", "no array", 16)
        else:
            self.lanes.names[op] = _zero_of(scalar_type(op.dtype))

    def _assert(self, op: Assert) -> None:
        """What is proved to hold needs no test."""
        if self.memory.indices.always_holds(op.condition, op.block):
            return
        if op.counted_loop:
            raise UncountedLoop(op.counted_loop, op.source)
        raise NotNative("it asserts", op.source)

    def _subscript(self, op: Subscript) -> None:
        lanes, text = self.lanes, self.text
        is_vector = lanes.is_varying(op)
        type_ = text.vector("i64") if is_vector else "i64"
        flags = self._ranges.no_wrap_within(op)

        def number(value: int) -> str:
            return f"splat (i64 {value})" if is_vector else str(value)

        total = ""
        for index, stride in zip(op.indices, op.strides, strict=True):
            term = lanes.use(index, is_vector=is_vector)
            if stride != 1:
                term = text.put(f"mul{flags} {type_} {term}, {number(stride)}")
            total = text.put(f"add{flags} {type_} {total}, {term}") if total else term
        if op.start or not total:
            total = text.put(f"add{flags} {type_} {total or number(0)}, {number(op.start)}")
        lanes.names[op] = total

    def given(self, value: Value, like: Value) -> list[str]:
        """What stands for a value where another of the given stride is made: a pointer and a size for a buffer."""
        if isinstance(value.type, BufferType):
            place = self.memory.places[value]
            if place.granule:
                raise NotNative("a choice of local arrays")
            return [place.pointer, place.size]
        return [self.lanes.use(value, is_vector=self.lanes.is_varying(like))]

    def types(self, value: Value) -> list[str]:
        return ["ptr", "i64"] if isinstance(value.type, BufferType) else [self.lanes.type_of(value)]

    def take(self, value: Value, names: Sequence[str]) -> None:
        if isinstance(value.type, BufferType):
            self.memory.places[value] = Place(names[0], names[1], "one of several arrays")
        else:
            self.lanes.names[value] = names[0]

    # -- branches -----------------------------------------------------------------------------------------------------

    def _arm(self, region: Region, results: Sequence[Value], mask: str | None) -> Arm:
        """A branch for lanes of a mask."""
        with self.lanes.under(mask):
            self.write(region.block)
            ends = zip(region.block.terminator.operands, results, strict=True)
            found = [each for value, result in ends for each in self.given(value, result)]
        return found, self.text.label

    def _if(self, op: If) -> None:
        lanes = self.lanes
        if lanes.stride(op.condition) == 0:
            self._uniform_if(op)
        else:
            self._varying_if(op)

    def _uniform_if(self, op: If) -> None:
        lanes, text, results = self.lanes, self.text, op.results
        yes, no, end = (text.fresh(each) for each in ("then", "else", "join"))
        text.branch(lanes.name(op.condition), yes, no)
        arms: list[Arm] = []
        for label, region in ((yes, op.then), (no, op.otherwise)):
            text.open(label)
            arms.append(self._arm(region, results, lanes.mask))
            text.go(end)
        text.open(end)
        self._merge(results, arms)

    def _merge(self, results: Sequence[Value], arms: Sequence[Arm]) -> None:
        """The results where branches meet that all lanes took together."""
        place = 0
        for result in results:
            names: list[str] = []
            for type_ in self.types(result):
                names.append(self.text.phi(type_, *((found[place], label) for found, label in arms)))
                place += 1
            self.take(result, names)

    def _varying_if(self, op: If) -> None:
        lanes, text, results = self.lanes, self.text, op.results
        condition = lanes.vector(op.condition)
        speculated = [_is_cheap(region.block) for region in (op.then, op.otherwise)]
        if all(speculated):
            self._take_chosen(op, condition, *(self._plain_arm(each, results) for each in (op.then, op.otherwise)))
            return
        taken = text.both(lanes.mask, condition)
        whole: list[Arm] = []
        finish = text.fresh("finish")
        if lanes.mask is None and self._parts == 0:
            for region, is_cheap, all_go in zip(
                op.regions, speculated, (text.all(taken), text.put(f"xor i1 {text.any(taken)}, true")), strict=True
            ):
                if is_cheap and whole:
                    continue
                full, some = text.fresh("all"), text.fresh("some")
                text.branch(all_go, full, some)
                text.open(full)
                whole.append(self._arm(region, results, None))
                text.go(finish)
                text.open(some)
        self._parts += 1
        left = text.without(lanes.mask, condition)
        one = self._masked_arm(op, op.then, taken, is_cheap=speculated[0])
        other = self._masked_arm(op, op.otherwise, left, is_cheap=speculated[1])
        self._parts -= 1
        self._take_chosen(op, condition, one, other)
        if whole:
            last = text.label
            text.go(finish)
            text.open(finish)
            parts = [each for result in results for each in self.given(result, result)]
            self._merge(results, [*whole, (parts, last)])

    def _take_chosen(self, op: If, condition: str, one: Sequence[str], other: Sequence[str]) -> None:
        """The results of lanes of which some took one branch and some the other."""
        flags = self.text.vector("i1")
        for place, result in enumerate(op.results):
            if not self.lanes.is_varying(result):  # the same in both branches, and from before them
                self.take(result, self.given(op.then.block.terminator.operands[place], result))
                continue
            type_ = self.lanes.type_of(result)
            chosen = f"select {flags} {condition}, {type_} {one[place]}, {type_} {other[place]}"
            self.take(result, [self.text.put(chosen)])

    def _plain_arm(self, region: Region, results: Sequence[Value]) -> list[str]:
        return self._arm(region, results, self.lanes.mask)[0]

    def _masked_arm(self, op: If, region: Region, mask: str, *, is_cheap: bool) -> list[str]:
        """What a branch gives for the lanes of a mask, if there are any; anything for others."""
        text, results = self.text, op.results
        if is_cheap:
            return self._plain_arm(region, results)
        do, done = text.fresh("some"), text.fresh("done")
        before = text.label
        text.branch(text.any(mask), do, done)
        text.open(do)
        found, last = self._arm(region, results, mask)
        text.go(done)
        text.open(done)
        types = [each for result in results for each in self.types(result)]
        return [
            text.phi(type_, (each, last), (_zero_of(type_), before)) for type_, each in zip(types, found, strict=True)
        ]

    # -- loops --------------------------------------------------------------------------------------------------------

    def _loop(self, op: For | DoWhile) -> None:
        self._parts += 1
        _LoopWriter(self, op).write()
        self._parts -= 1


class _LoopWriter:
    """One loop for all lanes, which goes on as long as one of them does; those that are done keep their values."""

    def __init__(self, around: BodyWriter, op: For | DoWhile) -> None:
        self.around = around
        self.lanes = around.lanes
        self.text = around.text
        self.op = op
        self.trips = op.trip_count if isinstance(op, For) else None
        self.block = op.body.block
        self.arguments = carried_arguments(op)
        self.parts = lanes_part(op, self.lanes.strides)
        self.late = [
            place
            for place, (result, argument) in enumerate(zip(op.results, self.arguments, strict=True))
            if self.parts and result.uses and not self.lanes.is_varying(argument)
        ]
        """Which results are the same for all lanes in each round, but not after the last round of each."""
        self.phis: list[tuple[str, str, str, str]] = []
        """Name, type, value at first, and value of the next round."""

    def write(self) -> None:
        lanes, text = self.lanes, self.text
        pairs = list(zip(self.op.initial, self.arguments, strict=True))
        initial = [self.around.given(value, argument) for value, argument in pairs]
        kept_first = {place: lanes.vector(self.op.initial[place]) for place in self.late}
        limit = "" if self.trips is None else lanes.use(self.trips, is_vector=self.parts)
        head, body, end = (text.fresh(each) for each in ("head", "body", "end"))
        start = text.label
        text.go(head)
        text.open(head)
        where = len(text.lines)
        names = [[f"%{text.fresh('carried')}" for _ in each] for each in initial]
        for argument, each in zip(self.arguments, names, strict=True):
            self.around.take(argument, each)
        kept = {place: f"%{text.fresh('kept')}" for place in self.late}
        counter, live, round_ = (f"%{text.fresh(each)}" for each in ("counter", "live", "round"))
        outer, now = lanes.mask, lanes.mask
        if self.trips is not None:
            lanes.names[self.block.arguments[0]] = counter
            if self.parts:
                many = text.vector("i64")
                going = text.put(f"icmp slt {many} {text.splat('i64', counter)}, {limit}")
                now = text.both(outer, going)
                text.branch(text.any(now), body, end)
            else:
                text.branch(text.put(f"icmp slt i64 {counter}, {limit}"), body, end)
            text.open(body)
        elif self.parts:
            now = live
        with lanes.under(now):
            self.around.write(self.block)
            values = self.block.terminator.operands if self.trips is not None else self.block.terminator.operands[1:]
            given = [self.around.given(value, argument) for value, argument in zip(values, self.arguments, strict=True)]
            latest = {place: self._kept(now, lanes.vector(values[place]), kept[place], place) for place in self.late}
            following = [
                [self._kept_argument(now, argument, new, old) for new, old in zip(news, olds, strict=True)]
                for argument, news, olds in zip(self.arguments, given, names, strict=True)
            ]
        after = self._turn(head, end, now, live, counter, round_)
        last = text.label
        self._write_phis(where, start, last, initial, names, following)
        lines = [
            f"  {kept[place]} = phi {lanes.type_of(self.op.results[place])} "
            f"[ {kept_first[place]}, %{start} ], [ {latest[place]}, %{last} ]"
            for place in self.late
        ]
        if self.trips is not None:
            lines.append(f"  {counter} = phi i64 [ 0, %{start} ], [ {after}, %{last} ]")
        else:
            lines.append(f"  {round_} = phi i64 [ 0, %{start} ], [ {round_}.next, %{last} ]")
            if self.parts:
                lines.append(f"  {live} = phi {text.vector('i1')} [ {outer or ALL}, %{start} ], [ {after}, %{last} ]")
        text.lines[where:where] = lines
        text.open(end)
        for place, result in enumerate(self.op.results):
            if place in kept:
                lanes.names[result] = kept[place] if self.trips is not None else latest[place]
            elif not lanes.is_varying(result) or lanes.is_varying(self.arguments[place]):
                self.around.take(result, names[place] if self.trips is not None else following[place])
            else:  # nobody looks at it
                lanes.names[result] = _zero_of(lanes.type_of(result))

    def _kept(self, now: str | None, new: str, old: str, place: int) -> str:
        type_ = self.lanes.type_of(self.op.results[place])
        if now is None:
            return new
        return self.text.put(f"select {self.text.vector('i1')} {now}, {type_} {new}, {type_} {old}")

    def _kept_argument(self, now: str | None, argument: Value, new: str, old: str) -> str:
        """The next value of the lanes that go on."""
        if not self.parts or now is None or not self.lanes.is_varying(argument):
            return new
        type_ = self.lanes.type_of(argument)
        return self.text.put(f"select {self.text.vector('i1')} {now}, {type_} {new}, {type_} {old}")

    def _turn(self, head: str, end: str, now: str | None, live: str, counter: str, round_: str) -> str:
        """Go round again, or on; gives the next counter, or the lanes that go round again."""
        lanes, text = self.lanes, self.text
        if self.trips is not None:
            following = text.put(f"add i64 {counter}, 1")
            rounds = self.around.rounds_until_poll(self.op) if isinstance(self.op, For) else 0
            if rounds:
                self.around.poll_after(counter, rounds)
            text.go(head)
            return following
        condition = self.block.terminator.operands[0]
        after = ""
        if self.parts:
            after = text.both(now, lanes.vector(condition))
            going = text.any(after)
        else:
            going = lanes.name(condition)
        text.lines.append(f"  {round_}.next = add i64 {round_}, 1")
        self.around.poll_after(round_, ROUNDS_UNTIL_POLL)
        text.branch(going, head, end)
        return after

    def _write_phis(
        self,
        where: int,
        start: str,
        last: str,
        initial: Sequence[Sequence[str]],
        names: Sequence[Sequence[str]],
        following: Sequence[Sequence[str]],
    ) -> None:
        lines: list[str] = []
        for argument, firsts, olds, nexts in zip(self.arguments, initial, names, following, strict=True):
            types = self.around.types(argument)
            for type_, first, old, new in zip(types, firsts, olds, nexts, strict=True):
                lines.append(f"  {old} = phi {type_} [ {first}, %{start} ], [ {new}, %{last} ]")
        self.text.lines[where:where] = lines


_REASONS: dict[type[Op], str] = {
    Barrier: "its threads meet at a barrier",
    Print: "it prints",
}


def _is_cheap(block: Block) -> bool:
    ops = [op for op in block if not isinstance(op, Yield)]
    return len(ops) <= MOST_SPECULATED and all(
        isinstance(op, _CHEAP) and not isinstance(op.type, BufferType) for op in ops
    )


def _zero_of(type_: str) -> str:
    """A zero of one of LLVM's types."""
    if type_.startswith("<"):
        return "zeroinitializer"
    return {"ptr": "null", "i1": "false", "half": "0xH0000", "float": "0x0000000000000000"}.get(
        type_, "0x0000000000000000" if type_ == "double" else "0"
    )
