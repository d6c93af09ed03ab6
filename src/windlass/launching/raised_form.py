"""What runs a launch that was raised: a tensor program, and where its arguments and results go.

What follows from the key of a call is worked out once, as the form is made. A call on arrays that the program takes and
gives as they are, which most are, does no more than it has to: it picks the arguments, calls the compiled program, and
copies what the kernel writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, RaisingError
from windlass.diagnostics.warning import warn_caller
from windlass.frontends.arrays import sharing
from windlass.frontends.arrays.values import as_jax
from windlass.launching.array_binding import bind_arrays
from windlass.launching.emulated_form import EmulatedForm
from windlass.launching.first_calls import FIRST_CALLS
from windlass.launching.form import Form, PreparedLaunch, Request
from windlass.launching.native_within import choose_program
from windlass.launching.raised_function import RaisedFunction
from windlass.launching.value_launch import enter, launch_on_values, leave
from windlass.runtime.arguments import check_written
from windlass.runtime.line_programs import LinePrograms
from windlass.runtime.memories import MemoryPlan, bytes_of
from windlass.runtime.needed_memory import as_out_of_memory
from windlass.runtime.scalars import ScalarReader
from windlass.runtime.staging import LARGE, pool
from windlass.runtime.written_parts import WrittenPart
from windlass.stablehlo.waiting import require_threads, wait_for

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.launching.traced_launch import TracedLaunch
    from windlass.pipeline import RaisedLaunch
    from windlass.runtime.arguments import Checked
    from windlass.runtime.launch_shape import LaunchShape
    from windlass.stablehlo.program import TensorProgram

Array: TypeAlias = NDArray[Any]


class RaisedForm(Form, PreparedLaunch):
    """A tensor program and where its arguments and results go."""

    name = "raised"

    __slots__ = (
        "_assumptions", "_compiled", "_function", "_is_brief", "_is_small", "_kernel", "_large", "_memories",
        "_outputs", "_parts", "_picks", "_program", "_scalars", "_shape", "_taken", "_touched",
        "_variables", "_wide", "_writes",
    )  # fmt: skip

    def __init__(
        self, kernel: LoadedKernel, shape: LaunchShape, plans: Sequence[MemoryPlan], compiled: RaisedLaunch
    ) -> None:
        self._kernel = kernel
        self._shape = shape
        self._assumptions = compiled.raised.assumptions
        binding = compiled.binding
        signature = kernel.signature
        variables = kernel.variables()
        storage = tuple(variables[name] for name in binding.variables)
        self._touched = tuple(array for name, array in variables.items() if name not in binding.variables)
        self._memories = tuple((plan.members[0][0], None if plan.is_plain else plan) for plan in plans)
        self._variables = tuple(zip(storage, binding.forms[len(plans) :], strict=True))
        self._scalars = tuple((scalar.position, ScalarReader(signature, scalar)) for scalar in binding.scalars)
        self._outputs = tuple(
            (plans[memory].members[0][0], None if plans[memory].is_one_plain_array else plans[memory], None)
            if memory < len(plans)
            else (0, None, storage[memory - len(plans)])
            for memory in compiled.raised.written
        )
        self._compiled = compiled
        self._program, parts = compiled.program_of_parts
        self._parts = tuple(zip(compiled.raised.written, parts.parts, strict=True))
        self._taken = parts.taken
        """Which of the memories, variables and scalars the program takes."""
        self._function: Any = None
        """The program as it was compiled."""
        self._is_brief = compiled.is_brief
        self._wide = self._program.needs_x64
        large = [
            place
            for place, index in enumerate(parts.taken)
            if index < len(plans) and plans[index].form.size_bytes >= LARGE
        ]
        self._large = (
            LinePrograms(
                compiled.program_from_lines, large, large if compiled.reads_lines_well else (), len(parts.taken)
            )
            if large
            else None
        )
        self._writes = self._find_writes()
        self._is_small = self._large is None and all(each.bytes < LARGE for each in self._program.code.result_types)
        self._picks = None if self._writes is None else self._find_picks()

    @classmethod
    def on_arrays(cls, launch: Request, reason: RaisingError | None) -> PreparedLaunch:
        kernel, shape = launch.kernel, launch.shape
        plans, binding = bind_arrays(kernel, shape, launch.arguments, launch.traced)
        compiled = kernel.compile(binding)
        _check_written(kernel, plans, compiled, launch.arguments)
        kernel.note_raised(shape, compiled)
        if kernel.left_out and not kernel.has_warned_of_print:
            kernel.has_warned_of_print = True
            warn_caller(_print_diagnostic(kernel))

        def prepare(compiled: RaisedLaunch) -> PreparedLaunch:
            return cls(kernel, shape, plans, compiled)

        prepared = prepare(compiled)
        for first_call in FIRST_CALLS:
            if first_call.is_wanted(compiled):
                prepared = first_call(launch, prepared, compiled, prepare)
        return prepared

    @classmethod
    def on_values(cls, launch: Request, reason: RaisingError | None) -> RaisedFunction:
        return RaisedFunction(launch)

    @classmethod
    def on_traced(cls, launch: TracedLaunch, reason: RaisingError | None) -> None:
        storages, forms = launch.storages, launch.forms
        memories = [enter(as_jax(storage.value), form) for storage, form in zip(storages, forms, strict=True)]
        request = Request(launch.kernel, launch.shape, launch.values)
        are_whole = list(launch.places.values()) == [(number, 0) for number in range(len(forms))]

        def choose(compiled: RaisedLaunch) -> TensorProgram:
            plain = compiled.plain_program
            return choose_program(request, compiled, plain)[0] if are_whole else plain

        results = launch_on_values(launch.kernel, launch.shape, memories, forms, launch.places, launch.values, choose)
        for memory, result in results.items():
            sharing.write(storages[memory], leave(result, forms[memory], storages[memory].value), is_whole=False)

    def _find_picks(self) -> tuple[tuple[int, ScalarReader | None], ...] | None:
        """Where all that the program takes are arguments, and arrays as they are: their positions."""
        if self._touched or self._variables or any(plan is not None for _, plan in self._memories):
            return None
        given = (*((position, None) for position, _ in self._memories), *self._scalars)
        return tuple(given[index] for index in self._taken)

    def _find_writes(self) -> tuple[tuple[int, WrittenPart | None], ...] | None:
        """Where each result goes, where that is to arguments alone: the position, and the part if not the whole."""
        if any(plan is not None or storage is not None for _, plan, storage in self._outputs):
            return None
        return tuple(
            (position, part)
            for (position, _, _), (_, parts) in zip(self._outputs, self._parts, strict=True)
            for part in ((None,) if parts is None else parts)
        )

    def run(self, arguments: Sequence[Any]) -> None:
        try:
            self._run(arguments)
        except jax.errors.JaxRuntimeError as error:
            grid, block, _ = self._shape
            known = as_out_of_memory(error, f"{self._kernel.name} with grid {grid} and block {block}")
            if known is error:
                raise
            raise known from None

    def _run(self, arguments: Sequence[Any]) -> None:
        if not self._outputs:
            return
        require_threads()
        picks = self._picks
        if picks is None:
            arrays = (*arguments, *self._touched)
            values = self._values(arguments, arrays)
            taken = [values[index] for index in self._taken]
        else:
            arrays, values = arguments, ()
            taken = [
                arguments[position] if reader is None else reader.read(arguments[position])
                for position, reader in picks
            ]
        staged: list[Array] | None = None
        program = self._program
        if self._large is not None:
            program, taken, staged = self._large.enter(taken)
        function = self._function if program is self._program else None
        if self._wide:
            with jax.enable_x64(True):
                results = (function or self._function_of(program, taken))(*taken)
        else:
            results = (function or self._function_of(program, taken))(*taken)
        if not (self._is_brief and self._is_small):  # NumPy waits for results as it copies them
            self._await(results)
        if self._assumptions and (violated := int(results[-1])):
            kernel = self._kernel
            error = kernel.with_source(self._assumptions[violated - 1].as_error(kernel.name))
            EmulatedForm(kernel, self._shape, error).run(arguments)
            return
        writes = self._writes
        if writes is None:
            self._write(values, arguments, arrays, results)
        else:
            for (position, part), result in zip(writes, results, strict=False):
                if part is None:
                    arguments[position][...] = np.asarray(result)
                else:
                    part.write(arguments[position], np.asarray(result))
        if staged:
            # All results are there, so nothing reads the inputs any more.
            for copy in staged:
                pool.give_back(copy)

    def _values(self, arguments: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
        """The memories, variables and scalars that the program may take."""
        values = [arrays[position] if plan is None else plan.gather(arrays) for position, plan in self._memories]
        values += [form.to_program(storage) for storage, form in self._variables]
        values += [reader.read(arguments[position]) for position, reader in self._scalars]
        return values

    def _await(self, results: Sequence[Any]) -> None:
        """Return when the results are there, or the user has pressed Ctrl-C where that may take long."""
        last = results[-1]
        if self._is_brief:
            last.block_until_ready()
        elif not last.is_ready():
            wait_for(last)
        if not self._is_small:
            # NumPy's view of an array that could not be allocated would end the process; waiting raises XLA's error.
            for result in results:
                result.block_until_ready()

    def _write(
        self, values: Sequence[Any], arguments: Sequence[Any], arrays: Sequence[Any], results: Sequence[Any]
    ) -> None:
        """Put the results where they belong: into variables, and into memories that several arrays may lie in."""
        given = iter(results)
        for (position, plan, storage), (memory, parts) in zip(self._outputs, self._parts, strict=True):
            if parts is not None:
                whole = values[memory] if plan is None or plan.is_staged else plan.written(arrays)
                for part in parts:
                    part.write(whole, np.asarray(next(given)))
                if plan is not None and plan.is_staged:
                    plan.write_back(arrays, whole)
            elif storage is not None:
                bytes_of(storage)[:] = bytes_of(np.asarray(next(given)))
            elif plan is None:
                arguments[position][...] = np.asarray(next(given))
            else:
                plan.write_back(arrays, np.asarray(next(given)))

    def _function_of(self, program: TensorProgram, taken: Sequence[Any]) -> Any:
        """The program as a function, compiled. One that takes arrays from lines is kept by the launch, not here."""
        function = program.compile(taken)
        if program is self._program:
            self._function = function
        return function


def _check_written(
    kernel: LoadedKernel, plans: Sequence[MemoryPlan], compiled: RaisedLaunch, checked: Sequence[Checked]
) -> None:
    """Raises LaunchError for an array that the launch writes and that may not be written."""
    for memory in compiled.raised.written:
        members = plans[memory].members if memory < len(plans) else ()
        for position, _ in members:
            if position >= len(checked):
                continue  # a device variable
            array = checked[position]
            if position in kernel.written and isinstance(array, np.ndarray):
                check_written(kernel.signature, kernel.signature.parameters[position], array)


def _print_diagnostic(kernel: LoadedKernel) -> Diagnostic:
    """What is said, once per kernel, when its printf is left out."""
    return Diagnostic(
        "WL0412",
        f"{kernel.name} prints nothing: its raised form has no printf",
        next((op.source for op in kernel.left_out), None),
        help="wl.emulate(kernel) prints; so does 'windlass run', in which kernels that print are emulated",
        severity="warning",
    )
