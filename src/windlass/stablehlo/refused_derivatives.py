"""What is said where a derivative is asked for that there is not."""

from __future__ import annotations

from windlass.diagnostics import Diagnostic, Position, WindlassError
from windlass.ir import Function
from windlass.ops import CustomDerivative, MissingDerivative

_NO_FILES_OF_PYTHON = ("<stdin", "<ipython", "<string", "<doctest")
UNUSED = "outside of jax.jit, jax.jvp gives the tangents of all results, of those too that nobody uses afterwards"


def no_derivative(program: str, reason: str, source: Position | None, notes: tuple[str, ...] = ()) -> WindlassError:
    """The error (WL0901) of a program in which something has no derivative, for this reason, at this place."""
    return WindlassError(
        Diagnostic(
            "WL0901",
            f"{program} can't be differentiated: {reason}",
            source,
            notes=notes,
            help=_ways_out(source),
        )
    )


def _ways_out(source: Position | None) -> str:
    """What to write where something has no derivative, in the words of what the program is written in."""
    is_python = source is not None and (source.file.endswith(".py") or source.file.startswith(_NO_FILES_OF_PYTHON))
    if is_python:
        return (
            "compute it with floats, give what computes it a derivative by wl.custom_vjp, or take its arguments by "
            "jax.lax.stop_gradient(x) if no gradient has to pass"
        )
    return (
        "compute it with floats, give the kernel a derivative (@kernel.defvjp), or pass jax.lax.stop_gradient(x) to it "
        "if no gradient has to pass"
    )


def refuse_what_cannot_run(function: Function, program: str) -> None:
    """Raises WindlassError (WL0901) for what is only there to be transposed, or to say that it is missing."""
    for op in function.walk():
        if isinstance(op, MissingDerivative):
            raise no_derivative(program, op.reason, op.source, (UNUSED,) if len(function.results) > 1 else ())
        if isinstance(op, CustomDerivative):
            raise WindlassError(
                Diagnostic(
                    "WL0901",
                    f"{program} can't be differentiated forwards: it calls a function of jax.custom_vjp, "
                    f"whose rule ({op.rule.name}) is for reverse mode alone",
                    op.source,
                    help="use jax.grad, jax.vjp or jax.jacrev, or give the function a rule by jax.custom_jvp",
                )
            )
