"""Launches on JAX values in their raised form: a tensor program, and where its arguments and results go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from windlass.launching.form import PreparedFunction, Request
from windlass.launching.native_within import choose_program
from windlass.launching.traced_records import member_of
from windlass.launching.value_launch import (
    as_raised,
    compile_on_values,
    enter,
    is_jax_value,
    leave,
    result_of,
    scalar_for_program,
    value_form,
    variable_values,
)
from windlass.runtime.scalars import ScalarReader


class RaisedFunction(PreparedFunction):
    """A launch on JAX values as a tensor program.

    Raises RaisingError where the kernel has none.
    """

    __slots__ = (
        "_arrays", "_call", "_changed", "_compiled", "_forms", "_function", "_kernel", "_program", "_readers",
        "_results", "_variables", "is_kept",
    )  # fmt: skip

    def __init__(self, launch: Request) -> None:
        kernel, values = launch.kernel, launch.arguments
        signature = kernel.signature
        parameters = signature.parameters
        self._kernel = kernel
        self._arrays = tuple(
            position
            for position, parameter in enumerate(parameters)
            if parameter.kind == "pointer" and values[position] is not None
        )
        self._forms = tuple(value_form(values[position], parameters[position].shape) for position in self._arrays)
        places = {position: (memory, 0) for memory, position in enumerate(self._arrays)}
        self._compiled = compile_on_values(kernel, launch.shape, values, places, self._forms, launch.variables)
        self._variables = launch.variables
        written = self._compiled.raised.written
        self._results = tuple(
            (memory, written.index(memory) if memory in written else None)
            for memory, position in enumerate(self._arrays)
            if position in kernel.written
        )
        """For each result the memory whose new value it is, and which of the program's results (None: unchanged)."""
        names = self._compiled.binding.variables
        memories = [len(self._arrays) + names.index(name) for name in launch.variables]
        self._changed = tuple((written.index(memory), memory) for memory in memories if memory in written)
        """The same for the variables given that it writes."""
        self._readers = tuple(
            (
                scalar,
                None
                if is_jax_value(member_of(values[scalar.position], scalar.offset))
                else ScalarReader(signature, scalar),
            )
            for scalar in self._compiled.binding.scalars
        )
        self._program, self._call = choose_program(launch, self._compiled, self._compiled.program)
        program = self._program
        self.is_kept = not program.needs_x64 or bool(jax.config.read("jax_enable_x64"))
        """Whether JAX's flag is as the program needs it; else `apply` has to turn it on, which `run` does not."""

        def run(*inputs: Any) -> Any:
            return self.apply(*inputs)

        run.__name__ = run.__qualname__ = program.name
        self._function = jax.jit(run)

    def run(self, arguments: Sequence[Any]) -> Any:
        try:
            found = self._function(*self.inputs(arguments))
            return jax.block_until_ready(found) if self._call is not None and self._call.code.sites else found
        except (jax.errors.JaxRuntimeError, ValueError) as error:  # the latter where JAX ran it on this thread
            if self._call is None:
                raise
            raise as_raised(error) from None

    def inputs(self, arguments: Sequence[Any]) -> list[Any]:
        # The arrays, the device variables as they are now, the numbers.
        inputs = [arguments[position] for position in self._arrays]
        if len(self._compiled.binding.forms) > len(self._forms):
            inputs += variable_values(self._kernel, self._compiled, self._variables)
        for scalar, reader in self._readers:
            argument = member_of(arguments[scalar.position], scalar.offset)
            inputs.append(argument if reader is None else reader.read(argument))
        return inputs

    def apply(self, *inputs: Any) -> Any:
        count = len(self._arrays)
        arrays = inputs[:count]
        binding = self._compiled.binding
        first_scalar = len(binding.forms)
        variables = inputs[count:first_scalar]
        entering = [
            enter(value, form) if name in self._variables else value
            for name, value, form in zip(binding.variables, variables, binding.forms[count:], strict=True)
        ]
        memories = [enter(value, form) for value, form in zip(arrays, self._forms, strict=True)]
        scalars = [
            value if reader is not None else scalar_for_program(scalar, value)
            for (scalar, reader), value in zip(self._readers, inputs[first_scalar:], strict=True)
        ]
        results = self._program.bind(*memories, *entering, *scalars)
        new_arrays = [
            arrays[memory] if index is None else leave(results[index], self._forms[memory], arrays[memory])
            for memory, index in self._results
        ]
        new_variables = [
            leave(results[index], binding.forms[memory], variables[memory - count]) for index, memory in self._changed
        ]
        return result_of([*new_arrays, *new_variables])
