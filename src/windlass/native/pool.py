"""The threads that run native code, each a part of the work at a time.

The parts of a job are taken by a counter, by the thread that has the job and by helpers that are free, so that nobody
waits for a helper that has not come. One job has the helpers; another one that is begun meanwhile, by another thread or
by a child process, which has no helpers, is done by the thread that begins it. The pool is LLVM IR, as the code is that
it runs.
"""

from __future__ import annotations

import ctypes
import os
import threading
from functools import cache, cached_property
from typing import Any

from windlass.diagnostics.environment import read_count
from windlass.native.machine import MachineCode, compile_text, llvm

STOP = 9
"""The word of a note that says that all are to stop."""
INTERRUPTED = 2
"""What it says where a handler of a signal has raised something."""

_TEXT = """
%job = type { ptr, ptr }
@word = internal global i64 0
@done = internal global i64 0
@asleep = internal global i64 0
@job = internal global %job zeroinitializer
@busy = internal global i32 0
@mutex = internal global [16 x i64] zeroinitializer, align 64
@wake = internal global [16 x i64] zeroinitializer, align 64
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Clear()

; The word has the number of parts in its upper half, and the next of them in its lower one, so that what is taken
; belongs to the job that it was taken of: the job can't be over before all of its parts are done.
define internal void @take() {
entry:
  br label %next
next:
  %ticket = atomicrmw add ptr @word, i64 1 seq_cst
  %part = and i64 %ticket, 4294967295
  %parts = lshr i64 %ticket, 32
  %is.one = icmp ult i64 %part, %parts
  br i1 %is.one, label %work, label %none
work:
  %body = load ptr, ptr @job
  %context.place = getelementptr %job, ptr @job, i64 0, i32 1
  %context = load ptr, ptr %context.place
  call void %body(ptr %context, i64 %part, i64 %parts)
  %before = atomicrmw add ptr @done, i64 1 seq_cst
  br label %next
none:
  ret void
}

define internal i1 @has_work() {
  %word = load atomic i64, ptr @word seq_cst, align 8
  %part = and i64 %word, 4294967295
  %parts = lshr i64 %word, 32
  %some = icmp ult i64 %part, %parts
  ret i1 %some
}

; Has Python's handlers of signals run, in the main thread; what they raise stops the job, whose context begins with
; the place of a note.
define i32 @ask(ptr %context) {
entry:
  %state = call i32 @PyGILState_Ensure()
  %raised = call i32 @PyErr_CheckSignals()
  %stops = icmp ne i32 %raised, 0
  br i1 %stops, label %stop, label %end
stop:
  call void @PyErr_Clear()
  %note = load ptr, ptr %context
  %place = getelementptr i64, ptr %note, i64 STOP
  store atomic i64 INTERRUPTED, ptr %place seq_cst, align 8
  br label %end
end:
  call void @PyGILState_Release(i32 %state)
  ret i32 %raised
}

define internal ptr @help(ptr %nothing) {
entry:
  br label %again
again:
  br label %look
look:
  %spins = phi i64 [ 0, %again ], [ %more, %wait ]
  %some = call i1 @has_work()
  br i1 %some, label %work, label %wait
wait:
  PAUSE
  %more = add i64 %spins, 1
  %tired = icmp ugt i64 %more, 2000
  br i1 %tired, label %sleep, label %look
sleep:
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  %a = atomicrmw add ptr @asleep, i64 1 seq_cst
  br label %check
check:
  %now = call i1 @has_work()
  br i1 %now, label %up, label %rest
rest:
  %c = call i32 @pthread_cond_wait(ptr @wake, ptr @mutex)
  br label %check
up:
  %b = atomicrmw sub ptr @asleep, i64 1 seq_cst
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %work
work:
  call void @take()
  br label %again
}

define i64 @start(i64 %helpers) {
entry:
  %id = alloca i64
  store atomic i64 0, ptr @word seq_cst, align 8
  store i64 0, ptr @asleep
  %m = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %c = call i32 @pthread_cond_init(ptr @wake, ptr null)
  br label %next
next:
  %n = phi i64 [ 0, %entry ], [ %more, %made ]
  %is.one = icmp ult i64 %n, %helpers
  br i1 %is.one, label %make, label %end
make:
  %failed = call i32 @pthread_create(ptr %id, ptr null, ptr @help, ptr null)
  %is.bad = icmp ne i32 %failed, 0
  br i1 %is.bad, label %end, label %made
made:
  %thread = load i64, ptr %id
  %d = call i32 @pthread_detach(i64 %thread)
  %more = add i64 %n, 1
  br label %next
end:
  %made.count = phi i64 [ %n, %next ], [ %n, %make ]
  ret i64 %made.count
}

; Runs all parts of a job with the helpers, and gives 1; where they have another job it does nothing, and gives 0. The
; context of a job begins with the places of a note, and of a function that it asks whether to stop.
define i32 @run(ptr %body, ptr %context, i64 %parts) {
entry:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 seq_cst seq_cst
  %is.free = extractvalue { i32, i1 } %pair, 1
  br i1 %is.free, label %begin, label %leave
leave:
  ret i32 0
begin:
  store ptr %body, ptr @job
  %context.place = getelementptr %job, ptr @job, i64 0, i32 1
  store ptr %context, ptr %context.place
  store atomic i64 0, ptr @done seq_cst, align 8
  %word = shl i64 %parts, 32
  store atomic i64 %word, ptr @word seq_cst, align 8
  %sleeping = load atomic i64, ptr @asleep seq_cst, align 8
  %some = icmp ne i64 %sleeping, 0
  br i1 %some, label %call, label %mine
call:
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  %b = call i32 @pthread_cond_broadcast(ptr @wake)
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %mine
mine:
  call void @take()
  br label %wait
wait:
  %spins = phi i64 [ 0, %mine ], [ %more, %again ], [ 0, %ask ]
  %done = load atomic i64, ptr @done seq_cst, align 8
  %all = icmp uge i64 %done, %parts
  br i1 %all, label %end, label %again.pause
again.pause:
  PAUSE
  %more = add i64 %spins, 1
  %long = icmp ugt i64 %more, 1000000
  br i1 %long, label %ask, label %again
again:
  br label %wait
ask:
  %ask.place = getelementptr i64, ptr %context, i64 1
  %asks = load ptr, ptr %ask.place
  %stop = call i32 %asks(ptr %context)
  br label %wait
end:
  store atomic i32 0, ptr @busy seq_cst, align 4
  ret i32 1
}
"""


