"""The whole compiler, as one list of stages.

    source text ──compile_device──► DeviceCode (LLVM IR, signatures)
                ──import_kernel───► loop-level function per kernel
    launch      ──specialize_for──► ... with the numbers of this launch in it
                ──raise_launch────► tensor-level function for this grid, block and these shapes
                ──at_boundary─────► ... taking and giving arrays in their own shapes and element types
                ──optimize────────► ... cleaned up by the catalogue of rules
                ──TensorProgram───► one operation of JAX, finished for a device where JAX lowers it for one

`compile_launch` runs the stages from the launch on and keeps what each gave, for explanations and `lower().text()`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING

from windlass import ops
from windlass.diagnostics.deferral import deferred
from windlass.diagnostics.progress import telling
from windlass.facts.cost import Device
from windlass.ir import Block, Builder, Function, Module, Region, Value, tensor_type
from windlass.ir.types import MLIR_DTYPES
from windlass.lowering.native_loops import ElementLoop, take_loops_by
from windlass.lowering.polling import is_brief
from windlass.parallel.memory_sums import move_sums_inward
from windlass.parallel.specialization import specialize_for
from windlass.raising import RaisedKernel, raise_kernel
from windlass.rewriting import Entry, Ledger, RuleSet, rewrite_function
from windlass.runtime.binding import Binding, ScalarInput
from windlass.runtime.compiled_store import CompiledStore
from windlass.runtime.line_programs import Offsets
from windlass.runtime.lines import reads_lines_well, take_from_line_start
from windlass.runtime.memories import ArrayForm, signless
from windlass.runtime.needed_memory import least_memory
from windlass.runtime.settings import native_code_is_allowed, raising_seconds, vector_functions_are_allowed
from windlass.runtime.written_parts import WrittenParts, return_parts
from windlass.stablehlo.platforms import device_that_runs
from windlass.stablehlo.program import TensorProgram

if TYPE_CHECKING:
    from windlass.native import element_loops
else:
    element_loops = deferred("windlass.native.element_loops")  # loads LLVM, which programs without loops need not


@dataclass
class RaisedLaunch:
    """What each stage gave for one launch that is raised."""

    binding: Binding
    raised: RaisedKernel
    tensor: Function
    """At the boundary, before optimization."""
    optimized: Function
    rewrites: Sequence[Entry] = ()
    """What the optimizer did."""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """How long the stages took, by name. A program is exported, and compiled by XLA, where it first runs."""
    _from_lines: CompiledStore[Offsets, TensorProgram] = field(
        default_factory=CompiledStore[Offsets, TensorProgram], repr=False
    )

    @cached_property
    def whole(self) -> Function:
        """The program, optimized, with the functions of floats that others define as one op each."""
        return _optimize_whole(self.tensor, device_that_runs()) if ops.holds_composites(self.tensor) else self.optimized

    @cached_property
    def program(self) -> TensorProgram:
        """The program from whole arrays to whole arrays."""
        return self._program(self.optimized)

    @cached_property
    def program_of_parts(self) -> tuple[TensorProgram, WrittenParts]:
        """The program that gives what is written only, for arrays in memory of the caller's."""
        parts = return_parts(self.optimized, self.raised.written)
        if not any(parts.parts) and len(parts.taken) == len(self.optimized.arguments):
            return self.program, parts
        return self._program(parts.function), parts

    @cached_property
    def is_brief(self) -> bool:
        """Whether the program is known to be done within some milliseconds."""
        return is_brief(self.optimized)

    @cached_property
    def reads_lines_well(self) -> bool:
        """Whether the program of parts may take arrays from the beginning of their cache lines on."""
        return reads_lines_well(self.program_of_parts[1].function)

    def program_from_lines(self, offsets: Offsets) -> TensorProgram:
        """The program of parts, for arguments with so many elements before them."""
        if not any(offsets):
            return self.program_of_parts[0]
        found = self._from_lines.get(offsets)
        if found is None:
            function = take_from_line_start(self.program_of_parts[1].function, dict(enumerate(offsets)))
            found = self._program(function)
            self._from_lines.keep(offsets, found)
        return found

    def _program(self, function: Function) -> TensorProgram:
        is_exact = not self.binding.specification.allow_contraction
        # Of the tensor program alone: what JAX keeps must not keep what was compiled.
        from windlass.catalogue import has_lowered

        is_other = ops.holds_composites(self.tensor) or has_lowered(self.rewrites)
        whole = partial(_differentiable_module, self.tensor) if is_other else None
        module = Module([function], function.name)
        plain = partial(_plain_module, self.tensor) if function is self.optimized else None
        return TensorProgram(module, is_exact=is_exact, seconds=self.seconds, differentiable=whole, plain=plain)

    @cached_property
    def least_memory(self) -> int:
        """Bytes that the program takes at least on a CPU."""
        return least_memory(self.optimized)

    @cached_property
    def plain_program(self) -> TensorProgram:
        """The program as it is, for programs that are optimized and finished as a whole."""
        return TensorProgram(Module([self.whole], self.whole.name), is_given=True)

    def irregular_ops(self) -> int:
        """How many ops there are whose cost depends on data: gathers, scatters, sorts and loops."""
        kinds = (ops.Gather, ops.Scatter, ops.DynamicSlice, ops.DynamicUpdateSlice, ops.Sort, ops.While)
        return sum(isinstance(op, kinds) for op in self.optimized.walk())


