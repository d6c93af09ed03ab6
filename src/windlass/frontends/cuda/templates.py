"""Kernel templates: which a unit declares, and under which names their instances were asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from windlass.frontends.cuda.source import INSTANCE_MARKER, Source
from windlass.ir.signature import KernelSignature

_COMMENTS_AND_STRINGS = re.compile(rb'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
_TEMPLATE_KERNEL = re.compile(
    rb"\btemplate\s*<[^;{}()]*>\s*(?:\[\[[^\]]*\]\]\s*)?(?:(?:static|inline|extern|__host__|__forceinline__)\s+)*"
    rb"__global__\s+(?:(?:static|inline|void|__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\))\s+)*"
    rb"(?:__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?(?:void\s+)?(\w+)\s*\("
)

_MARKER = re.compile(rf'@{INSTANCE_MARKER}(\d+) = .*? ptr @(?:"([^"]*)"|([-\w$.]+))')


def kernel_templates(unit: Source, kernels: Iterable[KernelSignature]) -> tuple[str, ...]:
    """Names of the kernel templates in the unit's own text that have no instance.

    >>> text = b"template <class T> __global__ void axpy(T a, T *x) {}"
    >>> kernel_templates(Source("a.cu", text, is_file=False), ())
    ('axpy',)
    """
    plain = _COMMENTS_AND_STRINGS.sub(b" ", unit.text)
    present = {unqualified(kernel.name).partition("<")[0] for kernel in kernels}
    names = dict.fromkeys(match[1].decode() for match in _TEMPLATE_KERNEL.finditer(plain))
    return tuple(name for name in names if name not in present)


def unqualified(name: str) -> str:
    """The name without its namespaces: "ns::axpy<ns::T>" → "axpy<ns::T>".

    >>> unqualified("outer::inner::axpy<ns::T>")
    'axpy<ns::T>'
    """
    head, angle, arguments = name.partition("<")
    return head.rpartition("::")[2] + angle + arguments


def comparable(name: str) -> str:
    """A name in a form in which equal instances are equal: without spaces, integer suffixes and a leading "::".

    >>> comparable("reduce<float, 32u, unsigned int>") == comparable("reduce<float,32,unsigned>")
    True
    """
    name = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", name)
    name = re.sub(r"\bunsigned int\b", "unsigned", name)
    name = re.sub(r"\b(long long|long|short)(?: unsigned)? int\b", r"\1", name)
    return re.sub(r"\s+", "", name).removeprefix("::")


def take_instance_markers(llvm_ir: str) -> tuple[str, dict[int, str]]:
    """The module without the variables that asked for instances, and each instance's mangled name by its number."""
    found: dict[int, str] = {}
    lines: list[str] = []
    for line in llvm_ir.split("\n"):
        if line.startswith(f"@{INSTANCE_MARKER}"):
            match = _MARKER.match(line)
            if match is not None:
                found[int(match[1])] = match[2] or match[3]
            continue
        if line.startswith("@llvm.compiler.used") and INSTANCE_MARKER in line:
            continue
        lines.append(line)
    return "\n".join(lines), found


def with_requested_names(
    kernels: tuple[KernelSignature, ...], requested: tuple[str, ...], mangled: dict[int, str]
) -> tuple[KernelSignature, ...]:
    """The kernels, and once more under its requested name each instance that the compiler calls something else.

    "axpy<real>" is "axpy<double>" to the compiler. `mangled` has the linker's name of each request.
    """
    extra: list[KernelSignature] = []
    for number, name in enumerate(requested):
        kernel = next((kernel for kernel in kernels if kernel.mangled == mangled.get(number)), None)
        if kernel is not None and comparable(name) != comparable(kernel.name):
            extra.append(replace(kernel, name=name))
    return (*kernels, *extra)
