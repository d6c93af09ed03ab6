"""Native code of one launch: how many lanes, in what order the threads run, and the function that runs a part of them.

The threads of a launch are rows of neighbours along x; a row is run in strips of as many threads as there are lanes.
Parts of the work are some of the rows, or some of the strips of each row. Where the order of threads matters there is
one part: block after block, and in each thread after thread, x first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from windlass.facts.indices import IndexReader
from windlass.facts.threads import ThreadIds, thread_ids
from windlass.ir import Block, BufferType, Function, Value
from windlass.loops import (
    Allocate,
    Atomic,
    AtomicUpdate,
    CompareExchange,
    DeviceVariableBuffer,
    DoWhile,
    For,
    Load,
    Parallel,
    Store,
)
from windlass.loops.launch_specification import LaunchSpecification
from windlass.native.accumulators import find_accumulators
from windlass.native.arithmetic import Arithmetic
from windlass.native.control import BodyWriter
from windlass.native.independence import is_independent
from windlass.native.interior import Interior, find_interior
from windlass.native.lanes import Lanes
from windlass.native.launch_facts import LaunchFacts
from windlass.native.machine import MachineCode, compile_text, vector_functions
from windlass.native.memory import Frame, MemoryWriter, Place, Site, quoted
from windlass.native.pool import STOP
from windlass.native.ranges import LaunchRanges
from windlass.native.refusal import NeedsOneLane, NotNative
from windlass.native.strides import Stride, find_strides, lanes_part
from windlass.native.text import Text, scalar_type
from windlass.ops.regions import Return

WIDEST = 8
OF_X = {0: "udiv", 3: "urem"}
"""Which ids are those along x, and how they come of the place in the row and the size of a block."""
INSIDE = "inside."
"""Begins the names of what is written for the inside of rows."""
FIRST_ARGUMENT = 2
"""Slots of the context before the arguments: where faults are noted, and who is asked whether to stop."""
STRIPS_UNTIL_POLL = 1 << 16
"""After so many strips of threads, or threads of blocks, the code asks whether it is to stop."""
NOTE_WORDS = 10
"""What is noted of a fault: the site from 1 on (0 for none), six ids, the byte; at STOP whether all are to stop."""


@dataclass(frozen=True)
class NativeCode:
    """The code of one launch: `@part(context, part, parts)`, and the accesses that it checks."""

    machine: MachineCode
    entry: int
    """The address of `part`."""
    most_parts: int
    """Into how many parts the work falls at most."""
    sites: tuple[Site, ...]
    width: int
    """How many threads run in the lanes of a vector."""
    is_ordered: bool
    """Whether one thread runs after another, since their order may matter."""


class Plan:
    """A launch whose threads do not meet."""

    def __init__(self, function: Function, facts: LaunchFacts, *, is_known_independent: bool) -> None:
        self.function = function
        self.facts = facts
        self.launch = launch_of(function)
        ids = self.launch.body.block.arguments
        self.ranges = LaunchRanges(dict(zip(ids, facts.extents, strict=True)))
        self.grid, self.block = _triples(facts.extents)
        specification = LaunchSpecification(self.grid, self.block, 0, (), ())
        self.ids: ThreadIds = thread_ids(function, self.launch, specification)
        self.indices = IndexReader.of_launch(self.launch, self.ids)
        self.is_ordered = facts.is_ordered or not (is_known_independent or self.proves_independence())
        self.is_ordered |= math.prod(facts.extents) == 1
        self._accumulators = {} if self.is_ordered else find_accumulators(function, self.launch, facts)

    def proves_independence(self, *, floats_may_be_rounded: bool = False) -> bool:
        """Whether the threads come to places of their own; sums of floats may be rounded in any order."""
        overlapping, dimensions = self.overlapping(), self.ids.dimensions
        return is_independent(
            self.launch, self.indices, dimensions, overlapping, floats_may_be_rounded=floats_may_be_rounded
        )

    def has_copy(self, buffer: Value) -> bool:
        """Whether each part of the work has a copy of that argument, since it only accumulates into it."""
        return any(
            argument is buffer and f"%argument.{number}" in self._accumulators
            for number, argument in enumerate(self.function.arguments)
        )

    def overlapping(self) -> frozenset[Value]:
        """The arguments that may share bytes with others."""
        pairs = zip(self.function.arguments, self.facts.memories, strict=True)
        return frozenset(argument for argument, memory in pairs if memory is not None and not memory.is_alone)

    # -- lanes --------------------------------------------------------------------------------------------------------

    def compile(self) -> NativeCode:
        if self.is_ordered:
            self.refuse_waiting()
        for width in self._widths():
            try:
                return self._compile(width)
            except NeedsOneLane:
                continue
        raise NotNative("its memory can't be told apart", self.function.source)

    def refuse_waiting(self) -> None:
        """Raise NotNative for loops that may go on until another thread does something."""
        for op in self.launch.body.walk():
            if isinstance(op, DoWhile):
                for inner in op.body.walk():
                    is_volatile = isinstance(inner, Load) and inner.is_volatile
                    if is_volatile or isinstance(inner, Atomic | AtomicUpdate | CompareExchange):
                        raise NotNative("its threads may wait for one another", inner.source)

    def _widths(self) -> Iterator[int]:
        """How many lanes to try, one after the other."""
        if not self.is_ordered and not self._is_volatile():
            extent = self.block[0] if self.block[0] > 1 else self.grid[0]
            width = WIDEST
            while width > 1 and (extent < width if self.block[0] == 1 else extent % width):
                width //= 2
            if width > 1 and not self._gathers_in_parting_loops():
                yield width
        yield 1

    def _is_volatile(self) -> bool:
        return any(isinstance(op, Load | Store) and op.is_volatile for op in self.launch.body.walk())

    @property
    def lane_id(self) -> Value:
        """The id that grows from lane to lane."""
        return self.launch.body.block.arguments[self._lane_place]

    @property
    def _lane_place(self) -> int:
        return 0 if self.block[0] == 1 else 3

    def _strides(self) -> dict[Value, Stride]:
        return find_strides(self.launch.body.block, (self.lane_id,), self.ranges)

    def _gathers_in_parting_loops(self) -> bool:
        try:
            return gathers_in_parting_loops(self.launch.body.block, self._strides())
        except NeedsOneLane:
            return True

    # -- text ---------------------------------------------------------------------------------------------------------

    def _compile(self, width: int) -> NativeCode:
        sites: list[Site] = []
        declared: set[str] = set()
        functions = [self._strip_function(width, sites, declared)]
        extent = self.grid[0] * self.block[0]
        if extent % width:
            functions.append(self._strip_function(1, sites, declared))
        strips = 1 if self.is_ordered else max(extent // width, 1)
        rows = 1 if self.is_ordered else math.prod(self.facts.extents) // max(extent, 1)
        text = "\n".join(
            (
                *sorted(each for each in declared if "@windlass." not in each),
                SUPPORT,
                *functions,
                self._entry(width, rows, strips),
                WEIGHTS,
            )
        )
        machine = compile_text(text)
        most_parts = max(rows, strips) if math.prod(self.facts.extents) else 0
        return NativeCode(machine, machine.address("part"), most_parts, tuple(sites), width, self.is_ordered)

    def parameters(self) -> list[tuple[str, str]]:
        """Type and name of all that the code is given, in the order of the context."""
        found: list[tuple[str, str]] = []
        for number, (argument, memory) in enumerate(zip(self.function.arguments, self.facts.memories, strict=True)):
            if isinstance(argument.type, BufferType):
                is_alone = memory is not None and memory.is_alone
                found.append(("ptr noalias" if is_alone else "ptr", f"%argument.{number}"))
            else:
                found.append((scalar_type(argument.dtype), f"%argument.{number}"))
        for number, (_, memory) in enumerate(self.facts.variables):
            found.append(("ptr noalias" if memory.is_alone else "ptr", f"%variable.{number}"))
        return found

    def _strip_function(self, width: int, sites: list[Site], declared: set[str]) -> str:
        """`@strips{width}(context, rows from, to, strips from, to, arguments)`."""
        text = Text(width)
        frame = Frame()
        body = self._body(text, frame, sites, self.function, self.indices, self.ranges, "")
        nest = self._ordered_nest() if self.is_ordered else self._nest(width)
        interior = (
            None if width == 1 else find_interior(self.function, self.launch, self.ids, self.facts.extents, width)
        )
        if interior is not None:
            inside = self._body(text, frame, sites, interior.function, interior.indices, interior.ranges, INSIDE)
            nest = self._nest_with_inside(width, interior, inside)
        declared |= text.declared
        parameters = ", ".join(f"{type_} {name}" for type_, name in self.parameters())
        head = f"define internal void @strips{width}(ptr %context, i64 %r0, i64 %r1, i64 %s0, i64 %s1"
        return "\n".join(
            (
                f"{head}{', ' if parameters else ''}{parameters}) {{",
                "entry:",
                *frame.allocations,
                *nest.before,
                *body,
                *nest.after,
                *frame.endings,
                "  ret void",
                "}",
            )
        )

    def _body(
        self,
        text: Text,
        frame: Frame,
        sites: list[Site],
        function: Function,
        indices: IndexReader,
        ranges: LaunchRanges,
        prefix: str,
    ) -> list[str]:
        """What a thread of the function does, in the lanes of a strip. The names of x begin with the prefix."""
        launch = launch_of(function)
        ids = launch.body.block.arguments
        strides = find_strides(launch.body.block, (ids[self._lane_place],), ranges) if text.width > 1 else {}
        lanes = Lanes(text, ids, strides)
        memory = MemoryWriter(lanes, indices, is_ordered=self.is_ordered)
        memory.sites, memory.frame = sites, frame
        arithmetic = Arithmetic(text, self.facts.vector_functions(vector_functions()))
        writer = BodyWriter(lanes, memory, arithmetic, ranges)
        for place, each in enumerate(ids):
            name = f"%{prefix if place in OF_X else ''}id{place}"
            lanes.names[each], lanes.wide[each] = name, f"{name}.long"
        begin = len(text.lines)
        self.enter(function, lanes, memory)
        text.label = f"{prefix}body"
        self.write_before(function, writer)
        writer.write(launch.body.block)
        lines = text.lines[begin:]
        del text.lines[begin:]
        return lines

    def enter(self, function: Function, lanes: Lanes, memory: MemoryWriter) -> None:
        """Name the arguments, and the memory of device variables, of the function or a copy of it."""
        for number, (argument, known) in enumerate(zip(function.arguments, self.facts.memories, strict=True)):
            if not isinstance(argument.type, BufferType):
                lanes.names[argument] = f"%argument.{number}"
            elif known is None:
                raise NotNative(f"nothing is known of {self.facts.name_of(number)}", self.function.source)
            else:
                name, size = self.facts.name_of(number), str(known.size)
                place = Place(f"%argument.{number}", size, name, known.alignment, known.remainder, argument=number)
                memory.places[argument] = self._place_of_part(place, memory)
        known_variables = {name: (number, each) for number, (name, each) in enumerate(self.facts.variables)}
        for op in function.walk():
            if isinstance(op, DeviceVariableBuffer):
                if op.variable not in known_variables:
                    raise NotNative(f"device variable {op.variable}", op.source)
                number, each = known_variables[op.variable]
                name, size = quoted(op.variable), str(each.size)
                place = Place(f"%variable.{number}", size, name, each.alignment, each.remainder)
                memory.places[op] = self._place_of_part(place, memory)

    def _place_of_part(self, place: Place, memory: MemoryWriter) -> Place:
        """Where a part of the work has an array: its own copy of one that it only accumulates into."""
        accumulator = self._accumulators.get(place.pointer)
        return place if accumulator is None else accumulator.place_in(memory.text, memory.frame, place)

    def write_before(self, function: Function, writer: BodyWriter) -> None:
        """What the function computes before its launch."""
        for op in function.body:
            if isinstance(op, Parallel):
                break
            if isinstance(op, Allocate):
                raise NotNative("memory outside of its threads", op.source)
            writer.write_op(op)

    def read_arguments(self) -> list[str]:
        """Instructions that read all that the code is given from the context."""
        loads: list[str] = []
        for place, (type_, name) in enumerate(self.parameters()):
            plain = type_.removesuffix(" noalias")
            loads.append(f"  {name}.slot = getelementptr i64, ptr %context, i64 {FIRST_ARGUMENT + place}")
            if plain == "i1":
                loads.append(f"  {name}.byte = load i8, ptr {name}.slot")
                loads.append(f"  {name} = icmp ne i8 {name}.byte, 0")
            else:
                loads.append(f"  {name} = load {plain}, ptr {name}.slot")
        return loads

    def _entry(self, width: int, rows: int, strips: int) -> str:
        """`@part(context, part, parts)`: some of the rows, or where there are few some of the strips of each."""
        extent = self.grid[0] * self.block[0]
        given = "".join(f", {type_.removesuffix(' noalias')} {name}" for type_, name in self.parameters())
        calls = [f"  call void @strips{width}(ptr %context, i64 %r0, i64 %r1, i64 %s0, i64 %s1{given})"]
        if extent % width:  # what is left of each row, with its last strips
            calls += [
                f"  %is.last = icmp eq i64 %s1, {strips}",
                f"  %rest = select i1 %is.last, i64 {extent // width * width}, i64 {extent}",
                f"  call void @strips1(ptr %context, i64 %r0, i64 %r1, i64 %rest, i64 {extent}{given})",
            ]
        return "\n".join(
            (
                "define void @part(ptr %context, i64 %part, i64 %parts) {",
                "entry:",
                "  %following = add i64 %part, 1",
                f"  %by.rows = icmp uge i64 {rows}, %parts",
                *share("r", rows),
                *share("s", strips),
                "  %r0 = select i1 %by.rows, i64 %r.from, i64 0",
                f"  %r1 = select i1 %by.rows, i64 %r.to, i64 {rows}",
                "  %s0 = select i1 %by.rows, i64 0, i64 %s.from",
                f"  %s1 = select i1 %by.rows, i64 {strips}, i64 %s.to",
                *self.read_arguments(),
                *calls,
                "  ret void",
                "}",
            )
        )

    def _nest(self, width: int) -> _Nest:
        """Loops over rows, and over the strips of each."""
        before = (
            *self._row_head(),
            *_loop_head("chunk.strips", "strip", "%chunk", "%chunk.stop", "chunk.done"),
            *self._ids_in_row("", "strip", width),
            "  br label %body",
            "body:",
        )
        return _Nest(before, self._row_end(width))

    def _nest_with_inside(self, width: int, interior: Interior, inside: Sequence[str]) -> _Nest:
        """The same; where the loop over strips comes to the inside of a row, one of its own goes on to its end."""
        before = (
            *self._row_head(),
            f"  %is.short = icmp slt i64 %chunk.stop, {interior.end}",
            f"  %inner.stop = select i1 %is.short, i64 %chunk.stop, i64 {interior.end}",
            *_loop_head("chunk.strips", "strip", "%chunk", "%chunk.stop", "chunk.done", ("%inner", "inner.head")),
            f"  %is.behind = icmp sge i64 %strip, {interior.begin}",
            "  %is.before = icmp slt i64 %strip, %inner.stop",
            "  %is.inside = and i1 %is.behind, %is.before",
            "  br i1 %is.inside, label %inner.enter, label %border",
            "inner.enter:",
            *_loop_head("inner.enter", "inner", "%strip", "%inner.stop", "strip.head"),
            *self._ids_in_row(INSIDE, "inner", width),
            f"  br label %{INSIDE}body",
            f"{INSIDE}body:",
            *inside,
            *_loop_end("inner"),
            "border:",
            *self._ids_in_row("", "strip", width),
            "  br label %body",
            "body:",
        )
        return _Nest(before, self._row_end(width))

    def _ids_in_row(self, prefix: str, strip: str, width: int) -> Sequence[str]:
        """The ids of the first thread of a strip, of which a row has many."""
        size = self.block[0]
        place = f"%{prefix}place"
        numbers = _numbers(*((each, f"{how} i64 {place}, {size}") for each, how in OF_X.items()), prefix=prefix)
        return f"  {place} = mul nuw nsw i64 %{strip}, {width}", *numbers

    def _row_head(self) -> Sequence[str]:
        """The loop over rows, the ids of which a row has one, and chunks of strips, so that no strip has to count."""
        by, bz = self.block[1:]
        gy = self.grid[1]
        return (
            *_loop_head("entry", "row", "%r0", "%r1", "done"),
            *_numbers((4, f"urem i64 %row, {by}")),
            f"  %row.by = udiv i64 %row, {by}",
            *_numbers((1, f"urem i64 %row.by, {gy}")),
            f"  %row.gy = udiv i64 %row.by, {gy}",
            *_numbers((5, f"urem i64 %row.gy, {bz}"), (2, f"udiv i64 %row.gy, {bz}")),
            "  br label %row.ids",
            "row.ids:",
            *_loop_head("row.ids", "chunk", "%s0", "%s1", "row.end"),
            f"  %chunk.limit = add nsw i64 %chunk, {STRIPS_UNTIL_POLL}",
            "  %chunk.is.last = icmp sgt i64 %chunk.limit, %s1",
            "  %chunk.stop = select i1 %chunk.is.last, i64 %s1, i64 %chunk.limit",
            "  br label %chunk.strips",
            "chunk.strips:",
        )

    def _row_end(self, width: int) -> Sequence[str]:
        strips = max(self.grid[0] * self.block[0] // width, 1)
        return (
            *_loop_end("strip"),
            "chunk.done:",
            *_poll("%row", STRIPS_UNTIL_POLL // strips),
            *_loop_end("chunk", STRIPS_UNTIL_POLL),
            *_loop_end("row"),
            "done:",
        )

    def _ordered_nest(self) -> _Nest:
        """One loop in another, the last id the innermost: the order in which the emulator runs threads."""
        order = (2, 1, 0, 5, 4, 3)
        before: list[str] = []
        around = "entry"
        for depth, place in enumerate(order):
            above = None if depth == 0 else order[depth - 1]
            leave = "done" if above is None else "block.done" if above == 0 else f"loop{above}.end"
            name = f"loop{place}"
            before += _loop_head(around, name, "0", str(self.facts.extents[place]), leave)
            before += _numbers((place, f"add i64 %{name}, 0"))
            before.append(f"  br label %{name}.inside")
            before.append(f"{name}.inside:")
            around = f"{name}.inside"
        before += ["  br label %body", "body:"]
        after: list[str] = []
        for place in reversed(order):
            if place == 0:
                after += [
                    "block.done:",
                    f"  %block.row = mul i64 %loop2, {self.grid[1]}",
                    "  %block.rows = add i64 %block.row, %loop1",
                    f"  %block.before = mul i64 %block.rows, {self.grid[0]}",
                    "  %block.number = add i64 %block.before, %loop0",
                    *_poll("%block.number", STRIPS_UNTIL_POLL // max(math.prod(self.block), 1)),
                ]
            after += _loop_end(f"loop{place}")
        return _Nest(tuple(before), (*after, "done:"))


def gathers_in_parting_loops(body: Block, strides: Mapping[Value, Stride]) -> bool:
    """Whether lanes would load from many places in loops that some leave early: one thread at a time is faster."""
    return any(
        isinstance(inner, Load) and strides.get(inner.offset, 0) is None
        for op in body.walk()
        if isinstance(op, For | DoWhile) and lanes_part(op, strides)
        for inner in op.body.walk()
    )


@dataclass(frozen=True)
class _Nest:
    """What stands before the body of a thread, and after it."""

    before: Sequence[str]
    after: Sequence[str]


def _loop_head(
    around: str, name: str, start: str, stop: str, leave: str, other: tuple[str, str] | None = None
) -> list[str]:
    """A loop that begins at `start`; with `other` it goes on at that number where it comes from that block."""
    numbers = [(start, around), (f"%{name}.next", f"{name}.end"), *([other] if other else [])]
    incoming = ", ".join(f"[ {number}, %{block} ]" for number, block in numbers)
    return [
        f"  br label %{name}.head",
        f"{name}.head:",
        f"  %{name} = phi i64 {incoming}",
        f"  %{name}.more = icmp slt i64 %{name}, {stop}",
        f"  br i1 %{name}.more, label %{name}.body, label %{leave}",
        f"{name}.body:",
    ]


def _loop_end(name: str, step: int = 1) -> list[str]:
    return [
        f"  br label %{name}.end",
        f"{name}.end:",
        f"  %{name}.next = add nsw i64 %{name}, {step}",
        f"  br label %{name}.head",
    ]


def _poll(number: str, often: int) -> list[str]:
    """Ask after the last of each so many whether to stop, as power of two: so the first ones are done unasked."""
    last = (1 << max(often, 1).bit_length() - 1) - 1
    return [
        f"  %poll.place = and i64 {number}, {last}",
        f"  %poll.is.due = icmp eq i64 %poll.place, {last}",
        "  br i1 %poll.is.due, label %poll.ask, label %poll.on, !prof !0",
        "poll.ask:",
        "  %poll.stops = call i1 @windlass.poll(ptr %context)",
        "  br i1 %poll.stops, label %done, label %poll.on",
        "poll.on:",
    ]


def _numbers(*ids: tuple[int, str], prefix: str = "") -> list[str]:
    return [
        line
        for name, what in ((f"%{prefix}id{place}", what) for place, what in ids)
        for line in (f"  {name}.long = {what}", f"  {name} = trunc i64 {name}.long to i32")
    ]


def share(name: str, count: int) -> list[str]:
    """From where to where of `count` a part has its share."""
    return [
        f"  %{name}.before = mul i64 %part, {count}",
        f"  %{name}.until = mul i64 %following, {count}",
        f"  %{name}.from = udiv i64 %{name}.before, %parts",
        f"  %{name}.to = udiv i64 %{name}.until, %parts",
    ]


def launch_of(function: Function) -> Parallel:
    launches = [op for op in function.body if not op.is_pure and not isinstance(op, Return)]
    if len(launches) != 1 or not isinstance(launches[0], Parallel) or launches[0].kind != "launch":
        raise NotNative("it is no single launch", function.source)
    return launches[0]


def _triples(extents: Sequence[int]) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    gx, gy, gz, bx, by, bz = extents
    return (gx, gy, gz), (bx, by, bz)


WEIGHTS = '!0 = !{!"branch_weights", i32 1, i32 100000}'

SUPPORT = (
    f"""
