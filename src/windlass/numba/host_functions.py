"""`jit` and `njit`: functions of numbers and NumPy's arrays, captured as `wl.jit` captures them.

Numbers are typed as Numba types them (`frontends/arrays/strong_numbers.py`); what comes out are Python's numbers, as
Numba gives them. What can't be a part of a program Python runs, with NumPy's types. `prange` is `range`: rounds that
are independent run in parallel where that is seen to pay, whatever they are called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.arrays import Array
from windlass.frontends.arrays.tracing import current_tracing
from windlass.frontends.kernels.types import KernelArray, KernelNumber, NoneType, Signature, Tuple, adopted
from windlass.functions.jit import JitFunction
from windlass.native.pool import thread_count
from windlass.numba.types import read_signature, unicode_type

prange = range
pndindex = np.ndindex
OPTIONS = frozenset({
    "nopython", "nogil", "cache", "parallel", "fastmath", "boundscheck", "forceobj", "looplift", "error_model",
    "inline", "debug", "target", "no_cpython_wrapper", "no_cfunc_wrapper", "pipeline_class", "forceinline",
    "writable_args",
})  # fmt: skip
"""What Numba lets one say of how a function is compiled: what it means is the same with each of them."""


class StrongFunction(JitFunction):
    """A function with Numba's numbers."""

    has_strong_numbers = True


class HostFunction(StrongFunction):
    """A function that `njit` compiles: called as the function itself."""

    def __init__(
        self, function: Callable[..., Any], signatures: Sequence[Signature] = (), error_model: str = "python"
    ) -> None:
        super().__init__(function)
        self.stops_at_zero = error_model == "python"
        self.py_func = function
        self.nopython_signatures = list(signatures)

    def __repr__(self) -> str:
        return f"<njit {self.name}>"

    @property
    def signatures(self) -> list[tuple[Any, ...]]:
        """The types of arguments that the function was declared for."""
        return [each.arguments for each in self.nopython_signatures]

    def __call__(self, *positional: Any, **named: Any) -> Any:
        chosen = None
        if self.nopython_signatures:
            bound = self.signature.bind(*positional, **named)
            bound.apply_defaults()
            chosen, positional = choose(self.name, self.nopython_signatures, bound.args)
            named = {}
        if current_tracing() is None:
            positional = tuple(map(_with_fields, positional))
        found = super().__call__(*positional, **named)
        if chosen is not None:
            found = _converted(found, chosen.result)
        return found if current_tracing() is not None else as_python(found)

    def recompile(self) -> None:
        """What the function closes over is looked at in each call: there is nothing to do."""

    def disable_compile(self, val: bool = True) -> None:
        """Nothing: functions are compiled as they are called."""


def choose(name: str, signatures: Sequence[Signature], values: Sequence[Any]) -> tuple[Signature, tuple[Any, ...]]:
    """The first signature that takes such arguments, without loss if there is one, and the arguments in its types.

    Raises LaunchError (WL0401) where there is none.
    """
    for is_exact in (True, False):
        for signature in signatures:
            if len(signature.arguments) == len(values) and all(
                _takes(wanted, value, is_exact) for wanted, value in zip(signature.arguments, values, strict=True)
            ):
                return signature, tuple(map(_converted, values, signature.arguments))
    raise LaunchError(
        Diagnostic(
            "WL0401",
            f"{name}: no signature takes {', '.join(map(_told, values)) or 'no arguments'}",
            notes=tuple(f"signature: {signature}" for signature in signatures),
            help="convert the arguments, or leave the signatures out: then it is compiled for what it is called with",
        )
    )


def _with_fields(value: Any) -> Any:
    """An array of records, the fields of which are its attributes, too; anything else as it is."""
    if isinstance(value, np.ndarray) and value.dtype.names is not None and not isinstance(value, np.recarray):
        return value.view(np.recarray)
    return value


def _told(value: Any) -> str:
    if hasattr(value, "dtype"):
        return f"{value.dtype}[{', '.join(':' * value.ndim)}]" if value.ndim else str(value.dtype)
    return type(value).__name__


