"""Which element of a value stands where on the device that runs: asked of the device's own number."""

from __future__ import annotations

from windlass.communication.propagation import Division
from windlass.ir import Value
from windlass.ops import (
    Add,
    And,
    BroadcastInDim,
    Compare,
    Constant,
    Convert,
    Divide,
    Iota,
    Multiply,
    Or,
    PartitionId,
    Remainder,
)
from windlass.ops.shardings import Mesh

MOST_NARROW = 1 << 29
"""Axes of up to so many elements are counted in 32 bits, which all devices have."""


class Positions:
    """Makes, at the place of the active builder, what tells devices apart."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self._number: Value | None = None
        self._parts: dict[tuple[str, ...], Value] = {}

    def indices(self, division: Division, start: int, low: int, length: int, is_ring: bool) -> Value:
        """For each of `length` positions from `low` on, counted from the device's first one, the index of the element
        that stands there, of a value that starts at `start`: a vector."""
        first = (low - start) % division.extent if is_ring else low - start
        dtype = "i32" if division.extent <= MOST_NARROW else "i64"
        line = Iota((length,), dtype, 0)
        offset = Add(self._offset(division, dtype), Constant.of(first, dtype))
        found: Value = Add(line, BroadcastInDim(offset, (length,), ()))
        if is_ring:
            found = Remainder(found, Constant.of(division.extent, dtype, (length,)))
        return found

    def within(self, indices: Value, first: int, limit: int, size: int) -> Value | None:
        """Where indices are from `first` on and below `limit`; None where all of a value of this size are."""
        tests: list[Value] = []
        if first > 0:
            tests.append(Compare(indices, Constant.of(first, indices.dtype, indices.shape), "GE"))
        if limit < size:
            tests.append(Compare(indices, Constant.of(limit, indices.dtype, indices.shape), "LT"))
        if not tests:
            return None
        return tests[0] if len(tests) == 1 else And(*tests)

    def is_among(self, division: Division, parts: int) -> Value:
        """Whether this device holds one of these parts: a bit for each."""
        part, found = self.part(division), None
        ends = [place for place in range(division.parts + 1) if (parts << 1 >> place ^ parts >> place) & 1]
        for first, limit in zip(ends[::2], ends[1::2], strict=True):
            tests = [Compare(part, Constant.of(limit, part.dtype), "LT")] if limit < division.parts else []
            if first or not tests:
                tests.append(Compare(part, Constant.of(first, part.dtype), "GE"))
            test = tests[0] if len(tests) == 1 else And(*tests)
            found = test if found is None else Or(found, test)
        assert found is not None
        return found

    def part(self, division: Division) -> Value:
        """The number of the part that this device holds along an axis."""
        known = self._parts.get(division.names)
        if known is None:
            if self._number is None:
                self._number = PartitionId()
            sizes = dict(self.mesh.axes)
            part: Value | None = None
            for name in division.names:
                stride = Constant.of(self.mesh.stride(name), "ui32")
                size = Constant.of(sizes[name], "ui32")
                own = Remainder(Divide(self._number, stride), size)
                part = own if part is None else Add(Multiply(part, size), own)
            assert part is not None
            known = self._parts[division.names] = part
        return known

    def _offset(self, division: Division, dtype: str) -> Value:
        """The first position of this device along an axis."""
        return Multiply(Convert(self.part(division), dtype), Constant.of(division.length, dtype))
