"""The library of GPU functions, compiled for this machine: what its mathematics gives for arrays of numbers."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import llvmlite.binding as llvm_binding
import numpy as np
from numpy.typing import NDArray

from windlass.gpu.functions import PREFIX
from windlass.gpu.library import library_for

llvm: Any = llvm_binding

HOST = "x86_64-unknown-linux-gnu"


@functools.cache
def engine() -> Any:
    """The library and loops around its functions, as machine code."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(library_for(HOST).text)
    defined = [each for each in module.functions if not each.is_declaration]
    loops = [_loop(each.name, [str(argument.type) for argument in each.arguments]) for each in defined]
    module.link_in(llvm.parse_assembly(f'target triple = "{HOST}"\n' + "\n".join(filter(None, loops))))
    machine = llvm.Target.from_triple(HOST).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    made = llvm.create_mcjit_compiler(module, machine)
    made.finalize_object()
    return made


def _loop(name: str, kinds: list[str]) -> str | None:
    """A function of arrays that calls one of floats for each of their elements."""
    kind = kinds[0] if kinds else ""
    if kind not in ("float", "double") or kinds not in ([kind], [kind, kind]) or not name.startswith(PREFIX):
        return None
    if name.removeprefix(PREFIX).rstrip("f") in (
        "ilogb",
        "isnan",
        "isin",
        "finite",
        "lround",
        "llround",
        "lrint",
        "llrint",
    ):
        return None  # they give integers
    parameters = "".join(f"ptr %in{place}, " for place in range(len(kinds)))
    loads = "\n".join(
        f"  %at{place} = getelementptr {kind}, ptr %in{place}, i64 %i\n  %x{place} = load {kind}, ptr %at{place}"
        for place in range(len(kinds))
    )
    arguments = ", ".join(f"{kind} %x{place}" for place in range(len(kinds)))
    return f"""
declare {kind} @{name}({", ".join(kinds)})
define void @{name}.loop({parameters}ptr %out, i64 %n) {{
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
{loads}
  %y = call {kind} @{name}({arguments})
  %to = getelementptr {kind}, ptr %out, i64 %i
  store {kind} %y, ptr %to
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret void
}}"""


def evaluate(name: str, *arrays: NDArray[Any]) -> NDArray[Any]:
    """The library's function of these arrays, by its name in the C library."""
    address = engine().get_function_address(f"{PREFIX}{name}.loop")
    given = [np.ascontiguousarray(each) for each in arrays]
    out = np.empty_like(given[0])
    pointers = [each.ctypes.data for each in (*given, out)]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers), ctypes.c_int64)(address)(*pointers, out.size)
    return out


def distance(got: NDArray[Any], wanted: NDArray[Any]) -> NDArray[Any]:
    """How many units in the last place of the wanted numbers, which may have more digits, the others are off.

    Both NaN, or the same infinity or zero, is none; another sign of zero, or only one of them NaN or infinite, is many.
    """
    dtype = got.dtype
    tiny, digits = np.finfo(dtype).smallest_normal, np.finfo(dtype).nmant
    with np.errstate(all="ignore"):
        rounded = wanted.astype(dtype)
        exponent = np.floor(np.log2(np.maximum(np.abs(rounded), tiny).astype(np.float64)))
        unit = np.exp2(exponent - digits).astype(wanted.dtype)
        off = np.abs(got.astype(wanted.dtype) - wanted) / unit
    same = (np.isnan(got) & np.isnan(rounded)) | (np.isinf(rounded) & (got == rounded))
    zero = (rounded == 0) & (got == 0) & (wanted == 0)
    off = np.where(same, 0, np.where(np.isfinite(got) & np.isfinite(rounded), off, 1e9))
    return np.where(zero & (np.signbit(got) != np.signbit(wanted)), 1e9, off)
