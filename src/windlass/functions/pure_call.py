"""A call of a user's function as a function of JAX values, which JAX differentiates.

It may be a function by `wl.jit` or a launch (`kernel[grid, block]`), which change the arrays that they take: then these
have values at the end, and no array of the user's is touched. It may be one that takes values as they are
(`kernel.jax(...)`, `wl.optimize`, `jax.jit`, what JAX or this room makes of functions). Any other is compiled as by
`wl.jit`, so that it may use NumPy and write into arrays.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from weakref import ref

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import Position
from windlass.frontends.arrays import Array as TracedArray
from windlass.frontends.arrays.explaining import position_of
from windlass.frontends.arrays.tracing import current_tracing
from windlass.functions.jit import JitFunction, Static
from windlass.functions.leaves import is_no_element
from windlass.functions.optimize import OptimizedFunction
from windlass.launching.jax_function import is_kernel_function
from windlass.launching.launch import Launch
from windlass.runtime.arguments import order_arguments
from windlass.runtime.placements import named_leaves
from windlass.stablehlo.program import TensorProgram

Key: TypeAlias = "int | str"
"""An argument: its position, or its name if it is given by name."""

_JAX = str(Path(jax.__file__).parent)


@dataclass
class PureCall:
    """The arguments of a call as JAX values, and the function of them.

    `apply(values)` gives the result, and what `raise_failed` takes. `places` says for each argument which of the values
    it is made of, and `trees` how. `derived` holds what was made for other calls with arguments of these types, if
    there can be any.
    """

    name: str
    values: list[Any]
    places: dict[Key, list[int]]
    trees: dict[Key, Any]
    apply: Callable[[Sequence[Any]], tuple[Any, Any]]
    derived: dict[Any, Any] | None
    raise_failed: Callable[[Any], None] = field(default=lambda _: None)
    signature: inspect.Signature | None = None
    position: Position | None = None
    is_wide: bool = True
    gives_numpy: bool = True
    optimized: OptimizedFunction | None = None
    """The function that it is made of, where that is optimized; not one that is computed with limbs."""
    program: TensorProgram | None = None
    """What it was compiled to; None for functions that take values, which are not compiled by themselves."""

    def find(self, key: Key) -> Key | None:
        """The key of an argument that is asked for by position or by the name of its parameter."""
        if key in self.places:
            return key
        if isinstance(key, int):
            return key + len(self.places) if key < 0 and key + len(self.places) in self.places else None
        names = [] if self.signature is None else list(self.signature.parameters)
        return names.index(key) if key in names and names.index(key) in self.places else None

    def with_arguments(self, values: Sequence[Any], keys: Sequence[Key], chosen: Sequence[Any]) -> tuple[Any, Any]:
        """`apply`, with other values for some of the arguments."""
        given = list(values)
        for key, tree in zip(keys, chosen, strict=True):
            for place, leaf in zip(self.places[key], jax.tree.leaves(tree), strict=True):
                given[place] = leaf
        return self.apply(given)

    def argument(self, key: Key) -> Any:
        """The argument, made of JAX values."""
        return jax.tree.unflatten(self.trees[key], [self.values[place] for place in self.places[key]])

    def named_arrays(self, positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """JAX's arrays among arguments of this call, by what the user calls them."""
        return named_leaves(positional, named, [] if self.signature is None else list(self.signature.parameters))

    def precision(self) -> AbstractContextManager[Any]:
        """The context in which JAX holds the values as they are."""
        return jax.enable_x64(True) if self.is_wide else nullcontext()


class TakesValues:
    """Base of functions, made of others, that take JAX values, tracers among them, as they are."""

    function: Any
    """The one that it is made of."""


