"""What a derivative that nobody knows is called in a program, until it turns out whether somebody asks for it."""

from __future__ import annotations

from typing import ClassVar

from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.base import NoDerivative, TensorOp


class MissingDerivative(TensorOp):
    """The tangent of the result of an op that has no derivative; linear in those of its operands.

    A program in which it is left when it runs is refused, for this reason, at the op's position. So is the transpose
    of one, if a cotangent arrives here: in reverse mode that is known before anything runs. What nobody asks for goes
    away as dead code.
    """

    name = "windlass.missing_derivative"
    given: tuple[Value, ...]
    result_type: TensorType
    reason: str
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"given"}),)

    def infer(self) -> Type:
        return self.result_type

    @property
    def no_derivative_because(self) -> str:
        return self.reason

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...]:
        type_ = self.result_type
        made = MissingDerivative(operands, tensor_type((size, *type_.shape), type_.dtype), self.reason)
        made.source = self.source
        return (made,)

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        raise NoDerivative(self)
