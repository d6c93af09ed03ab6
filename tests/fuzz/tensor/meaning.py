"""What programs mean, and how far rounding may move it: they are run on NumPy, op by op, with or without noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


ROUNDING, ZEROS, NANS = "rounding", "signs of zeros", "signs of NaN"


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
    """Runs a program, with noise that tells what of its results may be otherwise.

    `ROUNDING` moves each result that is rounded by about `NOISE` units in the last place, and its zeros' signs. `ZEROS`
    are the signs of the zeros in all results, `NANS` those of the NaN that are computed: all negative for the seed 0,
    positive for 1 and of either sign for other seeds.
    """

    def __init__(self, module: Module | None = None, seed: int = 0, noise: frozenset[str] = frozenset()) -> None:
        self.module = module
        self.generator = np.random.default_rng(seed)
        self.noise = noise
        self.sign = {0: -1.0, 1: 1.0}.get(seed, 0.0)
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
        for result, each in zip(op.results, outcomes, strict=True):
            self.note(result.type, each)
            if self.noise and isinstance(result.type, TensorType) and (result.type.is_float or result.type.is_complex):
                each = self.disturbed(op, each)
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

    def disturbed(self, op: Op, array: Any) -> Array:
        """What the op gave, with the noise that there is."""
        is_rounded = ROUNDING in self.noise and rounds(op)
        if is_rounded:
            array = self.moved(array)
        if is_rounded or ZEROS in self.noise:
            # Sums in another order may end in the other zero: (-0) + (-0) is -0, -(0 + 0) with a 0 to begin with isn't.
            array = self.with_other_signs(array, lambda parts: parts == 0)
        if NANS in self.noise and (op.is_elementwise or rounds(op)):
            array = self.with_other_signs(array, np.isnan)
        return array

    def moved(self, array: Any) -> Array:
        """The array with each element moved a little."""
        array = np.asarray(array)
        step = min(NOISE * unit_of(array), 0.03)
        factor = 1 + step * self.generator.choice([-1.0, -0.6, 0.7, 1.0], array.shape)
        wide = np.complex128 if array.dtype.kind == "c" else np.float64
        return (array.astype(wide) * factor).astype(array.dtype)

    def with_other_signs(self, array: Any, are_meant: Callable[[Array], Array]) -> Array:
        """The array with the signs that the seed has for some of its numbers."""
        array = np.array(array, order="C")
        parts = array.reshape(-1).view(np.real(array).dtype)
        signs = self.sign or self.generator.choice([-1.0, 1.0], parts.shape)
        parts[...] = np.where(are_meant(parts), np.copysign(parts, np.asarray(signs, parts.dtype)), parts)
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


def exact_difference(expected: Array, found: Array, noisy: Sequence[Array] = ()) -> str:
    """What differs in any bit but the payload of NaN, in words; nothing where nothing does.

    Elements that differ among the results with noise may be anything.
    """
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
    bad = differing(expected, found)
    for each in noisy:
        bad &= ~differing(expected, each)
    return describe(expected, found, bad)


def differing(left: Array, right: Array) -> Array:
    """Where two arrays differ in any bit but those of NaN."""
    if left.dtype.kind == "c":
        return differing(np.real(left), np.real(right)) | differing(np.imag(left), np.imag(right))
    if left.dtype.kind in "iub":
        return np.asarray(left != right)
    left, right = left.astype(np.float64), right.astype(np.float64)
    same = (left == right) & (np.signbit(left) == np.signbit(right)) | np.isnan(left) & np.isnan(right)
    return np.asarray(~same)


def describe(expected: Array, found: Array, bad: Array) -> str:
    places = np.flatnonzero(bad)
    if not places.size:
        return ""
    first = places[:4]
    return f"{places.size} of {bad.size} differ, at {first.tolist()}: {found.flat[first]} for {expected.flat[first]}"
