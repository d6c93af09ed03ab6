"""What became of a kernel: raised or emulated and why, its tensor ops, memory traffic and arithmetic."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from windlass.diagnostics import Diagnostic, LaunchError, RaisingError
from windlass.ir import Function, Op
from windlass.ops import Constant, Return
from windlass.runtime.launch_shape import LaunchShape, read_launch_shape

if TYPE_CHECKING:
    from windlass.pipeline import CompiledLaunch
    from windlass.public.kernel import Kernel
    from windlass.rewriting import Entry


@dataclass
class Report:
    """What became of one kernel in one launch. `str(report)` tells it; the fields have it as data.

    `ops` counts the tensor ops by name after optimization; `bytes_read` and `bytes_written` are the sizes of the arrays
    that the program takes and gives; `flops` the arithmetic of one run, bodies of loops counted once; `rewrites` are
    the rules that the optimizer applied, in order.
    """

    kernel: str
    shape: LaunchShape | None
    error: RaisingError | None = None
    ops: Counter[str] = field(default_factory=Counter[str])
    bytes_read: int = 0
    bytes_written: int = 0
    flops: int = 0
    accesses: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rewrites: tuple[Entry, ...] = ()

    @property
    def is_raised(self) -> bool:
        """Whether the kernel became a tensor program."""
        return self.error is None

    @property
    def reason(self) -> str | None:
        """Why it did not, in one line."""
        return None if self.error is None else self.error.diagnostics[0].headline

    def __str__(self) -> str:
        launch = "" if self.shape is None else f" with grid {self.shape.grid} and block {self.shape.block}"
        if self.error is not None:
            return f"emulated: {self.reason}\n{self.kernel}{launch}\n{self.error}"
        counted = ", ".join(f"{count} {name}" for name, count in self.ops.most_common()) or "none"
        lines = [
            f"raised: {self.kernel}{launch}",
            f"  tensor ops: {counted}",
            f"  memory: {_size(self.bytes_read)} read, {_size(self.bytes_written)} written",
            f"  arithmetic: {self.flops:,} operations",
        ]
        for title, items in (("accesses", self.accesses), ("loops", self.loops), ("notes", self.notes)):
            if items:
                lines.append(f"  {title}:")
                lines += [f"    {line}" for item in items for line in item.splitlines()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """For notebooks: what became of the kernel, its ops, its accesses and loops, each in a table."""
        launch = "" if self.shape is None else f" with grid {self.shape.grid} and block {self.shape.block}"
        title = f"<b>{escape(self.kernel)}</b>{escape(launch)}"
        if self.error is not None:
            reason = escape(self.reason or "")
            return f"<p>{title}: emulated, since {reason}</p><pre>{escape(str(self.error))}</pre>"
        facts = [
            ("tensor ops", ", ".join(f"{count} {name}" for name, count in self.ops.most_common()) or "none"),
            ("memory", f"{_size(self.bytes_read)} read, {_size(self.bytes_written)} written"),
            ("arithmetic", f"{self.flops:,} operations"),
        ]
        facts += [
            (title, item)
            for title, items in (("access", self.accesses), ("loop", self.loops), ("note", self.notes))
            for item in items
        ]
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left;white-space:pre-wrap'>{escape(text)}</td></tr>"
            for name, text in facts
        )
        return f"<p>{title}: raised</p><table>{rows}</table>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def explain(kernel: Kernel, grid: Any = None, block: Any = None, *given: Any, shared_bytes: int = 0) -> Report:
    """What becomes of a kernel in a launch; without grid and arguments, what became of it in its last launch.

    The launch is compiled if need be, and not run. Raises LaunchError (WL0415) where there was no launch yet.
    """
    if grid is None:
        if kernel.last_report is None:
            raise LaunchError(
                Diagnostic(
                    "WL0415",
                    f"{kernel.name} was not launched yet: what it becomes depends on the launch",
                    help="give grid, block and arguments: kernel.explain(grid, block, *arguments)",
                )
            )
        return kernel.last_report
    from windlass.public.lowered import compile_for
    from windlass.public.texture_launch import with_known_textures

    kernel, arguments = with_known_textures(kernel, given)
    shape = read_launch_shape(kernel.signature, (grid, block, shared_bytes))
    try:
        return report_of(kernel, shape, compile_for(kernel, shape, arguments))
    except RaisingError as error:
        return Report(kernel.name, shape, error)


def report_of(kernel: Kernel, shape: LaunchShape | None, compiled: CompiledLaunch) -> Report:
    """The report on a compiled launch."""
    function = compiled.optimized
    raising = compiled.raised.report
    used = [argument for argument in function.arguments if argument.uses]
    return Report(
        kernel.name,
        shape,
        ops=count_ops(function),
        bytes_read=sum(argument.tensor.bytes for argument in used),
        bytes_written=sum(result.tensor.bytes for result in function.results),
        flops=sum(op.flops() for op in function.walk()),
        accesses=tuple(
            f"{note.position or '?'}: {note.action} {note.memory}: {note.kind}" for note in raising.accesses
        ),
        loops=tuple(
            f"{loop.position or '?'}: {'' if loop.trips is None else f'{loop.trips} trips, '}{loop.became}"
            + "".join(f"\n  not better because {reason}" for reason in loop.attempts)
            for loop in raising.loops
        ),
        notes=tuple(raising.notes),
        rewrites=tuple(compiled.rewrites),
    )


def count_ops(function: Function) -> Counter[str]:
    """How many ops of each kind the function holds, without constants and returns."""
    return Counter(_plain_name(op) for op in function.walk() if not isinstance(op, Constant | Return))


def note_raised(kernel: Kernel, shape: LaunchShape, compiled: CompiledLaunch) -> None:
    """Remember what became of the kernel, for `kernel.explain()`."""
    kernel.last_report = report_of(kernel, shape, compiled)


def note_emulated(kernel: Kernel, shape: LaunchShape, error: RaisingError) -> bool:
    """Remember that the kernel ran in the emulator; whether this is the first time."""
    is_first = not kernel.has_warned
    kernel.has_warned = True
    kernel.last_report = Report(kernel.name, shape, error)
    return is_first


def _plain_name(op: Op) -> str:
    return op.name.rpartition(".")[2] or type(op).__name__


def _size(count: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} B"
