"""`wl.notation`: index notation, compiled to tensor programs for arrays of the shapes that come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any, Never

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import ArrayIndexError, CompilationError, Diagnostic, LaunchError
from windlass.frontends.arrays import Array
from windlass.frontends.arrays.array import wrapped
from windlass.frontends.arrays.tracing import Check, current_tracing
from windlass.frontends.notation import LookUp, Procedure, Slot, Source, load, lower
from windlass.frontends.notation.element_types import SPELLED
from windlass.ir import Module
from windlass.ir.types import NUMPY_DTYPES
from windlass.reports.lowered import Lowered
from windlass.runtime.compiled_store import CompiledStore
from windlass.runtime.needed_memory import as_out_of_memory
from windlass.stablehlo.exporting import export_text
from windlass.stablehlo.optimizing import Report, optimize_module
from windlass.stablehlo.program import TensorProgram

Shapes = tuple[tuple[int, ...], ...]


class NotationModule(Mapping[str, "NotationFunction"]):
    """The functions of a text, by name. Made by `wl.notation`."""

    def __init__(self, text: str) -> None:
        self.source = Source(text)
        self._functions = {
            name: NotationFunction(self.source, procedure) for name, procedure in load(self.source).items()
        }

    def __getitem__(self, name: str) -> NotationFunction:
        found = self._functions.get(name)
        if found is None:
            raise CompilationError(
                Diagnostic(
                    "WL1502",
                    f"the text defines no function called {name!r}",
                    notes=(f"functions here: {', '.join(self)}",),
                )
            )
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __getattr__(self, name: str) -> Never:
        is_function = name in self.__dict__.get("_functions", ())
        hint = f"; write module['{name}']" if is_function else ""
        raise AttributeError(f"a module of the notation has no attribute '{name}'{hint}")

    def __reduce__(self) -> tuple[Any, ...]:
        return NotationModule, (self.source.text,)

    def __repr__(self) -> str:
        return f"<windlass notation: {', '.join(self)}>"


class Compiled:
    """A function of the notation for arguments of certain shapes."""

    def __init__(self, source: Source, procedure: Procedure, shapes: Shapes) -> None:
        self._source, self._procedure, self._shapes = source, procedure, shapes
        lowered = lower(source, procedure, shapes)
        self.look_ups = lowered.look_ups
        self.module = Module([lowered.function], procedure.name)
        self.optimized, self.report = _optimized(self.module)
        self.program = TensorProgram(self.optimized, procedure.name)

    @cached_property
    def pure(self) -> TensorProgram:
        """The program that looks at no look-ups."""
        if not self.look_ups:
            return self.program
        return TensorProgram(_optimized(self._unchecked)[0], self._procedure.name)

    @cached_property
    def part(self) -> TensorProgram:
        """The program as it is written, to be optimized with what it is a part of."""
        return TensorProgram(self.module, self._procedure.name, is_given=True)

    @property
    def _unchecked(self) -> Module:
        function = lower(self._source, self._procedure, self._shapes, checks=False).function
        return Module([function], self._procedure.name)

    def split(self, results: Sequence[Any]) -> tuple[list[Any], list[tuple[LookUp, Any, Any]]]:
        """The results proper, and each look-up with the least and the largest place that it looked for."""
        count = len(results) - 2 * len(self.look_ups)
        ends = results[count:]
        return list(results[:count]), list(zip(self.look_ups, ends[::2], ends[1::2], strict=True))


def _optimized(module: Module) -> tuple[Module, Report]:
    module = module.clone()
    report = optimize_module(module)
    return module, report


class NotationFunction:
    """A function that `wl.notation` made. It takes arrays, or numbers where the parameter has no axes, and gives one
    array, or a tuple of several; what it takes is never changed.

    NumPy arrays give NumPy arrays. Inside `wl.jit` it is a part of the program that is compiled; `function.jax` is the
    function of JAX values, to be used under `jax.jit`, `jax.grad` and `jax.vmap`.
    """

    def __init__(self, source: Source, procedure: Procedure) -> None:
        self.source, self.procedure = source, procedure
        self._compiled: CompiledStore[Shapes, Compiled] = CompiledStore()
        self._lock = threading.RLock()
        self.jax = self._jax_function()
        """The pure function of JAX values. Look-ups outside of their tensor give its nearest element."""

    @property
    def name(self) -> str:
        return self.procedure.name

    def __repr__(self) -> str:
        return f"<windlass notation function {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _function_of, (self.source.text, self.name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Raises LaunchError (WL1509) for arguments that are not what the parameters say, and what `lower` raises for
        sizes; ArrayIndexError (WL1510) for a look-up outside of its tensor."""
        arguments = self._ordered(arguments, named)
        if current_tracing() is not None or any(isinstance(each, Array) for each in arguments):
            return self._call_traced(arguments)
        if any(isinstance(each, jax.Array) for each in arguments):
            return self.jax(*arguments)
        values = [self._from_numpy(slot, each) for slot, each in zip(self.procedure.parameters, arguments, strict=True)]
        compiled = self._for(values)
        program = compiled.program
        try:
            with jax.enable_x64(True) if program.needs_x64 else nullcontext():
                found = program.compile(values)(*values)
                results, look_ups = compiled.split([np.array(each) for each in found])
        except Exception as error:
            original = as_out_of_memory(error, self.name)
            if original is error:
                raise
            raise original from None
        for look_up, least, most in look_ups:
            self._refuse_outside(look_up, int(least), int(most))
        return _one_or_all(results)

    def lower(self, *arguments: Any, **named: Any) -> Lowered:
        """The stages of the program for such arguments: "tensor" as lowered, "optimized" by the rules, "hlo" by XLA."""
        compiled = self.compiled_for(*arguments, **named)
        return Lowered(
            self.name,
            {
                "tensor": lambda: export_text(compiled.module),
                "optimized": lambda: export_text(compiled.optimized),
                "hlo": lambda: compiled.program.lower().compile().as_text(),
            },
        )

    def explain(self, *arguments: Any, **named: Any) -> Report:
        """What the optimizer does to the program for such arguments."""
        return self.compiled_for(*arguments, **named).report

    def compiled_for(self, *arguments: Any, **named: Any) -> Compiled:
        """The function for such arguments."""
        slots = self.procedure.parameters
        ordered = zip(slots, self._ordered(arguments, named), strict=True)
        return self._for(
            [each if isinstance(each, jax.Array) else self._from_numpy(slot, each) for slot, each in ordered]
        )

    @property
    def programs(self) -> int:
        """For how many shapes of arguments a program is kept."""
        return len(self._compiled)

    # -- arguments ----------------------------------------------------------------------------------------------------

    def _ordered(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        names = [slot.name for slot in self.procedure.parameters]
        given = dict(zip(names, arguments, strict=False))
        wrong = [name for name in named if name not in names or name in given]
        if wrong or len(arguments) > len(names) or len(given) + len(named) < len(names):
            missing = [name for name in names if name not in given and name not in named]
            what = (
                f"no parameter is called '{wrong[0]}'" if wrong and wrong[0] not in names
                else f"'{wrong[0]}' is given twice" if wrong
                else f"'{missing[0]}' is missing" if missing
                else f"it takes {len(names)} argument{'s'[: len(names) != 1]}, and got {len(arguments)}"
            )  # fmt: skip
            raise LaunchError(Diagnostic("WL1509", f"{self.name}({', '.join(names)}): {what}"))
        return tuple((given | dict(named))[name] for name in names)

    def _from_numpy(self, slot: Slot, argument: Any) -> Any:
        """The argument as an array of NumPy's.

        Raises LaunchError (WL1509).
        """
        dtype = NUMPY_DTYPES[slot.type]
        if isinstance(argument, np.ndarray) and not isinstance(argument, np.ma.MaskedArray):
            array = argument
        elif not slot.sizes and isinstance(argument, bool | int | float | np.generic):
            array = self._number(slot, argument, dtype)
        else:
            raise self._misfit(slot, f"is an array of {dtype}, got {type(argument).__name__}", "pass a NumPy array")
        self._check_array(slot, array.dtype, array.shape)
        return array

    def _number(self, slot: Slot, argument: Any, dtype: np.dtype) -> Any:
        kind = np.asarray(argument).dtype.kind
        if isinstance(argument, np.generic) or kind == "O" or "biuf".index(kind) > "biufV".index(dtype.kind):
            array = np.asarray(argument)
            if array.dtype == dtype or dtype.kind == "V":
                return array.astype(dtype)
            raise self._misfit(slot, f"is of type {SPELLED[slot.type]}, got {argument!r}")
        if dtype.kind in "iu" and not np.iinfo(dtype).min <= argument <= np.iinfo(dtype).max:
            raise self._misfit(slot, f"is of type {SPELLED[slot.type]}, which can't hold {argument}")
        return np.asarray(argument, dtype)

    def _check_array(self, slot: Slot, dtype: Any, shape: tuple[int, ...]) -> None:
        wanted = NUMPY_DTYPES[slot.type]
        if np.dtype(dtype) != wanted:
            help_ = f"convert it: {slot.name}.astype(numpy.{wanted})" if wanted.kind != "V" else None
            raise self._misfit(slot, f"is of type {SPELLED[slot.type]}, got an array of {dtype}", help_)
        rank = len(slot.sizes or ())
        if len(shape) != rank:
            axes = f"has {rank} {'axis' if rank == 1 else 'axes'}" if rank else "is a number"
            raise self._misfit(slot, f"{axes}, got an array of shape {tuple(shape)}")

    def _misfit(self, slot: Slot, what: str, help: str | None = None) -> LaunchError:
        return self.source.misfit("WL1509", slot.span, f"{self.name}: '{slot.name}' {what}", help)

    def _for(self, values: Sequence[Any]) -> Compiled:
        shapes = tuple(tuple(value.shape) for value in values)
        found = self._compiled.get(shapes)
        if found is None:
            with self._lock:
                found = self._compiled.get(shapes)
                if found is None:
                    found = Compiled(self.source, self.procedure, shapes)
                    self._compiled.keep(shapes, found)
        return found

    # -- look-ups -----------------------------------------------------------------------------------------------------

    def _refuse_outside(self, look_up: LookUp, least: int, most: int) -> None:
        if least < 0 or most >= look_up.size:
            check = self._check(look_up)
            raise check.as_error(least if least < 0 else most)

    def _check(self, look_up: LookUp) -> Check:
        said = self.source.diagnose("WL1510", look_up.part.span, "")
        shown = self.source.spelled(look_up.read.span)
        size = f"{look_up.size} element{'s'[: look_up.size != 1]}"
        return Check(
            f"{self.name}: {shown} looks for element {{index}} of an axis of {size}",
            said.position,
            "indices count from 0; choose where there may be none: condition ? tensor(index) : 0.0",
            "WL1510",
            said.length,
            ArrayIndexError,
            said.source,
        )

    # -- JAX ----------------------------------------------------------------------------------------------------------

    def _call_traced(self, arguments: Sequence[Any]) -> Any:
        """Inside `wl.jit`: a part of the program, which looks at look-ups as it runs."""
        values = self._jax_values(each.value if isinstance(each, Array) else each for each in arguments)
        compiled = self._for(values)
        tracing = current_tracing()
        if tracing is None:
            return _one_or_all([wrapped(each) for each in compiled.pure.bind(*values)])
        results, look_ups = compiled.split(compiled.part.bind(*values))
        for look_up, least, most in look_ups:
            check = self._check(look_up)
            tracing.require_never(least < 0, check, least)
            tracing.require_never(most >= look_up.size, check, most)
        return _one_or_all([wrapped(each, each.ndim > 0) for each in results])

    def _jax_function(self) -> Callable[..., Any]:
        def function(*arguments: Any, **named: Any) -> Any:
            given = self._ordered(arguments, named)
            if any(isinstance(each, Array) for each in given):
                return self._call_traced(given)
            values = self._jax_values(given)
            compiled = self._for(values)
            if any(isinstance(each, Tracer) for each in values):
                return _one_or_all(compiled.pure.bind(*values))
            return _one_or_all(compiled.pure.jitted()(*values))

        function.__name__ = function.__qualname__ = self.name
        function.__doc__ = f"{self!r} as a pure function of JAX values."
        return function

    def _jax_values(self, arguments: Any) -> list[Any]:
        """The arguments as JAX takes them.

        Raises LaunchError (WL0902) for what JAX would narrow.
        """
        values: list[Any] = []
        for slot, argument in zip(self.procedure.parameters, arguments, strict=True):
            given = argument
            if isinstance(argument, jax.Array):
                if argument.weak_type and not argument.shape:
                    given = argument.astype(NUMPY_DTYPES[slot.type])
            else:
                given = jnp.asarray(self._from_numpy(slot, argument))
            if given.dtype != NUMPY_DTYPES[slot.type] and not jax.config.read("jax_enable_x64"):
                self._refuse_narrow(slot, given)
            self._check_array(slot, given.dtype, given.shape)
            values.append(given)
        return values

    def _refuse_narrow(self, slot: Slot, value: Any) -> None:
        wanted = NUMPY_DTYPES[slot.type]
        if wanted.itemsize == 8 and value.dtype.kind == wanted.kind and value.dtype.itemsize == 4:
            raise LaunchError(
                Diagnostic(
                    "WL0902",
                    f"{self.name}: '{slot.name}' is of type {SPELLED[slot.type]}, and JAX holds no 64-bit arrays by "
                    "default",
                    help="enable them before making arrays: jax.config.update('jax_enable_x64', True)",
                )
            )


def _one_or_all(results: Sequence[Any]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)


def _function_of(text: str, name: str) -> NotationFunction:
    return NotationModule(text)[name]


def notation(text: str) -> NotationModule:
    """The functions that a text in index notation defines, by name, as functions of arrays.

    Indices that stand on the right only are reduced; how far indices run follows from the tensors that are read at
    them, or is given by `where`. The guide on notation has the whole language.

    Raises CompilationError (WL15xx), with the place in the text.

    >>> import numpy as np
    >>> module = notation('''
    ... def product(float(M, K) A, float(K, N) B) -> (C) {
    ...   C(i, j) +=! A(i, k) * B(k, j)
    ... }''')
    >>> module["product"](np.eye(2, dtype=np.float32), np.full((2, 3), 7, np.float32)).tolist()
    [[7.0, 7.0, 7.0], [7.0, 7.0, 7.0]]
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompilationError(Diagnostic("WL1501", f"the notation is a text, got {type(text).__name__}"))
    return NotationModule(text)


__all__ = ["NotationFunction", "NotationModule", "notation"]
