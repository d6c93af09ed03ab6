"""The ocean over two processes, one of which is killed in mid-step: it goes on from its checkpoint, to the bit."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from windlass.processes.parts import list_whole

ROOT = Path(__file__).parents[2]
OCEAN = ROOT / "examples" / "ocean" / "run.py"
STEPS, KILLED_AFTER = 5, 2
HASH = re.compile(r"SHA-256 of all fields:\s+([0-9a-f]{64})")


def begin(folder: Path, *options: str) -> subprocess.Popen[str]:
    """The ocean, launched so, with its checkpoints in this folder."""
    variables = dict(os.environ, PYTHONPATH=f"{ROOT / 'src'}", JAX_PLATFORMS="cpu")
    # What XLA does beyond that takes minutes, and the bits are those of one way to compile.
    variables["XLA_FLAGS"] = "--xla_backend_optimization_level=0"
    words = ["--size", "26x18x4", "--steps", str(STEPS), "--every", "1", "--checkpoint", str(folder)]
    output = ["--output", str(folder.with_suffix(".png"))]
    return subprocess.Popen(
        [sys.executable, "-m", "windlass", "launch", *options, str(OCEAN), *words, *output],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=variables,
    )


def hash_of(run: subprocess.Popen[str]) -> str:
    """Of all fields at the end, as it is printed."""
    with run:
        printed, _ = run.communicate(timeout=1800)
    found = HASH.search(printed)
    assert run.returncode == 0 and found, printed
    return found[1]


def ranks_with(folder: Path) -> dict[int, int]:
    """The processes of its ranks, by their numbers."""
    found: dict[int, int] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        number = re.match(r'\{"number": (\d+)', next((word for word in words if word.startswith("{")), ""))
        if number and str(folder) in words:
            found[int(number[1])] = int(process.name)
    return found


@pytest.mark.slow
def test_ocean_killed_in_mid_step_ends_with_the_bits_of_an_undisturbed_run(tmp_path: Path) -> None:
    undisturbed = hash_of(begin(tmp_path / "undisturbed", "-n", "2"))
    killed, elsewhere = tmp_path / "killed", tmp_path / "elsewhere"
    killed.mkdir()
    run = begin(killed, "-n", "2", "--restart", "1")
    while not (whole := list_whole(killed)) or whole[-1].step < KILLED_AFTER:
        assert run.poll() is None
        time.sleep(0.05)
    os.kill(ranks_with(killed)[1], signal.SIGKILL)
    name = f"step-{whole[-1].step:08}"
    shutil.copytree(killed / name, elsewhere / name)
    assert hash_of(run) == undisturbed
    # One process that has both devices goes on from what two have written.
    assert hash_of(begin(elsewhere, "-n", "1", "--devices-per-process", "2")) == undisturbed
