"""Kernels and their launches: what users hold of a compiled source.

Takes DeviceCode and Python calls with NumPy or JAX arrays; gives results, in place for NumPy arrays and as new values
for JAX. A launch has a form for each key of dtypes, shapes and integers: raised to a tensor program, or emulated where
there is none. Every error that leaves here is a `WindlassError` with a code, and whatever a launch became is remembered
in a report.

Start reading at `loaded_kernel.py` (what launches know of a kernel), then `launch.py` (the path of a NumPy launch) and
`value_launch.py` (that of a JAX one). `kernel.py` and `module.py`, which users hold, stand on top of them.
"""
