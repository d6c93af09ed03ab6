"""Keeping XLA:GPU's fused loops small enough for the registers of a thread.

XLA:GPU fuses as long as that saves bytes, whatever the loop then holds in registers. A chain of stencils becomes one
loop that reads dozens of neighbours, for four elements at once: the values don't fit any more, and each thread writes
them to memory and reads them back. Reported for an ocean model on an H100 (Reactant.jl issue 3275): loops of 1000 to
3900 instructions, 13 to 20 KB spilled by each thread, 2 to 3.4 times slower than loops written by hand.

Here the registers of each loop are estimated. Where they would not suffice, a value inside is handed through an
`optimization_barrier`, if writing and reading it takes less time than the spills by estimate. XLA:GPU takes barriers
out after it has fused and scheduled (`OptimizationBarrierExpander` in gpu_compiler.cc); XLA:CPU does so before, which
is why values are settled there instead. The estimate has not been checked on a GPU: it follows from these sources.
"""

from __future__ import annotations

from windlass.facts.cost import GPU, Device, fuses
from windlass.ir import Block, Builder, Module, Op, TensorType, Value
from windlass.ops import OptimizationBarrier, Pad, Reverse, Slice, Transpose

REGISTERS = 255
"""What a thread of an NVIDIA GPU can have, in words of 32 bits. (CUDA programming guide, compute capabilities.)"""
OWN = 24
"""Of these, how many indices and temporaries take."""
UNROLLED = 4
"""Elements that a thread of XLA:GPU's loops computes at once."""
SPILL = 8
"""How much faster the first level of cache, into which registers spill, is than memory."""
LARGEST = 4096
"""Reads of one value that are told apart; more are far beyond what fits."""

Read = tuple[Value, tuple[int, ...] | int]
"""A value in memory, and how far from an element's own place it is read; or a number that tells orders apart."""


def split_fusions(module: Module, device: Device = GPU) -> int:
    """Put barriers into the module, in place, where its loops would not fit into registers; gives how many."""
    return sum(_split_block(function.body, device) for function in list(module.functions.values()))


def _split_block(block: Block, device: Device) -> int:
    count = 0
    reads = Reads()
    op = block.first
    while op is not None:
        for region in op.regions:
            for inner in region.blocks:
                count += _split_block(inner, device)
        if _is_computed(op) and registers(op, reads) > REGISTERS:
            cut = _find_cut(op, reads)
            if cut is not None and spilling(op, reads, device) > _writing(cut, device):
                _put_barrier(cut)
                count += 1
                # What comes after the cut reads it from memory now.
                reads = Reads()
                op = cut.next
                continue
        op = op.next
    return count


def _is_computed(op: Op) -> bool:
    return op.is_elementwise and isinstance(op.type, TensorType) and op.tensor.rank > 0 and fuses(op)


class Reads:
    """What the loop that computes a value reads from memory, with all fused that XLA can fuse."""

    def __init__(self) -> None:
        self.known: dict[Value, frozenset[Read]] = {}

    def of(self, value: Value) -> frozenset[Read]:
        """The reads for one element; values before it in the block are found first."""
        pending = [value]
        while pending:
            each = pending[-1]
            if each in self.known:
                pending.pop()
                continue
            if not isinstance(each, Op) or not fuses(each):
                self.known[each] = frozenset({(each, ())})
            else:
                missing = [operand for operand in each.operands if operand not in self.known]
                if missing:
                    pending.extend(missing)
                    continue
                self.known[each] = self._moved(each)
            pending.pop()
        return self.known[value]

    def _moved(self, op: Op) -> frozenset[Read]:
        found: set[Read] = set()
        for operand in op.operands:
            found |= self.known[operand]
            if len(found) > LARGEST:
                break
        shift: tuple[int, ...] | None = None
        if isinstance(op, Slice) and all(stride == 1 for stride in op.strides):
            shift = op.start_indices
        elif isinstance(op, Pad) and not any(op.interior_padding):
            shift = tuple(-low for low in op.edge_padding_low)
        elif op.is_elementwise or not op.operands:
            return frozenset(found)
        return frozenset((value, _shifted(place, shift, op)) for value, place in found)


def _shifted(place: tuple[int, ...] | int, shift: tuple[int, ...] | None, op: Op) -> tuple[int, ...] | int:
    if shift is None or isinstance(place, int):
        # Another order of elements, or a shift of one: told apart from all others.
        return hash((place, shift, type(op), tuple(getattr(op, name) for name in op.attribute_names)))
    if not place:
        return shift if any(shift) else ()
    moved = tuple(a + b for a, b in zip(place, shift, strict=True)) if len(place) == len(shift) else shift
    return moved if any(moved) else ()


def registers(op: Op, reads: Reads) -> int:
    """How many registers a thread of the loop that computes the op needs, about: one for each word that it reads.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Add
    >>> registers(Add(tensor("f32", 9), tensor("f32", 9, name="y")), Reads())
    36
    """
    found = reads.of(op)
    words = sum(max(value.tensor.bytes // max(value.tensor.size, 1) // 4, 1) for value, _ in found if is_array(value))
    pointers = len({value for value, _ in found}) * 2
    return OWN + pointers + UNROLLED * words


def is_array(value: Value) -> bool:
    """Whether a value has an element for each element of a loop; numbers are read once."""
    return isinstance(value.type, TensorType) and value.type.size > 1


def spilling(op: Op, reads: Reads, device: Device) -> float:
    """Seconds that writing and reading what doesn't fit into registers takes."""
    excess = max(registers(op, reads) - REGISTERS, 0)
    threads = op.tensor.size / UNROLLED
    return 2 * 4 * excess * threads / (SPILL * device.bandwidth)


def _writing(cut: Op, device: Device) -> float:
    return device.launch + 2 * cut.tensor.bytes / device.bandwidth


def _find_cut(op: Op, reads: Reads) -> Op | None:
    """The value to keep in memory: the nearest one that is read at other places than its own, else an operand."""
    seen: set[Value] = {op}
    frontier: list[Value] = [op]
    for each in frontier:
        if not isinstance(each, Op) or len(seen) > LARGEST:
            continue
        for operand in each.operands:
            if operand in seen or not isinstance(operand, Op) or not fuses(operand):
                continue
            seen.add(operand)
            moves = isinstance(each, Slice | Pad | Reverse | Transpose)
            if moves and _is_computed(operand) and len(reads.of(operand)) > 1:
                return operand
            frontier.append(operand)
    parts = [operand for operand in op.operands if isinstance(operand, Op) and _is_computed(operand)]
    parts = [part for part in parts if len(reads.of(part)) > 1]
    return max(parts, key=lambda part: len(reads.of(part)), default=None)


def _put_barrier(cut: Op) -> None:
    assert cut.block is not None
    users = list(cut.uses)
    with Builder(cut.block, before=cut.next, source=cut.source):
        (kept,) = OptimizationBarrier((cut,)).results
    for user in users:
        user.replace_operand(cut, kept)


__all__ = ["Reads", "registers", "spilling", "split_fusions"]
