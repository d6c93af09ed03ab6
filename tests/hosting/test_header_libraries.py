"""CUB and Thrust in host programs. The programs compare with the C++ library and say which lines differ."""

from __future__ import annotations

from pathlib import Path

import pytest

import windlass as wl

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["thrust", "cub_device"])
def test_algorithms_agree_with_the_standard_library(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    program = wl.cuda.program(PROGRAMS / f"{name}.cu")
    how: list[str] = []
    status = program.run(observe=lambda record: how.append(record.how))
    out = capfd.readouterr().out
    assert out.endswith(" checks, 0 failures\n") and status == 0, out
    assert len(out.splitlines()) == 1
    # Functions that only device code can call ran in kernels.
    assert len(how) > 20


def test_functions_of_devices_alone_run_in_kernels_that_can_be_raised(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "main.cu"
    source.write_text(r"""
#include <cstdio>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>
struct OnDevice { __device__ float operator()(float x) const { return 2 * x + 1; } };
struct OnBoth { __host__ __device__ float operator()(float x) const { return 2 * x + 1; } };
int main() {
    thrust::device_vector<float> x(1000), y(1000), z(1000);
    thrust::sequence(x.begin(), x.end());
    float *from = x.data().get(), *to = y.data().get();
    thrust::transform(thrust::device, from, from + 1000, to, OnDevice());
    thrust::transform(x.begin(), x.end(), z.begin(), OnBoth());
    int large = thrust::count_if(y.begin(), y.end(), [] __device__(float v) { return v > 5; });
    printf("%g %g %d %d\n", (float)y[0], (float)y[999], (int)(y == z), large);
}
""")
    records: list[wl.cuda.LaunchRecord] = []
    assert wl.cuda.program(source, mode="raised").run(observe=records.append) == 0
    assert capfd.readouterr().out == "1 1999 1 997\n"
    assert [record.how for record in records] == ["raised", "raised"]
    assert records[0].kernel.startswith("thrust::detail::each_element<thrust::detail::transform_fn")
