"""Launches what goes wrong, and tells a line of JSON for each: `python -m tests.faults.worker`.

It reads pairs of a case and a way, one a line, and goes on until there are no more, or until it is killed.
"""

from __future__ import annotations

import json
import sys

from tests.faults.cases import ARITHMETIC, MEMORY
from tests.faults.ways import complaint, outcome

CASES = {**MEMORY, **ARITHMETIC}


def main() -> None:
    for line in sys.stdin:
        name, way = json.loads(line)
        found = outcome(CASES[name], way)
        told = {**found, "case": name, "way": way, "complaint": complaint(CASES[name], way, found)}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