def pure_call(function: Any, positional: Sequence[Any], named: Mapping[str, Any]) -> PureCall:
    """The call of a function with these arguments. NumPy arrays are taken as values: nothing writes to them."""
    if isinstance(function, Launch):
        positional, named = order_arguments(function.kernel.signature, positional, dict(named)), {}
    leaves = jax.tree.leaves((positional, named), is_leaf=_is_array)
    is_of_values = takes_values(function)
    is_wide = is_computed_wide(function, leaves)
    with jax.enable_x64(True) if is_wide else nullcontext():
        given: tuple[tuple[Any, ...], dict[str, Any]] = (tuple(positional), dict(named))
        given = jax.tree.map(_as_jax, given, is_leaf=_is_array)
        call = (_call_on_values if is_of_values else _call_of_jit)(function, *given)
    call.is_wide = is_wide
    call.gives_numpy = current_tracing() is None and not any(isinstance(leaf, jax.Array) for leaf in leaves)
    call.position = position_of(function)
    return call


_WIDE = frozenset({"float64", "complex128", "int64", "uint64"})


def name_of(function: Any) -> str:
    """What the user calls a function, or a launch."""
    if isinstance(function, Launch):
        return function.kernel.name
    return getattr(function, "__name__", None) or type(function).__name__


def takes_values(function: Any) -> bool:
    """Whether a function is for JAX values as they are, and traces none of its own."""
    if isinstance(function, OptimizedFunction | TakesValues) or is_kernel_function(function):
        return True
    code = getattr(function, "__code__", None)
    is_made_by_jax = code is not None and code.co_filename.startswith(_JAX)
    return is_made_by_jax or type(function).__module__.partition(".")[0] in ("jax", "jaxlib")


def compilable(function: Any) -> Any:
    """The function as one that `wl.jit` compiles: one that takes JAX values is given those of the traced arrays."""
    if not takes_values(function):
        return function
    kept = getattr(function, "__dict__", {})
    found = kept.get("_windlass_compilable")
    if found is not None and found[0]() is function:
        return found[1]

    def run(*positional: Any, **named: Any) -> Any:
        given = jax.tree.map(
            lambda each: each.value if _is_array(each) else each, (positional, named), is_leaf=_is_array
        )
        return function(*given[0], **given[1])

    run.__name__ = run.__qualname__ = name_of(function)
    if (signature := _signature(function)) is not None:
        vars(run)["__signature__"] = signature
    if kept:
        kept["_windlass_compilable"] = ref(function), run
    return run


def is_computed_wide(function: Any, leaves: Sequence[Any]) -> bool:
    """Whether a call with these arguments computes with the precision of NumPy: because it always does, or for them."""
    while isinstance(function, TakesValues):
        function = function.function
    return not takes_values(function) or any(
        isinstance(leaf, np.ndarray | np.generic) and leaf.dtype.name in _WIDE for leaf in leaves
    )


def _is_array(value: Any) -> bool:
    return isinstance(value, TracedArray)


def _as_jax(leaf: Any) -> Any:
    if isinstance(leaf, TracedArray):
        leaf = leaf.value
    if isinstance(leaf, np.ndarray | np.generic) and not (leaf.dtype.kind in "OSUMmV" or is_no_element(leaf.dtype)):
        # A copy: JAX may take the memory as it is, and the user's array may change while a pullback lives.
        return jnp.array(leaf)
    return leaf


