"""PyCUDA's interface without a GPU: `windlass.pycuda` in place of `pycuda` in import lines.

`compiler.SourceModule` compiles CUDA C++, whose kernels are raised as `windlass.cuda.compile` raises them; `driver` has
memory, copies, events and the argument handlers In, Out and InOut; `gpuarray` arrays, with the vector types of `vec`;
`elementwise`, `reduction` and `scan` kernels made of expressions. Device memory is memory of this process.

Start reading at `compiler.py`.
"""
