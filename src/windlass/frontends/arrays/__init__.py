"""NumPy's semantics over JAX's tracing: arrays that are written in place, views that share memory, captured loops.

Takes Python functions written for NumPy; while JAX traces them, their arrays are `Array`s. Afterwards every write
through any view is seen by all that share its memory, as in NumPy, although the values underneath are JAX's immutable
ones.

Start reading at `array.py`; `views.py` has what a view is, `view_functions.py` which functions give views,
`functions.py` the way from NumPy's functions to JAX's, `capture.py`, `loops.py`, `branches.py` and `states.py` how
Python loops, branches and conditions become operations.
"""

from windlass.frontends.arrays import functions, functions_with_rules, operators
from windlass.frontends.arrays.array import Array

assert functions, "it gives the answers to NumPy's protocols"
assert operators, "it gives arrays their operators"
functions_with_rules.install()

__all__ = ["Array"]
"""The names for users."""
