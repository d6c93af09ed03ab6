"""Kernels as code for GPUs, as they are written: PTX for NVIDIA's, AMDGCN for AMD's, without a CUDA toolkit or ROCm.

Takes device code (LLVM IR for nvptx64, with the kernels' signatures); gives the text that `cuModuleLoadData` takes,
or assembly and code objects for AMD's.
Nothing is specialized for a launch, raised or scheduled: blocks, threads, shared memory and barriers stay what they
are, and kernels take their arguments as nvcc's do. What a GPU has no instruction for is called from a library of our
own in C++ (library/), which replaces libdevice. All of LLVM's work is done in a child process: what it can't do ends in
a diagnostic.

Start reading at ptx.py and amdgcn.py; module_text.py says how device code is changed, library.py what is linked,
targets.py which GPUs there are, driver.py how code is launched.
"""

from windlass.gpu.amdgcn import compile_amdgcn, compile_code_object
from windlass.gpu.ptx import compile_ptx
from windlass.gpu.targets import ARCHITECTURES

__all__ = ["ARCHITECTURES", "compile_amdgcn", "compile_code_object", "compile_ptx"]
