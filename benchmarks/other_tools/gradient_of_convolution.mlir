// The gradient of a convolution by its input, as tools write it that differentiate StableHLO: windows are reversed.
func.func public @main(%gradient: tensor<4x8x30x30xf32>, %kernel: tensor<8x8x3x3xf32>) -> tensor<4x8x32x32xf32> {
  %0 = stablehlo.convolution(%gradient, %kernel) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1],
    window = {stride = [1, 1], pad = [[2, 2], [2, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, true]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<4x8x30x30xf32>, tensor<8x8x3x3xf32>) -> tensor<4x8x32x32xf32>
  return %0 : tensor<4x8x32x32xf32>
}