def raise_launch(kernel: Function, binding: Binding) -> RaisedKernel:
    """The kernel as a tensor program for one launch.

    Raises RaisingError where it has none.
    """
    specification = binding.specification
    special = specialize_for(kernel, specification)
    move_sums_inward(special, specification)
    return raise_kernel(special, specification, raising_seconds())


def at_boundary(name: str, raised: RaisedKernel, binding: Binding) -> Function:
    """The raised function, taking and giving each memory in its array's own shape and element type.

    What it says of its assumptions stays the last result.
    """
    inner = raised.function
    forms = binding.forms
    entries = [
        tensor_type((2,), "ui32") if scalar.enters_as == "halves" else tensor_type((), scalar.enters_as)
        for scalar in binding.scalars
    ]
    block = Block([*(tensor_type(form.shape, form.dtype) for form in forms), *entries])
    with Builder(block):
        mapping: dict[Value, Value] = {}
        for index, argument in enumerate(inner.arguments):
            outer: Value = block.arguments[index]
            if index < len(forms):
                mapping[argument] = flat_words(outer, forms[index])
            else:
                mapping[argument] = entering_scalar(outer, argument.dtype)
        results = inner.inline(mapping)
        given = [shaped_words(result, forms[memory]) for memory, result in zip(raised.written, results, strict=False)]
        ops.Return((*given, *results[len(given) :]))
    return Function(name, block)


def entering_scalar(value: Value, dtype: str) -> Value:
    """A traced scalar in the kernel's own element type."""
    if value.dtype == dtype:
        return value
    if value.shape:
        return ops.BitcastConvert(value, dtype)
    return ops.Convert(value, dtype)


