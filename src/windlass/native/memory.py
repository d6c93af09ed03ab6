"""Memory of kernels in native code: where buffers lie, and accesses that never leave them.

What the launch's ranges prove to be in bounds is accessed as it is. Anything else is checked: a lane that would go
beyond its memory, or to no multiple of what it reads, does not touch it (a load gives 0); where that happened first is
noted, and the launch raises an error for it afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from windlass.diagnostics import Position
from windlass.facts.indices import IndexReader
from windlass.ir import Block, Op, Value
from windlass.loops import (
    Access,
    Allocate,
    Atomic,
    AtomicUpdate,
    CompareExchange,
    Load,
    Store,
    accessed_dtype,
)
from windlass.loops.variable_names import readable
from windlass.native.granules import granule_of, is_multiple
from windlass.native.lanes import Lanes
from windlass.native.masked_stores import store_lanes
from windlass.native.near_rows import first_if_row, may_be_row
from windlass.native.refusal import NeedsOneLane, NotNative
from windlass.native.row_begins import RowBegin, find_row_begin
from windlass.native.text import ALL, FLOATS, scalar_type, type_suffix
from windlass.ops.conversion import bit_width, byte_width

OUTSIDE, MISALIGNED = 0, 1
"""What may be wrong with an access."""
MOST_LOCAL_BYTES = 1 << 18
"""So much local memory the threads that run together have at most: it lies on the stack."""


@dataclass(frozen=True)
class Site:
    """An access that is checked: its line, what it does, and with what."""

    position: Position | None
    verb: str
    size: int
    alignment: int
    memory: str
    memory_bytes: int | None
    argument: int | None = None
    """Which argument the memory is, if it is one."""

    @property
    def last_byte(self) -> int:
        """Where the last access begins that stays in the memory; -1 where none does, or that is not known."""
        return -1 if self.memory_bytes is None else max(self.memory_bytes - self.size, -1)


@dataclass(frozen=True)
class Place:
    """Where a buffer lies: its first byte, how many there are, and of what its address is known to be a multiple.

    `remainder` is what is left of the address by that. With `granule` the bytes of several lanes lie there, so many of
    one after so many of another.
    """

    pointer: str
    size: str
    name: str = ""
    alignment: int = 1
    remainder: int = 0
    granule: int = 0
    is_own: bool = False
    """Whether nothing that runs at the same time goes there: the memory of a block or thread."""
    argument: int | None = None
    """Which argument it is, if it is one."""

    @property
    def known_size(self) -> int | None:
        return None if self.size.startswith("%") else int(self.size)


class Frame:
    """The stack of a function: instructions for its beginning, and how many bytes they take."""

    def __init__(self) -> None:
        self.allocations: list[str] = []
        self.endings: list[str] = []
        """Instructions before the function returns."""
        self.size = 0


class MemoryWriter:
    """Writes accesses of the lanes. `is_ordered` says that no other thread runs at the same time."""

    def __init__(self, lanes: Lanes, indices: IndexReader, *, is_ordered: bool) -> None:
        self.lanes = lanes
        self.indices = indices
        self.text = lanes.text
        self.is_ordered = is_ordered
        self.places: dict[Value, Place] = {}
        self.sites: list[Site] = []
        self.frame = Frame()
        self._proven: dict[tuple[Op, Place], bool] = {}

    def for_lanes(self, lanes: Lanes) -> MemoryWriter:
        """A writer for other lanes of the same function, which go to the same memories."""
        other = MemoryWriter(lanes, self.indices, is_ordered=self.is_ordered)
        other.places, other.sites, other.frame = dict(self.places), self.sites, self.frame
        return other

    # -- memory of lanes ----------------------------------------------------------------------------------------------

    def allocate(self, op: Allocate) -> None:
        """A local array for each lane, all zero."""
        if op.space != "local" or op.size < 0:
            raise NotNative(f"{op.space} memory", op.source)
        width = self.lanes.width
        granule = 0 if width == 1 else granule_of(op)
        if width > 1 and self.frame.size + width * op.size > MOST_LOCAL_BYTES:
            raise NeedsOneLane
        name = self._reserve(op, width * op.size)
        self.places[op] = Place(name, str(op.size), local_name(op.variable), 16, 0, granule, True)

    def allocate_for_block(self, op: Allocate, size: int, *, is_zero: bool) -> None:
        """Memory that all threads of a block go to."""
        name = self._reserve(op, size, is_zero=is_zero)
        self.places[op] = Place(name, str(size), quoted(op.variable) or "shared memory", 64, is_own=True)

    def _reserve(self, op: Allocate, size: int, *, is_zero: bool = True) -> str:
        """Room on the stack."""
        self.frame.size += size
        if self.frame.size > MOST_LOCAL_BYTES:
            raise NotNative(f"its threads have local and shared arrays of {self.frame.size} bytes together", op.source)
        name = f"%{self.text.fresh('local')}"
        self.frame.allocations.append(f"  {name} = alloca [{max(size, 1)} x i8], align 64")
        if is_zero:
            self.text.do_call("llvm.memset.p0.i64", f"ptr {name}", "i8 0", f"i64 {size}", "i1 false")
        return name

    # -- accesses -----------------------------------------------------------------------------------------------------

    def load(self, op: Load) -> None:
        place, dtype = self.places[op.buffer], op.dtype
        self.lanes.names[op] = self._load(op, place, scalar_type(dtype), dtype)

    def _load(self, op: Load, place: Place, type_: str, dtype: str) -> str:
        lanes, text, many = self.lanes, self.text, self.text.vector(type_)
        volatile = "volatile " if op.is_volatile else ""
        align = self._align(op, place)

        def one() -> str:
            return text.put(f"load {volatile}{type_}, ptr {self._pointer(op, place)}, align {align}")

        def row(first: str | None = None) -> str:
            return text.put(f"load {many}, ptr {self._pointer(op, place, first)}, align {align}")

        def masked_row(first: str | None = None) -> str:
            suffix, pointer = f"{type_suffix(dtype, lanes.width)}.p0", self._pointer(op, place, first)
            given = (f"ptr align {align} {pointer}", self._mask(lanes.mask), f"{many} zeroinitializer")
            return text.call(many, f"llvm.masked.load.{suffix}", *given)

        def gather(mask: str | None) -> str:
            suffix = f"{type_suffix(dtype, lanes.width)}.v{lanes.width}p0"
            given = (f"{text.vector('ptr')} align {align} {self._pointers(op, place)}", self._mask(mask))
            return text.call(many, f"llvm.masked.gather.{suffix}", *given, f"{many} zeroinitializer")

        match self._way(op, place):
            case "one":
                return self._checked(op, place, one, type_)
            case "row" if self._is_proven(op, place):
                return row() if lanes.mask is None or place.granule else masked_row()
            case "row" | "row if whole":
                return self._whole_or_not(op, place, row, gather, many)
            case "row if neighbours":
                is_masked = lanes.mask is not None and self._is_proven(op, place)
                return self._neighbours_or_not(op, place, masked_row if is_masked else row, gather, many)
            case _:
                return gather(self._checked_mask(op, place))

    def store(self, op: Store) -> None:
        lanes, text = self.lanes, self.text
        place, dtype = self.places[op.buffer], op.value.dtype
        type_ = scalar_type(dtype)
        many, align = text.vector(type_), self._align(op, place)
        volatile = "volatile " if op.is_volatile else ""
        way = self._way(op, place)
        if lanes.width == 1:
            value = lanes.name(op.value)

            def one() -> str:
                text.do(f"store {volatile}{type_} {value}, ptr {self._pointer(op, place)}, align {align}")
                return ""

            self._checked(op, place, one, "")
            return
        value = lanes.vector(op.value)

        def row(first: str | None = None) -> str:
            pointer = self._pointer(op, place, first)
            if lanes.mask is None:
                text.do(f"store {many} {value}, ptr {pointer}, align {align}")
            else:
                store_lanes(text, dtype, value, pointer, lanes.mask, align)
            return ""

        def scatter(mask: str | None) -> str:
            suffix = f"{type_suffix(dtype, lanes.width)}.v{lanes.width}p0"
            pointers = f"{text.vector('ptr')} align {align} {self._pointers(op, place)}"
            text.do_call(f"llvm.masked.scatter.{suffix}", f"{many} {value}", pointers, self._mask(mask))
            return ""

        match way:
            case "row" if self._is_proven(op, place):
                row()
            case "row" | "row if whole":
                self._whole_or_not(op, place, row, scatter, "")
            case "row if neighbours":
                self._neighbours_or_not(op, place, row, scatter, "")
            case _:
                scatter(self._checked_mask(op, place))

    # -- atomics ------------------------------------------------------------------------------------------------------

    def atomic(self, op: Atomic) -> None:
        """Lane by lane. Where threads run at the same time the result must not depend on their order."""
        lanes, text, place = self.lanes, self.text, self.places[op.buffer]
        dtype, type_ = op.dtype, scalar_type(op.dtype)
        is_alone = self.is_ordered or place.is_own
        if not is_alone and not is_orderless(op):
            raise NotNative(f"atomics of kind {op.kind} whose order matters", op.source)

        def change(pointer: str, value: str) -> str:
            if is_alone:
                old = text.put(f"load {type_}, ptr {pointer}, align 1")
                text.do(f"store {type_} {self._combined(op, old, value)}, ptr {pointer}, align 1")
                return old
            width = byte_width(dtype)
            return text.put(f"atomicrmw {op.kind} ptr {pointer}, {type_} {value} monotonic, align {width}")

        if lanes.width == 1:
            value = lanes.name(op.value)
            lanes.names[op] = self._checked(op, place, lambda: change(self._pointer(op, place), value), type_)
            return
        if lanes.stride(op.offset) == 0 and is_orderless(op):
            self._checked(op, place, lambda: change(self._pointer(op, place), self._joined(op)), type_)
            return
        mask = self._checked_mask(op, place)
        pointers, values = self._pointers(op, place), lanes.vector(op.value)

        def change_lane(lane: int) -> None:
            pointer = text.put(f"extractelement {text.vector('ptr')} {pointers}, i64 {lane}")
            change(pointer, text.put(f"extractelement {text.vector(type_)} {values}, i64 {lane}"))

        self._by_lane(mask, change_lane)

    def _joined(self, op: Atomic) -> str:
        """What the active lanes add to one place together, or the least of what they have, …"""
        lanes, text, dtype = self.lanes, self.text, op.dtype
        many = text.vector(scalar_type(dtype))
        values = lanes.vector(op.value)
        if lanes.mask is not None:
            neutral = f"splat ({scalar_type(dtype)} {neutral_of(op.kind, bit_width(dtype))})"
            values = text.put(f"select {text.vector('i1')} {lanes.mask}, {many} {values}, {many} {neutral}")
        how = {"sub": "add", "min": "smin", "max": "smax"}.get(op.kind, op.kind)
        suffix = type_suffix(dtype, lanes.width)
        return text.call(scalar_type(dtype), f"llvm.vector.reduce.{how}.{suffix}", f"{many} {values}")

    def exchange(self, op: CompareExchange) -> None:
        lanes, text, place = self.lanes, self.text, self.places[op.buffer]
        self._require_order(op, place)
        type_, whole = scalar_type(op.dtype), f"i{bit_width(op.dtype)}"
        expected, desired = lanes.name(op.expected), lanes.name(op.desired)

        def change() -> str:
            pointer = self._pointer(op, place)
            old = text.put(f"load {type_}, ptr {pointer}, align 1")
            bits = [text.put(f"bitcast {type_} {each} to {whole}") for each in (old, expected)]
            is_same = text.put(f"icmp eq {whole} {bits[0]}, {bits[1]}")
            new = text.put(f"select i1 {is_same}, {type_} {desired}, {type_} {old}")
            text.do(f"store {type_} {new}, ptr {pointer}, align 1")
            return old

        lanes.names[op] = self._checked(op, place, change, type_)

    def update(self, op: AtomicUpdate, write_body: Callable[[Block], None]) -> None:
        lanes, text, place = self.lanes, self.text, self.places[op.buffer]
        self._require_order(op, place)
        type_ = scalar_type(op.dtype)
        body = op.body.block

        def change() -> str:
            pointer = self._pointer(op, place)
            old = text.put(f"load {type_}, ptr {pointer}, align 1")
            lanes.names[body.arguments[0]] = old
            write_body(body)
            text.do(f"store {type_} {lanes.name(body.terminator.operands[0])}, ptr {pointer}, align 1")
            return old

        lanes.names[op] = self._checked(op, place, change, type_)

    def _require_order(self, op: Op, place: Place) -> None:
        if not self.is_ordered and not place.is_own:
            raise NotNative("a read, a computation and a write in one step, whose order matters", op.source)

    def _combined(self, op: Atomic, old: str, value: str) -> str:
        """What an atomic operation writes."""
        text, dtype, kind = self.text, op.dtype, op.kind
        type_ = scalar_type(dtype)
        if kind == "exchange":
            return value
        if kind in _PLAIN:
            return text.put(f"{_PLAIN[kind]} {type_} {old}, {value}")
        if kind == "nand":
            return text.put(f"xor {type_} " + text.put(f"and {type_} {old}, {value}") + ", -1")
        if kind in _CALLED:
            name = f"llvm.{_CALLED[kind]}.{type_suffix(dtype)}"
            return text.call(type_, name, f"{type_} {old}", f"{type_} {value}")
        if kind == "inc":
            is_over = text.put(f"icmp uge {type_} {old}, {value}")
            return text.put(f"select i1 {is_over}, {type_} 0, {type_} " + text.put(f"add {type_} {old}, 1"))
        assert kind == "dec", kind
        is_zero, is_over = text.put(f"icmp eq {type_} {old}, 0"), text.put(f"icmp ugt {type_} {old}, {value}")
        starts = text.put(f"or i1 {is_zero}, {is_over}")
        return text.put(f"select i1 {starts}, {type_} {value}, {type_} " + text.put(f"sub {type_} {old}, 1"))

    def _by_lane(self, mask: str | None, change: Callable[[int], None]) -> None:
        """For one active lane after the other; where all are active without asking of each."""
        text = self.text
        whole, parts, end = (text.fresh(each) for each in ("whole", "parts", "end"))
        if mask is not None:
            text.branch(text.all(mask), whole, parts)
            text.open(whole)
        for lane in range(self.lanes.width):
            change(lane)
        if mask is None:
            return
        text.go(end)
        text.open(parts)
        for lane in range(self.lanes.width):
            do, done = text.fresh("lane"), text.fresh("next")
            text.branch(text.put(f"extractelement {text.vector('i1')} {mask}, i64 {lane}"), do, done)
            text.open(do)
            change(lane)
            text.go(done)
            text.open(done)
        text.go(end)
        text.open(end)

    # -- where an access goes -----------------------------------------------------------------------------------------

    def _way(self, op: Access, place: Place) -> str:
        """How lanes access memory: "one" place for all, a "row" of neighbours, one "row if whole" that is so where all
        of it lies in the memory, a "row if neighbours" which each strip has to ask, or "many" places."""
        stride = self.lanes.stride(op.offset)
        if self.lanes.width == 1:
            return "one"
        if place.granule:
            return "row" if stride == 0 else "many"
        if stride == 0:
            return "one"
        if stride is None and self._row_begin(op, place) is not None:
            return "row if whole"
        if stride is None and may_be_row(op.offset, self.lanes.strides):
            return "row if neighbours"
        return "row" if stride == byte_width(accessed_dtype(op)) else "many"

    def _row_begin(self, op: Access, place: Place) -> RowBegin | None:
        return find_row_begin(op.offset, self.lanes.strides, byte_width(accessed_dtype(op)), place.known_size)

    def _first_offset(self, op: Access, place: Place) -> str:
        """The first lane's."""
        if not self.lanes.is_varying(op.offset):
            return self.lanes.name(op.offset)
        begin = self._row_begin(op, place)
        assert begin is not None
        text, dtype = self.text, begin.index.dtype
        extends = "zext" if dtype.startswith("u") else "sext"
        wide = text.put(f"{extends} {scalar_type(dtype)} {self.lanes.name(begin.index)} to i64")
        return text.put(f"add i64 {text.put(f'mul i64 {wide}, {begin.scale}')}, {begin.start}")

    def _pointer(self, op: Access, place: Place, first: str | None = None) -> str:
        """Where the first lane goes; `first` is its offset, if that was asked before."""
        offset = first or self._first_offset(op, place)
        if place.granule:
            offset = self.text.put(f"mul i64 {offset}, {self.lanes.width}")
        return self.text.put(f"getelementptr i8, ptr {place.pointer}, i64 {offset}")

    def _pointers(self, op: Access, place: Place) -> str:
        text, many = self.text, self.text.vector("i64")
        offsets = self.lanes.vector(op.offset)
        if place.granule:
            steps = ", ".join(f"i64 {lane * place.granule}" for lane in range(self.lanes.width))
            offsets = text.put(f"mul {many} {offsets}, splat (i64 {self.lanes.width})")
            offsets = text.put(f"add {many} {offsets}, <{steps}>")
        return text.put(f"getelementptr i8, ptr {place.pointer}, {many} {offsets}")

    def _align(self, op: Access, place: Place) -> int:
        """What may be said of the address, for the code to be quick."""
        width = byte_width(accessed_dtype(op))
        is_known = _alignment_of(place, width) and place.remainder % width == 0
        return width if is_known and is_multiple(op.offset, width) else 1

    def _mask(self, mask: str | None) -> str:
        return f"{self.text.vector('i1')} {mask or ALL}"

    # -- checks -------------------------------------------------------------------------------------------------------

    def _is_proven(self, op: Access, place: Place) -> bool:
        """Whether the threads that come here stay in the memory, by the conditions and loops around."""
        known = self._proven.get((op, place))
        if known is None:
            size = place.known_size
            known = size is not None and self._is_aligned(op, place) and self.indices.is_inside(op, size)
            self._proven[op, place] = known
        return known

    def _is_aligned(self, op: Access, place: Place) -> bool:
        """Whether the address is known to be the multiple that it has to be, or nothing is known of the memory's."""
        wanted = _wanted_alignment(op)
        return not _alignment_of(place, wanted) or (place.remainder % wanted == 0 and is_multiple(op.offset, wanted))

    def _fits(self, op: Access, place: Place, offset: str, is_vector: bool, count: int = 1) -> str:
        """Whether as many elements lie in the memory from there on, as a condition of one lane or of each."""
        text, size, many = self.text, place.known_size, self.text.vector("i64")
        type_ = many if is_vector else "i64"
        flag = text.vector("i1") if is_vector else "i1"

        def number(value: int | str) -> str:
            if is_vector:
                return text.splat("i64", str(value))
            return str(value)

        width = count * byte_width(accessed_dtype(op))
        if size is not None:
            if size < width:
                return "zeroinitializer" if is_vector else "false"
            found = text.put(f"icmp ule {type_} {offset}, {number(size - width)}")
        else:
            limit = text.put(f"sub i64 {place.size}, {width}")
            has_room = text.put(f"icmp sge i64 {limit}, 0")
            found = text.put(f"icmp ule {type_} {offset}, {number(limit)}")
            found = text.put(f"and {flag} {found}, {text.splat('i1', has_room) if is_vector else has_room}")
        if not self._is_aligned(op, place):
            wanted = _wanted_alignment(op)
            address = text.put(f"add {type_} {offset}, {number(place.remainder)}")
            rest = text.put(f"and {type_} {address}, {number(wanted - 1)}")
            is_multiple_ = text.put(f"icmp eq {type_} {rest}, {'zeroinitializer' if is_vector else '0'}")
            found = text.put(f"and {flag} {found}, {is_multiple_}")
        return found

    def _checked(self, op: Access, place: Place, access: Callable[[], str], type_: str) -> str:
        """What the access of one place gives; where that is not in the memory, a zero, and it is noted."""
        if self._is_proven(op, place):
            return access()
        text, offset = self.text, self.lanes.name(op.offset)
        good, bad, done = text.fresh("good"), text.fresh("bad"), text.fresh("done")
        fits = self._fits(op, place, offset, False)
        text.branch(text.put(f"xor i1 {fits}, true"), bad, good, is_rare=True)
        text.open(bad)
        self._note(op, place, offset, self.lanes.mask, is_one=True)
        text.go(done)
        text.open(good)
        found, last = access(), text.label
        text.go(done)
        text.open(done)
        return text.phi(type_, (found, last), (_zero(type_), bad)) if type_ else ""

    def _checked_mask(self, op: Access, place: Place) -> str | None:
        """The active lanes that stay in the memory; others are noted."""
        lanes, text = self.lanes, self.text
        if self._is_proven(op, place):
            return lanes.mask
        offsets = lanes.vector(op.offset)
        fits = self._fits(op, place, offsets, True)
        outside = text.without(lanes.mask, fits)
        bad, done = text.fresh("bad"), text.fresh("done")
        text.branch(text.any(outside), bad, done, is_rare=True)
        text.open(bad)
        self._note(op, place, offsets, outside)
        text.go(done)
        text.open(done)
        return text.both(lanes.mask, fits)

    def _whole_or_not(
        self, op: Access, place: Place, whole: Callable[[], str], parts: Callable[[str | None], str], type_: str
    ) -> str:
        """A row: at once where all of it lies in the memory, else lane by lane."""
        fits = self._fits(op, place, self._first_offset(op, place), False, 1 if place.granule else self.lanes.width)
        return self._one_or_other(op, place, fits, whole, parts, type_)

    def _neighbours_or_not(
        self, op: Access, place: Place, row: Callable[[str], str], parts: Callable[[str | None], str], type_: str
    ) -> str:
        """Lanes that are neighbours in most strips: a row where they are, and all of it lies in the memory or only
        those of its lanes are touched that do."""
        first, is_row = first_if_row(self.lanes, op.offset, byte_width(accessed_dtype(op)))
        if not self._is_proven(op, place):
            is_row = self.text.put(f"and i1 {is_row}, {self._fits(op, place, first, False, self.lanes.width)}")
        return self._one_or_other(op, place, is_row, lambda: row(first), parts, type_)

    def _one_or_other(
        self,
        op: Access,
        place: Place,
        condition: str,
        whole: Callable[[], str],
        parts: Callable[[str | None], str],
        type_: str,
    ) -> str:
        """A row at once where the condition holds, else lane by lane."""
        text = self.text
        good, bad, done = text.fresh("whole"), text.fresh("parts"), text.fresh("done")
        text.branch(text.put(f"xor i1 {condition}, true"), bad, good, is_rare=True)
        text.open(good)
        found, last = whole(), text.label
        text.go(done)
        text.open(bad)
        other = parts(self._checked_mask(op, place))
        last_of_parts = text.label
        text.go(done)
        text.open(done)
        return text.phi(type_, (found, last), (other, last_of_parts)) if type_ else ""

    def _note(self, op: Access, place: Place, offset: str, outside: str | None, *, is_one: bool = False) -> None:
        """Note which thread goes where, of the first lane that does; `is_one` if all go to one place."""
        lanes, text = self.lanes, self.text
        lane = "0"
        if outside is not None:
            bits = text.put(f"bitcast {text.vector('i1')} {outside} to i{lanes.width}")
            short = text.call(f"i{lanes.width}", f"llvm.cttz.i{lanes.width}", f"i{lanes.width} {bits}", "i1 true")
            lane = text.put(f"zext i{lanes.width} {short} to i64") if lanes.width < 64 else short
            if not is_one:
                offset = text.put(f"extractelement {text.vector('i64')} {offset}, i64 {lane}")
        self.note_thread(_site(op, place), offset, lane)

    def note_thread(self, site: Site, offset: str, lane: str = "0") -> None:
        """Note what goes wrong there, and in which thread: that of a lane."""
        lanes, text = self.lanes, self.text
        ids: list[str] = []
        for each in lanes.ids:
            number = text.put(f"zext i32 {lanes.name(each)} to i64")
            ids.append(f"i64 {text.put(f'add i64 {number}, {lane}') if lanes.stride(each) else number}")
        self.sites.append(site)
        text.do_call("windlass.note", "ptr %context", f"i64 {len(self.sites)}", *ids, f"i64 {offset}")


