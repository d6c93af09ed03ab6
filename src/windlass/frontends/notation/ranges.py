"""How far indices run: as far as all that is read at them allows.

An index gets its range from a subscript in which it is the only one whose range is not known yet. Where there are
several such subscripts, those in which it stands alone decide before sums: in `I(h + kh) * K(kh)` the kernel says how
far `kh` runs, and then the image how far `h` does. An index that stands in two subscripts as it is has to find axes of
the same size there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from windlass.frontends.notation.conditions import conditional_reads, limits_where, speaks_of
from windlass.frontends.notation.forms import Form, UnknownQuotient, form_of
from windlass.frontends.notation.syntax import Source, Span
from windlass.frontends.notation.terms import Part, Read, Update, indices_in, is_affine, reads_in

MOST_POINTS = 1 << 56
"""How many points the indices of a statement may have together."""


@dataclass(frozen=True)
class Subscript:
    """A subscript of an access."""

    read: Read
    axis: int

    @property
    def part(self) -> Part:
        return self.read.subscripts[self.axis]


def subscripts_of(update: Update, has_shape: bool) -> list[Subscript]:
    """The affine subscripts of all tensors whose shapes are known before the statement."""
    reads = [each for part in (*update.subscripts, update.value) for each in reads_in(part)]
    if has_shape:
        reads.append(update.target_read)
    return [Subscript(read, axis) for read in reads for axis, part in enumerate(read.subscripts) if is_affine(part)]


def find_unknown(update: Update, has_shape: bool) -> tuple[str, Span] | None:
    """An index that nothing gives a range, and where it stands; None if all have one."""
    known = set(update.ranges)
    unknown = [set(indices_in(each.part)) for each in subscripts_of(update, has_shape)]
    while True:
        found = {name for names in unknown if len(rest := names - known) == 1 for name in rest}
        if not found:
            break
        known |= found
    kept = {name for part in update.subscripts for name in indices_in(part)}
    missing = [
        (name, span)
        for part in (update.value, *update.subscripts)
        for name, span in indices_in(part).items()
        if name not in known
    ]
    # What is within a window is for the author to say, rather than how far the window moves.
    return min(missing, key=lambda each: each[0] in kept, default=None)


@dataclass(frozen=True)
class _Claim:
    """What one subscript says of an index: the value after its last."""

    is_alone: bool
    is_bare: bool
    high: int
    subscript: Subscript


class RangeFinder:
    """The ranges of the indices of a statement, for tensors of these shapes."""

    def __init__(
        self, source: Source, update: Update, shapes: Mapping[str, tuple[int, ...]], sizes: Mapping[str, int]
    ) -> None:
        self.source, self.update, self.shapes, self.sizes = source, update, shapes, sizes
        self.subscripts = subscripts_of(update, update.target in shapes)
        self.forms = {each: self.form(each.part) for each in self.subscripts}
        self.ranges: dict[str, tuple[int, int]] = {}
        self.facts = dict(conditional_reads(update.value, self.form))

    def form(self, part: Part) -> Form:
        """Raises LaunchError (WL1506) for a division by zero."""
        try:
            return form_of(part, self.sizes)
        except UnknownQuotient:
            raise self.source.misfit("WL1506", part.span, "this divides by zero") from None

    def find(self) -> dict[str, tuple[int, int]]:
        """The first value of each index, and the one after its last.

        Raises LaunchError: WL1503 for an index without a range, WL1504 where an access leaves its tensor and where
        sizes do not agree, WL1508 where there are too many points.
        """
        for name, ends in self.update.ranges.items():
            low, high = (self.form(each).constant for each in ends)
            if low > high:
                span = ends[0].span.to(ends[1].span)
                raise self.source.misfit("WL1504", span, f"the range of '{name}' goes from {low} to {high}")
            self.ranges[name] = (low, high)
        while claims := self._claims():
            if any(each.is_alone for found in claims.values() for each in found):
                claims = {name: found for name, found in claims.items() if any(each.is_alone for each in found)}
            for name, found in claims.items():
                self._settle(name, found)
        names: dict[str, Span] = {}
        for part in (*self.update.subscripts, self.update.value):
            for name, span in indices_in(part).items():
                names.setdefault(name, span)
        for name, span in names.items():
            if name not in self.ranges:
                raise self.source.misfit(
                    "WL1503",
                    span,
                    f"nothing says how far the index '{name}' runs",
                    f"give its range: where {name} in 0:3",
                    "reads that a condition keeps inside of their tensor say nothing of how far indices run",
                )
        points = 1
        for low, high in self.ranges.values():
            points *= high - low
        if points > MOST_POINTS:
            raise self.source.misfit(
                "WL1508", self.update.span, f"this statement has {points} points, which is too many"
            )
        if points:
            for each in self.subscripts:
                self._check_inside(each)
        return self.ranges

    def _claims(self) -> dict[str, list[_Claim]]:
        claims: dict[str, list[_Claim]] = {}
        for each, form in self.forms.items():
            unknown = [(name, factor) for name, factor in form.terms if name not in self.ranges]
            if len(unknown) != 1 or (not form.is_index and speaks_of(self.facts.get(each.read, ()), form)):
                continue
            ((name, factor),) = unknown
            known = Form(tuple(term for term in form.terms if term[0] != name), form.constant)
            if any(self.ranges[other][0] == self.ranges[other][1] for other in known.indices):
                low = high = known.constant
            else:
                low, high = known.limits(self.ranges)
            size = self.shapes[each.read.tensor][each.axis]
            last = (size - 1 - high) // factor if factor > 0 else low // -factor
            claims.setdefault(name, []).append(_Claim(len(form.terms) == 1, form.is_index, last + 1, each))
        return claims

    def _settle(self, name: str, claims: list[_Claim]) -> None:
        alone = [each for each in claims if each.is_alone] or claims
        bare = [each for each in claims if each.is_bare]
        for each in bare[1:]:
            if each.high != bare[0].high:
                first, other = bare[0].subscript, each.subscript
                raise self.source.misfit(
                    "WL1504",
                    other.part.span,
                    f"'{name}' runs over {bare[0].high} elements in {self._shown(first)} and over {each.high} in "
                    f"{self._shown(other)}",
                    f"pass tensors that agree, or give the range: where {name} in 0:{min(each.high, bare[0].high)}",
                )
        least = min(alone, key=lambda each: each.high)
        if least.high < 0 or (least.high == 0 and not self._is_empty(least.subscript)):
            size = self.shapes[least.subscript.read.tensor][least.subscript.axis]
            raise self.source.misfit(
                "WL1504",
                least.subscript.part.span,
                f"no '{name}' is left: {self._shown(least.subscript)} reaches beyond the {size} "
                f"element{'s'[: size != 1]} of the axis already at {name} = 0",
            )
        self.ranges[name] = (0, max(least.high, 0))

    def _is_empty(self, subscript: Subscript) -> bool:
        return self.shapes[subscript.read.tensor][subscript.axis] == 0

    def _shown(self, subscript: Subscript) -> str:
        return (
            self.source.spelled(subscript.read.span)
            if subscript.read.span != self.update.target_span
            else (
                self.source.spelled(self.update.target_span)
                + f"({', '.join(self.source.spelled(each.span) for each in self.update.subscripts)})"
            )
        )

    def _check_inside(self, subscript: Subscript) -> None:
        size = self.shapes[subscript.read.tensor][subscript.axis]
        limits = limits_where(self.facts.get(subscript.read, ()), self.forms[subscript], self.ranges)
        if limits is None:
            return
        low, high = limits
        if low >= 0 and high < size:
            return
        names = self.forms[subscript].indices
        runs = ", ".join(f"{name} in {self.ranges[name][0]}:{self.ranges[name][1]}" for name in names)
        raise self.source.misfit(
            "WL1504",
            subscript.part.span,
            f"{self._shown(subscript)} reaches element {low if low < 0 else high} of an axis of {size}",
            f"give {'a range' if len(names) == 1 else 'ranges'} within: where {self._inside(subscript, size)}"
            if names
            else None,
            *([f"{'the index runs' if len(names) == 1 else 'the indices run'} over {runs}"] if names else []),
        )

    def _inside(self, subscript: Subscript, size: int) -> str:
        """A range in which an index that stands alone stays inside; of several indices the form of one."""
        form = self.forms[subscript]
        ((name, factor), *others) = form.terms
        if others:
            return f"{name} in low:high"
        ends = [(end - form.constant) / factor for end in (0, size - 1)]
        low, high = (
            max(math.ceil(min(ends)), self.ranges[name][0]),
            min(math.floor(max(ends)) + 1, self.ranges[name][1]),
        )
        return f"{name} in {low}:{max(low, high)}"
