"""A function traced and compiled for arguments of one key: the program, and where its arguments and results go."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property
from types import FunctionType
from typing import Any, Protocol

import jax
import numpy as np
from jax.core import Tracer
from numpy.typing import NDArray

from windlass.autodiff.planning import Plan, preferring
from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.arrays import Array as TracedArray
from windlass.frontends.arrays.array import wrapped
from windlass.frontends.arrays.capture import captured
from windlass.frontends.arrays.containers import expect_no_outer_names
from windlass.frontends.arrays.explaining import as_told, position_of
from windlass.frontends.arrays.needed_integers import integers_needed
from windlass.frontends.arrays.random_state import warn_of_draws
from windlass.frontends.arrays.tracing import LeftToPython, Tracing, tracing_as
from windlass.frontends.arrays.unknown_lengths import Leaving, UnknownLength
from windlass.functions.direct_calls import DirectCall, direct_call
from windlass.functions.leaves import (
    as_argument,
    as_numpy,
    as_result,
    strides_of,
    undivided,
    without_static,
)
from windlass.functions.outrunning import Race
from windlass.functions.overlaps import places_of, refuse_overlaps
from windlass.functions.specialization import IntegersNeeded, Static
from windlass.functions.whole_program import whole_program
from windlass.launching.value_launch import VariableInputs, as_raised, entering_now, refuse_variable, variable_inputs
from windlass.lowering.native_loops import take_loops
from windlass.lowering.polling import is_brief
from windlass.precision import Limbs
from windlass.reports.lowered import Lowered
from windlass.runtime.line_programs import line_programs
from windlass.runtime.memories import ArrayForm
from windlass.runtime.needed_memory import as_out_of_memory
from windlass.runtime.placements import as_misplaced, expect_there, is_given_up, named_leaves
from windlass.runtime.staging import LARGE, pool
from windlass.stablehlo.exporting import export_text
from windlass.stablehlo.platforms import device_that_runs
from windlass.stablehlo.waiting import wait_for


class Options(Protocol):
    """What is compiled, and how: a function by `wl.jit`."""

    function: Callable[..., Any]
    signature: inspect.Signature
    donate: frozenset[str]
    exact: bool
    plan: Plan
    limbs: Limbs | None
    deterministic: bool
    whole: bool
    has_strong_numbers: bool
    stops_at_zero: bool

    @property
    def name(self) -> str: ...


class HandledByPython(Exception):
    """A check of the program does not hold, and the function has handlers that might see it, or Python gives something
    else than an error; nothing was written."""


class CompiledCall:
    """A program for arguments of one key, and where its arguments and results go."""

    def __init__(self, owner: Options, leaves: Sequence[Any], structure: Any) -> None:
        self.derived: dict[Any, Any] = {}
        """Its derivatives, as they were asked for."""
        self.race: Race | None = None
        """The race with Python, as long as it is not known to be lost by Python."""
        self._owner = owner
        self._structure = structure
        self._is_array = [isinstance(leaf, np.ndarray | jax.Array) for leaf in leaves]
        self._is_numpy = [isinstance(leaf, np.ndarray) for leaf in leaves]
        self._strides = [strides_of(leaf) for leaf in leaves]
        self._is_read_only = [isinstance(leaf, np.ndarray) and not leaf.flags.writeable for leaf in leaves]
        self._any_jax = any(isinstance(leaf, jax.Array) for leaf in leaves)
        self.places = places_of(leaves)
        """For each argument the earlier one that is the same array, or None."""
        self._returned: Any = None
        self._written: list[int] = []
        self._aliases: list[int | Static | Leaving | None] = []
        """For each result the NumPy argument that it is, or what it is in any call, or how it is made of what the
        program gives where data decide its length, or None for what else is computed."""
        # Python's numbers stay weak in promotion, as they are for NumPy.
        arguments = [undivided(leaf) for leaf in leaves]
        with jax.enable_x64(True):
            traced = self._trace_with_variables(arguments)
            self._refuse_read_only(leaves)
            refuse_overlaps(leaves, self._written)
            self.program, self._before, self._after = whole_program(
                owner.name, traced, owner.exact, owner.limbs, owner.deterministic
            )
        self._donate = self._donated(leaves)
        places = [index for index, is_numpy in enumerate(self._is_numpy) if is_numpy and index not in self._donate]
        self._large = line_programs(self.program, places if device_that_runs().name == "cpu" else ())
        self._wide = self.program.needs_x64
        self._is_brief = len(self._after.functions) == 1 and is_brief(self._after.main)
        """Whether the program is known to be done within some milliseconds, so that Ctrl-C can wait for it."""
        result_bytes = sum(type_.bytes for type_ in self.program.code.result_types)
        self._gives_large_numpy = not self._any_jax and result_bytes >= LARGE

    @property
    def written(self) -> list[int]:
        """The places of NumPy's arrays that it writes, among the arguments."""
        return [index for index in self._written if self._is_numpy[index]]

    @property
    def outcome(self) -> tuple[list[int | Static | Leaving | None], Any]:
        """For each result the argument that it is, or what it always is, or how it leaves, or None for what else is
        computed; and the structure that results stand in."""
        return self._aliases, self._returned

    @property
    def shares_memory(self) -> bool:
        """Whether some arguments are one array."""
        return any(each is not None for each in self.places)

    @property
    def has_variables(self) -> bool:
        """Whether kernels within use device variables."""
        return bool(self._variables or self._emulated)

    def _trace_with_variables(self, arguments: Sequence[Any]) -> Any:
        """Trace the function; the device variables that it reads become arguments after the others.

        Which these are is known only afterwards, so a function that reads some is traced once more.
        """
        self._variables: list[tuple[NDArray[Any], ArrayForm]] = []
        while True:
            inputs = VariableInputs()
            token = variable_inputs.set(inputs)
            try:
                self._inputs = inputs
                values = [entering_now(storage, form) for storage, form in self._variables]
                traced = jax.jit(self._trace, keep_unused=True).trace(*arguments, *values)
            finally:
                variable_inputs.reset(token)
            self._emulated = inputs.emulated
            if not inputs.missing:
                return traced
            self._variables += inputs.missing

    def _donated(self, leaves: Sequence[Any]) -> tuple[int, ...]:
        """Arguments whose buffers become results: NumPy arrays that are written, and what the user gives up."""
        if not self._owner.donate:
            return tuple(index for index in self._written if self._is_numpy[index])
        names = self._leaf_names(leaves)
        return tuple(
            index
            for index in range(len(leaves))
            if (self._is_numpy[index] and index in self._written) or names[index] in self._owner.donate
        )

    def _refuse_read_only(self, leaves: Sequence[Any]) -> None:
        """Raises LaunchError (WL0406) for a NumPy array that the function writes and that may not be written."""
        for index in self._written:
            if self._is_numpy[index] and not leaves[index].flags.writeable:
                name = self._leaf_names(leaves)[index]
                raise LaunchError(
                    Diagnostic(
                        "WL0406",
                        f"{self._owner.name}: argument '{name}' is read-only, and the function writes to it",
                        help=f"pass a writable array: {name} = {name}.copy()",
                    )
                )

    def _refuse_lost_writes(self, leaves: Sequence[Any]) -> None:
        """Raises LaunchError (WL0406) where nobody would see what the function writes: into JAX's arrays alone, though
        it returns nothing, or into an array of NumPy's what is known only as the program around it runs."""
        is_traced = any(isinstance(leaf, Tracer) for leaf in leaves)
        lost = [index for index in self._written if self._is_numpy[index]] if is_traced else []
        if not lost and not self._aliases and not any(self._is_numpy[index] for index in self._written):
            lost = self._written
        if not lost:
            return
        names = self._leaf_names(leaves)
        name = names[lost[0]]
        is_numpy = self._is_numpy[lost[0]]
        kind = "a NumPy array, and what is written is being traced by JAX" if is_numpy else "an array of JAX's"
        raise LaunchError(
            Diagnostic(
                "WL0406",
                f"{self._owner.name} writes its argument '{name}', which is {kind}: it can't be changed in place",
                position_of(self._owner.function),
                help=f"let {self._owner.name} return it: `return {name}`; or call it on NumPy arrays: "
                f"wl.grad, wl.vjp and wl.jvp take what it writes last for its result",
            )
        )

    def _refuse_variables(self, leaves: Sequence[Any]) -> None:
        """Raises LaunchError (WL0912) for arguments that are device variables which a kernel uses, where one is
        written."""
        read = [storage for storage, _ in self._variables]
        for index, leaf in enumerate(leaves):
            if self._is_numpy[index] and not leaf.flags.owndata:
                name = f"{self._owner.name}: argument '{self._leaf_names(leaves)[index]}'"
                used = [*self._emulated, *read] if index in self._written else self._emulated
                refuse_variable(name, leaf, used, "a kernel")

    def _leaf_names(self, leaves: Sequence[Any]) -> list[str]:
        """For each leaf the parameter that it belongs to."""
        marked = iter(range(len(leaves)))
        structure, marks = self._structure
        numbers = [None if mark is not None else next(marked) for mark in marks]
        positional, named = jax.tree.unflatten(structure, [_Number(each) for each in numbers])
        bound = self._owner.signature.bind(*positional, **named)
        names = [""] * len(leaves)
        for name, value in bound.arguments.items():
            for number in jax.tree.leaves(value, is_leaf=lambda each: isinstance(each, _Number)):
                if isinstance(number, _Number) and number.value is not None:
                    names[number.value] = name
        return names

    def _trace(self, *values: Any) -> Any:
        """Run the user's function on traced arrays; gives its results and the arrays that it wrote."""
        count = len(values) - len(self._variables)
        for (storage, form), value in zip(self._variables, values[count:], strict=True):
            self._inputs.values[id(storage), form] = value
        self._tracing = tracing = Tracing()
        tracing.arguments = {
            id(value): number
            for number, (value, is_array) in enumerate(zip(values, self._is_array, strict=False))
            if isinstance(value, Tracer) and not is_array and value.dtype.kind in "iub"
        }
        tracing.trusts_packages = tracing.is_whole = self._owner.whole
        tracing.has_strong_numbers = self._owner.has_strong_numbers
        tracing.stops_at_zero = self._owner.stops_at_zero
        with tracing_as(tracing):
            return self._trace_function(values[:count], tracing)

    def _trace_function(self, values: Sequence[Any], tracing: Tracing) -> Any:
        arrays = [wrapped(value, is_array) for value, is_array in zip(values, self._is_array, strict=True)]
        for array, strides, is_read_only in zip(arrays, self._strides, self._is_read_only, strict=True):
            if strides is not None:
                array.lie(strides)
            if is_read_only:
                array.setflags(write=False)
        for array, is_numpy in zip(arrays, self._is_numpy, strict=True):
            array.storage.is_callers = is_numpy
        given = self._share(arrays)
        before = [array.storage.value for array in arrays]
        structure, marks = self._structure
        remaining = iter(given)
        leaves = [mark.value if mark is not None else next(remaining) for mark in marks]
        positional, named = jax.tree.unflatten(structure, leaves)
        positional = tuple(without_static(each) for each in positional)
        named = {name: without_static(each) for name, each in named.items()}
        with warn_of_draws(self._owner.function):
            try:
                if isinstance(self._owner.function, FunctionType):
                    expect_no_outer_names(self._owner.function.__code__)
                result = captured(self._owner.function)(*positional, **named)
            except Exception as error:
                told = as_told(error)
                needed = integers_needed(error, tracing)
                if needed:
                    raise IntegersNeeded(needed, told) from None
                if told is error:
                    raise
                raise told from None
        outcome, self._returned = jax.tree.flatten(result, is_leaf=_is_array)
        self._aliases = [self._alias(each, given) for each in outcome]
        self._written = [index for index, array in enumerate(arrays) if array.storage.value is not before[index]]
        results: list[Any] = []
        self._results_are_arrays = []
        for number, each in enumerate(outcome):
            if isinstance(each, UnknownLength):
                parts, self._aliases[number] = each.leave()
                results += parts
                self._results_are_arrays += [True] * len(parts)
            elif self._aliases[number] is None:
                results.append(as_result(each))
                self._results_are_arrays.append(isinstance(each, TracedArray) and not each.is_scalar)
        self._has_checks = tracing.has_checks
        failures = [tracing.failure.value] if self._has_checks else []
        return results, [arrays[index].storage.value for index in self._written], failures

    def _share(self, arrays: list[TracedArray]) -> list[TracedArray]:
        """The arrays that the function sees: those that are views into one buffer share it here too."""
        given = list(arrays)
        for index, first in enumerate(self.places):
            if first is not None:
                given[index] = arrays[first]
        return given

    def _alias(self, value: Any, given: Sequence[TracedArray]) -> int | Static | None:
        """The argument that a result is, if it is one of the NumPy arrays itself; what is no array is itself."""
        if not isinstance(value, TracedArray):
            return None if isinstance(value, UnknownLength | jax.Array | np.ndarray) else Static(value)
        for index, array in enumerate(given):
            if value is array and self._is_numpy[index]:
                return index
        return None

    def inputs(self, leaves: Sequence[Any]) -> list[Any]:
        """What the program takes for these arguments."""
        values = [leaf if isinstance(leaf, np.ndarray | jax.Array) else as_argument(leaf) for leaf in leaves]
        if self._variables or self._emulated:
            self._refuse_variables(leaves)
        return values + [entering_now(storage, form) for storage, form in self._variables]

    def apply(self, values: Sequence[Any]) -> tuple[Any, dict[int, Any], Any]:
        """The program as a function of its `inputs`, for JAX to differentiate: what the user's function returns, the
        last contents of the arrays that it writes, by their places, and the number of a check that failed, or 0."""
        with preferring(self._owner.plan):
            found = self.program.bind(*values)
        failure = found.pop() if self._has_checks else 0
        count = len(found) - len(self._written)
        written = dict(zip(self._written, found[count:], strict=True))
        fresh = iter(found[:count])
        results = [
            next(fresh)
            if alias is None
            else alias.value
            if isinstance(alias, Static)
            else written.get(alias, values[alias])
            for alias in self._known_aliases()
        ]
        return jax.tree.unflatten(self._returned, results), written, failure

    def raise_failed(self, failure: Any) -> None:
        """Raise the error of a check, by the number that `apply` gives; nothing is known within a transformation."""
        if not isinstance(failure, Tracer) and (code := int(failure)):
            error = self._tracing.error_for(code)
            if not isinstance(error, LeftToPython):
                raise error

    def _error_for(self, code: int) -> Exception:
        error = self._tracing.error_for(code)
        if not self._owner.whole and (self._tracing.has_handlers or isinstance(error, LeftToPython)):
            return HandledByPython()
        return error.error if isinstance(error, LeftToPython) else error

    def run(self, leaves: Sequence[Any]) -> Any:
        if self._any_jax and self._written:
            self._refuse_lost_writes(leaves)
        direct = self._direct
        if direct is not None:
            return self._run_directly(direct, leaves)
        values = self.inputs(leaves)
        if self._any_jax:
            self._expect_there(leaves)
        try:
            return self._run(leaves, values)
        except Exception as error:
            original = as_out_of_memory(as_raised(error), self.program.name)
            if original is error and self._any_jax:
                original = as_misplaced(error, self._owner.name, self._named(leaves))
            if original is error:
                raise
            raise original from None

    def _expect_there(self, leaves: Sequence[Any]) -> None:
        """Raises LaunchError (WL0943): a program on many devices would end the process."""
        if self._owner.donate or any(map(is_given_up, leaves)):
            expect_there(self._owner.name, self._named(leaves), self._owner.donate)

    def _named(self, leaves: Sequence[Any]) -> dict[str, Any]:
        """JAX's arrays among the arguments, by what the user calls them."""
        structure, marks = self._structure
        remaining = iter(leaves)
        given = [mark if mark is not None else next(remaining) for mark in marks]
        positional, named = jax.tree.unflatten(structure, given)
        return named_leaves(positional, named, list(self._owner.signature.parameters))

    @cached_property
    def _direct(self) -> DirectCall | None:
        """The program as calls of native code, where it needs nothing else and is run on NumPy's arrays on a CPU."""
        is_known = self._any_jax or self._has_checks or self.has_variables or self.program.code.is_computed_otherwise
        if is_known or device_that_runs().name != "cpu" or not all(self._is_numpy[index] for index in self._written):
            return None
        return direct_call(self.program.code.with_native_code(), self._written)

    def _run_directly(self, direct: DirectCall, leaves: Sequence[Any]) -> Any:
        found = direct.run(leaves, self._written, len(self._results_are_arrays))
        return self._given_back(leaves, found, lambda array, is_array: array if is_array or array.ndim else array[()])

    def execute(self, values: Sequence[Any]) -> tuple[list[Any], list[NDArray[Any]]]:
        """What the program gives for its `inputs`, all of it there, and memory that is to be given back."""
        staged: list[NDArray[Any]] = []
        if self._any_jax and any(isinstance(value, Tracer) for value in values):
            with preferring(self._owner.plan):
                found = self.program.bind(*values)  # part of a program of JAX's
            waits_briefly = False
        else:
            waits_briefly = self._is_brief
            program = self.program
            if self._large is not None:
                program, values, staged = self._large.enter(values)
            with jax.enable_x64(True) if self._wide else nullcontext():
                found = program.compile(values, self._donate)(*values)
        for each in found:
            if waits_briefly:
                each.block_until_ready()
            elif not isinstance(each, Tracer) and not each.is_ready():
                wait_for(each)
        if self._gives_large_numpy:
            # NumPy's view of an array that could not be allocated would end the process; waiting raises XLA's error.
            jax.block_until_ready(found)
        return found, staged

    @staticmethod
    def give_back(staged: Sequence[NDArray[Any]]) -> None:
        """Let others have the memory of `execute`, once all results are there and nothing reads the arguments."""
        for copy in staged:
            pool.give_back(copy)

    def _run(self, leaves: Sequence[Any], values: Sequence[Any]) -> Any:
        found, staged = self.execute(values)
        if self._has_checks:
            *found, failure = found
            if not self._any_jax and (code := int(failure)):
                self.give_back(staged)
                raise self._error_for(code)
            # Within a transformation of JAX it is not known; what JAX does with an index that is outside holds there.
            self.raise_failed(failure)
        count = len(found) - len(self._written)
        for index, result in zip(self._written, found[count:], strict=True):
            if self._is_numpy[index]:
                np.copyto(leaves[index], np.asarray(result))
        if any(isinstance(each, Tracer) for each in found):
            self._known_aliases()
        results = self._given_back(leaves, found[:count], _as_it_is if self._any_jax else as_numpy)
        self.give_back(staged)
        return results

    def _given_back(self, leaves: Sequence[Any], found: Sequence[Any], convert: Callable[[Any, bool], Any]) -> Any:
        """What the function returns, where these are the results that were computed."""
        fresh = zip(found, self._results_are_arrays, strict=True)
        results: list[Any] = []
        for alias in self._aliases:
            if isinstance(alias, Leaving):
                array = alias.array([next(fresh)[0] for _ in range(alias.count)])
                results.append(jax.numpy.asarray(array) if self._any_jax else array)
            elif alias is None:
                results.append(convert(*next(fresh)))
            else:
                results.append(alias.value if isinstance(alias, Static) else leaves[alias])
        return jax.tree.unflatten(self._returned, results)

    def _known_aliases(self) -> list[int | Static | None]:
        """What the results are, where JAX takes them as they are.

        Raises WindlassError (WL0904) where one has as many elements as data decide: JAX has no such arrays.
        """
        known: list[int | Static | None] = []
        for alias in self._aliases:
            if isinstance(alias, Leaving):
                raise alias.refusal
            known.append(alias)
        return known

    def _tell_loops(self) -> str:
        """Which loops over elements run as native code on CPUs, and why others don't: a line for each."""
        found = take_loops(self._after.clone(), self.program.name)
        return "\n".join(map(str, found)) or "there are no loops over elements that are worth native code"

    def lowered(self, name: str) -> Lowered:
        """The stages of this call."""
        return Lowered(
            name,
            {
                "tensor": lambda: export_text(self._before),
                "optimized": lambda: export_text(self._after),
                "loops": self._tell_loops,
                "hlo": lambda: self.program.lower().compile().as_text(),
            },
        )


def _is_array(value: Any) -> bool:
    return isinstance(value, TracedArray | UnknownLength)


def _as_it_is(value: Any, is_array: bool) -> Any:
    return value


class _Number:
    """Stands for a leaf while leaves are counted."""

    def __init__(self, value: int | None) -> None:
        self.value = value


__all__ = ["CompiledCall", "HandledByPython", "Options"]
