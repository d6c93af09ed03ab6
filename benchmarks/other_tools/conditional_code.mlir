// Conditions as traced code has them: one that is known after all, and one for values of which some are not used.
func.func public @main(%p: tensor<i1>, %x: tensor<64xf32>) -> (tensor<64xf32>, tensor<f32>) {
  %always = stablehlo.constant dense<true> : tensor<i1>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.if"(%always) ({
    %1 = stablehlo.tanh %x : tensor<64xf32>
    stablehlo.return %1 : tensor<64xf32>
  }, {
    stablehlo.return %x : tensor<64xf32>
  }) : (tensor<i1>) -> tensor<64xf32>
  %2:2 = "stablehlo.if"(%p) ({
    %3 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %x, %3 : tensor<64xf32>, tensor<f32>
  }, {
    %4 = stablehlo.negate %x : tensor<64xf32>
    stablehlo.return %4, %zero : tensor<64xf32>, tensor<f32>
  }) : (tensor<i1>) -> (tensor<64xf32>, tensor<f32>)
  return %0, %2#1 : tensor<64xf32>, tensor<f32>
}
