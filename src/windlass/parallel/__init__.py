"""Passes of the loop level: each takes a kernel, changes it in place, and keeps what it does.

They take functions as `frontends` import them (or others that the verifier of `windlass.loops` accepts) and leave
functions that it accepts; `windlass.loops.evaluation` is the oracle for both. `passes.py` says which run, and in what
order; `specialization.py` makes a kernel one for a launch. What a kernel writes is told by `effects.py`. Start reading
at passes.py.
"""
