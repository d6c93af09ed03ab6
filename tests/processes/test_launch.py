"""`windlass launch`: several processes, what befalls them, and that the result is that of an undisturbed run."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

import windlass as wl
from tests.processes.heat import advance, first_field
from windlass.processes.parts import list_whole
from windlass.processes.ranks import environment as variables_of_ranks
from windlass.processes.ranks import find_port

STEPS = 15
SCRIPT = Path(__file__).with_name("heat.py")
ROOT = SCRIPT.parents[2]
RUN = [sys.executable, "-m", "windlass", "launch"]


def environment() -> dict[str, str]:
    """No devices but the CPU's, and nothing that says how many."""
    variables = dict(os.environ, PYTHONPATH=f"{ROOT / 'src'}{os.pathsep}{ROOT}", JAX_PLATFORMS="cpu")
    variables.pop("XLA_FLAGS", None)
    return variables


def launch(*words: str | int | Path, seconds: float = 250) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *map(str, words)], capture_output=True, text=True, env=environment(), timeout=seconds, check=False
    )


def expected() -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.float32]], str]:
    """The field after all steps, and what the program prints of it."""
    u = jax.numpy.asarray(first_field())
    for _ in range(STEPS):
        u = advance(u)
    return np.asarray(u), f"{hashlib.sha256(np.asarray(u).tobytes()).hexdigest()} {sum(range(STEPS))}"


def test_after_a_rank_is_killed_the_others_are_ended_and_all_goes_on_from_the_checkpoint(tmp_path: Path) -> None:
    done = launch(
        "-n", "2", "--devices-per-process", "2", "--restart", "1", SCRIPT, tmp_path / "run", STEPS, "killed:step"
    )
    field, told = expected()
    arguments = [str(tmp_path / "run"), str(STEPS), "killed:step"]
    first, again, end = done.stdout.splitlines()
    assert (first, end) == (f"2 processes begin at 0: {arguments}", told), (done.stdout, done.stderr)
    # Checkpoints may still have been under way.
    assert again in [f"2 processes begin at {step}: {arguments}" for step in (0, 4, 8)]
    assert done.returncode == 0
    assert "rank 1 of 2 was killed by SIGKILL after 10 of 15 steps" in done.stderr
    assert "Traceback" not in done.stderr
    # One process with another mesh reads what four devices of two processes wrote, to the bit.
    saved = wl.checkpoint(tmp_path / "run")
    restored, sums = saved.restore((jax.numpy.zeros((24, 12)), 0))
    assert saved.step == STEPS and sums == sum(range(STEPS))
    assert np.asarray(restored).tobytes() == field.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [
        ("killed:start", 137, "rank 1 of 2 was killed by SIGKILL"),
        ("killed while writing:step", 137, "rank 1 of 2 was killed by SIGKILL after 1"),
        ("crashed:step", 134, "rank 1 of 2 was killed by SIGABRT after 10 of 15 steps"),
        ("left:step", 3, "rank 1 of 2 ended with status 3 after 10 of 15 steps"),
        ("error:step", 1, "[rank 1] ValueError: what a mistake"),
        ("hung:step", 124, "in befall"),
        ("stopped:step", 124, "rank 1 is at no line: it doesn't answer"),
    ],
)
@pytest.mark.parametrize("how", ["ended", "again", "with fewer"])
def test_whatever_befalls_a_rank_the_result_is_that_of_an_undisturbed_run(
    tmp_path: Path, fault: str, status: int, said: str, how: str
) -> None:
    options = {"ended": [], "again": ["--restart", "2"], "with fewer": ["--restart", "2", "--shrink"]}[how]
    timeout = ["--timeout", "10"] if status == 124 else []
    done = launch("-n", "2", *options, *timeout, SCRIPT, tmp_path / "run", STEPS, fault)
    assert said in done.stderr
    assert "rank 0 of 2" not in done.stderr
    if how == "ended":
        assert done.returncode == status
        return
    *_, begins, told = done.stdout.splitlines()
    assert told == expected()[1], done.stderr
    count = 2 if how == "again" else 1
    # Checkpoints may still have been under way.
    steps = [0] if fault == "killed:start" else [0, 4, 8]
    assert begins.partition(":")[0] in [f"{count} processes begin at {step}" for step in steps], done.stdout
    assert done.returncode == 0


@pytest.mark.slow
def test_four_processes_of_two_devices_give_the_bits_of_one_device_after_one_was_killed(tmp_path: Path) -> None:
    options = ["-n", "4", "--devices-per-process", "2", "--restart", "1"]
    done = launch(*options, SCRIPT, tmp_path / "run", STEPS, "killed:step")
    begins, _, told = done.stdout.splitlines()
    assert begins.startswith("4 processes begin at 0") and told == expected()[1], done.stderr
    assert done.returncode == 0 and "rank 1 of 4 was killed by SIGKILL after 10 of 15 steps" in done.stderr
    assert [each.count for each in list_whole(tmp_path / "run")] == [4, 4]


