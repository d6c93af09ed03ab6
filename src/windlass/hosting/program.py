"""Whole CUDA programs: their sources compiled, host side and device side, to be run or called function by function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windlass.diagnostics import CompilationError
from windlass.diagnostics.deferral import deferred
from windlass.frontends.cuda import link_units, unresolved_symbols
from windlass.frontends.cuda.child import map_children
from windlass.hosting.host_code import build_program
from windlass.hosting.libraries import is_library_function
from windlass.hosting.program_run import LaunchRecord, ProgramRun
from windlass.launching.module import Module
from windlass.launching.tiering import Mode

if TYPE_CHECKING:
    from windlass.hosting import host_function
    from windlass.hosting.host_function import HostFunction
else:
    host_function = deferred("windlass.hosting.host_function")


@dataclass
class Program:
    """A CUDA program of one or more source files, to be run without a GPU. Made by `windlass.cuda.program`.

    `mode` says how kernels run: "auto" (emulated at first, as native code or raised where that takes long), "raised"
    (raised where they can be), "native" (as native code where they can be) or "emulated".
    """

    sources: Sequence[Path]
    include: Sequence[str | Path] = ()
    define: Mapping[str, object] = field(default_factory=dict[str, object])
    standard: str = "gnu++20"
    mode: Mode = "auto"

    def __post_init__(self) -> None:
        folders, macros = tuple(self.include), dict(self.define)
        options = {"include": folders, "define": macros, "standard": self.standard}

        libraries: list[bytes] = []

        def build() -> None:
            library = build_program(self.sources, folders, macros, self.standard, is_library_function)
            libraries.append(library)

        def compile_module(place: int) -> None:
            modules[place] = _compile_module(self.sources[place], options)

        modules: list[Module | None] = [None] * len(self.sources)
        steps = [*(partial(compile_module, place) for place in range(len(self.sources))), build]
        map_children(lambda step: step(), steps, 2)
        (self.library,) = libraries
        self.modules: Sequence[Module | None] = modules
        self.names: Sequence[Mapping[str, str]] = [{}] * len(self.sources)
        """By unit: what kernels and variables are called that had to be renamed."""
        if any(module is not None and unresolved_symbols(module.code.llvm_ir) for module in self.modules):
            linked = link_units(self.sources, folders, macros, self.standard)
            whole = Module(self.sources[0], options, code=linked.code)
            self.modules = [whole] * len(self.sources)
            self.names = linked.names

    def run(
        self,
        arguments: Sequence[str] = (),
        *,
        observe: Callable[[LaunchRecord], None] | None = None,
    ) -> int:
        """Run `main` with these arguments; gives the exit status.

        The program runs in this process: what it prints goes to its standard output, and a crash of its own ends the
        process. `observe` is called after each launch.
        """
        self._reset_variables()
        return ProgramRun(self, observe).run(arguments)

    def __getitem__(self, name: str) -> HostFunction:
        """A host function by its name in the source, to be called with arrays for its pointers.

        The program stays loaded: what one function keeps in global variables (handles, plans) others find there.

        Raises CompilationError (WL0110) where there is no such function.
        """
        return host_function.HostFunction(self._loaded, host_function.find_entry(self._loaded.entries, name))

    @cached_property
    def _loaded(self) -> ProgramRun:
        self._reset_variables()
        folders, macros = tuple(self.include), dict(self.define)
        library = build_program(self.sources, folders, macros, self.standard, is_library_function, is_observed=True)
        return ProgramRun(self, None, library)

    def _reset_variables(self) -> None:
        for module in {id(each): each for each in self.modules}.values():
            if module is not None:
                module.reset_variables()


def _compile_module(source: Path, options: Mapping[str, Any]) -> Module | None:
    """The device side of a source; None where it holds no kernel."""
    if source.suffix == ".c":
        return None
    try:
        return Module(source, options)
    except CompilationError as error:
        if [each.code for each in error.diagnostics] == ["WL0105"]:
            return None
        raise
