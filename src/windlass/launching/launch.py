"""A launch on NumPy arrays: `kernel[grid, block]`.

The path of a call that was compiled before is short: a key from dtypes, shapes and integers, a look-up, the compiled
program, and a copy of each written memory into the user's array. Everything else (checks, raising, compiling, falling
back to the emulator) happens once per key, in `Launch._prepare`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import RaisingError, WindlassWarning
from windlass.diagnostics.deferral import deferred
from windlass.launching.array_binding import bind_arrays
from windlass.launching.emulated_time import EMULATED
from windlass.launching.form import How, PreparedLaunch, Request
from windlass.launching.tiering import WatchedForm, policy
from windlass.runtime.arguments import Checked, order_arguments
from windlass.runtime.binding import known_bytes
from windlass.runtime.call_key import CallKeys
from windlass.runtime.compiled_store import CompiledStore
from windlass.runtime.launch_shape import LaunchShape

if TYPE_CHECKING:
    from windlass.frontends import arrays
    from windlass.launching import emulated_form, forms, native_at_first, native_launch, traced_launch
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.native import refusal
    from windlass.stablehlo import waiting
else:
    arrays = deferred("windlass.frontends.arrays")
    forms = deferred("windlass.launching.forms")
    native_at_first = deferred("windlass.launching.native_at_first")
    native_launch = deferred("windlass.launching.native_launch")
    refusal = deferred("windlass.native.refusal")
    traced_launch = deferred("windlass.launching.traced_launch")
    waiting = deferred("windlass.stablehlo.waiting")

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
        self._forms: CompiledStore[tuple[Any, ...], PreparedLaunch] = CompiledStore()
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
        if not policy.is_usual and not _are_traced(arguments):
            self._run_watched(arguments)
            return
        form = self._forms.get(self._keys.key(arguments))
        if form is None:
            if _are_traced(arguments):
                if self.kernel.rule is not None:
                    self.kernel.rule.on_traced(self, arguments)
                    return
                launch = traced_launch.read_traced(self.kernel, self.shape, arguments)
                forms.choose(lambda each, reason: each.on_traced(launch, reason))
                return
            form = self._prepare(arguments)
        form.run(arguments)

    def _run_watched(self, arguments: Sequence[Any]) -> None:
        if self._watched is None:
            self._watched = WatchedForm(self.kernel, self.shape, self.run_compiled)
        self._watched.run(arguments)

    def run_compiled(self, arguments: Sequence[Any]) -> How:
        """The launch in another form than the emulator's, and the form's name.

        Raises RaisingError where there is none.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WindlassWarning)
            form = self._forms.get(self._key(arguments)) or self._prepare(arguments)
        if form.name == EMULATED:
            raise cast("emulated_form.EmulatedForm", form).reason
        form.run(arguments)
        return form.name

    def forget(self) -> None:
        """Choose anew in which form later calls run."""
        self._forms.clear()

    def _key(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The key of a call, and in which order forms are tried for it, unless that is the usual one."""
        order = "native at first" if policy.at_hand == "native alone" else policy.at_hand
        key = self._keys.key(arguments)
        return key if order == "cheapest" else (order, key)

    # -- once per key -------------------------------------------------------------------------------------------------

    def _prepare(self, arguments: Sequence[Any]) -> PreparedLaunch:
        is_native_alone = policy.at_hand == "native alone"
        if not is_native_alone:  # which JAX and its threads are not needed for
            waiting.require_threads()
        kernel = self.kernel
        with kernel.lock:
            self._keys.alignment = kernel.alignment
            self._keys.variables = tuple(kernel.reachable_variables().values())
            launch = Request.of(kernel, self.shape, arguments)
            self._consider_tracing(launch.arguments)
            launch = replace(launch, traced=self._traced)
            if is_native_alone:
                form = native_at_first.NativeAtFirst.on_arrays(launch, None)
            else:
                form = forms.choose(lambda each, reason: each.on_arrays(launch, reason))
            self._forms.keep(self._key(arguments), form)
            return form

    # -- integers that take many values -------------------------------------------------------------------------------

    def _consider_tracing(self, checked: Sequence[Checked]) -> None:
        """Leave an integer unknown once it has had many values, if the kernel compiles as well without knowing it."""
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
            if self._compiles_as_well(checked, self._traced | {position}):
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

    def _compiles_as_well(self, checked: Sequence[Checked], traced: frozenset[int]) -> bool:
        """Whether the kernel with these integers unknown is as good in the form that is tried first."""
        if not policy.at_hand.startswith("native"):
            return self._raises_as_well(checked, traced)
        try:
            known, unknown = (
                native_launch.compile_launch(Request(self.kernel, self.shape, checked, each))
                for each in (self._traced, traced)
            )
        except refusal.NotNative:
            return policy.at_hand != "native alone" and self._raises_as_well(checked, traced)
        return (known.width, known.is_ordered) == (unknown.width, unknown.is_ordered)

    def _raises_as_well(self, checked: Sequence[Checked], traced: frozenset[int]) -> bool:
        """Whether the kernel with these integers unknown has a form that needs no more gathers, scatters and loops."""
        try:
            known = self.kernel.compile(bind_arrays(self.kernel, self.shape, checked, self._traced)[1])
            unknown = self.kernel.compile(bind_arrays(self.kernel, self.shape, checked, traced)[1])
        except RaisingError:
            return False
        return unknown.irregular_ops() <= known.irregular_ops()


def _are_traced(arguments: Sequence[Any]) -> bool:
    """Whether there are arrays that `wl.jit` traces among them."""
    return "windlass.frontends.arrays" in sys.modules and any(
        isinstance(argument, arrays.Array) for argument in arguments
    )
