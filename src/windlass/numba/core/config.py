"""`numba.core.config`: settings that programs set; none changes anything here."""

ENABLE_CUDASIM = False
CUDA_LOW_OCCUPANCY_WARNINGS = 1
CUDA_WARN_ON_IMPLICIT_COPY = 1
CUDA_DEBUGINFO_DEFAULT = 0
CUDA_USE_NVIDIA_BINDING = 0
DISABLE_JIT = 0
NUMBA_NUM_THREADS = 1
THREADING_LAYER = "default"
