"""Timing the forms of a launch on the user's wish: `wl.tune(kernel)[grid, block](*arguments)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from windlass.diagnostics import Diagnostic, LaunchError, RaisingError
from windlass.launching.candidates import NATIVE, RAISED
from windlass.launching.choosing import Choice, choose
from windlass.launching.form import PreparedLaunch, Request
from windlass.launching.loaded_kernel import LoadedKernel
from windlass.launching.measurements import remember
from windlass.launching.native_form import examine
from windlass.launching.raised_form import RaisedForm
from windlass.launching.records import with_pointers_apart
from windlass.launching.trials import refusal_of_trial, time_forms
from windlass.native.refusal import NotNative
from windlass.runtime.arguments import order_arguments
from windlass.runtime.launch_shape import LaunchShape, read_launch_shape

if TYPE_CHECKING:
    from windlass.reports.report import Report


class TunedKernel:
    """A kernel whose forms are timed: `wl.tune(kernel)[grid, block](*arguments)`."""

    def __init__(self, kernel: LoadedKernel) -> None:
        self.kernel = kernel

    def __getitem__(self, brackets: Any) -> Callable[..., Report]:
        shape = read_launch_shape(self.kernel.signature, brackets)

        def time(*arguments: Any, **named: Any) -> Report:
            return tune_launch(self.kernel, shape, order_arguments(self.kernel.signature, arguments, named))

        return time

    def __repr__(self) -> str:
        return f"<{self.kernel!r} to be tuned>"


def tune(kernel: LoadedKernel) -> TunedKernel:
    """Times the forms of a launch, which from then on takes the fastest: `wl.tune(kernel)[grid, block](*arguments)`.

    The arguments are NumPy arrays and numbers as for a launch; they stay as they are, since copies are worked on. What
    is found is told as a report, as by `kernel.explain`, and remembered by kernel, grid and block, shapes, dtypes and
    integers: in this process, and in the cache folder for others on this machine. Forms may differ in the last bits of
    floats where sums are taken in another order.

    Nothing is timed of a kernel that can't be raised, which has no choice. Raises LaunchError (WL0441) for a launch
    that can't be done on copies: of a kernel that prints, stops, or writes device variables.

    >>> import numpy as np
    >>> import windlass as wl
    >>> module = wl.cuda.compile("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> x = np.arange(4, dtype=np.float32)
    >>> report = wl.tune(module["twice"])[1, 4](x)
    >>> sorted(each.form for each in report.candidates if each.measured), x.tolist()
    (['native', 'raised'], [0.0, 1.0, 2.0, 3.0])
    """
    if not hasattr(kernel, "signature"):
        raise LaunchError(
            Diagnostic("WL0407", f"wl.tune takes a kernel, got {kernel!r}", help="write wl.tune(module['name'])")
        )
    return TunedKernel(kernel)


def tune_launch(kernel: LoadedKernel, shape: LaunchShape, arguments: Sequence[Any]) -> Report:
    """Time the forms of one launch on copies of its arguments, and remember what they took."""
    if kernel.texture_uses:
        raise _untunable(kernel, "it uses textures or surfaces")
    kernel, given = with_pointers_apart(kernel, arguments)
    request = Request.of(kernel, shape, given)
    try:
        choice = choose(request)
    except RaisingError as error:
        return examine(request, error)
    if (reason := refusal_of_trial(kernel, given)) is not None:
        raise _untunable(kernel, reason)
    forms: dict[str, PreparedLaunch] = {RAISED: RaisedForm.on_arrays(choice.launch, None)}
    with suppress(NotNative):  # the report says why
        forms[NATIVE] = choice.prepared_native
    remember(choice.digest, time_forms(kernel, given, forms, is_wanted=True))
    settled = Choice(choice.launch, choice.compiled)
    report = kernel.report_on(shape, choice.compiled)
    settled.tell(report)
    for launch in {*kernel.launches.values()}:
        launch.forget()
    return report


def _untunable(kernel: LoadedKernel, reason: str) -> LaunchError:
    return LaunchError(
        Diagnostic(
            "WL0441",
            f"{kernel.name} can't be timed on copies: {reason}",
            kernel.signature.position,
            help="time launches of wl.native(kernel) and wl.emulate(kernel) yourself",
        )
    )
