"""Which files of tests cost most, in processor seconds of the tests and of what they start; `make test` tells it.

python -m pytest -p tests.costs -n 2 tests
"""

from __future__ import annotations

import os
from collections import defaultdict

import pytest

LISTED = 15
"""Files that the list names."""
PROPERTY = "processor seconds"
_begun: dict[str, float] = {}
_costs: defaultdict[str, list[float]] = defaultdict(list)


def processor_seconds() -> float:
    """Of this process so far, and of those that it started and that ended: load changes little about them."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _begun[item.nodeid] = processor_seconds()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.when == "teardown":
        item.user_properties.append((PROPERTY, processor_seconds() - _begun.pop(item.nodeid)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":
        _costs[report.nodeid.partition("::")[0]] += [
            float(str(value)) for name, value in report.user_properties if name == PROPERTY
        ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    totals = {file: sum(seconds) for file, seconds in _costs.items()}
    terminalreporter.section(f"{sum(totals.values()):.0f} processor seconds; most of them in")
    for file in sorted(totals, key=lambda file: -totals[file])[:LISTED]:
        terminalreporter.write_line(f"{totals[file]:7.1f}  {file} ({len(_costs[file])} tests)")
