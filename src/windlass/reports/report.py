"""What became of a kernel: raised or emulated and why, its tensor ops, accesses, loops and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from windlass.diagnostics import Diagnostic, RaisingError, Step
from windlass.facts.cost import Cost, Device, estimate_cost
from windlass.ir import Block, Function, Op
from windlass.ops import Constant, Return, While
from windlass.ops.counting import find_counter
from windlass.raising import AccessNote, LoopNote
from windlass.reports.candidate import Candidate
from windlass.reports.words import spell_each, spell_seconds, spell_size, spell_times, table
from windlass.runtime.launch_shape import LaunchShape
from windlass.stablehlo.optimizing import Choices

if TYPE_CHECKING:
    from windlass.pipeline import RaisedLaunch
    from windlass.rewriting import Entry


@dataclass
class Report:
    """What became of one kernel in one launch. `str(report)` tells it; the fields have it as data.

    Of a raised kernel `ops` counts the tensor ops by name after optimization; `bytes_read` and `bytes_written` are the
    sizes of the arrays that the program takes and gives; `flops` the arithmetic of one run, that of loops as often
    as they run. `accesses` says of each load, store and atomic operation what it became ("slice", "gather", "update",
    "scatter", ...), `loops` of each loop ("contraction", "reduce", "elementwise", "unrolled", "while"), both as they
    were raised, before the rules in `rewrites` were applied, in that order. `compile_seconds` is how long each stage of
    Windlass took; XLA compiles when the kernel first runs.

    `is_native` says that the launch runs as native code, whether or not it could be raised. Where it has several forms
    `candidates` has them all, the one that it takes first, with what each costs by estimate and what it took where it
    was tried, and `choice_reason` says why it takes that one.

    Of a kernel that is not raised `error` has the diagnostic, with source line, reason and help; of one whose blocks or
    threads run one after another, since their order decides, `obstacle` has it. `trail` has the lines that led there.
    """

    kernel: str
    shape: LaunchShape | None
    error: RaisingError | None = None
    ops: Counter[str] = field(default_factory=Counter[str])
    bytes_read: int = 0
    bytes_written: int = 0
    flops: int = 0
    accesses: tuple[AccessNote, ...] = ()
    loops: tuple[LoopNote, ...] = ()
    notes: tuple[str, ...] = ()
    rewrites: tuple[Entry, ...] = ()
    compile_seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    obstacle: Diagnostic | None = None
    is_native: bool = False
    """Whether the launch runs as native code."""
    candidates: tuple[Candidate, ...] = ()
    choice_reason: str = ""
    distribution: str = ""
    """Of arrays that a mesh divides: in which form the program is divided, why, who decided what, and what each form
    communicates."""
    function: Function | None = field(default=None, repr=False)
    """The optimized tensor program."""

    @property
    def form(self) -> str:
        """In which form the launch runs: "raised", "native" or "emulated"."""
        if self.is_native:
            return "native"
        return "raised" if self.error is None else "emulated"

    @property
    def is_raised(self) -> bool:
        """Whether the kernel became a tensor program."""
        return self.error is None

    @property
    def reason(self) -> str | None:
        """Why it did not, in one line."""
        return None if self.error is None else self.error.diagnostics[0].headline

    @property
    def trail(self) -> tuple[Step, ...]:
        """The lines of the kernel that led to what is in the way, and what happens there; nothing where nothing is."""
        found = self.obstacle if self.error is None else self.error.diagnostics[0]
        return () if found is None else found.trail

    @cached_property
    def cost(self) -> Cost:
        """What one run costs by estimate, on the device that JAX runs on: seconds, bytes moved, operations (those of
        loops as often as they run), and XLA's kernels. Nothing for what is not raised."""
        return Cost() if self.function is None else self.cost_on(Choices().device_on())

    def cost_on(self, device: Device) -> Cost:
        """The same on another device, such as `windlass.facts.cost.GPU`."""
        if self.function is None:
            return Cost()
        return estimate_cost(self.function.results, self.function.arguments, device)

    def __str__(self) -> str:
        if self.error is not None:
            if self.is_native:
                return f"native: {self._title()}\n  not raised: {self.reason}\n{self.error}"
            return f"{self.form}: {self.reason}\n{self._title()}\n{self.error}"
        lines = [f"{self.form}: {self._title()}", *(f"  {name}: {text}" for name, text in self.facts())]
        if self.candidates:
            lines += [f"  forms, of which it takes the first, since {self.choice_reason}:"]
            lines += [f"    {each}" for each in self.candidates]
        for title, items in (("accesses", self.accesses), ("loops", self.loops), ("notes", self.notes)):
            if items:
                lines.append(f"  {title}:")
                lines += [f"    {line}" for item in spell_each(items) for line in item.splitlines()]
        lines += [f"  {line}" for line in self.distribution.splitlines()]
        if self.obstacle is not None:
            lines += self.obstacle.trail_lines()
        return "\n".join(lines)

    def _has_unknown_loops(self) -> bool:
        ops = () if self.function is None else self.function.walk()
        return any(isinstance(op, While) and find_counter(op) is None for op in ops)

    def _title(self) -> str:
        return self.kernel + (
            "" if self.shape is None else f" with grid {self.shape.grid} and block {self.shape.block}"
        )

    def facts(self) -> list[tuple[str, str]]:
        """What there is to say of a raised kernel as a whole: what, and the text."""
        cost, seconds = self.cost, self.compile_seconds
        counted = ", ".join(f"{count} {name}" for name, count in self.ops.most_common()) or "none"
        rounds = ""
        if self._has_unknown_loops():
            rounds = f", loops of unknown length counted as {While.USUAL_ROUNDS} rounds"
        kernels = "kernel" if cost.kernels == 1 else "kernels"
        facts = [
            ("tensor ops", counted),
            ("memory", f"{spell_size(self.bytes_read)} read, {spell_size(self.bytes_written)} written"),
            ("arithmetic", f"{self.flops:,} operations{rounds}"),
            (
                "cost",
                f"about {spell_seconds(cost.seconds)} in {cost.kernels:,} {kernels} of XLA: "
                f"{spell_size(cost.bytes)} moved, {cost.operations:,} operations",
            ),
        ]
        if seconds:
            parts = ", ".join(f"{stage} {spell_seconds(part)}" for stage, part in seconds.items())
            facts.append(("compiled", f"in {spell_seconds(sum(seconds.values()))}: {parts}"))
        return facts

    def _repr_html_(self) -> str:
        """For notebooks: what became of the kernel, of each access and of each loop, each in a table."""
        title = f"<b>{escape(self.kernel)}</b>{escape(self._title().removeprefix(self.kernel))}"
        trail = [[str(step.position), step.text, step.what] for step in self.trail]
        steps = table(("line", "", "what happens there"), trail)
        if self.error is not None:
            return (
                f"<p>{title}: {self.form}, since {escape(self.reason or '')}</p>"
                f"<pre>{escape(str(self.error))}</pre>{steps}"
            )
        accesses = [
            [str(note.position or "?"), note.action, note.memory, note.became + spell_times(count)]
            for note, count in Counter(self.accesses).items()
        ]
        loops = [
            [
                str(note.position or "?"),
                "" if note.trips is None else str(note.trips),
                note.became + spell_times(count),
                "\n".join(note.attempts),
            ]
            for note, count in Counter(self.loops).items()
        ]
        rules = [[name, str(count)] for name, count in Counter(each.rule for each in self.rewrites).most_common()]
        return "".join(
            (
                f"<p>{title}: {self.form}</p>",
                table((f"form, the first since {self.choice_reason}",), [[str(each)] for each in self.candidates]),
                table((), [list(fact) for fact in self.facts()] + [["note", note] for note in self.notes]),
                f"<pre>{escape(self.distribution)}</pre>" if self.distribution else "",
                steps,
                table(("access", "", "array", "became"), accesses),
                table(("loop", "trips", "became", "not better because"), loops),
                table(("rule", "times"), rules),
            )
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def report_of(name: str, shape: LaunchShape | None, compiled: RaisedLaunch, obstacle: Diagnostic | None) -> Report:
    """The report on a compiled launch of the kernel of that name; `obstacle` is what raising met, with source lines."""
    function = compiled.optimized
    raising = compiled.raised.report
    used = [argument for argument in function.arguments if argument.uses]
    return Report(
        name,
        shape,
        ops=count_ops(function),
        bytes_read=sum(argument.tensor.bytes for argument in used),
        bytes_written=sum(result.tensor.bytes for result in function.results),
        flops=round(count_flops(function.body)),
        accesses=tuple(raising.accesses),
        loops=tuple(raising.loops),
        notes=(*raising.notes, *map(str, raising.assumptions)),
        rewrites=tuple(compiled.rewrites),
        compile_seconds=compiled.seconds,
        obstacle=obstacle,
        function=function,
    )


def count_ops(function: Function) -> Counter[str]:
    """How many ops of each kind the function holds, without constants and returns."""
    return Counter(_plain_name(op) for op in function.walk() if not isinstance(op, Constant | Return))


def count_flops(block: Block) -> float:
    """The arithmetic of a block: of regions that run by themselves as often as they do, about."""
    total = 0.0
    for op in block:
        times = op.repetitions()
        inner = [each for region in op.regions for each in region.blocks] if times else []
        total += times * sum(map(count_flops, inner)) if times else op.flops()
    return total


def _plain_name(op: Op) -> str:
    return op.name.rpartition(".")[2] or type(op).__name__
