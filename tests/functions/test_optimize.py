"""`wl.optimize` under JAX's transformations: results are those of the plain function, and both sides are optimized."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.core import Tracer
from jax.experimental import io_callback
from jax.test_util import check_grads

import windlass as wl


def wave(x: Any, y: Any, scale: Any = 2.0) -> Any:
    """Something with structure to be found, and nothing special in its derivatives."""
    turned = jnp.flip(jnp.flip(jnp.sin(x) * scale))
    return {"sum": (turned @ y.T.T).sum(0), "first": (turned + 0)[:2]}


X = jnp.linspace(-1.0, 1.0, 12).reshape(3, 4)
Y = jnp.linspace(0.0, 2.0, 20).reshape(4, 5)


def reversals(lowered: Any) -> int:
    return lowered.as_text().count("stablehlo.reverse")


def same(left: Any, right: Any) -> None:
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=2e-5, atol=1e-6), left, right)


def loss(function: Any) -> Any:
    return lambda *arguments: sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(function(*arguments)))


TRANSFORMATIONS: dict[str, Any] = {
    "call": lambda f: f(X, Y),
    "keywords": lambda f: f(x=X, y=Y, scale=3.0),
    "jit": lambda f: jax.jit(f)(X, Y),
    "grad": lambda f: jax.grad(loss(f), (0, 1))(X, Y),
    "grad of jit": lambda f: jax.grad(jax.jit(loss(f)), (0, 1))(X, Y),
    "jit of grad": lambda f: jax.jit(jax.grad(loss(f), (0, 1)))(X, Y),
    "grad of one argument": lambda f: jax.grad(lambda y: loss(f)(X, y))(Y),
    "jvp": lambda f: jax.jvp(f, (X, Y), (X + 1, Y * 2)),
    "jvp of one argument": lambda f: jax.jvp(lambda x: f(x, Y), (X,), (X + 1,)),
    "vjp": lambda f: jax.vjp(f, X, Y)[1]({"sum": jnp.arange(5.0), "first": jnp.ones((2, 4))}),
    "linearize": lambda f: jax.linearize(f, X, Y)[1](X, Y + 1),
    "vmap": lambda f: jax.vmap(f, (None, 0))(X, jnp.stack([Y, Y + 1])),
    "vmap of grad": lambda f: jax.vmap(jax.grad(loss(f)), (0, None))(jnp.stack([X, X * 2]), Y),
    "grad of vmap": lambda f: jax.grad(lambda x: loss(jax.vmap(f, (0, None)))(jnp.stack([x, 2 * x]), Y))(X),
    "hessian": lambda f: jax.hessian(loss(f))(X, Y),
    "jacobians": lambda f: (jax.jacfwd(f)(X, Y), jax.jacrev(f)(X, Y)),
    "checkpoint": lambda f: jax.grad(loss(jax.checkpoint(f)))(X, Y),
    "scan": lambda f: jax.lax.scan(lambda c, y: (c * 0.5, f(c, y)), X, jnp.stack([Y, Y + 1, Y * 2])),
    "grad of scan": lambda f: jax.grad(
        lambda x: jax.lax.scan(lambda c, y: (c * 0.5, f(c, y)["sum"]), x, jnp.stack([Y, Y + 1]))[1].sum()
    )(X),
    "cond": lambda f: jax.lax.cond(X.sum() > 0, lambda: f(X, Y), lambda: f(X + 1, Y)),
    "map": lambda f: jax.lax.map(lambda y: f(X, y), jnp.stack([Y, Y + 1])),
    "while": lambda f: jax.lax.while_loop(lambda c: c.sum() < 9, lambda c: c + f(X, c)["sum"].mean() ** 2 + 1, Y * 0),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformations_give_what_they_give_without(name: str) -> None:
    transform = TRANSFORMATIONS[name]
    same(transform(wl.optimize(wave)), transform(wave))


def test_the_program_is_optimized() -> None:
    assert reversals(jax.jit(wave).lower(X, Y)) > 0
    assert reversals(jax.jit(wl.optimize(wave)).lower(X, Y)) == 0


def test_both_passes_of_a_gradient_are_optimized() -> None:
    gradient = jax.jit(jax.grad(loss(wl.optimize(wave))))
    assert reversals(jax.jit(jax.grad(loss(wave))).lower(X, Y)) > 0
    assert reversals(gradient.lower(X, Y)) == 0
    text = gradient.lower(X, Y).as_text()
    assert text.count("func.func private @windlass_wave") == 2, "a forward and a backward program"


def test_batches_are_optimized() -> None:
    batched = jax.jit(jax.vmap(wl.optimize(wave), (0, None)))
    assert reversals(batched.lower(jnp.stack([X, X]), Y)) == 0


def test_second_derivatives_are_right() -> None:
    check_grads(
        wl.optimize(lambda x: jnp.flip(jnp.flip(jnp.sin(x))).sum() * x.mean()), (X,), order=2, atol=0.1, rtol=0.1
    )


def test_static_arguments() -> None:
    def power(x: Any, times: int, *, mode: str) -> Any:
        for _ in range(times):
            x = x * x
        return x if mode == "plain" else -x

    optimized = wl.optimize(power, static_argnums=1, static_argnames="mode")
    same(optimized(X, 3, mode="plain"), power(X, 3, mode="plain"))
    same(optimized(X, 2, mode="minus"), power(X, 2, mode="minus"))
    same(jax.grad(lambda x: optimized(x, 2, mode="minus").sum())(X), -4 * X**3)


def test_pytrees_and_empty_results() -> None:
    @wl.optimize
    def shuffle(tree: Any) -> Any:
        return {"b": (tree["a"][0] + 1, None), "c": [], "d": 4, "same": tree["a"][0]}

    found = shuffle({"a": [X]})
    same(found, {"b": (X + 1, None), "c": [], "d": 4, "same": X})
    assert found["b"][1] is None
    assert found["c"] == []


def test_integers_have_no_derivative() -> None:
    optimized = wl.optimize(lambda x, n: jnp.where(n > 2, x, x * n))
    same(jax.grad(lambda x: optimized(x, 2).sum())(X), jnp.full_like(X, 2))
    same(jax.grad(lambda x: optimized(x, jnp.arange(4)).sum())(X), jnp.tile(jnp.array([0.0, 1.0, 2.0, 1.0]), (3, 1)))


def test_values_of_traces_around_are_arguments() -> None:
    def around(x: Any) -> Any:
        return wl.optimize(lambda y: jnp.flip(jnp.flip(y)) * x)(Y).sum()

    same(jax.grad(around)(2.0), Y.sum())
    same(jax.vmap(around)(jnp.arange(3.0)), Y.sum() * jnp.arange(3.0))


def test_constants_are_known_to_the_optimizer() -> None:
    zeros = np.zeros((4, 5), np.float32)
    lowered = jax.jit(wl.optimize(lambda n: n * zeros.astype(np.int32))).lower(jnp.ones((4, 5), jnp.int32))
    assert "multiply" not in lowered.as_text()


def test_donation_by_the_jit_around() -> None:
    step = jax.jit(wl.optimize(lambda x, y: x + y), donate_argnums=0)
    given = jnp.ones((64, 64))
    same(step(given, given * 2), np.full((64, 64), 3.0))
    assert given.is_deleted()


def test_methods() -> None:
    class Scale:
        factor = 3.0

        @functools.partial(wl.optimize, static_argnums=0)
        def apply(self, x: Any) -> Any:
            return jnp.flip(jnp.flip(x)) * self.factor

    same(Scale().apply(X), 3 * X)


def test_custom_derivatives_are_kept() -> None:
    @jax.custom_vjp
    def clipped(x: Any) -> Any:
        return x * x

    clipped.defvjp(lambda x: (x * x, x), lambda x, g: (jnp.clip(2 * x * g, -0.5, 0.5),))

    @jax.custom_jvp
    def odd(x: Any) -> Any:
        return x

    odd.defjvp(lambda primals, tangents: (primals[0], 7 * tangents[0]))
    both = wl.optimize(lambda x: clipped(jnp.flip(jnp.flip(x))) + odd(x))
    same(both(X), X * X + X)
    same(jax.grad(lambda x: both(x).sum())(X), jnp.clip(2 * X, -0.5, 0.5) + 7)


def test_random_keys() -> None:
    def noisy(key: Any, x: Any) -> Any:
        first, second = jax.random.split(key)
        return x + jax.random.normal(first, x.shape) * jax.random.uniform(second), first

    key = jax.random.key(3)
    found, expected = wl.optimize(noisy)(key, X), noisy(key, X)
    same(found[0], expected[0])
    same(jax.random.key_data(found[1]), jax.random.key_data(expected[1]))
    keys = jax.random.split(key, 3)
    same(jax.vmap(lambda k: wl.optimize(noisy)(k, X)[0])(keys), jax.vmap(lambda k: noisy(k, X)[0])(keys))


def test_weak_types_and_dtypes_are_kept() -> None:
    optimized = wl.optimize(lambda x, s: (x * s, s + 1, x.astype(jnp.bfloat16)))
    for found, expected in zip(
        optimized(X, 2), jax.jit(lambda x, s: (x * s, s + 1, x.astype(jnp.bfloat16)))(X, 2), strict=True
    ):
        assert (found.dtype, found.weak_type) == (expected.dtype, expected.weak_type)


def test_effects_survive(capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[float] = []

    def talk(x: Any) -> Any:
        jax.debug.print("sum {}", x.sum())
        io_callback(lambda value: seen.append(float(value)), None, x[0, 0], ordered=True)
        io_callback(lambda value: seen.append(float(value)), None, x[0, 1], ordered=True)
        return jnp.flip(jnp.flip(x)) * 2

    optimized = wl.optimize(talk)
    same(jax.jit(lambda x: optimized(optimized(x)))(X), 4 * X)
    jax.effects_barrier()
    assert seen == pytest.approx([float(X[0, 0]), float(X[0, 1]), 2 * float(X[0, 0]), 2 * float(X[0, 1])])
    assert capfd.readouterr().out.count("sum ") == 2
    seen.clear()
    pure = wl.optimize(lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 0)
    same(pure(X), jnp.sin(X))


def test_effects_survive_gradients(capfd: pytest.CaptureFixture[str]) -> None:
    def talk(x: Any) -> Any:
        jax.debug.print("here")
        return jnp.sin(x).sum()

    same(jax.grad(wl.optimize(talk))(X), jnp.cos(X))
    jax.effects_barrier()
    assert capfd.readouterr().out.count("here") == 1


def test_disable_jit_runs_the_function_itself() -> None:
    seen: list[Any] = []

    @wl.optimize
    def watch(x: Any) -> Any:
        seen.append(x)
        return x + 1

    with jax.disable_jit():
        watch(X)
    assert not isinstance(seen[0], Tracer)


def test_export_keeps_the_optimized_program() -> None:
    exported = jax.export.export(jax.jit(wl.optimize(wave)))(X, Y)
    same(exported.call(X, Y), wave(X, Y))


def test_exact_keeps_the_order_of_sums() -> None:
    same(wl.optimize(wave, exact=True)(X, Y), wave(X, Y))


def test_explain_tells_of_rewrites_at_source_lines() -> None:
    report = wl.optimize(wave).explain(X, Y)
    assert "reverse_of_reverse" in report.count_by_rule()
    entry = next(each for each in report.rewrites if each.rule == "reverse_of_reverse")
    assert entry.source is not None
    assert entry.source.file == __file__
    assert report.ops_after.total() < report.ops_before.total()
    assert "ops →" in str(report)


def test_lower_shows_the_stages() -> None:
    lowered = wl.optimize(wave).lower(X, Y)
    assert "stablehlo.reverse" in lowered.text("tensor")
    assert "stablehlo.reverse" not in lowered.text("optimized")
    assert "HloModule" in lowered.text("hlo")


def test_inside_windlass_jit() -> None:
    inner = wl.optimize(lambda x: jnp.flip(jnp.flip(x)) * 2)

    @wl.jit
    def outer(x: Any) -> Any:
        return inner(jnp.asarray(x)) + 1

    np.testing.assert_allclose(outer(np.asarray(X)), 2 * np.asarray(X) + 1)


def test_references_are_left_to_jax() -> None:
    if not hasattr(jax, "new_ref"):
        pytest.skip("this JAX has no references")
    cell = jax.new_ref(jnp.zeros(3))

    @wl.optimize
    def add(x: Any) -> Any:
        cell[...] += x
        return cell[...] * 1

    same(add(jnp.ones(3)), jnp.ones(3))
    same(add(jnp.ones(3)), jnp.full(3, 2.0))


SHARDED = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
import windlass as wl

mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
placed = jax.device_put(jnp.arange(32.0).reshape(8, 4), NamedSharding(mesh, P("i")))

def step(x):
    y = jnp.flip(jnp.flip(x, 1), 1) * 2
    y = jax.lax.with_sharding_constraint(y, NamedSharding(mesh, P("i")))
    return y.at[1:3].set(0) + y.sum()

expected = step(placed)
found = jax.jit(wl.optimize(step))(placed)
np.testing.assert_allclose(found, expected)
assert found.sharding.is_equivalent_to(placed.sharding, 2), found.sharding
np.testing.assert_allclose(
    jax.grad(lambda x: (wl.optimize(step)(x) ** 2).sum())(placed), jax.grad(lambda x: (step(x) ** 2).sum())(placed)
)

def local(x):
    return jnp.flip(jnp.flip(x)) + jax.lax.psum(x.sum(), "i") + jax.lax.axis_index("i")

def mapped(f):
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i")))

np.testing.assert_allclose(mapped(wl.optimize(local))(placed), mapped(local)(placed))
np.testing.assert_allclose(
    jax.grad(lambda x: (mapped(wl.optimize(local))(x) ** 2).sum())(placed),
    jax.grad(lambda x: (mapped(local)(x) ** 2).sum())(placed),
)
np.testing.assert_allclose(jax.jit(wl.optimize(lambda x: mapped(local)(x) + 0))(placed), mapped(local)(placed))
np.testing.assert_allclose(
    jax.vmap(wl.optimize(lambda x: x - jax.lax.pmean(x, "b")), axis_name="b")(placed),
    jax.vmap(lambda x: x - jax.lax.pmean(x, "b"), axis_name="b")(placed),
)

explicit = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Explicit,))
with jax.set_mesh(explicit):
    here = jax.device_put(jnp.arange(32.0).reshape(8, 4), P("i"))
    plain = lambda x: jnp.sin(jnp.flip(jnp.flip(x, 1), 1)) + x.sum()
    result = jax.jit(wl.optimize(plain))(here)
    np.testing.assert_allclose(result, plain(here), rtol=1e-6)
    assert jax.typeof(result).sharding.spec == P("i", None), jax.typeof(result)
    np.testing.assert_allclose(
        jax.grad(lambda x: (wl.optimize(plain)(x) ** 2).sum())(here), jax.grad(lambda x: (plain(x) ** 2).sum())(here),
        rtol=1e-5,
    )
print("fine")
"""


