"""Derivatives of random programs: reverse mode, forward mode, differences and JAX's own must agree.

The programs are those of the other fuzzers: `subjects.py` makes of each kernel, tensor program, function of jax.numpy
and function of Python the program that `wl.grad` would differentiate. `checking.py` holds its derivatives to one
another; `python -m tests.fuzz.gradients.sweep` runs many, and prints the smallest form of each that goes wrong.
"""
