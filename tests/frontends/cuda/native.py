"""Runs a kernel's LLVM IR on the CPU, one thread after another: what the headers mean, without any later stage."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from windlass.frontends.cuda import find_kernel
from windlass.ir.signature import DeviceCode

_REGISTERS = ("tid", "ctaid", "ntid", "nctaid")


def load_kernel(code: DeviceCode, name: str) -> Callable[..., None]:
    """The kernel as a function of arrays and numbers, run by one block of one thread."""
    kernel = find_kernel(code, name)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    text = re.sub(r"^target (?:triple|datalayout) = .*$", "", code.llvm_ir, flags=re.MULTILINE)
    text = text.replace("ptx_kernel ", "").replace("addrspace(1) ", "").replace("addrspace(4) ", "")
    text = re.sub(r'"target-(?:cpu|features)"="[^"]*"', "", text)
    text = re.sub(r"^declare .*@llvm\.nvvm\.read\.ptx\.sreg\.\w+\.\w\(\).*$", "", text, flags=re.MULTILINE)
    text = text.replace("@llvm.nvvm.read.ptx.sreg.", "@register.")
    for register in _REGISTERS:
        for axis in "xyz":
            value = int(register in {"ntid", "nctaid"})
            text += f"\ndefine i32 @register.{register}.{axis}() {{ ret i32 {value} }}\n"
    # Any parameter of these tests that is a struct has one address, as a pointer has.
    text = re.sub(r"byval\([^)]*\) ", "", text)
    module = llvm.parse_assembly(text)
    machine = llvm.Target.from_default_triple().create_target_machine(
        opt=0, features=llvm.get_host_cpu_features().flatten()
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    address = engine.get_function_address(kernel.mangled)

    def run(*arguments: Any) -> None:
        _ = engine
        passed: list[Any] = []
        for parameter, argument in zip(kernel.parameters, arguments, strict=True):
            if isinstance(argument, np.ndarray):
                assert parameter.dtype is not None
                passed.append(ctypes.c_void_p(argument.ctypes.data))
            elif parameter.dtype is not None and parameter.dtype.kind == "f":
                passed.append({4: ctypes.c_float, 8: ctypes.c_double}[parameter.size](argument))
            else:
                passed.append({4: ctypes.c_int32, 8: ctypes.c_int64}[parameter.size](argument))
        ctypes.CFUNCTYPE(None, *[type(item) for item in passed])(address)(*passed)

    return run
