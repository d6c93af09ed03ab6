"""What programs mean, and how far rounding may move it: they are run on NumPy, op by op, with or without noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from windlass import ops
from windlass.ir import Block, Function, Module, Op, Region, TensorType, Type, Value
from windlass.ops.evaluation import Scope

Array = NDArray[Any]

MOST_ROUNDS = 60_000
"""How many regions may be run: more is taken for a loop without end."""

NOISE = 2**12
"""Units in the last place by which results are moved: much more than rounding, little enough to stay small."""

NOISELESS = (
    ops.Abs, ops.Ceil, ops.Clamp, ops.Complex, ops.Conj, ops.Floor, ops.Imag, ops.Maximum, ops.Minimum, ops.Negate,
    ops.Real, ops.RoundNearestAfz, ops.RoundNearestEven, ops.Select, ops.Sign, ops.BitcastConvert, ops.Compare,
)  # fmt: skip
"""Elementwise ops that don't round."""


class Endless(Exception):
    """A loop goes on for too long."""


def rounds(op: Op) -> bool:
    """Whether the op's results are rounded."""
    if isinstance(op, ops.Convert):
        return op.operand.tensor.is_float
    if op.is_elementwise:
        return not isinstance(op, NOISELESS)
    return bool(op.regions) or op.flops() > 0


class Meaning:
    """Runs a program.

    With `seed`, each result that is rounded is moved by about `NOISE` units in the last place, and zeros among them are
    all negative for 0, positive for 1 and of either sign for other seeds; those of all results, if it isn't so that
    `zeros_have_signs`.
    """

    def __init__(self, module: Module | None = None, seed: int | None = None, zeros_have_signs: bool = True) -> None:
        self.module = module
        self.generator = None if seed is None else np.random.default_rng(seed)
        self.zeros_have_signs = zeros_have_signs
        self.signs_of_zeros = {0: -1.0, 1: 1.0}.get(-1 if seed is None else seed, 0.0)
        self.left = MOST_ROUNDS
        self.has_nan = False
        """A NaN was computed on the way."""
        self.has_infinity = False
        self.has_negative_zero = False
        self.largest: dict[str, float] = {}
        """The largest finite numbers that were computed, by element type."""

    def of_function(self, function: Function, arrays: Sequence[Array]) -> list[Array]:
        """What the function returns.

        Raises NotImplementedError at ops that have no meaning on arrays alone, Endless where a loop does not end.
        """
        for argument, array in zip(function.arguments, arrays, strict=True):
            self.note(argument.type, array)
        with np.errstate(all="ignore"):
            return [np.asarray(each) for each in self.of_block(function.body, arrays, {})]

    def list_true_assumptions(self) -> frozenset[str]:
        """What could have been granted of the numbers in the program that was run."""
        found = {"no NaN": not self.has_nan, "no -0.0": not self.has_negative_zero}
        found["finite"] = not (self.has_nan or self.has_infinity)
        return frozenset(name for name, is_true in found.items() if is_true)

    def of_block(self, block: Block, arrays: Sequence[Any], outside: dict[Value, Any]) -> tuple[Any, ...]:
        values = dict(outside)
        values.update(zip(block.arguments, arrays, strict=True))
        for op in block:
            if op is block.last:
                break
            self.run(op, values)
        return tuple(values[operand] for operand in block.terminator.operands)

    def run(self, op: Op, values: dict[Value, Any]) -> None:
        """Evaluate one op and enter its results."""
        operands = [values[operand] for operand in op.operands]
        if isinstance(op, ops.Call):
            assert self.module is not None
            outcome: Any = self.of_block(self.module.functions[op.callee].body, operands, {})
        elif getattr(op, "needs_scope", False):
            outcome = op.evaluate(*operands, scope=_Scope(self, values))
        else:
            outcome = op.evaluate(*operands)
        outcomes = outcome if isinstance(outcome, tuple) else (outcome,)
        is_moved = self.generator is not None and rounds(op)
        for result, each in zip(op.results, outcomes, strict=True):
            self.note(result.type, each)
            if isinstance(result.type, TensorType) and (result.type.is_float or result.type.is_complex):
                if is_moved:
                    each = self.moved(each)
                elif self.generator is not None and not self.zeros_have_signs:
                    each = self.with_other_zeros(each)
            values[result] = each

    def note(self, type_: Type, array: Any) -> None:
        """Remember what kinds of numbers there are."""
        if not isinstance(type_, TensorType) or not (type_.is_float or type_.is_complex):
            return
        wide, dtype = np.asarray(array).astype(np.complex128 if type_.is_complex else np.float64), type_.dtype
        sizes = np.abs(wide)
        if np.isnan(sizes).any():
            self.has_nan = True
        self.has_infinity = self.has_infinity or bool(np.isinf(sizes).any())
        parts = wide.reshape(-1).view(np.float64)
        self.has_negative_zero = self.has_negative_zero or bool((np.signbit(parts) & (parts == 0)).any())
        top = float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))
        self.largest[dtype] = max(self.largest.get(dtype, 0.0), top)

    def moved(self, array: Any) -> Array:
        """The array with each element moved a little."""
        assert self.generator is not None
        array = np.asarray(array)
        step = min(NOISE * unit_of(array), 0.03)
        factor = 1 + step * self.generator.choice([-1.0, -0.6, 0.7, 1.0], array.shape)
        wide = np.complex128 if array.dtype.kind == "c" else np.float64
        # Sums in another order may end in the other zero: (-0) + (-0) is -0, -(0 + 0) with a 0 to begin with isn't.
        return self.with_other_zeros((array.astype(wide) * factor).astype(array.dtype))

    def with_other_zeros(self, array: Any) -> Array:
        """The array with signs for its zeros as the seed has them."""
        assert self.generator is not None
        array = np.array(array, order="C")
        parts = array.reshape(-1).view(np.real(array).dtype)
        signs = self.signs_of_zeros or self.generator.choice([-1.0, 1.0], parts.shape)
        parts[...] = np.where(parts == 0, np.copysign(parts, signs), parts)
        return array


