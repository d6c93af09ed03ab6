"""`numba.typed`: lists and dictionaries of one type, which here are Python's own."""

from __future__ import annotations

from typing import Any

__all__ = ["Dict", "List"]


class List(list[Any]):
    """`numba.typed.List`. Functions that are given one are run by Python, and change it in place.

    >>> from windlass.numba import njit
    >>> @njit
    ... def extend(values, more):
    ...     values.append(more + values[0])
    >>> values = List([1.0])
    >>> extend(values, 2.0)
    >>> values
    [1.0, 3.0]
    """

    @staticmethod
    def empty_list(item_type: Any, allocated: int = 0) -> List:
        """A list of that type, which is not asked for."""
        return List()


class Dict(dict[Any, Any]):
    """`numba.typed.Dict`."""

    @staticmethod
    def empty(key_type: Any, value_type: Any, n_keys: int = 0) -> Dict:
        """A dictionary of these types, which are not asked for."""
        return Dict()
