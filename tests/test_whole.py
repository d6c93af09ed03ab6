"""What `make test` runs, and what it makes of tests that fail."""

from __future__ import annotations

import os
import re
import shutil
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


FAMILIES = """
import pytest

@pytest.mark.one_in(3)
@pytest.mark.parametrize("length", range(7))
@pytest.mark.parametrize("width", range(3))
def test_cases(length, width):
    print(f"length {length} width {width}")
"""
OF_A_FILE = """
import pytest
pytestmark = pytest.mark.one_in(2)
""" + "".join(f"def test_{name}(): pass\n" for name in "abcdef")


def test_samples_are_spread_over_all_cases(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  slow\n  one_in\n")
    shutil.copy(Path(__file__).parents[1] / "conftest.py", tmp_path)
    (tmp_path / "test_families.py").write_text(FAMILIES)
    (tmp_path / "test_file.py").write_text(OF_A_FILE)
    found: dict[str, str] = {}
    for chosen in ("not slow", ""):
        command = [sys.executable, "-m", "pytest", "-q", "-s", "-m", chosen]
        found[chosen] = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "27 passed" in found[""]
    assert "12 passed, 15 deselected" in found["not slow"]
    assert len(set(re.findall(r"length \d", found["not slow"]))) >= 5
    assert len(set(re.findall(r"width \d", found["not slow"]))) == 3
