"""Passes: many small equal ops become one, symmetric products are computed by half, sums
over one mask together, of what is looked at in part only that part, transposes go round elementwise ops, and numbers
that may be any are shared.

The mechanisms are in `windlass.rewriting.packing`, `windlass.rewriting.gram_matrices`,
`windlass.rewriting.joint_folds`, `windlass.rewriting.needed_parts`, `windlass.rewriting.shared_starts` and
`windlass.rewriting.turned_regions`.
"""

from __future__ import annotations

from windlass.rewriting.gram_matrices import halve_gram_matrices
from windlass.rewriting.joint_folds import join_folds
from windlass.rewriting.needed_parts import compute_needed_parts
from windlass.rewriting.packing import pack_block
from windlass.rewriting.passes import Pass
from windlass.rewriting.rule import catalogue
from windlass.rewriting.shared_starts import share_starts
from windlass.rewriting.turned_regions import turn_regions

equal_ops = Pass("equal_ops_at_once", "f(a), f(b), f(c) = rows of f(stack(a, b, c))", pack_block, reassociates=True)
catalogue.passes.append(equal_ops)

gram_matrices = Pass(
    "gram_matrix_by_blocks",
    "dot(x, xᵀ) = [a bᵀ; b c], block by block up to the diagonal",
    halve_gram_matrices,
    reassociates=True,
)
catalogue.passes.append(gram_matrices)

joint_folds = Pass(
    "sums_over_one_mask",
    "sum(select(p, x, 0)), sum(convert(p)) = one reduction of both",
    join_folds,
    reassociates=True,
)
catalogue.passes.append(joint_folds)

needed_parts = Pass(
    "needed_parts",
    "slice(f(x), a), slice(f(x), b) = slices of f(slice(x, c)), where c is the box around a and b",
    compute_needed_parts,
)
catalogue.passes.append(needed_parts)

shared_starts = Pass(
    "shared_starts",
    "dynamic_update_slice(x, u, 0, i) = dynamic_update_slice(x, u, i, i), where u covers the first axis of x",
    share_starts,
)
catalogue.passes.append(shared_starts)

turned_regions = Pass(
    "turned_regions",
    "f(transpose(x), transpose(y)) = transpose(f(x, y)), for any number of elementwise ops and of users",
    turn_regions,
    reassociates=True,
)
catalogue.passes.append(turned_regions)
