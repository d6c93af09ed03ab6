# pyright: basic
"""The host's side of numba.cuda: arrays, streams, events, decorators, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from windlass import numba
from windlass.diagnostics import CompilationError, LaunchError
from windlass.numba import cuda, float32, float64, guvectorize, int32, int64, vectorize
from windlass.numba.cuda.random import (
    create_xoroshiro128p_states,
    initial_states,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
)

pytestmark = pytest.mark.one_in(2)


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


def test_device_arrays_are_copies():
    host = np.arange(6.0)
    device = cuda.to_device(host)
    double[1, 32](device)
    np.testing.assert_array_equal(host, np.arange(6.0))
    np.testing.assert_array_equal(device.copy_to_host(), 2 * host)
    assert (device.shape, device.dtype, device.ndim, device.size) == ((6,), np.float64, 1, 6)
    part = device[2:4]
    double[1, 32](part)
    assert device[2] == 8 and part.copy_to_host().tolist() == [8, 12]
    out = np.zeros(6)
    assert device.copy_to_host(out) is out and out[3] == 12
    device[0] = 5
    assert device.reshape(2, 3).T.shape == (3, 2) and device[0] == 5


def test_ways_to_make_arrays():
    assert cuda.device_array((2, 3), np.int32).shape == (2, 3)
    like = cuda.device_array_like(np.asfortranarray(np.ones((2, 3))))
    assert like.is_f_contiguous() and not like.is_c_contiguous()
    for make in (cuda.pinned_array, cuda.mapped_array, cuda.managed_array):
        array = make(4, dtype=np.float32)
        array[:] = 1
        double[1, 32](array)
        assert array.tolist() == [2, 2, 2, 2]
    stream = cuda.stream()
    with stream.auto_synchronize(), cuda.pinned(np.ones(2)), cuda.defer_cleanup():
        device = cuda.to_device(np.ones(3), stream=stream)
        double[1, 32, stream](device)
    assert device.copy_to_host(stream=stream).tolist() == [2, 2, 2]
    assert cuda.as_cuda_array(device) is device
    interface = cuda.from_cuda_array_interface(device.__cuda_array_interface__, owner=device)
    double[1, 32](interface)
    assert device.copy_to_host().tolist() == [4, 4, 4]


def test_streams_events_and_devices(capsys: pytest.CaptureFixture[str]):
    start, end = cuda.event(), cuda.event()
    start.record()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0 and cuda.event_elapsed_time(start, end) >= 0
    assert cuda.is_available() and cuda.detect() and len(cuda.gpus) == 1
    assert "Found 1 CUDA devices" in capsys.readouterr().out
    device = cuda.get_current_device()
    assert (device.WARP_SIZE, device.compute_capability) == (32, (7, 0))
    assert cuda.current_context().get_memory_info().total > 0
    cuda.select_device(0)
    with cuda.gpus[0]:
        cuda.synchronize()


@cuda.jit
def shift(a, b):
    i = cuda.grid(1)
    if i < a.size:
        b[i] = a[i] + 1


def test_hosts_arrays_that_overlap_are_apart_on_the_device():
    memory = np.arange(5.0)
    shift[1, 4](memory[:4], memory[1:])
    np.testing.assert_array_equal(memory, [0, 1, 2, 3, 4])


def test_argument_handlers_copy_what_kernels_only_read():
    read, written = np.arange(4.0), np.zeros(4)
    shift[1, 4](cuda.In(value=read), cuda.Out(written))
    np.testing.assert_array_equal(written, read + 1)
    double[1, 4](cuda.In(read))
    double[1, 4](cuda.InOut(written))
    np.testing.assert_array_equal(read, np.arange(4.0))
    np.testing.assert_array_equal(written, 2 * (read + 1))


def test_forall_and_lists_of_signatures():
    x = np.arange(300.0)
    double.forall(300)(x)
    np.testing.assert_array_equal(x, 2 * np.arange(300))

    @cuda.jit([(int32[:],), "void(float64[:])"])
    def negate(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = -x[i]

    for dtype in (np.int32, np.float64):
        x = np.arange(3, dtype=dtype)
        negate[1, 4](x)
        assert x.tolist() == [0, -1, -2]
    with pytest.raises(LaunchError, match="don't fit its signature"):
        negate[1, 4](np.zeros(3, np.float32))


@vectorize([float32(float32, float32), float64(float64, float64)], target="cuda")
def scaled_sum(a, b):
    return a + 2 * b


def test_vectorize():
    a, b = np.arange(5, dtype=np.float32), np.ones((3, 1), np.float32)
    got = scaled_sum(a, b)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, a + 2 * b)
    device = scaled_sum(cuda.to_device(np.arange(4.0)), 1.0)
    np.testing.assert_array_equal(device.copy_to_host(), np.arange(4.0) + 2)


@cuda.jit(device=True)
def cnd(d):
    k = 1.0 / (1.0 + 0.2316419 * math.fabs(d))
    value = (
        0.39894228040143267793994605993438
        * math.exp(-0.5 * d * d)
        * (k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))))
    )
    if d > 0:
        value = 1.0 - value
    return value


@vectorize(["float64(float64, float64, float64, float64, float64)"], target="cuda")
def call_price(price, strike, years, rate, volatility):
    root = math.sqrt(years)
    d1 = (math.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / (volatility * root)
    d2 = d1 - volatility * root
    return price * cnd(d1) - strike * math.exp(-rate * years) * cnd(d2)


def test_black_scholes():
    rng = np.random.default_rng(1)
    price, strike, years = rng.uniform(5, 30, 50), rng.uniform(1, 100, 50), rng.uniform(0.25, 10, 50)
    got = call_price(price, strike, years, 0.02, 0.3)

    def normal(d: Any) -> Any:
        return 0.5 * (1 + np.array([math.erf(each / math.sqrt(2)) for each in d]))

    d1 = (np.log(price / strike) + (0.02 + 0.045) * years) / (0.3 * np.sqrt(years))
    expected = price * normal(d1) - strike * np.exp(-0.02 * years) * normal(d1 - 0.3 * np.sqrt(years))
    np.testing.assert_allclose(got, expected, atol=1e-5)


@guvectorize(["void(float32[:,:], float32[:,:], float32[:,:])"], "(m,n),(n,p)->(m,p)", target="cuda")
def products(a, b, c):
    m, n = a.shape
    _, p = b.shape
    for i in range(m):
        for j in range(p):
            c[i, j] = 0
            for k in range(n):
                c[i, j] += a[i, k] * b[k, j]


@guvectorize([(int64[:], int64, int64[:])], "(n),()->(n)", target="cuda")
def add_to_all(x, y, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + y


def test_guvectorize():
    rng = np.random.default_rng(2)
    a, b = rng.random((6, 3, 4), np.float32), rng.random((6, 4, 2), np.float32)
    np.testing.assert_allclose(products(a, b), a @ b, rtol=1e-5)
    np.testing.assert_array_equal(add_to_all(np.arange(12).reshape(3, 4), np.array([1, 2, 3])), _added())


def _added() -> np.ndarray:
    return np.arange(12).reshape(3, 4) + np.array([[1], [2], [3]])


def test_reduce():
    add = cuda.reduce(lambda a, b: a + b)
    greatest = cuda.Reduce(lambda a, b: a if a > b else b)
    x = np.random.default_rng(3).integers(0, 1000, 200)
    assert add(x) == x.sum() and add(x, init=5) == x.sum() + 5 and add(x, size=10) == x[:10].sum()
    assert greatest(cuda.to_device(x)) == x.max()
    result = cuda.device_array(1, np.int64)
    assert add(x, res=result) is None and result[0] == x.sum()


@cuda.jit
def estimate_pi(states, iterations, out):
    thread = cuda.grid(1)
    if thread < out.size:
        inside = 0
        for _ in range(iterations):
            x = xoroshiro128p_uniform_float32(states, thread)
            y = xoroshiro128p_uniform_float32(states, thread)
            if x**2 + y**2 <= 1.0:
                inside += 1
        out[thread] = 4.0 * inside / iterations


class Xoroshiro:
    """The generator as its authors describe it, on Python's integers."""

    def __init__(self, s0: int, s1: int) -> None:
        self.s0, self.s1 = s0, s1

    def next(self) -> int:
        mask = 2**64 - 1

        def rotated(x: int, by: int) -> int:
            return (x << by | x >> (64 - by)) & mask

        result = (self.s0 + self.s1) & mask
        mixed = self.s0 ^ self.s1
        self.s0 = (rotated(self.s0, 55) ^ mixed ^ (mixed << 14)) & mask
        self.s1 = rotated(mixed, 36)
        return result

    def jump(self) -> None:
        t0 = t1 = 0
        for word in (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922):
            for bit in range(64):
                if word >> bit & 1:
                    t0, t1 = t0 ^ self.s0, t1 ^ self.s1
                self.next()
        self.s0, self.s1 = t0, t1


