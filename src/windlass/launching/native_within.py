"""The native form of a launch on JAX values that is raised: a module that stands for the tensor program on a CPU.

It takes and gives what the raised program does. Whatever JAX makes of the launch (derivatives, batches, parts for
several devices, programs for other platforms) is made of the raised one, and where XLA compiles the launch as it is,
for this process and one CPU, it calls native code, if that costs clearly less by estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from windlass.diagnostics import RaisingError
from windlass.ir import Block, Builder, Function, Module, Value
from windlass.ir.types import NUMPY_DTYPES
from windlass.launching.candidates import (
    NATIVE,
    RAISED,
    emulated_candidate,
    native_candidate_within,
    raised_candidate_within,
)
from windlass.launching.emulated_time import native_code_ends
from windlass.launching.native_derivatives import Source
from windlass.launching.native_launch import compile_with_function, known_integers, specialized
from windlass.launching.native_values import alignment_of, facts_of_values, note_launch
from windlass.native import LaunchFacts, NotNative
from windlass.native.plan import WIDEST
from windlass.native.pool import thread_count
from windlass.native.work import work_of_launch
from windlass.native.xla_call import NULL_SLOT, Slot, XlaCall, enter, is_supported
from windlass.native.xla_rows import Kind
from windlass.ops import Constant, Return
from windlass.parallel.effects import written_variables
from windlass.reports.candidate import Candidate
from windlass.runtime.settings import first_calls_are_checked, native_code_is_a_choice, vector_functions_are_allowed
from windlass.stablehlo.optimizing import Choices

if TYPE_CHECKING:
    from windlass.facts.cost import Device
    from windlass.launching.form import Request
    from windlass.native.work import Work
    from windlass.pipeline import RaisedLaunch
    from windlass.runtime.launch_shape import LaunchShape
    from windlass.stablehlo.program import TensorProgram

CLEAR_GAIN = 1.5
"""So many times less native code has to take by estimate: XLA may fuse a tensor program with what stands around it."""


def refusal_by_itself(compiled: RaisedLaunch, shape: LaunchShape) -> str | None:
    """Why a launch that is raised is not to run as native code by itself; None where it may."""
    raised = compiled.raised
    if not native_code_is_a_choice():
        return "what can be raised is raised (WINDLASS_NATIVE)"
    if first_calls_are_checked():
        return "first calls are compared with the emulator (WINDLASS_CHECK)"
    if Choices().device_on().name != "cpu":
        return "JAX runs on another device"
    if not native_code_ends(shape, None):
        return "it would take too long"
    if raised.race is not None:
        return "its threads race"
    if raised.report.absent:
        return "it reads from lanes that take no part"
    if any(each.is_fault for each in raised.assumptions):
        return "whether it is right depends on the data"
    return None


def choose_program(
    launch: Request, compiled: RaisedLaunch, program: TensorProgram
) -> tuple[TensorProgram, XlaCall | None]:
    """A raised program of a launch on JAX values, for which native code stands where that costs clearly less and may be
    called; and how it is called. The kernel's last report tells of it."""
    kernel = launch.kernel
    device = Choices().device_on()
    raised = raised_candidate_within(compiled, device)
    called = work = None
    native = Candidate(NATIVE, refusal=refusal_by_itself(compiled, launch.shape) or "")
    if not native.refusal:
        try:
            slots = slots_of(launch, compiled)
            facts = facts_of_values(launch, slots)
            work = work_of_launch(specialized(launch), facts, device.cache)
            native = _estimate(work, compiled, device, WIDEST)
            if is_clear(native, raised):
                call = _compile(launch, slots, facts)
                code = call.code
                native = _estimate(work, compiled, device, code.width, 1 if code.is_ordered else thread_count())
                if is_clear(native, raised):
                    program, called = program.or_native(call.number, module_of(call, compiled)), call
        except (NotNative, RaisingError) as reason:
            native = Candidate(NATIVE, refusal=getattr(reason, "reason", "it has no loops that code could be made of"))
    is_native = called is not None
    report = kernel.last_report
    if report is not None:
        report.is_native = is_native
        report.choice_reason = (
            f"it takes less than 1 / {CLEAR_GAIN} by estimate, and is raised for derivatives, batches and other devices"
            if is_native
            else native.refusal or f"native code would not take less than 1 / {CLEAR_GAIN} of it by estimate"
        )
        others = [raised, native, emulated_candidate(launch.shape, work)]
        best = NATIVE if is_native else RAISED
        report.candidates = tuple(sorted(others, key=lambda each: (each.form != best, each.best_known)))
    return program, called


def is_clear(native: Candidate, raised: Candidate) -> bool:
    """Whether native code costs so much less that it is taken."""
    return CLEAR_GAIN * native.best_known < raised.best_known


def _estimate(work: Work, compiled: RaisedLaunch, device: Device, lanes: int, threads: int | None = None) -> Candidate:
    return native_candidate_within(work, compiled, device, lanes, thread_count() if threads is None else threads)


