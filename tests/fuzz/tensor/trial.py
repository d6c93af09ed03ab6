"""Optimizes a program in one of many ways and compares what it means before and after."""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.tensor.author import Program
from tests.fuzz.tensor.meaning import (
    NANS,
    ROUNDING,
    ZEROS,
    Endless,
    Meaning,
    exact_difference,
    find_slack,
    first_difference,
)
from tests.laws.xla import run_through_xla
from windlass.catalogue import catalogue
from windlass.facts.cost import DEVICES
from windlass.ir import Module, TensorType
from windlass.ir.verifier import verify
from windlass.lowering.in_place import settle_updates
from windlass.lowering.materialization import materialize_shared
from windlass.ops import CustomCall
from windlass.rewriting import Budget, Rule, RuleSet, rewrite_function
from windlass.rewriting import driver as rewriting_driver
from windlass.rewriting.equalities import choose_equalities
from windlass.rewriting.equality import regions as equal_regions
from windlass.rewriting.equality import saturating
from windlass.rewriting.equality.matching import Limits
from windlass.rewriting.equality.regions import SATURATION
from windlass.stablehlo import export_text, import_text
from windlass.stablehlo.optimizing import inline_module

Array = NDArray[Any]

LIMITS = Limits(nodes=200, rounds=4, steps=600)
"""How far graphs of equalities grow: what is wrong with them shows on small ones."""

NOISES, MANY_NOISES = 3, 40
"""How often a program is run with noise; where its results seem to differ, so often."""


@dataclass(frozen=True)
class Way:
    """How a program is optimized, and run afterwards."""

    is_exact: bool
    shuffled: int | None = None
    """The seed by which the rules are put in a random order and some left out; None: the catalogue with its passes."""
    device: str = "cpu"
    is_generous: bool = False
    """The cost model consents to everything: else rules that need it would hardly ever fire on small arrays."""
    settles: bool = False
    """What goes to XLA's CPU compiler: values kept apart."""
    is_text: bool = False
    """Through StableHLO text before and after."""
    on_xla: bool = False
    """Both programs are run by XLA too."""
    without: frozenset[str] = frozenset()
    assumes: frozenset[str] = frozenset()
    """What is granted of floats, as far as it's true of the program as written."""
    saturates: bool = False
    """Regions are saturated too."""

    def rule_set(self) -> RuleSet:
        return _rule_set(self.is_exact, self.shuffled, self.without, self.assumes, self.saturates)


@lru_cache(maxsize=8)
def _rule_set(
    is_exact: bool, shuffled: int | None, without: frozenset[str], assumes: frozenset[str], saturates: bool
) -> RuleSet:
    chosen = _shuffled(catalogue.choose(is_exact, assumes).without(*without), shuffled, without, assumes)
    if saturates and SATURATION not in without:
        chosen.at_rest.append(saturating(chosen.without(), choose_equalities(is_exact, without), LIMITS))
    return chosen


def _shuffled(chosen: RuleSet, shuffled: int | None, without: frozenset[str], assumes: frozenset[str]) -> RuleSet:
    if shuffled is None:
        return chosen
    shuffler = random.Random(shuffled)
    rules: list[Rule] = list(chosen)
    shuffler.shuffle(rules)
    kept = RuleSet(rule for rule in rules if shuffler.random() < 0.8 and rule.name not in without)
    kept.granted = assumes
    if shuffler.random() < 0.5:
        kept.passes = [each for each in chosen.passes if each.name not in without]
    return kept


def choose_way(seed: int, is_exact: bool) -> Way:
    """The way of that number."""
    choice = random.Random(seed)
    shuffled = seed if choice.random() < 0.25 else None
    way = Way(is_exact, shuffled, choice.choice(("cpu", "cpu", "gpu", "tpu")))
    way = replace(way, is_generous=choice.random() < 0.4, is_text=choice.random() < 0.2)
    way = replace(way, settles=way.device == "cpu" and choice.random() < 0.4)
    way = replace(way, on_xla=not is_exact and choice.random() < 0.1)
    way = replace(way, saturates=random.Random(f"saturation {seed}").random() < 0.1)
    if is_exact or choice.random() < 0.6:
        return way
    return replace(way, assumes=frozenset(each for each in ("no NaN", "no -0.0", "finite") if choice.random() < 0.7))


@dataclass(frozen=True)
class Outcome:
    """What came of a program.

    `kind` is "same"; "unfit" (it has no meaning that could be compared); "wrong", "fault" (an exception) or "endless"
    (rewriting does not end).
    """

    kind: str
    message: str = ""
    rules: tuple[str, ...] = ()
    """The rules that were applied."""

    @property
    def is_bad(self) -> bool:
        return self.kind in ("wrong", "fault", "endless")

    def is_like(self, other: Outcome) -> bool:
        """Whether it's the same trouble, as far as one can tell."""
        if self.kind != other.kind:
            return False
        return self.kind != "fault" or _words(self.message) == _words(other.message)


def _words(message: str) -> str:
    return "".join(letter for letter in message.partition("\n")[0] if not letter.isdigit())[:60]


