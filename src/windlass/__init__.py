"""Windlass raises CUDA C++ kernels, loops and array programs to tensor programs and runs them through XLA."""
