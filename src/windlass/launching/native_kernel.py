"""Kernels as native code by the user's wish: `wl.native(kernel)[grid, block](*arguments)`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, overload

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.diagnostics.deferral import deferred
from windlass.launching.form import Request
from windlass.launching.loaded_kernel import MOST_LAUNCHES, LoadedKernel
from windlass.launching.native_form import NativeForm, prepare
from windlass.launching.records import takes_pointers_in_records, with_pointers_apart
from windlass.native import NotNative
from windlass.runtime.arguments import order_arguments
from windlass.runtime.call_key import CallKeys
from windlass.runtime.compiled_store import CompiledStore
from windlass.runtime.launch_shape import LaunchShape, read_launch_shape

if TYPE_CHECKING:
    from windlass.launching import jax_function as values
    from windlass.schedules import Schedule
else:
    values = deferred("windlass.launching.jax_function")


class NativeKernel:
    """A kernel as native code: `wl.native(kernel)[grid, block](*arguments)`, NumPy arrays updated in place."""

    def __init__(self, kernel: LoadedKernel, schedule: Schedule | None = None, *, is_independent: bool = False) -> None:
        self.kernel = kernel
        self.schedule = schedule
        self.is_independent = is_independent
        """Whether it is known that the threads may run in any order."""
        is_plain = schedule is None and not is_independent
        self._launches: dict[Any, Callable[..., None]] = kernel.native_launches if is_plain else {}
        """By grid and block, as they were given and as they are read."""

    def __getitem__(self, brackets: Any) -> Callable[..., None]:
        try:
            return self._launches[brackets]
        except (KeyError, TypeError):
            pass
        shape = read_launch_shape(self.kernel.signature, brackets)
        found = self._launches.get(shape)
        if found is None:
            if len(self._launches) >= MOST_LAUNCHES:
                self._launches.clear()
            found = self._launches[shape] = _NativeLaunch(self.kernel, shape, self.schedule, self.is_independent)
        with contextlib.suppress(TypeError):
            self._launches[brackets] = found
        return found

    def jax(self, grid: Any, block: Any, shared_bytes: int = 0) -> Callable[..., Any]:
        """The launch as a pure function of JAX values, as `kernel.jax`, that XLA runs as native code.

        It works under `jax.jit`, in loops and under `jax.vmap`, on CPUs, and has derivatives.
        Raises RaisingError (WL0440) when called where the kernel has no native code, LaunchError (WL0807) for a kernel
        with a schedule.

        >>> import jax, jax.numpy as jnp
        >>> import windlass as wl
        >>> module = wl.cuda.compile("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
        >>> jax.jit(wl.native(module["twice"]).jax(1, 4))(jnp.arange(4.0)).tolist()
        [0.0, 2.0, 4.0, 6.0]
        """
        if self.schedule is not None:
            raise LaunchError(
                Diagnostic(
                    "WL0807",
                    f"{self.kernel.name} has a schedule, which native code inside XLA does not follow",
                    self.kernel.signature.position,
                    help=f"launch it on NumPy arrays, or leave the schedule out: wl.native({self.kernel.name})",
                )
            )
        shape = read_launch_shape(self.kernel.signature, (grid, block, shared_bytes))
        return values.jax_function(self.kernel, shape, NativeForm)

    def __repr__(self) -> str:
        return f"<{self.kernel!r} as native code>"


class _NativeLaunch:
    """A kernel with its grid and block as native code; call it with the kernel's arguments."""

    def __init__(
        self, kernel: LoadedKernel, shape: LaunchShape, schedule: Schedule | None, is_independent: bool
    ) -> None:
        self._kernel = kernel
        self._shape = shape
        self._schedule = schedule
        self._is_independent = is_independent
        self._takes_pointers_in_records = takes_pointers_in_records(kernel)
        self._forms: CompiledStore[tuple[Any, ...], NativeForm] = CompiledStore()
        self._keys: CallKeys | None = None

    def __call__(self, *arguments: Any, **named: Any) -> None:
        kernel = self._kernel
        given: Sequence[Any] = order_arguments(kernel.signature, arguments, named)
        if self._takes_pointers_in_records:
            kernel, given = with_pointers_apart(kernel, given)
        if self._keys is None:
            self._keys = CallKeys(kernel.signature, takes_values=False)
            self._keys.alignment = kernel.alignment
            self._keys.variables = tuple(kernel.reachable_variables().values())
        key = self._keys.key(given)
        form = self._forms.get(key)
        if form is None:
            form = self._prepare(kernel, given)
            self._forms.keep(key, form)
        form.run(given)

    def _prepare(self, kernel: LoadedKernel, given: Sequence[Any]) -> NativeForm:
        request = Request.of(kernel, self._shape, given)
        try:
            return prepare(request, is_independent=self._is_independent, schedule=self._schedule)
        except NotNative as reason:
            raise kernel.with_source(reason.as_error(kernel.name)) from None


class Native(Protocol):
    """What knows itself how it runs as native code: a function of C."""

    def as_native(self, *arguments: Any, **named: Any) -> Any:
        """The call as native code."""


@overload
def native(kernel: LoadedKernel, *, schedule: Schedule | str | None = None) -> NativeKernel: ...
@overload
def native(kernel: Native) -> Callable[..., Any]: ...
def native(
    kernel: LoadedKernel | Native, *, schedule: Schedule | str | None = None
) -> NativeKernel | Callable[..., Any]:
    """The kernel as native code on this machine's threads and vectors, whatever launches would choose by themselves.

    Arrays are worked on in place. The results are the emulator's to the bit, but for `exp`, `log`, `sin`, `cos` and
    `pow` where they come from glibc's vector functions (within 4 units in the last place; WINDLASS_VECTOR_FUNCTIONS=0
    does without). With a `schedule` its loops are tiled, exchanged, unrolled or marked independent first (see
    `windlass.schedules`); that is refused (WL0807) where it would change the results. A function of C is called as it
    is itself, `wl.native(function)(*arguments)`; where an independent loop is all that it does, its iterations are the
    threads.

    Raises RaisingError (WL0440) at the launch, with the line and the reason, where the kernel has no native code, and
    EmulationError where a thread leaves an array.

    >>> import numpy as np
    >>> import windlass as wl
    >>> module = wl.cuda.compile("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> x = np.arange(4, dtype=np.float32)
    >>> wl.native(module["twice"])[1, 4](x)
    >>> x.tolist()
    [0.0, 2.0, 4.0, 6.0]
    """
    if not hasattr(kernel, "signature"):
        raise LaunchError(
            Diagnostic("WL0407", f"wl.native takes a kernel, got {kernel!r}", help="write wl.native(module['name'])")
        )
    if not isinstance(kernel, LoadedKernel):
        return kernel.as_native
    if schedule is None:
        return NativeKernel(kernel)
    from windlass.schedules import read_schedule  # 100 ms, for which kernels without a schedule need not wait

    return NativeKernel(kernel, read_schedule(schedule) if isinstance(schedule, str) else schedule)
