"""Finding accesses of active lanes that go beyond a memory.

Such a program is wrong, and its launch is refused. Only what is certain is found as a kernel is raised: a lane that is
known to be active at an address that is known to lie outside. Where the data decide, the program looks as it runs if
asked to, and the emulator then names the thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.predicate import Predicate
from windlass.raising.assumptions import assume_never
from windlass.raising.codes import OUTSIDE
from windlass.raising.items import Memory
from windlass.raising.report import Assumption

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

MOST_CORNERS = 64


def check_inside(state: RaisingState, memory: Memory, address: Index, width: int, size_bytes: int) -> None:
    """Let the program look whether active lanes stay within a memory's bytes, where that depends on data."""
    if not state.specification.checks_bounds:
        return
    address = address.simplify(state.box)
    mask = state.domain.mask
    if address.is_static and not mask.has_data:
        return
    box, _ = mask.split(state.box)
    lower, upper = address.value_range(box)
    if lower >= 0 and upper + width <= size_bytes:
        return
    is_outside = Predicate.compare("LT", address, Index(0)) | Predicate.compare(
        "GT", address, Index(size_bytes - width)
    )
    if (mask & is_outside).split(state.box)[1].is_false:
        return
    key = ("inside", memory, address, width, state.domain)
    if key in state.memo.results:
        return
    state.memo.results[key] = True
    reason = f"an index that the data give leads out of {memory.name}"
    assume_never(state, is_outside, Assumption(reason, state.position, OUTSIDE, "wl.emulate names the thread"))


def find_outside(address: Index, width: int, size_bytes: int, domain: Domain) -> int | None:
    """A byte address that some active lane touches although it lies outside of [0, size_bytes); None if none is found.

    Takes time in proportion to the number of dimensions, not of lanes: it tries the lanes nearest to both ends.
    """
    if domain.is_empty:
        return None
    lower, upper = address.value_range(domain.box)
    if lower >= 0 and upper + width <= size_bytes:
        return None
    if not all(isinstance(atom, Dimension) for atom in address.terms):
        return _first_outside(address, width, size_bytes, domain, _corners(domain))
    targets: list[int] = []
    if upper + width > size_bytes:
        targets += [max(size_bytes - width + 1, 0), size_bytes, upper]
    if lower < 0:
        targets += [-1, lower]
    points = (point for target in targets for point in _points_near(address, target, domain))
    return _first_outside(address, width, size_bytes, domain, points)


def _first_outside(
    address: Index, width: int, size_bytes: int, domain: Domain, points: Iterable[dict[Dimension, int]]
) -> int | None:
    """The first of these lanes' addresses that lies outside; None where that depends on what is known later."""
    try:
        for point in points:
            found = address.at(point)
            if not 0 <= found <= size_bytes - width and domain.mask.at(point):
                return found
    except ValueError:
        return None
    return None


def _corners(domain: Domain) -> Iterator[dict[Dimension, int]]:
    """The lanes with the least and greatest number along each dimension, as long as they are few."""
    dimensions = [*{*domain.dimensions, *domain.mask.dimensions}]
    ends = [sorted({low, high - 1}) for low, high in map(domain.box.bounds, dimensions)]
    for numbers in islice(product(*ends), MOST_CORNERS):
        yield dict(zip(dimensions, numbers, strict=True))


def _points_near(address: Index, target: int, domain: Domain) -> Iterator[dict[Dimension, int]]:
    """Lanes whose address is the target or, where no lane has that, the next ones above and below it."""
    box = domain.box
    others = {*domain.dimensions, *domain.mask.dimensions}
    base = {each: box.bounds(each)[0] for each in others}
    terms: list[tuple[Dimension, int]] = []
    value = address.constant
    for dimension, factor in address.terms.items():
        assert isinstance(dimension, Dimension)
        low, high = box.bounds(dimension)
        base[dimension] = low if factor > 0 else high - 1
        value += factor * base[dimension]
        terms.append((dimension, factor))
    left = target - value
    point = dict(base)
    for dimension, factor in sorted(terms, key=lambda term: -abs(term[1])):
        steps = max(0, min(box.extent(dimension) - 1, left // abs(factor)))
        point[dimension] += steps if factor > 0 else -steps
        left -= steps * abs(factor)
    yield point
    for dimension, factor in sorted(terms, key=lambda term: abs(term[1])):
        moved = point[dimension] + (1 if factor > 0 else -1)
        low, high = box.bounds(dimension)
        if low <= moved < high:
            yield {**point, dimension: moved}
