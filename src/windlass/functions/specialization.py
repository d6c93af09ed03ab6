"""Arguments that are compiled in: those that are no arrays and numbers, and integers whose values the function needs.

An integer that decides a shape, a slice's bounds or what only Python can do is unknown when the function is first
traced. Where it is asked for, tracing ends (`IntegersNeeded`), and the function is compiled for the value that the call
has: once for each value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.diagnostics.warning import warn_caller

MANY_VALUES = 32
"""After so many values that a function was compiled for, it is said."""


class Static:
    """An argument that is compiled in. Hashable: two calls share a program if theirs are equal."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    @classmethod
    def of(cls, value: Any) -> Static:
        """The argument.

        Raises LaunchError (WL0911) where it is not hashable.
        """
        try:
            hash(value)
        except TypeError:
            raise LaunchError(
                Diagnostic(
                    "WL0911",
                    f"an argument of type {type(value).__name__} can't be compiled in: it is not hashable",
                    help="pass numbers and arrays, in lists, tuples or dictionaries if need be",
                )
            ) from None
        return cls(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


jax.tree_util.register_pytree_node(Static, lambda each: ((), each), lambda each, _: each)


class IntegersNeeded(Exception):
    """The function can't be compiled before the values of these arguments (by their numbers) are known; `error` is what
    is said otherwise."""

    def __init__(self, numbers: Sequence[int], error: Exception) -> None:
        super().__init__(str(error))
        self.numbers = tuple(numbers)
        self.error = error


class Specialized:
    """Stands for a function that is compiled for each value of some arguments, by their numbers."""

    def __init__(self, name: str, structure: Any, need: IntegersNeeded) -> None:
        self.error = need.error
        """Why their values are needed."""
        self._name = name
        self._structure = structure
        self._numbers = frozenset(need.numbers)
        self._values: set[tuple[Any, ...]] = set()

    def split(self, leaves: Sequence[Any]) -> tuple[list[Any], Any]:
        """The other arguments, and the structure that has these compiled in."""
        structure, marks = self._structure
        numbered = iter(enumerate(leaves))
        rest: list[Any] = []
        found: list[Any] = []
        needed: list[Any] = []
        for mark in marks:
            if mark is not None:
                found.append(mark)
                continue
            number, leaf = next(numbered)
            if number in self._numbers:
                found.append(Static.of(leaf))
                needed.append(leaf)
            else:
                found.append(None)
                rest.append(leaf)
        self._count(tuple(needed))
        return rest, (structure, tuple(found))

    def _count(self, values: tuple[Any, ...]) -> None:
        if values in self._values or len(self._values) > MANY_VALUES:
            return
        self._values.add(values)
        if len(self._values) > MANY_VALUES:
            warn_caller(
                Diagnostic(
                    "WL0921",
                    f"{self._name} has been compiled for {len(self._values)} values of an integer that it has to know",
                    help="let it decide no shapes, as in x.sum(where=numpy.arange(x.size) < n), or pass few values",
                    severity="warning",
                )
            )
