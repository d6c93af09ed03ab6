"""Who else uses a value: what rules ask of the program around an op, apart from what is equal.

Whether a rewrite pays often hangs on whether what it takes apart is needed by others too. That is a question of cost,
not of truth; and on a graph of equalities (`windlass.rewriting.equality`) it has no answer yet, as what is shared is
decided when a program is taken out of the graph. So rules don't look at `uses`, but ask here; within `left_open`
they are told that nothing else uses a value, and that of several results all are needed.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from windlass.ir import Op, Result, Value

_is_open: ContextVar[bool] = ContextVar("sharing_is_open", default=False)


@contextmanager
def left_open() -> Generator[None]:
    """Within it, what is shared is decided later.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Add, Negate
    >>> x = tensor("f32", 3)
    >>> total = Add(Negate(x), x)
    >>> is_alone(x)
    False
    >>> with left_open():
    ...     print(is_alone(x))
    True
    """
    token = _is_open.set(True)
    try:
        yield
    finally:
        _is_open.reset(token)


def is_alone(value: Value, beside: Op | None = None) -> bool:
    """Whether one op alone uses a value: it is gone, or may be computed otherwise, when that op is replaced.

    With `beside` that op, which uses it once, and is in the same block: what a loop around the op does not compute anew
    must not be moved into it.
    """
    if beside is None:
        return len(value.uses) == 1 or _is_open.get()
    home = value.owner if isinstance(value, Result) else value
    if isinstance(home, Op) and home.block is not beside.block:
        return False
    return (len(value.uses) == 1 and value.uses.get(beside) == 1) or _is_open.get()


def is_used_once(value: Value) -> bool:
    """Whether one op alone uses a value, and as one operand only."""
    return (len(value.uses) == 1 and sum(value.uses.values()) == 1) or _is_open.get()


def users_of(value: Value) -> Collection[Op]:
    """The ops that use a value, as far as that is settled."""
    return () if _is_open.get() else value.uses


def is_needed(result: Value) -> bool:
    """Whether something uses one of the results of an op: what nobody uses may become anything."""
    return bool(result.uses) or _is_open.get()
