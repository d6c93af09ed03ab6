"""What is kept of all that was compiled: the latest, in the whole process, and not what nobody can ask for any more.

A compiled program takes a megabyte and more, most of it XLA's. Each kernel, launch and function has a store of its own
for what was compiled for it; together they keep `MOST_COMPILED`. What is dropped is compiled again when it is needed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable
from typing import Any, TypeVar
from weakref import ref

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

MOST_COMPILED = 512
"""How many entries all stores have together. A launch takes two: the program, and what binds arguments to it; and one
for each form of the program that takes arrays from the beginning of their cache lines on."""

_lock = threading.Lock()
_order: deque[tuple[ref[CompiledStore[Any, Any]], Any]] = deque()


class CompiledStore(dict[Key, Value]):
    """What was compiled, by what it was compiled for: a dictionary in which things are entered with `keep`.

    >>> store = CompiledStore()
    >>> for key in range(MOST_COMPILED + 2):
    ...     store.keep(key, str(key))
    >>> len(store) <= MOST_COMPILED, 0 in store, MOST_COMPILED + 1 in store
    (True, False, True)
    """

    __slots__ = ("__weakref__",)

    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType, reportIncompatibleVariableOverride]
    """By identity, for weak references."""

    def keep(self, key: Key, value: Value) -> None:
        """Enter a value; the oldest in any store goes if there are too many."""
        with _lock:
            self[key] = value
            _order.append((ref(self), key))
            if len(_order) > MOST_COMPILED:
                there = [entry for entry in _order if _is_there(*entry)]
                _order.clear()
                _order.extend(there)
            while len(_order) > MOST_COMPILED:
                store, oldest = _order.popleft()
                if (found := store()) is not None:
                    found.pop(oldest, None)


def _is_there(store: ref[CompiledStore[Any, Any]], key: Any) -> bool:
    found = store()
    return found is not None and key in found
