"""The catalogue of tensor rewrites: the identities of `rules`, the searches of `passes`, and those of `lowering`.

Importing this imports every file of these rooms, in this order and by name (after those that it imports itself), and so
fills `catalogue`: where several rules hold for an op, the first that does not decline is applied.
"""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from windlass import lowering, passes, rules
from windlass.rewriting import Entry
from windlass.rewriting.rule import RuleSet, catalogue

for _room in (rules, passes, lowering):
    for _family in iter_modules(_room.__path__):
        import_module(f"{_room.__name__}.{_family.name}")

LOWERING = frozenset(
    each.name for each in (*catalogue, *catalogue.passes) if each.body.__module__.startswith(lowering.__name__)
)
"""What says otherwise what a device is slow at: derivatives are made before, and lowered by themselves."""


@cache
def rules_before_lowering(exact: bool, in_kernel: bool = False) -> RuleSet:
    """The rules for what will be differentiated: the pullback of a running sum is one, that of its loop is a loop."""
    return catalogue.choose(exact=exact, in_kernel=in_kernel).without(*LOWERING)


def has_lowered(rewrites: Iterable[Entry]) -> bool:
    """Whether one of the rewrites is there for a device alone."""
    return any(entry.rule in LOWERING for entry in rewrites)


__all__ = ["LOWERING", "catalogue", "has_lowered", "rules_before_lowering"]
