"""Headers that give what there is of CUDA HIP's names: written anew by `python -m tests.frontends.cuda.hip_headers`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from windlass.diagnostics.cache import temporary_folder
from windlass.frontends.cuda.clang import INCLUDE_FOLDER, host_flags, run_clang
from windlass.frontends.cuda.hip import hip_names

OWN = frozenset(
    {
        "cudaDeviceProp",
        "cudaGetDeviceProperties",
        "cudaGetErrorName",
        # HIP has no threads' forms of these functions.
        "cudaThreadSynchronize",
        "CUDART_VERSION",
        "cudaThreadExit",
        "cudaThreadSetLimit",
        "cudaThreadSetCacheConfig",
    }
)
"""What `hip/hip_runtime.h` says for itself, or leaves out."""


@dataclass(frozen=True)
class Header:
    """A header of HIP's that is CUDA's under other names."""

    name: str
    includes: tuple[str, ...]
    pattern: str
    """Which names of CUDA's it has others for."""
    title: str


RUNTIME = Header(
    "windlass/hip_names.h",
    ("windlass_cuda.h", "library_types.h"),
    r"(?:make_)?cuda[A-Z]\w*|CUDA_[RC]_\w+",
    "the runtime",
)
BLAS = Header("hipblas/hipblas.h", ("cublas_v2.h",), r"(?:cublas(?!Lt)|CUBLAS(?!LT))\w+", "hipBLAS")
SOLVER = Header("hipsolver/hipsolver.h", ("cusolverDn.h", "cusolverSp.h"), r"(?:cusolver|CUSOLVER)\w+", "hipSOLVER")
HEADERS = (
    RUNTIME,
    BLAS,
    SOLVER,
    Header("hip/hip_math_constants.h", ("math_constants.h",), r"CUDART_\w+", "mathematical constants"),
    Header("hip/hip_complex.h", ("cuComplex.h",), r"(?:make_)?cu[A-Z]\w*[a-z]\w*", "complex numbers"),
    Header("hip/hip_fp8.h", ("cuda_fp8.h",), r"__nv_\w*fp8\w*|__NV_(?:E\dM\d|NOSAT|SATFINITE)", "numbers of 8 bits"),
    Header("hipblaslt/hipblaslt.h", ("cublasLt.h",), r"(?:cublasLt|CUBLASLT_)\w+", "hipBLASLt"),
    Header("hiprand/hiprand.h", ("curand.h",), r"(?:curand|CURAND)\w+", "hipRAND"),
    Header(
        "hiprand/hiprand_kernel.h", ("curand_kernel.h",), r"(?:curand|CURAND)\w+", "hipRAND's generators in kernels"
    ),
    Header("hipfft/hipfft.h", ("cufft.h", "cufftXt.h"), r"(?:cufft|CUFFT)\w+", "hipFFT"),
    Header("hipsparse/hipsparse.h", ("cusparse.h",), r"(?:cusparse|CUSPARSE)\w+", "hipSPARSE"),
)


def cuda_names(header: Header) -> list[str]:
    """All names of CUDA's that the header has others for: functions, types, constants."""
    found = set(re.findall(rf"\b(?:{header.pattern})\b", _declarations()))
    return sorted(name for name in found - OWN if not name.endswith(("_H", "_H_")))


@cache
def _declarations() -> str:
    """What all headers of CUDA's declare and define that HIP has names for."""
    with temporary_folder() as folder:
        source = folder / "names.cu"
        source.write_text("".join(f"#include <{name}>\n" for header in HEADERS for name in header.includes))
        outcome = run_clang([*host_flags(), "-E", "-P", "-dD", str(source)])
    assert outcome.status == 0, outcome.messages
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', "", outcome.output)


def header_text(header: Header) -> str:
    """The header, as it is kept."""
    names = cuda_names(header)
    lines = [
        f"// HIP's names for what CUDA has: {header.title}. Written by `python -m tests.frontends.cuda.hip_headers`."
    ]
    lines += ["#pragma once"]
    lines += [] if header is RUNTIME else ["#include <hip/hip_runtime.h>"]
    lines += [f"#include <{name}>" for name in header.includes]
    lines += [f"#define {hip} {name}" for name in names for hip in hip_names(name)]
    if header is SOLVER:
        shared = re.compile(r"CUBLAS_(?:OP_[NTC]|FILL_MODE_|SIDE_)|cublas(?:Operation|FillMode|SideMode)_t")
        lines += [
            f"#define {hip_names(name)[0].replace('BLAS', 'SOLVER').replace('blas', 'solver')} {name}"
            for name in cuda_names(BLAS)
            if shared.match(name)
        ]
    if header is RUNTIME:
        errors = [name for name in names if re.match(r"cuda(?:Success$|Error[A-Z])", name)]
        lines += ["static inline const char *hipGetErrorName(cudaError_t error) {", "    switch (error) {"]
        lines += [f'    case {name}: return "{hip_names(name)[0]}";' for name in errors]
        lines += ['    default: return "hipErrorUnknown";', "    }", "}"]
    return "\n".join(lines) + "\n"


def all_headers() -> dict[str, str]:
    """The texts of all headers that are names alone, hipCUB's among them, which are CUB's in another namespace."""
    found = {header.name: header_text(header) for header in HEADERS}
    for path in sorted((INCLUDE_FOLDER / "cub").rglob("*.cuh")):
        name = path.relative_to(INCLUDE_FOLDER / "cub").with_suffix(".hpp").as_posix()
        found[f"hipcub/{name.replace('cub.hpp', 'hipcub.hpp')}"] = (
            f"// HIP's name for what CUDA has. Written by `python -m tests.frontends.cuda.hip_headers`.\n"
            "#pragma once\n#include <hip/hip_runtime.h>\n"
            f"#include <{path.relative_to(INCLUDE_FOLDER).as_posix()}>\nnamespace hipcub = cub;\n"
        )
    return found


def write_headers() -> None:
    """Write the headers to where they are kept."""
    for name, text in all_headers().items():
        path = INCLUDE_FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    write_headers()
