// Weights that are trained in double precision, handed on in single precision and stored in half precision.
func.func @main(%weights: tensor<64x32xf64>, %step: tensor<64x32xf64>) -> tensor<64x32xbf16> {
  %0 = stablehlo.subtract %weights, %step : tensor<64x32xf64>
  %1 = stablehlo.convert %0 : (tensor<64x32xf64>) -> tensor<64x32xf32>
  %2 = stablehlo.convert %1 : (tensor<64x32xf32>) -> tensor<64x32xbf16>
  return %2 : tensor<64x32xbf16>
}
