"""A launch on NumPy arrays: `kernel[grid, block]`.

The path of a call that was compiled before is short: a key from dtypes, shapes and integers, a look-up, the compiled
program, and a copy of each written memory into the user's array. Everything else (checks, raising, compiling, falling
back to the emulator) happens once per key, in `Launch._prepare`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, RaisingError, WindlassWarning
from windlass.frontends.arrays import Array as TracedArray
from windlass.launching.array_binding import bind_arrays
from windlass.launching.emulated_form import EmulatedForm, Form, fall_back
from windlass.launching.emulation import compare_with_emulator, run_both
from windlass.launching.raised_form import RaisedForm
from windlass.launching.tiering import WatchedForm, policy
from windlass.launching.traced_launch import launch_on_traced
from windlass.launching.value_launch import print_diagnostic
from windlass.runtime.arguments import Checked, check_argument, check_written, order_arguments
from windlass.runtime.binding import known_bytes
from windlass.runtime.call_key import CallKeys
from windlass.runtime.compiled_store import CompiledStore
from windlass.runtime.launch_shape import LaunchShape
from windlass.runtime.memories import MemoryPlan
from windlass.runtime.settings import first_calls_are_checked
from windlass.stablehlo.waiting import require_threads

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.pipeline import CompiledLaunch

Array: TypeAlias = NDArray[Any]

VALUES_BEFORE_TRACING = 8
"""After so many values of one integer (all else equal) a version in which that integer is unknown is tried."""
MOST_SEEN = 256
"""For so many combinations of all else the values of an integer are counted."""


class Launch:
    """A kernel with its grid and block; call it with the kernel's arguments."""

    __slots__ = (
        "_count", "_forms", "_keys", "_seen", "_settled", "_traced", "_watched", "kernel", "shape",
    )  # fmt: skip

    def __init__(self, kernel: LoadedKernel, shape: LaunchShape) -> None:
        self.kernel = kernel
        self.shape = shape
        self._count = len(kernel.signature.parameters)
        self._forms: CompiledStore[tuple[Any, ...], Form] = CompiledStore()
        self._traced: frozenset[int] = frozenset()
        self._settled: frozenset[int] = frozenset()
        self._keys = CallKeys(kernel.signature, takes_values=False)
        self._seen: dict[tuple[Any, ...], set[Any]] = {}
        self._watched: WatchedForm | None = None

    def __repr__(self) -> str:
        return f"<{self.kernel.name}[{self.shape.grid}, {self.shape.block}]>"

    def __call__(self, *arguments: Any, **named: Any) -> None:
        if named or len(arguments) != self._count:
            arguments = order_arguments(self.kernel.signature, arguments, named)
        if not policy.is_usual and not any(isinstance(argument, TracedArray) for argument in arguments):
            self._run_watched(arguments)
            return
        form = self._forms.get(self._keys.key(arguments))
        if form is None:
            if any(isinstance(argument, TracedArray) for argument in arguments):
                launch_on_traced(self.kernel, self.shape, arguments)
                return
            form = self._prepare(arguments)
        form.run(arguments)

    def _run_watched(self, arguments: Sequence[Any]) -> None:
        if self._watched is None:
            self._watched = WatchedForm(self.kernel, self.shape, self.run_raised)
        self._watched.run(arguments)

    def run_raised(self, arguments: Sequence[Any]) -> None:
        """The launch in its raised form.

        Raises RaisingError where there is none.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WindlassWarning)
            form = self._forms.get(self._keys.key(arguments)) or self._prepare(arguments)
        if isinstance(form, EmulatedForm):
            raise form.reason
        form.run(arguments)

    # -- once per key -------------------------------------------------------------------------------------------------

    def _prepare(self, arguments: Sequence[Any]) -> Form:
        require_threads()
        kernel = self.kernel
        with kernel.lock:
            self._keys.alignment = kernel.alignment
            self._keys.variables = tuple(kernel.reachable_variables().values())
            checked = [
                check_argument(kernel.signature, parameter, argument)
                for parameter, argument in zip(kernel.signature.parameters, arguments, strict=True)
            ]
            self._consider_tracing(checked)
            form = self._form_for(checked, self._traced)
            self._forms.keep(self._keys.key(arguments), form)
            return form

    def _form_for(self, checked: Sequence[Checked], traced: frozenset[int]) -> Form:
        kernel = self.kernel
        signature = kernel.signature
        try:
            plans, binding = bind_arrays(self.kernel, self.shape, checked, traced)
            compiled = kernel.compile(binding)
        except RaisingError as error:
            return fall_back(kernel, self.shape, error)
        for memory in compiled.raised.written:
            if memory < len(plans):
                for position, _ in plans[memory].members:
                    if position >= len(checked):
                        continue  # a device variable
                    parameter = signature.parameters[position]
                    array = checked[position]
                    if position in kernel.written and isinstance(array, np.ndarray):
                        check_written(signature, parameter, array)
        kernel.note_raised(self.shape, compiled)
        if kernel.left_out and not kernel.has_warned_of_print:
            kernel.has_warned_of_print = True
            warnings.warn(WindlassWarning(str(print_diagnostic(kernel))), stacklevel=4)
        form: Form = RaisedForm(kernel, self.shape, plans, compiled)
        if compiled.raised.report.absent:
            form = VariedForm(kernel, self.shape, form, plans, compiled)
        return CheckedForm(kernel, self.shape, form) if first_calls_are_checked() else form

    # -- integers that take many values -------------------------------------------------------------------------------

    def _consider_tracing(self, checked: Sequence[Checked]) -> None:
        """Leave an integer unknown once it has had many values, if the kernel raises as well without knowing it."""
        for position, parameter in enumerate(self.kernel.signature.parameters):
            is_integer = parameter.kind == "scalar" and parameter.dtype is not None and parameter.dtype.kind in "iu"
            if not is_integer or position in self._traced or position in self._settled:
                continue
            rest = (
                position,
                *(self._fingerprint(index, checked[index]) for index in range(len(checked)) if index != position),
            )
            if len(self._seen) >= MOST_SEEN and rest not in self._seen:
                self._seen.clear()
            seen = self._seen.setdefault(rest, set())
            seen.add(self._fingerprint(position, checked[position]))
            if len(seen) <= VALUES_BEFORE_TRACING:
                continue
            self._settled |= {position}
            self._seen.clear()
            if self._raises_as_well(checked, self._traced | {position}):
                self._traced |= {position}
                self._keys.leave_out({position})
                self._forms.clear()

    def _fingerprint(self, position: int, value: Checked) -> Any:
        """What the binding holds of an argument."""
        if value is None:
            return None
        if isinstance(value, np.ndarray):
            return (value.dtype, value.shape)
        return known_bytes(self.kernel.signature.parameters[position], value)

    def _raises_as_well(self, checked: Sequence[Checked], traced: frozenset[int]) -> bool:
        """Whether the kernel with these integers unknown has a form that needs no more gathers, scatters and loops."""
        try:
            known = self.kernel.compile(bind_arrays(self.kernel, self.shape, checked, self._traced)[1])
            unknown = self.kernel.compile(bind_arrays(self.kernel, self.shape, checked, traced)[1])
        except RaisingError:
            return False
        return unknown.irregular_ops() <= known.irregular_ops()


class VariedForm(Form):
    """A raised form with shuffles that read from lanes that take no part: its first call tells whether they matter."""

    __slots__ = ("_compiled", "_form", "_is_known", "_kernel", "_plans", "_shape")

    def __init__(
        self,
        kernel: LoadedKernel,
        shape: LaunchShape,
        form: Form,
        plans: Sequence[MemoryPlan],
        compiled: CompiledLaunch,
    ) -> None:
        self._kernel = kernel
        self._shape = shape
        self._form = form
        self._plans = plans
        self._compiled = compiled
        self._is_known = False

    def run(self, arguments: Sequence[Any]) -> None:
        if self._is_known:
            self._form.run(arguments)
            return
        self._is_known = True
        kernel, binding = self._kernel, self._compiled.binding
        varied = replace(binding, specification=replace(binding.specification, varies_undefined=True))
        other = RaisedForm(kernel, self._shape, self._plans, kernel.compile(varied))
        if run_both(kernel, arguments, self._form.run, other.run) is not None:
            diagnostic = Diagnostic(
                "WL0618",
                f"{kernel.name}: the result depends on what a shuffle reads from a lane that takes no part",
                self._compiled.raised.report.absent[0],
                help="what such a lane gives is undefined: let all lanes that are read take part",
                severity="warning",
            )
            warnings.warn(WindlassWarning(str(kernel.with_source_lines(diagnostic))), stacklevel=4)


class CheckedForm(Form):
    """A raised form whose first call is compared with the emulator."""

    __slots__ = ("_form", "_is_checked", "_kernel", "_shape")

    def __init__(self, kernel: LoadedKernel, shape: LaunchShape, form: Form) -> None:
        self._kernel = kernel
        self._shape = shape
        self._form = form
        self._is_checked = False

    def run(self, arguments: Sequence[Any]) -> None:
        if self._is_checked:
            self._form.run(arguments)
            return
        compare_with_emulator(self._kernel, self._shape, arguments, self._form.run)
        self._is_checked = True
