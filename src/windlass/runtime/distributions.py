"""In which form a function is divided among devices, found by lowering it for arrays that a mesh divides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from windlass.communication.choices import collect_choices


def tell_distribution(function: Callable[..., Any], positional: Sequence[Any], named: Mapping[str, Any]) -> str:
    """The form, why it was chosen, who decided what, and what each form communicates; nothing where none of the
    arguments is divided. The function is lowered and doesn't run.
    """
    leaves, structure = jax.tree.flatten((tuple(positional), dict(named)))
    if not are_divided(leaves):
        return ""
    is_array = [isinstance(leaf, jax.Array | np.ndarray | jax.ShapeDtypeStruct) for leaf in leaves]

    def run(*arrays: Any) -> Any:
        rest = iter(arrays)
        given = [next(rest) if flag else leaf for leaf, flag in zip(leaves, is_array, strict=True)]
        own, by_name = jax.tree.unflatten(structure, given)
        return function(*own, **by_name)

    with collect_choices() as choices:
        jax.jit(run).lower(*(leaf for leaf, flag in zip(leaves, is_array, strict=True) if flag))
    return "\n".join(choice.told for choice in choices)


def are_divided(leaves: Sequence[Any]) -> bool:
    """Whether a mesh divides any of these."""
    shardings = (getattr(leaf, "sharding", None) for leaf in leaves)
    return any(isinstance(each, jax.sharding.NamedSharding) and not each.is_fully_replicated for each in shardings)
