"""One op of a program, alone: its values and derivatives, and what its results are beside the point where it stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.autodiff.activity import is_differentiable
from windlass.autodiff.forward import tangent_function
from windlass.autodiff.reverse import pullback_function
from windlass.autodiff.widening import widened_function
from windlass.facts.terms import sources
from windlass.ir import Block, Builder, Function, Op
from windlass.ops import Add, CustomDerivative, DotGeneral, Return, Scatter, Subtract
from windlass.ops.reduction import Folding
from windlass.rewriting.inlining import inline_custom_derivatives

Array: TypeAlias = NDArray[Any]
Run: TypeAlias = "Callable[[Function, Sequence[Array]], Sequence[Array]]"
"""How a function is run on arrays of the types of its arguments."""

STEPS = (1e-6, 1e-4, 1e-5, 1e-7, 1e-3, 1e-8)
"""By how much of their size operands are moved; the nearest difference counts."""
BIG_STEP, SMALL_STEP = 1e-6, 1e-8
"""What is seen at both is no matter of curvature."""


class LocalProgram:
    """An op alone, as a function of what it takes: its values, tangents and cotangents, in double precision.

    A rule of the user is asked in the precision that it is for.
    """

    def __init__(self, op: Op, run: Run) -> None:
        self.op = op
        self.run = run
        self.inputs = list(dict.fromkeys(sources(op)))
        block = Block([value.type for value in self.inputs])
        with Builder(block):
            made = op.clone(dict(zip(self.inputs, block.arguments, strict=True)))
            Return(made.results)
        narrow = Function(type(op).__name__, block)
        self.is_custom = isinstance(op, CustomDerivative)
        self.wide = widened_function(without_rules(narrow))
        self.derivable = narrow if self.is_custom else self.wide
        self.differentiable = [place for place, result in enumerate(op.results) if is_differentiable(result.type)]
        self._derived: dict[Any, Function] = {}

    def values(self, arrays: Sequence[Array]) -> list[Array]:
        return self._run(self.wide, arrays)

    def tangents(self, arrays: Sequence[Array], active: tuple[int, ...], moved: Sequence[Array]) -> list[Array] | None:
        """What the results change by; None where the rule is for reverse mode alone. Raises NoDerivative."""
        made = self._function(tangent_function, active)
        if any(isinstance(op, CustomDerivative) and op.rule.primal is None for op in made.walk()):
            return None
        return self._run(made, [*arrays, *moved])

    def cotangents(self, arrays: Sequence[Array], active: tuple[int, ...], given: Sequence[Array]) -> list[Array]:
        return self._run(self._function(pullback_function, active), [*arrays, *given])

    def _function(self, derive: Callable[[Function, Sequence[int]], Function], active: tuple[int, ...]) -> Function:
        found = self._derived.get((derive, active))
        if found is None:
            found = self._derived[derive, active] = derive(self.derivable, active)
        return found

    def _run(self, function: Function, arrays: Sequence[Array]) -> list[Array]:
        pairs = zip(arrays, function.arguments, strict=True)
        given = [np.asarray(array).astype(argument.tensor.numpy_dtype, copy=False) for array, argument in pairs]
        with np.errstate(all="ignore"):
            return [np.asarray(each) for each in self.run(function, given)]


def without_rules(function: Function) -> Function:
    """The function, in which functions with rules of their own are what they do."""
    function = function.clone()
    while any(isinstance(op, CustomDerivative) and op.rule.primal is not None for op in function.walk()):
        inline_custom_derivatives(function.body)
    return function


class Sides:
    """The results of an op beside the point where it stands, along its operands' tangents."""

    def __init__(self, local: LocalProgram, arrays: list[Array], active: tuple[int, ...], given: list[Array]) -> None:
        self.local, self.arrays, self.active, self.given = local, arrays, active, given
        pairs = zip(local.inputs, arrays, strict=True)
        self.floats = [np.asarray(array) for value, array in pairs if is_differentiable(value.type)]
        self._at: dict[float, Any] = {}
        self._size = self._find_size()
        self._most = self._find_most()

    def _find_size(self) -> Array:
        """How far along the tangents operands double: for each element of an elementwise op, else for all at once."""
        shapes = {np.shape(array) for array in self.given}
        each = self.local.op.is_elementwise and shapes == {np.shape(result) for result in self._result_shapes()}
        found: Array | None = None
        for place, tangent in zip(self.active, self.given, strict=True):
            size, speed = np.abs(self.arrays[place]), np.abs(tangent)
            size = np.where(np.isfinite(size), size, 0)
            whole = float(size.max(initial=0)) or 1.0
            if each:
                reach = np.where(size > 0, size, whole) / np.where(speed > 0, speed, 1)
                reach = np.where(speed > 0, reach, np.inf)
            else:
                reach = np.asarray(whole / (float(speed.max(initial=0)) or 1.0))
            found = reach if found is None else np.minimum(found, reach)
        assert found is not None
        return np.where(np.isfinite(found) & (found > 0), found, 1.0)

    def _find_most(self) -> float:
        """The largest number that is added up: what it is rounded by may be more than a small sum holds."""
        if not isinstance(self.local.op, Add | Subtract | Folding | DotGeneral | Scatter):
            return 0.0
        sizes = [float(np.max(np.abs(each), initial=0, where=np.isfinite(each))) for each in self.floats]
        return math.prod(sizes) if isinstance(self.local.op, DotGeneral) else max(sizes, default=0.0)

    def _result_shapes(self) -> list[Array]:
        return [np.empty(result.tensor.shape) for result in self.local.op.results]

    def at(self, step: float) -> Any:
        """The results after and before a step, each with how far it is along the tangents."""
        found = self._at.get(step)
        if found is None:
            length = self._size * step
            found = self._at[step] = tuple((self._moved(sign * length), length) for sign in (1, -1))
        return found

    def _moved(self, length: Array) -> list[Array]:
        arrays = list(self.arrays)
        for place, tangent in zip(self.active, self.given, strict=True):
            arrays[place] = np.asarray(arrays[place]) + length * tangent
        return self.local.values(arrays)

    def compare(self, place: int, tangent: Array | None, tolerance: float) -> tuple[Array, Array]:
        """The difference that comes nearest to the tangent, and where none is near."""
        best: Array | None = None
        error: Array | None = None
        parts = np.asarray(True)
        for step in STEPS:
            (after, length), (before, _) = self.at(step)
            with np.errstate(all="ignore"):
                difference = (after[place] - before[place]) / (2 * length)
                if tangent is None:
                    return difference, np.zeros(np.shape(difference), bool)
                rounded = np.abs(after[place]) + np.abs(before[place]) + 2 * self._most
                noise = 8 * np.finfo(np.float64).eps * rounded / length
                size = np.abs(tangent) + np.abs(difference)
                most = float(np.max(np.abs(tangent), initial=0, where=np.isfinite(tangent)))
                off = np.abs(difference - tangent)
                near = off <= tolerance * (size + 0.1 * most) + noise
            parts = parts & ~near
            off = np.where(np.isfinite(off), off, np.inf)
            if best is None or error is None:
                best, error = difference, off
            else:
                best, error = np.where(off < error, difference, best), np.minimum(off, error)
            if not np.any(parts):
                break
        assert best is not None
        return best, np.broadcast_to(parts, np.shape(best)).copy()

    def breaks(self, place: int, result: Array) -> tuple[Array, Array]:
        """Where the value jumps, and where the slope does."""
        slopes: list[tuple[Array, Array]] = []
        gaps: list[Array] = []
        with np.errstate(all="ignore"):
            for step in (BIG_STEP, SMALL_STEP):
                (after, length), (before, _) = self.at(step)
                slopes.append(((after[place] - result) / length, (result - before[place]) / length))
                gaps.append(np.abs(after[place] - before[place]))
            (_, length), _ = self.at(SMALL_STEP)
            noise = 16 * np.finfo(np.float64).eps * (np.abs(result) + self._most) / length
            # Smooth values come nearer to each other as the step shrinks to a hundredth.
            jumps = (gaps[1] > 0.5 * gaps[0]) & (gaps[1] > 1e-9 * np.abs(result)) & (gaps[1] > noise * length * 100)
            kinks = np.ones(np.shape(result), bool)
            for right, left in slopes:
                kinks &= np.abs(right - left) > 1e-3 * (np.abs(right) + np.abs(left)) + noise
            wide, close = (np.abs(right - left) for right, left in slopes)
            kinks &= (close > 0.5 * wide) & ~jumps
        return jumps, kinks
