"""Kernels of whole programs evaluated at the loop level: they give what their references in NumPy give."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.frontends.llvm.running import checked
from tests.programs.program import PROGRAMS, Launch, Program
from tests.programs.test_programs import arrays_of, assert_same

import windlass as wl
from windlass.frontends.cuda import compile_device, find_kernel
from windlass.frontends.llvm import import_kernel, variable_contents
from windlass.ir import Function
from windlass.ir.signature import DeviceCode
from windlass.loops import evaluate_kernel
from windlass.loops.text import loop_text
from windlass.loops.verifier import Profile
from windlass.parallel.dead_code import remove_unused
from windlass.parallel.nesting import flatten, nest, nest_lanes
from windlass.parallel.passes import PASSES_OF_TILES, LoopPass, run_passes

MOST_THREADS = 70
FEW_THREADS = 40
"""Cases of more threads are slow."""
DEAR = ("tensor_cores",)
"""Themes whose threads each do much."""
BOUND = (wl.cuda.Texture, wl.cuda.Surface)


@functools.cache
def compiled(source: Path) -> DeviceCode:
    return compile_device(source.read_text(), name=str(source))


def cases() -> Iterator[Any]:
    """The largest launch of each program that is small enough; most are slow."""
    for number, program in enumerate(PROGRAMS):
        small = [each for each in program.launches if each.threads <= MOST_THREADS and not each.idle]
        # Kernels with textures are compiled for the forms of their textures, at the launch.
        if small and not any(isinstance(each, BOUND) for each in program.draw_arguments(small[0])):
            launch = max(small, key=lambda each: each.threads)
            is_dear = launch.threads > FEW_THREADS or program.name.startswith(DEAR)
            marks = [pytest.mark.slow] if number % 7 or is_dear else []
            yield pytest.param(program, launch, id=f"{program.name}-{launch}", marks=marks)


def forms_of(code: DeviceCode, name: str) -> list[Function]:
    """The kernel as structured and after each pass that changes it, then nested; the verifier holds for all."""
    forms: dict[str, Function] = {}

    def note(each: LoopPass | None, function: Function, profile: Profile = "imported") -> None:
        text = loop_text(checked(function, profile))
        if text not in forms:
            forms[text] = function.clone()

    run_passes(import_kernel(code, find_kernel(code, name).mangled, watch=note), PASSES_OF_TILES, note)
    *_, last = forms.values()
    for changes in ((nest,), (nest_lanes,), (nest_lanes, flatten, remove_unused)):
        nested = last.clone()
        for change in changes:
            change(nested.body)
        note(None, nested, "transformed")
    return list(forms.values())


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("program", "launch"), list(cases()))
def test_kernels_evaluate_to_what_their_references_give(program: Program, launch: Launch) -> None:
    code = compiled(program.source)
    forms = forms_of(code, program.kernel)
    for kernel in forms:
        check(kernel, code, program, launch)
    check(forms[-1], code, program, launch, np.random.default_rng(len(program.name)))


def check(
    kernel: Function,
    code: DeviceCode,
    program: Program,
    launch: Launch,
    order: np.random.Generator | None = None,
) -> None:
    """With an `order`, threads run in a drawn one, and each iteration makes its own part of a reduction."""
    values = program.draw_variables()
    held = variable_contents(code)
    for name, value in values.items():
        held[name] = value.tobytes()
    arguments = program.draw_arguments(launch)
    grid, block = ((each,) if isinstance(each, int) else each for each in (launch.grid, launch.block))
    state = evaluate_kernel(kernel, grid, block, arguments, held, launch.shared_bytes, order)
    found = arrays_of(arguments)
    for name in program.observed:
        found[name] = np.frombuffer(state.variables[name].tobytes(), values[name].dtype).reshape(values[name].shape)

    arguments = program.draw_arguments(launch)
    wanted = {name: values[name].copy() for name in program.observed}
    program.run_reference(launch, [*arguments, *wanted.values()])
    assert_same(found, wanted | arrays_of(arguments), program.tolerance, "NumPy")
