"""Rewrites that search: what they replace has no fixed form, so that a pattern can't say what is looked for.

Takes an op, or a block, of a tensor program, and gives what takes its place. Those that start from one op are declared
as rules with a bare pattern, `any_op(...)`: loops and branches are looked through, chains are followed, trees are taken
apart. Those that look at a whole block are a `Pass` (`windlass.rewriting.passes`). All are part of the catalogue, keep
what rules keep, and show before → after in their examples. They share `batcher` and `carries`.

Start reading at `loops.py`; for passes over blocks at `equal_ops.py`.
"""
