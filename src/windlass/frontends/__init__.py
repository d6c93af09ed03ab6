"""Front ends: from what people write to what the compiler works on.

`cuda/` takes CUDA C++ and gives LLVM IR with kernel signatures; `llvm/` takes LLVM IR and gives loop-level functions;
`arrays/` takes NumPy and JAX code; `kernels/` takes kernels written in Python and gives CUDA C++; `notation/` takes
index notation and gives tensor programs.
Start reading at the folder for the language at hand.
"""
