"""The tape of a thread in native code: memory of the C library's that grows, one for all threads that run in turn."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.loops import Pop, Push
from windlass.native.lanes import Lanes
from windlass.native.memory import MemoryWriter, Site
from windlass.native.refusal import NeedsOneLane
from windlass.native.text import scalar_type
from windlass.ops.conversion import byte_width

FIRST_BYTES = 1 << 12
MOST_BYTES = 1 << 32
"""A tape grows to no more than this: then the launch fails as one that leaves its memory does."""
_BASE, _TOP, _ROOM = "%tape.base", "%tape.top", "%tape.room"


class TapeWriter:
    """Writes what threads keep and take back, one thread at a time."""

    def __init__(self, lanes: Lanes, memory: MemoryWriter) -> None:
        self._lanes = lanes
        self._text = lanes.text
        self._memory = memory

    def push(self, op: Push) -> None:
        """Raises NeedsOneLane where several threads run together: they need not go round a loop equally often."""
        text = self._text
        self._begin()
        places, size = _places([value.dtype for value in op.values])
        top = text.put(f"load i64, ptr {_TOP}")
        following = text.put(f"add i64 {top}, {size}")
        room = text.put(f"load i64, ptr {_ROOM}")
        grow, fits = text.fresh("grow"), text.fresh("fits")
        text.branch(text.put(f"icmp ugt i64 {following}, {room}"), grow, fits, is_rare=True)
        text.open(grow)
        self._grow(op, room, following, size)
        text.go(fits)
        text.open(fits)
        base = text.put(f"load ptr, ptr {_BASE}")
        for value, place in zip(op.values, places, strict=True):
            name, type_ = self._lanes.name(value), scalar_type(value.dtype)
            if value.dtype == "i1":
                name, type_ = text.put(f"zext i1 {name} to i8"), "i8"
            text.do(f"store {type_} {name}, ptr {self._at(base, top, place)}, align 1")
        text.do(f"store i64 {following}, ptr {_TOP}")

    def pop(self, op: Pop) -> None:
        text = self._text
        self._begin()
        places, size = _places(op.dtypes)
        top = text.put("sub i64 " + text.put(f"load i64, ptr {_TOP}") + f", {size}")
        base = text.put(f"load ptr, ptr {_BASE}")
        for result, place in zip(op.results, places, strict=True):
            type_ = "i8" if result.dtype == "i1" else scalar_type(result.dtype)
            found = text.put(f"load {type_}, ptr {self._at(base, top, place)}, align 1")
            self._lanes.names[result] = text.put(f"trunc i8 {found} to i1") if result.dtype == "i1" else found
        text.do(f"store i64 {top}, ptr {_TOP}")

    def _begin(self) -> None:
        """Have a tape in this function, which is given back at its end."""
        if self._lanes.width > 1:
            raise NeedsOneLane
        frame = self._memory.frame
        if frame.endings:
            return
        for name, type_, first in ((_BASE, "ptr", "null"), (_TOP, "i64", "0"), (_ROOM, "i64", "0")):
            frame.allocations += [f"  {name} = alloca {type_}", f"  store {type_} {first}, ptr {name}"]
        frame.endings += [f"  %tape.last = load ptr, ptr {_BASE}", "  call void @free(ptr %tape.last)"]
        self._text.declared.add("declare void @free(ptr)")

    def _grow(self, op: Push, room: str, needed: str, size: int) -> None:
        """Twice as much, or what is needed; nothing more is done where there is no more memory."""
        text = self._text
        more = text.put(f"shl i64 {room}, 1")
        for least in (needed, str(FIRST_BYTES)):
            more = text.call("i64", "llvm.umax.i64", f"i64 {more}", f"i64 {least}")
        full, allocate, good = (text.fresh(each) for each in ("full", "allocate", "good"))
        text.branch(text.put(f"icmp ugt i64 {more}, {MOST_BYTES}"), full, allocate, is_rare=True)
        text.open(allocate)
        base = text.put(f"load ptr, ptr {_BASE}")
        new = text.call("ptr", "realloc", f"ptr {base}", f"i64 {more}")
        text.branch(text.put(f"icmp eq ptr {new}, null"), full, good, is_rare=True)
        text.open(full)
        site = Site(op.source, "write", size, 1, "what derivatives may keep of a thread", MOST_BYTES)
        self._memory.note_thread(site, needed)
        text.go("done")
        text.open(good)
        text.do(f"store ptr {new}, ptr {_BASE}")
        text.do(f"store i64 {more}, ptr {_ROOM}")

    def _at(self, base: str, top: str, place: int) -> str:
        offset = self._text.put(f"add i64 {top}, {place}") if place else top
        return self._text.put(f"getelementptr i8, ptr {base}, i64 {offset}")


def _places(dtypes: Sequence[str]) -> tuple[list[int], int]:
    """Where values of these types lie in what is pushed together, and how many bytes that are: the widest first."""
    order = sorted(range(len(dtypes)), key=lambda place: -byte_width(dtypes[place]))
    places = [0] * len(dtypes)
    size = 0
    for place in order:
        places[place] = size
        size += byte_width(dtypes[place])
    return places, -(-size // 8) * 8
