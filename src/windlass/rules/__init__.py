"""Identities: what one pattern of ops is equal to, one file per op family.

Each rule is one function: its equation is its docstring's first line, its example runs as a test, and the laws in
tests/laws are derived from its declaration: it keeps meaning, special values included; it keeps types; it fires; it
lowers the measure; and no other rule takes all its ops away from it (rewriting/overlaps.py). A rule that holds for
other ops likewise (and with or, maximum with minimum) is written once, with `dual=` (duals.py). `windlass.catalogue`
imports every file of this room, with those of `passes` and `lowering`. Files without rules have what patterns are made
of (`splats`, `duals`), or how products and movements are read (`letters`, `axes`).

Start reading at `slices.py`.
"""