class _Scope(Scope):
    """What a region sees around it, run with the same noise."""

    __slots__ = ("meaning",)

    def __init__(self, meaning: Meaning, values: dict[Value, Any]) -> None:
        super().__init__(values, meaning.module)
        self.meaning = meaning

    def run(self, region: Region, *arrays: Any) -> tuple[Any, ...]:
        self.meaning.left -= 1
        if self.meaning.left < 0:
            raise Endless
        return self.meaning.of_block(region.block, arrays, self.values)


def unit_of(array: Array) -> float:
    """The unit in the last place of 1."""
    real = np.real(array).dtype
    return float(ml_dtypes.finfo(real).eps)


def find_slack(expected: Array, noisy: Sequence[Array], largest: float) -> tuple[Array, Array]:
    """How far each element may be from the expected one, and which elements may be anything.

    `noisy` are the results with noise, `largest` is the largest number that was computed in this element type.
    """
    if expected.dtype.kind in "iub":
        free = np.zeros(expected.shape, bool)
        for each in noisy:
            free |= each != expected
        return np.zeros(expected.shape), free
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    centre = expected.astype(wide)
    slack = np.abs(centre) * 64 * unit_of(expected) + 16 * unit_of(expected) * min(largest, 1e30)
    free = ~np.isfinite(centre)
    with np.errstate(all="ignore"):
        for each in noisy:
            apart = np.abs(each.astype(wide) - centre)
            free |= ~np.isfinite(apart)
            slack = np.maximum(slack, 4 * apart)
    return slack, free


def first_difference(expected: Array, found: Array, slack: Array, free: Array) -> str:
    """What differs by more than the slack, in words; nothing where nothing does."""
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
    if expected.dtype.kind in "iub":
        bad = (expected != found) & ~free
    else:
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            apart = np.abs(expected.astype(wide) - found.astype(wide))
        bad = ~(apart <= slack) & ~free
    return describe(expected, found, bad)


def exact_difference(expected: Array, found: Array) -> str:
    """What differs in any bit but the payload of NaN, in words; nothing where nothing does."""
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
    if expected.dtype.kind == "c":
        return exact_difference(np.real(expected), np.real(found)) or exact_difference(
            np.imag(expected), np.imag(found)
        )
    if expected.dtype.kind in "iub":
        return describe(expected, found, expected != found)
    left, right = expected.astype(np.float64), found.astype(np.float64)
    same = (left == right) & (np.signbit(left) == np.signbit(right)) | np.isnan(left) & np.isnan(right)
    return describe(expected, found, ~same)


def describe(expected: Array, found: Array, bad: Array) -> str:
    places = np.flatnonzero(bad)
    if not places.size:
        return ""
    first = places[:4]
    return f"{places.size} of {bad.size} differ, at {first.tolist()}: {found.flat[first]} for {expected.flat[first]}"
