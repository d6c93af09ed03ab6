"""Kernels that do what they must not, launched in every way: each is diagnosed, and the process lives on."""
