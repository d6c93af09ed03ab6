"""The one function through which XLA runs native code, as LLVM IR: a handler of XLA's typed FFI.

A call has one attribute that counts, `code`: a number that names the code, and is made of what the code does, so that a
program that XLA keeps beyond this process never runs another one. What is known of each code is a row of words
(`Word`) in memory that stays for good; rows are found by a table. The handler writes the context of a launch from the
buffers that it is given, and runs the code on this thread, or where that takes long with the helpers of the pool. It
holds no lock of Python's.

Operands that have several times the elements of one launch are a batch: launches one after another, or at once.
"""

from __future__ import annotations

import sys

from windlass.native.plan import FIRST_ARGUMENT, NOTE_WORDS
from windlass.native.pool import INTERRUPTED, STOP
from windlass.native.running import PARTS_PER_THREAD, SECONDS_WORTH_HELP
from windlass.native.xla_rows import Kind, SlotWord, Word
from windlass.ops.native_call import NATIVE_TARGET
from windlass.stablehlo.interrupting import MESSAGE
from windlass.stablehlo.typed_ffi import (
    ARGUMENTS,
    ATTRIBUTES,
    BUFFER_DATA,
    BUFFER_EXTENTS,
    BUFFER_RANK,
    CODE_CANCELLED,
    CODE_INVALID,
    CODE_OUT_OF_RANGE,
    RESULTS,
    helpers,
)

BUCKETS = 256
LONGEST_MESSAGE = 4096
CLOCK_MONOTONIC = 6 if sys.platform == "darwin" else 1


_CONVERSIONS = {
    Kind.F32_TO_F64: ("float", "fpext", "double"),
    Kind.I32_TO_I64: ("i32", "sext", "i64"),
    Kind.U32_TO_I64: ("i32", "zext", "i64"),
    Kind.I32_TO_F64: ("i32", "sitofp", "double"),
    Kind.U32_TO_F64: ("i32", "uitofp", "double"),
}
POOL_THREADS, POOL_RUN, POOL_ASKS = range(3)
"""Words of the table that says what there is in this process: threads, who runs parts, who is asked whether to stop."""

_ROW, _SLOT = len(Word), len(SlotWord)
_MESSAGES = {
    "layout": "this version of XLA passes arguments in another way than native code of Windlass knows",
    "unknown": "native code of Windlass that this process has not loaded: trace the program again",
    "count": "native code of Windlass is given another number of arrays than it takes",
    "shape": "native code of Windlass is given arrays of other sizes than it takes",
    "aligned": "native code of Windlass is given an array at an address that is no multiple of what it reads",
    "shared": "native code of Windlass is given an array in the memory of another one, which it writes",
    "stop": MESSAGE,
}


def _constants() -> str:
    return "\n".join(
        f'@said.{name} = private constant [{len(text) + 1} x i8] c"{text}\\00"' for name, text in _MESSAGES.items()
    )


def _word(name: str, row: str, word: int, type_: str = "i64") -> str:
    """Load a word of a row."""
    return f"""  %{name}.at = getelementptr i64, ptr {row}, i64 {int(word)}
  %{name} = load {type_}, ptr %{name}.at"""


def _field(name: str, of: str, offset: int, type_: str = "i64") -> str:
    """Load a field of one of XLA's structures."""
    return f"""  %{name}.at = getelementptr i8, ptr {of}, i64 {offset}
  %{name} = load {type_}, ptr %{name}.at"""


def _conversions() -> str:
    return "\n".join(
        f"""kind.{kind.value}:
  %given.{kind.value} = load {source}, ptr %from, align 1
  %made.{kind.value} = {how} {source} %given.{kind.value} to {target}
  store {target} %made.{kind.value}, ptr %slot
  br label %next"""
        for kind, (source, how, target) in _CONVERSIONS.items()
    )


