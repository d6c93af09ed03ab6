"""`wl.jit`: NumPy code, jax.numpy code and kernel launches, compiled as one program.

At a call, arrays become traced `Array`s and the function runs once. What it did is then one JAX program: the values it
returns and the last contents of the arrays that it wrote, which go back into the caller's NumPy arrays. The program is
taken through Windlass's own optimizer as a whole, raised kernels inlined.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast, overload

import jax
from jax.core import Tracer

from windlass.autodiff.planning import Binomial, Periodic, Plan
from windlass.autodiff.requests import plan_for
from windlass.diagnostics import Diagnostic, LaunchError, WindlassError
from windlass.frontends.arrays.capture import captured
from windlass.frontends.arrays.explaining import position_of
from windlass.frontends.arrays.strong_numbers import with_strong_numbers
from windlass.frontends.arrays.tracing import current_tracing
from windlass.functions.compiled_call import CompiledCall, HandledByPython
from windlass.functions.leaves import SINGLE, is_static, key_of
from windlass.functions.outrunning import race_for
from windlass.functions.specialization import IntegersNeeded, Specialized, Static
from windlass.functions.splits import Explanation, SplitFunction, explanation_of
from windlass.precision import Limbs
from windlass.reports.lowered import Lowered
from windlass.runtime.compiled_store import CompiledStore
from windlass.stablehlo.code import NO_PLAN
from windlass.stablehlo.waiting import require_threads

Result = TypeVar("Result")


class JitFunction:
    """A function compiled by `wl.jit`. Call it as the function itself; `lower(*arguments).text(stage)` shows it."""

    has_strong_numbers = False
    """Whether numbers are typed as Numba does."""
    stops_at_zero = False
    """Whether numbers that are divided by zero are an error."""

    def __init__(
        self,
        function: Callable[..., Any],
        static: tuple[str, ...] = (),
        donate: tuple[str, ...] = (),
        exact: bool = True,
        precision: str | None = None,
        plan: Plan = NO_PLAN,
        whole: bool = False,
        deterministic: bool = False,
    ) -> None:
        _expect_function(function)
        functools.update_wrapper(self, function)
        self.function = function
        self.static = frozenset(static)
        self.donate = frozenset(donate)
        self.exact = exact
        self.plan = plan
        self.deterministic = deterministic
        # What Python did on divided arrays would depend on how they are divided.
        self.whole = whole or deterministic
        self.limbs = None if precision is None else Limbs.parse(precision)
        self.signature = inspect.signature(function)
        self._compiled: CompiledStore[Any, CompiledCall | Specialized | SplitFunction] = CompiledStore()
        self._split: SplitFunction | None = None
        self._lock = threading.RLock()
        unknown = [name for name in (*static, *donate) if name not in self.signature.parameters]
        if unknown:
            raise LaunchError(
                Diagnostic(
                    "WL0911", f"{self.name} has no parameter called '{unknown[0]}'", help="check static= and donate="
                )
            )

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", "function")

    def __repr__(self) -> str:
        return f"<windlass.jit {self.name}>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *positional: Any, **named: Any) -> Any:
        if current_tracing() is not None:
            # Within another compiled function it is a part of that one.
            with with_strong_numbers(self.has_strong_numbers, stops_at_zero=self.stops_at_zero):
                return captured(self.function)(*positional, **named)
        call, leaves = self._find(positional, named)
        if isinstance(call, SplitFunction):
            return call.call(positional, named)
        try:
            return call.run(leaves) if call.race is None else call.race.run(leaves, positional, named)
        except HandledByPython:
            return self.function(*positional, **named)

    def compiled(self, leaves: Sequence[Any], structure: Any) -> CompiledCall:
        """The program for such arguments; see `flatten`.

        Raises WindlassError where the values of integers among them have to be known, and where it is not one program.
        """
        call = self._entry(leaves, structure)
        if isinstance(call, Specialized | SplitFunction):
            raise call.error
        return call

    def lower(self, *positional: Any, **named: Any) -> Lowered:
        """The stages of the program for such arguments: "tensor" as traced, "optimized" by the rules, "hlo" by XLA.

        Raises WindlassError where it is not one program.
        """
        call, _ = self._find(positional, named)
        if isinstance(call, SplitFunction):
            raise call.error
        return call.lowered(self.name)

    def explain(self, *positional: Any, **named: Any) -> Explanation:
        """What the function is for such arguments: one program, or Python's with programs between, and then each
        statement that Python runs, with its line, why, and what it took in the calls up to now.

        It is compiled if need be, and not run; which statements can't be compiled is found as it runs.
        """
        call, leaves = self._find(positional, named)
        if isinstance(call, SplitFunction):
            return explanation_of(self.name, call)
        outrun = None if call.race is None else call.race.told(leaves)
        distribution = "\n".join(choice.told for choice in call.program.code.choices)
        return explanation_of(self.name, None, outrun, distribution)

    def _find(
        self, positional: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[CompiledCall | SplitFunction, Sequence[Any]]:
        """What such a call is, and the arrays and numbers that it takes."""
        try:
            leaves, structure = self._flatten(positional, named)
            key = key_of(leaves, structure)
        except WindlassError as error:
            if self.whole:
                raise
            return self._split_for(error), ()
        call = self._compiled.get(key) or self._compile(leaves, structure, key)
        while isinstance(call, Specialized):
            leaves, structure = call.split(leaves)
            call = self._entry(leaves, structure)
            if isinstance(call, SplitFunction):
                self._compiled.keep(key, call)  # for all values
        if isinstance(call, SplitFunction) and any(isinstance(leaf, Tracer) for leaf in leaves):
            raise call.error
        return call, leaves

    def _split_for(self, error: Exception) -> SplitFunction:
        """The function split, for arguments that no program can take."""
        with self._lock:
            if self._split is None:
                self._split = SplitFunction(self, error)
            return self._split

    def _entry(self, leaves: Sequence[Any], structure: Any) -> CompiledCall | Specialized | SplitFunction:
        key = key_of(leaves, structure)
        return self._compiled.get(key) or self._compile(leaves, structure, key)

    def _flatten(self, positional: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Any], Any]:
        """Arrays and numbers in order, and the structure that they stand in; static arguments are in the structure."""
        if self.static or named:
            positional, named = self.marked_static(positional, named)
        return self.flatten(positional, named)

    def marked_static(
        self, positional: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments bound to their parameters, those that are static marked as such."""
        bound = self.signature.bind(*positional, **named)
        for name in self.static:
            if name in bound.arguments:
                bound.arguments[name] = Static.of(bound.arguments[name])
        return bound.args, bound.kwargs

    @staticmethod
    def flatten(positional: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Any], Any]:
        """Arguments as `compiled` takes them: arrays and numbers in order, and the structure that they stand in."""
        if not named and all(type(each) in SINGLE for each in positional):
            for each in positional:
                is_static(each)  # which refuses some of them
            return list(positional), _structure_of_single(len(positional))
        leaves, structure = jax.tree.flatten((tuple(positional), dict(named)))
        kept: list[Any] = []
        marks: list[Any] = []
        for leaf in leaves:
            if is_static(leaf):
                marks.append(Static.of(leaf))
            else:
                marks.append(None)
                kept.append(leaf)
        return kept, (structure, tuple(marks))

    def _compile(self, leaves: Sequence[Any], structure: Any, key: Any) -> CompiledCall | Specialized | SplitFunction:
        require_threads()
        with self._lock:
            found = self._compiled.get(key)
            if found is None:
                try:
                    found = CompiledCall(self, leaves, structure)
                    if not (self.whole or self.has_strong_numbers) and self.limbs is None:
                        found.race = race_for(self.function, found, leaves, structure)
                except IntegersNeeded as need:
                    found = Specialized(self.name, structure, need)
                except Exception as error:
                    if self.whole or any(isinstance(leaf, Tracer) for leaf in leaves):
                        raise
                    found = SplitFunction(self, error)
                self._compiled.keep(key, found)
            return found