def flat_words(value: Value, form: ArrayForm) -> Value:
    """An array as the flat words that its memory is made of."""
    count = ops.bit_width(form.word_dtype) // ops.bit_width(form.dtype)
    if count > 1:
        return ops.BitcastConvert(ops.Reshape(value, (value.tensor.size // count, count)), form.word_dtype)
    if form.dtype != form.word_dtype:
        value = ops.BitcastConvert(value, form.word_dtype)
    return value if len(value.shape) == 1 else ops.Reshape(value, (value.tensor.size,))


def shaped_words(value: Value, form: ArrayForm) -> Value:
    """The inverse of `flat_words`."""
    if ops.bit_width(form.word_dtype) > ops.bit_width(form.dtype):
        return ops.Reshape(ops.BitcastConvert(value, form.dtype), form.shape)
    if value.shape != form.shape:
        value = ops.Reshape(value, form.shape)
    return value if form.dtype == form.word_dtype else ops.BitcastConvert(value, form.dtype)


def optimize(function: Function, device: Device) -> Function:
    """The function after the catalogue of rewrites, which keep its meaning to the last bit. Works on a copy.

    Where it is a question of costs, they are the device's.
    """
    return optimize_and_note(function, device)[0]


def optimize_and_note(function: Function, device: Device) -> tuple[Function, Ledger]:
    """As `optimize`; with what was done."""
    from windlass.catalogue import catalogue  # 350 ms, for which kernels in the emulator need not wait

    function = function.clone()
    ops.expand_composites(function.body)
    ledger = rewrite_function(function, catalogue.choose(exact=True, in_kernel=True), device=device)
    return function, ledger


def _optimize_whole(function: Function, device: Device) -> Function:
    """As `optimize`, with the functions of floats that others define as one op each: what derivatives are made of."""
    from windlass.catalogue import catalogue

    function = function.clone()
    rewrite_function(function, catalogue.choose(exact=True, in_kernel=True), device=device)
    return function


def _differentiable_module(function: Function) -> Module:
    return optimize_before_derivatives(Module([function], function.name), device_that_runs())


def _plain_module(function: Function) -> Module:
    """The function as it was raised, with the ops that define them in the place of functions of floats."""
    copy = function.clone()
    ops.expand_composites(copy.body)
    return Module([copy], function.name)


# -- whole programs ---------------------------------------------------------------------------------------------------


def optimize_module(module: Module, device: Device) -> tuple[Module, list[Entry]]:
    """Every function after the catalogue of rewrites, by the device's costs; with what was done. Works on a copy.

    Functions of floats that others define stay one op each, where they are.
    """
    from windlass.catalogue import catalogue

    return _rewrite_module(module, device, catalogue.choose(exact=True, in_kernel=True))


def optimize_before_derivatives(module: Module, device: Device) -> Module:
    """As `optimize_module`, without what is only said otherwise because the device is slow at it."""
    from windlass.catalogue import rules_before_lowering

    return _rewrite_module(module, device, rules_before_lowering(exact=True, in_kernel=True))[0]


def _rewrite_module(module: Module, device: Device, rules: RuleSet) -> tuple[Module, list[Entry]]:
    changed = module.clone()
    ledgers = [rewrite_function(function, rules, device=device) for function in changed.functions.values()]
    return changed, [entry for ledger in ledgers for entry in ledger.entries]


def _take_loops(module: Module, name: str) -> Sequence[ElementLoop]:
    if not native_code_is_allowed():
        return ()
    return element_loops.take_element_loops(module, name, is_exact=not vector_functions_are_allowed())


take_loops_by(_take_loops)


# -- launches ---------------------------------------------------------------------------------------------------------


def compile_launch(name: str, kernel: Function, binding: Binding) -> RaisedLaunch:
    """All stages from a bound launch to a program.

    Raises RaisingError where the kernel has no tensor form.
    """
    moments = [time.perf_counter()]
    with telling(f"raising {name}"):
        raised = raise_launch(kernel, binding)
        tensor = at_boundary(name, raised, binding)
    moments.append(time.perf_counter())
    with telling(f"optimizing {name}"):
        optimized, ledger = optimize_and_note(tensor, device_that_runs())
    moments.append(time.perf_counter())
    stages = zip(("raising", "optimizing"), moments[:-1], moments[1:], strict=True)
    seconds = {stage: after - before for stage, before, after in stages}
    return RaisedLaunch(binding, raised, tensor, optimized, ledger.entries, seconds)


def stands_in_for(known: RaisedLaunch, unknown: RaisedLaunch) -> bool:
    """Whether a launch with more integers known gives the same results, so that it can run in place of the other."""
    assumptions = known.raised.assumptions
    return known.raised.written == unknown.raised.written and assumptions in ((), unknown.raised.assumptions)


def choose_by_integers(unknown: RaisedLaunch, known: RaisedLaunch, integers: Mapping[int, int]) -> RaisedLaunch:
    """The launch as it is where these arguments, by position, have these values, and else as it is for any values."""

    def combine(other: Function, likely: Function) -> Function:
        block = Block([argument.type for argument in other.arguments])
        memories = len(unknown.binding.forms)
        scalars = dict(zip(unknown.binding.scalars, block.arguments[memories:], strict=True))
        given = [*block.arguments[:memories], *(scalars[scalar] for scalar in known.binding.scalars)]
        with Builder(block):
            conditions = [
                ops.Compare(value, ops.Constant.of(integers[scalar.position], value.dtype), "EQ")
                for scalar, value in _own_types(scalars)
                if scalar.position in integers
            ]
            branches = (_branch(likely, given, len(other.results)), _branch(other, block.arguments, len(other.results)))
            chosen = ops.If(reduce(ops.And, conditions), *branches)
            ops.Return(chosen.results)
        return Function(other.name, block)

    tensor, optimized = (
        combine(*pair) for pair in ((unknown.tensor, known.tensor), (unknown.optimized, known.optimized))
    )
    return replace(unknown, tensor=tensor, optimized=optimized)


def _own_types(scalars: Mapping[ScalarInput, Value]) -> Iterator[tuple[ScalarInput, Value]]:
    for scalar, value in scalars.items():
        yield scalar, entering_scalar(value, signless(MLIR_DTYPES[scalar.dtype]))


def _branch(function: Function, arguments: Sequence[Value], count: int) -> Region:
    """What the function does as a branch; where it has one result too few, no assumption of it fails."""
    block = Block()
    with Builder(block):
        results = function.inline(dict(zip(function.arguments, arguments, strict=True)))
        ops.Return((*results, *(ops.Constant.of(0, "i32") for _ in range(count - len(results)))))
    return Region(block)
