"""What a kernel reaches: the functions and variables that it, and what it calls, refer to."""

from __future__ import annotations

import re
from collections.abc import Mapping

from windlass.llvm.names import NAME

_BODY = re.compile(rf"^define [^\n]*?@({NAME})\([^\n]*\n(.*?)^}}$", re.MULTILINE | re.DOTALL)


def reached_names(llvm_ir: str, kernel: str) -> frozenset[str]:
    """All global names that the bodies of a kernel and of the functions that it calls mention.

    >>> text = "define void @k() {\\n  call void @f()\\n}\\ndefine void @f() {\\n  store i32 1, ptr @x\\n}\\n"
    >>> sorted(reached_names(text, "k"))
    ['f', 'x']
    """
    return names_reached_from(bodies_of(llvm_ir), kernel)


def bodies_of(llvm_ir: str) -> dict[str, str]:
    """The bodies of all functions, by name."""
    return {match[1].strip('"'): match[2] for match in _BODY.finditer(llvm_ir)}


def names_reached_from(bodies: Mapping[str, str], kernel: str) -> frozenset[str]:
    """As `reached_names`, in a module whose bodies are known."""
    reached: set[str] = set()
    todo = [kernel]
    while todo:
        for name in re.findall(rf"@({NAME})", bodies.get(todo.pop(), "")):
            if name.strip('"') not in reached:
                reached.add(name.strip('"'))
                todo.append(name.strip('"'))
    return frozenset(reached)
