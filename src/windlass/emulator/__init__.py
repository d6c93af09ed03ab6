"""CUDA semantics on the CPU, one fibre per thread, slow and plain: the reference.

Takes device code (LLVM IR for nvptx64, with the kernels' signatures) and NumPy arrays; runs a launch as CUDA defines it
and updates the arrays in place. Finds accesses out of bounds, data races, divergent barriers, uninitialized reads of
shared and local memory, failed assertions, and endless loops, each with the kernel's source line and the thread. The
kernel may be a stranger's: it can compute, and reach nothing else of this process (audit.py, mathematics.py).

Start reading at `emulator.py` (the launch), then `instrument.py` (what is put into the code) and `runtime/machine.h`
(what it calls: schedule.c, warp.c, shadow.c, services.c).
"""

from windlass.emulator.emulator import Emulator

__all__ = ["Emulator"]
