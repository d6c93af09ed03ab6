"""From CUDA source to an interpreted launch, for tests."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from windlass.frontends.cuda import compile_device, find_kernel
from windlass.frontends.llvm import import_kernel, variable_contents
from windlass.ir import Function, Op
from windlass.ir.signature import DeviceCode
from windlass.ir.verifier import verify
from windlass.loops import evaluate_kernel
from windlass.loops.threads import LaunchState
from windlass.loops.verifier import Profile, verify_kernel


@functools.cache
def compiled(source: str) -> DeviceCode:
    return compile_device(source, name="test.cu")


def imported(source: str, kernel: str = "kernel") -> Function:
    """The kernel of that name at the loop level."""
    code = compiled(source)
    return checked(import_kernel(code, find_kernel(code, kernel).mangled))


def checked(function: Function, profile: Profile = "imported") -> Function:
    """The function, in which all rules of the IR and of the loop level hold."""
    verify(function)
    verify_kernel(function, profile)
    return function


def imported_ir(body: str, parameters: str, declarations: str = "") -> Function:
    """A kernel written in LLVM IR: the body of `define ptx_kernel void @kernel(parameters)`."""
    text = f"""target triple = "nvptx64-nvidia-cuda"
{declarations}
define ptx_kernel void @kernel({parameters}) {{
{body}
}}
"""
    return checked(import_kernel(DeviceCode(text, ()), "kernel"))


def run(
    source: str,
    *arguments: Any,
    grid: Sequence[int] = (1,),
    block: Sequence[int] = (1,),
    kernel: str = "kernel",
    shared_bytes: int = 0,
) -> LaunchState:
    """Evaluate a launch of a kernel; arrays are updated in place."""
    held = variable_contents(compiled(source))
    return evaluate_kernel(imported(source, kernel), grid, block, arguments, held, shared_bytes)


def ops_of(function: Function, *kinds: type[Op]) -> list[Op]:
    """All ops of these classes, in order."""
    return [op for op in function.walk() if isinstance(op, kinds)]
