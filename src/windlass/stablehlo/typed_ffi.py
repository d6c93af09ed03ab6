"""XLA's typed FFI, as functions see it that are written as LLVM IR: what they are given, and how they fail.

A handler takes one pointer, to an `XLA_FFI_CallFrame`, and gives one: null, or an error. The layout is that of
xla/ffi/api/c_api.h, which jaxlib ships. It is checked twice: the version when a handler is registered, the sizes of the
structures whenever it is called.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import TypeVar

import jax

Made = TypeVar("Made")

MAJOR_VERSION = 0
"""That of the layout below; another one moves fields."""
CODE_INVALID, CODE_OUT_OF_RANGE, CODE_CANCELLED = 3, 11, 1

ARGUMENTS, RESULTS, ATTRIBUTES = 40, 80, 120
"""Where in a frame these lists begin: their size in bytes, extensions, and at 16, 24, 32 length, kinds, and items.
Attributes have names between the kinds and the items."""
BUFFER_DATA, BUFFER_RANK, BUFFER_EXTENTS = 24, 32, 40

_TEXT = f"""
; Whether XLA only asks which version of the interface the handler is written for, which is told it here.
define internal i1 @ffi.told_version(ptr %frame) {{
start:
  %extensions = getelementptr i8, ptr %frame, i64 8
  %first = load ptr, ptr %extensions
  br label %look
look:
  %extension = phi ptr [ %first, %start ], [ %following, %next ]
  %is_last = icmp eq ptr %extension, null
  br i1 %is_last, label %no, label %kind
kind:
  %kind_at = getelementptr i8, ptr %extension, i64 8
  %kind_is = load i32, ptr %kind_at
  %asks_version = icmp eq i32 %kind_is, 1
  br i1 %asks_version, label %version, label %next
next:
  %next_at = getelementptr i8, ptr %extension, i64 16
  %following = load ptr, ptr %next_at
  br label %look
version:
  %metadata_at = getelementptr i8, ptr %extension, i64 24
  %metadata = load ptr, ptr %metadata_at
  %major = getelementptr i8, ptr %metadata, i64 24
  store i32 {MAJOR_VERSION}, ptr %major
  %minor = getelementptr i8, ptr %metadata, i64 28
  store i32 MINOR_VERSION, ptr %minor
  %traits = getelementptr i8, ptr %metadata, i64 32
  store i32 0, ptr %traits
  ret i1 true
no:
  ret i1 false
}}

; Whether this is the stage at which programs run.
define internal i1 @ffi.runs(ptr %frame) {{
  %stage_at = getelementptr i8, ptr %frame, i64 32
  %stage = load i32, ptr %stage_at
  %runs = icmp eq i32 %stage, 3
  ret i1 %runs
}}

; Whether the structures have the sizes that are known.
define internal i1 @ffi.is_known(ptr %frame) {{
  %size = load i64, ptr %frame
  %is_whole = icmp uge i64 %size, 168
  %arguments_at = getelementptr i8, ptr %frame, i64 {ARGUMENTS}
  %arguments = load i64, ptr %arguments_at
  %has_arguments = icmp eq i64 %arguments, 40
  %results_at = getelementptr i8, ptr %frame, i64 {RESULTS}
  %results = load i64, ptr %results_at
  %has_results = icmp eq i64 %results, 40
  %attributes_at = getelementptr i8, ptr %frame, i64 {ATTRIBUTES}
  %attributes = load i64, ptr %attributes_at
  %has_attributes = icmp eq i64 %attributes, 48
  %both = and i1 %has_arguments, %has_results
  %all = and i1 %both, %has_attributes
  %known = and i1 %is_whole, %all
  ret i1 %known
}}

; An error with this text, which XLA copies.
define internal ptr @ffi.fail(ptr %frame, ptr %message, i32 %code) {{
  %args = alloca [4 x i64]
  store i64 28, ptr %args
  %extensions = getelementptr i8, ptr %args, i64 8
  store ptr null, ptr %extensions
  %message_at = getelementptr i8, ptr %args, i64 16
  store ptr %message, ptr %message_at
  %code_at = getelementptr i8, ptr %args, i64 24
  store i32 %code, ptr %code_at
  %api_at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api_at
  %create_at = getelementptr i8, ptr %api, i64 48
  %create = load ptr, ptr %create_at
  %error = call ptr %create(ptr %args)
  ret ptr %error
}}
"""


def helpers() -> str:
    """Functions of LLVM IR that handlers call: `@ffi.told_version`, `@ffi.runs`, `@ffi.is_known`, `@ffi.fail`."""
    _, minor = installed_version()
    return _TEXT.replace("MINOR_VERSION", str(minor))


@cache
def installed_version() -> tuple[int, int]:
    """Major and minor version of the interface, as the installed jaxlib's header has them; (-1, 0) without one."""
    try:
        header = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text(encoding="utf-8")
    except OSError:
        return -1, 0
    found = dict(re.findall(r"^#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", header, re.MULTILINE))
    return int(found.get("MAJOR", -1)), int(found.get("MINOR", 0))


def is_supported() -> bool:
    """Whether the installed jaxlib's interface has the layout that is written here."""
    return installed_version()[0] == MAJOR_VERSION


def made_once(make: Callable[[], Made]) -> Callable[[], Made]:
    """A function that gives what `make` gave at the first call, whichever threads call it first: XLA refuses a second
    handler of a name."""
    lock = threading.RLock()
    made: list[Made] = []

    @wraps(make)
    def get() -> Made:
        if not made:
            with lock:
                if not made:
                    made.append(make())
        return made[0]

    return get


def register(name: str, address: int) -> None:
    """Let programs for CPUs call the handler at an address, which has to stay there, by a name."""
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    jax.ffi.register_ffi_target(name, capsule(address, b"xla._CUSTOM_CALL_TARGET", None), platform="cpu")
