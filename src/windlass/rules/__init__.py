"""The catalogue of tensor rewrites, one file per op family.

Each rule is one function: its equation is its docstring's first line, its example runs as a test, and the laws in
tests/laws are derived from its declaration: it keeps meaning, special values included; it keeps types; it fires; and it
lowers the measure. Importing this package imports every file of it, in the order of their names, and so fills
`windlass.rewriting.rule.catalogue`.

Start reading at `slices.py`.
"""

from importlib import import_module
from pkgutil import iter_modules

from windlass.rewriting.rule import catalogue

for _family in iter_modules(__path__):
    import_module(f"{__name__}.{_family.name}")

__all__ = ["catalogue"]
