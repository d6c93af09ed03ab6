"""Finding a kernel by the name that a user gives it."""

from __future__ import annotations

import difflib
import re

from windlass.diagnostics import CompilationError, Diagnostic
from windlass.frontends.cuda.templates import comparable, unqualified
from windlass.ir.signature import DeviceCode, KernelSignature

_MOST_NAMES = 12


def find_kernel(code: DeviceCode, name: str, what: str = "kernel") -> KernelSignature:
    """The kernel with this name: readable ("ns::axpy<float>"), mangled, or unqualified where that is unambiguous.

    A list of parameter types may follow, "scale(float *, int)": it chooses among overloads, and is ignored where
    there are none. `what` messages call what is looked for. Raises CompilationError: WL0107 for a template that
    needs an instance, WL0106 for anything else.

    >>> from windlass.frontends.cuda.compilation import compile_device
    >>> code = compile_device("namespace a { __global__ void f(int *x) { *x = 1; } }")
    >>> find_kernel(code, "f").name
    'a::f'
    """
    for kernel in code.kernels:
        if kernel.mangled == name:
            return kernel
    if name != name.strip() or not name.isprintable():
        raise CompilationError(_not_found(code, name, what))
    base, types = _split_types(name)
    wanted = comparable(base)
    found = [kernel for kernel in code.kernels if comparable(kernel.name) == wanted]
    found = found or [kernel for kernel in code.kernels if comparable(unqualified(kernel.name)) == wanted]
    if not found and "<" not in base:
        found = [kernel for kernel in code.kernels if _base(kernel.name) == wanted]
        found = found or [kernel for kernel in code.kernels if unqualified(_base(kernel.name)) == wanted]
        if len({kernel.mangled for kernel in found}) > 1:
            _require_instance(base, found, what)
    if len(found) > 1 and types is not None:
        found = [kernel for kernel in found if _types(kernel) == types] or found
    if len({kernel.mangled for kernel in found}) > 1:
        _refuse_ambiguous(base, found, what)
    if found:
        return found[0]
    template = unqualified(base).partition("<")[0]
    if template in code.templates or any(
        unqualified(_base(k.name)) == template and "<" in k.name for k in code.kernels
    ):
        instances = [kernel for kernel in code.kernels if unqualified(_base(kernel.name)) == template]
        _require_instance(base, instances, what)
    raise CompilationError(_not_found(code, base, what))


def _split_types(name: str) -> tuple[str, str | None]:
    """A name and the parameter types behind it: "scale(float *, int)" → ("scale", "float*,int")."""
    depth = 0
    for index, character in enumerate(name):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0 and index and not name[:index].endswith("anonymous namespace"):
            return name[:index].strip(), re.sub(r"\s+", "", name[index + 1 :].removesuffix(")"))
    return name.strip(), None


def _types(kernel: KernelSignature) -> str:
    return re.sub(r"\s+", "", ",".join(p.type_name.replace("__restrict__", "") for p in kernel.parameters))


def _base(name: str) -> str:
    return name.partition("<")[0]


def _spelled(kernel: KernelSignature) -> str:
    return f"{kernel.name}({', '.join(p.type_name.replace(' __restrict__', '') for p in kernel.parameters)})"


def _require_instance(name: str, instances: list[KernelSignature], what: str) -> None:
    base = name.partition("<")[0]
    if "<" in name:
        raise CompilationError(
            Diagnostic(
                "WL0107",
                f"'{name}' is an instance of a {what} template that is not compiled in",
                help=f'ask for it when compiling: instances=["{name}"]',
            )
        )
    notes = [f"the file instantiates {', '.join(sorted({kernel.name for kernel in instances}))}"] if instances else []
    raise CompilationError(
        Diagnostic(
            "WL0107",
            f"{what} '{base}' is a template: name an instance of it",
            notes=tuple(notes),
            help=f'give template arguments, as in module["{base}<float>"]',
        )
    )


def _refuse_ambiguous(name: str, kernels: list[KernelSignature], what: str) -> None:
    raise CompilationError(
        Diagnostic(
            "WL0106",
            f"'{name}' names {len(kernels)} {what}s",
            notes=tuple(f"{_spelled(kernel)} is {kernel.mangled}" for kernel in kernels),
            help="name one with its namespace and parameter types, or by its mangled name",
        )
    )


def _not_found(code: DeviceCode, name: str, what: str) -> Diagnostic:
    names = list(dict.fromkeys([*(kernel.name for kernel in code.kernels), *code.templates]))
    by_plain = {plain: full for full in names for plain in (unqualified(full), unqualified(_base(full)), full)}
    close = difflib.get_close_matches(name, list(by_plain), n=1)
    shown = ", ".join(names[:_MOST_NAMES]) + (
        f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    )
    return Diagnostic(
        "WL0106",
        f"there is no {what} named '{name}'",
        notes=(f"{what}s here: {shown}",) if names else (),
        help=f"did you mean '{by_plain[close[0]]}'?" if close else None,
    )
