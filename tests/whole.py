"""The suite as `make test` runs it: types are checked beside the tests, and what fails is run once more, alone.

It ends with the files of tests that cost most (`tests/costs.py`).

    python -m tests.whole --types -n 2

A test that passes alone and failed among the others depends on what else the machine does. It is listed as unsteady,
for somebody to mend, and the suite passes; what fails alone as well has failed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

MOST = 20
"""Where more tests fail than this, they are not unsteady."""
FAILED = Path(".pytest_cache/v/cache/lastfailed")


def run_pytest(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


def run_tests(*arguments: str) -> int:
    """Run pytest with these arguments, then what failed; gives the exit status."""
    status = run_pytest("--cache-clear", "-p", "tests.costs", *arguments)
    if status != 1 or not FAILED.exists():
        return status
    failed: list[str] = list(json.loads(FAILED.read_text()))
    if len(failed) > MOST:
        return status
    print(f"\nonce more, alone: {len(failed)}", flush=True)
    unsteady = [test for test in failed if run_pytest("-p", "no:cacheprovider", test) == 0]
    if unsteady:
        print("\nunsteady: these failed among the others, and passed alone\n  " + "\n  ".join(unsteady))
    print(f"\n{len(unsteady)} passed, {len(failed) - len(unsteady)} failed", flush=True)
    return int(len(unsteady) < len(failed))


def main(*arguments: str) -> int:
    """Run the tests, and check types meanwhile if `--types` is the first argument; gives the exit status."""
    # Tests start hundreds of processes: else each would compile the sources of Windlass for itself.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if arguments[:1] != ("--types",):
        return run_tests(*arguments)
    pyright = [sys.executable, "-m", "pyright"]
    with subprocess.Popen(pyright, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as types:
        status = run_tests(*arguments[1:])
        found, _ = types.communicate()
    print(f"\npyright: {found}", flush=True)
    return status or types.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
