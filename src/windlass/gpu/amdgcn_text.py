"""Device code as AMD's GPUs have it: the same LLVM IR with their calls, address spaces and kernel arguments.

Both kinds of GPU number address spaces alike: 1 is global, 3 shared, 4 constant, 5 local. What differs: local variables
and constants lie in address spaces of their own and not in the generic one, structs by value are read where the launch
has put them, and NVIDIA's intrinsics are functions of our library.
"""

from __future__ import annotations

import re

from windlass.llvm.names import NAME
from windlass.llvm.text import Layouts, split_at_commas, take_argument

TRIPLE = "amdgcn-amd-amdhsa"
_LAYOUT = (
    "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-"
    "p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-"
    "n32:64-S32-A5-G1-ni:7:8:9"
)
_ALLOCA = re.compile(rf"^(\s+)%({NAME}) = alloca ([^\n]*)$", re.MULTILINE)
_LIFETIME = re.compile(r"^\s+(?:tail )?call void @llvm\.lifetime\.[^\n]*\n", re.MULTILINE)
_GENERIC = re.compile(rf"^@({NAME}) = ((?:[a-z_]+ )*)(constant|global) ", re.MULTILINE)
_NVVM = re.compile(r"@llvm\.nvvm\.([\w.]+)\(")
_DECLARED_NVVM = re.compile(r"^declare [^@\n]*?(void|i1|i32|i64|float|\{ [^}]* \}) @llvm\.nvvm\.", re.MULTILINE)
_ATOMIC = re.compile(
    r"^(\s+%[^\n]* = (?:atomicrmw|cmpxchg) [^\n]*?) (?=(?:monotonic|acquire|release|acq_rel|seq_cst)\b)", re.MULTILINE
)
_KERNEL = re.compile(
    rf"^define ([^@\n]*)ptx_kernel ([^@\n]*@{NAME})\(([^\n]*)\)( [^\n]*?)\{{\n((?:{NAME}:[^\n]*\n)?)", re.MULTILINE
)
_MOST_THREADS = re.compile(r'"nvvm\.maxntid"="(\d+)"')


def amdgcn_text(text: str) -> str:
    """The module for AMD's GPUs, of one for NVIDIA's whose calls are the library's already (`module_text`)."""
    layouts = Layouts()
    layouts.named.update(re.findall(rf"^(%{NAME}) = type ([^\n]*)$", text, re.MULTILINE))
    text = re.sub(r'^target triple = "[^"]*"', f'target triple = "{TRIPLE}"', text, flags=re.MULTILINE)
    text = re.sub(r'^target datalayout = "[^"]*"', f'target datalayout = "{_LAYOUT}"', text, flags=re.MULTILINE)
    text = _LIFETIME.sub("", text)
    text = _ALLOCA.sub(
        r"\1%\2.private = alloca \3, addrspace(5)\n\1%\2 = addrspacecast ptr addrspace(5) %\2.private to ptr", text
    )
    for name, _, _ in _GENERIC.findall(text):
        address = f"addrspacecast (ptr addrspace(1) @{name} to ptr)"
        text = re.sub(rf"(?<=[ (])@{re.escape(name)}(?![-\w.$])", address, text)
    text = _GENERIC.sub(r"@\1 = \2addrspace(1) \3 ", text)
    text = _DECLARED_NVVM.sub(r"declare \1 @llvm.nvvm.", text)
    text = _NVVM.sub(lambda match: f"@{library_function(match[1])}(", text)
    text = _ATOMIC.sub(r'\1 syncscope("agent") ', text)
    text = _MOST_THREADS.sub(r'"amdgpu-flat-work-group-size"="1,\1"', text)
    return _KERNEL.sub(lambda match: _kernel(match, layouts), text)


def library_function(intrinsic: str) -> str:
    """What the library calls an intrinsic of NVIDIA's.

    >>> library_function("read.ptx.sreg.tid.x")
    '__windlass_nvvm_read_ptx_sreg_tid_x'
    """
    return "__windlass_nvvm_" + intrinsic.replace(".", "_")


def _kernel(match: re.Match[str], layouts: Layouts) -> str:
    """A kernel's first lines: structs by value are copied from where the launch has them."""
    before, name, parameters, after, label = match.groups()
    taken: list[str] = []
    lines: list[str] = []
    for parameter in split_at_commas(parameters):
        _, value, attributes = take_argument(parameter)
        record = attributes.get("byval")
        if record is None:
            taken.append(parameter)
            continue
        stated = re.search(r"\balign (\d+)", parameter)
        size, alignment = layouts.of(record)[0], int(stated[1]) if stated else layouts.of(record)[1]
        taken.append(f"ptr addrspace(4) byref({record}) align {alignment} {value}.given")
        lines += [
            f"  {value}.private = alloca {record}, align {alignment}, addrspace(5)",
            f"  call void @llvm.memcpy.p5.p4.i64(ptr addrspace(5) align {alignment} {value}.private, "
            f"ptr addrspace(4) align {alignment} {value}.given, i64 {size}, i1 false)",
            f"  {value} = addrspacecast ptr addrspace(5) {value}.private to ptr",
        ]
    copies = "".join(f"{line}\n" for line in lines)
    return f"define {before}amdgpu_kernel {name}({', '.join(taken)}){after}{{\n{label}{copies}"
