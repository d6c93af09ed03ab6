"""Indices and scatters that XLA takes for others than they are."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import numpy as np
import pytest

from windlass import stablehlo
from windlass.diagnostics import ProgramError
from windlass.lowering.index_forms import bring_indices_into_form
from windlass.ops.evaluation import evaluate_function
from windlass.stablehlo import code, export_text

UPDATE = """
func.func @main(%x: tensor<70000xf32>, %at: tensor<{type}>, %u: tensor<100xf32>) -> tensor<70000xf32> {{
  %0 = stablehlo.dynamic_update_slice %x, %u, %at :
      (tensor<70000xf32>, tensor<100xf32>, tensor<{type}>) -> tensor<70000xf32>
  return %0 : tensor<70000xf32>
}}"""

INTO_SCALAR = """
func.func @main(%x: tensor<f32>, %i: tensor<5x0xi32>, %u: tensor<5xf32>) -> tensor<f32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<f32>, tensor<5x0xi32>, tensor<5xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}"""

TWICE = """
func.func @main(%x: tensor<4xf32>, %i: tensor<2x1xi32>, %u: tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = "stablehlo.scatter"(%x, %x, %i, %u, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>, %b: tensor<f32>, %d: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    %t = stablehlo.multiply %c, %d : tensor<f32>
    stablehlo.return %s, %t : tensor<f32>, tensor<f32>
  }) : (tensor<4xf32>, tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}"""

LONG, PART, TWO = np.zeros(70_000, np.float32), np.ones(100, np.float32), np.array([5, 7], np.float32)
PROGRAMS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "8 bits": (UPDATE.format(type="i8"), (LONG, np.int8(100), PART)),
    "8 bits, no sign": (UPDATE.format(type="ui8"), (LONG, np.uint8(200), PART)),
    "16 bits": (UPDATE.format(type="i16"), (LONG, np.int16(32_000), PART)),
    "into a scalar": (INTO_SCALAR, (np.float32(1), np.zeros((5, 0), np.int32), np.arange(5, dtype=np.float32))),
    "one input twice": (TWICE, (np.ones(4, np.float32), np.array([[1], [2]], np.int32), TWO)),
}


def is_right(name: str) -> bool:
    text, arrays = PROGRAMS[name]
    expected = evaluate_function(stablehlo.import_text(text).main, *arrays)
    try:
        found = stablehlo.run(text, *arrays)
    except ProgramError:
        return False
    return all(map(np.array_equal, found, expected))


@pytest.mark.parametrize("name", PROGRAMS)
def test_xla_takes_indices_and_scatters_for_what_they_are(name: str) -> None:
    assert is_right(name)


def test_what_jaxlib_gets_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this fails a newer jaxlib is mended: see docs/reference/xla.md for what is done because of it."""
    if importlib.metadata.version("jaxlib") != "0.10.2":
        pytest.skip("what is wrong is known of jaxlib 0.10.2")
    monkeypatch.setattr(code, "avoid_miscompilations", lambda *_: None)
    assert not any(map(is_right, PROGRAMS))


def test_what_is_in_form_stays_as_it_is() -> None:
    module = stablehlo.import_text(PROGRAMS["one input twice"][0])
    bring_indices_into_form(module)
    text = export_text(module)
    bring_indices_into_form(module)
    assert export_text(module) == text
