"""A kernel of a loaded module: facts about its body, its compiled launches, and what became of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, LaunchError, Position, RaisingError
from windlass.diagnostics.deferral import deferred
from windlass.diagnostics.limits import available_memory
from windlass.diagnostics.warning import warn_caller
from windlass.frontends.cuda import TextureUse, reached_names, texture_uses
from windlass.ir.signature import KernelSignature
from windlass.runtime.compiled_store import CompiledStore
from windlass.runtime.launch_shape import LaunchShape

if TYPE_CHECKING:
    import jax

    from windlass import pipeline, raising
    from windlass.frontends import llvm
    from windlass.ir import Function
    from windlass.launching.loaded_module import LoadedModule
    from windlass.loops import telling
    from windlass.parallel import effects
    from windlass.reports import report
    from windlass.runtime.binding import Binding
else:
    jax = deferred("jax")
    effects = deferred("windlass.parallel.effects")
    llvm = deferred("windlass.frontends.llvm")
    pipeline = deferred("windlass.pipeline")
    raising = deferred("windlass.raising")
    report = deferred("windlass.reports.report")
    telling = deferred("windlass.loops.telling")

Array: TypeAlias = NDArray[Any]
Made = TypeVar("Made")

MOST_LAUNCHES = 256
"""How many grids and blocks a kernel remembers."""
LITTLE = 1 << 26
"""So many bytes of memory are taken to be there."""


class LoadedKernel:
    """What launches of a kernel know of it, and have in common.

    Kernels that are compiled anew for their textures, or with the pointers in their structs apart, are no more than
    this: users hold a `Kernel`.
    """

    def __init__(self, module: LoadedModule, signature: KernelSignature) -> None:
        self.module = module
        self.signature = signature
        self.lock = threading.RLock()
        self.launches: dict[Any, Any] = {}
        """Its launches by grid and block."""
        self.native_launches: dict[Any, Any] = {}
        """Those that the user wishes to run as native code."""
        self.compiled_launches: dict[LaunchShape, Any] = {}
        """Those of them that are functions of `wl.jit`, to be differentiated."""
        self._compiled: CompiledStore[Binding, pipeline.RaisedLaunch | Exception] = CompiledStore()
        self.native_calls: CompiledStore[Any, Any] = CompiledStore()
        """Native code that XLA calls, by what it is made for; or why there is none."""
        self._functions: dict[frozenset[str], Function | RaisingError] = {}
        self._written: frozenset[int] | None = None
        self._variables: tuple[str, ...] | None = None
        self.specialized: dict[Any, tuple[LoadedKernel, tuple[str, ...]]] = {}
        """For kernels with textures: the kernel for textures of known forms, and the variables with their texels."""
        self.has_textures_known = False
        self._texture_uses: tuple[TextureUse, ...] | None = None
        self.apart: LoadedKernel | None = None
        """The same with the pointers in structs that it takes as parameters of their own, once that is wanted."""
        self.rule: Any = None
        """The derivative rule that the user gave it, as a `KernelRule`."""
        self._last_report: report.Report | Callable[[], report.Report] | None = None
        self.has_warned = False
        self.has_warned_of_print = False

    @property
    def name(self) -> str:
        return self.signature.name

    def __repr__(self) -> str:
        parameters = ", ".join(f"{each.type_name} {each.name}" for each in self.signature.parameters)
        return f"<windlass kernel {self.name}({parameters})>"

    def launch(self, shape: LaunchShape, form: Callable[[Self, LaunchShape], Made]) -> Made:
        """The launch with this grid and block, in such a form; made when it is first asked for."""
        found = self.launches.get(shape)
        if found is None:
            if len(self.launches) >= MOST_LAUNCHES:
                self.launches.clear()
            found = self.launches[shape] = form(self, shape)
        return found

    # -- what became of it --------------------------------------------------------------------------------------------

    @property
    def last_report(self) -> report.Report | None:
        """What became of its last launch; None where there was none."""
        if callable(self._last_report):
            self._last_report = self._last_report()
        return self._last_report

    @last_report.setter
    def last_report(self, report: report.Report | None) -> None:
        self._last_report = report

    def note_native(self, shape: LaunchShape, reason: RaisingError | None = None) -> None:
        """Remember that a launch runs as native code, by the user's wish or for this reason."""
        # Reports take JAX, for which native code need not wait.
        self._last_report = lambda: report.Report(self.name, shape, reason, is_native=True)

    def report_on(self, shape: LaunchShape, compiled: pipeline.RaisedLaunch) -> report.Report:
        """The report on a compiled launch."""
        obstacle = compiled.raised.report.obstacle
        return report.report_of(
            self.name, shape, compiled, None if obstacle is None else self.with_source_lines(obstacle)
        )

    def note_raised(self, shape: LaunchShape, compiled: pipeline.RaisedLaunch) -> None:
        """Remember what became of a launch, for `explain()`."""
        self.last_report = self.report_on(shape, compiled)

    def note_emulated(self, shape: LaunchShape, error: RaisingError) -> bool:
        """Remember that a launch ran in the emulator; whether this is the first time."""
        is_first = not self.has_warned
        self.has_warned = True
        self.last_report = report.Report(self.name, shape, error)
        return is_first

    # -- facts about the body, for launches ---------------------------------------------------------------------------

    @cached_property
    def has_grid_barrier(self) -> bool:
        """Whether it holds a barrier across the grid."""
        name = "__windlass_grid_sync"
        code = self.module.code
        return f"@{name}" in code.llvm_ir and name in reached_names(code.llvm_ir, self.signature.mangled)

    @cached_property
    def left_out(self) -> tuple[telling.Print, ...]:
        """Its printf, which only the emulator carries out."""
        if "@vprintf" not in self.module.code.llvm_ir:
            return ()
        try:
            return tuple(op for op in self.function.walk() if isinstance(op, telling.Print))
        except RaisingError:
            return ()

    @property
    def texture_uses(self) -> tuple[TextureUse, ...]:
        """The textures and surfaces that the kernel takes and refers to, but for those that are known."""
        if self.has_textures_known:
            return ()
        if self._texture_uses is None:
            self._texture_uses = texture_uses(self.module.code, self.signature)
        return self._texture_uses

    @property
    def function(self) -> Function:
        """The kernel at the loop level.

        Raises RaisingError where it can't be brought to it.
        """
        return self.structured(frozenset())

    def structured(self, uncounted: frozenset[str]) -> Function:
        """The kernel at the loop level, with those loops as plain `DoWhile`s.

        Raises RaisingError where it can't be brought to it.
        """
        found = self._functions.get(uncounted)
        if found is None:
            try:
                found = llvm.import_kernel(self.module.code, self.signature.mangled, uncounted)
            except RaisingError as error:
                found = self.with_source(error)
            except Exception as error:
                found = self._defect(error)
            self._functions[uncounted] = found
        if isinstance(found, RaisingError):
            raise found
        return found

    @property
    def written(self) -> frozenset[int]:
        """Positions of the pointer parameters through which the kernel may write."""
        if self._written is None:
            try:
                self._written = effects.written_parameters(self.function)
            except RaisingError:
                # Only the emulator can run it: all that the source does not declare const may be written.
                parameters = enumerate(self.signature.parameters)
                self._written = frozenset(i for i, each in parameters if each.kind == "pointer" and not each.is_const)
        return self._written

    def variables(self) -> dict[str, Array]:
        """The storage of the device variables that the kernel uses, by linker name."""
        if self._variables is None:
            self._variables = effects.variables_used(self.function)
        return {name: self.module.variables.by_linker_name(name) for name in self._variables}

    @cached_property
    def alignment(self) -> int:
        """The largest multiple at which a vector or struct has to lie; 1 where there are none."""
        try:
            return effects.widest_alignment(self.function)
        except RaisingError:
            return 1

    def reachable_variables(self) -> dict[str, Array]:
        """As `variables`; all of the module's for a kernel that only the emulator can run."""
        try:
            return self.variables()
        except RaisingError:
            return self.module.variables.storage

    def with_source(self, error: RaisingError) -> RaisingError:
        """The error with the source lines that it points to, where the source was given as text."""
        return RaisingError(*map(self.with_source_lines, error.diagnostics))

    def with_source_lines(self, diagnostic: Diagnostic) -> Diagnostic:
        """The same with the source lines that it points to, where the source was given as text."""

        def line_of(position: Position | None, source: str | None) -> str | None:
            return self.module.code.source_line(position) if source is None else source

        return replace(
            diagnostic,
            source=line_of(diagnostic.position, diagnostic.source),
            trail=tuple(replace(step, source=line_of(step.position, step.source)) for step in diagnostic.trail),
        )

    def _defect(self, error: Exception) -> RaisingError:
        """What is said where the compiler itself fails, or where there is more of the kernel than it can take."""
        if isinstance(error, RecursionError):
            reason = "its branches or expressions nest more deeply than the compiler goes"
            return self.with_source(
                RaisingError(
                    Diagnostic(
                        "WL0303",
                        f"kernel '{self.name}' can't be raised: {reason}",
                        self.signature.position,
                        help="split it into several kernels, or make loops of what is repeated",
                    )
                )
            )
        text = (str(error).splitlines() or [""])[0]
        plain = RaisingError(
            Diagnostic(
                "WL0417",
                f"kernel '{self.name}' can't be raised: a defect of Windlass ({type(error).__name__}: {text})",
                self.signature.position,
                help="please report it, with the kernel and its launch",
            )
        )
        defect = self.with_source(plain)
        defect.__cause__ = error
        return defect

    def _too_small(self, note: raising.OutsideNote, binding: Binding) -> LaunchError:
        """The error for an access that active threads make beyond an array."""
        dtype = next((each.dtype for each in self.signature.parameters if each.name == note.memory), None)
        size = 1 if dtype is None else dtype.itemsize
        unit = "byte" if dtype is None else "element"
        verb = {"load": "reads", "store": "writes"}.get(note.action, "updates")
        position = note.position
        if self.has_textures_known and note.memory.startswith("memory "):
            return LaunchError(
                Diagnostic(
                    "WL0404",
                    f"{self.name}: an access outside of a surface",
                    position,
                    source=self.module.code.source_line(position),
                    notes=(f"launched with grid {binding.specification.grid} and block {binding.specification.block}",),
                    help="x counts bytes, not elements; or give the access a boundary mode",
                )
            )
        return LaunchError(
            Diagnostic(
                "WL0404",
                f"{self.name}: array '{note.memory}' is too small: the kernel {verb} {unit} {note.offset // size}, "
                f"and it has {note.size_bytes // size}",
                position,
                source=self.module.code.source_line(position),
                notes=(f"launched with grid {binding.specification.grid} and block {binding.specification.block}",),
                help="pass a larger array, or guard the access in the kernel",
            )
        )

    def _compile(self, binding: Binding) -> pipeline.RaisedLaunch:
        """With all loops counted whose counters provably don't wrap around in this launch."""
        uncounted: frozenset[str] = frozenset()
        while True:
            try:
                return pipeline.compile_launch(self.name, self.structured(uncounted), binding)
            except raising.UncountedLoopError as error:
                uncounted |= {error.loop}

    def compile(self, binding: Binding) -> pipeline.RaisedLaunch:
        """The program for a bound launch, from the cache where it is known.

        Raises RaisingError where there is none or where there is no memory for it (WL0418), LaunchError (WL0404) where
        threads go beyond an array.
        """
        with self.lock:
            found = self._compiled.get(binding)
            if found is None:
                try:
                    found = self._compile(binding)
                except RaisingError as error:
                    found = self.with_source(error)
                except Exception as error:
                    # A defect of ours must not take the user's result away: the emulator still has it.
                    found = self._defect(error)
                else:
                    outside, race = found.raised.report.outside, found.raised.race
                    if outside:
                        found = self._too_small(outside[0], binding)
                    elif race is not None and not self.has_warned:
                        self.has_warned = True
                        warn_caller(self.with_source_lines(race))
                self._compiled.keep(binding, found)
            if isinstance(found, Exception):
                raise found
            # What is free now may not be so later, and the other way round: this is not kept.
            self._require_memory(found)
            return found

    def _require_memory(self, compiled: pipeline.RaisedLaunch) -> None:
        """Check that the program can have its memory, where it runs on CPUs.

        Raises RaisingError (WL0418).
        """
        if compiled.least_memory < LITTLE or jax.default_backend() != "cpu":
            return
        available = available_memory()
        if available is None or compiled.least_memory <= available:
            return
        grid, block = compiled.binding.specification.grid, compiled.binding.specification.block
        threads = prod(grid) * prod(block)
        index = "; an index of more than 2^31 threads needs 64 bits" if threads > 2**31 else ""
        raise RaisingError(
            Diagnostic(
                "WL0418",
                f"{self.name}: as a tensor program this launch takes {compiled.least_memory >> 20} MiB of memory or "
                f"more, and {available >> 20} MiB are available",
                notes=(f"launched with grid {grid} and block {block}: {threads} threads",),
                help=f"launch as many threads as there is work for, or loop over the work in each thread{index}",
            )
        )
