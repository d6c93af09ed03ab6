"""How the values are divided that a program takes within the program that JAX is building.

What is computed does not depend on it, only how much is communicated. So a likely answer will do: a value that nothing
is known of is taken to be divided as the arguments of the whole program are that are of its type.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from jaxlib.mlir import ir

from windlass.ops.shardings import Mesh, Sharding, mesh_of, sharding_of

ATTRIBUTE = "sdy.sharding"
MOST_STEPS = 32


_left: ContextVar[bool] = ContextVar("windlass_left_to_xla", default=False)


@contextmanager
def left_to_xla() -> Generator[None]:
    """Within, programs that are lowered are divided by XLA alone, to see what it makes of them."""
    token = _left.set(True)
    try:
        yield
    finally:
        _left.reset(token)


def is_left_to_xla() -> bool:
    """Whether programs are to be divided by XLA alone."""
    return _left.get()


def find_shardings(module: Any, values: Sequence[Any]) -> tuple[Sharding | None, ...]:
    """The shardings of MLIR values in the module that JAX is building, where they are known or likely."""
    meshes: dict[str, Mesh] = {}
    known: dict[Any, Sharding] = {}
    by_type: dict[str, set[Sharding | None]] = {}
    for each in module.body.operations:
        operation = each.operation
        if operation.name == "sdy.mesh":
            mesh = mesh_of(str(operation.attributes["mesh"]))
            if mesh is not None:
                meshes[ir.StringAttr(operation.attributes["sym_name"]).value] = mesh
        elif operation.name == "func.func" and _is_entry(operation):
            for argument, entries in zip(
                operation.regions[0].blocks[0].arguments, operation.attributes["arg_attrs"], strict=True
            ):
                found = _sharding(ir.DictAttr(entries), argument, meshes)
                by_type.setdefault(str(argument.type), set()).add(found)
                if found is not None:
                    known[argument] = found
    return tuple(_find(value, known, by_type, meshes) for value in values)


def _find(
    value: Any, known: dict[Any, Sharding], by_type: dict[str, set[Sharding | None]], meshes: dict[str, Mesh]
) -> Sharding | None:
    of_type = by_type.get(str(value.type), set())
    likely = next(iter(of_type)) if len(of_type) == 1 else None
    for _ in range(MOST_STEPS):
        if value in known:
            return known[value]
        owner = value.owner
        if isinstance(owner, ir.Block):
            holder = owner.owner.operation
            if holder.name != "stablehlo.while":
                return likely
            value = holder.operands[ir.BlockArgument(value).arg_number]
        elif owner.name == "sdy.sharding_constraint":
            return sharding_of(str(owner.attributes["sharding"]), ir.RankedTensorType(value.type).rank, meshes)
        else:
            return likely
    return likely


def _sharding(entries: Any, argument: Any, meshes: dict[str, Mesh]) -> Sharding | None:
    if ATTRIBUTE not in entries:
        return None
    return sharding_of(str(entries[ATTRIBUTE]), ir.RankedTensorType(argument.type).rank, meshes)


def _is_entry(function: Any) -> bool:
    visibility = function.attributes.get("sym_visibility", None)
    is_public = visibility is not None and ir.StringAttr(visibility).value == "public"
    return is_public and "arg_attrs" in function.attributes
