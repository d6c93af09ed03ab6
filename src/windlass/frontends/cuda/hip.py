"""HIP: AMD's names for what CUDA has, one for one. Headers of our own with these names lead to those of CUDA's.

HIP's names follow from CUDA's by their first letters (`cudaMalloc` is `hipMalloc`, `CUBLAS_OP_T` is `HIPBLAS_OP_T`),
but for a few. `python -m tests.frontends.cuda.hip_headers` writes the headers anew from what our headers of CUDA's
declare.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from windlass.frontends.cuda.source import Source

EXCEPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "cudaDevAttrGlobalMemoryBusWidth": ("hipDeviceAttributeMemoryBusWidth",),
        "cudaDevAttrMaxSharedMemoryPerBlockOptin": ("hipDeviceAttributeSharedMemPerBlockOptin",),
        "cudaDevAttrMultiProcessorCount": ("hipDeviceAttributeMultiprocessorCount",),
        "cudaDeviceAttr": ("hipDeviceAttribute_t",),
        "cudaErrorCudartUnloading": ("hipErrorDeinitialized",),
        "cudaErrorDeviceAlreadyInUse": ("hipErrorContextAlreadyInUse",),
        "cudaErrorDeviceUninitialized": ("hipErrorInvalidContext",),
        "cudaErrorECCUncorrectable": ("hipErrorECCNotCorrectable",),
        "cudaErrorInitializationError": ("hipErrorNotInitialized", "hipErrorInitializationError"),
        "cudaErrorInvalidKernelImage": ("hipErrorInvalidImage",),
        "cudaErrorInvalidPtx": ("hipErrorInvalidKernelFile",),
        "cudaErrorInvalidResourceHandle": ("hipErrorInvalidHandle", "hipErrorInvalidResourceHandle"),
        "cudaErrorLaunchTimeout": ("hipErrorLaunchTimeOut",),
        "cudaErrorMapBufferObjectFailed": ("hipErrorMapFailed", "hipErrorMapBufferObjectFailed"),
        "cudaErrorMemoryAllocation": ("hipErrorOutOfMemory", "hipErrorMemoryAllocation"),
        "cudaErrorNoKernelImageForDevice": ("hipErrorNoBinaryForGpu",),
        "cudaErrorSymbolNotFound": ("hipErrorNotFound",),
        "cudaErrorUnmapBufferObjectFailed": ("hipErrorUnmapFailed",),
        "cudaFreeHost": ("hipHostFree", "hipFreeHost"),
        "cudaFuncCache": ("hipFuncCache_t",),
        "cudaHostAlloc": ("hipHostAlloc",),
        "cudaLimit": ("hipLimit_t",),
        "cudaMallocHost": ("hipHostMalloc", "hipMallocHost"),
        "cudaPointerAttributes": ("hipPointerAttribute_t",),
        "cudaUUID_t": ("hipUUID",),
        "cublasDataType_t": ("hipblasDatatype_t",),
        "cublasStatus": ("hipblasStatus",),
        "CUBLAS_GEMM_DFALT": ("HIPBLAS_GEMM_DEFAULT",),
        "CUSPARSE_SPGEMM_CSR_ALG_DETERMINITIC": ("HIPSPARSE_SPGEMM_CSR_ALG_DETERMINISTIC",),
        "CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINITIC": ("HIPSPARSE_SPGEMM_CSR_ALG_NONDETERMINISTIC",),
        "cusolverDnHandle_t": ("hipsolverDnHandle_t", "hipsolverHandle_t"),
    }
)
"""What HIP calls otherwise than by the rule; the first name is its own, others it knows as well."""

_RULES = (
    ("cudaDevAttr", "hipDeviceAttribute"),
    ("cudaHostAlloc", "hipHostMalloc"),
    ("CUDART_", "HIP_"),
    ("__nv_", "__hip_"),
    ("__NV_", "__HIP_"),
    ("make_cuda", "make_hip"),
    ("make_cu", "make_hip"),
    ("CUDA_", "HIP_"),
    ("cuda", "hip"),
    ("CU", "HIP"),
    ("cu", "hip"),
)


def hip_names(cuda_name: str) -> tuple[str, ...]:
    """What HIP calls something of CUDA's.

    >>> hip_names("cudaMemcpyHostToDevice"), hip_names("cudaErrorMemoryAllocation")
    (('hipMemcpyHostToDevice',), ('hipErrorOutOfMemory', 'hipErrorMemoryAllocation'))
    >>> hip_names("cudaDevAttrWarpSize"), hip_names("CUFFT_FORWARD"), hip_names("make_cuComplex")
    (('hipDeviceAttributeWarpSize',), ('HIPFFT_FORWARD',), ('make_hipComplex',))
    """
    if cuda_name in EXCEPTIONS:
        return EXCEPTIONS[cuda_name]
    prefix, instead = next(rule for rule in _RULES if cuda_name.startswith(rule[0]))
    return (instead + cuda_name.removeprefix(prefix),)


_SPEAKS_HIP = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]hip|\bhip[A-Z]\w*\s*\(', re.MULTILINE)
_SPEAKS_CUDA = re.compile(
    rb'^[ \t]*#[ \t]*include[ \t]*[<"]cu(?:da|blas|fft|rand|sparse|solver)|\bcuda[A-Z]\w*\s*\(', re.MULTILINE
)


def is_hip(unit: Source) -> bool:
    """Whether a source is written in HIP: by its name, or by what it includes and calls.

    One that can be either, as its macros tell, is CUDA's.

    >>> is_hip(Source("a.cpp", b"#include <hip/hip_runtime.h>", is_file=False))
    True
    """
    if Path(unit.name).suffix == ".hip":
        return True
    return _SPEAKS_HIP.search(unit.text) is not None and _SPEAKS_CUDA.search(unit.text) is None


def platform_macros(unit: Source) -> dict[str, object]:
    """What hipcc defines on NVIDIA's platform, whose warps of 32 threads are Windlass's, for sources in HIP."""
    return {"__HIPCC__": 1, "__HIP_PLATFORM_NVIDIA__": 1, "__HIP_PLATFORM_NVCC__": 1} if is_hip(unit) else {}


def spelled_as_hip(text: str, line: str) -> str:
    """A message in which CUDA's names are HIP's, where a line of the source has them.

    >>> spelled_as_hip("no matching function for call to 'cudaMalloc'", "hipMalloc(&p);")
    "no matching function for call to 'hipMalloc'"
    """

    def spelled(found: re.Match[str]) -> str:
        return next((name for name in hip_names(found[0]) if re.search(rf"\b{name}\b", line)), found[0])

    return re.sub(r"\b(?:(?:make_)?(?:cu[a-zA-Z]|CU)|__nv_|__NV_)\w+", spelled, text) if "hip" in line.lower() else text
