"""Calls that a captured function makes: what can't be known while it is compiled is refused where it is written, and
arrays that NumPy makes can be written with traced values afterwards.
"""

from __future__ import annotations

import datetime
import operator
import os
import random
import secrets
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.array import Array, as_python_number, wrapped
from windlass.frontends.arrays.effects import refuse_effects
from windlass.frontends.arrays.indexing import as_one_array
from windlass.frontends.arrays.jax_calls import given_values, is_of_jax, is_of_trees, refuse_unknown_lengths
from windlass.frontends.arrays.lists import OF_ARRAYS, first_parameter, holds_arrays
from windlass.frontends.arrays.python_numbers import asked_of_class, number_of
from windlass.frontends.arrays.span_making import of_shape
from windlass.frontends.arrays.states import NotCapturable, is_traced, plain
from windlass.frontends.arrays.tracing import Check, Tracing, current_tracing, note_needed, position_now
from windlass.frontends.arrays.unknown_lengths import UnknownLength
from windlass.frontends.arrays.values import unsupported
from windlass.frontends.arrays.view_functions import strided_view
from windlass.frontends.arrays.views import known_order, lies_in

GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
MAKERS_OF_GENERATORS = (
    np.random.default_rng, np.random.RandomState, np.random.SeedSequence, random.Random,
    np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64,
)  # fmt: skip
DIFFERENT_EACH_TIME = (
    time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic, time.monotonic_ns,
    time.process_time, time.process_time_ns, time.thread_time, time.localtime, time.gmtime, os.urandom, uuid.uuid1,
    uuid.uuid4, secrets.token_bytes, secrets.token_hex, secrets.token_urlsafe, secrets.randbelow, secrets.choice,
    secrets.randbits, np.random.seed, np.random.set_state, input,
)  # fmt: skip
MAKING: tuple[Any, ...] = (
    np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.asarray_chkfinite, np.require,
    np.copy,
)  # fmt: skip
TAKING_ELEMENTS: dict[Any, str] = {
    np.nditer: "write a loop over indices, for i in range(n), or use whole arrays",
    np.nested_iters: "write loops over indices, for i in range(n)",
    np.broadcast: "numpy.broadcast_shapes(a.shape, b.shape) gives the shape, numpy.broadcast_arrays(a, b) the arrays",
    np.vectorize: "call the function on whole arrays, or on elements in a loop",
    np.matrix: "use an array: a @ b is the product of matrices",
    np.asmatrix: "use an array: a @ b is the product of matrices",
    np.bmat: "use numpy.block",
}
"""What looks at elements one by one, or makes arrays of another class; and what to write instead."""
OF_SHAPES: tuple[Any, ...] = (
    np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.arange, np.tri, np.indices, np.linspace,
)  # fmt: skip


