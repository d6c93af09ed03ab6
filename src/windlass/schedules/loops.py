"""Steps over loop nests of kernels and functions: tiles, exchanged loops, unrolled loops, independent loops.

A loop is told by the source line of its `for`, or by "line:column" where a line has several; or by its number, from
"#0" on, in the order of the text. Each step asks `parallel.dependences` whether it may, and is refused with the two
accesses that forbid it; after each the loops are verified.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.facts.indices import IndexReader
from windlass.facts.threads import thread_ids
from windlass.ir import Function
from windlass.loops import For, Parallel
from windlass.loops.independence import why_in_order
from windlass.loops.launch_specification import LaunchSpecification
from windlass.loops.verifier import verify_kernel
from windlass.parallel import loop_nests
from windlass.parallel.dependences import Conflict, Dependences
from windlass.schedules.schedule import Run, Schedule, fault

Place: TypeAlias = int | str
"""A loop: its line, "line:column", or "#number"."""
MOST_TIMES = 64
"""A loop is unrolled so many times at most."""


@dataclass
class LoopRun(Run):
    """On the loops of a function that is specialized for a launch."""

    specification: LaunchSpecification

    def dependences(self, function: Function) -> Dependences:
        """What is known of the accesses, as the loops are now."""
        (parallel,) = (op for op in function.body if isinstance(op, Parallel))
        reader = IndexReader.of_launch(parallel, thread_ids(function, parallel, self.specification))
        return Dependences.of_launch(reader, function.arguments, self.specification)

    def attempt(self, function: Function, step: Schedule) -> None:
        """Do a step where it is allowed; else leave the loops as they are."""
        copy = function.clone()
        try:
            step.run(copy, self)
        except WindlassError:
            return
        function.body = copy.body


def schedule_loops(function: Function, schedule: Schedule, specification: LaunchSpecification) -> Function:
    """A copy of a function, specialized for a launch, with its loops as the schedule says.

    Raises WindlassError (WL0807) where that would change what the function does, with the accesses that forbid it;
    WL0806 where it names loops that there are not.
    """
    changed = function.clone()
    schedule.run(changed, LoopRun(specification))
    return changed


def loops_of(function: Function) -> list[For]:
    """The counted loops, in the order of the text."""
    return [op for op in function.walk() if isinstance(op, For)]


def find_loop(function: Function, place: Place, step: Schedule) -> For:
    """The loop at a place.

    Raises WindlassError (WL0806) where there is none, or several.
    """
    loops = loops_of(function)
    if isinstance(place, str) and place.startswith("#"):
        number = int(place[1:]) if place[1:].isdecimal() else -1
        if 0 <= number < len(loops):
            return loops[number]
        raise fault(f"{step}: '{function.name}' has {len(loops)} loops, none is number {place[1:]!r}")
    line, _, column = str(place).partition(":")
    found = [
        loop
        for loop in loops
        if loop.source is not None and str(loop.source.line) == line and column in ("", str(loop.source.column))
    ]
    if len(found) == 1:
        return found[0]
    places = ", ".join(sorted({f'"{each.source.line}:{each.source.column}"' for each in loops if each.source}))
    what = "several loops begin" if found else "no counted loop begins"
    raise fault(f"{step}: {what} at {place!r} in '{function.name}'", f"its loops are at {places or 'no known line'}")


@dataclass(frozen=True, repr=False)
class LoopStep(Schedule):
    """A step that changes the loops of a function."""

    def run(self, function: Function, run: Run) -> None:
        if not isinstance(run, LoopRun):
            raise fault(f"{self} changes loops, which tensor programs don't have", "use rules(...) and passes(...)")
        self.change(function, run)
        verify_kernel(function, "transformed")

    @abstractmethod
    def change(self, function: Function, run: LoopRun) -> None:
        """Change the loops in place, or refuse to."""

    def refuse(self, loop: For, reason: str | Conflict) -> WindlassError:
        """The error for a change that would change what the program means."""
        told = f"{self} is not allowed: {reason}"
        return WindlassError(Diagnostic("WL0807", told, loop.source, help="leave the step out, or change the loops"))


@dataclass(frozen=True, repr=False)
class Tile(LoopStep):
    """Loops in one another, outer ones first, in blocks of these sizes."""

    name: ClassVar[str] = "tile"
    places: tuple[Place, ...]
    sizes: tuple[int, ...]

    def change(self, function: Function, run: LoopRun) -> None:
        band = [find_loop(function, place, self) for place in self.places]
        _require_plain(self, band)
        # Whether blocks may be exchanged is asked of the loops as they were: in these, bounds are still to be seen.
        for place, outer in enumerate(band):
            for inner in band[place + 1 :]:
                _require_exchangeable(self, function, run, outer, inner, is_nested=inner is band[place + 1])
        inner_first = reversed(list(zip(band, self.sizes, strict=True)))
        outermost, _ = [loop_nests.strip_mine(loop, size) for loop, size in inner_first][-1]
        for depth in range(1, len(band)):
            # The strips of a loop go outwards past the points of all loops before.
            for place in range(2 * depth, depth, -1):
                nest = _nest_from(outermost, 2 * len(band))
                loop_nests.hoist_counts(nest[place - 1].body.block)
                loop_nests.interchange(nest[place - 1], nest[place])

    def __repr__(self) -> str:
        return f"tile({', '.join(map(repr, self.places))}, sizes={self.sizes!r})"


@dataclass(frozen=True, repr=False)
class Interchange(LoopStep):
    """Two loops, one directly in the other, the other way round."""

    name: ClassVar[str] = "interchange"
    outer: Place
    inner: Place

    def change(self, function: Function, run: LoopRun) -> None:
        outer, inner = (find_loop(function, place, self) for place in (self.outer, self.inner))
        _require_plain(self, [outer, inner])
        _require_exchangeable(self, function, run, outer, inner)
        loop_nests.interchange(outer, inner)

    def __repr__(self) -> str:
        return f"interchange({self.outer!r}, {self.inner!r})"


@dataclass(frozen=True, repr=False)
class Unroll(LoopStep):
    """So many rounds of a loop in one."""

    name: ClassVar[str] = "unroll"
    place: Place
    times: int

    def change(self, function: Function, run: LoopRun) -> None:
        loop = find_loop(function, self.place, self)
        _require_plain(self, [loop])
        loop_nests.unroll(loop, self.times)

    def __repr__(self) -> str:
        return f"unroll({self.place!r}, {self.times})"


@dataclass(frozen=True, repr=False)
class Parallelize(LoopStep):
    """A loop marked independent: its rounds may run in any order, and at the same time."""

    name: ClassVar[str] = "parallelize"
    place: Place

    def change(self, function: Function, run: LoopRun) -> None:
        loop = find_loop(function, self.place, self)
        _require_plain(self, [loop])
        conflict = why_in_order(loop) or run.dependences(function).why_in_order(loop)
        if conflict:
            raise self.refuse(loop, conflict)
        loop.is_independent = True

    def __repr__(self) -> str:
        return f"parallelize({self.place!r})"


def tile(*places: Place, sizes: Sequence[int]) -> Schedule:
    """Loops in one another, outer ones first, in blocks of these sizes: one size for each.

    Raises WindlassError (WL0806) where sizes are not positive, or not one for each loop.

    >>> tile(3, 4, sizes=(32, 32))
    tile(3, 4, sizes=(32, 32))
    """
    given = tuple(sizes)
    if len(given) != len(places) or not places or not all(_is_count(size) for size in given):
        what = f"tile takes loops and one size for each, got {places} and sizes={given}"
        raise fault(what, "tile(3, 4, sizes=(32, 32))")
    return Tile(tuple(_place("tile", each) for each in places), given)


def interchange(outer: Place, inner: Place) -> Schedule:
    """Two loops, one directly in the other, the other way round.

    >>> interchange(3, 4)
    interchange(3, 4)
    """
    return Interchange(_place("interchange", outer), _place("interchange", inner))


def unroll(place: Place, times: int) -> Schedule:
    """So many rounds of a loop in one, and a loop for what is left.

    Raises WindlassError (WL0806) for a number that is not from 1 to 64.
    """
    if not _is_count(times) or times > MOST_TIMES:
        raise fault(f"a loop is unrolled 1 to {MOST_TIMES} times, got {times!r}", "unroll(5, 4)")
    return Unroll(_place("unroll", place), times)


def parallelize(place: Place) -> Schedule:
    """A loop marked independent, which is refused where two of its rounds may come to one place in memory."""
    return Parallelize(_place("parallelize", place))


def _place(step: str, place: Place) -> Place:
    if isinstance(place, bool) or not isinstance(place, int | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise fault(f"{step}: a loop is told by its line, got {place!r}", '3, "3:5" or "#0"')
    return place


def _is_count(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number > 0


def _require_plain(step: LoopStep, loops: Sequence[For]) -> None:
    for loop in loops:
        if loop.counts_elements or loop.serializes:
            raise step.refuse(loop, "the loop is not one of the source")


def _require_exchangeable(
    step: LoopStep, function: Function, run: LoopRun, outer: For, inner: For, is_nested: bool = True
) -> None:
    """Refuse two loops of which the outer one can't be written within the inner one, or must not be."""
    loop_nests.hoist_counts(outer.body.block)
    reason = loop_nests.why_not_nested(outer, inner) if is_nested else ""
    refused = reason or run.dependences(function).why_not_exchanged(outer, inner)
    if refused:
        raise step.refuse(outer, refused)


def _nest_from(loop: For, depth: int) -> list[For]:
    """So many loops, each directly in the one before it."""
    found = [loop]
    while len(found) < depth:
        (within,) = (op for op in found[-1].body.block if isinstance(op, For))
        found.append(within)
    return found
