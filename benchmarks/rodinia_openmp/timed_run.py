"""`windlass run`, which also writes how long native code took: CPU seconds of all threads, and launches.

    python -m benchmarks.rodinia_openmp.timed_run FILE run --mode native PROGRAM.cu -- ARGUMENTS

Times are of the code alone: neither of making it nor of what a launch takes in Python. FILE gets seconds and number.
"""

from __future__ import annotations

import atexit
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from windlass.command_line import main
from windlass.native.pool import pool
from windlass.native.running import Fault, Runner


def time_native_code(result: Path) -> None:
    """From now on add up the time of native code; it is written when the process ends."""
    found: list[float] = []
    run = Runner.run

    def timed(self: Runner, given: Sequence[int]) -> Fault | None:
        begin = time.process_time()
        try:
            return run(self, given)
        finally:
            found.append(time.process_time() - begin)

    pool().threads  # noqa: B018 -- starts them
    Runner.run = timed
    atexit.register(lambda: result.write_text(f"{sum(found):.9f} {len(found)}\n"))


if __name__ == "__main__":
    time_native_code(Path(sys.argv[1]))
    sys.argv = ["windlass", *sys.argv[2:]]
    sys.exit(main())