@overload
def jit(function: Callable[..., Any], /) -> JitFunction: ...
@overload
def jit(
    *,
    static: str | Sequence[str] = (),
    donate: str | Sequence[str] = (),
    allow_contraction: bool = False,
    precision: str | None = None,
    checkpoint: Periodic | Binomial | None = None,
    memory: int | str | None = None,
    whole: bool = False,
    deterministic: bool = False,
) -> Callable[[Callable[..., Any]], JitFunction]: ...


def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static: str | Sequence[str] = (),
    donate: str | Sequence[str] = (),
    allow_contraction: bool = False,
    precision: str | None = None,
    checkpoint: Periodic | Binomial | None = None,
    memory: int | str | None = None,
    whole: bool = False,
    deterministic: bool = False,
) -> Any:
    """Compile a function of arrays and numbers, in which NumPy, jax.numpy and kernel launches mix, as one program.

    NumPy arrays are updated in place where the function writes to them. JAX arrays can't be: their new values have to
    be returned; those of the parameters in `donate` are given up, so that their memory can be used again. Numbers are
    unknown while the function is compiled, so that a call with others takes no compilation; parameters in `static` are
    compiled in, as are strings, kernels and other objects. `for ... in range(...)` loops become one operation. With a
    `precision` such as "f32x2", what is computed in f64 is computed with pairs of f32 instead, for devices that have no
    f64 or are slow at it (docs/guides/precision.md).

    `checkpoint` and `memory` are those of `wl.grad`, for gradients of the function that don't say so themselves, as
    those of `jax.grad` don't. Within another compiled function it is a part of that one, whose plan holds.

    What can't be part of a program, such as a shape that data decide, a `print`, or a function of a library, Python
    runs on the arrays as they are; what stands before and after it is compiled (docs/guides/splits.md). Such functions
    have no derivatives, and can't be traced by JAX. With `whole` they are refused instead, with the line and the
    reason. A function of NumPy arrays whose program turns out slower than Python, by the clock, is run by Python, too,
    but with `whole` (`WINDLASS_TRIALS=0` compares no times).

    With `deterministic` the results, and those of derivatives, have the same bits on every mesh that divides the
    arrays: sums have a fixed order, which is not NumPy's (docs/guides/distribution.md tells what it costs). It implies
    `whole`, and allows no contraction.

    Raises WindlassError: WL0911 for parameters and options that don't fit, WL0915 for what is no function, WL0961 for a
    precision that there is not; and at the first call WL0945 for an operation that has no fixed order.

    >>> import numpy as np
    >>> @jit
    ... def smooth(u, steps):
    ...     for _ in range(steps):
    ...         u[1:-1] = (u[:-2] + u[2:]) / 2
    >>> u = np.array([0.0, 0.0, 8.0, 0.0, 0.0])
    >>> smooth(u, 2)
    >>> u.tolist()
    [0.0, 0.0, 4.0, 0.0, 0.0]
    """
    if deterministic and allow_contraction:
        raise LaunchError(
            Diagnostic(
                "WL0911",
                "wl.jit is given deterministic=True and allow_contraction=True",
                help="leave one of them out: where additions and multiplications may be contracted, bits may differ",
            )
        )
    options = {
        "static": (static,) if isinstance(static, str) else tuple(static),
        "donate": (donate,) if isinstance(donate, str) else tuple(donate),
        "exact": not allow_contraction,
        "precision": precision,
        "plan": plan_for("wl.jit", checkpoint, memory),
        "whole": whole,
        "deterministic": deterministic,
    }
    if precision is not None:
        Limbs.parse(precision)
    if function is None:
        return lambda each: JitFunction(each, **cast("Any", options))
    return JitFunction(function, **cast("Any", options))


@functools.cache
def _structure_of_single(count: int) -> Any:
    """The structure of so many arguments that are one leaf each."""
    return jax.tree.structure(((0,) * count, {})), (None,) * count


def _expect_function(function: Any) -> None:
    """Raises LaunchError (WL0915) for what is called like a function and is none that can run once and be done."""
    kinds = {
        "a class": inspect.isclass(function),
        "a generator function": inspect.isgeneratorfunction(function),
        "a coroutine function": inspect.iscoroutinefunction(function),
        "an asynchronous generator function": inspect.isasyncgenfunction(function),
        "no function": not callable(function),
    }
    kind = next((name for name, is_it in kinds.items() if is_it), None)
    if kind is None:
        return
    raise LaunchError(
        Diagnostic(
            "WL0915",
            f"{getattr(function, '__name__', repr(function))} is {kind}: wl.jit can't compile it",
            position_of(function),
            help="compile the functions that it calls for its computations",
        )
    )


__all__ = ["JitFunction", "jit"]
