"""Random numbers. Which numbers come is XLA's business, so these ops have no `evaluate`."""

from __future__ import annotations

from typing import Any, ClassVar

from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.base import TensorOp
from windlass.ops.sampling import Draw
from windlass.ops.spelling import RngAlgorithm, RngDistribution


class Rng(TensorOp):
    """Random numbers, uniform from a to b or normal with mean a and deviation b. `dims` holds the result's shape.

    The result's shape is an attribute here, as it can't be inferred: in MLIR it is in the type.
    """

    name = "stablehlo.rng"
    a: Value
    b: Value
    dims: Value
    rng_distribution: RngDistribution
    shape: tuple[int, ...]  # pyright: ignore[reportIncompatibleMethodOverride]
    is_pure: ClassVar[bool] = False
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"shape"})

    def infer(self) -> Type:
        same = self.a.type is self.b.type and self.a.tensor.rank == 0
        if not same:
            self.fault("C1", f"the limits are {self.a.type} and {self.b.type}")
        return tensor_type(self.shape, self.a.dtype)


class RngBitGenerator(TensorOp):
    """The generator's next state, and random bits of the given shape and element type."""

    name = "stablehlo.rng_bit_generator"
    initial_state: Value
    rng_algorithm: RngAlgorithm
    shape: tuple[int, ...]  # pyright: ignore[reportIncompatibleMethodOverride]
    dtype: str  # pyright: ignore[reportIncompatibleMethodOverride]
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"shape", "dtype"})

    def infer(self) -> tuple[Type, ...]:
        state = self.initial_state.tensor
        if state.rank != 1:
            self.fault("C2", f"the state is {state}")
        return (state, tensor_type(self.shape, self.dtype))

    @classmethod
    def fields_from_mlir(cls, texts: Any, result_types: tuple[Type, ...]) -> dict[str, Any]:
        from windlass.ops.spelling import decode

        output = result_types[1]
        assert isinstance(output, TensorType)
        algorithm = decode("RngAlgorithm", texts["rng_algorithm"])
        return {"rng_algorithm": algorithm, "shape": output.shape, "dtype": output.dtype}

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type((2,), "ui64"),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        return {
            "rng_algorithm": draw.choose(("DEFAULT", "THREE_FRY", "PHILOX")),
            "shape": draw.shape(),
            "dtype": draw.choose(("ui32", "ui64")),
        }
