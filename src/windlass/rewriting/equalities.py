"""Equalities: what a directed catalogue can't have, as it goes both ways or sees several ops at once.

Each is one function that gives pairs of equal values over a graph of equalities; `windlass.rewriting.equality` enters
them. Which of the two is cheaper is for extraction to find out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from windlass.ir import Op, Value
from windlass.ops.sampling import Draw

Found = TypeVar("Found", bound=Op)


class Known(Protocol):
    """What an equality may ask of a graph: of ops, of what is known to be equal, and whether it was here before."""

    def ops_of(self, op_class: type[Found]) -> list[Found]:
        """Every op of the class, in the order in which they came."""
        ...

    def ops_like(self, value: Value, op_class: type[Found]) -> list[Found]:
        """The ops of the class that give what is known to be equal to the value."""
        ...

    def number(self, value: Value) -> int:
        """Equal for values that are known to be equal."""
        ...

    def is_new(self, *mark: Hashable) -> bool:
        """Whether nobody has asked this before: for what is to be done once."""
        ...


Pairs = Iterator[tuple[Value, Value]]


@dataclass(frozen=True)
class Equality:
    """`body(graph)` gives pairs of equal values. `sample(draw)` makes values of which it finds some pair.

    As rules, equalities that `reassociate` change the order of float sums and products.
    """

    name: str
    equation: str
    body: Callable[[Known], Pairs]
    sample: Callable[[Draw], tuple[Value, ...]]
    reassociates: bool
    module: str


equalities: list[Equality] = []
"""Every equality that was declared, in order."""


def equality(
    *, sample: Callable[[Draw], tuple[Value, ...]], reassociates: bool
) -> Callable[[Callable[[Known], Pairs]], Equality]:
    """Declare an equality: the equation is the docstring's first line."""

    def declare(body: Callable[[Known], Pairs]) -> Equality:
        equation = (body.__doc__ or "").strip().splitlines()[0]
        made = Equality(body.__name__, equation, body, sample, reassociates, body.__module__)
        equalities.append(made)
        return made

    return declare


def choose_equalities(exact: bool = False, without: Collection[str] = ()) -> list[Equality]:
    """The equalities that may be used: with `exact` none that changes the order of float sums.

    >>> choose_equalities(exact=True)
    []
    """
    return [each for each in equalities if each.name not in without and not (exact and each.reassociates)]
