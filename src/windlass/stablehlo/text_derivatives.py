"""Derivatives of StableHLO programs as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from windlass.autodiff import NoDerivative, pullback_function, tangent_function
from windlass.autodiff.activity import is_differentiable
from windlass.diagnostics import Diagnostic, ProgramError
from windlass.ir import Function, Module
from windlass.ops import expand_composites
from windlass.rewriting.collecting import without_collections
from windlass.rewriting.driver import rewrite_function
from windlass.rewriting.inlining import inline_calls, remove_unused_functions
from windlass.stablehlo.exporting import export_text
from windlass.stablehlo.refused_derivatives import no_derivative
from windlass.stablehlo.running import read_program


@without_collections()
def differentiate(
    program: str | bytes,
    mode: Literal["reverse", "forward"] = "reverse",
    wrt: int | Sequence[int] | None = None,
) -> str:
    """The program (StableHLO text or bytecode) with its derivative, as text.

    In "reverse" mode its `main` takes, after its own arguments, a cotangent for each result that is of floats or
    complex numbers, and gives, after its own results, a cotangent for each of the arguments in `wrt`. In "forward" mode
    it takes a tangent for each argument in `wrt`, and gives a tangent for each such result. All are in the order of
    what they belong to, with its type; what is no float has none. By default `wrt` are all arguments that have one.
    Cotangents of complex numbers are those of JAX.

    `wl.stablehlo.optimize` makes it faster, `wl.stablehlo.run` runs it, and it can be differentiated again.

    Raises ProgramError where the program can't be read (WL05xx) and for a mode or an argument that there is not
    (WL0931), WindlassError (WL0901) where an operation has no derivative.

    >>> import numpy as np
    >>> from windlass.stablehlo import run
    >>> text = '''func.func @main(%x: tensor<2xf64>, %y: tensor<2xf64>) -> tensor<2xf64> {
    ...   %0 = stablehlo.multiply %x, %y : tensor<2xf64>
    ...   return %0 : tensor<2xf64>
    ... }'''
    >>> x, y, cotangent = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([1.0, 10.0])
    >>> [each.tolist() for each in run(differentiate(text, wrt=0), x, y, cotangent)]
    [[3.0, 8.0], [3.0, 40.0]]
    """
    module = read_program(program)
    main = module.main
    if mode not in ("reverse", "forward"):
        raise ProgramError(Diagnostic("WL0931", f"there is no mode {mode!r}", help="it is 'reverse' or 'forward'"))
    chosen = _chosen(main, wrt)
    inline_calls(main.body, module)
    derive = pullback_function if mode == "reverse" else tangent_function
    try:
        derived = derive(main, chosen, has_results=True)
    except NoDerivative as failure:
        raise no_derivative(module.name or main.name, failure.reason, failure.source) from None
    expand_composites(derived.body)
    derived.name, derived.visibility = main.name, main.visibility
    _simplify(derived)
    made = Module([derived, *(each for each in module.functions.values() if each is not main)], module.name)
    made.globals = list(module.globals)
    remove_unused_functions(made)
    return export_text(made)


def _simplify(function: Function) -> None:
    """Rewrite without changing any value: what is derived holds much that nobody needs."""
    from windlass.catalogue import catalogue

    rewrite_function(function, catalogue.choose(exact=True, in_kernel=True))


def _chosen(main: Function, wrt: int | Sequence[int] | None) -> list[int]:
    """The places of the arguments that vary. Raises ProgramError (WL0931)."""
    types = [argument.type for argument in main.arguments]
    if wrt is None:
        chosen = [place for place, type_ in enumerate(types) if is_differentiable(type_)]
        if not chosen:
            raise ProgramError(Diagnostic("WL0931", f"@{main.name} takes no argument of floats or complex numbers"))
        return chosen
    chosen = [wrt] if isinstance(wrt, int) else sorted(set(wrt))
    for place in chosen:
        if not 0 <= place < len(types):
            raise ProgramError(
                Diagnostic("WL0931", f"@{main.name} has no argument number {place}: it takes {len(types)}")
            )
        if not is_differentiable(types[place]):
            raise ProgramError(
                Diagnostic(
                    "WL0931",
                    f"@{main.name} can't be differentiated by argument {place}: it is {types[place]}",
                    help="choose arguments of floats or complex numbers",
                )
            )
    return chosen
