"""Arrays to which threads only add by atomic operations whose order does not matter: counts, histograms, maxima.

Where there are many threads to an element, each part of the work has a copy of its own, which begins with what changes
nothing and is joined with the array at the end of the part; so no thread waits for another one's cache line, and what
is counted in a copy is no atomic operation. Integers alone: the results are the same to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from windlass.ir import Function, Value
from windlass.loops import Access, Atomic, DeviceVariableBuffer, Parallel
from windlass.native.independence import are_of_one_kind, memories_of
from windlass.native.launch_facts import LaunchFacts, MemoryFacts
from windlass.native.memory import Frame, Place, is_orderless, neutral_of
from windlass.native.text import Text, scalar_type
from windlass.ops.conversion import bit_width, byte_width

THREADS_PER_ELEMENT = 64
"""So many threads there are to an element of a copy at least, that the copy's beginning and end are no matter."""
MOST_BYTES = 1 << 15
"""A copy is not larger: it should stay in the nearest cache."""
JOINED_BY = {"sub": "add"}
"""By which operation copies are joined, where that is not their own."""


@dataclass(frozen=True)
class Accumulator:
    """What is done to all elements that are touched of an array."""

    kind: str
    dtype: str

    def place_in(self, text: Text, frame: Frame, whole: Place) -> Place:
        """Where a part has its copy, made at the beginning of the function and joined at its end."""
        copy = f"{whole.pointer}.copy"
        place = Place(copy, whole.size, whole.name, 64, 0, is_own=True, argument=whole.argument)
        allocation = f"  {copy} = alloca [{whole.size} x i8], align 64"
        if allocation not in frame.allocations:  # else another body of the function has it
            type_, count = scalar_type(self.dtype), int(whole.size) // byte_width(self.dtype)
            neutral = neutral_of(self.kind, bit_width(self.dtype))
            joined = JOINED_BY.get(self.kind, self.kind)
            text.declared |= {_beginning(type_), _ending(joined, type_)}
            size = f"i64 {count}, {type_} {neutral}"
            frame.allocations += [allocation, f"  call void @begin.{type_}(ptr {copy}, {size})"]
            frame.endings.append(f"  call void @join.{joined}.{type_}(ptr {whole.pointer}, ptr {copy}, {size})")
            frame.size += int(whole.size)
        return place


def find_accumulators(function: Function, launch: Parallel, facts: LaunchFacts) -> dict[str, Accumulator]:
    """The memories that the launch only accumulates into, and that pay for copies, by the names of their pointers.

    Threads may run in any order, and at the same time.
    """
    found: dict[Value, list[Access]] = {}
    for op in launch.body.walk():
        if isinstance(op, Access):
            memories = list(memories_of(op.buffer))
            if not memories:
                return {}
            for memory in memories:
                found.setdefault(memory, []).append(op)
    threads = math.prod(facts.extents)
    accumulators: dict[str, Accumulator] = {}
    for memory, pointer, known in _known_memories(function, facts):
        accesses = found.get(memory, ())
        atomics = [each for each in accesses if isinstance(each, Atomic) and is_orderless(each)]
        if not atomics or len(atomics) < len(accesses) or not are_of_one_kind(atomics):
            continue
        width = byte_width(atomics[0].dtype)
        is_aligned = known.alignment % width == 0 and known.remainder % width == 0
        is_small = width <= known.size <= min(MOST_BYTES, threads // THREADS_PER_ELEMENT * width)
        if known.is_alone and is_aligned and is_small:
            accumulators[pointer] = Accumulator(atomics[0].kind, atomics[0].dtype)
    return accumulators


def _known_memories(function: Function, facts: LaunchFacts) -> Iterator[tuple[Value, str, MemoryFacts]]:
    """Buffers that the launch is given, the names of their pointers, and what is known of them."""
    for number, (argument, known) in enumerate(zip(function.arguments, facts.memories, strict=True)):
        if known is not None:
            yield argument, f"%argument.{number}", known
    buffers: dict[str, list[Value]] = {}
    for op in function.walk():
        if isinstance(op, DeviceVariableBuffer):
            buffers.setdefault(op.variable, []).append(op)
    for number, (name, known) in enumerate(facts.variables):
        if len(found := buffers.get(name, ())) == 1:
            yield found[0], f"%variable.{number}", known


def _beginning(type_: str) -> str:
    """A function that sets all elements of a copy."""
    return f"""define internal void @begin.{type_}(ptr %copy, i64 %count, {type_} %neutral) {{
entry:
  br label %next
next:
  %at = phi i64 [ 0, %entry ], [ %following, %next ]
  %place = getelementptr {type_}, ptr %copy, i64 %at
  store {type_} %neutral, ptr %place
  %following = add i64 %at, 1
  %more = icmp ult i64 %following, %count
  br i1 %more, label %next, label %end
end:
  ret void
}}"""


def _ending(kind: str, type_: str) -> str:
    """A function that joins all elements of a copy with those of the array."""
    return f"""define internal void @join.{kind}.{type_}(ptr %into, ptr %copy, i64 %count, {type_} %neutral) {{
entry:
  br label %next
next:
  %at = phi i64 [ 0, %entry ], [ %following, %on ]
  %place = getelementptr {type_}, ptr %copy, i64 %at
  %value = load {type_}, ptr %place
  %is.same = icmp eq {type_} %value, %neutral
  br i1 %is.same, label %on, label %change
change:
  %target = getelementptr {type_}, ptr %into, i64 %at
  %old = atomicrmw {kind} ptr %target, {type_} %value monotonic
  br label %on
on:
  %following = add i64 %at, 1
  %more = icmp ult i64 %following, %count
  br i1 %more, label %next, label %end
end:
  ret void
}}"""
