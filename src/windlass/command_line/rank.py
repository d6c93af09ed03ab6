"""What a process of `windlass launch -n` runs: it joins the others, and then runs the script."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from windlass.command_line.main_module import FAILED, read_script, run_as_main
from windlass.processes.progress import share
from windlass.processes.ranks import Order
from windlass.stablehlo.compiled_once import compile_once

SECONDS_TO_BE_STOPPED = 30.0
"""One that has failed stays so long, with its connections: its neighbours would fail in turn, and tell of it."""


def main() -> None:
    """Run the script that the arguments name, as the rank that they say."""
    order = Order.read(sys.argv[1])
    script, arguments = Path(sys.argv[2]), sys.argv[3:]
    threading.Thread(target=_end_with_supervisor, args=(order.lifeline,), name="windlass-lifeline", daemon=True).start()
    progress = share(Path(order.progress))
    faulthandler.enable()
    traces = Path(order.traces).open("w")  # noqa: SIM115  open as long as the process lives
    faulthandler.register(signal.SIGUSR1, file=traces, all_threads=False)
    with Path(order.errors).open("a", buffering=1) as errors:
        try:
            text = read_script(script)
            jax.distributed.initialize(
                order.coordinator,
                order.count,
                order.number,
                local_device_ids=order.devices,
                cluster_detection_method="deactivate",
                coordinator_bind_address=order.coordinator,
            )
            jax.distributed.initialize = initialized(jax.distributed.initialize)
            compile_once()
            progress.note_running()
            status = run_as_main(text, script, arguments, errors if order.number == 0 else None)
        except Exception as error:
            print(error, file=errors)
            status = FAILED
    sys.stdout.flush()
    sys.stderr.flush()
    progress.note_end(status)
    if status:
        # JAX would wait at its exit for the others.
        time.sleep(SECONDS_TO_BE_STOPPED)
        os._exit(status)


def initialized(initialize: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.distributed.initialize` for scripts that call it, too: they find that it was done."""

    def does_nothing(*_: Any, **__: Any) -> None:
        pass

    does_nothing.__doc__ = initialize.__doc__
    return does_nothing


def _end_with_supervisor(lifeline: int) -> None:
    """Ends this process, and what it started, when nobody holds the other end of the lifeline."""
    while os.read(lifeline, 1):
        pass
    os.killpg(os.getpgid(0), signal.SIGKILL)
