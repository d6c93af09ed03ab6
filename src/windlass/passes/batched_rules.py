"""Derivative rules of functions that are done many times at once."""

from __future__ import annotations

from functools import cached_property

from windlass.ir import Block, Builder, Function, Type, tensor_type
from windlass.ir.types import TensorType
from windlass.ops import DerivativeRule, Pushforward, Return, reduce_sum
from windlass.passes.batched_programs import batch_function


class BatchedRule(DerivativeRule):
    """What `rule` says, for `size` times at once; raises CannotBatch where an op has no such form."""

    def __init__(self, rule: DerivativeRule, is_batched: tuple[bool, ...], size: int) -> None:
        self._rule = rule
        self._is_batched = is_batched
        self._size = size
        self.name = f"{rule.name}_for_{size}"
        self.linear = rule.linear
        self.can_be_shared = rule.can_be_shared
        self.operand_types = tuple(
            self._many(type_) if flag else type_ for type_, flag in zip(rule.operand_types, is_batched, strict=True)
        )
        self.result_types = tuple(map(self._many, rule.result_types))

    def _many(self, type_: Type) -> TensorType:
        assert isinstance(type_, TensorType)
        return tensor_type((self._size, *type_.shape), type_.dtype)

    @cached_property
    def _batched_primal(self) -> Function | None:
        primal = self._rule.primal
        return None if primal is None else batch_function(primal, self._is_batched, self._size)

    @property
    def primal(self) -> Function | None:
        return self._batched_primal

    def pushforward(self, changing: tuple[bool, ...]) -> Pushforward:
        function, changes = self._rule.pushforward(changing)
        of_tangents = (flag for flag, changes in zip(self._is_batched, changing, strict=True) if changes)
        return Pushforward(batch_function(function, [*self._is_batched, *of_tangents], self._size), changes)

    def transposed(self) -> Function:
        """The cotangent of an operand that is the same each time is the sum of all."""
        function = self._rule.transposed()
        flags = [flag for place, flag in enumerate(self._is_batched) if place not in self.linear]
        batched = batch_function(function, [*flags, *(True for _ in self.result_types)], self._size)
        with Builder(block := Block([argument.type for argument in batched.arguments])):
            found = batched.inline(dict(zip(batched.arguments, block.arguments, strict=True)))
            pairs = zip(sorted(self.linear), found, strict=True)
            Return(tuple(each if self._is_batched[place] else reduce_sum(each, (0,)) for place, each in pairs))
        return Function(function.name, block)

    def batched(self, is_batched: tuple[bool, ...], size: int) -> DerivativeRule:
        return BatchedRule(self, is_batched, size)
