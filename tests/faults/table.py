"""Writes what becomes of each launch that goes wrong, in each way, as docs/reference/faults.md:

python -m tests.faults.table > docs/reference/faults.md
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from typing import Any

from tests.faults.cases import ARITHMETIC, MEMORY, Case
from tests.faults.ways import WAYS

HEAD = """# What is said of launches that go wrong

Each row is a kernel of `tests/faults/cases.py`, each column a way to launch it ([checking](../guides/checking.md) says
what is looked for where); made by `python -m tests.faults.table`. A code is that of the diagnostic, which names the
line, and thread, memory and element where it was seen as the kernel ran; *XLA* is an error of XLA's that names kernel,
line, thread and byte; *silent* is what only the data tell and nobody looks for, or a launch that has no results;
*refused* is native code that does not exist, with line and reason. *Killed* would be a process that ended, *incomplete*
a message that leaves some of this out.
"""


def main() -> None:
    cases = {**MEMORY, **ARITHMETIC}
    pairs = list(itertools.product(cases, WAYS))
    given = "".join(json.dumps(pair) + "\n" for pair in pairs)
    worker = [sys.executable, "-m", "tests.faults.worker"]
    ended = subprocess.run(worker, input=given, capture_output=True, text=True, check=False)
    told = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith('{"error"')]
    found = {(each["case"], each["way"]): each for each in told}
    print(HEAD)
    print(f"{len(told)} launches in one process, {len(pairs) - len(told)} not made since it was killed.\n")
    print(f"| kernel | {' | '.join(WAYS)} |")
    print(f"|---|{'---|' * len(WAYS)}")
    for name, case in cases.items():
        print(f"| {name} | {' | '.join(_cell(case, found.get((name, way))) for way in WAYS)} |")


def _cell(case: Case, told: dict[str, Any] | None) -> str:
    if told is None:
        return "killed"
    if told["complaint"]:
        return "incomplete" if case.code else "wrong"
    if not case.code:
        return "right"
    code = re.search(r"error\[(WL\d+)\]", told["text"])
    if code is None:
        return "XLA" if told["error"] else "silent"
    return "refused" if code[1] in ("WL0440", "WL0202", "WL0203", "WL0204", "WL0206") else code[1]


if __name__ == "__main__":
    main()
