"""A function that JAX has traced as one program of ours: optimized as a whole, its derivatives made of its own IR."""

from __future__ import annotations

from functools import partial
from typing import Any

from windlass import pipeline
from windlass.ir import Module
from windlass.ops import Composite, CustomDerivative, expand_composites
from windlass.precision import Limbs
from windlass.rewriting.inlining import inline_custom_derivatives
from windlass.stablehlo.kept_equations import import_both
from windlass.stablehlo.platforms import device_that_runs
from windlass.stablehlo.program import TensorProgram


def whole_program(
    name: str, traced: Any, exact: bool, limbs: Limbs | None, is_deterministic: bool = False
) -> tuple[TensorProgram, Any, Any]:
    """The traced function (what `jax.jit(...).trace(...)` gives) as one program, optimized; with the modules before and
    after."""
    from windlass.catalogue import has_lowered

    kept, native, callbacks = import_both(name, traced)
    device = device_that_runs()
    module = kept.clone()
    is_other = _write_out(module, limbs)
    if limbs is not None or is_deterministic:
        native = None
    if native is not None:
        _write_out(native, limbs)
        native = pipeline.optimize_module(native, device)[0]
    optimized, rewrites = pipeline.optimize_module(module, device)
    is_other = is_other or has_lowered(rewrites)
    differentiable = partial(pipeline.optimize_before_derivatives, kept, device) if is_other else None
    program = TensorProgram(
        optimized,
        name,
        callbacks,
        is_exact=exact,
        differentiable=differentiable,
        limbs=limbs,
        is_deterministic=is_deterministic,
        native=native,
        plain=lambda: module,
    )
    return program, module, optimized


def _write_out(module: Module, limbs: Limbs | None) -> bool:
    """Put what they are made of in the place of ops that stand for functions; whether there were any."""
    is_other = any(isinstance(op, CustomDerivative | Composite) for op in module.main.walk())
    if is_other:
        for function in module.functions.values():
            inline_custom_derivatives(function.body)
            if limbs is None:
                expand_composites(function.body)
    return is_other
