"""What `make test` makes of tests that fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

UNSTEADY = """
from pathlib import Path

def test_that_passes_once_it_is_alone():
    flag = Path("flag")
    if not flag.exists():
        flag.touch()
        raise AssertionError
"""


@pytest.mark.parametrize("is_steady", [False, True])
def test_what_fails_is_run_once_more_alone(tmp_path: Path, is_steady: bool) -> None:
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_some.py").write_text(UNSTEADY + "\n\ndef test_fails():\n    assert False\n" * is_steady)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "tests.whole", "-q"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == int(is_steady)
    assert "unsteady: these failed among the others, and passed alone\n  test_some.py::test_that_pass" in done.stdout
    assert done.stdout.endswith(f"\n1 passed, {int(is_steady)} failed\n")


def test_types_are_checked_beside_the_tests_and_costs_are_told(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_some.py").write_text("def test_passes():\n    pass\n")
    (tmp_path / "typed.py").write_text("x: int = ''\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "tests.whole", "--types", "-q"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "1 passed" in done.stdout
    assert re.search(r"processor seconds; most of them in =+\n +\d+\.\d  test_some.py \(1 tests\)\n", done.stdout)
    assert done.stdout.rstrip().endswith("1 error, 0 warnings, 0 informations")
