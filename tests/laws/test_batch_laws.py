"""The law of `batch`: done many times at once, an op gives what it gives each time."""

from __future__ import annotations

import numpy as np
import pytest

from tests.laws.op_instances import composite_classes, draw_instance, meaningful_classes
from windlass.facts.terms import evaluate_term, op_of
from windlass.ir import Argument, Value, tensor_type
from windlass.ops.base import TensorOp
from windlass.ops.evaluation import Scope
from windlass.ops.sampling import RandomDraw
from windlass.rewriting.laws import same_bits

SIZE = 3
BATCHED = [cls for cls in (*meaningful_classes(), *composite_classes()) if cls.has_batch()]


@pytest.mark.parametrize("cls", BATCHED, ids=lambda cls: cls.__name__)
def test_batch_gives_what_each_gives(cls: type[TensorOp]) -> None:
    checked = 0
    for seed in range(40):
        draw = RandomDraw(seed)
        op = draw_instance(cls, draw).op
        if not op.operands:
            return
        is_batched = [draw.boolean() for _ in op.operands]
        is_batched[draw.integer(0, len(is_batched) - 1)] = True
        known: dict[Value, np.ndarray] = {}
        operands: list[Value] = []
        each: list[list[np.ndarray]] = []
        for position, operand in enumerate(op.operands):
            samples = [np.asarray(op.sample_array(draw, position)) for _ in range(SIZE)]
            if is_batched[position]:
                made = Argument(tensor_type((SIZE, *operand.shape), operand.dtype))
                known[made] = np.stack(samples)
            else:
                made = Argument(operand.type)
                samples = [samples[0]] * SIZE
                known[made] = samples[0]
            operands.append(made)
            each.append(samples)
        results = op.batch(tuple(operands), tuple(is_batched), SIZE)
        if results is None:
            continue
        checked += 1
        made = op_of(results[0])
        if isinstance(made, cls) and made.results[0].tensor.size and (axes := made.axes()) is not None:
            # All operands and results keep the letters that they had, behind one for the new axis.
            assert all(places[0] is not None for places in axes.results), (made, str(axes))
        assert [result.type for result in results] == [
            tensor_type((SIZE, *result.shape), result.dtype) for result in op.results
        ]
        for index in range(SIZE):
            scope = {"scope": Scope()} if op.needs_scope else {}
            outcome = op.evaluate(*(samples[index] for samples in each), **scope)
            outcomes = outcome if isinstance(outcome, tuple) else (outcome,)
            for expected, result in zip(outcomes, results, strict=True):
                found = evaluate_term(result, known)[index]
                if op.is_contraction:
                    assert np.allclose(
                        found.astype(np.complex128), np.asarray(expected).astype(np.complex128), 1e-3, 1e-3
                    )
                else:
                    assert same_bits(np.asarray(expected), found), (op, results)
    assert checked
