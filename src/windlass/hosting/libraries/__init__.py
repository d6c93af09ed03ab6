"""What host programs get when they call CUDA's libraries: each routine as a tensor program on the program's memory.

Takes a call as the host runtime hands it over (`hosting/library_calls.py`): a name and words. A routine is a Python
function, found by its name; the annotations of its parameters say what each word is. It sees device memory as NumPy
arrays (column-major, with the strides that leading dimensions and batches give), computes with XLA, and writes in
place what the routine may write, and nothing else. Every access is checked against its allocation.

The libraries' C headers are in `frontends/cuda/include`: a routine is a declaration there and a function here.

Start reading at `routines.py` (the register), then `session.py` (a call), `memory.py` (views), `cublas/level3.py`.
"""

from windlass.hosting.libraries.routines import find_routine, is_library_function, routines
from windlass.hosting.libraries.session import LibraryCall, Session

__all__ = ["LibraryCall", "Session", "find_routine", "is_library_function", "routines"]
