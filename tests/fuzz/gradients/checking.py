"""Holds the derivatives of a program to one another, to differences in double precision, and to those of JAX."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.tensor.meaning import ROUNDING, Endless, Meaning, find_slack
from windlass.autodiff import NoDerivative, pullback_function, tangent_function
from windlass.autodiff.activity import is_differentiable
from windlass.autodiff.local_programs import without_rules
from windlass.autodiff.widening import widened_function
from windlass.ir import Function
from windlass.ops import MissingDerivative

Array = NDArray[Any]
Arrays = Sequence[Array]

STEPS = (1e-4, 1e-5, 1e-6)
"""By how much of their size arguments are moved."""
MOST_ROUNDS = 500
"""Of loops in one run."""
NOISES = 4
CLOSE, EXACT = 1e-4, 1e-7
"""How far derivatives may part, relatively: one and a difference, two of double precision."""


@dataclass(frozen=True)
class Outcome:
    """What came of a program.

    `kind` is "same", "unfit" (there is nothing to compare, and `message` says why), "refused" (it has no derivative,
    for the reason in `message`), "wrong", or "fault" (an exception that is not for users).
    """

    kind: str
    message: str = ""
    compared: frozenset[str] = frozenset()
    """What the derivatives were held to."""

    @property
    def is_bad(self) -> bool:
        return self.kind in ("wrong", "fault")

    def is_like(self, other: Outcome) -> bool:
        """Whether it's the same trouble, as far as one can tell: its first words are the same."""
        return self.kind == other.kind and self.message[:30] == other.message[:30]


class Unfit(Exception):
    """The program has no derivatives that could be compared."""


class Wrong(Exception):
    """Derivatives part."""


@dataclass(frozen=True)
class Subject:
    """A program as it is differentiated, at a point; `outside` computes the same without any of our compiler."""

    function: Function
    arrays: tuple[Array, ...]
    outside: Callable[[Arrays], Arrays] | None = None
    """The first of the differentiable results, for arguments in double precision."""
    pulled_by_jax: Callable[[Arrays, Arrays], Arrays] | None = None
    """The cotangents of the active arguments for arguments, and cotangents of the differentiable results."""


def check(make: Callable[[], Subject], seed: int) -> Outcome:
    """Make a subject and compare its derivatives, in directions of that seed."""
    try:
        with np.errstate(all="ignore"):
            comparison = _Comparison(make(), seed)
            comparison.compare()
    except (Unfit, Endless, NotImplementedError) as error:
        return Outcome("unfit", str(error) or "its loops are long")
    except NoDerivative as error:
        return Outcome("refused", error.reason)
    except Wrong as error:
        return Outcome("wrong", str(error))
    except Exception as error:
        return Outcome("fault", f"{type(error).__name__}: {error}")
    return Outcome("same", "", frozenset(comparison.compared))


