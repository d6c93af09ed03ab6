"""The programs: their sources, and arguments for which each takes seconds to a minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DATA = "{data}"
"""In arguments: the folder of the inputs."""


@dataclass(frozen=True)
class SuiteProgram:
    """A program of a suite, as it is built and called; `size` says in words how large its problem is."""

    name: str
    folder: str
    sources: Sequence[str]
    arguments: str
    size: str
    options: Sequence[str] = ("-I", ".")


def rodinia(root: Path) -> list[SuiteProgram]:
    """The CUDA programs of Rodinia 3.1; `root` is a checkout, of which only files of `cuda/` are used."""
    algebra = root / "cuda/leukocyte/meschach_lib"
    meschach = [
        f"../meschach_lib/{each.name}"
        for each in sorted(algebra.glob("*.c"))
        # Not its test programs.
        if not each.stem.endswith(("tort", "torture", "macheps", "tutorial", "tutadv"))
        and not each.stem.startswith(("rk4", "extras", "maxint", "conjgrad", "arnoldi", "lanczos"))
    ]
    tree_sources = (
        "main.c", "kernel/kernel_gpu_cuda_wrapper.cu", "kernel/kernel_gpu_cuda_wrapper_2.cu",
        "util/timer/timer.c", "util/num/num.c", "util/cuda/cuda.cu",
    )  # fmt: skip
    wavelet_sources = (
        "main.cu", "dwt.cu", "components.cu", "dwt_cuda/fdwt53.cu", "dwt_cuda/fdwt97.cu", "dwt_cuda/common.cu",
        "dwt_cuda/rdwt97.cu", "dwt_cuda/rdwt53.cu",
    )  # fmt: skip
    box_sources = (
        "main.c", "util/num/num.c", "util/timer/timer.c", "util/device/device.cu", "kernel/kernel_gpu_cuda_wrapper.cu",
    )  # fmt: skip
    cell_sources = (
        "detect_main.c", "find_ellipse.c", "find_ellipse_kernel.cu", "track_ellipse.c", "track_ellipse_kernel.cu",
        "misc_math.c", "avilib.c", *meschach,
    )  # fmt: skip
    cluster_sources = (
        "cluster.c", "getopt.c", "kmeans.c", "kmeans_clustering.c", "kmeans_cuda.cu", "rmse.c",
    )  # fmt: skip
    match_sources = ("mummergpu_main.cpp", "mummergpu.cu", "mummergpu_gold.cpp", "suffix-tree.cpp", "PoolMalloc.cpp")
    headers = ("-I", f"{DATA}/headers")
    here = ("-I", ".")
    same_seed = ("-D", "time=time_for_seeds")
    return [
        SuiteProgram(
            "b+tree", "b+tree", tree_sources, f"file {DATA}/keys.txt command {DATA}/commands.txt", "2,000 keys",
            ("-I", ".", "-I", "kernel", "-I", "util"),
        ),
        SuiteProgram(
            "backprop", "backprop", ("backprop_cuda.cu", "backprop.c", "imagenet.c", "facetrain.c"), "1024",
            "1,024 inputs",
        ),
        SuiteProgram("bfs", "bfs", ("bfs.cu",), f"{DATA}/graph.txt", "4,096 nodes"),
        SuiteProgram(
            "cfd", "cfd", ("euler3d.cu",), f"{DATA}/mesh.txt", "256 cells, 2,000 steps",
            ("-I", ".", "-D", "GPUDEVICE=0", "-D", "block_length=128"),
        ),
        SuiteProgram("dwt2d", "dwt2d", wavelet_sources, "image.bmp -d 192x192 -f -5 -l 1", "192×192, 1 level"),
        SuiteProgram("gaussian", "gaussian", ("gaussian.cu",), "-s 32", "32×32"),
        SuiteProgram(
            "heartwall", "heartwall", ("main.cu", "AVI/avilib.c", "AVI/avimod.c"), f"{DATA}/heart.avi 1",
            "656×744, 1 frame", ("-I", ".", "-I", "AVI", "-D", "OUTPUT"),
        ),
        SuiteProgram(
            "hotspot", "hotspot", ("hotspot.cu",), f"64 2 4 {DATA}/temperature_64 {DATA}/power_64 out.txt",
            "64×64, 4 steps",
        ),
        SuiteProgram(
            "hotspot3D", "hotspot3D", ("3D.cu",), f"64 8 5 {DATA}/power_64x8 {DATA}/temperature_64x8 out.txt",
            "64×64×8, 5 steps",
        ),
        SuiteProgram(
            "huffman", "huffman", ("main_test_cu.cu", "cpuencode.cpp", "stats_logger.cpp"), f"{DATA}/letters.bin",
            "256 KiB",
        ),
        SuiteProgram(
            "hybridsort", "hybridsort", ("main.cu", "bucketsort.cu", "mergesort.cu"), f"{DATA}/numbers.txt",
            "16,384 floats", (*here, *headers, "-D", "VERIFY", "-D", "OUTPUT"),
        ),
        SuiteProgram("kmeans", "kmeans", cluster_sources, f"-o -i {DATA}/points.txt", "500 points of 8"),
        SuiteProgram(
            "lavaMD", "lavaMD", (*box_sources, f"{DATA}/clock.c"), "-boxes1d 2", "2×2×2 boxes",
            (*here, *same_seed, "-D", "OUTPUT"),
        ),
        SuiteProgram(
            "leukocyte", "leukocyte/CUDA", cell_sources, f"{DATA}/cells.avi 2", "160×340, 2 frames",
            ("-I", ".", "-I", "../meschach_lib", "-D", "OUTPUT"),
        ),
        SuiteProgram(
            "lud", "lud/cuda", ("lud.cu", "lud_kernel.cu", "../common/common.c"), "-s 64 -v", "64×64",
            ("-I", "../common"),
        ),
        SuiteProgram(
            "mummergpu", "mummergpu/src", match_sources, f"{DATA}/reference.fna {DATA}/queries.fna",
            "1,200 letters, 24 queries",
        ),
        SuiteProgram("myocyte", "myocyte", ("main.cu",), "2 1 0", "2 ms"),
        SuiteProgram("nn", "nn", ("nn_cuda.cu",), f"{DATA}/hurricanes.txt -r 5 -lat 30 -lng 90", "256 records"),
        SuiteProgram("nw", "nw", ("needle.cu",), "128 10", "128×128", (*here, "-D", "TRACEBACK")),
        SuiteProgram(
            "particlefilter (float)", "particlefilter", ("ex_particle_CUDA_float_seq.cu",),
            "-x 32 -y 32 -z 4 -np 256", "32×32, 4 frames, 256 particles", (*here, "-D", "time=labs"),
        ),
        SuiteProgram(
            "particlefilter (naive)", "particlefilter", ("ex_particle_CUDA_naive_seq.cu",),
            "-x 32 -y 32 -z 4 -np 256", "32×32, 4 frames, 256 particles", (*here, "-D", "time=labs"),
        ),
        SuiteProgram(
            "pathfinder", "pathfinder", ("pathfinder.cu",), "1000 20 5", "20 rows of 1,000",
            (*here, "-D", "BENCH_PRINT"),
        ),
        SuiteProgram("srad_v1", "srad/srad_v1", ("main.cu",), "4 0.5 64 64", "64×64, 4 steps"),
        SuiteProgram(
            "srad_v2", "srad/srad_v2", ("srad.cu",), "64 64 0 31 0 31 0.5 2", "64×64, 2 steps",
            (*here, "-D", "OUTPUT"),
        ),
        SuiteProgram(
            "streamcluster", "streamcluster", ("streamcluster_cuda_cpu.cpp", "streamcluster_cuda.cu"),
            "5 10 16 256 256 50 none out.txt 1", "256 points of 16",
        ),
    ]  # fmt: skip
