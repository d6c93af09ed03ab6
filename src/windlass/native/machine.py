"""LLVM IR to machine code of this machine."""

from __future__ import annotations

import ctypes
import hashlib
import sys
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm_binding

from windlass.diagnostics.cache import keep, read_kept
from windlass.ir import Op
from windlass.llvm.object_code import undefined_symbols
from windlass.native.arithmetic import LIBRARY, VECTOR_FUNCTIONS, vector_name
from windlass.native.refusal import NotNative
from windlass.native.wrapped_counters import keep_wrapped_counters

llvm: Any = llvm_binding  # llvmlite has no type stubs

_MEMORY = frozenset({"memset", "memcpy", "memmove", "malloc", "realloc", "free"})
"""What the code generator calls of itself, and what makes tapes longer."""
THREADS = frozenset(
    f"pthread_{name}"
    for name in (
        "create", "detach", "mutex_init", "mutex_lock", "mutex_unlock", "cond_init", "cond_wait", "cond_broadcast",
    )
)  # fmt: skip
PYTHON = frozenset({"PyErr_CheckSignals", "PyErr_Clear", "PyGILState_Ensure", "PyGILState_Release"})
"""What hears of Ctrl-C."""
OF_HANDLERS = frozenset({"clock_gettime", "snprintf"})
"""What the function calls through which XLA runs native code."""
MOST_LINES_UNROLLED = 600
"""Longer code has loops enough: to unroll them takes most of the time of compiling."""
_compiling = threading.Lock()


class MachineCode:
    """Code that is loaded, until this object goes."""

    def __init__(self, engine: Any, digest: str) -> None:
        self._engine = engine
        self.digest = digest
        """That of all that the code was made from."""

    def address(self, name: str) -> int:
        return int(self._engine.get_function_address(name))

    def place_of(self, name: str) -> int:
        """Where a variable is."""
        return int(self._engine.get_global_value_address(name))


def compile_text(text: str, *, is_kept: bool = True) -> MachineCode:
    """The code of a module of LLVM IR, which calls nothing but what native code may call.

    What was compiled before, by any process of the user's, is loaded from the cache, unless it `is_kept` by none: text
    that holds addresses is another one in each process. Raises NotNative where it needs a function that there is not.
    """
    text = keep_wrapped_counters(text)
    with _compiling:
        digest = hashlib.sha256(f"{_versions()}\0{text}".encode()).hexdigest()
        name = f"native-{digest}.kept"
        code = read_kept(name) if is_kept else None
        if code is None:
            code = _object_code(text)
            if is_kept:
                keep(name, code)
        for symbol in sorted(undefined_symbols(code)):
            address = _address_of(symbol)
            if address is None:
                raise NotNative(f"its machine code needs `{symbol}`, which there is not")
            llvm.add_symbol(symbol, address)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(f'target triple = "{_triple()}"'), _target_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return MachineCode(engine, digest)


def _object_code(text: str) -> bytes:
    """The module, optimized and as object code."""
    machine = _target_machine()
    module = llvm.parse_assembly(f'target triple = "{_triple()}"\n{text}')
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    options.loop_unrolling = text.count("\n") <= MOST_LINES_UNROLLED
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


@cache
def _versions() -> str:
    """What machine code depends on beside the text: LLVM, how it is called here, and this machine's CPU."""
    features = llvm.get_host_cpu_features().flatten()
    known = (llvmlite.__version__, llvm.llvm_version_info, _triple(), llvm.get_host_cpu_name(), features)
    return f"{known}\0{Path(__file__).read_text(encoding='utf-8')}"


def _target_machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(_triple())
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=3, codemodel="large", jit=True
    )


def _triple() -> str:
    """This machine, with object code in ELF, which is read before it is linked."""
    triple = llvm.get_default_triple()
    return triple if "linux" in triple else f"{triple}-elf"


@cache
def _libraries() -> tuple[Any, ...]:
    name = "libm.so.6" if sys.platform.startswith("linux") else "libm.dylib"
    return ctypes.CDLL(name), ctypes.CDLL(None)


@cache
def vector_functions() -> tuple[str, ...]:
    """Those of libmvec that there are here: none without AVX2, or where the C library is another."""
    features = llvm.get_host_cpu_features()
    try:
        library = ctypes.CDLL("libmvec.so.1") if features.get("avx2") else None
    except OSError:
        library = None
    return tuple(name for name in VECTOR_FUNCTIONS if library is not None and _find((library,), name))


def has_vector_function(op: Op, *, is_exact: bool) -> bool:
    """Whether there is a function of libmvec for the op, and it may be used."""
    return not is_exact and vector_name(type(op), op.operands[0].dtype) in vector_functions()


@cache
def has_masked_stores() -> bool:
    """Whether vectors are stored under masks as fast as without: by AVX-512."""
    return bool(llvm.get_host_cpu_features().get("avx512vl"))


@cache
def _address_of(name: str) -> int | None:
    if name in VECTOR_FUNCTIONS:
        return _find((ctypes.CDLL("libmvec.so.1"),), name)
    if name in LIBRARY or name in _MEMORY or name in THREADS or name in OF_HANDLERS:
        return _find(_libraries(), name)
    return _find((ctypes.pythonapi,), name) if name in PYTHON else None


def _find(libraries: Iterable[Any], name: str) -> int | None:
    for library in libraries:
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError:
            continue
    return None