def slots_of(launch: Request, compiled: RaisedLaunch) -> list[Slot]:
    """What fills each argument of the kernel, and then its variables, of what the raised program is given.

    Raises NotNative where that is not the same as what native code takes.
    """
    kernel, binding = launch.kernel, compiled.binding
    if not is_supported():
        raise NotNative("this version of jaxlib calls functions in another way than is known")
    if launch.variables or written_variables(kernel.function):
        raise NotNative("it writes device variables")
    known = known_integers(launch)
    slots: list[Slot] = []
    memories = written = 0
    for position, (parameter, value) in enumerate(zip(kernel.signature.parameters, launch.arguments, strict=True)):
        if value is None or position in known:
            slots.append(NULL_SLOT)
        elif parameter.kind == "pointer":
            dtype = np.dtype(value.dtype)
            if binding.forms[memories].view is not None:
                raise NotNative(f"array '{parameter.name}' is of another type within XLA")
            kind = Kind.WRITTEN if position in kernel.written else Kind.READ
            size = math.prod(value.shape)
            if binding.forms[memories].size_bytes != size * dtype.itemsize:
                raise NotNative(f"array '{parameter.name}' is a part of another one")
            alignment = alignment_of(dtype, kernel.alignment)
            slots.append(
                Slot(kind, memories, written if kind is Kind.WRITTEN else 0, size, size * dtype.itemsize, alignment)
            )
            memories += 1
            written += kind is Kind.WRITTEN
        else:
            slots.append(_slot_of_number(compiled, position, parameter.size if parameter.kind == "scalar" else -1))
    for name, storage in kernel.variables().items():
        if name not in binding.variables:
            raise NotNative(f"device variable {name} is no part of the tensor program")
        place = memories + binding.variables.index(name)
        elements = math.prod(binding.forms[place].shape)
        slots.append(Slot(Kind.READ, place, 0, elements, storage.nbytes, alignment_of(storage.dtype, kernel.alignment)))
    filled = {slot.operand for slot in slots if slot.kind is not Kind.NULL}
    if filled != set(range(len(compiled.optimized.arguments))) or not written:
        raise NotNative("it takes other arguments than the tensor program")
    return slots


def _slot_of_number(compiled: RaisedLaunch, position: int, size: int) -> Slot:
    binding = compiled.binding
    places = [place for place, scalar in enumerate(binding.scalars) if scalar.position == position]
    if len(places) == 1:
        (place,) = places
        entering = binding.scalars[place].enters_as
        is_halves = entering == "halves"
        width = 8 if is_halves else np.dtype(NUMPY_DTYPES[entering]).itemsize
        if width == size and entering != "i1":
            return Slot(Kind.BITS, len(binding.forms) + place, 0, 2 if is_halves else 1, size)
    raise NotNative("a number enters the tensor program in another form")


def _compile(launch: Request, slots: Sequence[Slot], facts: LaunchFacts) -> XlaCall:
    """Native code for a launch in which these slots are filled, as XLA calls it."""
    kernel = launch.kernel
    key = ("within", launch.shape, tuple(known_integers(launch).items()), tuple(slots), vector_functions_are_allowed())
    with kernel.lock:
        found: XlaCall | NotNative | None = kernel.native_calls.get(key)
        if found is None:
            try:
                function, code = compile_with_function(launch, facts=facts)
                if not code.most_parts:
                    raise NotNative("it has no threads")
                found = enter(kernel.name, code, slots, Source(function, facts, tuple(slots)).flops())
                note_launch(found, launch)
            except NotNative as reason:
                found = reason
            kernel.native_calls.keep(key, found)
    if isinstance(found, NotNative):
        raise found
    return found


def module_of(call: XlaCall, compiled: RaisedLaunch) -> Module:
    """A module that calls native code, and takes and gives what the raised program does."""
    raised = compiled.optimized
    changing = {slot.operand: slot.result for slot in call.slots if slot.kind is Kind.WRITTEN}
    types = [raised.arguments[operand].tensor for operand in changing]
    block = Block([argument.type for argument in raised.arguments])
    with Builder(block, source=raised.source):
        done = call.on(
            tuple(block.arguments),
            tuple(types),
            changing,
            operand_layouts=_layouts([argument.tensor.rank for argument in raised.arguments]),
            result_layouts=_layouts([type_.rank for type_ in types]),
        )
        given: list[Value] = [done.results[changing[memory]] for memory in compiled.raised.written]
        for rest in raised.results[len(given) :]:  # which assumption does not hold: native code makes none
            given.append(Constant.of(0, rest.dtype))
        Return(tuple(given))
    return Module([Function(raised.name, block)], raised.name)


def _layouts(ranks: Sequence[int]) -> str:
    """The last axis fastest."""
    found: list[str] = []
    for rank in ranks:
        axes = f"[{', '.join(map(str, reversed(range(rank))))}]" if rank else ""
        found.append(f"dense<{axes}> : tensor<{rank}xindex>")
    return f"[{', '.join(found)}]"
