"""Values that are longer than the field: as two that overlap, with the same meaning."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from windlass.communication.overlapping import write_as_overlapping
from windlass.communication.propagation import propagate
from windlass.ir import Value
from windlass.ops import Concatenate, While
from windlass.ops.evaluation import evaluate_function
from windlass.ops.shardings import Mesh, Sharding
from windlass.stablehlo.lowered import import_lowered

MESH = Mesh((("x", 2), ("y", 2)))


def steps(p: Any, q: Any) -> Any:
    """Corners of cells in a loop that asks for them, too, with a loop within."""

    def step(state: Any) -> Any:
        p, q, k = state
        q = q.at[1:-1, 1:-1].add(p[1:, 1:] - p[:-1, :-1])
        q = jax.lax.fori_loop(0, 2, lambda _, q: q + 1, q)
        return p + q[1:, 1:] - q[:-1, :-1], q, k + 1

    return jax.lax.while_loop(lambda state: (state[2] < 3) & (state[1][0, 0] < 50), step, (p, q, 0))


def test_loop_carries_two_parts_along_each_axis_and_means_the_same() -> None:
    p, q = np.arange(24, dtype=np.float32).reshape(4, 6), np.arange(35, dtype=np.float32).reshape(5, 7)
    main = import_lowered("steps", jax.jit(steps).lower(p, q)).main
    expected = evaluate_function(main, p, q)
    known: dict[Value, Sharding] = {main.arguments[0]: Sharding(MESH, (("x",), ("y",)))}
    for _ in range(4):
        found = propagate(main, known)
        assert found is not None
        if not write_as_overlapping(main, found):
            break
    carried = [{value.shape for value in op.operands if value.shape} for op in main.walk() if isinstance(op, While)]
    assert carried == [{(4, 6)}, {(4, 6)}]
    assert any(isinstance(op, Concatenate) for op in main.body)
    for before, after in zip(expected, evaluate_function(main, p, q), strict=True):
        np.testing.assert_array_equal(before, after)
