"""Kernels without barriers as native code, beside the same loops in Numba and in C with OpenMP."""
