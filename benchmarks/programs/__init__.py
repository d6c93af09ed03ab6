"""Whole CUDA programs of benchmark suites: run as they are, raised and emulated, and their outputs compared."""
