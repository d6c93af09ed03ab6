"""Whether a program's memory can be had, told before XLA asks for it.

XLA keeps little of what stands in a program: most ops are computed as they are needed. What a sort, a scatter or a loop
works on has to lie in memory, though, all of it at once. That is a lower bound: a program which needs more than there
is of it can't run, and is refused before it is compiled. What passes may still fail, and XLA's error says so then.
"""

from __future__ import annotations

import jax

from windlass.diagnostics.limits import out_of_memory
from windlass.ir import Function, TensorType, Value
from windlass.ops import Return, Scatter, Sort, While

_EXHAUSTED = "RESOURCE_EXHAUSTED"


def least_memory(function: Function) -> int:
    """Bytes that a program takes at least on a CPU.

    >>> from windlass.ir import Block, Builder
    >>> from windlass.ir.values import tensor_type
    >>> from windlass.ops import Add
    >>> block = Block([tensor_type((1000,), "f32")])
    >>> with Builder(block):
    ...     _ = Return((Add(block.arguments[0], block.arguments[0]),))
    >>> least_memory(Function("main", block))
    4000
    """
    kept = (op for op in function.walk() if isinstance(op, Scatter | Sort | While | Return))
    return max((_bytes(op.operands) for op in kept), default=0)


def _bytes(values: tuple[Value, ...]) -> int:
    return sum(value.type.bytes for value in set(values) if isinstance(value.type, TensorType))


def as_out_of_memory(error: Exception, what: str) -> Exception:
    """XLA's error for memory that it can't have as ours (MemoryLimitError, WL0624), which says for what; another error
    as it is.

    >>> error = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.")
    >>> print(str(as_out_of_memory(error, "a kernel")).splitlines()[0])
    error[WL0624]: there is no memory for a kernel
    """
    code, _, said = str(error).partition(": ")
    if not isinstance(error, jax.errors.JaxRuntimeError) or code != _EXHAUSTED:
        return error
    return out_of_memory(what, *(f"XLA says: {line}" for line in said.splitlines()[:1]))
