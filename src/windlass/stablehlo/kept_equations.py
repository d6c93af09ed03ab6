"""Traced programs read as IR, in which functions with derivative rules of their own stay one op each.

JAX's rules, and those that users give it, are known while a function is traced, and gone when it is lowered. What has
one is lowered as a call instead (`lower_keeping`), and the call read as a `CustomDerivative`. Its rule asks JAX for the
derivative of the equation, and reads that as IR in the same way: so rules within rules are kept too, each until it is
asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windlass.diagnostics import Diagnostic, Position, WindlassError
from windlass.ir import Builder, Function, Module
from windlass.ops import Call, CustomDerivative, DerivativeRule, Pushforward
from windlass.passes.batched_rules import BatchedRule
from windlass.rewriting.inlining import inline_calls
from windlass.stablehlo.lowered import import_lowered
from windlass.stablehlo.native_forms import noting_native_forms, take_native_forms
from windlass.stablehlo.private_jax import KeptEquation, lower_keeping


def import_traced(name: str, traced: Any) -> tuple[Module, tuple[Any, ...]]:
    """What `jax.jit(...).trace(...)` gave as one function called `main`; and the functions of Python that it calls."""
    module, _, callbacks = import_both(name, traced)
    return module, callbacks


def import_both(name: str, traced: Any) -> tuple[Module, Module | None, tuple[Any, ...]]:
    """As `import_traced`; with the same in which launches that have native forms take these, where there are any."""
    with noting_native_forms() as natives:
        lowered, kept = lower_keeping(traced)
    module = import_lowered(name, lowered, lambda module: _enter_rules(module, kept))
    native = None
    if natives:

        def prepare(module: Module) -> None:
            take_native_forms(module, natives)
            _enter_rules(module, kept)

        native = import_lowered(name, lowered, prepare)
    return module, native, tuple(lowered._lowering.compile_args["host_callbacks"])


def _enter_rules(module: Module, kept: Mapping[str, KeptEquation]) -> None:
    """Put an op for each call of a function that stands for a kept equation."""
    rules = {name: EquationRule(equation, module.functions.pop(name)) for name, equation in kept.items()}
    for function in [*module.functions.values()]:
        for op in [*function.walk()]:
            rule = rules.get(str(op.callee)) if isinstance(op, Call) else None
            if rule is not None:
                assert op.block is not None
                rule.position = rule.position or op.source
                with Builder(op.block, before=op, source=op.source):
                    results = CustomDerivative(rule, op.operands).results
                for old, new in zip(op.results, results, strict=True):
                    old.replace_all_uses_with(new)
                op.erase()
    for rule in rules.values():
        if rule.primal is not None:
            inline_calls(rule.primal.body, module, through_settling=True)


class EquationRule(DerivativeRule):
    """The rule of an equation of JAX."""

    position: Position | None = None
    """Where the function is called first."""

    def __init__(self, equation: KeptEquation, function: Function) -> None:
        self._equation = equation
        self._primal = function if equation.can_run else None
        self._pushforwards: dict[tuple[bool, ...], Pushforward] = {}
        self._transposed: Function | None = None
        self.name = equation.name
        self.linear = equation.linear
        self.can_be_shared = equation.can_be_shared
        self.operand_types = tuple(argument.type for argument in function.arguments)
        self.result_types = tuple(result.type for result in function.results)

    @property
    def primal(self) -> Function | None:
        return self._primal

    def pushforward(self, changing: tuple[bool, ...]) -> Pushforward:
        found = self._pushforwards.get(changing)
        if found is None:
            try:
                traced, changes = self._equation.pushforward(changing)
            except NotImplementedError as error:
                raise WindlassError(
                    Diagnostic(
                        "WL0901",
                        f"{self.name} can't be differentiated: JAX has no derivative for this form of it",
                        self.position,
                        notes=(f"JAX says: {str(error).splitlines()[0]}",),
                        help="use a form that has one, such as eigenvalues alone or reduced matrices, or a rule of "
                        "your own by jax.custom_jvp",
                    )
                ) from None
            found = self._pushforwards[changing] = Pushforward(self._read(traced), tuple(changes))
        return found

    def transposed(self) -> Function:
        if self._transposed is None:
            self._transposed = self._read(self._equation.transposed())
        return self._transposed

    def batched(self, is_batched: tuple[bool, ...], size: int) -> DerivativeRule:
        return BatchedRule(self, is_batched, size)

    def _read(self, traced: Any) -> Function:
        """Raises WindlassError (WL0901) where the derivative calls functions of Python."""
        module, callbacks = import_traced(self.name, traced)
        if callbacks:
            raise WindlassError(
                Diagnostic(
                    "WL0901",
                    f"the derivative of {self.name} calls a function of Python, as jax.debug.print and "
                    "jax.pure_callback do: that has no place in a derivative inside wl.jit",
                    self.position,
                    help="leave such calls out of the derivative rule",
                )
            )
        return module.main