_PLAIN = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor", "fadd": "fadd", "fsub": "fsub"}
_CALLED = {
    "min": "smin",
    "max": "smax",
    "umin": "umin",
    "umax": "umax",
    "fmin": "minimumnum",
    "fmax": "maximumnum",
}
_ORDERLESS = frozenset({"add", "sub", "and", "or", "xor", "min", "max", "umin", "umax"})
"""Kinds of atomics on integers that give the same in any order, if nobody looks at old values."""


def neutral_of(kind: str, bits: int) -> int:
    """What changes nothing."""
    return {"and": -1, "min": (1 << (bits - 1)) - 1, "max": -(1 << (bits - 1)), "umin": -1}.get(kind, 0)


def is_orderless(op: Atomic) -> bool:
    """Whether such operations give the same in any order."""
    return op.dtype not in FLOATS and not op.uses and op.kind in _ORDERLESS


def _site(op: Access, place: Place) -> Site:
    verb = "read" if isinstance(op, Load) else "write" if isinstance(op, Store) else "atomic update"
    width = byte_width(accessed_dtype(op))
    return Site(op.source, verb, width, _wanted_alignment(op), place.name, place.known_size, place.argument)


def quoted(variable: str) -> str:
    """What messages call a variable; nothing for one without a name."""
    return f"'{readable(variable)}'" if variable else ""


def local_name(variable: str) -> str:
    return f"local variable {quoted(variable)}" if variable else "a local array"


def _wanted_alignment(op: Access) -> int:
    return max(getattr(op, "alignment", 0), byte_width(accessed_dtype(op)))


def _alignment_of(place: Place, wanted: int) -> bool:
    """Whether it is known what is left of the memory's address by so many bytes."""
    return place.alignment % wanted == 0


def _zero(type_: str) -> str:
    return (
        "zeroinitializer"
        if type_.startswith("<")
        else "0x0000000000000000"
        if type_ in ("float", "double")
        else ("0xH0000" if type_ == "half" else "0")
    )
