"""Processes of one computation have to compile the same programs: else they send in different orders, and hang.

The order of a set is another in each process: that of texts follows from a number that Python draws, that of objects
from their addresses.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.communication.programs import ENVIRONMENT
from tests.processes import compiled_alike
from windlass.processes.ranks import ALIKE

ROOT = Path(__file__).parents[2]


def digests(seed: int, *words: str) -> dict[str, list[str]]:
    """Of each program's text, in a process with this order of sets."""
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    variables = os.environ | ENVIRONMENT | ALIKE | {"PYTHONPATH": paths, "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, "-m", "tests.processes.compiled_alike", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def differing(found: Sequence[Mapping[str, list[str]]]) -> list[str]:
    """Programs whose texts are not all the same."""
    assert len({frozenset(each) for each in found}) == 1
    return [name for name in found[0] if len({text for each in found for text in each[name]}) > 1]


def test_a_program_is_the_same_in_every_process() -> None:
    assert differing([digests(1), compiled_alike.digests(compiled_alike.texts_of_python)]) == []


@pytest.mark.slow
def test_every_kernel_and_program_on_a_mesh_is_the_same_in_every_process() -> None:
    assert differing([digests(seed, "wide") for seed in (1, 2)]) == []
