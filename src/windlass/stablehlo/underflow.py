"""Gradual underflow on CPUs: XLA runs programs with subnormal numbers flushed to zero, CUDA and NumPy keep them.

XLA:CPU sets flags of the processor's control register (x86-64: FTZ and DAZ of MXCSR, AArch64: FZ of FPCR) on the thread
that starts a program, each time, and on the threads of its pool once, as they begin. No option of XLA changes it. So a
program of ours that computes with floats starts with a call of a function that clears the flags on the thread that it
runs on; XLA sets them back as the program ends. It has no operands and a side effect: XLA schedules such a call before
all else. Before the first such program, a program of its own has the flags cleared on each thread of the pool,
where they stay cleared: parts of others' programs that run there keep subnormals from then on, too.

The functions are LLVM IR, compiled by llvmlite. The structures that they read are those of XLA's foreign function
interface (xla/ffi/api/c_api.h in jaxlib), whose layout is part of its binary interface.
"""

from __future__ import annotations

import ctypes
import platform
import threading
from typing import Any

import jax
import numpy as np
from jaxlib.mlir import ir

from windlass.stablehlo.kept_executables import keep_compiled, load_kept, name_of_kept
from windlass.stablehlo.typed_ffi import made_once

THREAD_TARGET = "windlass_keep_subnormals"
POOL_TARGET = "windlass_keep_subnormals_on_pool"
TRIES = 20
"""How often the threads of the pool are called together: each time they wait for some tenths of a second."""

_KEEP = {
    "x86_64": """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define internal void @keep_subnormals() {
  %place = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %place)
  %old = load i32, ptr %place
  %new = and i32 %old, -32833 ; without FTZ, bit 15, and DAZ, bit 6
  store i32 %new, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}
""",
    "aarch64": """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
define internal void @keep_subnormals() {
  %old = call i64 @llvm.aarch64.get.fpcr()
  %new = and i64 %old, -16777217 ; without FZ, bit 24
  call void @llvm.aarch64.set.fpcr(i64 %new)
  ret void
}
""",
}
"""How the flags are cleared on the thread that runs, by architecture."""

_HANDLERS = """
%extension = type { i64, i32, ptr, ptr }
%frame = type { i64, ptr, ptr, ptr }
%call = type { i64, ptr, ptr, ptr, ptr }

; Whether XLA asks which version of the interface this is for, which is answered, instead of running it.
define internal i1 @answers(ptr %frame) {
  %first.place = getelementptr %frame, ptr %frame, i32 0, i32 1
  %first = load ptr, ptr %first.place
  %plain = icmp eq ptr %first, null
  br i1 %plain, label %run, label %look
look:
  %kind.place = getelementptr %extension, ptr %first, i32 0, i32 1
  %kind = load i32, ptr %kind.place
  %asks = icmp eq i32 %kind, 1
  br i1 %asks, label %answer, label %run
answer:
  %metadata.place = getelementptr %extension, ptr %first, i32 0, i32 3
  %metadata = load ptr, ptr %metadata.place
  %major = getelementptr i8, ptr %metadata, i64 24
  store i32 0, ptr %major
  %minor = getelementptr i8, ptr %metadata, i64 28
  store i32 3, ptr %minor
  %traits = getelementptr i8, ptr %metadata, i64 32
  store i32 0, ptr %traits
  ret i1 true
run:
  ret i1 false
}

define ptr @on_this_thread(ptr %frame) {
  %answered = call i1 @answers(ptr %frame)
  br i1 %answered, label %end, label %run
run:
  call void @keep_subnormals()
  br label %end
end:
  ret ptr null
}

@threads = global i64 0
@arrived = global i64 0
@unfinished = internal global i64 0

; Each thread waits for the others, a while at most, so that none takes two of the tasks.
define internal void @task(ptr %unused) {
  call void @keep_subnormals()
  %before = atomicrmw add ptr @arrived, i64 1 seq_cst
  %all = load i64, ptr @threads
  br label %wait
wait:
  %round = phi i64 [ 0, %0 ], [ %next, %wait ]
  %next = add i64 %round, 1
  %here = load atomic i64, ptr @arrived seq_cst, align 8
  %together = icmp sge i64 %here, %all
  %enough = icmp sge i64 %next, 200000000
  %go = or i1 %together, %enough
  br i1 %go, label %end, label %wait
end:
  %after = atomicrmw sub ptr @unfinished, i64 1 seq_cst
  ret void
}

define ptr @on_each_thread(ptr %frame) {
  %answered = call i1 @answers(ptr %frame)
  br i1 %answered, label %end, label %run
run:
  call void @keep_subnormals()
  %interface.place = getelementptr %frame, ptr %frame, i32 0, i32 2
  %interface = load ptr, ptr %interface.place
  %context.place = getelementptr %frame, ptr %frame, i32 0, i32 3
  %context = load ptr, ptr %context.place
  %schedule.place = getelementptr i8, ptr %interface, i64 136
  %schedule = load ptr, ptr %schedule.place
  %count.place = getelementptr i8, ptr %interface, i64 144
  %count = load ptr, ptr %count.place
  store i64 0, ptr @threads
  %counting = alloca %call
  %counted = insertvalue %call { i64 32, ptr null, ptr null, ptr @threads, ptr null }, ptr %context, 2
  store %call %counted, ptr %counting
  %uncounted = call ptr %count(ptr %counting)
  %threads = load i64, ptr @threads
  store atomic i64 0, ptr @arrived seq_cst, align 8
  store atomic i64 %threads, ptr @unfinished seq_cst, align 8
  %asking = alloca %call
  %asked = insertvalue %call { i64 40, ptr null, ptr null, ptr @task, ptr null }, ptr %context, 2
  store %call %asked, ptr %asking
  br label %ask
ask:
  %index = phi i64 [ 0, %run ], [ %following, %next ]
  %done = icmp sge i64 %index, %threads
  br i1 %done, label %wait, label %one
one:
  %following = add i64 %index, 1
  %refused = call ptr %schedule(ptr %asking)
  %taken = icmp eq ptr %refused, null
  br i1 %taken, label %next, label %without
without:
  %fewer = atomicrmw sub ptr @unfinished, i64 1 seq_cst
  br label %next
next:
  br label %ask
wait:
  %remaining = load atomic i64, ptr @unfinished seq_cst, align 8
  %over = icmp sle i64 %remaining, 0
  br i1 %over, label %end, label %wait
end:
  ret ptr null
}
"""


