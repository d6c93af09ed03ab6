"""`wl.communication` and `wl.check_communication`: what a function communicates on a mesh, before one pays for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from windlass.communication.choices import collect_choices
from windlass.communication.counting import Message, count_messages
from windlass.diagnostics import CommunicationError, Diagnostic, LaunchError
from windlass.functions.derivatives import DerivativeFunction
from windlass.functions.jit import JitFunction
from windlass.functions.optimize import OptimizedFunction, optimize
from windlass.reports.communication import Communication
from windlass.stablehlo.described_devices import place_mesh
from windlass.stablehlo.measuring import OPTIONS
from windlass.stablehlo.surrounding_shardings import left_to_xla


def communication(function: Callable[..., Any], mesh: Any, /, *arguments: Any) -> Communication:
    """What the function communicates on a mesh of devices, as Windlass compiles it and as XLA alone does.

    The function is JAX's, or one of `wl.optimize`, `wl.jit`, `kernel.jax` or `wl.grad`. Arguments are arrays that a
    `NamedSharding` of this mesh divides, or `jax.ShapeDtypeStruct`s with one; others are the same on all devices. The
    function is compiled for them and doesn't run. Messages and bytes are counted in what XLA's compiler gives; as XLA
    alone divides it, it is compiled when the report is first asked for that.

    `jax.sharding.AbstractMesh` is a mesh of devices that need not be there, thousands if need be; it is compiled as for
    CPUs then.

    Raises LaunchError (WL0941) for what is no function or no mesh, and for arrays that are divided over another one.

    >>> import jax.numpy as jnp
    >>> mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
    >>> communication(lambda x: x + jnp.roll(x, 1), mesh, jnp.arange(8.0)).bytes
    0
    >>> mesh = jax.sharding.AbstractMesh((64, 8), ("x", "y"))
    >>> divided = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x", "y"))
    >>> u = jax.ShapeDtypeStruct((6400, 800), jnp.float32, sharding=divided)
    >>> communication(lambda u: u + jnp.roll(u, 1, 0), mesh, u).bytes
    400
    """
    if not callable(function):
        raise LaunchError(
            Diagnostic(
                "WL0941",
                f"wl.communication needs a function, got {type(function).__name__}",
                help="pass the function first, then the mesh and the function's arguments",
            )
        )
    if not isinstance(mesh, jax.sharding.Mesh | jax.sharding.AbstractMesh):
        raise LaunchError(
            Diagnostic(
                "WL0941",
                f"wl.communication needs a mesh of devices, got {type(mesh).__name__}",
                help='for example jax.sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))',
            )
        )
    mesh = place_mesh(mesh)
    leaves, structure = jax.tree.flatten(arguments)
    is_array = [isinstance(leaf, jax.Array | np.ndarray | jax.ShapeDtypeStruct) for leaf in leaves]
    given = [_placed(leaf, mesh) for leaf, flag in zip(leaves, is_array, strict=True) if flag]

    def compiled(each: Callable[..., Any]) -> str:
        def run(*arrays: Any) -> Any:
            rest = iter(arrays)
            return each(
                *jax.tree.unflatten(
                    structure, [next(rest) if flag else leaf for leaf, flag in zip(leaves, is_array, strict=True)]
                )
            )

        return jax.jit(run).lower(*given).compile(OPTIONS).as_text() or ""

    is_ours = isinstance(function, OptimizedFunction | JitFunction | DerivativeFunction)
    with collect_choices() as choices:
        ours = count_messages(compiled(function if is_ours else optimize(function)))

    def find_plain() -> list[Message]:
        with left_to_xla():
            return count_messages(compiled(function.function if isinstance(function, OptimizedFunction) else function))

    name = getattr(function, "name", None) or getattr(function, "__name__", "function")
    return Communication(name, dict(mesh.shape), ours, find_plain, choices)


def check_communication(
    function: Callable[..., Any],
    mesh: Any,
    /,
    *arguments: Any,
    max_bytes: float | None = None,
    max_messages: float | None = None,
) -> Communication:
    """For tests: that a function communicates no more than so many bytes, in so many messages, in one run.

    Both are of each device, as Windlass compiles the function; all else is as in `communication`, whose report it
    gives.

    Raises CommunicationError (WL0942), which is an AssertionError, with the lines of the source that move most, and
    LaunchError (WL0941) for bounds that are no numbers.

    >>> import jax.numpy as jnp
    >>> mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
    >>> check_communication(lambda x: x + jnp.roll(x, 1), mesh, jnp.arange(8.0), max_bytes=0).messages
    0
    """
    for name, bound in (("max_bytes", max_bytes), ("max_messages", max_messages)):
        if not (bound is None or (isinstance(bound, int | float | np.number) and bound >= 0)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LaunchError(Diagnostic("WL0941", f"{name} is a number, 0 or more, got {bound!r}"))
    report = communication(function, mesh, *arguments)
    excess: list[str] = []
    if max_bytes is not None and report.bytes > max_bytes:
        excess.append(f"receives {report.bytes:,.0f} bytes, {max_bytes:,.0f} are allowed")
    if max_messages is not None and report.messages > max_messages:
        excess.append(f"receives {report.messages:,.0f} messages, {max_messages:,.0f} are allowed")
    if excess:
        worst = next((each.source for each in report.lines[0].ours), None) if report.lines else None
        raise CommunicationError(
            Diagnostic(
                "WL0942",
                f"in a run of {report.name} each device {' and '.join(excess)}",
                worst,
                notes=tuple(str(report).splitlines()[2:]),
                help="see where the lines that move most read far away, or allow what they must move",
            )
        )
    return report


def _placed(leaf: Any, mesh: jax.sharding.Mesh) -> jax.ShapeDtypeStruct:
    """The array's type, and how it is divided.

    Raises LaunchError (WL0941) where that is over another mesh.
    """
    sharding = getattr(leaf, "sharding", None)
    if not isinstance(sharding, jax.sharding.NamedSharding):
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    elif dict(sharding.mesh.shape) != dict(mesh.shape):
        raise LaunchError(
            Diagnostic(
                "WL0941",
                f"an argument of shape {tuple(leaf.shape)} is divided over {dict(sharding.mesh.shape)}, "
                f"the mesh is {dict(mesh.shape)}",
                help="divide all arguments over the mesh that is asked about",
            )
        )
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=jax.sharding.NamedSharding(mesh, sharding.spec))
