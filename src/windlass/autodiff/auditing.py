"""The derivative of each op on its way through a program, held to differences.

The walk runs a program op by op in double precision, with the tangents that the ops' rules give. At each op it asks
whether the tangent is what a difference of that op alone shows, in the same direction, and whether the pullback is the
tangent's transpose. So what is wrong is found where it is made, whatever follows. Beside that it looks for points at
which a derivative is a choice: ties, kinks, jumps, comparisons that change their outcome, infinite slopes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from windlass.autodiff.activity import body_of, is_differentiable
from windlass.autodiff.findings import Finding, Hazard, name_of_op
from windlass.autodiff.local_programs import SMALL_STEP, Array, LocalProgram, Run, Sides
from windlass.facts.terms import sources
from windlass.ir import Argument, Function, Op, Value
from windlass.ops import (
    BitcastConvert,
    Case,
    Ceil,
    Clamp,
    Compare,
    Convert,
    CustomDerivative,
    DynamicUpdateSlice,
    Floor,
    If,
    Maximum,
    Minimum,
    Pad,
    Reduce,
    ReduceWindow,
    RoundNearestAfz,
    RoundNearestEven,
    Scatter,
    Select,
    SelectAndScatter,
    Sort,
    While,
)
from windlass.ops.base import NoDerivative

EXACT, CLOSE, CLOSE_NARROW = 1e-9, 1e-5, 2e-3
"""How far two derivatives may part, relatively: two of one precision, one and a difference, one of single precision."""
_REPLACING = (DynamicUpdateSlice, Scatter, Pad)
_CHOOSING = (Maximum, Minimum, Clamp, Reduce, ReduceWindow, SelectAndScatter, Sort)
_ROUNDING = (Floor, Ceil, RoundNearestEven, RoundNearestAfz)


Structured: TypeAlias = tuple[list[Array], list["Array | None"], list["Array | None"]]
"""A loop or branch that was gone through: what it took, how that changed, and how its results did."""


@dataclass
class Walk:
    """One run of a program, with tangents. `findings` are in the order of the run, each once for an op.

    Of each loop `most_rounds` are gone through, from the first on; what the others give is computed by `run_whole`,
    which is for functions that take long.
    """

    run: Run
    run_whole: Run
    generator: np.random.Generator
    most_checks: int
    most_rounds: int | None = None
    shortened: set[Op] = field(default_factory=set[Op])
    """Loops of which only the first rounds were gone through."""
    checks: int = 0
    unchecked: int = 0
    values: dict[Value, Array] = field(default_factory=dict[Value, Array])
    tangents: dict[Value, Array] = field(default_factory=dict[Value, Array])
    _found: dict[tuple[Op, Hazard], Finding] = field(default_factory=dict[tuple[Op, Hazard], Finding])
    _local: dict[Op, LocalProgram] = field(default_factory=dict[Op, LocalProgram])
    _rests: dict[Op, LocalProgram | None] = field(default_factory=dict[Op, "LocalProgram | None"])
    _structured: dict[Op, Structured] = field(default_factory=dict[Op, "Structured"])

    @property
    def findings(self) -> list[Finding]:
        return list(self._found.values())

    def function(self, function: Function, arrays: Sequence[Array], moved: Sequence[Array | None]) -> None:
        """Go through a function whose arguments are these arrays and change by these tangents; None is zero."""
        self._enter(function.arguments, arrays, moved)
        self._block(body_of_function(function))

    def check_structured(self) -> None:
        """Ask of each loop and branch, where it was met first, whether its derivatives are what its ops' were."""
        for op, (arrays, moved, results) in self._structured.items():
            local = LocalProgram(op, self.run)
            active = tuple(place for place, each in enumerate(moved) if each is not None)
            given = [each for each in moved if each is not None]
            expected: list[Array] = []
            for place in local.differentiable:
                tangent = results[place]
                expected.append(np.zeros(op.results[place].tensor.shape) if tangent is None else tangent)
            try:
                tangents = local.tangents(arrays, active, given)
                weights = [self.generator.standard_normal(np.shape(each)) for each in expected]
                pulled = local.cotangents(arrays, active, weights)
            except NoDerivative:
                continue
            assert tangents is not None
            for way, parts in (
                ("forwards", not all(map(_are_close, tangents, expected))),
                ("in reverse", not _is_transpose(weights, expected, pulled, given, CLOSE)),
            ):
                if parts:
                    what = f"each operation in it is right, and what is derived of it {way} is not"
                    self._report(op, Hazard.LOOP, what, True)

    # -- running ------------------------------------------------------------------------------------------------------

    def _enter(self, targets: Sequence[Value], arrays: Sequence[Any], moved: Sequence[Array | None]) -> None:
        for target, array, tangent in zip(targets, arrays, moved, strict=True):
            self.values[target] = np.asarray(array)
            if tangent is None or not is_differentiable(target.type):
                self.tangents.pop(target, None)
            else:
                self.tangents[target] = np.asarray(tangent)

    def _given(self, values: Sequence[Value]) -> tuple[list[Array], list[Array | None]]:
        return [self.values[value] for value in values], [self.tangents.get(value) for value in values]

    def _block(self, ops: Sequence[Op]) -> None:
        for op in ops:
            if isinstance(op, While | If | Case):
                inputs = list(dict.fromkeys(sources(op)))
                arrays, moved = self._given(inputs)
                self._loop(op) if isinstance(op, While) else self._choice(op)
                if any(each is not None for each in moved) and op not in self._structured:
                    results = [self.tangents.get(result) for result in op.results]
                    self._structured[op] = arrays, moved, results
            else:
                self._op(op)

    def _loop(self, op: While) -> None:
        arrays, moved = self._given(op.operands)
        for number in itertools.count():
            if number == self.most_rounds and (rest := self._rest(op)) is not None:
                arrays, moved = self._finished(rest, arrays, moved)
                self.shortened.add(op)
                break
            self._enter(op.cond.block.arguments, arrays, moved)
            self._block(body_of(op.cond))
            if not self.values[op.cond.block.terminator.operands[0]]:
                break
            self._enter(op.body.block.arguments, arrays, moved)
            self._block(body_of(op.body))
            arrays, moved = self._given(op.body.block.terminator.operands)
        self._enter(op.results, arrays, moved)

    def _rest(self, op: While) -> LocalProgram | None:
        """The loop from where it stands, as a whole; None where there are rules that have to be asked one by one."""
        if op not in self._rests:
            found: LocalProgram | None = None
            if not any(isinstance(inner, CustomDerivative) for region in op.regions for inner in region.walk()):
                operands = tuple(Argument(operand.type) for operand in op.operands)
                found = LocalProgram(
                    op.with_fields(operands, cond=op.cond.clone({}), body=op.body.clone({})), self.run_whole
                )
            self._rests[op] = found
        return self._rests[op]

    def _finished(
        self, rest: LocalProgram, arrays: list[Array], moved: list[Array | None]
    ) -> tuple[list[Array], list[Array | None]]:
        """What a loop gives that goes on with these, and how that changes."""
        captured = rest.inputs[len(arrays) :]
        others, others_moved = self._given(captured)
        arrays, moved = [*arrays, *others], [*moved, *others_moved]
        active = tuple(place for place, each in enumerate(moved) if each is not None and np.any(each != 0))
        results = rest.values(arrays)
        tangents: list[Array | None] = [None] * len(results)
        if active:
            found = rest.tangents(arrays, active, [each for place in active if (each := moved[place]) is not None])
            assert found is not None
            for place, each in zip(rest.differentiable, found, strict=True):
                tangents[place] = each
        return results, tangents

    def _choice(self, op: If | Case) -> None:
        chosen = self.values[op.operands[0]]
        if isinstance(op, If):
            number = 0 if chosen else 1
        else:
            number = int(chosen) if 0 <= int(chosen) < len(op.regions) else len(op.regions) - 1
        block = op.regions[number].block
        self._block(body_of(op.regions[number]))
        self._enter(op.results, *self._given(block.terminator.operands))

    def _op(self, op: Op) -> None:
        local = self._local.get(op)
        if local is None:
            local = self._local[op] = LocalProgram(op, self.run)
        arrays, moved = self._given(local.inputs)
        results = local.values(arrays)
        active = tuple(place for place, each in enumerate(moved) if each is not None and np.any(each != 0))
        tangents: list[Array | None] = [None] * len(results)
        if active:
            given = [each for place in active if (each := moved[place]) is not None]
            for place, each in zip(
                local.differentiable, self._check(local, arrays, results, active, given), strict=True
            ):
                tangents[place] = each
        self._enter(op.results, results, tangents)

    # -- checking -----------------------------------------------------------------------------------------------------

    def _check(
        self,
        local: LocalProgram,
        arrays: list[Array],
        results: list[Array],
        active: tuple[int, ...],
        given: list[Array],
    ) -> list[Array]:
        """The tangents of the op's differentiable results, which are asked whether they are right."""
        op = local.op
        try:
            tangents = local.tangents(arrays, active, given) if local.differentiable else []
        except NoDerivative:
            self._report(op, Hazard.INTEGER_PATH, "it has no derivative", False)
            return [np.zeros(np.shape(results[place])) for place in local.differentiable]
        is_finite = all(np.isfinite(each).all() for each in given)
        if not is_finite:
            self._note_unselected(op, arrays, tangents)
        if not is_finite or self.checks >= self.most_checks:
            self.unchecked += 1
            return tangents if tangents is not None else [np.zeros(np.shape(results[p])) for p in local.differentiable]
        self.checks += 1
        sides = Sides(local, arrays, active, given)
        self._check_decisions(sides, results)
        return self._check_tangents(sides, results, tangents)

    def _check_decisions(self, sides: Sides, results: list[Array]) -> None:
        """Look for what has no derivative and changes nevertheless."""
        op, local = sides.local.op, sides.local
        if isinstance(op, _ROUNDING) or (isinstance(op, Convert | BitcastConvert) and not is_differentiable(op.type)):
            what = "what varies becomes a whole number here, through which no derivative passes"
            self._report(op, Hazard.INTEGER_PATH, what, False)
        decided = [place for place in range(len(results)) if place not in local.differentiable]
        if not decided:
            return
        (after, _), (before, _) = sides.at(SMALL_STEP)
        for place in decided:
            changed = (after[place] != results[place]) | (before[place] != results[place])
            if np.any(changed):
                if isinstance(op, Compare):
                    hazard = Hazard.TIE if len(sides.active) == 2 else Hazard.GUARD
                    what = "the outcome of the comparison changes right here: the derivative is that of the side taken"
                else:
                    hazard, what = Hazard.INTEGER_PATH, "the integer changes right here"
                self._report(op, hazard, what, False, changed)

    def _check_tangents(self, sides: Sides, results: list[Array], tangents: list[Array] | None) -> list[Array]:
        local = sides.local
        tolerance = CLOSE_NARROW if local.is_custom else CLOSE
        found: list[Array] = []
        is_right = True
        for number, place in enumerate(local.differentiable):
            result = results[place]
            tangent = None if tangents is None else tangents[number]
            difference, parts = sides.compare(place, tangent, tolerance)
            if tangent is None:
                tangent = difference
            found.append(tangent)
            is_finite = np.isfinite(result)
            endless = is_finite & ~np.isfinite(tangent)
            if np.any(endless):
                self._report(local.op, Hazard.INFINITY, "the slope is infinite or NaN here", True, endless)
            elif not np.all(is_finite) and all(np.isfinite(each).all() for each in sides.floats):
                self._report(local.op, Hazard.INFINITY, "the value is infinite or NaN here", False, ~is_finite)
            jumps, kinks = sides.breaks(place, result)
            parts &= ~endless & is_finite
            smooth = parts & ~jumps & ~kinks
            if np.any(smooth):
                is_right = False
                index = _first(smooth)
                told = f"the rule gives {_number(tangent[index])}, the difference is {_number(difference[index])}"
                self._report(local.op, _hazard_of_rule(local.op), told, True, smooth)
            for broken, hazard, what in (
                (jumps, Hazard.JUMP, "the values on both sides differ"),
                (kinks, _hazard_of_kink(local.op), "the slopes on both sides differ"),
            ):
                if np.any(broken):
                    index = _first(broken)
                    told = f"{what}; the derivative here is {_number(tangent[index])}"
                    self._report(local.op, hazard, told, bool(np.any(broken & parts)), broken)
        if is_right and found and all(np.isfinite(each).all() for each in found):
            self._check_pullback(sides, found, tangents is None)
        return found

    def _check_pullback(self, sides: Sides, tangents: list[Array], are_differences: bool) -> None:
        local = sides.local
        weights = [self.generator.standard_normal(np.shape(each)) for each in tangents]
        try:
            pulled = local.cotangents(sides.arrays, sides.active, weights)
        except NoDerivative:
            return
        if not all(np.isfinite(each).all() for each in pulled):
            self._report(local.op, Hazard.INFINITY, "the cotangent is infinite or NaN, the tangent is not", True)
            return
        if isinstance(local.op, Scatter):
            self._note_overwritten(local.op, sides, pulled)
        tolerance = CLOSE_NARROW if local.is_custom else CLOSE if are_differences else EXACT
        if not _is_transpose(weights, tangents, pulled, sides.given, tolerance):
            what = "in reverse" if not are_differences else "in reverse, the only way that it goes,"
            told = f"its derivative {what} is not what differences show"
            self._report(local.op, _hazard_of_rule(local.op), told, True)

    def _note_overwritten(self, op: Scatter, sides: Sides, pulled: list[Array]) -> None:
        """Where several values meet at one element and one of them stays, the others have no part in the derivative."""
        for place, cotangent in zip(sides.active, pulled, strict=True):
            if sides.local.inputs[place] in op.updates and np.any(lost := cotangent == 0):
                what = "of the values written here some are overwritten at once, or fall outside of the array"
                self._report(op, Hazard.OVERWRITE, what, False, lost)

    def _note_unselected(self, op: Op, arrays: list[Array], tangents: list[Array] | None) -> None:
        """What is endless and not taken was no fault."""
        if not isinstance(op, Select) or tangents is None or not all(np.isfinite(each).all() for each in tangents):
            return
        for key, finding in list(self._found.items()):
            if finding.hazard is Hazard.INFINITY:
                what = "the slope is infinite or NaN here, where the value is not taken"
                self._found[key] = replace(finding, hazard=Hazard.UNSELECTED_BRANCH, what=what, is_fault=False)

    def _report(self, op: Op, hazard: Hazard, what: str, is_fault: bool, where: Array | None = None) -> None:
        place = None if where is None or np.ndim(where) == 0 else tuple(int(each) for each in _first(where))
        rule = f" ({op.rule.name})" if isinstance(op, CustomDerivative) else ""
        finding = Finding(hazard, name_of_op(op) + rule, op.source, what, is_fault, place)
        known = self._found.get((op, hazard))
        if known is None or (is_fault and not known.is_fault and known.hazard is hazard):
            self._found[op, hazard] = finding


