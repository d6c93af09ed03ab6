"""What is kept of each loop that is being vectorised: its dimension, and which memory its body touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from windlass.affine.access import Access
from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.diagnostics import Position
from windlass.ir import Argument, Block, Op, Value
from windlass.raising.history import LASTING
from windlass.raising.items import Memory
from windlass.raising.obstacle import Obstacle


@dataclass(frozen=True)
class AccessRecord(Access["Memory"]):
    """One access of all lanes; `kind` is "load", "store" or "atomic" with the operation's name."""

    kind: str
    dtype: str
    while_depth: int
    is_unconditional: bool
    """Whether all lanes of the loop do it in each iteration."""
    is_covered: bool
    """Whether it loads what was surely stored in the same iteration of a loop whose iterations have copies."""
    position: Position | None


@dataclass
class VectorFrame:
    """A loop whose iterations are lanes: `dimension` counts them.

    `inner_dimensions` are those of loops within it, whose values in two iterations have nothing to do with each other;
    threads that wait for each other in the loop are among them.
    `accesses` are in program order.
    """

    dimension: Dimension
    domain: Domain
    while_depth: int
    block_depths: Mapping[Block, int] = field(metadata=LASTING)
    is_fused: bool = False
    """Whether the dimension counts threads as well (see strides.py)."""
    is_independent: bool = False
    """Whether the source says that no iteration touches what another one stores (see loops/independence.py)."""
    inner_dimensions: set[Dimension] = field(default_factory=set[Dimension])
    copied: frozenset[Memory] = frozenset()
    """Shared memories of which each iteration has a copy (see privatization.py)."""
    affine_gathers: int = 0
    """Loads that had to be gathers, or choices between slices, although their index is a plain sum over dimensions,
    this one among them."""
    accesses: list[AccessRecord] = field(default_factory=list[AccessRecord])
    read_slots: set[tuple[Memory, tuple[int, str]]] = field(default_factory=set["tuple[Memory, tuple[int, str]]"])
    written_slots: dict[tuple[Memory, tuple[int, str]], None] = field(
        default_factory=dict["tuple[Memory, tuple[int, str]]", None]
    )
    element_places: dict[tuple[Memory, tuple[int, str]], frozenset[tuple[tuple[Dimension, Index], ...]]] = field(
        default_factory=dict["tuple[Memory, tuple[int, str]]", "frozenset[tuple[tuple[Dimension, Index], ...]]"]
    )
    """Which elements of a local array an iteration touches: places along those of its axes that the loop counts."""
    filled_places: dict[tuple[Memory, tuple[int, str]], frozenset[tuple[int, ...]]] = field(
        default_factory=dict["tuple[Memory, tuple[int, str]]", "frozenset[tuple[int, ...]]"]
    )
    """Elements of a local array that each iteration stores a known number to."""
    counted_stores: set[tuple[Memory, tuple[int, str]]] = field(default_factory=set["tuple[Memory, tuple[int, str]]"])
    """Local arrays of which iterations store to elements of their own."""

    def is_inner(self, value: Value) -> bool:
        """Whether a value is computed in a loop of tensor ops within this one, so that it changes there."""
        block = value.block if isinstance(value, Op | Argument) else None
        owner = getattr(value, "owner", None)
        if block is None and isinstance(owner, Op):
            block = owner.block
        return block is not None and self.block_depths.get(block, 0) > self.while_depth


def is_within(op: Op, outer: Op) -> bool:
    """Whether an op stands in a region of another."""
    inner: Op | None = op
    while inner is not None:
        if inner is outer:
            return True
        inner = inner.parent_op
    return False


@dataclass(frozen=True)
class Visit(Access["Memory"]):
    """An access whose `time` counts the barriers of the source.

    `obstacle` is what is said if another access comes to the same place at the same time, where that matters.
    """

    obstacle: Obstacle | None = None
