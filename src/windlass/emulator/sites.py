"""What instrumentation tells of a module: its checked instructions, variables and functions."""

from __future__ import annotations

from dataclasses import dataclass, field

ATOMIC, VOLATILE, RELAXED, SPECULATED = 1, 2, 4, 8


@dataclass(frozen=True)
class Site:
    """One instrumented instruction: what it is, in which function, its debug location's number, what it accesses."""

    kind: str
    function: str
    debug: int | None = None
    size: int = 0
    alignment: int = 1
    flags: int = 0
    pointer: str = ""
    text: str = ""


@dataclass(frozen=True)
class GlobalSite:
    """A variable of the module. `space` is LLVM's address space; `initial` names a copy of its first contents,
    which only the compiled module knows where they hold addresses (of functions, of other variables)."""

    name: str
    size: int
    alignment: int
    space: int
    is_constant: bool
    initial: str | None
    holds_addresses: bool = False


@dataclass
class FunctionFacts:
    """What the scheduler needs to know of a function."""

    calls: set[str] = field(default_factory=set[str])
    waits: bool = False
    loops: bool = False
    is_relaxed: bool = False
    calls_indirectly: bool = False


@dataclass(frozen=True)
class Instrumented:
    """The rewritten module; `kernels` maps linker names to entry points, `uses_fibres` to whether threads wait."""

    text: str
    sites: tuple[Site, ...]
    globals: tuple[GlobalSite, ...]
    kernels: dict[str, str]
    uses_fibres: dict[str, bool]
    runtime_functions: frozenset[str]
    library_functions: frozenset[str]
    frame_bytes: int
    """No function's frame on the stack is larger."""
