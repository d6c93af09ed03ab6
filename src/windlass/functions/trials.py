"""Trials by the clock: several schedules for one program, of which the fastest stays.

The cost model tells bad from good, but not good from better: so the best few by the model are run, the default beside
them twice, and another is taken only where it gains more than the two of the default differ.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import jax

from windlass.diagnostics import WindlassError
from windlass.diagnostics.cache import keep, read_kept
from windlass.ir import Module
from windlass.schedules import Schedule, everything, read_schedule
from windlass.schedules.tensors import family_of
from windlass.stablehlo.exporting import export_text
from windlass.stablehlo.optimizing import Choices, Report, optimize_module
from windlass.stablehlo.private_jax import is_tracer

MOST_CANDIDATES = 16
"""So many schedules are optimized for and priced by the model, at most."""
ROUNDS, SECONDS_OF_ROUNDS = 15, 2.0
"""Each is run so often, unless all runs together have taken so long."""
LEAST_GAIN = 0.05
"""The part of the default's time that has to be gained: programs compiled twice differ by so much."""


@dataclass(frozen=True)
class Trial:
    """One schedule: what the cost model estimates for its program, and its least time by the clock, in seconds."""

    schedule: Schedule
    estimate: float
    seconds: float


@dataclass(frozen=True)
class Trials:
    """The schedules that were run for one kind of arguments, the default first, and the one that is used from then."""

    trials: tuple[Trial, ...]
    chosen: Schedule
    noise: float
    """The time of the default over that of the same program compiled again, less one."""

    def __str__(self) -> str:
        first = self.trials[0].seconds
        lines = [
            f"{'→' if each.schedule == self.chosen else ' '} {1e6 * each.seconds:9.1f} µs  {first / each.seconds:5.2f}"
            f"  (model {1e6 * each.estimate:9.1f} µs)  {each.schedule}"
            for each in self.trials
        ]
        return "\n".join([*lines, f"noise {abs(self.noise):.1%}"])


def candidates(module: Module, choices: Choices) -> list[tuple[Schedule, float, str]]:
    """Schedules whose programs differ, each with the model's estimate and the program; the default is the first.

    They are the options of the schedule that was chosen, or else all rules without one of the families that did
    something to the program.
    """
    default = choices.schedule if isinstance(choices.schedule, Schedule) else everything()
    report, text, price = _priced(module, replace(choices, schedule=default))
    found = [(default, price, text)]
    programs = {text}
    for schedule in _others(default, report, choices):
        _, text, price = _priced(module, replace(choices, schedule=schedule))
        if text not in programs:
            programs.add(text)
            found.append((schedule, price, text))
    return found


def _priced(module: Module, choices: Choices) -> tuple[Report, str, float]:
    copy = module.clone()
    report = optimize_module(copy, choices, estimates=True)
    assert report.cost_after is not None
    return report, export_text(copy), report.cost_after.seconds


def _others(default: Schedule, report: Report, choices: Choices) -> Iterator[Schedule]:
    """What may be tried beside the default."""
    if default.space:
        yield from _bindings(default)
        return
    family = {rule.name: family_of(rule.body) for rule in choices.rule_set()}
    used = dict.fromkeys(family.get(name, name) for name, _ in report.count_by_rule().most_common())
    for name in list(used)[:MOST_CANDIDATES]:
        yield everything(without=(name,))


def _bindings(schedule: Schedule) -> Iterator[Schedule]:
    """The schedule with another option for one of its choices, then for two, and so on, as many as are tried."""
    space = schedule.space
    waiting: list[dict[str, int]] = [{}]
    made = 0
    for changes in waiting:
        for name, count in space.items():
            if changes and list(space).index(name) <= max(list(space).index(each) for each in changes):
                continue
            for number in range(1, count):
                if made == MOST_CANDIDATES:
                    return
                made += 1
                waiting.append({**changes, name: number})
                yield schedule.bind(dict.fromkeys(space, 0) | waiting[-1])


def run_trials(
    tried: Sequence[tuple[Schedule, float, str]],
    count: int,
    compile_with: Callable[[Schedule], Callable[[], Any]],
) -> Trials:
    """Run the default and the best `count - 1` others by the model; `compile_with` gives what runs one of them."""
    default, *others = tried
    chosen = [default, *sorted(others, key=lambda each: each[1])[: count - 1]]
    runs = [compile_with(schedule) for schedule, _, _ in (*chosen, default)]
    for run in runs:
        jax.block_until_ready(run())
    times = [float("inf")] * len(runs)
    begun = time.perf_counter()
    for number in range(ROUNDS):
        for place in range(len(runs)) if number % 2 == 0 else reversed(range(len(runs))):
            before = time.perf_counter()
            jax.block_until_ready(runs[place]())
            times[place] = min(times[place], time.perf_counter() - before)
        if time.perf_counter() - begun > SECONDS_OF_ROUNDS:
            break
    made = tuple(
        Trial(schedule, estimate, seconds) for (schedule, estimate, _), seconds in zip(chosen, times[:-1], strict=True)
    )
    again = times[-1]
    noise = made[0].seconds / again - 1
    best = min(made, key=lambda each: each.seconds)
    gains = best.seconds < (1 - LEAST_GAIN - abs(noise)) * min(made[0].seconds, again)
    return Trials(made, best.schedule if gains else made[0].schedule, noise)


def find_trials(
    module: Module, choices: Choices, count: int, compile_with: Callable[[Schedule], Callable[[], Any]]
) -> Trials:
    """The trials for a program: those of an earlier process, or else run now and kept."""
    name = _name_of(module, choices, count)
    # What rules of the user's do is not in their names.
    known = None if choices.rules else _read_trials(name)
    if known is None:
        known = run_trials(candidates(module, choices), count, compile_with)
        if not choices.rules:
            _keep_trials(name, known)
    return known


def _name_of(module: Module, choices: Choices, count: int) -> str:
    """Under which the outcome is kept: by the program, the choices, the device and the versions."""
    device = jax.devices()[0]
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = (device.platform, device.device_kind, platform.node(), processors, version("jaxlib"), version("windlass"))
    parts = (export_text(module), repr(choices), str(count), repr(machine))
    return f"unit-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()}.kept"


def _read_trials(name: str) -> Trials | None:
    kept = read_kept(name)
    if kept is None:
        return None
    with suppress(ValueError, KeyError, TypeError, WindlassError):
        found = json.loads(kept)
        trials = tuple(Trial(read_schedule(text), float(model), float(clock)) for text, model, clock in found["trials"])
        return Trials(trials, read_schedule(found["chosen"]), float(found["noise"]))
    return None


def _keep_trials(name: str, trials: Trials) -> None:
    told = {
        "chosen": repr(trials.chosen),
        "noise": trials.noise,
        "trials": [(repr(each.schedule), each.estimate, each.seconds) for each in trials.trials],
    }
    keep(name, json.dumps(told).encode())


def key_of_arguments(positional: tuple[Any, ...], named: dict[str, Any]) -> Hashable | None:
    """What trials for these arguments hold for: shapes, types and places of arrays, and all else by value.

    None where something of it can't be told, or an array is a tracer.
    """
    leaves, structure = jax.tree.flatten((positional, named))
    key: list[Hashable] = [structure]
    for leaf in leaves:
        if is_tracer(leaf):
            return None
        if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
            is_weak, place = getattr(leaf, "weak_type", False), getattr(leaf, "sharding", None)
            key.append((leaf.shape, str(leaf.dtype), bool(is_weak), place))
        else:
            key.append((type(leaf), leaf))
    try:
        hash(tuple(key))
    except TypeError:
        return None
    return tuple(key)