def optimize(module: Module, way: Way) -> tuple[Module, list[str], str | None]:
    """The optimized module, the rules applied in order, and what ran out before the end was reached."""
    if way.is_text:
        module = import_text(export_text(module))
    rules, fired = way.rule_set(), list[str]()
    exhausted: str | None = None
    inline_module(module)
    with _generosity(way.is_generous):
        for function in list(module.functions.values()):
            ledger = rewrite_function(function, rules, Budget(seconds=math.inf), DEVICES[way.device])
            fired += [entry.rule for entry in ledger.entries]
            exhausted = exhausted or ledger.describe_cycle()
    if way.settles:
        materialize_shared(module)
        settle_updates(module)
    verify(module)
    if way.is_text:
        module = import_text(export_text(module))
    return module, fired, exhausted


@contextmanager
def _generosity(is_generous: bool) -> Generator[None]:
    if not is_generous:
        yield
        return
    with (
        mock.patch.object(rewriting_driver, "estimate_saving", lambda *_: 1e-6),
        mock.patch.object(equal_regions, "is_enough", lambda *_: True),
    ):
        yield


def run(program: Program, way: Way) -> Outcome:
    """Optimizes and compares."""
    original = program.copy()
    meaning = Meaning(original)
    try:
        expected = meaning.of_function(original.main, program.arrays)
    except (Endless, NotImplementedError, ValueError, np.linalg.LinAlgError):
        return Outcome("unfit")
    if meaning.has_nan and not way.is_exact:
        return Outcome("unfit")  # rules that reassociate hold for finite numbers
    way = replace(way, assumes=way.assumes & meaning.list_true_assumptions())
    try:
        module, fired, exhausted = optimize(program.copy(), way)
    except Exception as error:
        return Outcome("fault", f"{type(error).__name__}: {error}")
    applied = tuple(dict.fromkeys(fired))
    if exhausted is not None and not way.is_generous:
        return Outcome("endless", exhausted, applied)
    try:
        found = Meaning(module).of_function(module.main, program.arrays)
    except Exception as error:
        return Outcome("wrong", f"can't be run any more: {type(error).__name__}: {error}", applied)
    if way.is_exact:
        noisy = _run_with_noise(program, frozenset((NANS,)), NOISES) if meaning.has_nan else []
        several = zip(expected, found, zip(*noisy, strict=True) if noisy else repeat(()), strict=False)
        differences = (exact_difference(*each) for each in several)
    else:
        are_zeros_free = "no -0.0" in way.assumes
        slacks = list(_slacks(program, expected, meaning.largest, are_zeros_free, NOISES))
        differences = list(map(first_difference, expected, found, *zip(*slacks, strict=True)))
        if any(differences):
            # Which of many equal numbers is the largest is rarely decided otherwise by little noise.
            slacks = list(_slacks(program, expected, meaning.largest, are_zeros_free, MANY_NOISES))
            differences = list(map(first_difference, expected, found, *zip(*slacks, strict=True)))
        if way.on_xla:
            difference = _difference_on_xla(original, module, program, expected, slacks)
            if difference:
                return Outcome("wrong", f"through XLA: {difference}", applied)
    for number, difference in enumerate(differences):
        if difference:
            return Outcome("wrong", f"result {number}: {difference}", applied)
    return Outcome("same", "", applied)


def _run_with_noise(program: Program, noise: frozenset[str], count: int) -> list[list[Array]]:
    meanings = [Meaning(program.module, seed, noise) for seed in range(count)]
    return [meaning.of_function(program.module.main, program.arrays) for meaning in meanings]


def _slacks(
    program: Program, expected: Sequence[Array], largest: dict[str, float], are_zeros_free: bool, count: int
) -> Iterator[tuple[Array, Array]]:
    noisy = _run_with_noise(program, frozenset((ROUNDING, ZEROS) if are_zeros_free else (ROUNDING,)), count)
    for position, array in enumerate(expected):
        dtype = program.module.main.results[position].tensor.dtype
        yield find_slack(array, [each[position] for each in noisy], largest.get(dtype, 0.0))


def _difference_on_xla(
    original: Module,
    optimized: Module,
    program: Program,
    expected: Sequence[Array],
    slacks: Sequence[tuple[Array, Array]],
) -> str:
    if not _suits_xla(original):
        return ""
    try:
        before = run_through_xla(original, program.arrays)
    except Exception:
        return ""  # there are ops that XLA's CPU compiler lacks
    try:
        after = run_through_xla(optimized, program.arrays)
    except Exception as error:
        return f"can't be run any more: {type(error).__name__}: {error}"
    if any(meant.dtype != was.dtype for meant, was in zip(expected, before, strict=True)):
        return ""  # XLA takes complex(real(x), imag(x)) for x, for a real x too
    for meant, was, now, (slack, free) in zip(expected, before, after, slacks, strict=True):
        if meant.dtype.kind in "iub":
            # What XLA makes of the program as written is none of the optimizer's doing.
            free = free | (meant != was)
        else:
            wide = np.complex128 if meant.dtype.kind == "c" else np.float64
            apart = np.abs(meant.astype(wide) - was.astype(wide))
            slack, free = np.maximum(slack, 4 * apart), free | ~np.isfinite(apart)
        difference = first_difference(was, now, slack, free)
        if difference:
            return difference
    return ""


def _suits_xla(module: Module) -> bool:
    """Whether XLA compiles it: it ends the process over some empty arrays, and knows nothing of LAPACK."""
    ops = list(module.main.walk())
    types = [result.type for op in ops for result in op.results]
    return not any(isinstance(op, CustomCall) for op in ops) and all(
        isinstance(type_, TensorType) and type_.size > 0 for type_ in types
    )
