"""The catalogue of tensor rewrites: the identities of `rules`, the searches of `passes`, and those of `lowering`.

Importing this imports every file of these rooms, in this order and by name (after those that it imports itself), and so
fills `catalogue`: where several rules hold for an op, the first that does not decline is applied.
"""

from importlib import import_module
from pkgutil import iter_modules

from windlass import lowering, passes, rules
from windlass.rewriting.rule import catalogue

for _room in (rules, passes, lowering):
    for _family in iter_modules(_room.__path__):
        import_module(f"{_room.__name__}.{_family.name}")

__all__ = ["catalogue"]
