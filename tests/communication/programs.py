"""Programs on eight devices: run as a module, this runs them and prints what they gave and communicated.

Each is compiled by Windlass for arrays divided over a mesh, and compared with plain JAX on one device.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

ENVIRONMENT = {
    "XLA_FLAGS": "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0",
    "JAX_PLATFORMS": "cpu",
}

MESHES: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "8": ((8,), ("x",)),
    "4x2": ((4, 2), ("x", "y")),
    "2x2x2": ((2, 2, 2), ("x", "y", "z")),
}
SHAPES = {"8": (64,), "4x2": (48, 32), "2x2x2": (8, 8, 12)}


@dataclass(frozen=True)
class Program:
    """A function of arrays that are divided over a mesh; `ideal` is how many elements a device must receive in a step.

    Where that is None, no more bytes than plain XLA's are asked for; `messages` is how many collectives there may be.
    """

    function: Callable[..., Any]
    mesh: str
    arguments: int = 1
    ideal: int | None = None
    messages: int | None = None
    is_slow: bool = False

    @property
    def name(self) -> str:
        return self.function.__name__


PROGRAMS: list[Program] = []


def program(mesh: str, arguments: int = 1, **more: Any) -> Any:
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Program(function, mesh, arguments, **more))
        return function

    return enter


def repeated(step: Callable[..., Any], *fields: Any) -> Any:
    """Five steps in a loop."""
    return jax.lax.fori_loop(0, 5, lambda _, fields: step(*fields), fields)


# -- one axis ---------------------------------------------------------------------------------------------------------


@program("8", ideal=2, messages=2)
def heat_on_a_line(u: Any) -> Any:
    return u.at[1:-1].set(u[1:-1] + 0.1 * (u[:-2] - 2 * u[1:-1] + u[2:]))


@program("8", ideal=2, messages=2, is_slow=True)
def heat_on_a_ring(u: Any) -> Any:
    return u + 0.1 * (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1))


@program("8", ideal=6, messages=2, is_slow=True)
def wide_stencil(u: Any) -> Any:
    p = jnp.pad(u, 3, mode="wrap")
    return sum((k + 1.0) * p[k : k + u.shape[0]] for k in range(7))


@program("8", ideal=6, messages=2)
def faces_of_a_ring(u: Any) -> Any:
    """Of the n + 1 faces the first is the last but one, and the last is the second."""

    def step(u: Any, flux: Any) -> Any:
        flux = flux.at[1:-1].add(0.1 * (u[1:] - u[:-1]))
        flux = flux.at[0].set(flux[-2]).at[-1].set(flux[1])
        return u + 0.1 * (flux[1:] - flux[:-1]), flux

    return repeated(step, u, jnp.zeros(65, u.dtype))[0]


@program("8", ideal=6, messages=2)
def open_border(u: Any) -> Any:
    """Its ghost cells are one number, repeated."""
    p = jnp.pad(u, 3, mode="edge")
    return sum((k + 1.0) * p[k : k + u.shape[0]] for k in range(7)) / 28


@program("8", ideal=1, messages=1, is_slow=True)
def upwind(u: Any) -> Any:
    return u - 0.3 * (u - jnp.concatenate([u[:1], u[:-1]]))


@program("8", ideal=2, messages=2, is_slow=True)
def fluxes_between_cells(u: Any) -> Any:
    flux = jnp.pad(u[1:] - u[:-1], 1)
    return u + 0.1 * (flux[1:] - flux[:-1])


@program("8", ideal=4, messages=2, is_slow=True)
def two_steps_written_out(u: Any) -> Any:
    return heat_on_a_line(heat_on_a_line(u))


@program("8", ideal=4, messages=4)
def running_sum(u: Any) -> Any:
    return jnp.cumsum(u) + jnp.roll(u, 1)


@program("8", ideal=2, is_slow=True)
def steps_that_note_sums(u: Any) -> Any:
    def step(u: Any, _: Any) -> Any:
        u = heat_on_a_line(u)
        return u, u.sum()

    return jax.lax.scan(step, u, None, length=3)


@program("8", is_slow=True)
def far_shift(u: Any) -> Any:
    return u + jnp.roll(u, 20)


# -- two axes ---------------------------------------------------------------------------------------------------------


@program("4x2", ideal=2 * 16 + 2 * 12, messages=4, is_slow=True)
def heat(u: Any) -> Any:
    inner = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return u.at[1:-1, 1:-1].set(0.25 * inner)


@program("4x2", ideal=2 * 16 + 2 * 12, messages=4)
def heat_in_a_loop(u: Any) -> Any:
    return repeated(lambda u: (heat(u),), u)


@program("4x2", ideal=2 * 16 + 2 * 14, messages=4, is_slow=True)
def nine_points(u: Any) -> Any:
    p = jnp.pad(u, 1, mode="wrap")
    return sum(p[i : i + 48, j : j + 32] for i in range(3) for j in range(3)) / 9


@program("4x2", ideal=2 * 16 + 2 * 12, messages=4, is_slow=True)
def zeros_around(u: Any) -> Any:
    p = jnp.pad(u, 1)
    return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] - p[1:-1, 2:]


@program("4x2", ideal=2 * 16 + 2 * 12, messages=4, is_slow=True)
def rolls_under_a_mask(u: Any) -> Any:
    rows, columns = jnp.arange(48)[:, None], jnp.arange(32)[None]
    inside = (rows > 0) & (rows < 47) & (columns > 2) & (columns < 31)
    around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
    return jnp.where(inside, around, u)


@program("4x2", arguments=3, ideal=2 * 16 + 2 * 12, messages=4)
def shallow_water(h: Any, u: Any, v: Any) -> Any:
    def step(h: Any, u: Any, v: Any) -> Any:
        u = u - 0.01 * (jnp.roll(h, -1, 0) - h)
        v = v - 0.01 * (jnp.roll(h, -1, 1) - h)
        return h - 0.01 * (u - jnp.roll(u, 1, 0) + v - jnp.roll(v, 1, 1)), u, v

    return repeated(step, h, u, v)


@program("4x2", is_slow=True)
def fills_its_boundary(u: Any) -> Any:
    u = heat(u)
    return u.at[0].set(u[-2]).at[-1].set(u[1]).at[:, 0].set(u[:, 1]).at[:, -1].set(0)


@program("4x2", is_slow=True)
def until_it_settles(u: Any) -> Any:
    def step(state: Any) -> Any:
        u, _, rounds = state
        new = heat(u)
        return new, jnp.abs(new - u).max(), rounds + 1

    return jax.lax.while_loop(lambda state: (state[1] > 1e-2) & (state[2] < 50), step, (u, jnp.float32(1), 0))


@program("4x2", ideal=2 * 3 * 16, messages=2, is_slow=True)
def along_one_axis_of_fields(u: Any) -> Any:
    fields = jnp.stack([u, 2 * u, u * u])
    return fields.at[:, 1:-1].add(fields[:, 2:] - fields[:, :-2])


@program("4x2", ideal=2 * 16 + 2 * 12, messages=4)
def clamped_reads(u: Any) -> Any:
    rows, columns = jnp.arange(48), jnp.arange(32)
    above, below = jnp.clip(rows - 1, 0, 47), jnp.clip(rows + 1, 0, 47)
    left, right = jnp.clip(columns - 1, 0, 31), (columns + 1) % 32
    return u[above] + u[below] - u[:, left] + 2 * u[:, right]


@program("4x2", ideal=4 * 16 + 4 * (12 + 4), messages=4, is_slow=True)
def symmetric_ghost_cells(u: Any) -> Any:
    p = jnp.pad(u, 2, mode="symmetric")
    return sum((i + 2 * j + 1) * p[i : i + 48, j : j + 32] for i in (0, 1, 4) for j in (0, 3, 4)) / 50


@program("4x2", ideal=2 * 16 + 2 * (12 + 4), messages=4)
def ghost_cells_filled_in_place(u: Any) -> Any:
    u = u.at[0].set(u[-2]).at[-1].set(u[1])
    return heat(u.at[:, 0].set(u[:, -2]).at[:, -1].set(u[:, 1]))


@program("4x2", arguments=2, ideal=344, messages=8)
def red_and_black_in_turn(p: Any, b: Any) -> Any:
    """Gauss-Seidel sweeps over every other element."""

    def sweep(p: Any, row: int, column: int) -> Any:
        at = (slice(row, -1, 2), slice(column, -1, 2))
        sides = [
            p[row - 1 : -2 : 2, column:-1:2], p[row + 1 :: 2, column:-1:2],
            p[row:-1:2, column - 1 : -2 : 2], p[row:-1:2, column + 1 :: 2],
        ]  # fmt: skip
        rows, columns = p[at].shape
        return p.at[at].set(0.25 * sum(side[:rows, :columns] for side in sides) - b[at])

    for place in ((1, 1), (2, 2), (1, 2), (2, 1)):
        p = sweep(p, *place)
    return p


@program("4x2", ideal=2 * 16 + 2 * (12 + 2), messages=4, is_slow=True)
def largest_of_neighbours(u: Any) -> Any:
    return jax.lax.reduce_window(u, -jnp.inf, jax.lax.max, (3, 3), (1, 1), "SAME")


@program("4x2", ideal=3 * 16 + 3 * 12, messages=4)
def populations_that_move(u: Any) -> Any:
    """Of several fields in one array each goes another way."""
    f = jnp.stack([u, 2 * u, 3 * u, 4 * u, 5 * u], -1)
    ways = ((0, 0), (1, 0), (-1, 0), (0, 1), (1, -1))
    return jnp.stack([jnp.roll(f[..., k], way, (0, 1)) for k, way in enumerate(ways)], -1)


@program("4x2", is_slow=True)
def folds_that_need_not_wait(u: Any) -> Any:
    return u.sum(), u.max(), u.min(), (u * u).sum()


@program("4x2", is_slow=True)
def sums_of_neighbours(u: Any) -> Any:
    return jax.lax.reduce_window(u, 0.0, jax.lax.add, (3, 3), (1, 1), "SAME")


@program("4x2", is_slow=True)
def product(u: Any) -> Any:
    return u @ u.T


@program("4x2")
def with_its_transpose(u: Any) -> Any:
    return u + jnp.roll(u.T, 1, 0).T


@program("4x2", is_slow=True)
def uneven_pieces(u: Any) -> Any:
    return (u[1:] - u[:-1]).sum(), u[3:7] * 2


@program("4x2", arguments=2, is_slow=True)
def branches(u: Any, v: Any) -> Any:
    return jax.lax.cond(u[0, 0] > 0.5, lambda: heat(u), lambda: v + heat(v))


@program("4x2", arguments=3, ideal=3 * (16 + 12), messages=2)
def advected_fields(u: Any, v: Any, c: Any) -> Any:
    def moved(f: Any) -> Any:
        dx, dy = f[1:-1, 1:-1] - f[:-2, 1:-1], f[1:-1, 1:-1] - f[1:-1, :-2]
        return f.at[1:-1, 1:-1].add(-0.1 * (u[1:-1, 1:-1] * dx + v[1:-1, 1:-1] * dy))

    return moved(u), moved(v), moved(c)


@program("4x2")
def gradient_of_a_step(u: Any) -> Any:
    return jax.grad(lambda u: (heat(u) ** 2).sum())(u)


@program("4x2", ideal=2 * (16 + 12), messages=4)
def a_mask_from_before_the_loop(u: Any) -> Any:
    wet = u[1:-1, 1:-1] * 2 > 0.7

    def step(u: Any) -> Any:
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return (u.at[1:-1, 1:-1].set(jnp.where(wet, 0.25 * around, u[1:-1, 1:-1])),)

    return repeated(step, u)[0]


@program("4x2", ideal=2 * 2 * (16 + 12), messages=4)
def flows_through_faces_carried_in_a_loop(u: Any) -> Any:
    """Of 48 rows there are 49 faces, which no mesh divides evenly; theirs are exchanged as well as the cells' halos."""

    def step(p: Any, u: Any, v: Any) -> Any:
        u = u.at[1:-1].add(-0.1 * (p[1:] - p[:-1]))
        v = v.at[:, 1:-1].add(-0.1 * (p[:, 1:] - p[:, :-1]))
        return p - 0.1 * (u[1:] - u[:-1] + v[:, 1:] - v[:, :-1]), u, v

    return repeated(step, u, jnp.zeros((49, 32), u.dtype), jnp.zeros((48, 33), u.dtype))[0]


