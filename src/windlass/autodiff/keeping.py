"""Which values of a round are kept for the way back, and which are computed again: a minimum cut.

The way back needs some values of the round. Each of them is kept, or computed again from others that are at hand: those
are kept, or computed again in turn. Keeping costs the bytes written and read, computing the operations; the choice that
costs least in all is a minimum cut between what the round begins with and what is needed (as checkpointing is chosen
for neural networks, where the graph is that of a whole program). So of an array of which each round reads a row, the
row is kept and not the array; a product of matrices is kept, a sum is computed again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator
from itertools import pairwise

from windlass.facts.cost import CPU
from windlass.facts.terms import op_of, sources
from windlass.ir import Argument, Block, Op, TensorType, Value
from windlass.ops import BroadcastInDim, Iota, While

_FORBIDDEN = 1e30
SCARCITY = 4.0
"""How many times the seconds of moving a byte is paid for keeping it: memory that is taken is taken for long."""


def choose_kept(
    block: Block,
    needed: Iterable[Value],
    free: Collection[Value],
    is_least: bool = False,
    repeats_loops: bool = True,
) -> list[Value]:
    """The values of a block to be kept, in its order, from which those needed can be computed.

    The arguments in `free`, and what is not of the block, are at hand anyway. With `is_least` as few bytes are kept as
    can be, whatever is computed again for it. Where loops are not repeated, what is needed of theirs is kept.

    >>> from windlass.ir import tensor_type
    >>> from windlass.ir.builder import Builder
    >>> from windlass.ops import DynamicSlice, Tanh
    >>> block = Block([tensor_type((1000, 8), "f32"), tensor_type((), "i32")])
    >>> with Builder(block):
    ...     row = DynamicSlice(block.arguments[0], (block.arguments[1],) * 2, (1, 8))
    ...     needed = Tanh(row)
    >>> choose_kept(block, [needed], [block.arguments[1]]) == [needed]
    True
    """
    network = _Network()
    wanted = [value for value in dict.fromkeys(needed) if _is_of(value, block) and value not in free]
    for value in wanted:
        network.connect(("value", value), "end", _FORBIDDEN)
    seen: set[Hashable] = set()
    waiting = list(wanted)
    while waiting:
        value = waiting.pop()
        op = op_of(value)
        maker: Hashable = "begin" if op is None else op
        network.connect(maker, ("value", value), _price_of_keeping(value, is_least))
        if op is None or op in seen:
            continue
        seen.add(op)
        is_barred = not op.is_pure or (not repeats_loops and isinstance(op, While))
        network.connect("begin", op, _FORBIDDEN if is_barred else _price_of_computing(op) * (1e-9 if is_least else 1.0))
        for operand in sources(op):
            if _is_of(operand, block) and operand not in free:
                network.connect(("value", operand), op, _FORBIDDEN)
                if ("seen", operand) not in seen:
                    seen.add(("seen", operand))
                    waiting.append(operand)
    reached = network.reached_at_maximum("begin", "end")

    def is_kept(value: Value) -> bool:
        op = op_of(value)
        return (
            ("begin" if op is None else op) in reached
            and network.has(("value", value))
            and (("value", value) not in reached)
        )

    values = [*block.arguments, *(result for op in block for result in op.results)]
    return [value for value in values if is_kept(value)]


def most_at_once(block: Block) -> int:
    """Bytes of the values of a block that are there at once, at most: those that are written and used later.

    What is made of one number is written nowhere.
    """
    ops = list(block)
    last = {value: place for place, op in enumerate(ops) for value in sources(op)}
    ends: dict[int, int] = {}
    now = most = 0
    for place, op in enumerate(ops):
        written = (
            0
            if op.is_free or isinstance(op, BroadcastInDim | Iota)
            else sum(result.type.bytes for result in op.results if isinstance(result.type, TensorType))
        )
        now += written
        end = max((last.get(result, place) for result in op.results), default=place)
        ends[end] = ends.get(end, 0) + written
        most = max(most, now)
        now -= ends.get(place, 0)
    return most


def _is_of(value: Value, block: Block) -> bool:
    owner = value if isinstance(value, Argument) else op_of(value)
    return owner is not None and owner.block is block


def _price_of_keeping(value: Value, is_least: bool) -> float:
    if not isinstance(value.type, TensorType):
        return _FORBIDDEN
    # One more than its bytes: of several small values that say the same, fewer are kept.
    return (value.type.bytes + 1) * (1.0 if is_least else SCARCITY * 2 / CPU.bandwidth)


def _price_of_computing(op: Op) -> float:
    rate = CPU.contraction_rate(op.results[0].tensor.dtype) if op.is_contraction else CPU.arithmetic
    return op.flops() / rate


class _Network:
    """Nodes, and how much can flow from one to another; Dinic's algorithm for how much can flow in all."""

    def __init__(self) -> None:
        self.room: dict[Hashable, dict[Hashable, float]] = {}

    def connect(self, source: Hashable, sink: Hashable, capacity: float) -> None:
        self.room.setdefault(source, {})[sink] = capacity
        self.room.setdefault(sink, {}).setdefault(source, 0.0)

    def has(self, node: Hashable) -> bool:
        return node in self.room

    def reached_at_maximum(self, begin: Hashable, end: Hashable) -> set[Hashable]:
        """What can still be reached when nothing more can flow: the near side of a minimum cut."""
        self.room.setdefault(begin, {})
        self.room.setdefault(end, {})
        while end in (levels := self._levels(begin)):
            left = {node: iter(edges) for node, edges in self.room.items()}
            while self._augment(begin, end, levels, left):
                pass
        return set(levels)

    def _levels(self, begin: Hashable) -> dict[Hashable, int]:
        levels = {begin: 0}
        waiting = deque([begin])
        while waiting:
            node = waiting.popleft()
            for other, room in self.room[node].items():
                if room > 0 and other not in levels:
                    levels[other] = levels[node] + 1
                    waiting.append(other)
        return levels

    def _augment(
        self, begin: Hashable, end: Hashable, levels: dict[Hashable, int], left: dict[Hashable, Iterator[Hashable]]
    ) -> bool:
        """Let more flow along one shortest path."""
        path = [begin]
        while path[-1] != end:
            node = path[-1]
            for other in left[node]:
                if self.room[node][other] > 0 and levels.get(other) == levels[node] + 1:
                    path.append(other)
                    break
            else:
                path.pop()
                if not path:
                    return False
        edges = list(pairwise(path))
        amount = min(self.room[node][other] for node, other in edges)
        for node, other in edges:
            self.room[node][other] -= amount
            self.room[other][node] += amount
        return True