def call_foreign(
    tracing: Tracing, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """What a function gives that is not the user's own, while another is compiled."""
    if _draws(function):
        made = getattr(function, "__self__", None)
        if not any(made is each for each in tracing.seeded):
            raise _different(_name_of(function))
        if tracing.is_within_branch():
            raise NotCapturable("random numbers are drawn within it")
    if any(function is each for each in MAKERS_OF_GENERATORS):
        generator = function(*arguments, **named)
        if all(each is None for each in (*arguments, *named.values())):
            raise _different(f"{_name_of(function)} without a seed")
        tracing.seeded.append(generator)
        return generator
    if function is np.random.Generator:
        generator = function(*arguments, **named)
        if any(arguments[0] is each for each in tracing.seeded):
            tracing.seeded.append(generator)
        return generator
    refuse_effects(tracing, function)
    found = asked_of_class(function, arguments)
    if found is not NotImplemented:
        return found
    found = number_of(function, arguments, named)
    if found is not NotImplemented:
        return found
    found = _made(function, arguments, named)
    if found is not NotImplemented:
        return found
    if isinstance(function, np.vectorize) and any(map(is_traced, arguments)):
        raise WindlassError(
            Diagnostic(
                "WL0909",
                "numpy.vectorize is not supported inside wl.jit",
                help="call the function on whole arrays, with numpy.where for its conditions, or use jax.vmap",
            )
        )
    if function is len and len(arguments) == 1 and isinstance(arguments[0], UnknownLength) and arguments[0].ndim:
        length = arguments[0].shape[0]
        return length if isinstance(length, int) else as_python_number(length.value)
    if arguments and holds_arrays(arguments[0]) and _takes_one_array(function):
        joined = as_one_array(arguments[0])
        arguments = (joined if isinstance(joined, Array) else Array(joined), *arguments[1:])
    if function is np.lib.stride_tricks.as_strided and isinstance(arguments[0], Array):
        return strided_view(*arguments, **named)
    if function is np.ndenumerate and isinstance(arguments[0], Array):
        array = arguments[0]
        return ((index, array[index]) for index in np.ndindex(array.shape))
    if is_of_jax(function):
        refuse_unknown_lengths((arguments, named))
        return function(*given_values(arguments), **given_values(named))
    if is_of_trees(function):
        refuse_unknown_lengths((arguments, named))
    _refuse_elements(function, arguments)
    return _fresh(function, function(*arguments, **named), arguments)


def _name_of(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    home = getattr(function, "__module__", None) or (type(owner).__module__ if owner is not None else "")
    if isinstance(owner, type):
        return f"{owner.__name__}.{function.__name__}"
    if isinstance(owner, np.random.RandomState):
        home = "numpy.random"
    elif isinstance(owner, np.random.Generator):
        home = "numpy.random.Generator"
    elif isinstance(owner, random.Random):
        home = "random"
    return f"{home}.{function.__name__}" if home and home != "builtins" else str(function.__name__)


def _draws(function: Any) -> bool:
    """Whether the call gives something else each time, or changes what later draws give."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, GENERATORS):
        return function.__name__ not in ("get_state", "getstate", "bit_generator")
    if isinstance(owner, type) and issubclass(owner, datetime.date):
        return function.__name__ in ("now", "utcnow", "today")
    return any(function is each for each in DIFFERENT_EACH_TIME)


def _different(name: str) -> WindlassError:
    is_clock = name.startswith(("time.", "datetime", "date."))
    what = "the time is read" if is_clock else "random numbers are drawn" if name != "input" else "input is read"
    return WindlassError(
        Diagnostic(
            "WL0914",
            f"{what} while the function is compiled ({name}): each call would get what this one gets",
            help="time the call from outside"
            if is_clock
            else "draw outside and pass the numbers as an argument, or use jax.random with a key that is an argument",
        )
    )


# -- arrays that NumPy makes ------------------------------------------------------------------------------------------


def _made(function: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """What NumPy's functions that make arrays give where something traced is among their arguments."""
    leaves = jax.tree.leaves((tuple(arguments), dict(named)), is_leaf=lambda each: isinstance(each, Array))
    if not any(isinstance(each, Array | jax.Array) for each in leaves):
        return NotImplemented
    if function is np.full and len(arguments) + len(named) >= 2 and is_traced(_second(arguments, named)):
        shape = arguments[0] if arguments else named["shape"]
        value = _second(arguments, named)
        dtype = arguments[2] if len(arguments) > 2 else named.get("dtype")
        array = Array(jnp.asarray(value.value if isinstance(value, Array) else value))
        wanted = array.dtype if dtype is None else np.dtype(dtype)
        return Array(jnp.broadcast_to(array.astype(wanted).value, _known_shape(function, shape)))
    if any(function is each for each in (np.zeros, np.ones, np.empty, np.full, np.arange)):
        found = of_shape(function, arguments, dict(named))
        if found is not NotImplemented:
            return found
    if any(function is each for each in OF_SHAPES) and function is not np.linspace:
        plain = [_known(function, each) for each in arguments]
        return wrapped(function(*plain, **{key: _known(function, each) for key, each in named.items()}), True)
    if any(function is each for each in MAKING) and arguments:
        source, *rest = arguments
        if isinstance(source, jax.Array):
            source = Array(source)
        if isinstance(source, list | tuple):
            found = as_one_array(source)
            source = found if isinstance(found, Array) else wrapped(found, True)
            if not isinstance(source, Array):
                return NotImplemented
        if isinstance(source, Array):
            return AS_ARRAYS[function](source, *rest, **named)
    return NotImplemented


def _as_array(
    a: Array,
    dtype: Any = None,
    order: Any = "K",
    *,
    copy: bool | None = None,
    ndmin: int = 0,
    device: Any = None,
    subok: bool = False,
    like: Any = None,
) -> Array:
    """`numpy.asarray`, and `numpy.array` with another default of `copy`: the array itself where that will do."""
    wanted, letter = a.dtype if dtype is None else np.dtype(dtype), known_order(order)
    is_needed = a.is_scalar or wanted != a.dtype or not lies_in(a.shadow, letter)
    if is_needed and copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    found = Array(a.value) if a.is_scalar else a
    if is_needed or copy:
        found = found.astype(wanted, letter)
    return found if found.ndim >= ndmin else found.reshape((1,) * (ndmin - found.ndim) + found.shape)


def _as_new_array(object: Array, dtype: Any = None, *, copy: bool | None = True, **options: Any) -> Array:
    return _as_array(object, dtype, options.pop("order", "K"), copy=copy, **options)


def _as_finite_array(a: Array, dtype: Any = None, order: Any = "K") -> Array:
    """`numpy.asarray_chkfinite`: the program looks at the elements as it runs."""
    found = _as_array(a, dtype, order)
    tracing = current_tracing()
    if tracing is not None and found.dtype.kind in "fc":
        position, length = position_now()
        check = Check("array must not contain infs or NaNs", position, code="WL0916", length=length)
        tracing.require_never(~jnp.isfinite(found.value).all(), check)
    return found


def _as_required(a: Array, dtype: Any = None, requirements: Any = None, **options: Any) -> Array:
    """`numpy.require`: a copy where the array is not as it has to be."""
    wanted = {str(each).upper()[:1] for each in requirements or ()}
    if {"C", "F"} <= wanted:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = "F" if "F" in wanted else "C" if "C" in wanted else "A"
    found = _as_array(a, dtype, order)
    is_lacking = ("O" in wanted and not found.flags.owndata) or ("W" in wanted and not found.flags.writeable)
    return found.copy(order) if is_lacking else found


AS_ARRAYS: dict[Any, Callable[..., Array]] = {
    np.array: _as_new_array,
    np.asarray: _as_array,
    np.asanyarray: _as_array,
    np.ascontiguousarray: lambda a, dtype=None, **options: _as_array(a, dtype, "C", ndmin=1),
    np.asfortranarray: lambda a, dtype=None, **options: _as_array(a, dtype, "F", ndmin=1),
    np.asarray_chkfinite: _as_finite_array,
    np.require: _as_required,
    np.copy: lambda a, order="K", subok=False: _as_array(a, None, order, copy=True),
}
"""What NumPy's functions that give their argument as an array give of one that there is."""


def _second(arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    return arguments[1] if len(arguments) > 1 else named.get("fill_value")


def _known_shape(function: Any, shape: Any) -> Any:
    items = cast("Sequence[Any]", shape) if isinstance(shape, list | tuple) else [shape]
    return tuple(operator.index(_known(function, each)) for each in items)


def _known(function: Any, value: Any) -> Any:
    """The argument as NumPy takes it.

    Raises WindlassError (WL0904) where it is traced.
    """
    if isinstance(value, list | tuple):
        return type(value)(_known(function, each) for each in value)  # pyright: ignore[reportUnknownVariableType]
    if is_traced(value):
        note_needed(plain(value))
        raise WindlassError(
            Diagnostic(
                "WL0904",
                f"the shape of what numpy.{function.__name__} makes is not known while the function is compiled",
                notes=("arrays inside wl.jit have shapes that are numbers",),
                help="compile the size in, with @windlass.jit(static=...), or take it from an array: a.shape[0]",
            )
        )
    return value.value if isinstance(value, Array) else value


def _fresh(function: Any, result: Any, arguments: Sequence[Any]) -> Any:
    """An array that NumPy has just made, so that traced values can be written to it."""
    if type(result) is not np.ndarray or result.dtype.kind not in "biufc" or not result.flags.owndata:
        return result
    home = getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__module__
    is_numpys = isinstance(function, np.ufunc) or (isinstance(home, str) and home.split(".")[0] == "numpy")
    is_numpys = is_numpys or isinstance(getattr(function, "__self__", None), np.ndarray)
    return Array(result) if is_numpys and not any(result is each for each in arguments) else result


def _refuse_elements(function: Any, arguments: Sequence[Any]) -> None:
    """Raises WindlassError (WL0909) where NumPy would look at traced elements one by one."""
    known: Any = np.vectorize if isinstance(function, np.vectorize) else function
    help_ = next((text for each, text in TAKING_ELEMENTS.items() if known is each), None)
    leaves = jax.tree.leaves(tuple(arguments), is_leaf=lambda each: isinstance(each, Array))
    if help_ is not None and any(is_traced(each) for each in leaves):
        raise unsupported(f"numpy.{known.__name__} of an array", help_)


def _takes_one_array(function: Any) -> bool:
    """Whether NumPy makes one array of a list that is the first argument."""
    if isinstance(function, np.ufunc):
        return True
    home = getattr(function, "__module__", None)
    if home not in ("numpy", "numpy.linalg", "numpy.fft") or isinstance(function, type):
        return False
    return first_parameter(function) not in OF_ARRAYS
