// Code for complex numbers that is run on real ones: what traced Julia looks like.
func.func public @main(%x: tensor<64xf32>, %z: tensor<64xcomplex<f32>>)
    -> (tensor<64xf32>, tensor<64xf32>, tensor<64xcomplex<f32>>, tensor<64xcomplex<f32>>) {
  %0 = stablehlo.real %x : tensor<64xf32>
  %1 = stablehlo.imag %x : tensor<64xf32>
  %2 = chlo.conj %z : tensor<64xcomplex<f32>> -> tensor<64xcomplex<f32>>
  %3 = chlo.conj %2 : tensor<64xcomplex<f32>> -> tensor<64xcomplex<f32>>
  %4 = stablehlo.convert %x : (tensor<64xf32>) -> tensor<64xcomplex<f32>>
  %5 = chlo.conj %4 : tensor<64xcomplex<f32>> -> tensor<64xcomplex<f32>>
  %6 = stablehlo.multiply %5, %z : tensor<64xcomplex<f32>>
  return %0, %1, %3, %6 : tensor<64xf32>, tensor<64xf32>, tensor<64xcomplex<f32>>, tensor<64xcomplex<f32>>
}