def handler_text(pool_table: int) -> str:
    """The handler, and `@windlass_add(row)`, which enters a row into the table, where what there is in this process
    is said at that address."""
    kinds = " ".join(f"i64 {kind.value}, label %kind.{kind.value}" for kind in _CONVERSIONS)
    return f"""
@table = internal global [{BUCKETS} x ptr] zeroinitializer
{_constants()}
declare i32 @clock_gettime(i32, ptr)
declare i32 @snprintf(ptr, i64, ptr, ...)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
{helpers()}

define internal ptr @bucket_of(i64 %code) {{
  %bucket = and i64 %code, {BUCKETS - 1}
  %at = getelementptr ptr, ptr @table, i64 %bucket
  ret ptr %at
}}

define void @windlass_add(ptr %row) {{
{_word("code", "%row", Word.CODE)}
  %head = call ptr @bucket_of(i64 %code)
  %first = load ptr, ptr %head
  %next.at = getelementptr i64, ptr %row, i64 {Word.NEXT.value}
  store ptr %first, ptr %next.at
  store atomic ptr %row, ptr %head release, align 8
  ret void
}}

define internal ptr @find(i64 %code) {{
start:
  %head = call ptr @bucket_of(i64 %code)
  %first = load atomic ptr, ptr %head acquire, align 8
  br label %look
look:
  %row = phi ptr [ %first, %start ], [ %following, %next ]
  %is_end = icmp eq ptr %row, null
  br i1 %is_end, label %found, label %compare
compare:
{_word("other", "%row", Word.CODE)}
  %is_it = icmp eq i64 %other, %code
  br i1 %is_it, label %found, label %next
next:
{_word("following", "%row", Word.NEXT, "ptr")}
  br label %look
found:
  ret ptr %row
}}

define internal i64 @now() {{
  %time = alloca [2 x i64]
  %told = call i32 @clock_gettime(i32 {CLOCK_MONOTONIC}, ptr %time)
  %seconds = load i64, ptr %time
{_word("rest", "%time", 1)}
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}

; What code asks that may go on for ever; the context begins with the place of a note.
define internal i32 @ask(ptr %context) {{
  %table = inttoptr i64 {pool_table} to ptr
{_word("asks", "%table", POOL_ASKS, "ptr")}
  %answer = call i32 %asks()
  %stops = icmp ne i32 %answer, 0
  br i1 %stops, label %stop, label %end
stop:
  %note = load ptr, ptr %context
  %place = getelementptr i64, ptr %note, i64 {STOP}
  store atomic i64 {INTERRUPTED}, ptr %place seq_cst, align 8
  br label %end
end:
  ret i32 %answer
}}

define internal i1 @has_stopped(ptr %note) {{
  %place = getelementptr i64, ptr %note, i64 {STOP}
  %stop = load atomic i64, ptr %place monotonic, align 8
  %is_stopped = icmp ne i64 %stop, 0
  ret i1 %is_stopped
}}

define internal i64 @elements(ptr %buffer) {{
start:
{_field("rank", "%buffer", BUFFER_RANK)}
{_field("extents", "%buffer", BUFFER_EXTENTS, "ptr")}
  br label %look
look:
  %axis = phi i64 [ 0, %start ], [ %next, %more ]
  %product = phi i64 [ 1, %start ], [ %larger, %more ]
  %is_one = icmp slt i64 %axis, %rank
  br i1 %is_one, label %more, label %end
more:
  %extent.at = getelementptr i64, ptr %extents, i64 %axis
  %extent = load i64, ptr %extent.at
  %larger = mul i64 %product, %extent
  %next = add i64 %axis, 1
  br label %look
end:
  ret i64 %product
}}

; The context of one launch of a batch. A job is: note, who is asked, row, bases, strides, length of the batch.
define internal void @enter(ptr %job, i64 %launch, ptr %context) {{
start:
{_word("note", "%job", 0, "ptr")}
{_word("asked", "%job", 1, "ptr")}
{_word("row", "%job", 2, "ptr")}
{_word("bases", "%job", 3, "ptr")}
{_word("strides", "%job", 4, "ptr")}
{_word("count", "%row", Word.SLOTS)}
{_word("slots", "%row", Word.SLOT_ROWS, "ptr")}
  store ptr %note, ptr %context
  %ask.place = getelementptr i64, ptr %context, i64 1
  store ptr %asked, ptr %ask.place
  br label %look
look:
  %n = phi i64 [ 0, %start ], [ %following, %next ]
  %is_one = icmp slt i64 %n, %count
  br i1 %is_one, label %fill, label %end
fill:
  %place = add i64 %n, {FIRST_ARGUMENT}
  %slot = getelementptr i64, ptr %context, i64 %place
  %offset = mul i64 %n, {_SLOT}
  %about = getelementptr i64, ptr %slots, i64 %offset
  %base.at = getelementptr ptr, ptr %bases, i64 %n
  %base = load ptr, ptr %base.at
  %stride.at = getelementptr i64, ptr %strides, i64 %n
  %stride = load i64, ptr %stride.at
  %distance = mul i64 %stride, %launch
  %from = getelementptr i8, ptr %base, i64 %distance
{_word("kind", "%about", SlotWord.KIND)}
  switch i64 %kind, label %address [ i64 {Kind.BITS.value}, label %bits {kinds} ]
address:
  store ptr %from, ptr %slot
  br label %next
bits:
{_word("bytes", "%about", SlotWord.BYTES)}
  store i64 0, ptr %slot
  call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %from, i64 %bytes, i1 false)
  br label %next
{_conversions()}
next:
  %following = add i64 %n, 1
  br label %look
end:
  ret void
}}

define internal i64 @context_words(ptr %job) {{
{_word("row", "%job", 2, "ptr")}
{_word("count", "%row", Word.SLOTS)}
  %words = add i64 %count, {FIRST_ARGUMENT}
  ret i64 %words
}}

; Some of the launches of a batch, each on this thread alone.
define internal void @launches(ptr %job, i64 %part, i64 %parts) {{
start:
{_word("note", "%job", 0, "ptr")}
{_word("row", "%job", 2, "ptr")}
{_word("batch", "%job", 5)}
{_word("code", "%row", Word.PART, "ptr")}
  %words = call i64 @context_words(ptr %job)
  %context = alloca i64, i64 %words
  %before = mul i64 %part, %batch
  %from = udiv i64 %before, %parts
  %following.part = add i64 %part, 1
  %until = mul i64 %following.part, %batch
  %to = udiv i64 %until, %parts
  br label %look
look:
  %launch = phi i64 [ %from, %start ], [ %next, %run ]
  %is_one = icmp slt i64 %launch, %to
  br i1 %is_one, label %check, label %end
check:
  %is_stopped = call i1 @has_stopped(ptr %note)
  br i1 %is_stopped, label %end, label %run
run:
  call void @enter(ptr %job, i64 %launch, ptr %context)
  call void %code(ptr %context, i64 0, i64 1)
  %next = add i64 %launch, 1
  br label %look
end:
  ret void
}}

define internal i1 @run_with_helpers(ptr %body, ptr %context, i64 %most) {{
  %table = inttoptr i64 {pool_table} to ptr
{_word("threads", "%table", POOL_THREADS)}
{_word("run", "%table", POOL_RUN, "ptr")}
  %has_helpers = icmp sgt i64 %threads, 1
  %has_parts = icmp sgt i64 %most, 1
  %may = and i1 %has_helpers, %has_parts
  br i1 %may, label %ask, label %no
ask:
  %wanted = mul i64 %threads, {PARTS_PER_THREAD}
  %parts = call i64 @llvm.smin.i64(i64 %wanted, i64 %most)
  %done = call i32 %run(ptr %body, ptr %context, i64 %parts)
  %is_done = icmp ne i32 %done, 0
  ret i1 %is_done
no:
  ret i1 false
}}
declare i64 @llvm.smin.i64(i64, i64)

; One launch of a batch: on this thread, or with the helpers.
define internal void @launch(ptr %job, i64 %launch) {{
start:
{_word("row", "%job", 2, "ptr")}
{_word("code", "%row", Word.PART, "ptr")}
{_word("most", "%row", Word.MOST_PARTS)}
  %known.at = getelementptr i64, ptr %row, i64 {Word.NANOSECONDS.value}
  %known = load atomic i64, ptr %known.at monotonic, align 8
  %words = call i64 @context_words(ptr %job)
  %context = alloca i64, i64 %words
  call void @enter(ptr %job, i64 %launch, ptr %context)
  %is_long = icmp sgt i64 %known, {round(SECONDS_WORTH_HELP * 1e9)}
  br i1 %is_long, label %many, label %one
many:
  %is_done = call i1 @run_with_helpers(ptr %code, ptr %context, i64 %most)
  br i1 %is_done, label %end, label %one
one:
  %begin = call i64 @now()
  call void %code(ptr %context, i64 0, i64 1)
  %finish = call i64 @now()
  %taken = sub i64 %finish, %begin
  %is_first = icmp eq i64 %known, 0
  %is_less = icmp slt i64 %taken, %known
  %is_news = or i1 %is_first, %is_less
  br i1 %is_news, label %keep, label %end
keep:
  store atomic i64 %taken, ptr %known.at monotonic, align 8
  br label %end
end:
  ret void
}}

define internal void @run_all(ptr %job) {{
start:
{_word("note", "%job", 0, "ptr")}
{_word("row", "%job", 2, "ptr")}
{_word("batch", "%job", 5)}
  br label %look
look:
  %done = phi i64 [ 0, %start ], [ %next, %one ]
  %is_one = icmp slt i64 %done, %batch
  br i1 %is_one, label %check, label %end
check:
  %is_stopped = call i1 @has_stopped(ptr %note)
  br i1 %is_stopped, label %end, label %ask
ask:
; After the first launch it is known how long one takes: are many short ones left, they are shared out.
  %left = sub i64 %batch, %done
  %known.at = getelementptr i64, ptr %row, i64 {Word.NANOSECONDS.value}
  %known = load atomic i64, ptr %known.at monotonic, align 8
  %all = mul i64 %known, %left
  %is_long = icmp sgt i64 %all, {round(SECONDS_WORTH_HELP * 1e9)}
  %is_start = icmp eq i64 %done, 0
  %are_many = icmp sgt i64 %batch, {PARTS_PER_THREAD}
  %shares = and i1 %is_long, %are_many
  %may = and i1 %shares, %is_start
  br i1 %may, label %many, label %one
many:
  %is_done = call i1 @run_with_helpers(ptr @launches, ptr %job, i64 %batch)
  br i1 %is_done, label %end, label %one
one:
  call void @launch(ptr %job, i64 %done)
  %next = add i64 %done, 1
  br label %look
end:
  ret void
}}

; Whether two runs of bytes have some in common.
define internal i1 @overlap(i64 %a, i64 %a.bytes, i64 %b, i64 %b.bytes) {{
  %a.end = add i64 %a, %a.bytes
  %b.end = add i64 %b, %b.bytes
  %x = icmp ult i64 %a, %b.end
  %y = icmp ult i64 %b, %a.end
  %meet = and i1 %x, %y
  %least = call i64 @llvm.umin.i64(i64 %a.bytes, i64 %b.bytes)
  %are_some = icmp ne i64 %least, 0
  %both = and i1 %meet, %are_some
  ret i1 %both
}}

define ptr @{NATIVE_TARGET}(ptr %frame) {{
  %was_told = call i1 @ffi.told_version(ptr %frame)
  br i1 %was_told, label %none, label %staged
none:
  ret ptr null
staged:
  %runs = call i1 @ffi.runs(ptr %frame)
  br i1 %runs, label %check, label %none
check:
  %is_known = call i1 @ffi.is_known(ptr %frame)
  br i1 %is_known, label %attribute, label %bad.layout
attribute:
{_field("attributes", "%frame", ATTRIBUTES + 16)}
  %has_attribute = icmp sge i64 %attributes, 1
  br i1 %has_attribute, label %look, label %bad.layout
look:
{_field("values", "%frame", ATTRIBUTES + 40, "ptr")}
  %scalar = load ptr, ptr %values
{_field("number.place", "%scalar", 8, "ptr")}
  %code = load i64, ptr %number.place, align 1
  %row = call ptr @find(i64 %code)
  %is_unknown = icmp eq ptr %row, null
  br i1 %is_unknown, label %bad.unknown, label %counts
counts:
{_word("operands", "%row", Word.OPERANDS)}
{_word("results", "%row", Word.RESULTS)}
{_field("given", "%frame", ARGUMENTS + 16)}
{_field("wanted", "%frame", RESULTS + 16)}
  %same_operands = icmp eq i64 %operands, %given
  %same_results = icmp eq i64 %results, %wanted
  %same = and i1 %same_operands, %same_results
  br i1 %same, label %prepare, label %bad.count
prepare:
{_field("buffers", "%frame", ARGUMENTS + 32, "ptr")}
{_field("outputs", "%frame", RESULTS + 32, "ptr")}
{_word("count", "%row", Word.SLOTS)}
  %bases = alloca ptr, i64 %count
  %strides = alloca i64, i64 %count
  %totals = alloca i64, i64 %count
  %note = alloca [{NOTE_WORDS} x i64]
  %job = alloca [6 x i64]
  %message = alloca [{LONGEST_MESSAGE} x i8]
{_word("slots", "%row", Word.SLOT_ROWS, "ptr")}
  br label %batch
batch: ; How many launches there are: the operands say so.
  %b = phi i64 [ 0, %prepare ], [ %b.next, %batch.next ]
  %length = phi i64 [ 1, %prepare ], [ %longer, %batch.next ]
  %b.more = icmp slt i64 %b, %count
  br i1 %b.more, label %batch.slot, label %fill
batch.slot:
  %b.offset = mul i64 %b, {_SLOT}
  %b.about = getelementptr i64, ptr %slots, i64 %b.offset
{_word("b.kind", "%b.about", SlotWord.KIND)}
{_word("b.elements", "%b.about", SlotWord.ELEMENTS)}
  %b.total.at = getelementptr i64, ptr %totals, i64 %b
  store i64 0, ptr %b.total.at
  %b.is_null = icmp eq i64 %b.kind, {Kind.NULL.value}
  %b.is_room = icmp eq i64 %b.kind, {Kind.ROOM.value}
  %b.is_none = or i1 %b.is_null, %b.is_room
  br i1 %b.is_none, label %batch.next, label %batch.buffer
batch.buffer:
{_word("b.operand", "%b.about", SlotWord.OPERAND)}
  %b.buffer.at = getelementptr ptr, ptr %buffers, i64 %b.operand
  %b.buffer = load ptr, ptr %b.buffer.at
  %b.total = call i64 @elements(ptr %b.buffer)
  store i64 %b.total, ptr %b.total.at
  %b.is_empty = icmp eq i64 %b.elements, 0
  %b.by = select i1 %b.is_empty, i64 1, i64 %b.elements
  %b.ratio = sdiv i64 %b.total, %b.by
  %b.larger = call i64 @llvm.smax.i64(i64 %length, i64 %b.ratio)
  %b.none = icmp eq i64 %b.total, 0
  %b.is_lost = xor i1 %b.is_empty, true
  %b.has_none = and i1 %b.none, %b.is_lost
  br i1 %b.has_none, label %none, label %batch.next
batch.next:
  %longer = phi i64 [ %length, %batch.slot ], [ %b.larger, %batch.buffer ]
  %b.next = add i64 %b, 1
  br label %batch
fill: ; Where the memories are.
  %n = phi i64 [ 0, %batch ], [ %n.next, %filled ]
  %n.more = icmp slt i64 %n, %count
  br i1 %n.more, label %slot, label %apart
slot:
  %offset = mul i64 %n, {_SLOT}
  %about = getelementptr i64, ptr %slots, i64 %offset
  %base.at = getelementptr ptr, ptr %bases, i64 %n
  %stride.at = getelementptr i64, ptr %strides, i64 %n
  store ptr null, ptr %base.at
  store i64 0, ptr %stride.at
{_word("kind", "%about", SlotWord.KIND)}
  %is_null = icmp eq i64 %kind, {Kind.NULL.value}
  br i1 %is_null, label %filled, label %size
size:
{_word("elements", "%about", SlotWord.ELEMENTS)}
{_word("bytes", "%about", SlotWord.BYTES)}
{_word("mask", "%about", SlotWord.MASK)}
{_word("operand", "%about", SlotWord.OPERAND)}
  %is_room = icmp eq i64 %kind, {Kind.ROOM.value}
  br i1 %is_room, label %room, label %given.operand
room:
{_word("room.result", "%about", SlotWord.RESULT)}
  %room.output.at = getelementptr ptr, ptr %outputs, i64 %room.result
  %room.output = load ptr, ptr %room.output.at
{_field("room.target", "%room.output", BUFFER_DATA, "ptr")}
  %room.total = call i64 @elements(ptr %room.output)
  %room.whole = mul i64 %elements, %length
  %room.fits = icmp eq i64 %room.total, %room.whole
  store i64 %bytes, ptr %stride.at
  br i1 %room.fits, label %placed, label %bad.shape
given.operand:
  %total.at = getelementptr i64, ptr %totals, i64 %n
  %total = load i64, ptr %total.at
  %is_single = icmp eq i64 %total, %elements
  %whole = mul i64 %elements, %length
  %is_batch = icmp eq i64 %total, %whole
  %is_good = or i1 %is_single, %is_batch
  %stride = select i1 %is_single, i64 0, i64 %bytes
  store i64 %stride, ptr %stride.at
  br i1 %is_good, label %memory, label %bad.shape
memory:
  %buffer.at = getelementptr ptr, ptr %buffers, i64 %operand
  %buffer = load ptr, ptr %buffer.at
{_field("data", "%buffer", BUFFER_DATA, "ptr")}
  %is_written = icmp eq i64 %kind, {Kind.WRITTEN.value}
  br i1 %is_written, label %written, label %placed
written: ; The result begins as the operand, which it is unless XLA had to copy.
{_word("result", "%about", SlotWord.RESULT)}
  %output.at = getelementptr ptr, ptr %outputs, i64 %result
  %output = load ptr, ptr %output.at
{_field("target", "%output", BUFFER_DATA, "ptr")}
  %output.total = call i64 @elements(ptr %output)
  %same_size = icmp eq i64 %output.total, %whole
  %enters_whole = icmp eq i64 %total, %whole
  %fits = and i1 %same_size, %enters_whole
  br i1 %fits, label %copy, label %bad.shape
copy:
  %all.bytes = mul i64 %bytes, %length
  %is_there = icmp eq ptr %data, %target
  %moved = select i1 %is_there, i64 0, i64 %all.bytes
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %data, i64 %moved, i1 false)
  br label %placed
placed:
  %address = phi ptr [ %data, %memory ], [ %target, %copy ], [ %room.target, %room ]
  %distance.bytes = phi i64 [ %stride, %memory ], [ %stride, %copy ], [ 0, %room ]
  store ptr %address, ptr %base.at
  %number = ptrtoint ptr %address to i64
  %both = or i64 %number, %distance.bytes
  %rest = and i64 %both, %mask
  %is_aligned = icmp eq i64 %rest, 0
  br i1 %is_aligned, label %filled, label %bad.aligned
filled:
  %n.next = add i64 %n, 1
  br label %fill
apart: ; No memory that is written may be that of another operand.
  %i = phi i64 [ 0, %fill ], [ %i.next, %apart.next ]
  %i.more = icmp slt i64 %i, %count
  br i1 %i.more, label %apart.one, label %run
apart.one:
  %i.offset = mul i64 %i, {_SLOT}
  %i.about = getelementptr i64, ptr %slots, i64 %i.offset
{_word("i.kind", "%i.about", SlotWord.KIND)}
{_word("i.bytes", "%i.about", SlotWord.BYTES)}
  %i.base.at = getelementptr i64, ptr %bases, i64 %i
  %i.base = load i64, ptr %i.base.at
  %i.all = mul i64 %i.bytes, %length
  %i.written.given = icmp eq i64 %i.kind, {Kind.WRITTEN.value}
  %i.room = icmp eq i64 %i.kind, {Kind.ROOM.value}
  %i.written = or i1 %i.written.given, %i.room
  br i1 %i.written, label %apart.other, label %apart.next
apart.other:
  %j = phi i64 [ 0, %apart.one ], [ %j.next, %apart.later ]
  %j.more = icmp slt i64 %j, %count
  br i1 %j.more, label %compare, label %apart.next
compare:
  %j.offset = mul i64 %j, {_SLOT}
  %j.about = getelementptr i64, ptr %slots, i64 %j.offset
{_word("j.bytes", "%j.about", SlotWord.BYTES)}
  %j.base.at = getelementptr i64, ptr %bases, i64 %j
  %j.base = load i64, ptr %j.base.at
  %j.stride.at = getelementptr i64, ptr %strides, i64 %j
  %j.stride = load i64, ptr %j.stride.at
  %j.is_single = icmp eq i64 %j.stride, 0
  %j.whole = mul i64 %j.bytes, %length
  %j.all = select i1 %j.is_single, i64 %j.bytes, i64 %j.whole
  %overlaps = call i1 @overlap(i64 %i.base, i64 %i.all, i64 %j.base, i64 %j.all)
  %is_other = icmp ne i64 %i, %j
  %clashes = and i1 %overlaps, %is_other
  br i1 %clashes, label %bad.shared, label %apart.later
apart.later:
  %j.next = add i64 %j, 1
  br label %apart.other
apart.next:
  %i.next = add i64 %i, 1
  br label %apart
run:
  call void @llvm.memset.p0.i64(ptr %note, i8 0, i64 {8 * NOTE_WORDS}, i1 false)
  store ptr %note, ptr %job
  %job.ask = getelementptr i64, ptr %job, i64 1
  store ptr @ask, ptr %job.ask
  %job.row = getelementptr i64, ptr %job, i64 2
  store ptr %row, ptr %job.row
  %job.bases = getelementptr i64, ptr %job, i64 3
  store ptr %bases, ptr %job.bases
  %job.strides = getelementptr i64, ptr %job, i64 4
  store ptr %strides, ptr %job.strides
  %job.batch = getelementptr i64, ptr %job, i64 5
  store i64 %length, ptr %job.batch
  call void @run_all(ptr %job)
  %site = load i64, ptr %note
  %went_wrong = icmp ne i64 %site, 0
  br i1 %went_wrong, label %fault, label %asked
asked:
  %is_stopped = call i1 @has_stopped(ptr %note)
  br i1 %is_stopped, label %bad.stop, label %none
fault:
{chr(10).join(_word(f"note.{place}", "%note", place) for place in range(1, 8))}
{_word("messages", "%row", Word.MESSAGES, "ptr")}
{_word("last.bytes", "%row", Word.LAST_BYTES, "ptr")}
  %which = sub i64 %site, 1
  %last.byte.at = getelementptr i64, ptr %last.bytes, i64 %which
  %last.byte = load i64, ptr %last.byte.at
  %is_behind = icmp sge i64 %note.7, 0
  %is_before = icmp sle i64 %note.7, %last.byte
  %is_within = and i1 %is_behind, %is_before
  %within = zext i1 %is_within to i64
  %pair = shl i64 %which, 1
  %said = or i64 %pair, %within
  %format.at = getelementptr ptr, ptr %messages, i64 %said
  %format = load ptr, ptr %format.at
  %length.of.text = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 {LONGEST_MESSAGE}, ptr %format,
    {", ".join(f"i64 %note.{place}" for place in range(1, 8))})
  %fault.error = call ptr @ffi.fail(ptr %frame, ptr %message, i32 {CODE_OUT_OF_RANGE})
  ret ptr %fault.error
{chr(10).join(_failure(name) for name in _MESSAGES)}
}}
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def _failure(name: str) -> str:
    code = CODE_CANCELLED if name == "stop" else CODE_INVALID
    return f"""bad.{name}:
  %error.{name} = call ptr @ffi.fail(ptr %frame, ptr @said.{name}, i32 {code})
  ret ptr %error.{name}"""
