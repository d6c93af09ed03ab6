"""Kernels that take structs by value with pointers in them: each such pointer becomes a parameter of its own.

The kernel begins with a copy of the struct, into which it stores its further parameters. clang takes copy and stores
apart then: what is left is a kernel that takes arrays, as others do.
"""

from __future__ import annotations

from dataclasses import replace

from windlass.frontends.cuda.specialization import alone_in_module, given_name, optimized, take_name, with_parameters
from windlass.ir.signature import DeviceCode, KernelSignature

_COPY = "@llvm.memcpy.p0.p0.i64("


def give_pointers_apart(code: DeviceCode, signature: KernelSignature, fast_math: bool) -> DeviceCode:
    """The kernel, alone in its module, with the pointers in its structs as parameters behind all others, in order.

    What the structs hold in their place means nothing any more.

    Raises CompilationError (WL0108) where clang fails.
    """

    def change(pieces: list[str]) -> list[str]:
        lines: list[str] = []
        for position, parameter in enumerate(signature.parameters):
            if not parameter.pointers:
                continue
            own = {member.offset: f"{given_name(position)}_{member.offset}" for member in parameter.pointers}
            pieces += [f"ptr %{each}" for each in own.values()]
            name = take_name(pieces, position)
            if name is None:  # A parameter without a name is not used.
                continue
            lines += [
                f"  %{name} = alloca [{parameter.size} x i8], align {max(8, parameter.alignment)}\n",
                f"  call void {_COPY}ptr %{name}, ptr %{given_name(position)}, i64 {parameter.size}, i1 false)\n",
            ]
            for offset, each in own.items():
                lines += [
                    f"  %place{each} = getelementptr i8, ptr %{name}, i64 {offset}\n",
                    f"  store ptr %{each}, ptr %place{each}\n",
                ]
        return lines

    text = with_parameters(alone_in_module(code.llvm_ir, signature.mangled), signature.mangled, change)
    if f"declare void {_COPY}" not in text:
        text += f"\ndeclare void {_COPY}ptr, ptr, i64, i1)\n"
    given = tuple(replace(parameter, pointers=()) for parameter in signature.parameters)
    taken = tuple(member.parameter for parameter in signature.parameters for member in parameter.pointers)
    llvm_ir = optimized(text, fast_math, "a kernel that takes structs with pointers")
    return replace(code, llvm_ir=llvm_ir, kernels=(replace(signature, parameters=(*given, *taken)),), templates=())