def test_states_of_generators_are_jumps_apart():
    states = initial_states(5, 42)
    one = Xoroshiro(int(states["s0"][0]), int(states["s1"][0]))
    for state in states:
        assert (int(state["s0"]), int(state["s1"])) == (one.s0, one.s1)
        one.jump()
    np.testing.assert_array_equal(initial_states(2, 42, subsequence_start=3), states[3:])


def test_monte_carlo():
    states = create_xoroshiro128p_states(8, seed=1)
    start = states.copy_to_host()
    out = np.zeros(8, np.float32)
    estimate_pi[1, 8](states, 40, out)
    for thread in range(8):
        one = Xoroshiro(int(start["s0"][thread]), int(start["s1"][thread]))
        inside = 0
        for _ in range(40):
            x, y = (np.float32((one.next() >> 11) * 2.0**-53) for _ in range(2))
            inside += bool(x**2 + y**2 <= 1.0)
        assert out[thread] == np.float32(4.0 * inside / 40)


@cuda.jit
def normals(states, out):
    i = cuda.grid(1)
    for k in range(out.shape[1]):
        out[i, k] = xoroshiro128p_normal_float64(states, i)


def test_normal_numbers():
    out = np.zeros((64, 64))
    normals[2, 32](create_xoroshiro128p_states(64, seed=5), out)
    assert abs(out.mean()) < 0.05 and abs(out.std() - 1) < 0.05


