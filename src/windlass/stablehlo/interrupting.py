"""Programs that Ctrl-C ends: XLA itself can't be stopped, and Python handles no signal while XLA computes.

Loops that may take long call a function of ours every few milliseconds (see `windlass.lowering.polling`). Where XLA
computes on the main thread itself, that function lets Python handle its signals, and fails when a handler raises.
Where XLA computes on threads of its own, the main thread waits where it can be interrupted (`waiting.py`), and the
function fails as it is told to. When a call fails, XLA gives up the program, whose arguments stay what they are.

The function is a few lines of LLVM IR, compiled by llvmlite when first needed. It is called by XLA's typed FFI
(typed_ffi.py).
"""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

import jax
import llvmlite.binding as llvm_binding

from windlass.diagnostics import Diagnostic, ProgramError
from windlass.lowering.polling import POLL
from windlass.stablehlo.typed_ffi import CODE_CANCELLED, helpers, made_once
from windlass.stablehlo.typed_ffi import register as register_handler
from windlass.stablehlo.waiting import call_at_end, is_ending, is_main_thread, run_interruptibly

llvm: Any = llvm_binding  # llvmlite has no type stubs

MESSAGE = "the program was interrupted"
HANDLING_NANOSECONDS = 50_000_000
"""How long Python's signals wait at least while the main thread computes."""
GRACE_SECONDS = 0.5
"""How long an interrupted program may take to stop before it is left to itself."""

_IR = f"""
@windlass_stop = global i32 0
@windlass_watched = global i32 0
@windlass_main = global i64 0
@windlass_handled = global i64 0
@windlass_error = global [3 x ptr] zeroinitializer
@message = private constant [{len(MESSAGE) + 1} x i8] c"{MESSAGE}\\00"

declare i64 @pthread_self()
declare i32 @clock_gettime(i32, ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare i32 @Py_AddPendingCall(ptr, ptr)

; Raise in Python what a handler of a signal has raised while the main thread computed.
define internal i32 @raise_kept(ptr %nothing) {{
  %type = load ptr, ptr @windlass_error
  %value_at = getelementptr i8, ptr @windlass_error, i64 8
  %trace_at = getelementptr i8, ptr @windlass_error, i64 16
  %value = load ptr, ptr %value_at
  %trace = load ptr, ptr %trace_at
  store [3 x ptr] zeroinitializer, ptr @windlass_error
  %is_one = icmp ne ptr %type, null
  br i1 %is_one, label %raise, label %none
raise:
  call void @PyErr_Restore(ptr %type, ptr %value, ptr %trace)
  ret i32 -1
none:
  ret i32 0
}}

; Whether the program is to stop.
define i32 @windlass_asks() {{
start:
  %time = alloca [2 x i64]
  br label %asked
go_on:
  ret i32 0
asked:
  %stop = load atomic i32, ptr @windlass_stop monotonic, align 4
  %stops = icmp ne i32 %stop, 0
  br i1 %stops, label %fail, label %here
here:
  %self = call i64 @pthread_self()
  %main = load i64, ptr @windlass_main
  %is_main = icmp eq i64 %self, %main
  br i1 %is_main, label %clock, label %go_on
clock:
  %told = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest_at = getelementptr i8, ptr %time, i64 8
  %rest = load i64, ptr %rest_at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  %handled = load i64, ptr @windlass_handled
  %since = sub i64 %now, %handled
  %is_due = icmp sgt i64 %since, {HANDLING_NANOSECONDS}
  br i1 %is_due, label %handle, label %go_on
handle:
  store i64 %now, ptr @windlass_handled
  %state = call i32 @PyGILState_Ensure()
  %raised = call i32 @PyErr_CheckSignals()
  %has_raised = icmp ne i32 %raised, 0
  br i1 %has_raised, label %keep, label %release
release:
  call void @PyGILState_Release(i32 %state)
  br label %go_on
keep:
  %value = getelementptr i8, ptr @windlass_error, i64 8
  %trace = getelementptr i8, ptr @windlass_error, i64 16
  call void @PyErr_Fetch(ptr @windlass_error, ptr %value, ptr %trace)
  %watched = load atomic i32, ptr @windlass_watched monotonic, align 4
  %is_watched = icmp ne i32 %watched, 0
  br i1 %is_watched, label %kept, label %later
later: ; Nobody here waits for the program, such as one of jax.jit: Python raises it as soon as it goes on.
  %added = call i32 @Py_AddPendingCall(ptr @raise_kept, ptr null)
  br label %kept
kept:
  call void @PyGILState_Release(i32 %state)
  br label %fail
fail:
  ret i32 1
}}

define ptr @{POLL}(ptr %frame) {{
  %was_told = call i1 @ffi.told_version(ptr %frame)
  br i1 %was_told, label %go_on, label %staged
staged:
  %runs = call i1 @ffi.runs(ptr %frame)
  br i1 %runs, label %asked, label %go_on
asked:
  %asks = call i32 @windlass_asks()
  %stops = icmp ne i32 %asks, 0
  br i1 %stops, label %fail, label %go_on
go_on:
  ret ptr null
fail:
  %error = call ptr @ffi.fail(ptr %frame, ptr @message, i32 {CODE_CANCELLED})
  ret ptr %error
}}
"""


