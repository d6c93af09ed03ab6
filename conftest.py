"""What pytest has to know of the source tree."""

from __future__ import annotations

import gc
import os
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

# A slow or loaded machine is no reason to fail: programs of the tests meet no limit of time but those that they set.
os.environ.setdefault("WINDLASS_PATIENCE", "20")
# Which form a launch takes is not to depend on what else the machine does, and launches of most tests are small ones,
# which are fastest as native code: they are to show what kernels are raised to.
os.environ.setdefault("WINDLASS_TRIALS", "0")
os.environ.setdefault("WINDLASS_NATIVE", "fallback")

ONE_IN = 40
"""`--quick` keeps so many of a test's cases."""
GOLDEN = (5**0.5 - 1) / 2
"""The fractions of its multiples are spread evenly, and in step with no parameter of a test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="a sample: the first test of a file, one in 40 of its cases")


def pytest_collect_file(file_path: Path) -> None:
    """Import the catalogue as a whole before one file of it for its doctests: else its rules register twice."""
    if file_path.parent.name in ("rules", "passes", "lowering"):
        import_module("windlass.catalogue")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Make all cases slow but one in n, spread over all of them, of a test marked `one_in(n)`; of a file, its tests.

    With `--quick`, keep one in 40 cases of the first test in each file; of laws, of each test.
    """
    cases: Counter[str] = Counter()
    for item in items:
        node, mark = next(item.iter_markers_with_node("one_in"), (item, None))
        if mark is not None and item.get_closest_marker("slow") is None:
            family = node.nodeid.partition("[")[0]
            if cases[family] * GOLDEN % 1 >= 1 / mark.args[0]:
                item.add_marker(pytest.mark.slow)
            cases[family] += 1
    if not config.getoption("--quick"):
        return
    seen: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    for item in items:
        family = item.nodeid.partition("[")[0] if "laws" in item.path.parts else str(item.path)
        if seen[family] % ONE_IN == 0 and (seen[family] == 0 or "[" in item.nodeid):
            kept.append(item)
        seen[family] += 1
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def pytest_collection_finish() -> None:
    """Thousands of tests, and what they imported, stay until the end: the collector need not look at them each time."""
    gc.collect()
    gc.freeze()
