"""Launches inside JAX whose integers are unknown: a second form, for likely values of them.

Inside `jax.jit` an integer that is an argument of the traced function has no value yet. A kernel's index arithmetic
then stays unknown, and slices become gathers under masks: ten times slower. But the integers that kernels take are
mostly extents of the arrays beside them. So where knowing them would help, the launch is compiled for such values, too,
and a comparison says at run time which of the two forms is to run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from windlass import pipeline
from windlass.diagnostics import WindlassError
from windlass.runtime.binding import Binding

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.pipeline import RaisedLaunch
    from windlass.runtime.memories import ArrayForm

MOST_GUESSES = 4


def with_likely_integers(
    kernel: LoadedKernel,
    compiled: RaisedLaunch,
    forms: Sequence[ArrayForm],
    bind_with: Callable[[Mapping[int, Any]], Binding],
) -> RaisedLaunch:
    """The launch with a second form for likely values of its unknown integers, or as it is where that would not help.

    It helps where the second form has fewer gathers, scatters and loops. `bind_with` gives the binding where integers,
    by position, have these values.
    """
    parameters = kernel.signature.parameters
    unknown = [
        (scalar.position, scalar.dtype)
        for scalar in compiled.binding.scalars
        if parameters[scalar.position].kind == "scalar" and scalar.dtype.kind in "iu"
    ]
    if not unknown or not compiled.irregular_ops():
        return compiled
    best, known = compiled, dict[int, int]()
    for guess in itertools.islice(guess_extents(len(unknown), [form.shape for form in forms]), MOST_GUESSES):
        values = {position: value for (position, _), value in zip(unknown, guess, strict=True)}
        try:
            typed = {position: dtype.type(values[position]) for position, dtype in unknown}
            likely = kernel.compile(bind_with(typed))
        except (WindlassError, OverflowError):
            continue  # not these values: the arrays may be too small for them
        if likely.irregular_ops() < best.irregular_ops() and pipeline.stands_in_for(likely, compiled):
            best, known = likely, values
    return compiled if best is compiled else pipeline.choose_by_integers(compiled, best, known)


def guess_extents(count: int, shapes: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Values that so many integers may have beside arrays of these shapes, the likeliest first.

    >>> list(guess_extents(2, [(30, 40), (30, 40)])), list(guess_extents(1, [(8,), (8,), (5,)]))
    ([(30, 40), (40, 30), (30, 30), (40, 40)], [(8,), (5,)])
    """
    extents = tuple(dict.fromkeys(extent for shape in shapes for extent in shape))
    whole = [guess for guess in itertools.permutations(extents, count) if len(extents) >= count]
    same = [(extent,) * count for extent in extents]
    yield from dict.fromkeys((*whole, *same))
