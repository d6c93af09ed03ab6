"""Whole functions of arrays: `wl.jit`, `wl.optimize`, their derivatives, and the rewrite rules that users add to them.

Takes a Python function of NumPy or JAX arrays, which may launch kernels; gives one that runs as a single tensor program
and means the same. Array arguments that the function changes in place are changed.

Start reading at `jit.py`; `optimize.py` is for functions that JAX traces already, `rules.py` for `wl.rewrite`.
Derivatives are of a `PureCall` (`pure_call.py`): by value in `derivatives.py`, in place in `activities.py`.
`audit.py` asks whether they are right.
"""