def begin_with_subnormals_kept() -> bool:
    """Put the call at MLIR's insertion point, which is the start of a program that is being lowered for a CPU.

    False, and nothing is put there, where there is none for this processor, or where threads of XLA's pool could not be
    reached: subnormals are flushed then.
    """
    if not pool_keeps_subnormals():
        return False
    ir.Operation.create(
        "stablehlo.custom_call",
        attributes={
            "call_target_name": ir.StringAttr.get(THREAD_TARGET),
            "has_side_effect": ir.BoolAttr.get(True),
            "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
            "backend_config": ir.DictAttr.get({}),
        },
    )
    return True


def pool_keeps_subnormals() -> bool:
    """Whether the threads of XLA's pool keep subnormals: the first call sees to it, or the next where it could not."""
    if not _reached:
        with _reaching:
            if not _reached and _reach_pool():
                _reached.append(True)
    return bool(_reached)


def _reach_pool() -> bool:
    """Clear the flags on all threads of the pool; False where they were too busy to come together."""
    engine = _compile_functions()
    if engine is None:
        return False
    threads, arrived = (
        ctypes.c_int64.from_address(engine.get_global_value_address(name)) for name in ("threads", "arrived")
    )
    nothing = jax.ShapeDtypeStruct((), np.int32)
    with jax.disable_jit(False), jax.default_device(jax.devices("cpu")[0]):
        visit_pool = _visit_of_pool(nothing)
        for _ in range(TRIES):
            jax.block_until_ready(visit_pool())
            # Threads that were busy for long let others take their tasks: then not all of them came.
            if threads.value and arrived.value == threads.value:
                return True
    return False


def _visit_of_pool(result: jax.ShapeDtypeStruct) -> Any:
    """The program that calls the threads of the pool together."""
    name = name_of_kept(POOL_TARGET)
    found = name and load_kept(name, POOL_TARGET, [], [result])
    if found:
        return found
    visit = jax.jit(lambda: [jax.ffi.ffi_call(POOL_TARGET, result, has_side_effect=True)()]).lower().compile()
    if name:
        keep_compiled(name, visit)
    return visit


@made_once
def _compile_functions() -> Any:
    """The compiled functions, registered with XLA for as long as the process lives; None for other processors."""
    from llvmlite import binding

    llvm: Any = binding  # llvmlite has no type stubs
    name = platform.machine()
    keep = _KEEP.get({"AMD64": "x86_64", "arm64": "aarch64"}.get(name, name))
    if keep is None:
        return None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0, jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(keep + _HANDLERS), machine)
    engine.finalize_object()
    for target, function in ((THREAD_TARGET, "on_this_thread"), (POOL_TARGET, "on_each_thread")):
        handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(engine.get_function_address(function))
        jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(handler), platform="cpu")
        _KEPT.append(handler)
    _KEPT.append(engine)
    return engine


_reached: list[bool] = []
_reaching = threading.RLock()
_KEPT: list[Any] = []
"""What XLA calls: must live as long as the process."""
