"""Launches that overrun, misalign, stop or go through null are diagnosed with line and thread, and kill no process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import windlass as wl
from tests.faults.cases import ARITHMETIC, ARRAYS, MEMORY, SHAPES
from tests.faults.ways import WAYS

CASES = {**MEMORY, **ARITHMETIC}
Pair = tuple[str, str]


def launch_all(pairs: list[Pair]) -> Iterator[tuple[Pair, str]]:
    """What is to complain of about each launch, made in processes of their own: a new one where the last was killed."""
    left = list(pairs)
    while left:
        given = "".join(json.dumps(pair) + "\n" for pair in left)
        worker = [sys.executable, "-m", "tests.faults.worker"]
        ended = subprocess.run(worker, input=given, capture_output=True, text=True, check=False)
        told = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith('{"error"')]
        for each in told:
            yield (each["case"], each["way"]), each["complaint"]
        left = left[len(told) :]
        if left:
            yield left.pop(0), f"the process ended with {ended.returncode}: {ended.stderr[-2000:]}"


@pytest.fixture(scope="module")
def complaints(request: pytest.FixtureRequest) -> dict[Pair, str]:
    """Of all launches that are tests of this run."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    calls = [item.callspec.params for item in items if hasattr(item, "callspec")]
    return dict(launch_all([(str(call["case"]), str(call["way"])) for call in calls if {"case", "way"} <= call.keys()]))


@pytest.mark.one_in(10)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
def test_what_goes_wrong_is_told_and_the_process_lives(case: str, way: str, complaints: dict[Pair, str]) -> None:
    assert not complaints[case, way]


# -- what is refused before it runs -----------------------------------------------------------------------------------

ADD = wl.cuda.compile("__global__ void k(int *x, const int *y) { x[threadIdx.x] = y[threadIdx.x] + 1; }")["k"]
LAUNCHES: dict[str, Any] = {"launch": ADD, "native": wl.native(ADD), "emulated": wl.emulate(ADD)}


@pytest.mark.parametrize("way", LAUNCHES)
def test_grids_and_blocks_that_no_device_takes_are_refused(way: str) -> None:
    for grid, block, said in SHAPES.values():
        with pytest.raises(wl.LaunchError, match=re.escape(said)):
            LAUNCHES[way][grid, block](np.zeros(32, np.int32), np.zeros(32, np.int32))


@pytest.mark.parametrize("way", LAUNCHES)
def test_arrays_that_no_kernel_takes_are_refused_by_name(way: str) -> None:
    for name, (make, code, said) in ARRAYS.items():
        arguments = make()
        if not code:
            wanted = arguments[1] + 1
            LAUNCHES[way][1, 32](*arguments)
            np.testing.assert_array_equal(arguments[0], wanted, name)
            continue
        with pytest.raises(wl.WindlassError, match=f"(?s)(?:{code}).*{said}"):
            LAUNCHES[way][1, 32](*arguments)


def test_a_fault_stops_what_is_left_of_a_huge_grid() -> None:
    kernel = wl.cuda.compile("__global__ void k(int *x) { if (blockIdx.x == 100000) x[threadIdx.x + 20] = 1; }")["k"]
    with pytest.raises(wl.EmulationError, match=r"block \(100000, 0, 0\), thread \(12, 0, 0\)"):
        wl.native(kernel)[2**31 - 1, 256](np.zeros(32, np.int32))
