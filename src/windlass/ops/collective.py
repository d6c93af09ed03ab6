"""Communication between devices. `evaluate` gives what a program on one device alone sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from windlass.ir.core import Op, Region
from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import Axes, axes_one_by_one
from windlass.ops.base import Array, OnNewAxis, TensorOp, later
from windlass.ops.combiners import combiner_of
from windlass.ops.evaluation import Scope
from windlass.ops.regions import check_reducer
from windlass.ops.sampling import Draw
from windlass.ops.spelling import ChannelHandle, Matrix

COMMUNICATED = frozenset({"f32", "i32"})


class Collective(TensorOp):
    """Base of the ops in which several devices take part."""

    on_new_axis: ClassVar[OnNewAxis] = {}

    def check_alone(self, groups: tuple[tuple[int, ...], ...]) -> None:
        """Raise NotImplementedError unless each group holds one device."""
        if any(len(group) != 1 for group in groups):
            raise NotImplementedError(f"{self.name} among several devices has no meaning on one device's arrays")

    def axes(self) -> Axes:
        return axes_one_by_one(self)

    def sample_array(self, draw: Draw, position: int) -> Array:
        """Ordinary values: XLA's collectives on the CPU drop NaN in minimum and maximum."""
        return draw.tame_array(self._operands[position].tensor)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type(draw.shape(least_rank=1, least_size=1), draw.dtype(COMMUNICATED)),)


class AllReduce(Collective):
    """Each operand combined, by `computation`, over the devices of each group."""

    name = "stablehlo.all_reduce"
    inputs: tuple[Value, ...]
    replica_groups: Matrix
    computation: Region
    channel_handle: ChannelHandle = None
    use_global_device_ids: bool = False
    needs_scope: ClassVar[bool] = True

    def mlir_attributes(self) -> dict[str, str]:
        return unit_flag(super().mlir_attributes())

    def infer(self) -> tuple[Type, ...]:
        if not self.inputs:
            self.fault("I1", "there are no operands")
        shapes = [value.shape for value in self.inputs]
        dtypes = check_reducer(self, self.computation, [value.dtype for value in self.inputs][:1], "C5")
        return tuple(tensor_type(shape, dtypes[0]) for shape in shapes)

    @property
    def combiner(self) -> type[Op] | None:
        """The class of the binary op that the computation applies, if it is one op."""
        return combiner_of(self.computation)

    def evaluate(self, *arrays: Array, scope: Scope | None = None) -> tuple[Array, ...]:
        self.check_alone(self.replica_groups)
        return arrays

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        from windlass.ops.combiners import sample_reducer

        return {"replica_groups": ((0,),), "computation": sample_reducer(draw, [operand_types[0].dtype])}


class AllGather(Collective):
    """The operands of the group's devices, one after another along all_gather_dim, on every device.

    `group_size` says how many there are: in MLIR the result type tells.
    """

    name = "stablehlo.all_gather"
    limbs: ClassVar[str] = "each"
    inputs: tuple[Value, ...]
    all_gather_dim: int
    replica_groups: Matrix
    group_size: int
    channel_handle: ChannelHandle = None
    use_global_device_ids: bool = False
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"group_size"})
    on_new_axis: ClassVar[OnNewAxis] = {"all_gather_dim": later}

    def mlir_attributes(self) -> dict[str, str]:
        return unit_flag(super().mlir_attributes())

    @classmethod
    def fields_from_mlir(cls, texts: Mapping[str, str], result_types: tuple[Type, ...]) -> dict[str, Any]:
        return fields_with_group_size(cls, texts)

    def infer(self) -> tuple[Type, ...]:
        types: list[Type] = []
        for value in self.inputs:
            shape = list(value.shape)
            if not 0 <= self.all_gather_dim < len(shape):
                self.fault("C1", f"dimension {self.all_gather_dim} of {value.type}")
            shape[self.all_gather_dim] *= self.group_size
            types.append(tensor_type(tuple(shape), value.dtype))
        return tuple(types)

    def axes(self) -> Axes:
        return axes_one_by_one(self, {self.all_gather_dim})

    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        self.check_alone(self.replica_groups)
        return arrays

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        axis = draw.integer(0, operand_types[0].rank - 1)
        return {"all_gather_dim": axis, "replica_groups": ((0,),), "group_size": 1}


