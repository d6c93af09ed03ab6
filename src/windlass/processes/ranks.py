"""The processes of a program on this machine: started together, looked at, and ended together."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windlass.processes.progress import Progress, SharedProgress
from windlass.processes.relay import Relay

ALIKE = {"WINDLASS_PATIENCE": "1000", "WINDLASS_TRIALS": "0", "PYTHONHASHSEED": "0"}
"""Variables with which all ranks compile the same programs: no limits of time, no forms chosen by timing them, and sets
of texts in one order, since a script may go through one as it is traced."""

TAIL_LINES, TAIL_BYTES = 30, 1 << 14


@dataclass(frozen=True)
class Order:
    """What a rank is told: who it is, whom it asks for the others, its devices, and where it notes what it does."""

    number: int
    count: int
    coordinator: str
    devices: list[int]
    progress: str
    errors: str
    traces: str
    lifeline: int

    def spell(self) -> str:
        """As an argument of a command."""
        return json.dumps(self.__dict__)

    @classmethod
    def read(cls, text: str) -> Order:
        """What `spell` wrote."""
        fields: dict[str, Any] = json.loads(text)
        return cls(**fields)


class Rank:
    """One process of the program."""

    def __init__(self, order: Order, process: subprocess.Popen[bytes]) -> None:
        self.order, self.process = order, process
        self._shared = SharedProgress(Path(order.progress))
        self._told_before = _size(Path(order.errors))

    @property
    def number(self) -> int:
        """Which one of all it is."""
        return self.order.number

    def progress(self) -> Progress:
        """How far it has come."""
        return self._shared.read()

    def poll(self) -> int | None:
        """Its status, once it has ended: negative is a signal's number."""
        return self.process.poll()

    def last_errors(self) -> list[str]:
        """The last lines that it wrote to standard error, since it was started."""
        with suppress(OSError), Path(self.order.errors).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(self._told_before, size - TAIL_BYTES))
            return file.read().decode(errors="replace").splitlines()[-TAIL_LINES:]
        return []

    def ask_for_trace(self) -> None:
        """Have it write where it is; `last_trace` reads that soon after."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGUSR1)

    def last_trace(self) -> list[str]:
        """The frames of its main thread, the innermost first: 'File "..." line 3 in f'; none if it didn't answer."""
        with suppress(OSError):
            lines = Path(self.order.traces).read_text(errors="replace").splitlines()
            return [line.strip() for line in lines if line.startswith("  File ")]
        return []


class Ranks:
    """All ranks of one start."""

    def __init__(
        self,
        command: Sequence[str],
        program: Sequence[str],
        slots: Sequence[int],
        devices_per_process: int | None,
        folder: Path,
    ) -> None:
        """Start `command` ORDER `program...` once for each slot. A slot is a place for a process, with its devices."""
        coordinator = f"127.0.0.1:{find_port()}"
        lifeline, self._lifeline = os.pipe()
        self._relay = Relay()
        self.all: list[Rank] = []
        try:
            for number, slot in enumerate(slots):
                width = devices_per_process or 1
                noted, errors, traces, output = (
                    folder / f"rank-{number}.{kind}" for kind in ("progress", "stderr", "traces", "stdout")
                )
                SharedProgress.make(noted)
                traces.unlink(missing_ok=True)
                order = Order(
                    number,
                    len(slots),
                    coordinator,
                    list(range(slot * width, (slot + 1) * width)),
                    str(noted),
                    str(errors),
                    str(traces),
                    lifeline,
                )
                with errors.open("ab") as errors_file, output.open("ab") as output_file:
                    process = subprocess.Popen(
                        [*command, order.spell(), *program],
                        stdin=subprocess.DEVNULL,
                        stdout=output_file if number else self._relay.handle,
                        stderr=errors_file if number else None,
                        env=environment(devices_per_process),
                        pass_fds=(lifeline,),
                        start_new_session=True,
                    )
                self.all.append(Rank(order, process))
        except BaseException:
            self.stop()
            raise
        finally:
            os.close(lifeline)
            self._relay.start()

    def stop(self) -> None:
        """End all that still run, and what they started."""
        for rank in self.all:
            if rank.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(rank.process.pid, signal.SIGKILL)
        for rank in self.all:
            rank.process.wait()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    def finish(self) -> None:
        """Pass on what was printed to the end; all have ended."""
        sys.stdout.flush()
        self._relay.finish()


def find_port() -> int:
    """A free port of this machine, of those that it doesn't give to programs that ask for any."""
    for _ in range(100):
        with socket.socket() as tried, suppress(OSError):
            port = random.randrange(10_000, 32_000)
            tried.bind(("127.0.0.1", port))
            return port
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def environment(devices_per_process: int | None) -> dict[str, str]:
    """A rank's variables: ours, and how many devices it makes of a CPU."""
    variables = {**ALIKE, **os.environ}
    if devices_per_process is not None:
        flags = variables.get("XLA_FLAGS", "")
        variables["XLA_FLAGS"] = re.sub(r"--xla_force_host_platform_device_count=\d+", "", flags)
        variables["JAX_NUM_CPU_DEVICES"] = str(devices_per_process)
    return variables


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
