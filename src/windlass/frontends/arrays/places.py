"""Where a mask is true: the places, one behind the other, as many as the program finds.

There is room for as many as the mask has elements; the places behind those that there are are 0.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import get_opaque_trace_state

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.array import Array
from windlass.frontends.arrays.integers import note_range
from windlass.frontends.arrays.lengths import Length
from windlass.frontends.arrays.spans import Span, of_elements
from windlass.frontends.arrays.tracing import current_tracing, position_now
from windlass.stablehlo.platforms import device_that_runs

MOST_PLACES = 4096
"""So many elements are put in a row where a function may be split: NumPy does more of them faster than a program."""


def expect_few(count: int) -> None:
    """Raises WindlassError (WL0904) where Python is faster at putting so many elements in a row, and may do it."""
    tracing = current_tracing()
    if tracing is None or tracing.is_whole or (count <= MOST_PLACES and not tracing.is_part):
        return
    position, length = position_now()
    headline = "how many elements a mask picks is not known while the function is compiled"
    notes = (f"a program could have room for {count:,} of them; Python puts them in a row faster",)
    help = "to have it in one program, for its derivatives too: @windlass.jit(whole=True)"
    raise WindlassError(Diagnostic("WL0904", headline, position, length, notes=notes, help=help))


def places_of(mask: Any) -> Span:
    """The numbers of the elements that are true, in C order, as a span of 64-bit integers."""
    tracing = current_tracing()
    expect_few(mask.size)
    level = get_opaque_trace_state()
    kept = None if tracing is None else tracing.places.get(id(mask))
    if kept is not None and kept[1] == level:
        places, count = kept[2]
    else:
        places, count = packed_places(jnp.ravel(mask))
        note_range(count, 0, places.shape[0])
        if tracing is not None:
            # The mask is kept, too, so that nothing else gets its identity.
            tracing.places[id(mask)] = mask, level, (places, count)
    return of_elements(places, [Length(count, places.shape[0])])


def packed_places(mask: Any) -> tuple[Any, Any]:
    """The places, zeros behind them, and how many there are."""
    (size,) = mask.shape
    if size == 0:
        return jnp.zeros(0, jnp.int64), jnp.int64(0)
    if device_that_runs().name == "cpu":
        # One walk, which writes each place and moves on behind those that are true, is several times faster than sums
        # and a scatter.
        def step(place: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
            found, count = state
            found = jax.lax.dynamic_update_index_in_dim(found, place, count, 0)
            return found, count + mask[place]

        found, count = jax.lax.fori_loop(0, size, step, (jnp.zeros(size + 1, jnp.int64), jnp.int64(0)))
        found = found[:size]
    else:
        numbers = jnp.cumsum(mask, dtype=jnp.int64)
        slots = jnp.where(mask, numbers - 1, size)
        found, count = jnp.zeros(size, jnp.int64).at[slots].set(jnp.arange(size), mode="drop"), numbers[-1]
    return jnp.where(jnp.arange(size) < count, found, 0), count


def true_places(mask: Any) -> Any:
    """The same, as an array where there are no elements at all."""
    return places_of(mask) if mask.size else Array(jnp.zeros(0, jnp.int64))


def numbers_of(mask: Any) -> Any:
    """For each element, in C order, how many before it are true; 64-bit integers."""
    expect_few(mask.size)
    flat = jnp.ravel(mask)
    (size,) = flat.shape
    if size and device_that_runs().name == "cpu":

        def step(place: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
            found, count = state
            return jax.lax.dynamic_update_index_in_dim(found, count, place, 0), count + flat[place]

        return jax.lax.fori_loop(0, size, step, (jnp.zeros(size, jnp.int64), jnp.int64(0)))[0]
    return jnp.cumsum(flat, dtype=jnp.int64) - flat


def taken(array: Array, places: Span, axis: int, count: int) -> Span:
    """The elements at places of the `count` axes from `axis` on, taken as one in C order: a new span."""
    shape = array.shape
    (length,) = places.extents
    flat = jnp.reshape(jnp.asarray(array.value), (*shape[:axis], -1, *shape[axis + count :]))
    found = jnp.take(flat, places.read(places.easiest), axis=axis, mode="clip")
    return of_elements(found, [*shape[:axis], length, *shape[axis + count :]])
