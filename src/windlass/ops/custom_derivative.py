"""Functions whose derivative is not that of what they do, but a rule that comes with them.

A program holds such a function as one op, which knows both: what it does is inlined where the program runs
(`windlass.rewriting.inlining.inline_custom_derivatives`), and its rule is asked where the program is differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from windlass.ir.program import Function
from windlass.ir.types import Type
from windlass.ir.values import Value
from windlass.ops.base import Array, TensorOp
from windlass.ops.creation import Constant
from windlass.ops.evaluation import evaluate_function


class Pushforward(NamedTuple):
    """A function of all operands and of tangents of those that change; it gives the results, as the rule has them, and
    tangents of those that change."""

    function: Function
    changes: tuple[bool, ...]
    """For each result, whether it does."""


class DerivativeRule:
    """What a function of these operands does, and what its derivative is. Two of them are never equal."""

    name: str
    """What it is called where it is shown."""
    operand_types: tuple[Type, ...]
    result_types: tuple[Type, ...]
    linear: frozenset[int] = frozenset()
    """The places of operands in which the function is linear, with all others as they are."""

    @property
    def primal(self) -> Function | None:
        """What it does; None for what has no meaning by itself, and is there to be transposed."""
        raise NotImplementedError

    can_be_shared: bool = True
    """Whether two calls with the same operands are as good as one. They aren't where what becomes of a cotangent is
    not linear in it, as in clipping: what reaches each call is clipped by itself."""

    @cached_property
    def has_effects(self) -> bool:
        """Whether what it does has effects."""
        body = None if self.primal is None else self.primal.body
        return body is not None and any(not op.is_removable for op in body if op is not body.terminator)

    def pushforward(self, changing: tuple[bool, ...]) -> Pushforward:
        """What the results change by, as those operands change that are said to. Not asked where these are `linear`."""
        raise NotImplementedError

    def transposed(self) -> Function:
        """A function of the operands that are not `linear`, and of the cotangents of all results: it gives the
        cotangents of those that are."""
        raise NotImplementedError

    def batched(self, is_batched: tuple[bool, ...], size: int) -> DerivativeRule:
        """The function done `size` times at once: these operands, and all results, have a new first axis."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.name}>"


class CustomDerivative(TensorOp):
    """A function with a derivative rule of its own."""

    name = "windlass.custom_derivative"
    rule: DerivativeRule
    operands: tuple[Value, ...]  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]

    def infer(self) -> tuple[Type, ...]:
        given = tuple(operand.type for operand in self.operands)
        if given != self.rule.operand_types:
            self.fault("", f"{self.rule.name} takes {self.rule.operand_types}, not {given}")
        return self.rule.result_types

    @property
    def is_pure(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Pure ops are moved out of loops and made one with equal ones."""
        return self.rule.can_be_shared and not self.rule.has_effects

    @property
    def is_removable(self) -> bool:
        return not self.rule.has_effects

    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        if self.rule.primal is None:
            raise NotImplementedError(f"{self.rule.name} has no meaning by itself")
        return evaluate_function(self.rule.primal, *arrays)

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...]:
        return CustomDerivative(self.rule.batched(is_batched, size), operands).results

    def linear_positions(self) -> tuple[frozenset[int], ...]:
        return (self.rule.linear,)

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        return self.push_forward(given)[1]

    def push_forward(self, given: tuple[Value | None, ...]) -> tuple[tuple[Value, ...], tuple[Value | None, ...]]:
        """The results and what they change by, both as the rule has them; see `tangents`.

        A rule may compute the results in another way, whose derivatives then are those of higher order.
        """
        linear = self.rule.linear
        changing = tuple(each is not None for each in given)
        if all(place in linear for place, changes in enumerate(changing) if changes):
            pairs = enumerate(zip(self.operands, given, strict=True))
            full = [
                operand if place not in linear else tangent or Constant.splat(0, operand.type)
                for place, (operand, tangent) in pairs
            ]
            return self.results, CustomDerivative(self.rule, tuple(full)).results
        function, changes = self.rule.pushforward(changing)
        arguments = (*self.operands, *(each for each in given if each is not None))
        found = function.inline(dict(zip(function.arguments, arguments, strict=True)))
        count = len(changes)
        moved = iter(found[count:])
        return found[:count], tuple(next(moved) if each else None for each in changes)

    def pullbacks(self, cotangents: tuple[Value, ...], positions: Sequence[int]) -> Sequence[Value]:
        function = self.rule.transposed()
        known = [operand for place, operand in enumerate(self.operands) if place not in self.rule.linear]
        arguments = (*known, *cotangents)
        found = function.inline(dict(zip(function.arguments, arguments, strict=True)))
        by_place = dict(zip(sorted(self.rule.linear), found, strict=True))
        return [by_place[position] for position in positions]
