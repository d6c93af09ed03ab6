"""What JAX has lowered: read as one function, and optimized for the devices that it was lowered for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from windlass.communication.choices import tell_choice
from windlass.facts.cost import CPU, Device
from windlass.ir import Module
from windlass.lowering.exact_arithmetic import keep_float_results
from windlass.lowering.finishing import Surroundings, avoid_miscompilations, finish
from windlass.lowering.fixed_order import fix_order
from windlass.ops import expand_composites, restore_composites
from windlass.precision import spread_module
from windlass.rewriting.collecting import without_collections
from windlass.rewriting.inlining import inline_calls, remove_unused_functions
from windlass.stablehlo.distributing import distribute
from windlass.stablehlo.exporting import export_bytecode
from windlass.stablehlo.importing import import_module
from windlass.stablehlo.optimizing import Choices, optimize_module
from windlass.stablehlo.platforms import device_for


def import_lowered(name: str, lowered: Any, prepare: Callable[[Module], None] = lambda _: None) -> Module:
    """What JAX lowered, with all calls within it inlined, as one function called `main`.

    `prepare` is given the module before.
    """
    module = _read(lowered.compiler_ir("stablehlo"), prepare)
    module.name = name
    return module


@without_collections()
def optimize_lowered(parsed: Any, choices: Choices, platforms: Sequence[str], surroundings: Surroundings) -> bytes:
    """What JAX lowered for these platforms, optimized for the first and finished for all, as MLIR bytecode."""
    begun = time.monotonic()
    module = _read(parsed)
    if choices.precision is None:
        expand_functions(module)
    # Rules may change the order of sums: one that is to be fixed has one form.
    plain = module.clone() if surroundings.is_partitioned and not choices.deterministic else None
    optimize_module(module, choices, platform=platforms[0], begun=begun)
    device = device_for(platforms)
    for each in (module, plain):
        if each is not None:
            settle_precision(each, choices, None if surroundings.is_partitioned else device, device)
    until, is_settled = begun + choices.compile_seconds, choices.precision is not None

    def complete(form: Module) -> None:
        finish(form, device, until, is_partitioned=surroundings.is_partitioned, is_settled=is_settled)
        avoid_miscompilations(form, device, surroundings)

    chosen, choice = distribute(module, surroundings, platforms[0], complete, lambda: plain)
    tell_choice(choice)
    return export_bytecode(chosen, within_calls=surroundings.is_partitioned)


def settle_precision(
    module: Module, choices: Choices, written_for: Device | None = None, runs_on: Device = CPU
) -> None:
    """Let the module compute with the floats that are asked for, and keep their results where they have to be exact."""
    if choices.precision is not None:
        spread_module(module, choices.precision, written_for)
        expand_functions(module)
    if choices.deterministic:
        fix_order(module)
    if choices.exact or choices.precision is not None:
        for function in module.functions.values():
            # Narrow floats in the place of wide ones are not to be divided in wide ones.
            keep_float_results(function, runs_on if choices.precision is None else CPU)


def expand_functions(module: Module) -> None:
    """Put the ops that define them in the place of functions of floats."""
    for function in module.functions.values():
        expand_composites(function.body)


def _read(parsed: Any, prepare: Callable[[Module], None] = lambda _: None) -> Module:
    module = import_module(parsed)
    prepare(module)
    inline_calls(module.main.body, module, through_settling=True)
    remove_unused_functions(module)
    for function in module.functions.values():
        restore_composites(function.body)
    return module
