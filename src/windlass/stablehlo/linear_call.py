"""Functions that are linear in their last operands, with transposes of their own, as a JAX primitive.

It is `jax.custom_derivatives.linear_call` that can be batched, and that can be differentiated by what it is linear for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

linear_call: Any = Primitive("windlass_linear")
"""Runs a `LinearRule`, its parameter `rule`, on operands of which the first `rule.known` are known."""
linear_call.multiple_results = True


class LinearRule(ABC):
    """A function of `known` operands, and of others in which it is linear. Both are functions that JAX can trace."""

    known: int

    @abstractmethod
    def result_types(self, *types: jax.ShapeDtypeStruct) -> list[jax.ShapeDtypeStruct]:
        """The types of the results for operands of these types."""

    @abstractmethod
    def run(self, *operands: Any) -> Sequence[Any]:
        """The results."""

    @abstractmethod
    def transpose(self, known: Sequence[Any], cotangents: Sequence[Any], wanted: Sequence[int]) -> Sequence[Any]:
        """The cotangents of the linear operands with these numbers, from those of results; None for zero."""


class _Batched(LinearRule):
    """A rule for a batch, whose axis comes first in operands that have it and in all results."""

    def __init__(self, rule: LinearRule, has_axis: Sequence[bool], size: int) -> None:
        self.rule = rule
        self.known = rule.known
        self.has_axis = tuple(has_axis)
        self.size = size

    def result_types(self, *types: jax.ShapeDtypeStruct) -> list[jax.ShapeDtypeStruct]:
        own = [
            jax.ShapeDtypeStruct(each.shape[1:], each.dtype) if flag else each
            for each, flag in zip(types, self.has_axis, strict=True)
        ]
        found = self.rule.result_types(*own)
        return [jax.ShapeDtypeStruct((self.size, *each.shape), each.dtype) for each in found]

    def run(self, *operands: Any) -> Sequence[Any]:
        axes = tuple(0 if flag else None for flag in self.has_axis)
        return jax.vmap(self.rule.run, axes, axis_size=self.size)(*operands)

    def transpose(self, known: Sequence[Any], cotangents: Sequence[Any], wanted: Sequence[int]) -> Sequence[Any]:
        axes = [0 if flag else None for flag in self.has_axis[: self.known]]
        given = [place for place, each in enumerate(cotangents) if each is not None]

        def one(known: Sequence[Any], chosen: Sequence[Any]) -> Sequence[Any]:
            all_cotangents: list[Any] = [None] * len(cotangents)
            for place, each in zip(given, chosen, strict=True):
                all_cotangents[place] = each
            return self.rule.transpose(known, all_cotangents, wanted)

        chosen = [cotangents[place] for place in given]
        found = jax.vmap(one, (axes, [0] * len(given)), axis_size=self.size)(list(known), chosen)
        own = self.has_axis[self.known :]
        return [each if own[number] else jnp.sum(each, 0) for number, each in zip(wanted, found, strict=True)]


def _infer(*types: Any, rule: LinearRule) -> list[Any]:
    given = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in types]
    return [ShapedArray(each.shape, each.dtype) for each in rule.result_types(*given)]


def _run(*operands: Any, rule: LinearRule) -> list[Any]:
    return list(rule.run(*operands))


def _differentiate(primals: Sequence[Any], tangents: Sequence[Any], *, rule: LinearRule) -> tuple[list[Any], list[Any]]:
    results = linear_call.bind(*primals, rule=rule)
    known, linear = primals[: rule.known], primals[rule.known :]
    totals: list[Any] = [ad.Zero(jax.typeof(each).to_tangent_aval()) for each in results]
    moved = tangents[rule.known :]
    if any(not isinstance(each, ad.Zero) for each in moved):
        found = linear_call.bind(*known, *map(ad.instantiate_zeros, moved), rule=rule)
        totals = list(found)
    moving = [place for place, each in enumerate(tangents[: rule.known]) if not isinstance(each, ad.Zero)]
    if moving:

        def of_known(*chosen: Any) -> Any:
            given = list(known)
            for place, each in zip(moving, chosen, strict=True):
                given[place] = each
            return list(rule.run(*given, *linear))

        given = tuple(known[place] for place in moving)
        _, changes = jax.jvp(of_known, given, tuple(tangents[place] for place in moving))
        totals = [
            each if isinstance(total, ad.Zero) else total + each for total, each in zip(totals, changes, strict=True)
        ]
    return results, totals


def _transpose(cotangents: Sequence[Any], *operands: Any, rule: LinearRule) -> list[Any]:
    known, linear = operands[: rule.known], operands[rule.known :]
    wanted = [number for number, each in enumerate(linear) if isinstance(each, ad.UndefinedPrimal)]
    given = [None if isinstance(each, ad.Zero) else each for each in cotangents]
    found = iter(rule.transpose(known, given, wanted))
    return [None] * len(known) + [next(found) if isinstance(each, ad.UndefinedPrimal) else None for each in linear]


def _batch(operands: Sequence[Any], axes: Sequence[int | None], *, rule: LinearRule) -> tuple[list[Any], list[int]]:
    size = next(each.shape[axis] for each, axis in zip(operands, axes, strict=True) if axis is not None)
    moved = [each if axis is None else jnp.moveaxis(each, axis, 0) for each, axis in zip(operands, axes, strict=True)]
    found = linear_call.bind(*moved, rule=_Batched(rule, [axis is not None for axis in axes], size))
    return found, [0] * len(found)


linear_call.def_abstract_eval(_infer)
linear_call.def_impl(_run)
mlir.register_lowering(linear_call, mlir.lower_fun(_run, multiple_results=True))
ad.primitive_jvps[linear_call] = _differentiate
ad.primitive_transposes[linear_call] = _transpose
batching.primitive_batchers[linear_call] = _batch
