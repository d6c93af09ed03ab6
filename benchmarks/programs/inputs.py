"""Small inputs for programs that read files: seeded, in the formats that the programs expect."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


def write_inputs(folder: Path) -> None:
    """Write all input files into a folder, which is made."""
    for place in (folder, folder / "dwt2d", folder / "myocyte", folder / "srad"):
        place.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    (folder / "headers/GL").mkdir(parents=True)
    for name in ("glew.h", "glut.h"):
        # Included by programs that draw nothing.
        (folder / "headers/GL" / name).touch()
    # For programs that seed their random numbers with the time.
    (folder / "clock.c").write_text("long time_for_seeds(long *seconds) { return seconds ? *seconds = 7 : 7; }\n")
    (folder / "numbers.txt").write_text("".join(f"{x:.6f}\n" for x in random.random(16384)))
    (folder / "graph.txt").write_text(make_graph(random, 4096))
    for name, count, least, spread in (
        ("temperature_64", 64 * 64, 320.0, 10.0),
        ("power_64", 64 * 64, 0.0, 0.01),
        ("temperature_64x8", 64 * 64 * 8, 320.0, 10.0),
        ("power_64x8", 64 * 64 * 8, 0.0, 0.01),
    ):
        (folder / name).write_text("".join(f"{x:.6f}\n" for x in least + spread * random.random(count)))
    (folder / "hurricanes.db").write_text(
        "".join(
            f"1950  6 12 0{i % 10}  1 TONY       {latitude:5.1f}  {longitude:5.1f}  63  384\n"
            for i, (latitude, longitude) in enumerate(random.random((256, 2)) * (60, 200) + (10, 50))
        )
    )
    (folder / "hurricanes.txt").write_text(f"{folder / 'hurricanes.db'}\n")
    (folder / "points.txt").write_text(
        "".join(f"{i} " + " ".join(f"{x:.3f}" for x in random.random(8)) + "\n" for i in range(500))
    )
    (folder / "keys.txt").write_text("2000\n" + "".join(f"{i}\n" for i in random.permutation(2000)))
    (folder / "commands.txt").write_text("j 60 20\nk 100\n")
    (folder / "letters.bin").write_bytes(random.integers(97, 110, 262144).astype(np.uint8).tobytes())
    (folder / "srad" / "image.pgm").write_bytes(
        b"P5\n64 64\n255\n" + random.integers(1, 255, 64 * 64).astype(np.uint8).tobytes()
    )
    (folder / "dwt2d" / "image.bmp").write_bytes(_bitmap(random.integers(0, 255, (192, 192, 3)).astype(np.uint8)))
    (folder / "mesh.txt").write_text(make_mesh(random, 256))
    (folder / "myocyte" / "y.txt").write_text("".join(f"{x:.6f}\n" for x in 0.01 + 0.5 * random.random(91)))
    (folder / "myocyte" / "params.txt").write_text("".join(f"{x:.6f}\n" for x in 0.5 + random.random(16)))
    reference = "".join(random.choice(list("ACGT"), 1200))
    (folder / "reference.fna").write_text(
        ">reference\n" + "".join(f"{reference[i : i + 60]}\n" for i in range(0, len(reference), 60))
    )
    (folder / "queries.fna").write_text(_queries(random, reference, 24))
    _write_video(folder / "cells.avi", [_cells(random, frame) for frame in range(3)])
    rows, columns = np.mgrid[:656, :744]
    heart = 100 + 50 * np.sin(columns / 9) * np.cos(rows / 11) + 10 * random.standard_normal((656, 744))
    _write_video(folder / "heart.avi", [np.roll(heart, (frame, frame), (0, 1)) for frame in range(3)])


def make_graph(random: np.random.Generator, nodes: int) -> str:
    """A graph in Rodinia's form: where each node's edges begin, how many it has, a source, the edges."""
    degrees = random.integers(1, 7, nodes)
    ends = np.cumsum(degrees)
    starts = "".join(f"{end - degree} {degree}\n" for end, degree in zip(ends, degrees, strict=True))
    edges = "".join(f"{target} 1\n" for target in random.integers(0, nodes, ends[-1]))
    return f"{nodes}\n{starts}\n0\n\n{ends[-1]}\n{edges}"


def _bitmap(image: np.ndarray[Any, Any]) -> bytes:
    height, width, _ = image.shape
    header = struct.pack("<IHHI", 54 + image.nbytes, 0, 0, 54)
    form = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, image.nbytes, 0, 0, 0, 0)
    return b"BM" + header + form + image.tobytes()


def make_mesh(random: np.random.Generator, elements: int) -> str:
    """An unstructured mesh of a ring of cells: area, then of each neighbour its number and the face's normal."""
    lines = [f"{elements}\n"]
    for i in range(elements):
        neighbours = (
            i + 1 if i + 1 < elements else -2,
            i - 1 if i else -2,
            i + 16 if i + 16 < elements else -3,
            i - 16 if i >= 16 else -3,
        )
        normals = random.standard_normal((4, 3))
        faces = " ".join(
            f"{each + 1} {x:.6f} {y:.6f} {z:.6f}" for each, (x, y, z) in zip(neighbours, normals, strict=True)
        )
        lines.append(f"{1 + 0.1 * random.random():.6f} {faces}\n")
    return "".join(lines)


def _queries(random: np.random.Generator, reference: str, count: int) -> str:
    """Pieces of a sequence, every second one with a letter changed."""
    lines: list[str] = []
    for number in range(count):
        start = random.integers(0, len(reference) - 40)
        letters = list(reference[start : start + 36])
        if number % 2:
            letters[random.integers(0, 36)] = "ACGT"[random.integers(0, 4)]
        lines.append(f">q{number}\n{''.join(letters)}\n")
    return "".join(lines)


def _cells(random: np.random.Generator, frame: int) -> np.ndarray[Any, Any]:
    """Two bright discs on noise."""
    rows, columns = np.mgrid[:340, :160]
    image = 60 + 6 * random.standard_normal((340, 160))
    for x, y, radius in ((80 + frame, 215, 10.0), (60, 170, 11.0)):
        image += 120 / (1 + np.exp((np.hypot(columns - x, rows - y) - radius) * 1.5))
    return image


def _write_video(path: Path, frames: Sequence[np.ndarray[Any, Any]]) -> None:
    """An uncompressed AVI of grey frames, 8 bits each."""

    def chunk(tag: bytes, data: bytes) -> bytes:
        return tag + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)

    height, width = frames[0].shape
    size, count = height * width, len(frames)
    main = struct.pack("<14I", 33333, 0, 0, 0x10, count, 0, 1, size, width, height, 0, 0, 0, 0)
    stream = b"vids" + b"DIB "
    stream += struct.pack("<IHHIIIIIIIIhhhh", 0, 0, 0, 0, 1, 30, 0, count, size, 2**32 - 1, 0, 0, 0, width, height)
    form = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 0, size, 0, 0, 0, 0)
    streams = chunk(b"LIST", b"strl" + chunk(b"strh", stream) + chunk(b"strf", form))
    headers = chunk(b"LIST", b"hdrl" + chunk(b"avih", main) + streams)
    movie, index = b"", b""
    for frame in frames:
        index += b"00db" + struct.pack("<III", 0x10, 4 + len(movie), size)
        movie += chunk(b"00db", np.clip(frame, 0, 255)[::-1].astype(np.uint8).tobytes())
    body = b"AVI " + headers + chunk(b"LIST", b"movi" + movie) + chunk(b"idx1", index)
    path.write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)
