"""cuBLAS and cuBLASLt: dense linear algebra on matrices by columns.

Start reading at `level3.py`; `state.py` has handles and options, and the other files hold one group of routines each.
"""

from windlass.hosting.libraries.cublas import factorizations, level1, level2, level3, light, state, structured

__all__ = ["factorizations", "level1", "level2", "level3", "light", "state", "structured"]
