"""The code of a region of tensor ops: phases one after another, and loops around them, with nothing of XLA between.

The code is one function that runs the phases, each on as many threads as it is worth, and looks at what they tell. All
phases have one context, so that memories change places where two of its words do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from windlass.ir import TensorType
from windlass.native.machine import compile_text
from windlass.native.plan import FIRST_ARGUMENT, SUPPORT, WEIGHTS, NativeCode
from windlass.native.pool import STOP
from windlass.native.region_phases import Phase, compile_phase
from windlass.native.region_steps import Round, Step, Steps
from windlass.native.running import PARTS_PER_THREAD
from windlass.native.tensor_elements import stored_dtype
from windlass.native.xla_call import pool_table
from windlass.native.xla_handler import POOL_RUN, POOL_THREADS
from windlass.ops.conversion import byte_width

MOST_UNTIL_POLL = 1 << 10
"""Rounds..."""
SECONDS_UNTIL_POLL = 0.02
"""... and how long they take by estimate, after which the code asks whether it is to stop."""
SECONDS_WORTH_HELP = 5e-5
"""By estimate: helpers are awake while one phase follows another."""


@dataclass(frozen=True)
class RegionCode(NativeCode):
    """The code of a region, with that of its phases, which it calls."""

    phases: tuple[NativeCode, ...]


def compile_region(steps: Steps, name: str, *, is_exact: bool) -> RegionCode:
    """Raises NotNative where a phase has no code."""
    phases: list[Phase] = list(steps.phases())
    codes = [compile_phase(phase, steps.types, name, is_exact=is_exact) for phase in phases]
    writer = _Writer(steps, phases, codes)
    machine = compile_text(writer.text())
    entries = (ctypes.c_void_p * max(len(codes), 1)).from_address(machine.place_of("entries"))
    entries[: len(codes)] = [code.entry for code in codes]
    ctypes.c_void_p.from_address(machine.place_of("pool")).value = pool_table()
    return RegionCode(machine, machine.address("part"), 1, (), 1, True, tuple(codes))


def bytes_of(type_: TensorType) -> int:
    return type_.size * byte_width(stored_dtype(type_.dtype))


class _Writer:
    def __init__(self, steps: Steps, phases: Sequence[Phase], codes: Sequence[NativeCode]) -> None:
        self.steps = steps
        self.codes = codes
        self.number = {id(phase): place for place, phase in enumerate(phases)}
        self.lines: list[str] = []
        self._count = 0

    def text(self) -> str:
        given = [slot for slot, each in enumerate(self.steps.given) if each.result is not None]
        for slot in given:
            self.do(f"%own.{slot} = load ptr, ptr {self.slot(slot)}")
        self.write(self.steps.steps)
        self.lines += self._restored()
        digests = "\n".join(f"; {code.machine.digest}" for code in self.codes)
        return "\n".join(
            (
                digests,
                f"@entries = global [{max(len(self.codes), 1)} x ptr] zeroinitializer",
                "@pool = global ptr null",
                SUPPORT,
                _RUN,
                "define void @part(ptr %context, i64 %first.part, i64 %all.parts) {",
                "entry:",
                *self.lines,
                "  br label %done",
                "done:",
                "  ret void",
                "}",
                WEIGHTS,
            )
        )

    def fresh(self, name: str) -> str:
        self._count += 1
        return f"{name}.{self._count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def slot(self, slot: int) -> str:
        name = f"%{self.fresh('slot')}"
        self.do(f"{name} = getelementptr i64, ptr %context, i64 {FIRST_ARGUMENT + slot}")
        return name

    def write(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, Round):
                self._loop(step)
            else:
                self._phase(step)

    def _phase(self, phase: Phase) -> None:
        number = self.number[id(phase)]
        code = self.codes[number]
        most = code.most_parts if phase.seconds() > SECONDS_WORTH_HELP else 1
        name = f"%{self.fresh('entry')}"
        self.do(f"{name}.at = getelementptr ptr, ptr @entries, i64 {number}")
        self.do(f"{name} = load ptr, ptr {name}.at")
        self.do(f"call void @run(ptr {name}, ptr %context, i64 {most})")

    def _loop(self, step: Round) -> None:
        head, body, end, go = (self.fresh(f"loop.{part}") for part in ("head", "body", "end", "go"))
        counter = f"%{self.fresh('rounds')}"
        self.do(f"{counter} = alloca i64")
        self.do(f"store i64 0, ptr {counter}")
        self.do(f"br label %{head}")
        self.lines.append(f"{head}:")
        self.write(step.test)
        place = self.slot(step.flag)
        name = f"%{self.fresh('flag')}"
        self.do(f"{name}.place = load ptr, ptr {place}")
        self.do(f"{name}.byte = load i8, ptr {name}.place")
        self.do(f"{name} = icmp ne i8 {name}.byte, 0")
        self.do(f"br i1 {name}, label %{go}, label %{end}")
        self.lines.append(f"{go}:")
        self.do(f"{counter}.before = load i64, ptr {counter}")
        self.do(f"{counter}.after = add i64 {counter}.before, 1")
        self.do(f"store i64 {counter}.after, ptr {counter}")
        self.do(f"{name}.stops = call i1 @stops(ptr %context, i64 {counter}.after, i64 {_last_until_poll(step)})")
        self.do(f"br i1 {name}.stops, label %done, label %{body}")
        self.lines.append(f"{body}:")
        self.write(step.body)
        for cycle in step.cycles:
            places = [self.slot(slot) for slot in cycle]
            values = [f"%{self.fresh('moved')}" for _ in cycle]
            for value, place in zip(values, places, strict=True):
                self.do(f"{value} = load ptr, ptr {place}")
            for value, place in zip(values[1:] + values[:1], places, strict=True):
                self.do(f"store ptr {value}, ptr {place}")
        self.do(f"br label %{head}")
        self.lines.append(f"{end}:")

    def _restored(self) -> list[str]:
        """Put what is given back, and lies in another memory by now, where it belongs."""
        begin = len(self.lines)
        for cycle in self.steps.cycles():
            own = [slot for slot in cycle if slot < len(self.steps.given)]
            if len(own) == 1:
                self._copied(own[0], f"%own.{own[0]}")
                continue
            # One may lie where another one belongs.
            aside = [self.steps.aside(slot) for slot in own]
            for slot, other in zip(own, aside, strict=True):
                place = self.slot(other)
                name = f"%{self.fresh('aside')}"
                self.do(f"{name} = load ptr, ptr {place}")
                self._copied(slot, name)
            for slot, other in zip(own, aside, strict=True):
                self._copied(other, f"%own.{slot}", like=slot)
        lines = self.lines[begin:]
        del self.lines[begin:]
        return lines

    def _copied(self, slot: int, target: str, like: int | None = None) -> None:
        name = f"%{self.fresh('from')}"
        place = self.slot(slot)
        size = bytes_of(self.steps.types[slot if like is None else like])
        self.do(f"{name} = load ptr, ptr {place}")
        self.do(f"call void @copy(ptr {target}, ptr {name}, i64 {size})")


def _last_until_poll(step: Round) -> int:
    """The last of so many rounds, a power of two, after which to ask."""
    seconds = sum(each.seconds() for each in step.body if isinstance(each, Phase))
    rounds = min(max(int(SECONDS_UNTIL_POLL / max(seconds, 1e-9)), 1), MOST_UNTIL_POLL)
    return (1 << rounds.bit_length() - 1) - 1


_RUN = f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.smin.i64(i64, i64)

define internal void @copy(ptr %target, ptr %from, i64 %bytes) {{
  %is.there = icmp eq ptr %target, %from
  br i1 %is.there, label %end, label %move
move:
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %from, i64 %bytes, i1 false)
  br label %end
end:
  ret void
}}

define internal i1 @stops(ptr %context, i64 %rounds, i64 %last) {{
  %rest = and i64 %rounds, %last
  %is.due = icmp eq i64 %rest, 0
  br i1 %is.due, label %ask, label %look
ask:
  %asked = call i1 @windlass.poll(ptr %context)
  ret i1 %asked
look:
  %note = load ptr, ptr %context
  %place = getelementptr i64, ptr %note, i64 {STOP}
  %told = load atomic i64, ptr %place monotonic, align 8
  %stops = icmp ne i64 %told, 0
  ret i1 %stops
}}

define internal void @run(ptr %body, ptr %context, i64 %most) {{
  %has.parts = icmp sgt i64 %most, 1
  br i1 %has.parts, label %ask, label %alone
ask:
  %table = load ptr, ptr @pool
  %threads.at = getelementptr i64, ptr %table, i64 {POOL_THREADS}
  %threads = load i64, ptr %threads.at
  %run.at = getelementptr i64, ptr %table, i64 {POOL_RUN}
  %run = load ptr, ptr %run.at
  %has.helpers = icmp sgt i64 %threads, 1
  br i1 %has.helpers, label %many, label %alone
many:
  %wanted = mul i64 %threads, {PARTS_PER_THREAD}
  %parts = call i64 @llvm.smin.i64(i64 %wanted, i64 %most)
  %done = call i32 %run(ptr %body, ptr %context, i64 %parts)
  %is.done = icmp ne i32 %done, 0
  br i1 %is.done, label %end, label %alone
alone:
  call void %body(ptr %context, i64 0, i64 1)
  br label %end
end:
  ret void
}}
"""