def thread_count() -> int:
    """How many threads run native code at most: `WINDLASS_NUM_THREADS`, else as many as this process may have."""
    return read_count("WINDLASS_NUM_THREADS", _cores())


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on all systems
        return os.cpu_count() or 1


class Pool:
    """The helpers of one process."""

    def __init__(self, helpers: int) -> None:
        self._code: MachineCode = compile_text(_pool_text())
        self._helpers = helpers
        self.ask = self._code.address("ask")
        """The address of the function that hears of signals: it takes the context of a job."""
        self.run_parts = self._code.address("run")
        """The address of the function that runs a job: body, context, number of parts; whether it did."""
        self._run: Any = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
            self.run_parts
        )

    @cached_property
    def threads(self) -> int:
        """How many threads there are, with the one that has a job; the helpers are started now."""
        start = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(self._code.address("start"))
        with _making[0]:
            return 1 + int(start(self._helpers)) if "threads" not in self.__dict__ else int(self.__dict__["threads"])

    def run(self, body: int, context: int, parts: int) -> bool:
        """Run all parts of a job, with the helpers; whether they were free."""
        return bool(self._run(body, context, parts))


def _pool_text() -> str:
    """The pool, with this machine's way to wait for a moment."""
    text = _TEXT.replace("STOP", str(STOP)).replace("INTERRUPTED", str(INTERRUPTED))
    if not llvm.get_default_triple().startswith("x86_64"):
        return text.replace("  PAUSE\n", "")
    return "declare void @llvm.x86.sse2.pause()\n" + text.replace("PAUSE", "call void @llvm.x86.sse2.pause()")


_making = [threading.RLock()]
"""Held while the pool is made, and its helpers are started: a second start would take a job from the first one's."""


def pool() -> Pool:
    """The pool of this process, with its helpers started when first asked for."""
    with _making[0]:
        return _pool()


@cache
def _pool() -> Pool:
    return Pool(thread_count() - 1)


def _begin_in_child() -> None:
    _making[0] = threading.RLock()  # a thread that is not here may hold the other one
    _pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
