"""Native code: functions of the loop level as LLVM code for the threads and vectors of this machine's CPU.

Takes a function that holds one launch and whose numbers are known (`windlass.parallel.specialization.specialize`), and
what the launch knows of its memories (launch_facts.py); gives code that works on memory in place (`compile_kernel`,
plan.py) and runs it on a pool of threads (running.py, pool.py). No access leaves its memory: what is not proved to stay
within is checked, and where a check fails the launch raises an error afterwards. The results are the emulator's to the
bit, but for functions of libmvec where these are allowed (arithmetic.py). Blocks whose threads meet are run piece by
piece (block_plan.py, blocks.py; `windlass.parallel.fission`).

Nothing here knows of CUDA. Start reading at plan.py; strides.py says which values differ from lane to lane, control.py
writes branches and loops, memory.py accesses, arithmetic.py everything else.
"""

from windlass.native.block_plan import are_threads_independent, compile_kernel
from windlass.native.launch_facts import LaunchFacts, MemoryFacts
from windlass.native.plan import NativeCode
from windlass.native.refusal import NOT_NATIVE, NotNative, UncountedLoop
from windlass.native.running import Fault, Runner

__all__ = [
    "NOT_NATIVE",
    "Fault",
    "LaunchFacts",
    "MemoryFacts",
    "NativeCode",
    "NotNative",
    "Runner",
    "UncountedLoop",
    "are_threads_independent",
    "compile_kernel",
]
