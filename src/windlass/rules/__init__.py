"""The catalogue of tensor rewrites, one file per op family.

Each rule is one function: its equation is its docstring's first line, its example runs as a test, and the laws in
tests/laws are derived from its declaration: it keeps meaning, special values included; it keeps types; it fires; it
lowers the measure; and no other rule takes all its ops away from it (rewriting/overlaps.py). A rule that holds for
other ops likewise (and with or, maximum with minimum) is written once, with `dual=` (duals.py). Importing this package
imports every file of it, in the order of their names, and so fills `windlass.rewriting.rule.catalogue`.

Start reading at `slices.py`.
"""

from importlib import import_module
from pkgutil import iter_modules

from windlass.rewriting.rule import catalogue

for _family in iter_modules(__path__):
    import_module(f"{__name__}.{_family.name}")

__all__ = ["catalogue"]
