"""What is timed on any machine."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from measuring import Result, Run, compare, spell_time
from tiles import tiled_kernels

import windlass as wl

HERE = Path(__file__).parent
WAVES = HERE.parent / "examples" / "waves"
KERNELS = HERE / "kernels.cu"


def ready(function: Callable[..., Any], *arguments: Any) -> Run:
    """A run that waits for the result."""
    return lambda: jax.block_until_ready(function(*arguments))


def heat_step(rounds: int) -> list[Result]:
    """One step of 2D heat on 2048² float32."""
    n, c = 2048, np.float32(0.2)
    now = jnp.asarray(np.random.default_rng(0).random((n, n), np.float32))
    following = jnp.zeros_like(now)

    def raise_step(**options: Any) -> Any:
        kernel = wl.cuda.compile(KERNELS, **options)["heat"].jax((n // 32, n // 8), (32, 8))
        return jax.jit(lambda now, following: kernel(now, following, n, n, c))

    raised, contracted = raise_step(), raise_step(allow_contraction=True)

    def laplacian(u: Any) -> Any:
        return u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1] - 4 * u[1:-1, 1:-1]

    def with_update(u: Any, old: Any) -> Any:
        return old.at[1:-1, 1:-1].set(u[1:-1, 1:-1] + c * laplacian(u))

    def with_slice_update(u: Any, old: Any) -> Any:
        return jax.lax.dynamic_update_slice(old, u[1:-1, 1:-1] + c * laplacian(u), (1, 1))

    def with_pad(u: Any, old: Any) -> Any:
        rows, columns = jnp.arange(n)[:, None], jnp.arange(n)[None]
        inside = (rows > 0) & (rows < n - 1) & (columns > 0) & (columns < n - 1)
        return jnp.where(inside, jnp.pad(u[1:-1, 1:-1] + c * laplacian(u), 1), old)

    def with_concatenation(u: Any, old: Any) -> Any:
        inner = jnp.concatenate([old[1:-1, :1], u[1:-1, 1:-1] + c * laplacian(u), old[1:-1, -1:]], 1)
        return jnp.concatenate([old[:1], inner, old[-1:]], 0)

    def with_rolls(u: Any, old: Any) -> Any:
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        rows, columns = jnp.arange(n)[:, None], jnp.arange(n)[None]
        inside = (rows > 0) & (rows < n - 1) & (columns > 0) & (columns < n - 1)
        return jnp.where(inside, u + c * (around - 4 * u), old)

    forms = {
        "at[].set": with_update,
        "dynamic_update_slice": with_slice_update,
        "pad and where": with_pad,
        "concatenate": with_concatenation,
        "roll and where": with_rolls,
    }
    wanted = with_update(now, following)
    theirs = {name: jax.jit(form) for name, form in forms.items()}
    for form in (raised, contracted, *theirs.values()):
        np.testing.assert_allclose(form(now, following), wanted, rtol=1e-5, atol=1e-5)
    runs = {name: ready(form, now, following) for name, form in theirs.items()}
    # XLA contracts products and sums in what is written in jax.numpy; a kernel's float results are kept unless asked.
    results = [
        compare("heat 2048², against jax.numpy", ready(raised, now, following), runs, rounds, 1.1),
        compare("heat 2048², contracted as in jax.numpy", ready(contracted, now, following), runs, rounds, 1.1),
    ]
    numba = numba_heat(now, c)
    if numba is not None:
        ours = ready(raised, now, following)
        results.append(compare("heat 2048², against Numba", ours, {"numba prange": numba}, rounds, None))
    return results


def numba_heat(now: Any, c: Any) -> Run | None:
    """The same step as parallel loops by Numba, where it is installed."""
    try:
        import numba
    except ImportError:
        return None
    source, target = np.asarray(now), np.zeros(now.shape, np.float32)

    @numba.njit(parallel=True, fastmath=False)
    def step(u: Any, out: Any, c: Any) -> None:
        for y in numba.prange(1, u.shape[0] - 1):
            for x in range(1, u.shape[1] - 1):
                around = u[y, x - 1] + u[y, x + 1] + u[y - 1, x] + u[y + 1, x]
                out[y, x] = u[y, x] + c * (around - np.float32(4) * u[y, x])

    return lambda: step(source, target, c)


def matrix_product(rounds: int) -> list[Result]:
    """A naive matmul kernel, 1024² float32, against jnp.dot."""
    n = 1024
    random = np.random.default_rng(0)
    a, b = (jnp.asarray(random.standard_normal((n, n), np.float32)) for _ in range(2))
    c = jnp.zeros((n, n), jnp.float32)
    kernel = wl.cuda.compile(KERNELS)["matmul"].jax((n // 16, n // 16), (16, 16))
    raised = jax.jit(lambda a, b, c: kernel(a, b, c, n))
    dot = jax.jit(jnp.dot)
    np.testing.assert_allclose(raised(a, b, c), dot(a, b), rtol=1e-3, atol=1e-3)
    return [compare("naive matmul 1024", ready(raised, a, b, c), {"jnp.dot": ready(dot, a, b)}, rounds, 1.1)]


def waves_step(rounds: int) -> list[Result]:
    """Steps of examples/waves, as one program, against the same steps written by hand in JAX."""
    sys.path.insert(0, str(WAVES))
    import model
    import reference_jax
    import scene

    relief = scene.load_relief()
    ocean, depth, start = scene.describe_ocean(relief), scene.water_depth(relief), scene.lift_sea_floor(relief)
    steps = 20
    ours = model.Model(ocean, depth)
    advance = model.compile_advance(ours)
    state: dict[str, Any] = {"windlass": tuple(jnp.asarray(each) for each in model.at_rest(start))}

    def step_raised() -> None:
        state["windlass"] = jax.block_until_ready(advance(*state["windlass"], 0, steps))

    def by_hand(form: Any, trim: bool) -> Run:
        cut = np.s_[1:-1, 1:-1] if trim else np.s_[:, :]
        program = reference_jax.compile_run(form, ocean)
        floor = jnp.asarray(depth[cut])
        name = form.__name__
        state[name] = reference_jax.State(*(jnp.array(each[cut]) for each in model.at_rest(start)))

        def step() -> None:
            state[name] = jax.block_until_ready(program(floor, state[name], 0, steps))

        return step

    theirs = {
        "by hand, slices": by_hand(reference_jax.step_with_slices, trim=False),
        "by hand, concatenations": by_hand(reference_jax.step_with_rolls, trim=True),
    }
    result = compare(f"waves, {steps} steps", step_raised, theirs, rounds, 1.1)
    return [result]


FIRST_RESULT = """
import time, numpy as np, jax
jax.block_until_ready(jax.numpy.zeros(3) + 1)
import windlass as wl
begin = time.perf_counter()
module = wl.cuda.compile('''
__global__ void scale(float *x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}''')
x = np.ones(1000, np.float32)
module["scale"][8, 128](x, 3.0, 1000)
assert (x == 3).all()
print(time.perf_counter() - begin)
"""


def first_result(rounds: int) -> list[Result]:
    """From source text to the first result, in a new process whose JAX is up; the precompiled header is warm."""
    times: list[float] = []
    for _ in range(1 + max(3, rounds // 5)):
        done = subprocess.run([sys.executable, "-c", FIRST_RESULT], capture_output=True, text=True, check=True)
        times.append(float(done.stdout))
    return [Result("source text to first result", sorted(times[1:])[len(times[1:]) // 2], None, 1.5)]


def call_overhead(rounds: int) -> list[Result]:
    """What a call costs beyond the work: a kernel on 16 elements against a jitted function of the same arrays."""
    n = 16
    module = wl.cuda.compile(KERNELS)
    kernel = module["saxpy"].jax(1, 32)
    x, y = jnp.arange(n, dtype=jnp.float32), jnp.ones(n, jnp.float32)
    compiled = jax.jit(lambda x, y: kernel(n, np.float32(2), x, y))
    plain = jax.jit(lambda x, y: 2 * x + y)
    calls = 500
    theirs = {"jax.jit": ready(plain, x, y)}
    results = [compare("call of a kernel under jax.jit", ready(compiled, x, y), theirs, rounds, 3, calls)]
    direct = partial(kernel, n, np.float32(2), x, y)
    results.append(
        compare("call of kernel.jax(...) itself", lambda: jax.block_until_ready(direct()), theirs, rounds, 3, calls)
    )
    a, b = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    launch = module["saxpy"][1, 32]
    through = {"jax.jit on NumPy arrays and back": lambda: np.copyto(b, np.asarray(plain(a, b)))}
    in_place = lambda: launch(n, np.float32(2), a, b)  # noqa: E731
    results.append(compare("launch on NumPy arrays, in place", in_place, through, rounds, 3, calls))
    return results


def raise_time(rounds: int) -> list[Result]:
    """Raising saxpy over 16 million elements against 16 thousand: the arrays' size must not matter."""
    module = wl.cuda.compile(KERNELS)
    times: dict[int, list[float]] = {}
    arrays = {n: (np.zeros(n, np.float32), np.zeros(n, np.float32)) for n in (16_384, 16_777_216)}
    for extra in range(max(5, rounds // 2)):
        for n, (x, y) in arrays.items():
            begin = time.perf_counter()
            # A block of another size each time, so that nothing comes from a cache.
            block = 64 + extra
            module["saxpy"].lower(-(-n // block), block, n, np.float32(2), x, y).text("tensor")
            times.setdefault(n, []).append(time.perf_counter() - begin)
    small, large = (sorted(each)[len(each) // 2] for each in times.values())
    return [Result("raising saxpy, 16 M elements", large, small, 1.5, f"16 K elements {spell_time(small)}")]


CASES: dict[str, Callable[[int], list[Result]]] = {
    "heat": heat_step,
    "matmul": matrix_product,
    "tiles": tiled_kernels,
    "waves": waves_step,
    "first result": first_result,
    "overhead": call_overhead,
    "raising": raise_time,
}
