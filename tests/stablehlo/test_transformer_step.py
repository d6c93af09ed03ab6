"""A transformer training step goes through Windlass and computes the same."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from benchmarks.round_trip import transformer_step
from jax.extend import backend

from tests.counting import count_calls
from windlass import ops
from windlass.ir.verifier import verify
from windlass.stablehlo import export_text, import_module
from windlass.stablehlo.optimizing import Choices, Report, optimize_module
from windlass.stablehlo.private_jax import default_compile_options


def test_a_training_step_keeps_its_results() -> None:
    lowered, arguments = transformer_step(layers=1, width=8, heads=2, length=4, vocabulary=16)
    module = import_module(lowered.compiler_ir())
    verify(module)
    assert not any(isinstance(op, ops.Opaque) for function in module.functions.values() for op in function.walk())
    client: Any = backend.get_backend("cpu")
    executable = client.compile_and_load(export_text(module), client.local_devices()[:1], default_compile_options())
    found = executable.execute_sharded(jax.tree.leaves(arguments)).disassemble_into_single_device_arrays()
    expected = jax.tree.leaves(lowered.compile()(*arguments))
    assert len(found) == len(expected)
    for (array,), wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(array), np.asarray(wanted))


def test_a_step_of_9000_ops_is_optimized_within_a_thousand_calls_an_op() -> None:
    lowered, _ = transformer_step()
    choices = Choices(device="cpu")
    choices.rule_set()
    module = import_module(lowered.compiler_ir())
    reports: list[Report] = []
    calls = count_calls(lambda: reports.append(optimize_module(module, choices)))
    (report,) = reports
    assert report.exhausted is None
    assert report.ops_after.total() < 0.7 * report.ops_before.total()
    assert calls < 1000 * report.ops_before.total()