class _Comparison:
    def __init__(self, subject: Subject, seed: int) -> None:
        self.subject, self.seed = subject, seed
        self.generator = np.random.default_rng(seed)
        self.narrow = subject.function
        self.arrays = [np.asarray(array) for array in subject.arrays]
        self.active = [place for place, each in enumerate(self.narrow.arguments) if is_differentiable(each.type)]
        self.given = [place for place, each in enumerate(self.narrow.results) if is_differentiable(each.type)]
        if not self.active or not self.given:
            raise Unfit("takes no floats" if not self.active else "gives no floats")
        self.wide = widened_function(without_rules(self.narrow))
        self.wide_arrays = [
            array.astype(argument.tensor.numpy_dtype)
            for array, argument in zip(self.arrays, self.wide.arguments, strict=True)
        ]
        self.compared: set[str] = set()

    def compare(self) -> None:
        """Raises Wrong where derivatives part."""
        narrow_values = _run(self.narrow, self.arrays)
        wide_values = _run(self.wide, self.wide_arrays)
        self.is_finite = [np.isfinite(_wide(narrow_values[p])) & np.isfinite(_wide(wide_values[p])) for p in self.given]
        if not any(np.any(each) for each in self.is_finite):
            raise Unfit("nothing is finite")
        narrow_forward, wide_forward = (_derived(tangent_function, each, self.active) for each in self._both)
        narrow_reverse, wide_reverse = (_derived(pullback_function, each, self.active) for each in self._both)
        # Directions are numbers of the program's own types, so that both precisions take the same.
        moved = [
            self._direction(self.wide_arrays[place])
            .astype(self.arrays[place].dtype)
            .astype(_wide(self.arrays[place]).dtype)
            for place in self.active
        ]
        weights = [
            np.where(is_finite, _wide(self._direction(np.ones(is_finite.shape, like.dtype)).astype(like.dtype)), 0)
            for like, is_finite in zip((narrow_values[place] for place in self.given), self.is_finite, strict=True)
        ]
        tangents = _run(wide_forward, [*self.wide_arrays, *moved])
        pulled = _run(wide_reverse, [*self.wide_arrays, *weights])
        self._compare_transposes("in double precision", moved, weights, tangents, pulled)
        self._compare_first_order(moved, weights, tangents, pulled)
        if self.subject.outside is not None:
            self._compare_differences(self._outside_results, moved, tangents, "the program outside of the compiler")
        self._compare_narrow(narrow_forward, narrow_reverse, moved, weights, tangents, pulled)
        if self.seed % 3 == 0:
            self._compare_second_order(wide_reverse, moved, weights)

    @property
    def _both(self) -> tuple[Function, Function]:
        return self.narrow, self.wide

    def _direction(self, like: Array) -> Array:
        """A random direction, as large as each element is; nothing where that is not finite."""
        size = np.abs(like)
        size = np.where(size > 0, np.where(np.isfinite(size), size, 0), 1)
        drawn = self.generator.uniform(-1, 1, like.shape)
        if np.iscomplexobj(like):
            drawn = (drawn + 1j * self.generator.uniform(-1, 1, like.shape)) / 2
        return size * drawn

    # -- forward and reverse --------------------------------------------------------------------------------------

    def _compare_transposes(self, where: str, moved: Arrays, weights: Arrays, tangents: Arrays, pulled: Arrays) -> None:
        """Raises Wrong unless <J v, w> = <v, J^T w>."""
        kept = [np.where(is_finite, _wide(each), 0) for is_finite, each in zip(self.is_finite, tangents, strict=True)]
        ahead, back = _product(weights, kept), _product(pulled, moved)
        if not math.isfinite(ahead):
            return  # the slope is endless
        self.compared.add("transposes")
        size = _size(weights, kept) + _size(pulled, moved)
        if not abs(ahead - back) <= EXACT * size + 1e-12:
            raise Wrong(f"forward and reverse mode part {where}: {ahead!r} and {back!r}")

    def _compare_narrow(
        self,
        forward: Function,
        reverse: Function,
        moved: Arrays,
        weights: Arrays,
        wide_tangents: Arrays,
        wide_pulled: Arrays,
    ) -> None:
        """The derivatives in the program's own precision, against those of the twin."""
        results = [self.narrow.results[place].tensor.numpy_dtype for place in self.given]
        v = [each.astype(self.arrays[place].dtype) for place, each in zip(self.active, moved, strict=True)]
        w = [each.astype(dtype) for each, dtype in zip(weights, results, strict=True)]
        for way, function, given, expected in (
            ("forward mode", forward, [*self.arrays, *v], wide_tangents),
            ("reverse mode", reverse, [*self.arrays, *w], wide_pulled),
        ):
            meaning = Meaning()
            found = meaning.of_function(function, given)
            if meaning.has_nan or meaning.has_infinity:
                return  # narrow types overflow where wide ones don't
            noisy = [Meaning(None, seed, frozenset((ROUNDING,))).of_function(function, given) for seed in range(NOISES)]
            for number, (one, wide) in enumerate(zip(found, expected, strict=True)):
                largest = meaning.largest.get(function.results[number].tensor.dtype, 0.0)
                slack, free = find_slack(one, [each[number] for each in noisy], largest)
                apart = np.abs(_wide(one) - _wide(wide))
                bad = ~(apart <= slack + 1e-6 * np.abs(_wide(wide))) & ~free & np.isfinite(_wide(wide))
                if np.any(bad):
                    # Rounding may decide otherwise on a branch or index than the twin does.
                    if not self._decides_alike():
                        return
                    raise Wrong(f"{way} parts from that of the twin: {_told(bad, one, wide)}")
            self.compared.add("precisions")

    def _decides_alike(self) -> bool:
        """Whether the results in both precisions are near each other."""
        narrow, wide = _run(self.narrow, self.arrays), _run(self.wide, self.wide_arrays)
        noisy = [
            Meaning(None, seed, frozenset((ROUNDING,))).of_function(self.narrow, self.arrays) for seed in range(NOISES)
        ]
        for number, (one, other) in enumerate(zip(narrow, wide, strict=True)):
            slack, free = find_slack(one, [each[number] for each in noisy], 1.0)
            if np.any(free) or np.any(~(np.abs(_wide(one) - _wide(other)) <= slack)):
                return False
        return True

    # -- differences --------------------------------------------------------------------------------------------------

    def _wide_results(self, arrays: Arrays) -> list[Array]:
        found = _run(self.wide, arrays)
        return [_wide(found[place]) for place in self.given]

    def _outside_results(self, arrays: Arrays) -> list[Array]:
        assert self.subject.outside is not None
        return [_wide(each) for each in self.subject.outside(arrays)]

    def _compare_differences(
        self, run: Callable[[Arrays], list[Array]], moved: Arrays, tangents: Arrays, what: str
    ) -> None:
        """Raises Wrong where tangents part from differences that are known."""

        def at(step: float) -> list[Array]:
            arrays = list(self.wide_arrays)
            for place, direction in zip(self.active, moved, strict=True):
                arrays[place] = arrays[place] + step * direction
            return run(arrays)

        base = at(0.0)
        sides = [(at(step), at(-step)) for step in STEPS]
        for number, (tangent, is_finite, _) in enumerate(zip(tangents, self.is_finite, base, strict=False)):
            difference, is_known = _slope(base[number], [(a[number], b[number]) for a, b in sides])
            tangent = _wide(tangent)
            most = float(np.max(np.abs(difference), initial=0, where=is_known))
            near = np.abs(difference - tangent) <= CLOSE * (np.abs(difference) + np.abs(tangent) + 0.01 * most + 1e-6)
            bad = is_known & is_finite & ~near
            if np.any(bad):
                raise Wrong(f"forward mode parts from differences of {what}: {_told(bad, tangent, difference)}")
            if np.any(is_known):
                self.compared.add(f"differences of {what}")

    def _compare_first_order(self, moved: Arrays, weights: Arrays, tangents: Arrays, pulled: Arrays) -> None:
        """Differences of the twin, and JAX's cotangents. One of them is enough.

        Where two numbers are equal and a branch asks for that, JAX decides; differences do where it drops cotangents:
        those of indices out of bounds, whose values it gives.
        """
        try:
            self._compare_differences(self._wide_results, moved, tangents, "the twin")
        except Wrong:
            if self.subject.pulled_by_jax is None:
                raise
            self._compare_jax(weights, pulled)
        else:
            with suppress(Wrong):
                self._compare_jax(weights, pulled)

    def _compare_jax(self, weights: Arrays, pulled: Arrays) -> None:
        if self.subject.pulled_by_jax is None:
            return
        for one, other in zip(pulled, self.subject.pulled_by_jax(self.wide_arrays, weights), strict=True):
            one, other = _wide(one), _wide(other)
            most = float(np.max(np.abs(other), initial=0, where=np.isfinite(other)))
            bad = ~(np.abs(one - other) <= 1e-6 * (np.abs(one) + np.abs(other) + most) + 1e-12) & np.isfinite(other)
            if np.any(bad):
                raise Wrong(f"reverse mode parts from JAX's and from differences: {_told(bad, one, other)}")
        self.compared.add("JAX")

    def _compare_second_order(self, reverse: Function, moved: Arrays, weights: Arrays) -> None:
        """What cotangents change by, as the arguments do."""
        second = _derived(tangent_function, reverse, self.active)
        tangents = _run(second, [*self.wide_arrays, *weights, *moved])
        again = _derived(pullback_function, reverse, self.active)
        seeds = [self._direction(np.asarray(each)) for each in tangents]
        pulled = _run(again, [*self.wide_arrays, *weights, *seeds])
        self.is_finite = [np.isfinite(each) for each in tangents]
        self._compare_transposes("in second order", moved, seeds, tangents, pulled)
        self._compare_differences(
            lambda arrays: [_wide(each) for each in _run(reverse, [*arrays, *weights])], moved, tangents, "the gradient"
        )