def body_of_function(function: Function) -> list[Op]:
    """The ops of a function without its return."""
    return [op for op in function.body if op is not function.body.terminator]


def _is_transpose(
    weights: Sequence[Array], tangents: Sequence[Array], pulled: Sequence[Array], moved: Sequence[Array], near: float
) -> bool:
    """Whether what was pulled back gives the same product with the directions as the tangents with the weights."""
    pairs = [*zip(weights, tangents, strict=True)], [*zip(pulled, moved, strict=True)]
    products = [[np.asarray(one).astype(complex) * other for one, other in each] for each in pairs]
    totals = [sum(float(np.sum(product).real) for product in each) for each in products]
    size = sum(float(np.sum(np.abs(product))) for each in products for product in each)
    return abs(totals[0] - totals[1]) <= near * size + 1e-300


def _are_close(one: Array, other: Array) -> bool:
    most = float(np.max(np.abs(other), initial=0, where=np.isfinite(other)))
    return bool(np.allclose(one, other, CLOSE, CLOSE * most, equal_nan=True))


def _first(where: Array) -> tuple[Any, ...]:
    return tuple(np.argwhere(where)[0]) if np.ndim(where) else ()


def _number(value: Any) -> str:
    return f"{complex(value):.6g}" if np.iscomplexobj(value) else f"{float(value):.6g}"


def _hazard_of_rule(op: Op) -> Hazard:
    if isinstance(op, CustomDerivative):
        return Hazard.CUSTOM_RULE
    return Hazard.OVERWRITE if isinstance(op, _REPLACING) else Hazard.RULE


def _hazard_of_kink(op: Op) -> Hazard:
    return Hazard.TIE if isinstance(op, _CHOOSING) else Hazard.NON_SMOOTH
