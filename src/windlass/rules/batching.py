"""Many small equal ops become one. The mechanism is a pass: `windlass.rewriting.packing`."""

from __future__ import annotations

from windlass.rewriting.packing import pack_block
from windlass.rewriting.passes import Pass
from windlass.rewriting.rule import catalogue

equal_ops = Pass("equal_ops_at_once", "f(a), f(b), f(c) = rows of f(stack(a, b, c))", pack_block, reassociates=True)
catalogue.passes.append(equal_ops)
