"""Calls of code that Windlass does not see into, and ops that it does not know."""

from __future__ import annotations

from typing import ClassVar

from windlass.ir.core import Region, Terminator
from windlass.ir.types import Type
from windlass.ir.values import Value
from windlass.ops.base import Array, TensorOp
from windlass.ops.lapack import Solver, find_solver
from windlass.ops.native_call import NATIVE_TARGET, NativeMeaning, find_native
from windlass.ops.spelling import Int32, MLIRText, QuotedText


class CustomCall(TensorOp):
    """Calls a function that is registered with XLA under `call_target_name`.

    The attributes that are MLIR text are passed on as they are.
    """

    name = "stablehlo.custom_call"
    inputs: tuple[Value, ...]
    call_target_name: QuotedText
    result_types: tuple[Type, ...]
    has_side_effect: bool = False
    backend_config: MLIRText = None
    api_version: Int32 = 1
    called_computations: MLIRText = None
    operand_layouts: MLIRText = None
    result_layouts: MLIRText = None
    output_operand_aliases: MLIRText = None
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"result_types"})

    @property
    def is_pure(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the call has no side effect."""
        return not self.has_side_effect

    @property
    def solver(self) -> Solver | None:
        """The triangular solver that it calls, if it does: the one library routine that is known."""
        if len(self.result_types) != 1:
            return None
        return find_solver(self.call_target_name, self.inputs, (self.extra or {}).get("mhlo.backend_config", ""))

    @property
    def calls_native_code(self) -> bool:
        """Whether it runs a kernel's native code."""
        return self.call_target_name == NATIVE_TARGET

    @property
    def native(self) -> NativeMeaning | None:
        """The native code that it runs, if it does and that is known in this process."""
        return find_native(self.call_target_name, (self.extra or {}).get("mhlo.backend_config", ""))

    @property
    def no_derivative_because(self) -> str:
        if (native := self.native) is not None:
            return f"kernel {native.kernel} is machine code here: differentiate what launches it"
        if "python" in self.call_target_name and "callback" in self.call_target_name:
            return "it calls a function of Python, which has no derivative"
        return f"the call of {self.call_target_name} has no derivative"

    def infer(self) -> tuple[Type, ...]:
        return self.result_types

    def flops(self) -> int:
        """Those of a triangular solver, or of native code."""
        if (native := self.native) is not None:
            return native.flops
        if self.solver is None:
            return 0
        matrix, right = (value.tensor for value in self.inputs)
        return right.size * matrix.shape[0]

    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        solver, native = self.solver, self.native
        if native is not None:
            return native.evaluate(*arrays)
        if solver is None:
            raise NotImplementedError(f"nothing is known of {self.call_target_name}")
        return (solver.solve(*arrays),)

    def obeys(self, name: str) -> bool:
        """Always, as far as is known."""
        return True


class Opaque(TensorOp):
    """An op that Windlass does not know, kept whole and emitted unchanged.

    `operation` is its MLIR name; `attribute_texts` pairs of name and MLIR text; `bodies` its regions. As nothing is
    known of its effects, it is never removed, moved or shared.
    """

    operation: str
    inputs: tuple[Value, ...]
    result_types: tuple[Type, ...]
    attribute_texts: tuple[tuple[str, str], ...] = ()
    bodies: tuple[Region, ...] = ()
    is_pure: ClassVar[bool] = False

    def infer(self) -> tuple[Type, ...]:
        return self.result_types

    def mlir_attributes(self) -> dict[str, str]:
        return dict(self.attribute_texts)


class OpaqueTerminator(Opaque, Terminator):
    """An unknown op that ends a block, such as `sdy.return`."""

    def infer(self) -> tuple[Type, ...]:
        return ()
