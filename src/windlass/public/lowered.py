"""`lower(...).text(stage)`: a program as it stands after each stage of the compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.runtime.arguments import check_argument, order_arguments
from windlass.runtime.launch_shape import LaunchShape

if TYPE_CHECKING:
    from windlass.pipeline import CompiledLaunch
    from windlass.public.kernel import Kernel


class Lowered:
    """The stages of a program, each made when it is asked for."""

    def __init__(self, name: str, stages: Mapping[str, Callable[[], str]]) -> None:
        self.name = name
        self._stages = dict(stages)

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that there are, in order."""
        return tuple(self._stages)

    def text(self, stage: str = "optimized") -> str:
        """The program after a stage.

        Raises LaunchError (WL0416) for a stage that there is not.
        """
        if stage not in self._stages:
            raise LaunchError(
                Diagnostic("WL0416", f"{self.name} has no stage '{stage}'", help=f"one of: {', '.join(self._stages)}")
            )
        return self._stages[stage]()

    def __repr__(self) -> str:
        return f"<{self.name} lowered: {', '.join(self._stages)}>"


def lower_launch(kernel: Kernel, shape: LaunchShape, arguments: Sequence[Any]) -> Lowered:
    """The stages of one launch. Stages after "loops" raise RaisingError where the kernel has no tensor form."""
    from windlass import pipeline

    found: list[CompiledLaunch] = []

    def compiled() -> CompiledLaunch:
        if not found:
            found.append(compile_for(kernel, shape, arguments))
        return found[0]

    return Lowered(
        kernel.name,
        {
            "llvm": lambda: kernel.module.code.llvm_ir,
            "loops": lambda: pipeline.loop_text(kernel.function),
            "tensor": lambda: pipeline.tensor_text(compiled().tensor),
            "optimized": lambda: pipeline.tensor_text(compiled().optimized),
            "hlo": lambda: compiled().program.lower().compile().as_text(),
        },
    )


def compile_for(kernel: Kernel, shape: LaunchShape, arguments: Sequence[Any]) -> CompiledLaunch:
    """The compiled form of a launch on such arguments, without running it. JAX arrays count as NumPy arrays."""
    signature = kernel.signature
    ordered = order_arguments(signature, arguments, {})
    plain = [_as_numpy(argument) for argument in ordered]
    checked = [
        check_argument(signature, parameter, argument)
        for parameter, argument in zip(signature.parameters, plain, strict=True)
    ]
    return kernel.compile(kernel[shape].bind(checked)[1])


def _as_numpy(argument: Any) -> Any:
    if isinstance(argument, jax.ShapeDtypeStruct):
        return np.zeros(argument.shape, argument.dtype)
    return np.asarray(argument) if isinstance(argument, jax.Array) else argument
