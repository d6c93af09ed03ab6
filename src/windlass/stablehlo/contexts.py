"""MLIR contexts that are used again: making one takes milliseconds, more than a small program itself.

A context keeps every type, attribute and constant that was ever made in it, so each is given up after a while; and what
one program names must not be found by the next, so programs whose constants stand apart by name get one of their own.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

from windlass.stablehlo import private_jax
from windlass.stablehlo.waiting import require_threads

MOST_SPARE = 4
"""How many contexts are kept for the next user; as many threads find one at the same time."""
MOST_USES = 500
MOST_BYTES = 16 << 20
"""How much, in text and constants, passes through a context before it is given up."""


def make_context() -> Any:
    """A new MLIR context with every dialect that jaxlib knows. Raises ProgramError (WL0433) as `require_threads`."""
    require_threads()  # MLIR's are JAX's
    return private_jax.make_context()


class _Spare:
    """A context that waits for its next user, with what has been done in it."""

    __slots__ = ("bytes", "context", "uses")

    def __init__(self) -> None:
        self.context = make_context()
        self.context.allow_unregistered_dialects = True
        self.uses = 0
        self.bytes = 0


_spare: deque[_Spare] = deque(maxlen=MOST_SPARE)


@contextmanager
def borrowed_context(size: int, is_private: bool = False) -> Generator[Any]:
    """A context for as long as the `with` lasts; no other thread has it meanwhile, and nothing made in it may be kept.

    `size` is how many bytes of text and constants are made in it. One that `is_private` is used by nobody else, before
    or after; neither is one in which an error was met.

    >>> with borrowed_context(10) as first:
    ...     pass
    >>> with borrowed_context(10) as second, borrowed_context(10) as third:
    ...     second is first, third is first
    (True, False)
    """
    spare = None
    if not is_private:
        with suppress(IndexError):
            spare = _spare.pop()
    spare = spare or _Spare()
    yield spare.context
    spare.uses += 1
    spare.bytes += size
    if not is_private and spare.uses < MOST_USES and spare.bytes < MOST_BYTES:
        _spare.append(spare)


# A forked child has none of the threads that contexts work with.
os.register_at_fork(after_in_child=_spare.clear)
