"""Places: exact integers over dimensions, conditions on them, and the boxes and domains where those hold.

Takes nothing but integers and dimensions; gives `Index` (a quasi-affine integer), `Predicate` (a condition in negation
normal form), `Box` and `Domain` (where). What is known at run time only stands in them as a `Handle`, whose owner alone
knows what it is. Everything is immutable and canonical: equals compare equal. Nothing here takes time in proportion to
the sizes of dimensions but `enumeration.py`, which says so.

Start reading at `dimensions.py`, then `index.py` and `predicate.py`.
"""
