"""Equality saturation: the rules applied without a choice between them, and the cheapest program chosen afterwards.

Takes a region of a block around contractions and reductions, and rules; gives the region as another, cheaper program,
or leaves it. A graph of equalities (`graph.py`) holds all programs that the rules lead to: the rules of the catalogue
are matched on it as they are (`matching.py`), and equalities (`windlass.rewriting.equalities`) go both ways. One of the
programs is taken out by integer linear programming, by prices in which fusion is counted (`extraction.py`); the rules
are applied once more, and the cost model decides between that and what was there (`regions.py`). Steps are bounded, not
seconds, so that builds repeat.

Willsey et al.: egg: Fast and extensible equality saturation (2021). Yang et al.: Equality saturation for tensor graph
superoptimization (2021).

Start reading at `graph.py`.
"""

from windlass.rewriting.equality.regions import SATURATION, saturating

__all__ = ["SATURATION", "saturating"]