def _call_of_jit(function: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> PureCall:
    jitted = compiled_function(function)
    positional, named = jitted.marked_static(positional, named)
    if jitted is not function:
        # Integers of a function that is not compiled by the user are Python's own: sizes, numbers of rounds.
        positional = static_integers(positional)
        named = dict(zip(named, static_integers(list(named.values())), strict=True))
    leaves, structure = jitted.flatten(positional, named)
    compiled = jitted.compiled(leaves, structure)

    def apply(values: Sequence[Any]) -> tuple[Any, Any]:
        result, written, failure = compiled.apply(values)
        if written and not jax.tree.leaves(result):
            last = list(written.values())
            return tuple(last) if len(last) > 1 else last[0], failure
        return result, failure

    places: dict[Key, list[int]] = {}
    trees: dict[Key, Any] = {}
    count = 0
    for key, argument in _in_order(positional, named):
        number = len(jitted.flatten((argument,), {})[0])
        places[key] = list(range(count, count + number))
        trees[key] = jax.tree.structure(argument)
        count += number
    return PureCall(
        name_of(function),
        compiled.inputs(leaves),
        places,
        trees,
        apply,
        compiled.derived,
        compiled.raise_failed,
        None if isinstance(function, Launch) else jitted.signature,
        program=compiled.program,
    )


def static_integers(values: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments, Python's integers among them to be compiled in."""
    return tuple(Static.of(value) if isinstance(value, int) else value for value in values)


def _in_order(positional: Sequence[Any], named: Mapping[str, Any]) -> list[tuple[Key, Any]]:
    """The arguments in the order in which JAX flattens them."""
    return [*enumerate(positional), *sorted(named.items())]


def compiled_function(function: Any) -> JitFunction:
    """The function as by `wl.jit`; made once for each function."""
    if isinstance(function, JitFunction):
        return function
    kept = getattr(function, "__dict__", {})
    found = kept.get("_windlass_jit")
    # A function that wraps another may have taken over what that one holds.
    if found is not None and found.function is function:
        return found
    if isinstance(function, Launch):
        return _compiled_launch(function)
    made = JitFunction(function)
    if inspect.isfunction(function):
        kept["_windlass_jit"] = made
    return made


def _compiled_launch(launch: Launch) -> JitFunction:
    found = launch.kernel.compiled_launches.get(launch.shape)
    if found is None:

        def run(*arguments: Any) -> None:
            launch(*arguments)

        run.__name__ = run.__qualname__ = launch.kernel.name
        found = launch.kernel.compiled_launches[launch.shape] = JitFunction(run)
    return found


def _call_on_values(function: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> PureCall:
    leaves, structure = jax.tree.flatten((positional, named))
    is_value = [isinstance(leaf, jax.Array | np.generic | float | complex) for leaf in leaves]
    values = [leaf for leaf, flag in zip(leaves, is_value, strict=True) if flag]
    others = tuple(leaf for leaf, flag in zip(leaves, is_value, strict=True) if not flag)

    def apply(given: Sequence[Any]) -> tuple[Any, Any]:
        rest, fixed = iter(given), iter(others)
        positional, named = jax.tree.unflatten(structure, [next(rest if flag else fixed) for flag in is_value])
        return function(*positional, **named), 0

    places: dict[Key, list[int]] = {}
    trees: dict[Key, Any] = {}
    number, count = 0, 0
    for key, argument in _in_order(positional, named):
        own = jax.tree.leaves(argument)
        flags = is_value[number : number + len(own)]
        # An argument of which a part is no value is none as a whole: there is nothing to be made of its values alone.
        places[key] = list(range(count, count + sum(flags))) if all(flags) else []
        trees[key] = jax.tree.structure(argument)
        number, count = number + len(own), count + sum(flags)
    return PureCall(
        name_of(function),
        values,
        places,
        trees,
        apply,
        _kept_for(function, structure, is_value, others),
        signature=_signature(function),
        optimized=_optimized_in(function),
    )


def _optimized_in(function: Any) -> OptimizedFunction | None:
    while isinstance(function, TakesValues):
        function = function.function
    is_found = isinstance(function, OptimizedFunction) and function.choices.precision is None
    return function if is_found else None


def _kept_for(
    function: Any, structure: Any, is_value: Sequence[bool], others: tuple[Any, ...]
) -> dict[Any, Any] | None:
    """What is kept for calls of a function with arguments like these; None where nothing can be."""
    kept = getattr(function, "__dict__", None)
    if kept is None:
        return None
    key = (structure, tuple(is_value), tuple((type(each), each) for each in others))
    try:
        owner, found = kept.setdefault("_windlass_derived", (ref(function), {}))
        return found.setdefault(key, {}) if owner() is function else None
    except TypeError:  # what is compiled in is not hashable, or the function can't be held weakly
        return None


def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None
