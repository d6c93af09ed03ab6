"""Ops with effects in the world outside, ordered by tokens."""

from __future__ import annotations

from typing import ClassVar

from windlass.ir.types import Type
from windlass.ir.values import Value
from windlass.ops.base import TOKEN, TensorOp
from windlass.ops.spelling import ChannelHandle, Matrix, MLIRText, QuotedText


class AfterAll(TensorOp):
    """A token that comes after all the given ones."""

    name = "stablehlo.after_all"
    inputs: tuple[Value, ...]

    def infer(self) -> Type:
        if not all(value.type is TOKEN for value in self.inputs):
            self.fault("I1", "an operand is no token")
        return TOKEN


class Effect(TensorOp):
    """Base of the ops that act on the world outside."""

    is_pure: ClassVar[bool] = False


class Infeed(Effect):
    """Values from the host, and a token."""

    name = "stablehlo.infeed"
    token: Value
    result_types: tuple[Type, ...]
    infeed_config: QuotedText = ""
    layout: MLIRText = None
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"result_types"})

    def infer(self) -> tuple[Type, ...]:
        return self.result_types


class Outfeed(Effect):
    """Values to the host."""

    name = "stablehlo.outfeed"
    inputs: tuple[Value, ...]
    token: Value
    outfeed_config: QuotedText = ""

    def infer(self) -> Type:
        return TOKEN


class Send(Effect):
    """Values into a channel."""

    name = "stablehlo.send"
    inputs: tuple[Value, ...]
    token: Value
    channel_handle: ChannelHandle
    is_host_transfer: bool = False
    source_target_pairs: Matrix = ()

    def infer(self) -> Type:
        return TOKEN


class Recv(Effect):
    """Values out of a channel, and a token."""

    name = "stablehlo.recv"
    token: Value
    channel_handle: ChannelHandle
    result_types: tuple[Type, ...]
    is_host_transfer: bool = False
    source_target_pairs: Matrix = ()
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"result_types"})

    def infer(self) -> tuple[Type, ...]:
        return self.result_types