LATE = """
import pathlib, sys, time
mark = pathlib.Path(__file__).with_name("befallen")
if any('"number": 1' in word for word in sys.orig_argv) and not mark.exists():
    mark.touch()
    time.sleep(1000)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["ended", "again"])
@pytest.mark.parametrize("moment", ["before it joins", "before its first step"])
def test_a_rank_that_hangs_at_start_is_told_and_all_are_started_again(tmp_path: Path, moment: str, how: str) -> None:
    variables, fault = environment(), "hung:start"
    if moment == "before it joins":
        (tmp_path / "sitecustomize.py").write_text(LATE)
        variables["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{variables['PYTHONPATH']}"
        fault = ""
    options = ["--restart", "1"] if how == "again" else []
    command = [*RUN, "-n", "3", "--timeout", "3", *options, str(SCRIPT), str(tmp_path / "run"), str(STEPS), fault]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=250, check=False)
    assert "rank 1 of 3 has made no step in 30 s" in done.stderr
    assert ("rank 1 is at no line: it doesn't answer" if fault == "" else "in befall") in done.stderr
    if how == "ended":
        assert done.returncode == 124
    else:
        assert done.returncode == 0 and done.stdout.splitlines()[-1] == expected()[1]


@pytest.mark.slow
def test_a_script_that_fails_twice_at_the_same_step_is_not_started_again(tmp_path: Path) -> None:
    done = launch("-n", "2", "--restart", "9", SCRIPT, tmp_path / "run", STEPS, "always error:step")
    assert done.returncode == 1
    assert done.stderr.count("ValueError: what a mistake") == 2
    assert "it had failed there before" in done.stderr


@pytest.mark.slow
def test_where_one_rank_finds_the_disk_full_the_first_tells_of_it(tmp_path: Path) -> None:
    done = launch("-n", "2", SCRIPT, tmp_path / "run", STEPS, "full:step")
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == expected()[1]
    assert "step 15 can't be written: another process has not written its part" in done.stderr
    assert [each.step for each in list_whole(tmp_path / "run")] == [4, 8]


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_no_rank_outlives_the_launcher(tmp_path: Path, how: signal.Signals) -> None:
    with subprocess.Popen(
        [*RUN, "-n", "2", str(SCRIPT), str(tmp_path / "run"), str(STEPS), "hung:step"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as started:
        while not (tmp_path / "run.befallen").exists():
            time.sleep(0.1)
        ranks = _commands_with(str(tmp_path / "run"))
        assert len(ranks) == 3
        started.send_signal(how)
        started.communicate(timeout=60)
        assert started.returncode == (130 if how is signal.SIGINT else -how)
    for _ in range(100):
        if not _commands_with(str(tmp_path / "run")):
            return
        time.sleep(0.1)
    raise AssertionError(_commands_with(str(tmp_path / "run")))


def _commands_with(word: str) -> list[str]:
    commands: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if word in words:
            commands.append(f"{process.name} {words}")
    return commands


CLUSTERS = {
    "Slurm": {
        "SLURM_JOB_ID": "{port}",
        "SLURM_STEP_NODELIST": "localhost",
        "SLURM_NTASKS": "2",
        "SLURM_STEP_NUM_TASKS": "2",
        "SLURM_PROCID": "{rank}",
        "SLURM_LOCALID": "{rank}",
    },
    "Open MPI": {
        "OMPI_MCA_orte_hnp_uri": "{port}.0;tcp://127.0.0.1:34911",
        "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_RANK": "{rank}",
        "OMPI_COMM_WORLD_LOCAL_RANK": "{rank}",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("manager", CLUSTERS)
def test_processes_that_a_cluster_has_started_find_each_other(tmp_path: Path, manager: str) -> None:
    ranks = [
        subprocess.Popen(
            [*RUN, "--logs", str(tmp_path / "logs"), str(SCRIPT), str(tmp_path / "run"), str(STEPS), ""],
            stdout=subprocess.PIPE,
            text=True,
            env=environment()
            | {name: value.format(rank=rank, port=os.getpid() % 4096 + 1) for name, value in CLUSTERS[manager].items()},
        )
        for rank in range(2)
    ]
    printed = [rank.communicate(timeout=200)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert expected()[1] in printed[0] and printed[1] == ""
    assert expected()[1] in (tmp_path / "logs" / "rank-1.stdout").read_text()


KUBERNETES = """
from types import SimpleNamespace as Has
from jax._src.clusters import k8s_cluster
import io

