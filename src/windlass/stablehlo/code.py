"""What a program is: its IR, and what that becomes for each kind of device that it is lowered for.

A program is kept as it was optimized. Protecting its float results, finishing it for a device's compiler and writing
it as StableHLO happen when JAX lowers it, for the platforms that JAX lowers it for: one program may run on several.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import ref

from windlass.autodiff.planning import Plan
from windlass.communication.choices import Choice, tell_choice
from windlass.facts.cost import CPU, Device
from windlass.ir import Function, Module, TensorType
from windlass.lowering.exact_arithmetic import keep_decisions, keep_float_results
from windlass.lowering.finishing import Surroundings, avoid_miscompilations, finish
from windlass.lowering.fixed_order import fix_order
from windlass.lowering.native_loops import take_loops
from windlass.lowering.polling import add_polls, calls_native_code
from windlass.ops import CustomDerivative, call_composites, expand_composites
from windlass.precision import Limbs, spread_module
from windlass.stablehlo.distributing import distribute
from windlass.stablehlo.exporting import export_bytecode
from windlass.stablehlo.refused_derivatives import refuse_what_cannot_run

UNKNOWN = Surroundings()
NO_PLAN = Plan()
MOST_KEPT = 1 << 20
"""Bytes. A longer text has large constants, which are in the IR, too: it is written anew where it is read again."""


class Finished:
    """A program for one kind of device: a name that no other program has, and the text as long as it is kept."""

    __slots__ = ("asks", "choice", "symbol", "text")

    def __init__(self, symbol: str, text: bytes, asks: bool, choice: Choice | None) -> None:
        self.symbol = symbol
        self.text: bytes | None = text
        self.asks = asks
        """Whether loops in it, or native code that it calls, ask whether they are to stop."""
        self.choice = choice
        """How it is divided among devices, and why; None where it isn't."""


