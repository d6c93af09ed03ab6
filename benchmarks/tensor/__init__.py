"""Tensor programs, written as plain JAX functions, with and without Windlass's optimizer.

    python -m benchmarks.tensor [--only REGEX] [--rounds 9] [--list] [--dump DIR] [--json FILE]

Start reading at `program.py` and `ways.py`.
"""
