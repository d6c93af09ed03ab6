"""Ctrl-C ends whatever Windlass does, and leaves the process as it was.

The work never ends by itself, so that it ends is what shows that Ctrl-C was heard; on a machine of any speed.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from windlass.stablehlo import waiting

pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="only the main thread gets signals"
)

ENDLESS = "__global__ void k(volatile int *x) { if (threadIdx.x == 0) while (1) x[0] = x[0] + 1; }"
LONG = """__global__ void k(int *x, long n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, a = x[i];
  for (long j = 0; j < n; j++) { a = a * 1664525 + 1013904223; if (a == 42) break; }
  x[i] = a;
}"""
ENDLESS_PROGRAM = """func.func @main(%x: tensor<SIZExi32>) -> tensor<SIZExi32> {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %one = stablehlo.constant dense<1> : tensor<SIZExi32>
  %r = stablehlo.while(%i = %x) : tensor<SIZExi32> cond {
    stablehlo.return %true : tensor<i1>
  } do {
    %y = stablehlo.add %i, %one : tensor<SIZExi32>
    stablehlo.return %y : tensor<SIZExi32>
  }
  return %r : tensor<SIZExi32>
}"""
PATIENCE = 600
"""Seconds after which what should have ended is killed: many times what the slowest machine needs."""


@pytest.fixture(autouse=True)
def interrupts_are_heard() -> Generator[None]:
    """A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def deadline() -> Generator[None]:
    """Ends the process where Ctrl-C does not: a test that failed would never return."""
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def interrupt(work: Callable[[], Any], after: float, began: threading.Event | None = None) -> None:
    """Press Ctrl-C so many seconds after the work began, which has to end by it."""
    started = threading.Event()

    def press() -> None:
        (began or started).wait()
        time.sleep(after)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    with deadline():
        thread.start()
        try:
            with pytest.raises(KeyboardInterrupt) as caught:
                started.set()
                work()
        finally:
            thread.join()
        assert caught.value.__context__ is None or not isinstance(caught.value.__context__, jax.errors.JaxRuntimeError)


def wait_until_idle() -> None:
    """Until no thread of the process computes: one that went on with what was interrupted would do so for ever."""
    with deadline():
        moment, share = time.process_time(), 1.0
        while share > 0.5:
            time.sleep(0.1)
            now = time.process_time()
            moment, share = now, (now - moment) / 0.1


