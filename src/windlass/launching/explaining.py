"""What becomes of a launch, without running it: its report, and its stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import jax
import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError, RaisingError
from windlass.launching import choosing, native_form
from windlass.launching.array_binding import bind_arrays
from windlass.launching.form import Request
from windlass.launching.loaded_kernel import LoadedKernel
from windlass.launching.records import with_pointers_apart
from windlass.launching.texture_forms import with_known_textures
from windlass.loops.text import loop_text
from windlass.reports.lowered import Lowered
from windlass.reports.report import Report
from windlass.runtime.arguments import Checked, check_argument, order_arguments
from windlass.runtime.launch_shape import LaunchShape, read_launch_shape
from windlass.stablehlo.exporting import function_text

if TYPE_CHECKING:
    from windlass.pipeline import RaisedLaunch


class Explainable(Protocol):
    """What knows itself what becomes of it: a function of C."""

    def explain(self, *arguments: Any) -> Report:
        """What becomes of it in a call with such arguments."""
        ...


def explain(kernel: LoadedKernel | Explainable, *launch: Any, shared_bytes: int = 0) -> Report:
    """What becomes of a kernel in a launch; without grid and arguments, what became of it in its last launch.

    `launch` is grid, block and arguments; of a function of C, which has no grid, the arguments. The launch is compiled
    if need be, and not run. Raises LaunchError (WL0415) where there was no launch yet.
    """
    if not isinstance(kernel, LoadedKernel):
        return kernel.explain(*launch)
    grid, block, *given = (*launch, None, None)[: max(2, len(launch))]
    if grid is None:
        if kernel.last_report is None:
            raise LaunchError(
                Diagnostic(
                    "WL0415",
                    f"{kernel.name} was not launched yet: what it becomes depends on the launch",
                    help="give grid, block and arguments: kernel.explain(grid, block, *arguments)",
                )
            )
        return kernel.last_report
    kernel, arguments = with_pointers_apart(*with_known_textures(kernel, given))
    shape = read_launch_shape(kernel.signature, (grid, block, shared_bytes))
    request = Request(kernel, shape, _checked(kernel, arguments))
    try:
        choice = choosing.choose(request)
    except RaisingError as error:
        return native_form.examine(request, error)
    report = kernel.report_on(shape, choice.compiled)
    choice.tell(report)
    return report


def lower_launch(kernel: LoadedKernel, shape: LaunchShape, arguments: Sequence[Any]) -> Lowered:
    """The stages of one launch. Stages after "loops" raise RaisingError where the kernel has no tensor form."""
    found: list[RaisedLaunch] = []

    def compiled() -> RaisedLaunch:
        if not found:
            found.append(compile_for(kernel, shape, arguments))
        return found[0]

    return Lowered(
        kernel.name,
        {
            "llvm": lambda: kernel.module.code.llvm_ir,
            "loops": lambda: loop_text(kernel.function),
            "tensor": lambda: function_text(compiled().tensor),
            "optimized": lambda: function_text(compiled().optimized),
            "hlo": lambda: compiled().program.lower().compile().as_text(),
        },
    )


def compile_for(kernel: LoadedKernel, shape: LaunchShape, arguments: Sequence[Any]) -> RaisedLaunch:
    """The compiled form of a launch on such arguments, without running it. JAX arrays count as NumPy arrays."""
    return kernel.compile(bind_arrays(kernel, shape, _checked(kernel, arguments))[1])


def _checked(kernel: LoadedKernel, arguments: Sequence[Any]) -> list[Checked]:
    signature = kernel.signature
    ordered = order_arguments(signature, arguments, {})
    plain = [_as_numpy(argument) for argument in ordered]
    return [
        check_argument(signature, parameter, argument)
        for parameter, argument in zip(signature.parameters, plain, strict=True)
    ]


def _as_numpy(argument: Any) -> Any:
    """An array of JAX's, which may be divided and can't be written to, as another of its type: numbers don't matter."""
    if isinstance(argument, jax.Array | jax.ShapeDtypeStruct) and argument.shape:
        return np.zeros(argument.shape, argument.dtype)
    return np.asarray(argument) if isinstance(argument, jax.Array) else argument
