"""The catalogue of tensor rewrites: the rules of `rules`, the searches of `passes`, and those of `lowering`.

Importing this imports every file of these rooms, in the order of the files' names, and so fills `catalogue`. Each rule
is one function: its equation is its docstring's first line, its example runs as a test, and the laws in tests/laws are
derived from its declaration.
"""

from importlib import import_module
from pkgutil import iter_modules

from windlass import lowering, passes, rules
from windlass.rewriting.rule import catalogue

_families = [(found.name, room.__name__) for room in (rules, passes, lowering) for found in iter_modules(room.__path__)]
for _name, _room in sorted(_families):
    import_module(f"{_room}.{_name}")

__all__ = ["catalogue"]