class _Native:
    """The function, registered with XLA, and what it shares with this file."""

    def __init__(self) -> None:
        for name in (
            "PyGILState_Ensure",
            "PyGILState_Release",
            "PyErr_CheckSignals",
            "PyErr_Fetch",
            "PyErr_Restore",
            "Py_AddPendingCall",
        ):
            llvm.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        module = llvm.parse_assembly(_IR + helpers())
        module.verify()
        machine = llvm.Target.from_default_triple().create_target_machine(opt=0, jit=True)
        self._engine = engine = llvm.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        self.stop = ctypes.c_int32.from_address(engine.get_global_value_address("windlass_stop"))
        self.watched = ctypes.c_int32.from_address(engine.get_global_value_address("windlass_watched"))
        self._error = (ctypes.c_void_p * 3).from_address(engine.get_global_value_address("windlass_error"))
        main = ctypes.c_uint64.from_address(engine.get_global_value_address("windlass_main"))
        main.value = threading.main_thread().ident or 0
        self._restore = ctypes.pythonapi.PyErr_Restore
        self._restore.argtypes, self._restore.restype = [ctypes.c_void_p] * 3, None
        self.asks: int = engine.get_function_address("windlass_asks")
        """The address of the function that says whether programs are to stop: it takes nothing and gives an i32."""
        register_handler(POLL, engine.get_function_address(POLL))
        call_at_end(self.request_stop)

    def request_stop(self) -> None:
        """Let all programs stop that ask."""
        self.stop.value = 1

    def take_error(self) -> BaseException | None:
        """What a signal's handler raised while the main thread computed, if one did."""
        if self._error[0] is None or not is_main_thread():
            return None
        kept = tuple(self._error)
        self._error[:] = (None, None, None)
        try:
            self._restore(*kept)  # ctypes raises what it finds afterwards
        except BaseException as error:
            return error
        return None


@made_once
def register() -> _Native:
    """Make the function known to XLA, which has to happen before a program that calls it is compiled."""
    return _Native()


class WatchedFunction:
    """A compiled program whose loops ask whether they are to stop; called as the function is.

    Gives results that are there. Raises what a signal's handler raises, such as KeyboardInterrupt, with the arguments
    untouched. On threads other than the main one, which get no signals, a program goes on until Python ends: then it
    raises ProgramError (WL0432).
    """

    __slots__ = ("_function", "_gives_up", "_native")

    def __init__(self, function: Any, gives_up: bool = False) -> None:
        self._function = function
        self._native = register()
        self._gives_up = gives_up
        """Whether it takes the buffers of arguments, so that a call can't be repeated."""

    def lower(self, *arguments: Any) -> Any:
        """The program lowered by JAX for such arguments."""
        return self._function.lower(*arguments)

    def __call__(self, *arguments: Any) -> Any:
        native = self._native
        is_main = is_main_thread()
        while True:
            if is_main:
                native.watched.value += 1
            try:
                results = self._function(*arguments)
                for leaf in jax.tree.leaves(results):
                    if not leaf.is_ready() and is_main:
                        run_interruptibly(leaf.block_until_ready, native.request_stop, GRACE_SECONDS)
                    else:
                        leaf.block_until_ready()
                return results
            except (jax.errors.JaxRuntimeError, ValueError) as error:  # the latter where JAX ran it on this thread
                if MESSAGE not in str(error):
                    raise
            finally:
                if is_main:
                    native.watched.value -= 1
                    native.stop.value = int(is_ending())
            kept = native.take_error()
            if kept is not None:
                raise kept
            if is_ending():
                raise _stopped("Python ends")
            # All programs were stopped, since the main thread's was to be. This one begins again, if it can.
            if self._gives_up:
                raise _stopped("another one was interrupted, and the arrays that it was given up are gone")
            while native.stop.value and not is_ending():
                time.sleep(0.01)


def _stopped(reason: str) -> ProgramError:
    return ProgramError(Diagnostic("WL0432", f"a program was stopped: {reason}"))
