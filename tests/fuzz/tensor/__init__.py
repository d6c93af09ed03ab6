"""Random StableHLO programs, optimized and as written: both must mean the same.

`author.py` writes programs: ops of all kinds, instances of rules' own patterns, loops and branches, on values that it
computes as it goes; `functions.py` writes jax.numpy functions and takes their derivatives. `meaning.py` runs programs
on NumPy, with a little noise where it is to be seen how much rounding matters. `trial.py` optimizes a program in one of
many ways and compares; `shrinking.py` makes a failing one small and names the rules at fault.
`python -m tests.fuzz.tensor.sweep` runs many.
"""
