"""Rules that users write: the catalogue's decorator, and its laws."""

from __future__ import annotations

from collections.abc import Callable

from windlass.ir import Op
from windlass.ops.sampling import Draw
from windlass.rewriting import Rule
from windlass.rewriting.laws import check_rule
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import Body
from windlass.rewriting.rule import rewrite as declare


def rewrite(
    pattern: Op,
    *,
    single_use: bool = False,
    assumes: tuple[str, ...] | str = (),
    sample: Callable[[Draw], Op] | None = None,
    reassociates: bool = False,
    by_cost: bool = False,
    register: bool = False,
) -> Callable[[Body], Rule]:
    """Declare a rewrite rule of StableHLO programs, to be used by `wl.optimize(function, rules=[rule])`.

    The pattern is an op of `windlass.ops` with holes in it; the body takes the holes by name (and `op`, the op matched)
    and gives the replacement, or None where it doesn't hold. A rule has to make programs simpler, by one measure for
    all of them (arithmetic, then elements moved, then ops), or it is `by_cost`: applied where the cost model estimates
    that time is saved. `single_use` asks that inner ops of the pattern have no other users. `assumes` says what has to
    be granted of floats ("no NaN", "finite", "no -0.0"), `reassociates` that it changes the order of float sums.
    `sample(draw)` makes a random op that the pattern matches, for patterns that random choices hardly ever meet.
    `register` puts the rule into the catalogue, for every program from then on, without checks.

    >>> import windlass as wl
    >>> from windlass.ops import Maximum
    >>> x, y = wl.hole("x"), wl.hole("y")
    >>> @wl.rewrite(Maximum(Maximum(x, y), y))
    ... def maximum_twice(x, y):
    ...     \"\"\"max(max(x, y), y) = max(x, y)\"\"\"
    ...     return Maximum(x, y)
    >>> wl.check_rule(maximum_twice)
    """
    return declare(
        pattern,
        single_use=single_use,
        assumes=assumes,
        sample=sample,
        reassociates=reassociates,
        by_cost=by_cost,
        register=register,
    )


__all__ = ["check_rule", "hole", "rewrite"]
