"""Gradients beside `jax.grad` of the same program by hand: CUDA kernels, loops, and problems of others (ADBench)."""
