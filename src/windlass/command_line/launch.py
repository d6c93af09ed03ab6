"""`windlass launch`: a Python script as several processes that JAX connects."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from windlass.command_line.main_module import read_script, run_as_main
from windlass.diagnostics import Diagnostic, LaunchError
from windlass.processes.ranks import ALIKE, Ranks
from windlass.processes.supervisor import Watch, supervise

RANK = ("-P", "-c", "from windlass.command_line.rank import main; main()")


def launch(
    program: Sequence[str], count: int | None, devices_per_process: int | None, watch: Watch, logs: Path | None
) -> int:
    """Run the script `program[0]` with its arguments as so many processes on this machine, and give its status.

    Without a count this process is one of those that a cluster's manager has started, as JAX detects it.

    Raises LaunchError: WL0705 where the script can't be read, WL0710 for numbers that don't fit.
    """
    if not program:
        raise _refused("no script is named", "windlass launch -n 4 script.py ARGUMENTS, or -- before other names")
    script = Path(program[0])
    text = read_script(script)
    if count is None:
        if devices_per_process is not None or watch != Watch():
            raise _refused(
                "--devices-per-process, --timeout, --restart and --shrink need -n",
                "-n 4 starts processes on this machine; a cluster's manager watches over those that it starts",
            )
        return _run_in_cluster(text, script, program[1:], logs)
    for name, value in (("-n", count), ("--devices-per-process", devices_per_process)):
        if value is not None and value < 1:
            raise _refused(f"{name} {value}: at least one is needed", "windlass launch -n 4 script.py")
    if watch.restarts < 0 or (watch.timeout is not None and watch.timeout <= 0):
        raise _refused("--restart and --timeout have to be positive", "--restart 3 --timeout 60")
    if watch.shrinks and not watch.restarts:
        raise _refused("--shrink says on what the script is started again, and --restart is missing", "--restart 3")
    _require_gpus(count, devices_per_process or 1)
    folder = _log_folder(logs)
    keeps = logs is not None
    try:
        status = supervise(
            lambda slots: Ranks([sys.executable, *RANK], program, slots, devices_per_process, folder),
            count,
            watch,
            folder,
        )
        keeps = keeps or status != 0
    finally:
        if not keeps:
            shutil.rmtree(folder, ignore_errors=True)
    return status


def _refused(what: str, advice: str) -> LaunchError:
    return LaunchError(Diagnostic("WL0710", what, help=advice))


def _log_folder(logs: Path | None) -> Path:
    if logs is None:
        return Path(tempfile.mkdtemp(prefix="windlass-launch-"))
    try:
        logs.mkdir(parents=True, exist_ok=True)
        (logs / "rank-0.stderr").touch()
    except OSError as error:
        raise _refused(f"can't write to '{logs}': {error.strerror}", "--logs names a folder") from None
    return logs


def _require_gpus(count: int, devices_per_process: int) -> None:
    """Each process has GPUs of its own, where JAX would use GPUs: it would take the CPU for those that are missing."""
    if not has_cuda():
        return
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    there = len([each for each in visible.split(",") if each]) if visible is not None else len(_gpus())
    if 0 < there < count * devices_per_process:
        raise _refused(
            f"{count} processes with {devices_per_process} GPUs each are wanted, and there are {there} GPUs",
            "fewer processes, or JAX_PLATFORMS=cpu in the environment",
        )


def has_cuda() -> bool:
    """Whether JAX would use NVIDIA's GPUs."""
    platforms = os.environ.get("JAX_PLATFORMS") or "cuda"
    has_plugin = any(importlib.util.find_spec(f"jax_cuda{version}_plugin") for version in (12, 13))
    return has_plugin and any(name in platforms for name in ("cuda", "gpu"))


def _gpus() -> list[Path]:
    return [device for device in Path("/dev").glob("nvidia*") if device.name.removeprefix("nvidia").isdigit()]


def _run_in_cluster(text: bytes, script: Path, arguments: Sequence[str], logs: Path | None) -> int:
    """Run the script in this process, one of those that Slurm, Open MPI, Kubernetes or a TPU pod has started."""
    import jax

    from windlass.command_line.rank import initialized
    from windlass.stablehlo.private_jax import process_number

    for name, value in ALIKE.items():
        os.environ.setdefault(name, value)
    try:
        jax.distributed.initialize()
    except (ValueError, RuntimeError) as error:
        if "should be defined" not in str(error) and "must be defined" not in str(error):
            raise LaunchError(
                Diagnostic("WL0710", f"the processes that the cluster has started can't be connected: {error}")
            ) from None
        advice = "windlass launch -n 4 starts four on this machine; srun and mpirun start windlass launch without -n"
        if "KUBERNETES_SERVICE_HOST" in os.environ:
            advice = 'pip install "jax[k8s]": with it JAX asks Kubernetes about the pods of a Job or JobSet'
        raise _refused(
            "no cluster's manager has started this, so it isn't known how many processes there are to be", advice
        ) from None
    jax.distributed.initialize = initialized(jax.distributed.initialize)
    number = process_number()
    if number:
        name = os.devnull if logs is None else _log_folder(logs) / f"rank-{number}.stdout"
        with Path(name).open("ab") as output:
            os.dup2(output.fileno(), 1)
    status = run_as_main(text, script, arguments)
    if status:
        sys.stderr.flush()
        os._exit(status)  # JAX would wait at its exit for the others
    return status
