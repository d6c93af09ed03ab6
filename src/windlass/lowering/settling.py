"""Settled values: handed through a call that XLA doesn't inline.

XLA computes what goes into a call before what comes out of it, and fuses nothing across. So a settled value is computed
once and written out, whatever reads it. The call gives its argument's own buffer back: nothing is copied. (XLA:CPU
removes `optimization_barrier` before it fuses.)
"""

from __future__ import annotations

from windlass.ir import Block, Builder, Function, Module, Op, Type, Value
from windlass.ops import Call, Return

SETTLING = "windlass_settle"
NOT_INLINED = {"mhlo.frontend_attributes": '{inlineable = "false"}'}
"""What XLA's inliner asks for. Other passes take a call for what it is."""


class Settling:
    """Makes calls of functions that give their argument back: one function for each type, all in one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.made: dict[Type, Function] = {}

    def settle(self, value: Value) -> Value:
        """The value as the result of a call, where the active builder is."""
        identity = self.made.get(value.type)
        if identity is None:
            identity = self.made[value.type] = self._identity(value.type)
        call = Call(identity.name, (value,), (value.type,))
        call.extra = dict(NOT_INLINED)
        (settled,) = call.results
        return settled

    def _identity(self, type_: Type) -> Function:
        body = Block([type_])
        with Builder(body):
            Return(tuple(body.arguments))
        number = len(self.made)
        while f"{SETTLING}_{number}" in self.module.functions:
            number += 1
        identity = Function(f"{SETTLING}_{number}", body, "private")
        self.module.functions[identity.name] = identity
        return identity


def is_settling_function(function: Function) -> bool:
    """Whether the function is there to be called by what settles values."""
    return function.name.startswith(SETTLING)


def is_settling(op: Op) -> bool:
    """Whether the op is a call that settles its operand."""
    return isinstance(op, Call) and op.callee.startswith(SETTLING)