def _takes(wanted: Any, value: Any, is_exact: bool) -> bool:
    if isinstance(wanted, KernelArray):
        return (
            isinstance(value, np.ndarray | Array)
            and value.ndim == wanted.ndim
            and value.dtype == cast("Any", wanted.dtype).dtype
        )
    if isinstance(wanted, KernelNumber):
        if isinstance(value, bool | int | float | complex | np.generic) or getattr(value, "is_scalar", False):
            given = np.result_type(value) if hasattr(value, "dtype") else np.asarray(value).dtype
            return np.can_cast(given, wanted.dtype, "safe") if is_exact else np.can_cast(given, wanted.dtype, "unsafe")
        return False
    if isinstance(wanted, Tuple):
        parts = cast("Any", wanted).types
        return isinstance(value, tuple) and len(value) == len(parts) and all(
            _takes(part, each, is_exact) for part, each in zip(parts, value, strict=True)
        )  # fmt: skip
    if wanted is unicode_type:
        return isinstance(value, str)
    return isinstance(wanted, NoneType) and value is None


def _converted(value: Any, wanted: Any) -> Any:
    """A number in the type that a signature says; anything else as it is."""
    if isinstance(wanted, KernelNumber) and value is not None:
        return value.astype(wanted.dtype) if isinstance(value, Array) else wanted.dtype.type(value)
    if isinstance(wanted, Tuple) and isinstance(value, tuple):
        return tuple(map(_converted, value, cast("Any", wanted).types))
    return value


def as_python(value: Any) -> Any:
    """Python's numbers for NumPy's, as Numba gives them, in tuples and lists too.

    >>> as_python((np.float32(0.5), np.int64(3), np.ones(2)))
    (0.5, 3, array([1., 1.]))
    """
    if isinstance(value, np.generic):
        return value.item() if value.dtype.kind in "biufc" else value
    if isinstance(value, np.recarray):
        return value.view(np.ndarray)
    if isinstance(value, tuple):
        items = map(as_python, cast("tuple[Any, ...]", value))
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if type(value) is list:
        found = cast("list[Any]", value)
        found[:] = map(as_python, found)
    return cast("Any", value)


def jit(signature_or_function: Any = None, locals: Any = None, **options: Any) -> Any:
    """`numba.jit` and `numba.njit`: a decorator with or without arguments.

    Options that say how Numba is to compile are taken, and change nothing of what the function means. Raises
    LaunchError (WL0911) for options that there are not, and for types of names (`locals=`).

    >>> @jit(parallel=True)
    ... def total(x):
    ...     found = 0.0
    ...     for i in prange(x.size):
    ...         found += x[i]
    ...     return found
    >>> total(np.arange(4.0))
    6.0
    """
    unknown = sorted(set(options) - OPTIONS)
    if unknown or locals:
        what = f"options {', '.join(unknown)}" if unknown else "types of names (locals=)"
        raise LaunchError(
            Diagnostic(
                "WL0911",
                f"windlass.numba.jit takes no {what}",
                help="convert where a name is bound, as in total = numpy.float32(0)" if not unknown else None,
            )
        )
    given = signature_or_function
    model = options.get("error_model", "python")
    if inspect.isfunction(given) or isinstance(given, JitFunction):
        return HostFunction(getattr(given, "function", given), (), model)
    listed = given if isinstance(given, list) else [given]
    signatures = [found for found in map(read_signature, cast("list[Any]", listed)) if found is not None]
    if given is not None and not signatures and not callable(given) and adopted(given) is None:
        raise TypeError(f"a function or signatures are expected, got {given!r}")
    return lambda function: HostFunction(getattr(function, "function", function), signatures, model)


njit = jit


def get_num_threads() -> int:
    """How many threads run native code at most."""
    return thread_count()


def literally(value: Any) -> Any:
    """The value itself: what decides a shape or a branch of Python is compiled in anyway."""
    return value


literal_unroll = literally
"""Loops over tuples are unrolled anyway."""
