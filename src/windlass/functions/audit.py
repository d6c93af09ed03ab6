"""`wl.audit`: whether the derivatives of a function are right, and if not, where they go wrong.

The program of the function is differentiated in reverse and forward mode as `wl.grad` and `wl.jvp` do it, and held to
differences of its twin in double precision, in random directions. Then the program is gone through op by op
(`windlass.autodiff.auditing`) for the first one whose own derivative parts from its own difference.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import jax
import numpy as np
from numpy.typing import NDArray

from windlass.autodiff.activity import is_differentiable
from windlass.autodiff.auditing import Walk
from windlass.autodiff.findings import Finding, Hazard
from windlass.autodiff.local_programs import without_rules
from windlass.autodiff.noise import NOISE, noisy_function
from windlass.autodiff.widening import widened_function
from windlass.diagnostics import Diagnostic, WindlassError
from windlass.functions.pure_call import PureCall, compilable, pure_call
from windlass.ir import Function, Module
from windlass.ops.evaluation import evaluate_function
from windlass.stablehlo.program import TensorProgram, program_from

Array: TypeAlias = NDArray[Any]

STEPS = (1e-6, 1e-4, 1e-5, 1e-7, 1e-3, 1e-8)
"""By how much of their size arguments are moved."""
SURVEYED = 8
"""Rounds of a loop that are gone through where derivatives agree."""
ROUNDINGS = 4
"""How often a program is run with other rounding."""


@dataclass(frozen=True)
class Direction:
    """One random direction: what a random combination of the results changes by, found in three ways."""

    reverse: float
    forward: float | None
    """None where a rule of `jax.custom_vjp` is for reverse mode alone."""
    differences: float
    agrees: bool


@dataclass(frozen=True)
class Audit:
    """What `wl.audit` found. Its text says it all; `agrees` is whether all derivatives are right.

    `faults` are why they are not, in the order of the program; `notes` are points at which a derivative is a choice.
    """

    name: str
    directions: tuple[Direction, ...]
    findings: tuple[Finding, ...]
    checked: int
    """How many operations were held to their differences."""
    unchecked: int
    """How many were not: behind infinite slopes, and of long loops."""
    shortened: int = 0
    """How many loops were looked at in their first rounds only, since nothing is wrong."""

    @property
    def agrees(self) -> bool:
        return all(direction.agrees for direction in self.directions) and not self.faults

    @property
    def faults(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.is_fault)

    @property
    def notes(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if not each.is_fault)

    def __str__(self) -> str:
        verdict = "agree" if self.agrees else "part"
        lines = [f"{self.name}: its derivatives in reverse and forward mode and differences {verdict}"]
        lines.append(f"{'direction':>12}{'reverse':>20}{'forward':>20}{'differences':>20}")
        for number, each in enumerate(self.directions):
            forward = "none" if each.forward is None else f"{each.forward:.10g}"
            mark = "" if each.agrees else "   <- part"
            lines.append(f"{number:>12}{each.reverse:>20.10g}{forward:>20}{each.differences:>20.10g}{mark}")
        for title, findings in (("faults", self.faults), ("worth knowing", self.notes)):
            if findings:
                lines += [f"{title}:", *(f"  {line}" for each in findings for line in str(each).splitlines())]
        lines.append(
            f"{self.checked} operations were held to their own differences"
            + (f", {self.unchecked} were not" if self.unchecked else "")
            + (f"; loops in their first {SURVEYED} rounds" if self.shortened else "")
        )
        return "\n".join(lines)


def audit(function: Any, *arguments: Any, directions: int = 3, most_checks: int = 20_000, **named: Any) -> Audit:
    """Hold the derivatives of a function at these arguments to differences, and name what parts them.

    The function is what `grad` takes: one by `wl.jit`, a launch (`kernel[grid, block]`), `kernel.jax(...)`, one of JAX
    or of NumPy. All of its arguments that are of floats vary, in random `directions`, and all that it returns and
    writes is looked at. Derivatives are taken in reverse and in forward mode, as `wl.grad` and `wl.jvp` take them;
    differences are of the program's twin in double precision. Then each operation on the way is asked for itself, up to
    `most_checks` times; of loops the first rounds, if derivatives agree. No argument is changed.

    Ties, kinks and guards at the very point are found by this, too: see `Hazard`. The result is a value that prints as
    a report.

    Raises WindlassError: WL0931 where no argument is of floats, WL0901 where an operation has no derivative.

    >>> import numpy as np
    >>> def loss(x):
    ...     return np.maximum(x, 0.5).sum()
    >>> audit(loss, np.array([1.0, 2.0])).agrees
    True
    >>> [note.hazard.value for note in audit(loss, np.array([1.0, 0.5])).notes]
    ['tie']
    """
    call = pure_call(compilable(function), arguments, named)
    program = call.program
    assert program is not None  # it was compiled
    types = program.code.argument_types
    active = [place for place, type_ in enumerate(types) if is_differentiable(type_)]
    given = [place for place, type_ in enumerate(program.code.result_types) if is_differentiable(type_)]
    if not active or not given or directions < 1:
        what = "takes no floats" if not active else "gives no floats" if not given else "is asked for in no direction"
        raise WindlassError(
            Diagnostic("WL0931", f"wl.audit: {call.name} {what}: there is no derivative to look at", call.position)
        )
    with jax.enable_x64(True):
        call.raise_failed(call.apply(call.values)[1])
        return _Comparison(call, program, active, given).audit(directions, most_checks)


class _Derivatives:
    """A program, of which some arguments vary and some results are looked at, and its derivatives; all compiled."""

    def __init__(self, program: TensorProgram, active: Sequence[int], given: Sequence[int]) -> None:
        def function(values: Sequence[Any], chosen: Sequence[Any]) -> list[Any]:
            arguments = list(values)
            for place, value in zip(active, chosen, strict=True):
                arguments[place] = value
            found = program.bind(*arguments)
            return [found[place] for place in given]

        def forward(values: Sequence[Any], moved: Sequence[Any]) -> Any:
            chosen = [values[place] for place in active]
            return jax.jvp(lambda *chosen: function(values, chosen), tuple(chosen), tuple(moved))

        def reverse(values: Sequence[Any], weights: Sequence[Any]) -> tuple[Any, ...]:
            chosen = [values[place] for place in active]
            return jax.vjp(lambda *chosen: function(values, chosen), *chosen)[1](list(weights))

        def run(values: Sequence[Any]) -> list[Any]:
            return function(values, [values[place] for place in active])

        # Values are arguments: of constants XLA would compute all that it can while it compiles.
        self.run: Callable[[Sequence[Any]], list[Any]] = jax.jit(run)
        self.reverse: Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]] = jax.jit(reverse)
        self._forward: Callable[[Sequence[Any], Sequence[Any]], Any] = jax.jit(forward)

    def forward(self, values: Sequence[Any], moved: Sequence[Any]) -> list[Any]:
        """The tangents. XLA computes the results too: it has been seen to crash where only tangents are used."""
        return self._forward(values, moved)[1]


class _Comparison:
    """The derivatives of one program at one point."""

    def __init__(self, call: PureCall, program: TensorProgram, active: list[int], given: list[int]) -> None:
        self.call, self.program, self.active, self.given = call, program, active, given
        self.generator = np.random.default_rng(20_260_101)
        self.values = [np.asarray(value) for value in call.values]
        self.whole = program.code.differentiable.main
        twin = self.twin_function = widened_function(without_rules(self.whole))
        self.narrow = _Derivatives(program, active, given)
        self.twin = _Derivatives(program_from(program.code, twin, f"{program.name}_twin"), active, given)
        self.rounding: list[Array] | None = None
        """How far rounding moves the elements of the results of the twin, once that was asked for."""
        self.goes_forward = True
        """Not where a rule of `jax.custom_vjp` is for reverse mode alone."""
        self.wide = [
            np.asarray(value).astype(argument.tensor.numpy_dtype)
            for value, argument in zip(self.values, twin.arguments, strict=True)
        ]
        both = zip(self.narrow.run(call.values), self.twin.run(self.wide), strict=True)
        self.is_finite = [np.isfinite(_wide(one)) & np.isfinite(_wide(other)) for one, other in both]
        """For each result, which of its elements are numbers."""
        self.tolerance = max(_TOLERANCES.get(self._dtype(place), 0.1) for place in (*active,))
        results = program.code.result_types
        self.tolerance = max(self.tolerance, *(_TOLERANCES.get(results[place].dtype, 0.1) for place in given))

    def _dtype(self, place: int) -> str:
        return self.program.code.argument_types[place].dtype

    def audit(self, directions: int, most_checks: int) -> Audit:
        compared = [self._compare() for _ in range(directions)]
        agrees = all(direction.agrees for direction, _ in compared)
        moved: list[Array | None] = [None] * len(self.wide)
        for place, direction in zip(self.active, self._directions(), strict=True):
            moved[place] = direction
        # Where nothing is wrong there are only points to be told of, which a loop mostly has from its first rounds on.
        walk = Walk(_run, _CompiledFunctions(), self.generator, most_checks, SURVEYED if agrees else None)
        walk.function(self.whole, self.wide, moved)
        explains = any(each.is_fault or each.hazard is Hazard.INFINITY for each in walk.findings)
        if not agrees and not explains:
            walk.check_structured()
        findings = walk.findings if agrees else self._explained(walk.findings, compared)
        return Audit(
            self.call.name,
            tuple(direction for direction, _ in compared),
            tuple(findings),
            walk.checks,
            walk.unchecked,
            len(walk.shortened),
        )

    def _explained(self, findings: list[Finding], compared: Sequence[tuple[Direction, bool]]) -> list[Finding]:
        """The findings of a program whose derivatives part: one of them at least is a fault."""
        if any(each.is_fault for each in findings):
            return findings
        if any(each.hazard in _EXPLAINING for each in findings):
            return [replace(each, is_fault=each.hazard in _EXPLAINING) for each in findings]
        hazard, what = Hazard.UNEXPLAINED, "no operation alone is at fault"
        if self.tolerance > _TOLERANCES["f64"] and all(twin_agrees for _, twin_agrees in compared):
            hazard, what = Hazard.ROUNDING, "in double precision its derivatives are right: these are lost to rounding"
        return [*findings, Finding(hazard, self.call.name, self.call.position, what, True)]

    def _directions(self) -> list[Array]:
        """A random direction, as large as the arguments are."""
        return [self._random(self.wide[place]) for place in self.active]

    def _random(self, like: Array) -> Array:
        size = float(np.max(np.abs(like), initial=0, where=np.isfinite(like))) or 1.0
        drawn = self.generator.uniform(-1, 1, like.shape)  # no larger than what its type holds
        if np.iscomplexobj(like):
            drawn = (drawn + 1j * self.generator.uniform(-1, 1, like.shape)) / 2
        return np.asarray(np.where(np.isfinite(like), size * drawn, 0))

    def _compare(self) -> tuple[Direction, bool]:
        """One direction, and whether in double precision forward mode is right."""
        results = self.program.code.result_types
        narrow = [
            each.astype(self.values[place].dtype) for place, each in zip(self.active, self._directions(), strict=True)
        ]
        moved = [each.astype(self.wide[place].dtype) for place, each in zip(self.active, narrow, strict=True)]
        tangents = self._tangents(narrow)
        differences, twin_agrees, is_near = self._difference(moved, tangents)
        if not is_near or not twin_agrees:
            # Where large numbers cancel differences may show nothing but rounding.
            self._find_rounding()
            differences, twin_agrees, is_near = self._difference(moved, tangents)
        # What is infinite or NaN before anything moves has no derivative that could be compared.
        weights = [
            np.where(is_finite, self._random(np.ones(is_finite.shape, each.dtype)), 0).astype(
                results[place].numpy_dtype
            )
            for place, each, is_finite in zip(self.given, differences, self.is_finite, strict=True)
        ]
        pulled = [_wide(each) for each in self.narrow.reverse(self.call.values, weights)]
        expected = differences if tangents is None else tangents
        back, ahead = _product(pulled, moved), _product(weights, expected)
        size = _size(pulled, moved) + _size(weights, expected)
        agrees = is_near and bool(np.isfinite(back)) and abs(back - ahead) <= self.tolerance * size
        forward = None if tangents is None else ahead
        return Direction(back, forward, _product(weights, differences), agrees), twin_agrees

    def _tangents(self, moved: Sequence[Array]) -> list[Array] | None:
        """What forward mode gives; None where there is a rule that is for reverse mode alone."""
        if not self.goes_forward:
            return None
        try:
            return [_wide(each) for each in self.narrow.forward(self.call.values, moved)]
        except WindlassError:
            if not self.program.code.has_valued_rules:
                raise
            self.goes_forward = False
            return None

    def _difference(self, moved: Sequence[Array], tangents: list[Array] | None) -> tuple[list[Array], bool, bool]:
        """The differences that come nearest to the tangents, whether those of the twin are right, and whether these."""
        # In double precision forward mode is to be as near as differences are.
        exact = [np.asarray(each) for each in self.twin.forward(self.wide, moved)] if self.goes_forward else None
        found = [self._difference_at(step, moved) for step in STEPS]
        best: list[Array] = []
        twin_agrees = is_near = True
        for number, is_finite in enumerate(self.is_finite):
            steps = [each[number] for each in found]
            known = exact[number] if exact is not None else steps[0]
            best.append(_nearest_of(steps, known))
            noise = 2 * _spread_of(steps)
            noises = [noise if self.rounding is None else noise + self.rounding[number] / step for step in STEPS]
            twin_agrees &= not np.any(is_finite & ~_near(steps, known, _TOLERANCES["f64"], noises))
            if tangents is not None:
                is_near &= not np.any(is_finite & ~_near(steps, tangents[number], self.tolerance, noises))
        return best, twin_agrees, is_near

    def _find_rounding(self) -> None:
        """Run the twin several times, rounded otherwise on the way."""
        if self.rounding is not None:
            return
        noisy, count = noisy_function(self.twin_function)
        run = program_from(self.program.code, noisy, f"{self.program.name}_rounded").jitted()
        right = self.twin.run(self.wide)
        self.rounding = [np.zeros(np.shape(each)) for each in right]
        for _ in range(ROUNDINGS):
            signs = self.generator.choice([-1.0, 1.0], count)
            little, much = (run(*self.wide, 1 + factor * NOISE * signs) for factor in (1, 16))
            for number, place in enumerate(self.given):
                with np.errstate(all="ignore"):
                    near, far = (np.abs(_wide(found[place]) - right[number]) for found in (little, much))
                    # What is decided otherwise, however little is rounded, is a jump: it does not grow.
                    moved = np.where(np.isfinite(far) & (far > 4 * near), far / 8, 0)
                self.rounding[number] = np.maximum(self.rounding[number], moved)

    def _difference_at(self, step: float, moved: Sequence[Array]) -> list[Array]:
        sides: list[list[Array]] = []
        for sign in (1, -1):
            values = list(self.wide)
            for place, direction in zip(self.active, moved, strict=True):
                values[place] = values[place] + sign * step * direction
            sides.append([np.asarray(each) for each in self.twin.run(values)])
        with np.errstate(all="ignore"):
            return [(after - before) / (2 * step) for after, before in zip(*sides, strict=True)]


_EXPLAINING = (Hazard.TIE, Hazard.GUARD, Hazard.NON_SMOOTH, Hazard.JUMP, Hazard.INFINITY)
"""Hazards that explain why derivatives part: at most of them one is a choice."""

_TOLERANCES = {"f64": 1e-5, "complex<f64>": 1e-5, "f32": 2e-3, "complex<f32>": 2e-3}
"""How far derivatives may part, relatively, by the precision of the program; 0.1 in what is narrower."""


def _near(steps: Sequence[Array], known: Array, tolerance: float, noises: Sequence[Array]) -> Array:
    """Where one of the differences, each with its noise, is near to what is known."""
    most = float(np.max(np.abs(known), initial=0, where=np.isfinite(known)))
    found = np.zeros(np.shape(known), bool)
    with np.errstate(all="ignore"):
        for one, noise in zip(steps, noises, strict=True):
            slack = tolerance * (np.abs(one) + np.abs(known) + 0.1 * most) + noise + 1e-300
            found |= np.abs(one - known) <= slack
    return found


def _nearest_of(differences: Sequence[Array], known: Array) -> Array:
    """Of differences with several steps, for each element the one that comes nearest to what is known."""
    with np.errstate(all="ignore"):
        errors = np.abs(np.stack(differences) - known)
    errors = np.where(np.isfinite(errors), errors, np.inf)
    return np.take_along_axis(np.stack(differences), np.argmin(errors, axis=0)[None], axis=0)[0]


def _spread_of(differences: Sequence[Array]) -> Array:
    """How far differences with several steps are from one another, at the three that are nearest: what rounding leaves.

    None where they grow as the steps shrink: there the values jump. `differences` are in the order of `STEPS`.
    """
    ordered = [each for _, each in sorted(zip(STEPS, differences, strict=True), key=lambda pair: -pair[0])]
    with np.errstate(all="ignore"):
        steps = [np.abs(one - other) for one, other in itertools.pairwise(ordered)]
        apart = np.min([np.maximum(one, other) for one, other in itertools.pairwise(steps)], axis=0)
        jumps = np.abs(ordered[1]) > 5 * np.abs(ordered[0])
    return np.where(jumps | ~np.isfinite(apart), 0, apart)


def _wide(value: Any) -> Array:
    array = np.asarray(value)
    return array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)


def _product(ones: Sequence[Array], others: Sequence[Array]) -> float:
    with np.errstate(all="ignore"):
        return sum(float(np.sum(_parts(one, other)).real) for one, other in zip(ones, others, strict=True))


def _parts(one: Array, other: Array) -> Array:
    """The products; zero where one is zero, whatever the other is."""
    return np.where((one == 0) | (other == 0), 0, _wide(one) * other)


def _size(ones: Sequence[Array], others: Sequence[Array]) -> float:
    with np.errstate(all="ignore"):
        return sum(float(np.sum(np.abs(_parts(one, other)))) for one, other in zip(ones, others, strict=True))


def _run(function: Function, arrays: Sequence[Array]) -> Sequence[Array]:
    """What the function gives: by the ops' own meaning, or by XLA where one has none on arrays."""
    try:
        return evaluate_function(function, *arrays)
    except NotImplementedError:
        return _CompiledFunctions()(function, arrays)


class _CompiledFunctions:
    """Runs functions by XLA; those that were run before are compiled already."""

    def __init__(self) -> None:
        self._compiled: dict[Function, Any] = {}

    def __call__(self, function: Function, arrays: Sequence[Array]) -> Sequence[Array]:
        run = self._compiled.get(function)
        if run is None:
            program = TensorProgram(Module([without_rules(function)]), "alone", is_given=True)
            run = self._compiled[function] = program.jitted()
        return [np.asarray(each) for each in run(*arrays)]


__all__ = ["Audit", "Direction", "Finding", "Hazard", "audit"]
