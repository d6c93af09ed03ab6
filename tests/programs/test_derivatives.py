"""The derivatives of each program of floats, against differences of its twin in double precision."""

from __future__ import annotations

import re
import zlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import windlass as wl
from windlass.autodiff import NoDerivative, pullback_function, tangent_function
from windlass.autodiff.activity import is_differentiable
from windlass.ir import Function, Module
from windlass.ops.evaluation import evaluate_block
from windlass.stablehlo import export_text, import_text

from .program import PROGRAMS, Program
from .test_programs import compiled

STEP = 1e-6
WIDENED = frozenset({"f16", "bf16", "f32", "f64"})
HEXADECIMAL = {
    "0x7F800000": "0x7FF0000000000000",
    "0xFF800000": "0xFFF0000000000000",
    "0x7FC00000": "0x7FF8000000000000",
}


def widened(function: Function) -> Function:
    """The same in double precision."""
    text = export_text(Module([function]))
    for narrow, wide in HEXADECIMAL.items():
        text = text.replace(narrow, wide)
    text = re.sub(r"(?<=x)b?f(16|32)\b", "f64", text)
    return import_text(re.sub(r"\bb?f(16|32)\b", "f64", text)).main


def draw_for(value: Any, generator: np.random.Generator) -> NDArray[Any]:
    return generator.uniform(0.2, 1.8, value.tensor.shape)


def function_of(program: Program) -> Function | None:
    """What the program's smallest launch becomes; None where it is not raised."""
    launch = min(
        (each for each in program.launches if not each.idle),
        default=program.launches[0],
        key=lambda each: sum(each.sizes.values()),
    )
    module = compiled(program.source)
    for name, value in program.draw_variables().items():
        module.variables[name] = value
    arguments = program.draw_arguments(launch)
    kernel = module[program.kernel]
    return kernel.explain(launch.grid, launch.block, *arguments, shared_bytes=launch.shared_bytes).function


@pytest.mark.one_in(12)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_derivatives_are_what_differences_show(program: Program) -> None:
    function = function_of(program)
    if function is None:
        return
    active = [place for place, value in enumerate(function.arguments) if value.tensor.dtype in WIDENED]
    if not active or not any(is_differentiable(value.type) for value in function.results):
        return
    try:
        function = widened(function)
    except wl.WindlassError:
        return
    try:
        tangent = tangent_function(function, active)
    except NoDerivative as failure:
        assert failure.source is not None, failure.reason
        pytest.skip(failure.reason)
    if any(is_differentiable(value.type) and value.tensor.numpy_dtype.itemsize == 1 for value in function.results):
        pytest.skip("differences of floats of 8 bits are their rounding")
    generator = np.random.default_rng(zlib.crc32(program.name.encode()))
    arrays = [
        draw_for(value, generator)
        if place in active
        else np.ones(value.tensor.shape, value.tensor.numpy_dtype)
        if is_differentiable(value.type)
        else generator.integers(0, 2, value.tensor.shape).astype(value.tensor.numpy_dtype)
        for place, value in enumerate(function.arguments)
    ]
    along = {place: generator.uniform(-1, 1, function.arguments[place].tensor.shape) for place in active}

    def at(step: float) -> list[Any]:
        moved = [array + step * along[place] if place in along else array for place, array in enumerate(arrays)]
        with np.errstate(all="ignore"):
            return [np.asarray(each) for each in evaluate_block(function.body, moved)]

    kept = [place for place, value in enumerate(function.results) if is_differentiable(value.type)]

    def differences(step: float) -> list[Any]:
        after, before = at(step), at(-step)
        with np.errstate(all="ignore"):
            return [(after[place] - before[place]) / (2 * step) for place in kept]

    expected, *others = (differences(factor * STEP) for factor in (1, 8, 64))
    with np.errstate(all="ignore"):
        found = list(evaluate_block(tangent.body, [*arrays, *along.values()]))
    for one, *further, other in zip(expected, *others, found, strict=True):
        scale = max(1.0, float(np.max(np.abs(one[np.isfinite(one)]), initial=0)))
        # Where differences by other steps differ, rounding or a kink is in the way.
        is_known = np.all([np.isclose(one, each, 1e-5, 1e-5 * scale) for each in further], 0)
        near = np.isclose(one, other, 1e-4, 1e-4 * scale) | ~is_known
        assert near.all(), (np.argwhere(~near)[:5], one[~near][:5], np.asarray(other)[~near][:5])
    cotangents = [generator.uniform(-1, 1, function.results[place].tensor.shape) for place in kept]
    try:
        pullback = pullback_function(function, active)
    except NoDerivative as failure:
        pytest.skip(f"{failure.reason} in reverse")
    with np.errstate(all="ignore"):
        pulled = list(evaluate_block(pullback.body, [*arrays, *cotangents]))
    forward = sum(float(np.sum(one * other)) for one, other in zip(cotangents, found, strict=True))
    back = sum(float(np.sum(one * along[place])) for one, place in zip(pulled, active, strict=True))
    if np.isfinite(forward):
        assert np.isclose(forward, back, 2e-5, 1e-9), (forward, back)
