"""The CPU's costs, measured on this machine: kept, bounded, and used only where asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from windlass.facts.cost import CPU
from windlass.stablehlo import calibrating
from windlass.stablehlo.optimizing import Choices


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A cache of its own, and a measurement that counts how often it is taken."""
    times: list[int] = []

    def measure() -> dict[str, float]:
        times.append(1)
        return calibrating.constants_of(CPU) | {"bandwidth": 2 * CPU.bandwidth, "f32": 3e11}

    monkeypatch.setenv("WINDLASS_CACHE", str(tmp_path))
    monkeypatch.setattr(calibrating, "measure", measure)
    monkeypatch.setattr(calibrating, "_found", {})
    return times


def test_costs_are_those_that_come_with_windlass(measured: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(calibrating.VARIABLE, raising=False)
    assert Choices.make(device="cpu").device_on() is CPU
    assert not measured


def test_measured_costs_are_used_where_asked_for(measured: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(calibrating.VARIABLE, "on")
    device = Choices.make(device="cpu").device_on()
    assert (device.name, device.bandwidth, device.contraction["f32"]) == ("cpu", 2 * CPU.bandwidth, 3e11)
    assert device.launch == CPU.launch
    assert Choices.make(device="gpu").device_on().name == "gpu"
    assert len(measured) == 1


def test_a_machine_is_measured_once(measured: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    first = calibrating.calibrated_cpu()
    monkeypatch.setattr(calibrating, "_found", {})
    assert calibrating.calibrated_cpu() == first
    assert len(measured) == 1
    calibrating.calibrated_cpu(anew=True)
    assert len(measured) == 2


def test_a_damaged_file_is_measured_anew(measured: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("", "[1]", '{"launch": "soon"}', '{"launch": null}'):
        calibrating.calibrated_cpu(anew=True)
        (path,) = tmp_path.glob("cpu-*.json")
        path.write_text(text)
        monkeypatch.setattr(calibrating, "_found", {})
        measured.clear()
        assert calibrating.calibrated_cpu().bandwidth == 2 * CPU.bandwidth
        assert len(measured) == 1


def test_what_a_busy_machine_shows_is_bounded() -> None:
    device = calibrating.device_from({"bandwidth": 1.0, "launch": 1.0, "f32": 1e30})
    assert device.bandwidth == CPU.bandwidth / calibrating.FARTHEST
    assert device.launch == CPU.launch * calibrating.FARTHEST
    assert device.contraction["f32"] == CPU.contraction["f32"] * calibrating.FARTHEST


@pytest.mark.slow
def test_every_constant_is_measured() -> None:
    numbers = calibrating.measure()
    assert set(numbers) == set(calibrating.MEASURED)
    assert all(number >= 0 for number in numbers.values())
