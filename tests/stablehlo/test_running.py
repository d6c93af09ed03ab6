"""Programs given as text."""

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl

TEXT = """module @squares {
  func.func public @main(%x: tensor<4xf32>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<i64>) {
    %0 = call @square(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
    %2 = stablehlo.reverse %1, dims = [0] : tensor<4xf32>
    return %2, %n : tensor<4xf32>, tensor<i64>
  }
  func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.multiply %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}"""
X = np.arange(4, dtype=np.float32)


@pytest.mark.parametrize("program", [TEXT, wl.stablehlo.optimize(TEXT)])
def test_programs_run(program: str) -> None:
    squares, number = wl.stablehlo.run(program, X, 2**40)
    np.testing.assert_array_equal(squares, X**2)
    assert number == 2**40


def test_optimized_text_is_simpler() -> None:
    assert "reverse" not in wl.stablehlo.optimize(TEXT)


def test_arrays_that_do_not_fit() -> None:
    with pytest.raises(wl.ProgramError) as caught:
        wl.stablehlo.run(TEXT, X.astype(np.float64), 1)
    assert str(caught.value) == (
        "error[WL0520]: argument 0 of the program is tensor<4xf32>, got float64 with shape (4,)\n"
        "  help: pass an array of float32 with shape (4,)"
    )
    with pytest.raises(wl.ProgramError, match="the program takes 2 arrays, got 1"):
        wl.stablehlo.run(TEXT, X)


def test_a_sum_over_all_devices_stays_one() -> None:
    text = """func.func public @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
          replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }"""
    assert "use_global_device_ids" in wl.stablehlo.optimize(text)