class Code:
    """A program's IR and the Python functions that it calls; see `Program`. JAX's own programs hold it.

    `program` refers weakly to the program, and so to what was compiled of it: JAX keeps what it has compiled of a
    function as long as the function lives, and what it has traced of it as long, so nothing that is traced may keep
    functions alive.
    """

    __slots__ = (
        "__weakref__", "_differentiable", "_finished", "_make_differentiable", "_with_native_code", "argument_types",
        "callbacks", "is_derivative", "is_deterministic", "is_exact", "is_given", "keeps_subnormals", "limbs",
        "module", "name", "native", "needs_x64", "plain", "plan", "program", "result_types", "seconds",
    )  # fmt: skip

    def __init__(
        self,
        program: Any,
        module: Module,
        name: str,
        callbacks: Sequence[Any],
        is_exact: bool,
        is_given: bool,
        seconds: dict[str, float],
        make_differentiable: Callable[[], Module] | None,
        limbs: Limbs | None = None,
        is_deterministic: bool = False,
        is_derivative: bool = False,
        plan: Plan = NO_PLAN,
        native: Module | None = None,
        plain: Callable[[], Module] | None = None,
    ) -> None:
        self.program = ref(program)
        self.module = module
        self.name = re.sub(r"\W+", "_", name)
        self.callbacks = tuple(callbacks)
        self.is_exact = is_exact
        self.is_given = is_given
        self.is_derivative = is_derivative
        self.limbs = limbs
        self.is_deterministic = is_deterministic
        self.plan = plan
        self.native = native
        self.plain = plain
        self.seconds = seconds
        self.argument_types = tuple(argument.tensor for argument in module.main.arguments)
        self.result_types = tuple(result.tensor for result in module.main.results)
        self.needs_x64 = any(is_wide(type_.dtype) for type_ in (*self.argument_types, *self.result_types))
        self.keeps_subnormals = not is_given and _computes_floats(module.functions.values())
        self._make_differentiable = make_differentiable
        self._differentiable: Module | None = None
        self._finished: dict[tuple[str, Surroundings], Finished] = {}
        self._with_native_code: Module | None = None

    def __repr__(self) -> str:
        return f"Program({self.name!r})"

    @property
    def differentiable(self) -> Module:
        """What derivatives are made of: the program, in which functions with rules of their own are one op each."""
        if self._make_differentiable is None:
            return self.module
        if self._differentiable is None:
            self._differentiable = self._make_differentiable()
        return self._differentiable

    @property
    def is_computed_otherwise(self) -> bool:
        """Whether it is not computed as it is written, but with limbs, or with sums in an order that is fixed."""
        return self.limbs is not None or self.is_deterministic

    @property
    def has_valued_rules(self) -> bool:
        """Whether there are functions whose rules, those of `jax.custom_vjp`, have ways of their own to the results."""
        ops = () if self._make_differentiable is None else self.differentiable.main.walk()
        return any(isinstance(op, CustomDerivative) and not op.rule.can_be_shared and op.rule.primal for op in ops)

    def finished(self, device: Device, surroundings: Surroundings = UNKNOWN) -> Finished:
        """The program for a kind of device, within another program or by itself.

        In one that is whole, loops on CPUs that may take long ask whether they are to stop
        (`windlass.lowering.polling`).
        """
        key = (device.name, surroundings)
        found = self._finished.get(key)
        if found is None:
            text, asks, choice = self._finish(device, surroundings)
            digest = hashlib.sha256(text).hexdigest()[:16]  # the same in every process, for JAX's compilation cache
            symbol = "_".join(("windlass", self.name, digest, *(f"{id(callback):x}" for callback in self.callbacks)))
            found = self._finished[key] = Finished(symbol, text, asks, choice)
        tell_choice(found.choice)
        return found

    def read(self, device: Device, surroundings: Surroundings = UNKNOWN) -> bytes:
        """The text of the program for a kind of device: MLIR bytecode."""
        found = self.finished(device, surroundings)
        text = found.text
        if text is None:
            return self._finish(device, surroundings)[0]
        if len(text) > MOST_KEPT:
            found.text = None
        return text

    def _copy_plain(self) -> Module | None:
        """The program as it was before the rules, where that is known and nothing was done to it that it needs."""
        if self.plain is None or self.is_computed_otherwise or self.is_derivative:
            return None
        return _copied(self.plain())

    @property
    def choices(self) -> list[Choice]:
        """How it was divided among devices, and why, for each kind of device and each way that arguments lie."""
        return [found.choice for found in self._finished.values() if found.choice is not None]

    def with_native_code(self) -> Module:
        """The program by itself on a CPU, with native code in the place of loops and array code; not to be changed.

        It is computed as it is written, and is none that is given.
        """
        if self._with_native_code is None:
            module = _copied(self.module if self.native is None else self.native)
            take_loops(module, self.name)
            self._with_native_code = module
        return self._with_native_code

    def _finish(self, device: Device, surroundings: Surroundings) -> tuple[bytes, bool, Choice | None]:
        begun = time.perf_counter()
        refuse_what_cannot_run(self.module.main, self.module.name or self.name)
        is_alone = surroundings.is_whole and not surroundings.is_partitioned
        # Functions of floats are others in native code, which is for programs on one device alone.
        has_native_code = is_alone and device.name == "cpu" and not (self.is_given or self.is_deterministic)
        is_others = self.native is not None and not surroundings.may_call_native_code
        is_taken = has_native_code and not self.is_computed_otherwise and not is_others
        if is_taken:
            module = _copied(self.with_native_code())
        else:
            module = _copied(native if (native := self.native) and surroundings.may_call_native_code else self.module)
        if self.is_given:
            write = expand_composites if surroundings.is_whole else call_composites
            for function in module.functions.values():
                write(function.body)
        if self.limbs is not None:
            spread_module(module, self.limbs, None if surroundings.is_partitioned else device)
            for function in module.functions.values():
                expand_composites(function.body)
        if self.is_deterministic:
            fix_order(module)
        if has_native_code and not is_taken:
            take_loops(module, self.name)

        is_kept = self.is_exact or self.is_computed_otherwise
        only_decisions = self.is_derivative and not self.is_computed_otherwise
        if is_kept and only_decisions:
            for function in module.functions.values():
                keep_decisions(function, device)

        def complete(form: Module) -> None:
            # What keeps numbers as they are hides what they depend on, from who looks for halos, too.
            if is_kept and not only_decisions:
                for function in form.functions.values():
                    keep_float_results(function, device if self.limbs is None else CPU)
            if not self.is_given:
                is_settled = self.limbs is not None
                finish(form, device, is_partitioned=surroundings.is_partitioned, is_settled=is_settled)
            avoid_miscompilations(form, device, surroundings)

        choice: Choice | None = None
        if self.is_given:
            complete(module)
        else:
            module, choice = distribute(module, surroundings, device.name, complete, self._copy_plain)
        asks = surroundings.is_whole and device.name == "cpu" and (add_polls(module) > 0 or calls_native_code(module))
        text = export_bytecode(module, within_calls=surroundings.is_partitioned)
        self.seconds["exporting"] = time.perf_counter() - begun
        return text, asks, choice


def _copied(module: Module) -> Module:
    """A copy, whose main function is called `main`."""
    main = module.main
    functions = [
        function.clone() for function in (main, *(each for each in module.functions.values() if each is not main))
    ]
    functions[0].name, functions[0].visibility = "main", "public"
    copy = Module(functions, module.name)
    copy.attributes, copy.globals = dict(module.attributes), list(module.globals)
    return copy


def _computes_floats(functions: Iterable[Function]) -> bool:
    types = (op.type for function in functions for op in function.walk())
    return any(isinstance(type_, TensorType) and (type_.is_float or type_.is_complex) for type_ in types)


def is_wide(dtype: str) -> bool:
    """Whether JAX narrows this element type while its x64 flag is off.

    >>> is_wide("f64"), is_wide("i32"), is_wide("complex<f64>")
    (True, False, True)
    """
    return dtype.endswith("64") or dtype == "complex<f64>"
