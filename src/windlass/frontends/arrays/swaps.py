"""Loops whose names swap arrays and whose end only data tell: `while error > tolerance: ...; u, v = v, u`.

Which array a name stands for afterwards depends on how many rounds there were. So within the loop each of the names has
a memory of its own, whose elements go round with the name, and so does the number of rounds, counted up to where the
names stand as at first. After the loop each array gets the elements of the name that stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from windlass.frontends.arrays.array import Array, Scalar, elements_of
from windlass.frontends.arrays.sharing import Doubt, relate_two
from windlass.frontends.arrays.states import Body, NotCapturable, State, plain
from windlass.frontends.arrays.tracing import position_now


class Swapping:
    """The names, by position, that have swapped after a round, and where each then stands: its array is the one that
    the other name had.

    Raises NotCapturable where they are views, or differ in shape or dtype.
    """

    def __init__(self, state: State, swaps: dict[int, int], period: int) -> None:
        self.positions = list(swaps)
        self.swaps = swaps
        self.period = period
        self.arrays: list[Array] = [state[position] for position in self.positions]
        storages = {id(each.storage) for each in self.arrays}
        kinds = {(each.shape, each.dtype, each.strides) for each in self.arrays}
        if len(storages) < len(self.arrays) or len(kinds) > 1 or not all(each.is_whole for each in self.arrays):
            raise NotCapturable("names of views, or of arrays of several kinds, change places in a loop that data end")
        self.count = len(state)
        """How many names there are."""
        self.others = dict.fromkeys(other for each in self.arrays for other in each.storage.may_be)

    def body(self, run: Body) -> Body:
        """The body with the number of rounds as the last of the state."""

        def swapping(*given: Any) -> State:
            *rest, rounds = given
            first = len(rest) - self.count  # a `for` loop's body is given the round's item before the names
            for position in self.positions:
                rest[first + position] = self._copy(rest[first + position])
            # Whoever reaches the arrays by another name does not see what the loop writes.
            for each in self.arrays:
                each.storage.doubt = Doubt(position_now()[0])
            return (*run(*rest), Scalar((plain(rounds) + 1) % self.period))

        return swapping

    def begin(self, state: State) -> State:
        """The state before the first round."""
        return (*state, Scalar(jnp.asarray(0, jnp.int32)))

    def finish(self, state: State) -> State:
        """The state after the loop; writes the arrays."""
        *after, rounds = state
        names = [after[position] for position in self.positions]
        for place, array in zip(self.positions, self.arrays, strict=True):
            holders = [names[self.positions.index(self._holder(place, count))] for count in range(self.period)]
            array.storage.value = jax.lax.select_n(plain(rounds), *(jnp.asarray(elements_of(each)) for each in holders))
            array.storage.doubt = None
        for name in names:
            for array in self.arrays:
                relate_two(name.storage, array.storage)
        return tuple(after)

    def _holder(self, place: int, count: int) -> int:
        """The name that has, after so many rounds, the array that the name at this place had at first."""
        for position in self.positions:
            stands = position
            for _ in range(count):
                stands = self.swaps[stands]
            if stands == place:
                return position
        raise NotCapturable("names of arrays change places in a way that does not come round")

    def _copy(self, array: Array) -> Array:
        copy = Array(elements_of(array), shadow=self.arrays[0].shadow)
        copy.storage.doubt = array.storage.doubt
        for other in self.others:
            relate_two(copy.storage, other)
        return copy


def run_swapping(
    swapping: Swapping,
    run: Body,
    state: State,
    names: Sequence[str],
    loop: Callable[[Body, State, Sequence[str]], State],
) -> State:
    """The state after a loop, given what runs one with another body, state and names."""
    begun = swapping.begin(state)
    return swapping.finish(loop(swapping.body(run), begun, (*names, "")))
