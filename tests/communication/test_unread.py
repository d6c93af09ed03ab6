"""Updates that nobody reads are left out, and what is read stays as it was."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from windlass.communication.estimating import walk_rounds
from windlass.communication.exchanging import exchange_and_estimate
from windlass.communication.preparing import write_scatters_as_updates
from windlass.communication.propagation import propagate
from windlass.communication.unread import drop_unread_updates
from windlass.ir import Module, Value
from windlass.ops import CollectivePermute, DynamicUpdateSlice
from windlass.ops.evaluation import evaluate_function
from windlass.ops.shardings import Mesh, Sharding
from windlass.stablehlo.lowered import import_lowered

MESH = Mesh((("x", 2), ("y", 2)))
DIVIDED = Sharding(MESH, (("x",), ("y",)))


def lowered(name: str, function: Any, *arguments: Any) -> Module:
    module = import_lowered(name, jax.jit(function, keep_unused=True).lower(*arguments))
    write_scatters_as_updates(module.main)
    return module


def drop_unread(module: Module) -> bool:
    main = module.main
    known: dict[Value, Sharding] = dict.fromkeys(main.arguments, DIVIDED)
    propagation = propagate(main, known)
    assert propagation is not None
    return drop_unread_updates(main, propagation)


def updates(module: Module) -> list[tuple[int, ...]]:
    return [op.update.shape for op in module.main.walk() if isinstance(op, DynamicUpdateSlice)]


def waves(u: Any, h: Any) -> Any:
    """Both fields have three ghost columns at each side; one column of `u` is read of them all, none of `h`."""

    def wrap(field: Any) -> Any:
        return field.at[:, :3].set(field[:, -6:-3]).at[:, -3:].set(field[:, 3:6])

    def step(_: Any, fields: Any) -> Any:
        u, h = fields
        h = h.at[1:-1, 3:-3].add(u[1:-1, 3:-3] - u[1:-1, 4:-2])
        u = u.at[1:-1, 3:-3].add(h[:-2, 3:-3] - h[1:-1, 3:-3])
        return wrap(u), wrap(h)

    u, h = jax.lax.fori_loop(0, 5, step, (wrap(u), wrap(h)))
    return u[:, 3:-3], h[:, 3:-3]


def test_ghost_cells_of_loops_are_filled_as_far_as_they_are_read() -> None:
    u, h = np.random.default_rng(1).random((2, 12, 24))
    module = lowered("waves", waves, u, h)
    expected = evaluate_function(module.main, u, h)
    assert updates(module).count((12, 3)) == 8
    assert drop_unread(module)
    kept = updates(module)
    # One column at the east of `u`, before the loop and in it.
    assert (12, 3) not in kept and kept.count((12, 1)) == 2
    for before, after in zip(expected, evaluate_function(module.main, u, h), strict=True):
        np.testing.assert_array_equal(before, after)


def test_devices_send_no_ghost_cells_that_nobody_reads() -> None:
    field = jax.ShapeDtypeStruct((32, 32), np.float32)
    exchanged = exchange_and_estimate(lowered("waves", waves, field, field), [DIVIDED, DIVIDED])
    assert exchanged is not None
    rounds = {op: count for op, count, _ in walk_rounds(exchanged.module.main.body, 1, False)}
    sent = sum(
        op.operand.tensor.bytes for op, count in rounds.items() if isinstance(op, CollectivePermute) and count > 1
    )
    # A column to each side and a row of `u`, the column at the border, and what these need at the corners.
    assert 0 < sent <= 4 * (6 * 16 + 8)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_mean_the_same(seed: int) -> None:
    random = np.random.default_rng(seed)
    kinds = 4 if seed % 2 else 7

    def box(shape: tuple[int, ...]) -> tuple[slice, ...]:
        corners = [sorted(random.choice(size + 1, 2, replace=False)) for size in shape]
        return tuple(slice(int(low), int(high)) for low, high in corners)

    def change(values: list[Any]) -> Any:
        """A field made of one or two others; parts of them are moved, updated, put together."""
        one, other = (values[place] for place in random.integers(len(values), size=2))
        place = box(one.shape)
        match int(random.integers(kinds)):
            case 0:
                return one.at[place].set(0.5 * other[place])
            case 1:
                cut = one[place]
                return other.at[: cut.shape[0], -cut.shape[1] :].set(cut)
            case 2:
                return jnp.concatenate([one[place[0].start :], other[: place[0].start]])
            case 3:
                return jnp.pad(one[place], [(each.start, 12 - each.stop) for each in place], constant_values=2.0)
            case 4:
                return jnp.roll(one, 3, int(random.integers(2))) + other
            case 5:
                return jnp.where(other[place[0].start] > 0.5, one, other.sum(0))
            case _:
                return jax.lax.cond(other[place[0].start, 3] > 0.5, lambda: one.at[place].set(1.0), lambda: one.T)

    def run(*fields: Any) -> Any:
        values = [change(list(fields)) for _ in range(2)] + list(fields)
        carried = tuple(values[:3])

        def step(_: Any, carried: Any) -> Any:
            found = list(carried)
            for place in range(3):
                found[place] = change(found)
            return tuple(found)

        after = jax.lax.fori_loop(0, 3, step, carried)
        return [change([*after, *values])[box((12, 12))] for _ in range(2)]

    fields = random.random((2, 12, 12))
    module = lowered("run", run, *fields)
    expected = evaluate_function(module.main, *fields)
    drop_unread(module)
    for before, after in zip(expected, evaluate_function(module.main, *fields), strict=True):
        np.testing.assert_array_equal(before, after)
