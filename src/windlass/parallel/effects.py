"""What a kernel may write and which device variables it uses, read off its loop level."""

from __future__ import annotations

from windlass.ir import BufferType, Function, Value
from windlass.loops import (
    Access,
    Allocate,
    Atomic,
    AtomicUpdate,
    CompareExchange,
    DeviceCall,
    DeviceVariableBuffer,
    Load,
    NullBuffer,
    Store,
    accessed_dtype,
)
from windlass.ops.conversion import byte_width


def written_parameters(function: Function) -> frozenset[int]:
    """Positions of the parameters whose memory the kernel may write."""
    written = _written(function)
    return frozenset(index for index, argument in enumerate(function.arguments) if argument in written)


def written_variables(function: Function) -> frozenset[str]:
    """Linker names of the device variables that the kernel may write."""
    return frozenset(root.variable for root in _written(function) if isinstance(root, DeviceVariableBuffer))


def _written(function: Function) -> frozenset[Value]:
    """The parameters, device variables and allocations whose memory the kernel may write."""
    roots = find_roots(function)
    written: set[Value] = set()
    for op in function.walk():
        if isinstance(op, DeviceCall):
            buffers: tuple[Value, ...] = tuple(each for each in op.inputs if isinstance(each.type, BufferType))
        elif isinstance(op, Store | Atomic | AtomicUpdate | CompareExchange):
            buffers = (op.buffer,)
        else:
            continue
        for buffer in buffers:
            written |= roots.get(buffer, frozenset())
    return frozenset(written)


def widest_alignment(function: Function) -> int:
    """The largest multiple at which a vector, struct, or number that is wider than its array's elements has to lie; 1
    where there are none."""
    return max((_alignment_of(op) for op in function.walk() if isinstance(op, Access)), default=1)


def _alignment_of(op: Access) -> int:
    element = op.buffer.type.dtype if isinstance(op.buffer.type, BufferType) else None
    width = byte_width(accessed_dtype(op))
    is_wider = element is not None and width > byte_width(element)
    vector = op.alignment if isinstance(op, Load | Store) else 0
    return max(vector, width if is_wider else 1)


def variables_used(function: Function) -> tuple[str, ...]:
    """Linker names of the device variables that the kernel touches."""
    return tuple(dict.fromkeys(op.variable for op in function.walk() if isinstance(op, DeviceVariableBuffer)))


def find_roots(function: Function) -> dict[Value, frozenset[Value]]:
    """For each pointer value, the parameters, device variables, allocations and null pointers that it may come from.

    Pointers pass through selects, the results of branches and values carried by loops: every buffer operand of such an
    op (and of the terminators inside) may become any of its buffer results and body arguments. A fixpoint, since loops
    carry them round.
    """
    roots: dict[Value, frozenset[Value]] = {
        argument: frozenset({argument}) for argument in function.arguments if isinstance(argument.type, BufferType)
    }
    memories = (DeviceVariableBuffer, Allocate, NullBuffer)
    roots |= {op: frozenset({op}) for op in function.walk() if isinstance(op, memories)}
    changed = True
    while changed:
        changed = False
        for op in function.walk():
            if isinstance(op, memories):
                continue
            targets = [result for result in op.results if isinstance(result.type, BufferType)]
            sources = list(op.operands)
            for region in op.regions:
                for block in region.blocks:
                    targets += [each for each in block.arguments if isinstance(each.type, BufferType)]
                    if block.last is not None:
                        sources += block.last.operands
            if not targets:
                continue
            found = frozenset[Value]().union(*(roots.get(source, frozenset()) for source in sources))
            for target in targets:
                if not found <= roots.get(target, frozenset()):
                    roots[target] = roots.get(target, frozenset()) | found
                    changed = True
    return roots
