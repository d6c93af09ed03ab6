"""Derivatives of tensor programs as JAX primitives: `jax.grad`, `jvp` and all that JAX makes of them.

The tangents of a program's results are a program again, of its arguments and of their tangents, in which it is linear:
`tangent_call` runs it. JAX transposes that into a program of the arguments and of cotangents. Each is derived from the
IR of the one before, is optimized like it, and can be differentiated, batched and compiled as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import jax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from windlass.autodiff import (
    NoDerivative,
    NotEnoughMemory,
    Plan,
    planned,
    stop_shifts,
    tangent_function,
    transposed_function,
    value_function,
)
from windlass.autodiff.activity import is_differentiable
from windlass.autodiff.planning import current_plan, keeps_rounds
from windlass.autodiff.residuals import Residuals, is_worth_dividing
from windlass.diagnostics import Diagnostic, WindlassError
from windlass.ir import Function
from windlass.stablehlo.code import Code
from windlass.stablehlo.private_jax import linearize_by_tangents, linearize_with
from windlass.stablehlo.program import TensorProgram, batch, evaluate, infer_results, lower, program_call, program_from
from windlass.stablehlo.refused_derivatives import no_derivative

tangent_call: Any = Primitive("windlass_tangent")
"""A program that is linear in its last arguments, `count` of them."""
tangent_call.multiple_results = True

backwards_call: Any = Primitive("windlass_backwards")
"""What a program's results change by, as a function of its arguments, of what was kept, and of tangents of those
arguments that are active. It is there to be transposed."""
backwards_call.multiple_results = True

Built = TypeVar("Built")


def differentiate(
    primals: Sequence[Any], tangents: Sequence[Any], *, program: Code, count: int | None = None, is_whole: bool = False
) -> tuple[list[Any], list[Any]]:
    """The results of a program, and what they change by; `count` is that of a `tangent_call`.

    Raises WindlassError (WL0901) where an op has no derivative.
    """
    call = program_call if count is None else tangent_call
    active = tuple(
        index
        for index, (tangent, type_) in enumerate(zip(tangents, program.argument_types, strict=True))
        if not isinstance(tangent, ad.Zero) and is_differentiable(type_)
    )
    valued = program
    if active and program.has_valued_rules:
        valued = _derived(program, ("values", active), lambda: value_function(program.differentiable.main, active)).code
    results = _bind(call, valued, primals, {} if count is None else {"count": count})
    if active:
        tangent = _tangent_program(program, active)
        given = [*primals, *(tangents[index] for index in active)]
        moved = iter(_bind(tangent_call, tangent.code, given, {"count": len(active)}))
    else:
        moved = iter(())
    changes = [
        next(moved) if active and is_differentiable(type_) else ad.Zero(jax.typeof(result).to_tangent_aval())
        for result, type_ in zip(results, program.result_types, strict=True)
    ]
    return results, changes


def _transpose(cotangents: Sequence[Any], *arguments: Any, program: Code, count: int) -> list[Any]:
    known, linear = arguments[: len(arguments) - count], arguments[len(arguments) - count :]
    if any(isinstance(each, ad.UndefinedPrimal) for each in known):
        raise AssertionError(f"{program.name} is not linear in all that JAX transposes")
    wanted = tuple(len(known) + index for index, each in enumerate(linear) if isinstance(each, ad.UndefinedPrimal))
    # Results that nothing uses have no cotangents: zeros in their place would be multiplied by what may be infinite.
    given = {index: each for index, each in enumerate(cotangents) if not isinstance(each, ad.Zero)}

    def transpose() -> Function:
        return transposed_function(program.differentiable.main, wanted, tuple(given))

    def build() -> TensorProgram:
        function, loops = _planned(program, lambda plan: planned(transpose, plan))
        return program_from(program, function, program.name, not keeps_rounds(loops), False)

    transposed = _kept(program, ("transposed", wanted, tuple(given), _plan_for(program)), build)
    others = [each for each in arguments if not isinstance(each, ad.UndefinedPrimal)]
    found = iter(_bind(program_call, transposed.code, [*others, *given.values()], {}))
    return [next(found) if isinstance(each, ad.UndefinedPrimal) else None for each in arguments]


class _Divided:
    """A program in reverse mode as two: one gives results and what is kept of them, one takes that and cotangents."""

    def __init__(self, program: Code, active: tuple[int, ...]) -> None:
        self.program = program
        self.active = active
        self.residuals = _planned(program, lambda plan: Residuals(program.differentiable.main, active, plan))
        self.forwards = program_from(program, self.residuals.forwards(), program.name, False, False)

    def backwards(self, given: tuple[int, ...], wanted: tuple[int, ...]) -> TensorProgram:
        """The program of the cotangents, from those with these numbers."""
        return self.forwards.derived(
            ("backwards", given, wanted),
            lambda: program_from(
                self.program,
                self.residuals.backwards(given, wanted),
                self.program.name,
                not keeps_rounds(self.residuals.loops),
                False,
            ),
        )


def linearize(is_vjp: bool, nonzeros: Sequence[bool], *primals: Any, program: Code, is_whole: bool = False) -> Any:
    """What JAX asks for where it will transpose the tangents: loops run once, and what they keep is handed on."""
    divided = _divided(program, nonzeros) if is_vjp else None
    if divided is None:
        return linearize_by_tangents(program_call, is_vjp, nonzeros, *primals, program=program, is_whole=is_whole)
    found = _bind(program_call, divided.forwards.code, primals, {})
    results, kept = found[: len(program.result_types)], found[len(program.result_types) :]
    flags = [is_differentiable(type_) for type_ in program.result_types]

    def linear(residuals: Sequence[Any], *tangents: Any) -> list[Any]:
        chosen = [ad.instantiate_zeros(tangents[index]) for index in divided.active]
        moved = iter(backwards_call.bind(*residuals, *chosen, divided=divided))
        return [
            next(moved) if flag else ad.Zero(jax.typeof(result).to_tangent_aval())
            for result, flag in zip(results, flags, strict=True)
        ]

    return results, flags, [*primals, *kept], linear


def _divided(program: Code, nonzeros: Sequence[bool]) -> _Divided | None:
    """None where a program is better differentiated by its tangents: it has no loops, or an op without derivative, of
    which it is not known yet whether a cotangent reaches it."""
    pairs = zip(nonzeros, program.argument_types, strict=True)
    active = tuple(index for index, (flag, type_) in enumerate(pairs) if flag and is_differentiable(type_))

    def build() -> _Divided | None:
        if not active or not is_worth_dividing(program.differentiable.main):
            return None
        try:
            return _Divided(program, active)
        except NoDerivative:
            return None

    owner = program.program()
    return build() if owner is None else owner.derived(("divided", active, _plan_for(program)), build)


def _tangents(*arguments: Any, divided: _Divided) -> list[Any]:
    """Where the linear function is run after all, rather than transposed: the tangents, from the arguments alone."""
    program, active = divided.program, divided.active
    primals, tangents = arguments[: divided.residuals.count], arguments[len(arguments) - len(active) :]
    tangent = _tangent_program(program, active)
    return _bind(tangent_call, tangent.code, [*primals, *tangents], {"count": len(active)})


def _infer_tangents(*arguments: Any, divided: _Divided) -> list[Any]:
    types = [type_ for type_ in divided.program.result_types if is_differentiable(type_)]
    return infer_results(*arguments[: divided.residuals.count], program=divided.program, of=types)


def _go_backwards(cotangents: Sequence[Any], *arguments: Any, divided: _Divided) -> list[Any]:
    known = arguments[: len(arguments) - len(divided.active)]
    linear = arguments[len(known) :]
    wanted = tuple(number for number, each in enumerate(linear) if isinstance(each, ad.UndefinedPrimal))
    given = {number: each for number, each in enumerate(cotangents) if not isinstance(each, ad.Zero)}
    program = divided.backwards(tuple(given), wanted)
    found = iter(_bind(program_call, program.code, [*known, *given.values()], {}))
    return [next(found) if isinstance(each, ad.UndefinedPrimal) else None for each in arguments]


def _plan_for(program: Code) -> Plan:
    """What is asked for where it is differentiated, or was where it was called: JAX may have traced the call before."""
    return current_plan() or program.plan


def _planned(program: Code, build: Callable[[Plan], Built]) -> Built:
    """What is built by the plan that is asked for. Raises WindlassError (WL0934) where that has too little memory."""
    plan = _plan_for(program)
    try:
        return build(plan)
    except NotEnoughMemory as failure:
        raise not_enough_memory(program.module.name or program.name, plan, failure) from None


def _bind(call: Any, program: Code, arguments: Sequence[Any], parameters: dict[str, Any]) -> list[Any]:
    with jax.enable_x64(program.needs_x64 or jax.config.read("jax_enable_x64")):
        return call.bind(*arguments, program=program, **parameters)


def _tangent_program(program: Code, active: tuple[int, ...]) -> TensorProgram:
    """The tangents of the results by these arguments.

    It is transposed, and nothing may join what varies with what doesn't (x·c and dx·c to one product): its results are
    as if somebody had written them down.
    """
    return _derived(
        program,
        ("tangent", active),
        lambda: tangent_function(stop_shifts(program.differentiable.main), active, may_miss=True),
    )


def _derived(program: Code, key: Hashable, build: Callable[[], Function]) -> TensorProgram:
    """The program of a function that is made from another one's."""
    return _kept(program, key, lambda: program_from(program, build(), program.name, False))


