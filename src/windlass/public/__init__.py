"""What users hold: modules, kernels, launches, compiled functions, reports.

Takes source text and Python calls; gives results, in place for NumPy arrays and as new values for JAX. Every error that
leaves here is a `WindlassError` with a code.

Start reading at `kernel.py`, then `launch.py` (the path of a NumPy launch).
"""