# -- what is wrong ----------------------------------------------------------------------------------------------------


def refusal(kernel: Any, *arguments: Any) -> str:
    with pytest.raises(CompilationError) as caught:
        kernel[1, 1](*arguments)
    return str(caught.value)


def test_what_kernels_cant_have_is_said_at_its_place():
    @cuda.jit
    def with_try(x):
        try:
            x[0] = 1
        except ValueError:
            x[0] = 2

    message = refusal(with_try, np.zeros(1))
    assert "error[WL0110]: kernels can't have 'try'" in message and "test_host.py" in message and "try:" in message

    @cuda.jit
    def with_list(x):
        y = [i for i in range(3)]  # noqa: C416
        x[0] = y[0]

    message = refusal(with_list, np.zeros(1))
    assert "list comprehensions" in message and "^^^^^^^^^^^^^^^^^^^^" in message


def test_wrong_types_are_said_at_their_place():
    @cuda.jit
    def adds_arrays(x):
        x[0] = x + x

    assert "error[WL0113]: '+' is not there for array(float64, 1d, C)" in refusal(adds_arrays, np.zeros(1))

    @cuda.jit
    def unknown_name(x):
        x[0] = undefined_thing  # noqa: F821  # pyright: ignore[reportUndefinedVariable]

    assert "the name 'undefined_thing' is not defined" in refusal(unknown_name, np.zeros(1))

    @cuda.jit
    def returns(x):
        return x[0]

    assert "a kernel returns nothing" in refusal(returns, np.zeros(1))

    @cuda.jit
    def dynamic_shape(x):
        y = cuda.shared.array(x.size, float32)
        x[0] = y[0]

    assert "known when the kernel is compiled" in refusal(dynamic_shape, np.zeros(1))