def _kept(program: Code, key: Hashable, build: Callable[[], TensorProgram]) -> TensorProgram:
    """What is made from a program, once as long as that lives. Raises WindlassError (WL0901)."""

    def made() -> TensorProgram:
        try:
            return build()
        except NoDerivative as failure:
            # The module is called what the user calls it, whatever was derived of it.
            raise no_derivative(program.module.name or program.name, failure.reason, failure.source) from None

    owner = program.program()
    return made() if owner is None else owner.derived(key, made)


def not_enough_memory(program: str, plan: Plan, failure: NotEnoughMemory) -> WindlassError:
    """What is said of a budget that is too small."""
    return WindlassError(
        Diagnostic(
            "WL0934",
            f"the gradient of {program} needs {failure.least:,} bytes for its loops, memory= gives {plan.memory:,}",
            help=f"memory={failure.least} is the least that would do; with more, fewer rounds are computed again",
        )
    )


def _batch(
    arguments: Sequence[Any], axes: Sequence[int | None], *, program: Code, count: int
) -> tuple[list[Any], list[int]]:
    return batch(arguments, axes, program=program, call=tangent_call, parameters={"count": count})


def _infer(*arguments: Any, program: Code, count: int) -> list[Any]:
    return infer_results(*arguments, program=program)


def _evaluate(*arguments: Any, program: Code, count: int) -> list[Any]:
    return evaluate(*arguments, program=program)


def _lower(context: Any, *arguments: Any, program: Code, count: int) -> list[Any]:
    return lower(context, *arguments, program=program)


tangent_call.def_abstract_eval(_infer)
tangent_call.def_impl(_evaluate)
mlir.register_lowering(tangent_call, _lower, cacheable=False)
batching.primitive_batchers[tangent_call] = _batch
ad.primitive_jvps[program_call] = differentiate
ad.primitive_jvps[tangent_call] = differentiate
ad.primitive_transposes[tangent_call] = _transpose
linearize_with(program_call, linearize)
ad.primitive_transposes[backwards_call] = _go_backwards
backwards_call.def_abstract_eval(_infer_tangents)
backwards_call.def_impl(_tangents)
mlir.register_lowering(backwards_call, mlir.lower_fun(_tangents, multiple_results=True))