def test_shardings_are_kept() -> None:
    environment = dict(os.environ, XLA_FLAGS="--xla_force_host_platform_device_count=4", JAX_PLATFORMS="cpu")
    done = subprocess.run([sys.executable, "-c", SHARDED], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "fine", done.stderr[-3000:]


def newton(a: Any) -> Any:
    return jax.lax.while_loop(lambda v: abs(v * v - a) > 1e-12, lambda v: (v + a / v) / 2, jnp.ones_like(a))


def powers(a: Any, n: int = 3) -> Any:
    return jax.lax.fori_loop(0, jnp.int32(n) + (a > 0).astype(int), lambda _, v: v * a, a)


@pytest.mark.parametrize("function", [newton, powers])
def test_loops_of_unknown_length_have_a_reverse_mode(function: Any) -> None:
    """Where JAX has none: `jax.grad` of these raises ValueError."""
    with jax.enable_x64(True):
        optimized = wl.optimize(function)
        x, step = jnp.asarray(2.5), 1e-5

        def summed(v: Any) -> Any:
            return jax.lax.scan(lambda total, each: (total + optimized(each * v), None), 0.0, jnp.arange(1.0, 3.0))[0]

        first = (function(x + step) - function(x - step)) / (2 * step)
        second = (jax.grad(optimized)(x + step) - jax.grad(optimized)(x - step)) / (2 * step)
        np.testing.assert_allclose(jax.grad(optimized)(x), first, 1e-7)
        np.testing.assert_allclose(jax.jvp(jax.grad(optimized), (x,), (1.0,))[1], second, 1e-7)
        np.testing.assert_allclose(jax.vmap(jax.grad(optimized))(jnp.stack([x, x + 1]))[0], first, 1e-7)
        through_scan = (summed(x + step) - summed(x - step)) / (2 * step)
        np.testing.assert_allclose(jax.jit(jax.grad(summed))(x), through_scan, 1e-7)