define internal void @windlass.note(ptr %context, i64 %site,
    i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %byte) cold noinline {{
  %note = load ptr, ptr %context
  %stop = getelementptr i64, ptr %note, i64 {STOP}
  store atomic i64 1, ptr %stop monotonic, align 8
  %pair = cmpxchg ptr %note, i64 0, i64 %site monotonic monotonic, align 8
  %is.first = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %is.first, label %tell, label %end
tell:
"""
    + "".join(
        f"  %place.{name} = getelementptr i64, ptr %note, i64 {place}\n  store i64 %{name}, ptr %place.{name}\n"
        for place, name in enumerate(("a", "b", "c", "d", "e", "f", "byte"), start=1)
    )
    + f"""  br label %end
end:
  ret void
}}

define internal i1 @windlass.poll(ptr %context) cold noinline {{
  %place = getelementptr i64, ptr %context, i64 1
  %ask = load ptr, ptr %place
  %answer = call i32 %ask(ptr %context)
  %note = load ptr, ptr %context
  %stop.place = getelementptr i64, ptr %note, i64 {STOP}
  %stop = load atomic i64, ptr %stop.place monotonic, align 8
  %told = icmp ne i64 %stop, 0
  %asked = icmp ne i32 %answer, 0
  %stops = or i1 %told, %asked
  ret i1 %stops
}}
"""
)
"""Functions of each module: one notes a fault, the other asks whether to stop."""
