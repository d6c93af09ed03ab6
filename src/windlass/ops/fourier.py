"""The discrete Fourier transform."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import scipy  # its parts are loaded when they are first used: that takes longer than all of this package

from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import Axes, axes_in_place
from windlass.ops.base import COMPLEX, COMPLEX_OF_PART, PART_OF_COMPLEX, Array, BroadcastInDim, OnNewAxis, TensorOp
from windlass.ops.complex import Conj, Real
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Multiply
from windlass.ops.movement import Pad
from windlass.ops.sampling import Draw, Unsuitable
from windlass.ops.spelling import FFTType


class Fft(TensorOp):
    """The transform over the last one to three axes: FFT, IFFT (scaled by 1/n), RFFT (real to half) or IRFFT."""

    name = "stablehlo.fft"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand"}),)
    is_contraction: ClassVar[bool] = True
    operand: Value
    fft_type: FFTType
    fft_length: tuple[int, ...]
    on_new_axis: ClassVar[OnNewAxis] = {}

    def infer(self) -> Type:
        type_, lengths = self.operand.tensor, self.fft_length
        if len(lengths) > type_.rank:
            self.fault("C1", f"{len(lengths)} axes of an operand of rank {type_.rank}")
        if not 1 <= len(lengths) <= 3:
            self.fault("C3", f"a transform over {len(lengths)} axes")
        batch, sizes = type_.shape[: -len(lengths)], type_.shape[-len(lengths) :]
        half = (*lengths[:-1], lengths[-1] // 2 + 1 if lengths[-1] else 0)
        if self.fft_type == "RFFT":
            if not (type_.dtype in COMPLEX_OF_PART and sizes == lengths):
                self.fault("C4", f"{type_} with {lengths}")
            return tensor_type((*batch, *half), COMPLEX_OF_PART[type_.dtype])
        if type_.dtype not in COMPLEX:
            self.fault("C2", f"{self.fft_type} does not take {type_}")
        if self.fft_type == "IRFFT":
            if sizes != half:
                self.fault("C5", f"{type_} with {lengths}")
            return tensor_type((*batch, *lengths), PART_OF_COMPLEX[type_.dtype])
        if sizes != lengths:
            self.fault("C4", f"{type_} with {lengths}")
        return type_

    def axes(self) -> Axes:
        rank = self.operand.tensor.rank
        return axes_in_place(self, range(rank - len(self.fft_length), rank))

    def evaluate(self, operand: Array) -> Array:
        axes = tuple(range(-len(self.fft_length), 0))
        if self.tensor.size == 0:
            return np.zeros(self.tensor.shape, self.tensor.numpy_dtype)
        functions: dict[str, Any] = {
            "FFT": scipy.fft.fftn,
            "IFFT": scipy.fft.ifftn,
            "RFFT": scipy.fft.rfftn,
            "IRFFT": scipy.fft.irfftn,
        }
        return np.asarray(functions[self.fft_type](operand, self.fft_length, axes)).astype(self.tensor.numpy_dtype)

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        (cotangent,) = cotangents
        lengths = self.fft_length
        if not cotangent.tensor.size:
            return Constant.splat(0, self.operand.type)
        if self.fft_type in ("FFT", "IFFT"):
            return Fft(cotangent, self.fft_type, lengths)
        none = (0,) * cotangent.tensor.rank
        if self.fft_type == "RFFT":
            # What is not given of the transform is as if it were cut away.
            missing = (*none[1:], lengths[-1] - cotangent.shape[-1])
            zero = Constant.of(0, cotangent.dtype)
            whole = Pad(cotangent, zero, none, missing, none) if missing[-1] else cotangent
            return Real(Fft(whole, "FFT", lengths))
        # All numbers but the first, and the last of an even length, stand for two.
        found = Fft(cotangent, "RFFT", lengths)
        factors = np.full(found.shape[-1], 2 / math.prod(lengths))
        factors[0] /= 2
        if lengths[-1] % 2 == 0:
            factors[-1] /= 2
        scale = BroadcastInDim(Constant.of(factors, found.dtype), found.shape, (found.tensor.rank - 1,))
        return Conj(Multiply(found, scale))

    def flops(self) -> int:
        """Five times n·log2(n) for each transform of complex numbers, about half of it for one of real numbers."""
        count, elements = math.prod(self.fft_length), min(self.operand.tensor.size, self.tensor.size)
        return int(5 * elements * max(math.log2(max(count, 1)), 1))

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type(draw.shape(1, 3, 1), draw.dtype(("f32", "f64", "complex<f32>", "complex<f64>"))),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        (type_,) = operand_types
        if not type_.rank:
            raise Unsuitable("there is no axis to transform")
        count = draw.integer(1, min(type_.rank, 3))
        sizes = type_.shape[-count:]
        if not type_.is_complex:
            return {"fft_type": "RFFT", "fft_length": sizes}
        kind = draw.choose(("FFT", "IFFT", "IRFFT"))
        if kind != "IRFFT":
            return {"fft_type": kind, "fft_length": sizes}
        last = (sizes[-1] - 1) * 2 + draw.integer(0, 1)
        return {"fft_type": kind, "fft_length": (*sizes[:-1], max(last, 1))}

    def sample_array(self, draw: Draw, position: int) -> Array:
        return draw.tame_array(self._operands[position].tensor)