controller = Has(controller=True, kind="Job")
labels = {"job-name": "ocean", "jobset.sigs.k8s.io/jobset-name": "set"}
pod = Has(metadata=Has(name="ocean-0", labels=labels, owner_references=[controller]), spec=Has(subdomain="set"))
job = Has(metadata=Has(name="ocean", labels=labels), spec=Has(parallelism=2))
config = Has(load_incluster_config=lambda: setattr(k8s_cluster, "open", lambda path: io.StringIO("default")))
client = Has(
    CoreV1Api=lambda: Has(list_namespaced_pod=lambda **_: Has(items=[pod])),
    BatchV1Api=lambda: Has(read_namespaced_job=lambda **_: job),
    exceptions=Has(ApiException=OSError),
)
"""
"""What the package of this name tells within a pod of a JobSet."""


@pytest.mark.slow
def test_pods_of_a_jobset_find_each_other(tmp_path: Path) -> None:
    (tmp_path / "kubernetes.py").write_text(KUBERNETES)
    variables = environment() | {
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "HOSTNAME": "localhost",
        "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{find_port()}",  # no pod's name is known here
    }
    variables["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{variables['PYTHONPATH']}"
    pods = [
        subprocess.Popen(
            [*RUN, "--logs", str(tmp_path / "logs"), str(SCRIPT), str(tmp_path / "run"), str(STEPS), ""],
            stdout=subprocess.PIPE,
            text=True,
            env=variables | {"JOB_COMPLETION_INDEX": str(number)},
        )
        for number in range(2)
    ]
    printed = [pod.communicate(timeout=200)[0] for pod in pods]
    assert [pod.returncode for pod in pods] == [0, 0]
    assert "2 processes begin at 0" in printed[0] and expected()[1] in printed[0] and printed[1] == ""


@pytest.mark.slow
def test_a_pod_that_cannot_ask_is_told_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "kubernetes.py").write_text("raise ImportError('no module')")
    variables = environment() | {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    variables["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{variables['PYTHONPATH']}"
    command = [*RUN, str(SCRIPT), str(tmp_path / "run"), "1", ""]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=100, check=False)
    assert done.returncode == 1 and 'pip install "jax[k8s]"' in done.stderr.partition("error[WL0710]")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-n", "2"], "no script is named"),
        (["-n", "0", "x.py"], "-n 0: at least one is needed"),
        (["-n", "2", "--devices-per-process", "0", "x.py"], "--devices-per-process 0: at least one is needed"),
        (["-n", "2", "nowhere.py"], "error[WL0705]: can't read 'nowhere.py'"),
        (["-n", "2", "--restart", "-1", "x.py"], "--restart and --timeout have to be positive"),
        (["-n", "2", "--timeout", "0", "x.py"], "--restart and --timeout have to be positive"),
        (["-n", "2", "--shrink", "x.py"], "--restart is missing"),
        (["-n", "2", "--logs", "x.py/logs", "x.py"], "can't write to 'x.py/logs'"),
        (["--timeout", "9", "x.py"], "need -n"),
    ],
)
def test_bad_input_is_told_in_one_diagnostic(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    from windlass.command_line.program import run

    monkeypatch.chdir(tmp_path)
    Path("x.py").touch()
    assert run(["launch", *words]) == 1
    told = capsys.readouterr().err
    assert said in told and told.count("error[") == 1


@pytest.mark.slow
def test_without_a_count_and_a_cluster_it_is_told_how_to_give_one() -> None:
    done = launch(SCRIPT, "run", "1", "")
    assert done.returncode == 1 and "error[WL0710]: no cluster's manager has started this" in done.stderr


def test_more_gpus_than_there_are_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from windlass.command_line import launch as launching
    from windlass.command_line.program import run

    monkeypatch.setattr(launching, "has_cuda", lambda: True)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    (tmp_path / "x.py").touch()
    assert run(["launch", "-n", "2", "--devices-per-process", "2", str(tmp_path / "x.py")]) == 1
    assert "2 processes with 2 GPUs each are wanted, and there are 3 GPUs" in capsys.readouterr().err


def test_ranks_compile_regardless_of_the_clock_and_have_the_devices_that_are_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1 --xla_force_host_platform_device_count=8 --xla_b=2")
    monkeypatch.delenv("WINDLASS_PATIENCE", raising=False)
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    monkeypatch.setenv("WINDLASS_TRIALS", "1")
    variables = variables_of_ranks(2)
    assert variables["PYTHONHASHSEED"] == "0"
    assert variables["WINDLASS_PATIENCE"] == "1000" and variables["WINDLASS_TRIALS"] == "1"
    assert variables["JAX_NUM_CPU_DEVICES"] == "2" and variables["XLA_FLAGS"].split() == ["--xla_a=1", "--xla_b=2"]
    assert "JAX_NUM_CPU_DEVICES" not in variables_of_ranks(None)
