"""`wl.optimize`: a JAX function whose programs, derivatives included, go through Windlass's optimizer.

A call becomes one operation of JAX that holds the traced function. JAX's transformations change what it holds: under
`grad` there is one such operation for the forward and one for the backward pass. Each is optimized when JAX lowers it,
and the result is merged into the program that JAX is building.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, overload

import jax
from jax.interpreters import ad

from windlass.communication.choices import Choice, collect_choices, tell_choice
from windlass.diagnostics import Diagnostic, WindlassError
from windlass.functions.trials import Trials, find_trials, key_of_arguments
from windlass.functions.whole_program import whole_program
from windlass.reports.lowered import Lowered
from windlass.rewriting import Rule
from windlass.runtime.distributions import tell_distribution
from windlass.runtime.placements import as_misplaced, named_leaves, parameter_names
from windlass.schedules import Schedule, read_schedule
from windlass.schedules.schedule import fault
from windlass.stablehlo.differentiating import differentiate
from windlass.stablehlo.embedding import embed_module, find_surroundings
from windlass.stablehlo.lowered import import_lowered, optimize_lowered
from windlass.stablehlo.optimizing import Choices, Report, optimize_module
from windlass.stablehlo.private_jax import (
    LoweredApart,
    constants_as_arguments,
    define_call,
    has_loops_of_unknown_length,
    is_plain,
    is_tracer,
    trace,
    traced_again,
)


class OptimizedFunction:
    """A JAX function made by `wl.optimize`. Call it as the function itself, under any of JAX's transformations.

    `explain(*arguments)` tells what the optimizer does for such arguments; `lower(*arguments).text(stage)` shows it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        choices: Choices,
        static_argnums: int | Sequence[int] | None,
        static_argnames: str | Iterable[str] | None,
        trials: int = 0,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.choices = choices
        self.most_trials = trials
        self._tried: dict[Hashable, tuple[Trials, OptimizedFunction] | None] = {}

        @functools.wraps(function)
        def apply(*positional: Any, **named: Any) -> Any:
            return self._apply(positional, named)

        self._static_arguments: dict[str, Any] = {
            "static_argnums": static_argnums,
            "static_argnames": static_argnames,
        }
        self._static: dict[str, Any] = {}
        if static_argnums is not None:
            self._static["static_argnums"] = static_argnums
        if static_argnames is not None:
            self._static["static_argnames"] = static_argnames
        # Within a function by `jax.jit` it is seen then how that one's arguments are divided.
        self._jitted = jax.jit(apply, inline=True, **self._static)

        @functools.wraps(function)
        def be_part(*positional: Any, **named: Any) -> Any:
            return self._apply(positional, named, is_part=True)

        self._part = jax.jit(be_part, inline=True, **self._static)
        """The function as a part of one that is optimized as a whole."""

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", "function")

    def __repr__(self) -> str:
        return f"<windlass.optimize {self.name}>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *positional: Any, **named: Any) -> Any:
        if getattr(jax.config, "jax_disable_jit"):  # noqa: B009 (no type has it)
            return self.function(*positional, **named)
        if self.choices == _whole_choices.get():
            return self._part(*positional, **named)
        with self._with_types():
            if self.most_trials:
                found = self._find_fastest(positional, named)
                if found is not None:
                    return found[1]._jitted(*positional, **named)
            try:
                return self._jitted(*positional, **named)
            except (ValueError, RuntimeError) as error:
                told = as_misplaced(error, self.name, named_leaves(positional, named, parameter_names(self.function)))
                if told is error:
                    raise
                raise told from None

    def _with_types(self) -> AbstractContextManager[Any]:
        """Floats of limbs are written as f64, whatever JAX's flag says."""
        return nullcontext() if self.choices.precision is None else jax.enable_x64(True)

    def trials(self, *positional: Any, **named: Any) -> Trials:
        """What was tried for such arguments, and how long each took; they are run if they weren't yet.

        Raises WindlassError (WL0806) for a function without trials, and for arguments that are traced.
        """
        found = self._find_fastest(positional, named)
        if found is None:
            reason = "has no trials" if not self.most_trials else "is tried on arrays only, and without effects"
            raise WindlassError(Diagnostic("WL0806", f"{self.name} {reason}", help="wl.optimize(trials=4)"))
        return found[0]

    def _find_fastest(
        self, positional: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[Trials, OptimizedFunction] | None:
        """The function by the schedule that is fastest for such arguments; None where nothing is tried."""
        key = key_of_arguments(positional, named) if self.most_trials else None
        if key is None:
            return None
        if key not in self._tried:
            with self._with_types():
                self._tried[key] = self._try_out(positional, named)
        return self._tried[key]

    def _try_out(self, positional: tuple[Any, ...], named: dict[str, Any]) -> tuple[Trials, OptimizedFunction] | None:
        traced = jax.jit(self.function, **self._static).trace(*positional, **named)
        if traced.jaxpr.effects or not is_plain(traced.jaxpr):
            return None  # What it does beside its results would be done in each trial.

        def scheduled(schedule: Schedule) -> OptimizedFunction:
            choices = replace(self.choices, schedule=schedule)
            return OptimizedFunction(self.function, choices, **self._static_arguments)

        def compile_with(schedule: Schedule) -> Callable[[], Any]:
            jitted = scheduled(schedule)._jitted
            return lambda: jitted(*positional, **named)

        module = import_lowered(self.name, traced.lower())
        found = find_trials(module, self.choices, self.most_trials, compile_with)
        return found, scheduled(found.chosen)

    def _apply(self, positional: tuple[Any, ...], named: dict[str, Any], is_part: bool = False) -> Any:
        """Trace the function and bind it as one operation. JAX's `jit` has made tracers of all but static arguments."""
        leaves, structure = jax.tree.flatten((positional, named))
        given = [leaf for leaf in leaves if is_tracer(leaf)]

        def flat(*values: Any) -> Any:
            rest = iter(values)
            positional, named = jax.tree.unflatten(
                structure, [next(rest) if is_tracer(leaf) else leaf for leaf in leaves]
            )
            return self.function(*positional, **named)

        flat.__name__ = flat.__qualname__ = self.name
        closed, shapes = trace(flat, *given)
        # Of loops that go round until data say so JAX has no reverse mode: they stay apart, for us to differentiate.
        if not is_plain(closed) or (is_part and not has_loops_of_unknown_length(closed)):
            return flat(*given)
        captured, closed = constants_as_arguments(closed, is_tracer)
        results = optimized_call.bind(*captured, *given, jaxpr=closed, name=self.name, choices=self.choices)
        return jax.tree.unflatten(jax.tree.structure(shapes), results)

    def lower(self, *positional: Any, **named: Any) -> Lowered:
        """The stages of the program for such arguments: "tensor" as traced, "optimized" by the rules, "hlo" by XLA."""
        return Lowered(
            self.name,
            {
                "tensor": lambda: self._plain(positional, named).as_text(),
                "optimized": lambda: self._lowered(positional, named).as_text(),
                "hlo": lambda: self._lowered(positional, named).compile().as_text() or "",
            },
        )

    def explain(self, *positional: Any, **named: Any) -> Report:
        """What the optimizer does to the program for such arguments, each rewrite with what it saves by estimate; of
        arguments that a mesh divides also in which form, and why."""
        module = import_lowered(self.name, self._plain(positional, named))
        report = optimize_module(module, self.choices, estimates=True)
        report.distribution = tell_distribution(self, positional, named)
        return report

    def _plain(self, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The function as JAX lowers it without the optimizer."""
        with self._with_types():
            return jax.jit(self.function, **self._static).lower(*positional, **named)

    def _lowered(self, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        with self._with_types():
            return self._jitted.lower(*positional, **named)


_whole_choices: ContextVar[Choices | None] = ContextVar("windlass_whole_choices", default=None)
"""The choices of what is being traced to be optimized as a whole."""


def optimized_with(function: Callable[..., Any], part: OptimizedFunction) -> OptimizedFunction:
    """A function that calls another one, which is optimized, optimized with that as one program.

    Where it makes derivatives of it, both ways are in one program: what one tells the other, such as places of slices,
    is known there.
    """

    @functools.wraps(function)
    def run(*positional: Any, **named: Any) -> Any:
        token = _whole_choices.set(part.choices)
        try:
            return function(*positional, **named)
        finally:
            _whole_choices.reset(token)

    run.__name__ = run.__qualname__ = part.name
    return OptimizedFunction(run, part.choices, None, None)


MOST_PROGRAMS = 32
_programs: dict[Hashable, tuple[bytes, tuple[Choice, ...]]] = {}
"""Programs that were optimized last, with how they are divided among devices."""


def _lower(context: Any, *values: Any, jaxpr: Any, name: str, choices: Choices) -> list[Any]:
    """The optimized program, merged into the module that JAX is building."""
    apart = LoweredApart(context, values, jaxpr)
    platforms = tuple(context.module_context.platforms)
    surroundings = find_surroundings(context, apart.operands)
    # A function that is called at several places, in the same surroundings, is optimized once.
    text = str(apart.module.operation.get_asm(enable_debug_info=True))
    key = (hashlib.sha256(text.encode()).digest(), choices, platforms, surroundings)
    known = _programs.get(key)
    if known is None:
        while len(_programs) >= MOST_PROGRAMS:
            _programs.pop(next(iter(_programs)), None)
        with collect_choices() as told:
            program = optimize_lowered(apart.module, choices, platforms, surroundings)
        known = _programs[key] = program, tuple(told)
    program, choices_told = known
    for choice in choices_told:
        tell_choice(choice)
    digest = hashlib.sha256(program).hexdigest()[:16]
    symbol = "_".join(("windlass", re.sub(r"\W+", "_", name), digest))
    return apart.results(embed_module(context, symbol, lambda: program, apart.operands))


optimized_call: Any = define_call("windlass_optimize", _lower)


def _push_forward(
    by_jax: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Any, **settings: Any
) -> Any:
    """The tangents: by JAX; by us where loops go round until data say so, of which JAX has no reverse mode."""
    if jaxpr.effects or not has_loops_of_unknown_length(jaxpr):
        return by_jax(primals, tangents, jaxpr=jaxpr, **settings)
    choices: Choices = settings["choices"]
    program, _, _ = whole_program(settings["name"], traced_again(jaxpr), choices.exact, choices.precision)
    return differentiate(primals, tangents, program=program.code)


ad.primitive_jvps[optimized_call] = functools.partial(_push_forward, ad.primitive_jvps[optimized_call])


@overload
def optimize(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    exact: bool = False,
    assumes: str | Iterable[str] = (),
    compile_seconds: float = 10.0,
    device: str | None = None,
    rules: Iterable[Rule] = (),
    without: str | Iterable[str] = (),
    schedule: Schedule | str | None = None,
    trials: int = 0,
    saturate: bool = False,
    precision: str | None = None,
    deterministic: bool = False,
) -> OptimizedFunction: ...
@overload
def optimize(
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    exact: bool = False,
    assumes: str | Iterable[str] = (),
    compile_seconds: float = 10.0,
    device: str | None = None,
    rules: Iterable[Rule] = (),
    without: str | Iterable[str] = (),
    schedule: Schedule | str | None = None,
    trials: int = 0,
    saturate: bool = False,
    precision: str | None = None,
    deterministic: bool = False,
) -> Callable[[Callable[..., Any]], OptimizedFunction]: ...


def optimize(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    exact: bool = False,
    assumes: str | Iterable[str] = (),
    compile_seconds: float = 10.0,
    device: str | None = None,
    rules: Iterable[Rule] = (),
    without: str | Iterable[str] = (),
    schedule: Schedule | str | None = None,
    trials: int = 0,
    saturate: bool = False,
    precision: str | None = None,
    deterministic: bool = False,
) -> Any:
    """Optimize a JAX function; what comes back is used as `jax.jit(function)` would be.

    It may be called inside other JAX functions, under `jit`, `grad`, `vmap`, `jvp`, `vjp`, `scan`, `checkpoint` and
    `shard_map`: what these make of it is optimized too. Loops that go round until data say so (`while_loop`,
    `fori_loop` with traced bounds) have a reverse mode here; where there are such, derivatives are made as those of
    `wl.jit` are, and of the choices below `exact` and `precision` hold for them. Arguments and results are pytrees. As
    for `jax.jit`, `static_argnums` and `static_argnames` name arguments that are compiled in; buffers are donated by a
    `jax.jit` around it.

    Integer and boolean results stay the same. So do float results but for the order of sums and products, as in XLA's
    own reductions; with `exact` that order is kept too, and XLA is kept from contracting and simplifying: each float
    operation is rounded as it is written. `assumes` grants what rules may take for granted of floats, in arguments and
    in what is computed from them: "no NaN", "finite" (implies it), "no -0.0" (signs of zeros don't count).
    `compile_seconds` bounds the time of the optimizer for each program. `device` is the one whose costs count, by
    default the one that JAX compiles for. `rules` are rules of your own, declared by `wl.rewrite`, and `without` names
    rules to be left out. With `saturate` rules are also tried without a choice between them, around products,
    convolutions and reductions, and the cheapest of all the programs that they lead to is taken (see the guide): that
    finds more, and takes up to some seconds for a program.
    With `deterministic` the result has the same bits on every mesh: implies `exact`, and sums have a fixed order (see
    docs/guides/distribution.md for what it costs).
    With a `precision` such as "f32x2", what is computed in f64 is computed with pairs of f32
    instead, for devices that have no f64 or are slow at it (docs/guides/precision.md); x64 is on while the function is
    traced, so that it has f64.

    `schedule` says what is done in which order (see `windlass.schedules`), as a value or as its text. With `trials=n`,
    n programs are timed at the first call with arguments of a kind, the default among them, and the fastest is used
    from then on, in later processes too. They are the schedule's options, or else all rules but one family.

    Raises WindlassError: WL08xx where one of the rules breaks its laws and for choices that there are not; WL0961 for
    a precision that there is not, and at the first call WL0962 for an operation that has no form with limbs, WL0945 for
    one that has no fixed order.

    >>> import jax.numpy as jnp
    >>> @optimize
    ... def trace_of_product(a, b):
    ...     return jnp.trace(a.T.T @ b)
    >>> float(trace_of_product(jnp.eye(3), jnp.ones((3, 3))))
    3.0
    >>> jax.grad(trace_of_product)(jnp.eye(2), jnp.ones((2, 2))).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    wanted = read_schedule(schedule) if isinstance(schedule, str) else schedule
    if wanted is not None and not isinstance(wanted, Schedule):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise fault(f"schedule is a schedule or its text, got {schedule!r}", "windlass.schedules makes them")
    if not isinstance(trials, int) or isinstance(trials, bool) or trials < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise fault(f"trials is how many programs are timed, got {trials!r}", "trials=4")
    choices = Choices.make(
        exact, assumes, compile_seconds, device, rules, without, wanted, saturate, precision, deterministic
    )
    if function is None:
        return lambda each: OptimizedFunction(each, choices, static_argnums, static_argnames, trials)
    return OptimizedFunction(function, choices, static_argnums, static_argnames, trials)
