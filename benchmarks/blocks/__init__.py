"""Kernels with shared memory, barriers, warps and atomics, and the same in C with OpenMP and in Numba."""