@pytest.mark.filterwarnings("ignore::windlass.WindlassWarning")
@pytest.mark.parametrize(
    ("source", "arguments", "threads"),
    [(ENDLESS, (), 4), (LONG, (1 << 40,), 4), (LONG, (1 << 40,), 100_000)],
    ids=["endless", "long", "long on many threads"],
)
def test_a_raised_kernel_is_interrupted(
    source: str, arguments: tuple[int, ...], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDLASS_NATIVE", "0")
    kernel = wl.cuda.compile(source)["k"]
    x = np.arange(threads, dtype=np.int32)
    shape = (1, 4) if threads == 4 else (threads // 100, 100)
    launch = kernel[shape]
    kernel.explain(*shape, x, *arguments)
    interrupt(lambda: launch(x, *arguments), 1.0)  # as it is compiled, perhaps
    interrupt(lambda: launch(x, *arguments), 0.3)
    assert kernel.last_report is not None and kernel.last_report.is_raised
    assert np.array_equal(x, np.arange(threads))
    wait_until_idle()
    if arguments:
        launch(x, 1)
        assert x[0] == 1013904223


@pytest.mark.parametrize("threads", [8, 80_000])
def test_a_kernel_that_runs_as_native_code_is_interrupted(threads: int) -> None:
    counted = (
        "__global__ void k(int *x, long n) { for (long i = 0; i < n; i++) x[threadIdx.x] = x[threadIdx.x] * 3 + 1; }"
    )
    for source in (LONG, counted):
        launch = wl.native(wl.cuda.compile(source)["k"])[threads // 8, 8]
        x = np.arange(threads, dtype=np.int32)
        launch(x, 1)
        interrupt(lambda: launch(x, 1 << 40), 0.3)  # noqa: B023
        wait_until_idle()
        launch(x, 1)


def test_a_program_that_calls_native_code_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    from windlass.raising import state

    monkeypatch.setattr(state, "MOST_OPS", 3)
    kernel = wl.cuda.compile(LONG)["k"]

    @wl.jit(whole=True)
    def run(x: Any, n: Any) -> Any:
        kernel[2, 8](x, n)
        return x

    x = jax.numpy.arange(16, dtype=np.int32)
    first = run(x, np.int64(3))
    assert kernel.last_report is not None
    assert kernel.last_report.form == "native"
    interrupt(lambda: run(x, np.int64(1 << 40)), 0.3)
    wait_until_idle()
    assert np.array_equal(run(x, np.int64(3)), first)


def test_an_emulated_kernel_is_interrupted() -> None:
    kernel = wl.cuda.compile(ENDLESS)["k"]
    x = np.zeros(4, np.int32)
    interrupt(lambda: wl.emulate(kernel)[1, 4](x), 0.5)
    assert not x.any()


@pytest.mark.parametrize("size", [8, 80_000])
def test_a_compiled_function_is_interrupted_and_its_arrays_hold_what_was_written(size: int) -> None:
    @wl.jit(whole=True)
    def count(a: Any) -> Any:
        while a[0] >= 0:
            a += 1
            a[0] = 0
        return a

    room = np.zeros(size + 8)
    start = -room.__array_interface__["data"][0] % 64 // 8
    a = room[start : start + size]  # aligned: XLA takes it without a copy
    interrupt(lambda: count(a), 1.0)
    interrupt(lambda: count(a), 0.3)
    assert a[0] in (0, 1) and np.ptp(a[1:]) <= 1  # XLA's program has written nothing, native code whole rounds but one


def test_clang_is_interrupted() -> None:
    source = """
    template <int n, int m> struct F { static const int value = F<n - 1, 2 * m>::value + F<n - 1, 2 * m + 1>::value; };
    template <int m> struct F<0, m> { static const int value = 1; };
    __global__ void k(int *x) { x[0] = F<30, 0>::value; }"""
    wl.cuda.compile(ENDLESS)
    interrupt(lambda: wl.cuda.compile(source), 0.5)


def test_clang_is_interrupted_in_a_program_of_several_sources(tmp_path: Path) -> None:
    text = """
    template <int n, int m> struct F { static const int value = F<n - 1, 2 * m>::value + F<n - 1, 2 * m + 1>::value; };
    template <int m> struct F<0, m> { static const int value = 1; };
    int NAME() { return F<30, 0>::value; }"""
    sources = [tmp_path / f"{name}.cu" for name in ("main", "other")]
    for source in sources:
        source.write_text(text.replace("NAME", source.stem))
    interrupt(lambda: wl.cuda.program(*sources), 0.7)


def test_tracing_is_interrupted() -> None:
    class LongToTell:
        def __index__(self) -> int:
            time.sleep(PATIENCE)
            return 0

    axis = LongToTell()

    @wl.jit(whole=True)
    def slow(a: Any) -> Any:
        return a.sum(axis=axis)

    interrupt(lambda: slow(np.zeros(3)), 0.2)


@pytest.mark.parametrize("size", [4, 100_000])
def test_a_program_is_interrupted(size: int) -> None:
    program = ENDLESS_PROGRAM.replace("SIZE", str(size))
    x = np.zeros(size, np.int32)
    interrupt(lambda: wl.stablehlo.run(program, x), 1.0)
    assert not x.any()
    wait_until_idle()


def test_a_compilation_by_xla_is_interrupted() -> None:
    @wl.jit(whole=True)
    def long_to_compile(a: Any) -> Any:
        for axis in (0, 1) * 12:
            a = np.sort(np.sin(a) @ a, axis=axis)
        return a

    def compile_it() -> None:
        long_to_compile(np.ones((7, 7)))
        long_to_compile(np.ones((6, 6)))

    began = threading.Event()
    run = waiting.run_interruptibly

    def note(work: Callable[[], Any], *rest: Any) -> Any:
        began.set()
        return run(work, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("windlass.stablehlo.program.run_interruptibly", note)
        interrupt(compile_it, 0.1, began)
    assert long_to_compile(np.zeros((2, 2))).tolist() == [[0, 0], [0, 0]]


def test_a_handler_that_does_not_raise_lets_a_program_go_on() -> None:
    @wl.jit(whole=True)
    def count(a: Any, n: int) -> Any:
        i = a[0] * 0
        while i < n:
            i += 1
            a += 1
        return a

    calls: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: calls.append(number))
    try:
        count(np.zeros(3), 1)
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        n = 1_000_000
        while not calls:
            found = count(np.zeros(3), n)
            assert found.tolist() == [n, n, n]
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls == [signal.SIGINT]


def test_other_threads_programs_survive_an_interrupt_of_the_main_one() -> None:
    """Those that were stopped beside it begin again."""
    program = ENDLESS_PROGRAM.replace("SIZE", "100000")
    finite = program.replace(
        "stablehlo.return %true",
        """
    %flat = stablehlo.slice %i [0:1] : (tensor<100000xi32>) -> tensor<1xi32>
    %first = stablehlo.reshape %flat : (tensor<1xi32>) -> tensor<i32>
    %most = stablehlo.constant dense<40000> : tensor<i32>
    %goes_on = stablehlo.compare LT, %first, %most : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %goes_on""",
    )
    found: list[Any] = []
    x = np.zeros(100_000, np.int32)
    thread = threading.Thread(target=lambda: found.extend(wl.stablehlo.run(finite, x)))
    thread.start()
    interrupt(lambda: wl.stablehlo.run(program, x), 0.8)
    thread.join()
    assert found[0].tolist() == [40_000] * 100_000


def run_python(text: str, *, after: str, press: int = signal.SIGINT) -> tuple[int, str]:
    """A Python process that gets a signal once it has printed a line: its status and its stderr."""
    with subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.strip() == after:
                    break
            time.sleep(0.5)
            process.send_signal(press)
            _, messages = process.communicate(timeout=PATIENCE)
            return process.returncode, messages
        finally:
            process.kill()


IN_A_POOL = f"""
import numpy as np, windlass as wl
from concurrent.futures import ThreadPoolExecutor
kernel = wl.cuda.compile({ENDLESS!r})["k"]
pool = ThreadPoolExecutor()
future = pool.submit(lambda: kernel[1, 4](np.zeros(4, np.int32)))
print("launched", flush=True)
future.result()
"""


def test_a_launch_on_another_thread_ends_with_python() -> None:
    status, messages = run_python(IN_A_POOL, after="launched")
    assert status in (1, -signal.SIGINT)
    assert "KeyboardInterrupt" in messages


def test_a_signal_without_handler_ends_the_process_within_a_kernel() -> None:
    text = f"""
import numpy as np, windlass as wl
kernel = wl.cuda.compile({ENDLESS!r})["k"]
print("launched", flush=True)
kernel[1, 4](np.zeros(4, np.int32))
"""
    status, _ = run_python(text, after="launched", press=signal.SIGTERM)
    assert status == -signal.SIGTERM


HOST_LOOP = """#include <cstdio>
__global__ void k(int *x) { x[threadIdx.x] += 1; }
int main() {
  int *x;
  cudaMalloc(&x, 16);
  k<<<1, 4>>>(x);
  printf("running\\n");
  fflush(stdout);
  for (volatile int i = 0;; i = i + 1) {}
}
"""
KERNEL_LOOP = HOST_LOOP.replace("x[threadIdx.x] += 1;", "while (1) atomicAdd(x, 1);").replace(
    "k<<<", 'printf("running\\n"); fflush(stdout); k<<<'
)
SCRIPT = "import time\nprint('running', flush=True)\ntime.sleep(3600)\n"
TIDY_SCRIPT = """
import time
try:
    print('running', flush=True)
    time.sleep(3600)
except KeyboardInterrupt:
    time.sleep(1.5)
    raise SystemExit(7)
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("host.cu", HOST_LOOP, 130),
        ("kernel.cu", KERNEL_LOOP, 130),
        ("script.py", SCRIPT, 130),
        ("tidy.py", TIDY_SCRIPT, 7),
    ],
)
def test_windlass_run_is_interrupted(name: str, text: str, expected: int, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "windlass", "run", str(tmp_path / name)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            _, messages = process.communicate(timeout=PATIENCE)
            assert process.returncode == expected
            assert messages == ("windlass: interrupted\n" if expected == 130 else "")
        finally:
            process.kill()


def _wait_until_idle(process: int) -> None:
    """Until the process itself computes no more: it waits for its input, or for a compiler.

    One that only waits for a processor is running, as the system tells it.
    """
    before, times = "", 0
    while times < 8:
        time.sleep(0.1)
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        state, now = fields[0], fields[11]
        times = times + 1 if state == "S" and now == before and int(now) > 30 else 0
        before = now


@pytest.mark.parametrize("command", ["explain", "opt"])
def test_commands_are_interrupted(command: str, tmp_path: Path) -> None:
    path = tmp_path / ("kernel.cu" if command == "explain" else "-")
    if command == "explain":
        path.write_text(
            "template <int n, int m> struct F { static const int value = F<n - 1, 2 * m>::value + "
            "F<n - 1, 2 * m + 1>::value; };\ntemplate <int m> struct F<0, m> { static const int value = 1; };\n"
            "__global__ void k(int *x) { x[0] = F<30, 0>::value; }"
        )
    with subprocess.Popen(
        [sys.executable, "-m", "windlass", command, str(path) if command == "explain" else "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            _wait_until_idle(process.pid)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=PATIENCE) == 130
            assert process.stderr is not None
            assert process.stderr.read() == "windlass: interrupted\n"
        finally:
            process.kill()


FORKED = """
import multiprocessing, sys
import numpy as np, windlass as wl
kernel = wl.cuda.compile("__global__ void k(int *x) { x[threadIdx.x] += 1; }")["k"]

def launch(kernel, size=4):
    x = np.zeros(size, np.int32)
    try:
        kernel[1, 4](x)
    except wl.WindlassError as error:
        print(error.diagnostics[0].code, flush=True)
    else:
        print(x[:4].tolist(), flush=True)

def fork(*arguments):
    child = multiprocessing.get_context("fork").Process(target=launch, args=arguments)
    child.start()
    child.join(600)
    child.kill()

wl.emulate(kernel)[1, 4](np.zeros(4, np.int32))
fork(kernel)
launch(kernel)
fork(kernel)
fork(kernel, 1000000)
fork(wl.emulate(kernel))
"""


@pytest.mark.filterwarnings("ignore")
def test_a_forked_process_works_or_says_why_not() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    ones = "[1, 1, 1, 1]"
    assert done.stdout.split("\n") == [ones, ones, "WL0433", "WL0433", ones, ""], done.stderr


def test_functions_with_long_loops_are_parts_of_other_programs() -> None:
    @wl.jit(whole=True)
    def count(a: Any) -> Any:
        while a[0] < 5:
            a = a + 1
        return a

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert jax.jit(count)(x[0]).tolist() == [5, 6, 7]
    assert jax.vmap(count)(x).tolist() == [[5, 6, 7], [5, 6, 7]]
