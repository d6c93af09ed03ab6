"""Which of a block's threads have something to do in a piece, where all of it stands behind conditions on their ids.

    if (t < s) part[t] += part[t + s];        the threads 0 to s - 1
    if (t >= 1 && t <= 14 && y == 0) …        the threads 1 to 14 of the first row

The others are not visited. Bounds are numbers, or for x sums of numbers that are known when the piece begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass.affine.dimensions import Box, Dimension
from windlass.affine.index import Index, RuntimeScalar
from windlass.affine.predicate import AtLeastZero
from windlass.ir import Block, Value
from windlass.loops import If, Parallel, Yield
from windlass.native.lanes import Lanes
from windlass.native.lockstep import PieceReader
from windlass.native.text import Text

LARGEST = 1 << 40
"""Of numbers beyond this a sum is not taken."""


@dataclass(frozen=True)
class PieceBounds:
    """From where to where the ids go along each dimension, the last one not included; `at_least` and `at_most` are
    more bounds of the x, over numbers that are known before the piece."""

    ranges: tuple[tuple[int, int], ...]
    at_least: tuple[Index, ...] = ()
    at_most: tuple[Index, ...] = ()

    def of_x(self, text: Text, lanes: Lanes) -> tuple[str, str]:
        """The first x and the one after the last, as numbers in a text."""
        low, high = self.ranges[0]
        first, last = str(low), str(high)
        for index in self.at_least:
            first = text.call("i64", "llvm.smax.i64", f"i64 {first}", f"i64 {_sum(index, text, lanes)}")
        for index in self.at_most:
            last = text.call("i64", "llvm.smin.i64", f"i64 {last}", f"i64 {_sum(index + 1, text, lanes)}")
        return first, last


def find_bounds(
    piece: Parallel, reader: PieceReader, axes: Sequence[Dimension | None], names: Mapping[Value, str]
) -> PieceBounds:
    """The bounds of a piece; `axes` are the dimensions of its ids, None where there is one id only, and `names` have
    the values that are known before it."""
    sizes = [1 if each is None else each.size for each in axes]
    everywhere = PieceBounds(tuple((0, size) for size in sizes))
    arms = _arms(piece.body.block)
    if arms is None:
        return everywhere
    box: Box | None = None
    for arm in arms:
        here = reader.domain_at(arm).box
        box = here if box is None else box.hull(here)
    if box is None:
        return everywhere
    ranges = tuple((0, 1) if each is None else box.bounds(each) for each in axes)
    at_least: list[Index] = []
    at_most: list[Index] = []
    x = axes[0]
    if x is not None and len(arms) == 1:
        for condition in reader.domain_at(arms[0]).mask.conjuncts():
            if not isinstance(condition, AtLeastZero):
                continue
            factor = condition.index.terms.get(x, 0)
            rest = condition.index - Index.of(x).scale(factor)
            if not all(_is_known(atom, names) for atom in rest.terms) or abs(rest.constant) > LARGEST:
                continue
            if factor == 1:
                at_least.append(-rest)
            elif factor == -1:
                at_most.append(rest)
    return PieceBounds(ranges, tuple(at_least), tuple(at_most))


def _arms(block: Block) -> list[Block] | None:
    """The arms of branches in which all that the block does stands; None where some stands outside of them."""
    found: list[Block] = []
    for op in block:
        if isinstance(op, Yield) or op.is_pure:
            continue
        if not isinstance(op, If):
            return None
        found += [region.block for region in op.regions if any(not isinstance(inner, Yield) for inner in region.block)]
    return found


def _is_known(atom: object, names: Mapping[Value, str]) -> bool:
    return isinstance(atom, RuntimeScalar) and atom.value in names and atom.lower >= -LARGEST and atom.upper <= LARGEST


def _sum(index: Index, text: Text, lanes: Lanes) -> str:
    """The index as a number (an i64)."""
    total = str(index.constant)
    for atom, factor in index.terms.items():
        assert isinstance(atom, RuntimeScalar)
        dtype, name = atom.value.dtype, lanes.name(atom.value)
        if dtype not in ("i64", "ui64"):
            extend = "zext" if dtype.startswith("u") else "sext"
            name = text.put(f"{extend} i{atom.value.tensor.numpy_dtype.itemsize * 8} {name} to i64")
        if factor != 1:
            name = text.put(f"mul i64 {name}, {factor}")
        total = text.put(f"add i64 {total}, {name}")
    return total
