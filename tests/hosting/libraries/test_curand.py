"""cuRAND's generators: known answers of the algorithms, and the moments of what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.stats import qmc

from tests.hosting.libraries.device import Array, Device
from windlass.hosting.libraries.curand import philox_blocks, xorwow_powers, xorwow_step

XORWOW, MRG, TWISTER, PHILOX, SOBOL = 101, 121, 142, 161, 201
NORMAL_WORDS = ("Normal", "NormalDouble", "LogNormal", "LogNormalDouble")


def generated(device: Device, generator: int, n: int, name: str = "", *rest: Any, dtype: Any = np.uint32) -> Array:
    pointer, found = device.put(np.zeros(n), dtype)
    assert device.call(f"curandGenerate{name}", generator, pointer, n, *rest) == 0
    return found


def seeded(device: Device, kind: int, seed: int) -> int:
    generator = device.create("curandCreateGenerator", kind)
    assert device.call("curandSetPseudoRandomGeneratorSeed", generator, seed) == 0
    return generator


def test_xorwow_gives_the_numbers_of_the_example_in_curands_documentation(device: Device) -> None:
    found = generated(device, seeded(device, XORWOW, 1234), 10, "Uniform", dtype=np.float32)
    documented = [0.1455, 0.8202, 0.5504, 0.2948, 0.9147, 0.8690, 0.3219, 0.7829, 0.0113, 0.2855]
    np.testing.assert_array_equal(np.round(found, 4), np.array(documented, np.float32))


def test_powers_of_xorwows_step_are_its_steps() -> None:
    v = [np.array([each], np.uint32) for each in (1, 2, 3, 4, 5)]
    steps = [v]
    for _ in range(1 << 10):
        steps.append(xorwow_step(steps[-1]))
    for k in (0, 3, 10):
        bits = xorwow_powers(k + 1)[k]
        total = [np.bitwise_xor.reduce([steps[i][word] for i in range(160) if bits >> i & 1]) for word in range(5)]
        np.testing.assert_array_equal(total, steps[1 << k])


def test_mrg32k3a_gives_the_numbers_of_its_author(device: Device) -> None:
    # The first of L'Ecuyer's streams; seed 0 means that all of the state is 12345.
    generator = seeded(device, MRG, 0)
    found = [generated(device, generator, 4096, "Uniform", dtype=np.float32)[0] for _ in range(5)]
    known = [0.1270111223, 0.3185275653, 0.3091860628, 0.8258468629, 0.2216299157]
    np.testing.assert_allclose(found, known, rtol=1e-6)


def test_philox_gives_the_known_answer() -> None:
    found = philox_blocks(np.uint64(0), np.uint64(0), count=1)[0]
    assert " ".join(f"{each:08x}" for each in found) == "6627e8d5 e169c58d bc57ac4c 9b00dbd8"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", [XORWOW, MRG, TWISTER, PHILOX])
def test_parts_make_up_the_whole_and_offsets_lead_into_it(device: Device, kind: int) -> None:
    whole = generated(device, seeded(device, kind, 99), 10000)
    generator = seeded(device, kind, 99)
    parts = [generated(device, generator, n) for n in (1, 4095, 4097, 7, 1800)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert device.call("curandSetGeneratorOffset", generator, 5000) == 0
    np.testing.assert_array_equal(generated(device, generator, 100), whole[5000:5100])
    assert (generated(device, seeded(device, kind, 98), 10) != whole[:10]).all()


def test_twister_is_the_reference_implementation(device: Device) -> None:
    # With its default seed; the ten-thousandth number is in the C++ standard.
    found = generated(device, seeded(device, TWISTER, 5489), 10000)
    assert found[0] == 3499211612 and found[9999] == 4123659995


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", [XORWOW, MRG, TWISTER, PHILOX])
def test_distributions(device: Device, kind: int) -> None:
    n, generator = 20000, seeded(device, kind, 7)
    for name, dtype in (("Uniform", np.float32), ("UniformDouble", np.float64)):
        found = generated(device, generator, n, name, dtype=dtype)
        assert found.min() > 0 and found.max() <= 1
        assert stats.kstest(found, "uniform").pvalue > 1e-3
    for name in NORMAL_WORDS:
        dtype: Any = np.float64 if name.endswith("Double") else np.float32
        found = generated(device, generator, n, name, dtype(2), dtype(0.5), dtype=dtype)
        found = np.log(found) if "Log" in name else found
        assert stats.kstest((found - 2) / 0.5, "norm").pvalue > 1e-3
        assert abs(np.corrcoef(found[0::2], found[1::2])[0, 1]) < 0.05
    for mean in (0.5, 20.0, 5000.0):
        found = generated(device, generator, n, "Poisson", mean)
        assert abs(found.mean() - mean) < 5 * np.sqrt(mean / n)
        assert abs(found.var() / mean - 1) < 0.06


def test_sobols_points_are_even(device: Device) -> None:
    generator = device.create("curandCreateGenerator", SOBOL)
    assert device.call("curandSetQuasiRandomGeneratorDimensions", generator, 3) == 0
    expected = qmc.Sobol(3, scramble=False).random(64)
    found = np.concatenate([generated(device, generator, 96).reshape(3, 32) for _ in range(2)], axis=1)
    np.testing.assert_allclose(found.T / 2.0**32, expected, atol=1e-9)
    pointer, _ = device.put(np.zeros(10), np.uint32)
    assert device.call("curandGenerate", generator, pointer, 10) == 105


def test_host_generators_write_to_the_host_and_others_do_not(device: Device) -> None:
    generator = device.create("curandCreateGeneratorHost", PHILOX)
    place, found = device.place(np.float32)
    assert device.call("curandGenerateUniform", generator, place, 2) == 0 and found.all()
    assert device.call("curandGenerateUniform", seeded(device, PHILOX, 0), place, 2) == 201


def test_wrong_requests_are_refused(device: Device, capfd: pytest.CaptureFixture[str]) -> None:
    place, _ = device.place()
    assert device.call("curandCreateGenerator", place, 141) == 103
    assert "generators of type 141 are not there" in capfd.readouterr().err
    generator = seeded(device, PHILOX, 1)
    pointer, _ = device.put(np.zeros(3), np.float32)
    arguments = (generator, pointer, 3, np.float32(0), np.float32(1))
    assert device.call("curandGenerateNormal", *arguments) == 105
    assert device.call("curandGenerateUniform", generator, pointer, 4) == 201
