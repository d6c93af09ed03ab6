"""What is said where a derivative is asked for that there is not."""

from __future__ import annotations

from windlass.diagnostics import Diagnostic, Position, WindlassError
from windlass.ir import Function
from windlass.ops import CustomDerivative, MissingDerivative


def no_derivative(program: str, reason: str, source: Position | None) -> WindlassError:
    """The error (WL0901) of a program in which something has no derivative, for this reason, at this place."""
    return WindlassError(
        Diagnostic(
            "WL0901",
            f"{program} can't be differentiated: {reason}",
            source,
            help="use jax.lax.stop_gradient on its arguments if no gradient has to pass through it",
        )
    )


def refuse_what_cannot_run(function: Function, program: str) -> None:
    """Raises WindlassError (WL0901) for what is only there to be transposed, or to say that it is missing."""
    for op in function.walk():
        if isinstance(op, MissingDerivative):
            raise no_derivative(program, op.reason, op.source)
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
