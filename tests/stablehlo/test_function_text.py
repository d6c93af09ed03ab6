"""What `function_text` prints, word for word."""

from __future__ import annotations

from windlass import ops
from windlass.ir import Block, Builder, Function, tensor_type
from windlass.stablehlo import function_text

EXPECTED = """\
module {
  func.func public @softplus_sum(%arg0: tensor<4x3xf32>, %arg1: tensor<i32>) -> tensor<4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<4x3xf32>
    %0 = stablehlo.maximum %arg0, %cst : tensor<4x3xf32>
    %1 = stablehlo.exponential %0 : tensor<4x3xf32>
    %2 = stablehlo.log_plus_one %1 : tensor<4x3xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, \
tensor<f32>) -> tensor<4xf32>
    %4 = call @elsewhere(%3, %arg1) : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
    return %4 : tensor<4xf32>
  }
}
"""


def test_a_function_prints_as_stablehlo() -> None:
    row = tensor_type((4,), "f32")
    block = Block([tensor_type((4, 3), "f32"), tensor_type((), "i32")])
    with Builder(block):
        x, count = block.arguments
        positive = ops.Maximum(x, ops.Constant.splat(0, x.type))
        total = ops.reduce_sum(ops.LogPlusOne(ops.Exponential(positive)), (1,))
        ops.Return(ops.Call("elsewhere", (total, count), (row,)).results)
    assert function_text(Function("softplus_sum", block)) == EXPECTED
