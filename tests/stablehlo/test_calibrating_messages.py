"""What messages cost is measured on this machine, and used where that is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import pytest

from windlass.communication.machines import CPUS
from windlass.stablehlo import calibrating, calibrating_messages
from windlass.stablehlo.calibrating_messages import machine_at, measured_machine

MEASURED = {"latency": 5e-5, "bandwidth": 1e9, "copies": 4e9}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which it is kept, which is not there yet."""
    monkeypatch.setenv("WINDLASS_CACHE", str(tmp_path))
    return tmp_path / f"messages-cpu-{calibrating.machine_key()}.json"


def test_measured_figures_are_used_where_asked_and_in_one_process_alone(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.write_text(json.dumps(MEASURED))
    assert machine_at("cpu", 8) == CPUS
    monkeypatch.setenv(calibrating.VARIABLE, "on")
    assert machine_at("cpu", 8)[1:] == (5e-5, 1e9, 4e9)
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    assert machine_at("cpu", 8) == CPUS


@pytest.mark.parametrize("content", ["", "[1]", '{"latency": 1}', '{"latency": null, "bandwidth": 1, "copies": 1}'])
def test_what_cannot_be_read_does_not_count(kept: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.setenv(calibrating.VARIABLE, "on")
    kept.write_text(content)
    assert measured_machine("cpu") is None and machine_at("cpu", 8) == CPUS


@pytest.mark.slow
def test_devices_of_this_machine_are_measured(kept: Path) -> None:
    machine = calibrating_messages.calibrate("cpu")
    assert machine is not None and kept.exists() and measured_machine("cpu") == machine
    assert 0 < machine.latency < 1 and machine.bandwidth > 1e7 and machine.copies > 1e7