@cuda.jit(device=True)
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


def test_recursion_is_refused():
    @cuda.jit
    def recursive(x):
        x[0] = factorial(x[0])

    assert "'factorial' calls itself" in refusal(recursive, np.zeros(1))


@pytest.mark.filterwarnings("ignore::windlass.diagnostics.WindlassWarning")
def test_exceptions_of_debugged_kernels_are_raised():
    @cuda.jit(debug=True, opt=False)
    def checked(x):
        i = cuda.grid(1)
        if x[i] < 0:
            raise ValueError("negative")
        assert x[i] < 10, "too large"
        x[i] = 0

    x = np.array([1.0, 2.0])
    checked[1, 2](x)
    assert x.tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"tid=\[1, 0, 0\] ctaid=\[0, 0, 0\]: negative"):
        checked[1, 2](np.array([1.0, -1.0]))
    with pytest.raises(AssertionError, match="too large"):
        checked[1, 2](np.array([11.0, 1.0]))


def test_exceptions_end_their_thread():
    @cuda.jit(device=True)
    def root(v):
        if v < 0:
            raise ValueError("negative")
        return math.sqrt(v)

    @cuda.jit
    def roots(x):
        i = cuda.grid(1)
        x[i] = root(x[i])

    x = np.array([4.0, -4.0, 9.0])
    roots[1, 3](x)
    assert x.tolist() == [2, -4, 3]


def test_launches_that_are_wrong():
    with pytest.raises(LaunchError, match="a grid and a block"):
        double(np.zeros(3))
    with pytest.raises(LaunchError, match="device function"):
        cnd[1, 1](1.0)
    with pytest.raises(LaunchError, match="argument 1 can't go to a kernel"):
        double[1, 1]("text")
    with pytest.raises(CompilationError, match="takes 1 arguments, got 2"):
        double[1, 1](np.zeros(1), 2)
    with pytest.raises(CompilationError, match="inside of a kernel only"):
        cuda.grid(1)


def test_kernels_print(capfd: pytest.CaptureFixture[str]):
    @cuda.jit
    def speaks(x):
        i = cuda.grid(1)
        print("thread", i, "has", x[i], x[i] > 1)

    speaks[1, 2](np.array([1.5, 0.5]))
    assert capfd.readouterr().out == "thread 0 has 1.500000 True\nthread 1 has 0.500000 False\n"


def test_types_of_the_package():
    assert numba.float32[:, ::1].layout == "C" and numba.types.float64 is numba.float64
    assert numba.float32(1.5).dtype == np.float32
    assert numba.typeof(np.zeros(3, np.int8)) == numba.int8[::1]

    @numba.njit
    def twice(x):
        return 2 * x

    assert twice(3) == 6


def test_an_access_out_of_bounds_is_said_with_line_and_column():
    @cuda.jit
    def beyond(x, y):
        i = cuda.grid(1)
        y[i] = x[i + 1]

    with pytest.raises(Exception, match="read of 8 bytes out of bounds") as caught:
        beyond[1, 4].emulate(np.zeros(4), np.zeros(4))
    line = beyond.py_func.__code__.co_firstlineno + 3
    assert f"test_host.py:{line}:16" in str(caught.value) and "element 4 of 'x'" in str(caught.value)


def test_messages_show_lines_of_sources_that_are_on_no_disk():
    from windlass.numba.cuda.generated import function_of

    text = "def f(x):\n    i = cuda.grid(1)\n    x[i + 1] = 2\n"
    with pytest.raises(Exception, match="out of bounds") as caught:
        cuda.jit(function_of(text, "f", {"cuda": cuda}))[1, 4].emulate(np.zeros(4))
    assert " 3 |     x[i + 1] = 2\n" in str(caught.value)
