"""Reports on launches: as data, as text, as HTML; of single kernels and of whole programs."""

from __future__ import annotations

import html.parser
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.command_line.program import run
from windlass.facts.cost import CPU, GPU
from windlass.reports.report import Report

SUMS = """\
template <class T> __global__ void sums(const T *x, T *y, int n) {
    T total = 0;
    for (int k = 0; k < n; k++)
        total += x[k * 64 + threadIdx.x];
    for (int k = 0; k < 40; k++)
        total = sinf(total) + k;
    y[threadIdx.x] = total;
}
"""

QUEUE = """
__global__ void queue(int *a, int *b) {
    int k; while ((k = atomicExch(a, -1)) < 0) {} if (k < 3 && k > 1) b[k] = 1; atomicExch(a, k + 1);
}"""


class Text(html.parser.HTMLParser):
    """The text of each cell, and all others."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.others: list[str] = []
        self.open: list[str] = []
        self.feed(source)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("td", "th"):
            self.cells[-1] += data
        else:
            self.others.append(data)


def html_of(report: Report) -> Text:
    return Text(report._repr_html_())  # pyright: ignore[reportPrivateUsage]


@pytest.fixture(scope="module")
def sums() -> Report:
    kernel = wl.cuda.compile(SUMS)["sums<float>"]
    return kernel.explain(1, 64, np.zeros(6400, np.float32), np.zeros(64, np.float32), 100)


@pytest.fixture(scope="module")
def queue() -> Report:
    return wl.cuda.compile(QUEUE)["queue"].explain(1, 4, np.zeros(1, np.int32), np.zeros(4, np.int32))


def test_accesses_and_loops_are_data(sums: Report) -> None:
    found = {(each.action, each.memory, each.kind) for each in sums.accesses}
    assert found == {("load", "x", "slice"), ("store", "y", "update")}
    first, second = sums.loops
    assert (first.became, first.trips) == ("reduce", 100)
    assert (second.became, second.trips) == ("while", 40)
    assert second.attempts
    assert second.position is not None and second.position.line == 5


def test_cost_counts_what_loops_repeat(sums: Report) -> None:
    # One sum of 6400 floats, 40 rounds over 64 floats, 40 of them with a sine and an addition.
    assert 6336 + 40 * 64 * 2 <= sums.flops < 400_000
    assert sums.cost.operations >= 6336 + 40 * 64 * 2
    assert sums.cost.bytes >= 6400 * 4 + 64 * 4
    assert sums.cost.kernels > 40
    assert sums.cost == sums.cost_on(CPU) or sums.cost.seconds > 0
    assert sums.cost_on(GPU).seconds != sums.cost_on(CPU).seconds
    assert set(sums.compile_seconds) == {"raising", "optimizing"}
    assert all(seconds > 0 for seconds in sums.compile_seconds.values())


def test_flops_of_a_loop_grow_with_its_rounds() -> None:
    kernel = wl.cuda.compile(SUMS.replace("40", "80"))["sums<float>"]
    twice = kernel.explain(1, 64, np.zeros(6400, np.float32), np.zeros(64, np.float32), 100)
    kernel = wl.cuda.compile(SUMS)["sums<float>"]
    once = kernel.explain(1, 64, np.zeros(6400, np.float32), np.zeros(64, np.float32), 100)
    loop = once.flops - 6400
    assert abs(twice.flops - once.flops - loop) < 0.05 * loop


def test_text_tells_all(sums: Report) -> None:
    text = str(sums)
    assert text.startswith("raised: sums<float> with grid (1, 1, 1) and block (64, 1, 1)\n  tensor ops: ")
    for part in ("cost: about ", " in ", "XLA: ", "compiled: in ", "loop (100 trips): reduce", "not better because"):
        assert part in text


def test_html_tells_what_the_text_tells(sums: Report) -> None:
    shown = html_of(sums)
    assert "sums<float>" in shown.others, "names are escaped"
    assert "<float>" not in sums._repr_html_()  # pyright: ignore[reportPrivateUsage]
    for note in sums.accesses:
        assert str(note.position) in shown.cells and note.kind in shown.cells
    for loop in sums.loops:
        assert loop.became in shown.cells and "\n".join(loop.attempts) in shown.cells
    for name, text in sums.facts():
        assert name in shown.cells and text in shown.cells
    assert {entry.rule for entry in sums.rewrites} <= set(shown.cells)


def test_html_of_what_is_not_raised_has_line_reason_and_trail(queue: Report) -> None:
    shown = html_of(queue)
    assert any(": emulated, since kernel 'queue' can't be raised" in text for text in shown.others)
    assert any("if (k < 3 && k > 1) b[k] = 1;" in text and "WL0302" in text for text in shown.others)
    (step,) = queue.trail
    assert shown.cells[-3:] == [str(step.position), step.text, step.what]
    assert queue.cost.kernels == 0


PROGRAM = """\
#include <cstdio>
__global__ void twice(int *x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }
__global__ void queue(int *x) { int k; while ((k = atomicExch(x, -1)) < 0) {} atomicExch(x, k + 1); }
int main() {
    int *x;
    cudaMallocManaged(&x, 40);
    for (int i = 0; i < 10; i++) x[i] = i;
    twice<<<1, 16>>>(x, 10);
    twice<<<1, 16>>>(x, 10);
    twice<<<1, 32>>>(x, 10);
    queue<<<1, 4>>>(x);
    cudaDeviceSynchronize();
    printf("%d\\n", x[3]);
}
"""


def test_a_program_is_explained_launch_by_launch(tmp_path: Path) -> None:
    source = tmp_path / "main.cu"
    source.write_text(PROGRAM)
    reports: list[Report] = []

    def observe(record: wl.cuda.LaunchRecord) -> None:
        assert record.explain is not None
        reports.append(record.explain())

    assert wl.cuda.program(source).run(observe=observe) == 0
    assert [(each.kernel, each.is_raised) for each in reports] == [("twice", True)] * 3 + [("queue", False)]
    assert reports[2].shape is not None and reports[2].shape.block == (32, 1, 1)
    assert reports[3].trail


def test_run_explains_on_standard_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.cu").write_text(PROGRAM)
    assert run(["run", "main.cu", "--explain"]) == 0
    captured = capfd.readouterr()
    assert captured.out == "24\n"
    assert "twice: 2 launches emulated; they have other forms, which are used after 0.3 s" in captured.err
    assert "twice: 1 launch emulated" in captured.err
    assert "queue: 1 launch emulated\nemulated: kernel 'queue' can't be raised" in captured.err
    assert "tensor ops: " in captured.err
    assert run(["run", "main.cu", "--explain", "--mode", "raised"]) == 0
    assert "twice: 2 launches raised\n" in capfd.readouterr().err


def test_a_script_is_explained(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\nfrom numba import cuda\n"
        "@cuda.jit\ndef twice(x):\n    x[cuda.grid(1)] *= 2\n\n"
        "x = np.ones(4)\ntwice[1, 4](x)\nprint(x)\n"
    )
    root = str(Path(wl.__file__).parent.parent)
    command = "import sys; sys.path.insert(0, sys.argv.pop(1)); from windlass.command_line import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, root, "run", "--explain", str(script)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[2. 2. 2. 2.]\n"
    assert "twice: 1 launch emulated" in done.stderr
    assert f"{script}:5" in done.stderr


def test_what_vanishes_is_said() -> None:
    source = """