class ReduceScatter(Collective):
    """The operand combined over the group's devices, each of which keeps its part along scatter_dimension."""

    name = "stablehlo.reduce_scatter"
    operand: Value
    scatter_dimension: int
    replica_groups: Matrix
    computation: Region
    group_size: int
    channel_handle: ChannelHandle = None
    use_global_device_ids: bool = False
    needs_scope: ClassVar[bool] = True
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"group_size"})
    on_new_axis: ClassVar[OnNewAxis] = {"scatter_dimension": later}

    def mlir_attributes(self) -> dict[str, str]:
        return unit_flag(super().mlir_attributes())

    @classmethod
    def fields_from_mlir(cls, texts: Mapping[str, str], result_types: tuple[Type, ...]) -> dict[str, Any]:
        return fields_with_group_size(cls, texts)

    def infer(self) -> Type:
        shape = list(self.operand.shape)
        axis = self.scatter_dimension
        if not 0 <= axis < len(shape):
            self.fault("C2", f"dimension {axis} of {self.operand.type}")
        divides = self.group_size > 0 and shape[axis] % self.group_size == 0
        if not divides:
            self.fault("C8", f"{shape[axis]} elements for {self.group_size} devices")
        shape[axis] //= self.group_size
        (dtype,) = check_reducer(self, self.computation, [self.operand.dtype], "C7")
        return tensor_type(tuple(shape), dtype)

    def axes(self) -> Axes:
        return axes_one_by_one(self, {self.scatter_dimension})

    def evaluate(self, operand: Array, scope: Scope | None = None) -> Array:
        self.check_alone(self.replica_groups)
        return operand

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        from windlass.ops.combiners import sample_reducer

        return {
            "scatter_dimension": draw.integer(0, operand_types[0].rank - 1),
            "replica_groups": ((0,),),
            "computation": sample_reducer(draw, [operand_types[0].dtype]),
            "group_size": 1,
        }


class AllToAll(Collective):
    """Each device splits its operand along split_dimension, sends one part to each, joins along concat_dimension."""

    name = "stablehlo.all_to_all"
    limbs: ClassVar[str] = "each"
    inputs: tuple[Value, ...]
    split_dimension: int
    concat_dimension: int
    split_count: int
    replica_groups: Matrix
    channel_handle: ChannelHandle = None
    on_new_axis: ClassVar[OnNewAxis] = {"split_dimension": later, "concat_dimension": later}

    def infer(self) -> tuple[Type, ...]:
        types: list[Type] = []
        for value in self.inputs:
            shape = list(value.shape)
            inside = 0 <= self.split_dimension < len(shape) and 0 <= self.concat_dimension < len(shape)
            if not inside:
                self.fault("C1", f"dimensions of {value.type}")
            divides = self.split_count > 0 and shape[self.split_dimension] % self.split_count == 0
            if not divides:
                self.fault("C2", f"{shape[self.split_dimension]} elements in {self.split_count} parts")
            shape[self.split_dimension] //= self.split_count
            shape[self.concat_dimension] *= self.split_count
            types.append(tensor_type(tuple(shape), value.dtype))
        return tuple(types)

    def axes(self) -> Axes:
        return axes_one_by_one(self, {self.split_dimension, self.concat_dimension})

    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        self.check_alone(self.replica_groups)
        return arrays

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        rank = operand_types[0].rank
        return {
            "split_dimension": draw.integer(0, rank - 1),
            "concat_dimension": draw.integer(0, rank - 1),
            "split_count": 1,
            "replica_groups": ((0,),),
        }


class CollectivePermute(Collective):
    """Each device's operand sent along source_target_pairs; zeros where none arrives."""

    name = "stablehlo.collective_permute"
    limbs: ClassVar[str] = "each"
    operand: Value
    source_target_pairs: Matrix
    channel_handle: ChannelHandle = None

    def infer(self) -> Type:
        for constraint, column in (("C2", 0), ("C3", 1)):
            devices = [pair[column] for pair in self.source_target_pairs]
            if len(set(devices)) != len(devices):
                self.fault(constraint, f"{devices} repeats a device")
        return self.operand.type

    def evaluate(self, operand: Array) -> Array:
        if any(pair != (0, 0) for pair in self.source_target_pairs):
            raise NotImplementedError(f"{self.name} among several devices has no meaning on one device's arrays")
        return operand if self.source_target_pairs else np.zeros_like(operand)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        return {"source_target_pairs": ((0, 0),)}


class CollectiveBroadcast(Collective):
    """The operand of each group's first device, on all devices of the group."""

    name = "stablehlo.collective_broadcast"
    limbs: ClassVar[str] = "each"
    operand: Value
    replica_groups: Matrix
    channel_handle: ChannelHandle = None

    def infer(self) -> Type:
        return self.operand.type

    def evaluate(self, operand: Array) -> Array:
        self.check_alone(self.replica_groups)
        return operand

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        return {"replica_groups": ((0,),)}


class DeviceNumber(TensorOp):
    """Base of the ops that tell which device this is."""

    def infer(self) -> Type:
        return tensor_type((), "ui32")

    def evaluate(self) -> Array:
        return np.array(0, np.uint32)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return ()


class PartitionId(DeviceNumber):
    """The number of this device's partition."""

    name = "stablehlo.partition_id"


class ReplicaId(DeviceNumber):
    """The number of this device's replica."""

    name = "stablehlo.replica_id"


def unit_flag(texts: dict[str, str]) -> dict[str, str]:
    """use_global_device_ids is a unit attribute: present or absent."""
    if texts.pop("use_global_device_ids", "false") == "true":
        texts["use_global_device_ids"] = "unit"
    return texts


def fields_with_group_size(cls: type[TensorOp], texts: Mapping[str, str]) -> dict[str, Any]:
    """The fields from MLIR, with the size of the groups."""
    from windlass.ops.spelling import decode

    fields = {
        field.name: decode(field.annotation, texts[field.name])
        for field in cls.fields
        if field.kind == "attribute" and field.name in texts
    }
    fields["use_global_device_ids"] = "use_global_device_ids" in texts
    fields["group_size"] = max((len(group) for group in fields["replica_groups"]), default=1)
    return fields
