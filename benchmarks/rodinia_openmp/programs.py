"""The programs that Rodinia has for CUDA and for OpenMP, and the same problem for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from benchmarks.programs.inputs import make_graph, make_mesh, write_inputs
from benchmarks.programs.suites import DATA, SuiteProgram, rodinia

THREADS = "{threads}"
"""In arguments: how many threads."""


@dataclass(frozen=True)
class Pair:
    """A program for CUDA, and what is built and called of its OpenMP version."""

    cuda: SuiteProgram
    openmp: SuiteProgram


def pairs(root: Path) -> list[Pair]:
    """The pairs in a checkout; `cuda/` and `openmp/` of it are used."""
    cuda = {each.name: each for each in rodinia(root)}
    algebra = root / "openmp/leukocyte/meschach_lib"
    meschach = [
        each.replace("../meschach_lib", str(algebra)) for each in cuda["leukocyte"].sources if "meschach" in each
    ]

    def pair(
        name: str, size: str, arguments: str, folder: str, sources: Sequence[str], openmp: str, *options: str
    ) -> Pair:
        ours = replace(cuda[name], arguments=arguments, size=size)
        return Pair(ours, SuiteProgram(name, folder, sources, openmp, size, ("-I", ".", *options)))

    hot, hot3, box = "temperature_1024", "temperature_256x8", ("main.c", "kernel/kernel_cpu.c", "util/num/num.c")
    clusters = ("cluster.c", "getopt.c", "kmeans.c", "kmeans_clustering.c")
    tree = ("main.c", "kernel/kernel_cpu.c", "kernel/kernel_cpu_2.c", "util/timer/timer.c", "util/num/num.c")
    cells = ("detect_main.c", "find_ellipse.c", "track_ellipse.c", "misc_math.c", "avilib.c", *meschach)
    old = "-std=gnu89"
    return [
        pair(
            "b+tree", "100,000 keys", f"file {DATA}/many_keys.txt command {DATA}/many_commands.txt",
            "b+tree", tree, f"core {THREADS} file {DATA}/many_keys.txt command {DATA}/many_commands.txt", old,
        ),
        pair(
            "backprop", "65,536 inputs", "65536",
            "backprop", ("backprop.c", "facetrain.c", "imagenet.c", "backprop_kernel.c"), "65536", old,
        ),
        pair(
            "bfs", "262,144 nodes", f"{DATA}/large_graph.txt",
            "bfs", ("bfs.cpp",), f"{THREADS} {DATA}/large_graph.txt",
        ),
        pair(
            "cfd", "2,048 cells, 2,000 steps", f"{DATA}/large_mesh.txt",
            "cfd", ("euler3d_cpu.cpp",), f"{DATA}/large_mesh.txt", "-D", "block_length=2",
        ),
        pair(
            "heartwall", "656×744, 1 frame", f"{DATA}/heart.avi 1",
            "heartwall", ("main.c", "AVI/avilib.c", "AVI/avimod.c"), f"{DATA}/heart.avi 1 {THREADS}", old, "-I", "AVI",
        ),
        pair(
            "hotspot", "1024², 20 steps", f"1024 2 20 {DATA}/{hot} {DATA}/power_1024 out.txt",
            "hotspot", ("hotspot_openmp.cpp",),
            f"1024 1024 20 {THREADS} {DATA}/{hot} {DATA}/power_1024 out.txt",
        ),
        pair(
            "hotspot3D", "256²×8, 20 steps", f"256 8 20 {DATA}/power_256x8 {DATA}/{hot3} out.txt",
            "hotspot3D", ("3D.c",), f"256 8 20 {DATA}/power_256x8 {DATA}/{hot3} out.txt", old,
        ),
        pair(
            "kmeans", "20,000 points of 34", f"-o -i {DATA}/many_points.txt",
            "kmeans/kmeans_openmp", clusters, f"-n {THREADS} -i {DATA}/many_points.txt", old,
        ),
        pair(
            "lavaMD", "4×4×4 boxes", "-boxes1d 4",
            "lavaMD", (*box, "util/timer/timer.c"), f"-cores {THREADS} -boxes1d 4", old,
        ),
        pair(
            "leukocyte", "160×340, 2 frames", f"{DATA}/cells.avi 2",
            "leukocyte/OpenMP", cells, f"2 {THREADS} {DATA}/cells.avi", old, "-I", "../meschach_lib",
        ),
        pair(
            "lud", "256²", "-s 256",
            "lud/omp", ("lud.c", "lud_omp.c", "../common/common.c"), f"-n {THREADS} -s 256", old, "-I", "../common",
        ),
        pair("myocyte", "2 ms", "2 1 0", "myocyte", ("main.c",), f"2 1 0 {THREADS}", old),
        pair(
            "nn", "40,960 records", f"{DATA}/many_hurricanes.txt -r 5 -lat 30 -lng 90",
            "nn", ("nn_openmp.c",), f"{DATA}/many_hurricanes.txt 5 30 90", old,
        ),
        pair("nw", "1024²", "1024 10", "nw", ("needle.cpp",), f"1024 10 {THREADS}"),
        pair(
            "particlefilter (float)", "64², 4 frames, 1,024 particles", "-x 64 -y 64 -z 4 -np 1024",
            "particlefilter", ("ex_particle_OPENMP_seq.c",), "-x 64 -y 64 -z 4 -np 1024", old,
        ),
        pair("pathfinder", "100 rows of 100,000", "100000 100 20", "pathfinder", ("pathfinder.cpp",), "100000 100"),
        pair(
            "srad_v1", "458×502, 20 steps", "20 0.5 502 458",
            "srad/srad_v1", ("main.c",), f"20 0.5 502 458 {THREADS}", old,
        ),
        pair(
            "streamcluster", "4,096 points of 64", "10 20 64 4096 4096 1000 none out.txt 1",
            "streamcluster", ("streamcluster_omp.cpp",), f"10 20 64 4096 4096 1000 none out.txt {THREADS}",
        ),
    ]  # fmt: skip


def write_large_inputs(folder: Path) -> None:
    """Write the inputs of `benchmarks.programs`, and larger ones."""
    write_inputs(folder)
    random = np.random.default_rng(1)
    (folder / "large_graph.txt").write_text(make_graph(random, 262_144))
    (folder / "large_mesh.txt").write_text(make_mesh(random, 2048))
    for name, count, least, spread in (
        ("temperature_1024", 1024 * 1024, 320.0, 10.0),
        ("power_1024", 1024 * 1024, 0.0, 0.01),
        ("temperature_256x8", 256 * 256 * 8, 320.0, 10.0),
        ("power_256x8", 256 * 256 * 8, 0.0, 0.01),
    ):
        (folder / name).write_text("".join(f"{x:.6f}\n" for x in least + spread * random.random(count)))
    points = random.random((20_000, 34))
    lines = (f"{i} " + " ".join(f"{x:.3f}" for x in point) + "\n" for i, point in enumerate(points))
    (folder / "many_points.txt").write_text("".join(lines))
    (folder / "many_keys.txt").write_text("100000\n" + "".join(f"{i}\n" for i in random.permutation(100_000)))
    (folder / "many_commands.txt").write_text("j 6000 3000\nk 10000\n")
    records = (folder / "hurricanes.db").read_text() * 160
    (folder / "many_hurricanes.db").write_text(records)
    (folder / "many_hurricanes.txt").write_text(f"{folder / 'many_hurricanes.db'}\n")
    pixels = " ".join(map(str, random.integers(1, 255, 458 * 502)))
    (folder / "srad" / "image.pgm").write_text(f"P2\n502 458\n255\n{pixels}\n")