__global__ void neighbours(const float *x, float *y) {
    __shared__ float tile[64], rest[64];
    tile[threadIdx.x] = x[threadIdx.x];
    rest[threadIdx.x] = 0;
    __syncthreads();
    rest[(int)x[threadIdx.x]] = 1;
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x] + rest[(int)x[threadIdx.x + 1]];
}"""
    report = wl.cuda.compile(source)["neighbours"].explain(1, 64, np.zeros(65, np.float32), np.zeros(64, np.float32))
    became = {(each.action, each.memory): each.became for each in report.accesses}
    assert became["store", "tile"] == "nothing" and became["load", "tile"] == "slice of what was stored"
    assert became["store", "rest"] == "scatter" and became["load", "rest"] == "gather"
    assert became["store", "y"] == "update" and became["load", "x"] == "slice"


def test_threads_in_turn_say_what_asks_for_it() -> None:
    source = """
__global__ void queue(const int *x, int *out, int *count) {
    if (x[threadIdx.x] > 0) {
        int place = atomicExch(count, 1);
        out[place] = threadIdx.x;
    }
}"""
    zeros = np.zeros(64, np.int32)
    report = wl.cuda.compile(source)["queue"].explain(1, 64, zeros, zeros.copy(), np.zeros(1, np.int32))
    assert report.is_raised and report.obstacle is not None
    assert [step.position.line for step in report.trail] == [4, 5]
    assert "how it comes to this:\n    4 | int place = atomicExch(count, 1);  <- an atomic operation on 'count'" in str(
        report
    )
    assert "decides what is stored to 'out'" in html_of(report).cells