def _derived(derive: Callable[..., Function], function: Function, active: Sequence[int]) -> Function:
    """A derivative; raises NoDerivative where it can't be had."""
    made = derive(function, active)
    for op in made.walk():
        if isinstance(op, MissingDerivative):
            raise NoDerivative(op)
    return made


def _run(function: Function, arrays: Arrays) -> list[Array]:
    given = [
        np.asarray(array).astype(argument.tensor.numpy_dtype, copy=False)
        for array, argument in zip(arrays, function.arguments, strict=True)
    ]
    meaning = Meaning()
    meaning.left = MOST_ROUNDS
    return [np.asarray(each) for each in meaning.of_function(function, given)]


def _slope(base: Array, sides: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """The difference by the middle step, and where it is known: all steps agree, and both sides do."""
    centrals = [(after - before) / (2 * step) for step, (after, before) in zip(STEPS, sides, strict=True)]
    middle = centrals[1]
    most = float(np.max(np.abs(middle), initial=0, where=np.isfinite(middle)))
    size = np.abs(middle) + 0.01 * most + 1e-6
    is_known = np.isfinite(base) & np.isfinite(middle)
    for each in centrals:
        is_known &= np.abs(each - middle) <= 0.3 * CLOSE * size
    # Steps agree at a kink that is met exactly, too; there the sides don't.
    noise = 64 * np.finfo(np.float64).eps * np.abs(base)
    for step, (after, before) in zip(STEPS[1:], sides[1:], strict=True):
        right, left = (after - base) / step, (base - before) / step
        is_known &= np.abs(right - left) <= 3e-3 * size + noise / step
    return middle, is_known


def _wide(value: Any) -> Array:
    array = np.asarray(value)
    return array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)


def _product(ones: Arrays, others: Arrays) -> float:
    return sum(float(np.sum(_parts(one, other)).real) for one, other in zip(ones, others, strict=True))


def _size(ones: Arrays, others: Arrays) -> float:
    return sum(float(np.sum(np.abs(_parts(one, other)))) for one, other in zip(ones, others, strict=True))


def _parts(one: Array, other: Array) -> Array:
    """The products; zero where one is zero, whatever the other is."""
    return np.where((one == 0) | (other == 0), 0, _wide(one) * _wide(other))


def _told(bad: Array, found: Array, expected: Array) -> str:
    places = np.flatnonzero(bad)
    first = places[:3]
    return f"{places.size} of {bad.size}, at {first.tolist()}: {np.ravel(found)[first]} for {np.ravel(expected)[first]}"