@program("4x2", is_slow=True)
def flows_through_faces_given_as_well(u: Any) -> Any:
    """Faces with corners, longer along both axes, which are results, too."""

    def step(p: Any, q: Any) -> Any:
        q = q.at[1:-1, 1:-1].add(0.1 * (p[1:, 1:] - p[:-1, :-1]))
        return p + 0.1 * (q[1:, 1:] + q[:-1, :-1] - q[1:, :-1]), q

    return repeated(step, u, jnp.zeros((49, 33), u.dtype))


# -- three axes -------------------------------------------------------------------------------------------------------


@program("2x2x2", ideal=2 * (4 * 6 + 4 * 6 + 4 * 4), messages=6)
def heat_in_a_box(u: Any) -> Any:
    inner = u[1:-1, 1:-1, 1:-1]
    around = (
        u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1]
        + u[1:-1, 2:, 1:-1] + u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:]
    )  # fmt: skip
    return u.at[1:-1, 1:-1, 1:-1].set(inner + 0.1 * (around - 6 * inner))


def run(program: Program) -> dict[str, Any]:
    import windlass as wl
    from windlass.communication.counting import count_messages

    sizes, names = MESHES[program.mesh]
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(sizes), names)
    divided = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*names))
    random = np.random.default_rng(7)
    shape = SHAPES[program.mesh]
    arrays = [jnp.asarray(random.random(shape).astype(np.float32)) for _ in range(program.arguments)]
    placed = [jax.device_put(array, divided) for array in arrays]
    optimized = jax.jit(wl.optimize(program.function)).lower(*placed).compile()
    plain = jax.jit(program.function).lower(*placed).compile()
    expected, found, ours = (
        jax.tree.leaves(each) for each in (jax.jit(program.function)(*arrays), optimized(*placed), plain(*placed))
    )
    messages = count_messages(optimized.as_text() or "")
    return {
        "difference": max(
            float(np.max(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))))
            for a, b in zip(expected, found, strict=True)
        ),
        "shardings": [
            [str(getattr(a.sharding, "spec", "")), str(getattr(b.sharding, "spec", ""))]
            for a, b in zip(found, ours, strict=True)
        ],
        "bytes": sum(each.bytes for each in messages if each.kind == "collective-permute"),
        "all_bytes": sum(each.bytes for each in messages),
        "plain_bytes": sum(each.bytes for each in count_messages(plain.as_text() or "")),
        "messages": sum(each.kind == "collective-permute" for each in messages),
    }


if __name__ == "__main__":
    from tests.communication import bad_input, gradients, same_bits
    from tests.communication.ways import WAYS, outcome

    is_slow = sys.argv[1:] == ["slow"]
    found: dict[str, Any] = {each.name: run(each) for each in PROGRAMS if each.is_slow == is_slow}
    if is_slow:
        found |= {each.__name__: same_bits.run(each) for each in same_bits.MORE_PROGRAMS}
        found |= {name: same_bits.compare(*each) for name, each in same_bits.MORE_OF_NUMPY.items()}
    else:
        found |= {way.__name__: outcome(way) for way in WAYS}
        found |= {each.name: gradients.run(each) for each in gradients.GRADIENTS}
        found |= {each.__name__: same_bits.run(each) for each in same_bits.PROGRAMS}
        meshes = same_bits.MESHES[3:]
        found |= {name: same_bits.compare(*each, meshes) for name, each in same_bits.OF_NUMPY.items()}
        found |= {name: bad_input.told(case) for name, (case, *_) in bad_input.CASES.items()}
    print(json.dumps(found))
