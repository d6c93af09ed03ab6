"""`wl.grad` and its kin: derivatives of kernels and functions, with NumPy arrays in and out.

They mean what JAX's functions of these names mean. What they are given may be a function by `wl.jit`, one of
`kernel.jax(...)`, a launch (`kernel[grid, block]`), one by `wl.optimize`, a plain function of NumPy or `jax.numpy`, or
a derivative again. Arrays are values to them: those that a function writes are not changed, and what it writes last is
its result where it returns nothing. NumPy arrays come out where no JAX arrays went in, in their own precision.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.autodiff import Binomial, Periodic, Plan
from windlass.autodiff.planning import asked_for
from windlass.autodiff.requests import plan_for
from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays import Array as TracedArray
from windlass.frontends.arrays.array import wrapped
from windlass.frontends.arrays.explaining import position_of
from windlass.frontends.arrays.running import is_array
from windlass.frontends.arrays.tracing import current_tracing
from windlass.functions.derivative_checks import (
    chosen_keys,
    described,
    expect_function,
    expect_tangents,
    find_key,
    fitted,
    is_number,
    is_of_floats,
    refuse_holomorphic,
    refuse_nothing,
    refused,
    refusing_calls,
    require_floats,
    without_aux,
)
from windlass.functions.optimize import optimized_with
from windlass.functions.pure_call import Key, PureCall, TakesValues, compilable, name_of, pure_call
from windlass.functions.sparse_jacobians import (
    Colouring,
    compressed_jacobian,
    dense_jacobian,
    find_colouring,
    sparse_jacobian,
    sparse_parts,
)
from windlass.runtime.placements import as_misplaced

Numbers: TypeAlias = "int | Sequence[int]"
Names: TypeAlias = "str | Sequence[str] | None"
Places: TypeAlias = "int | tuple[int, ...]"
Mode: TypeAlias = Literal["forward", "reverse"]


class DerivativeFunction(TakesValues, ABC):
    """A function that gives derivatives of another one, by some of its arguments."""

    def __init__(self, function: Any, argnums: Numbers | None, argnames: Names, has_aux: bool, kind: str) -> None:
        expect_function(function, kind)
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.kind = kind
        self.has_aux = has_aux
        if argnums is None and argnames is None:
            argnums = 0
        # As in JAX: one number gives the derivative itself, several a tuple of them.
        self.is_single = is_number(argnums) and argnames is None
        self.keys = chosen_keys(argnums, argnames, kind)

    plan = Plan()
    """How much of loops is kept for the way back."""

    def __repr__(self) -> str:
        return f"<windlass.{self.kind} of {name_of(self.function)}>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *positional: Any, **named: Any) -> Any:
        call = pure_call(self.function, positional, named)
        keys = self._keys(call)
        places = 0 if self.is_single else tuple(range(len(keys)))
        try:
            found, aux = self._run(
                call, keys, self.kind, lambda function, chosen: self._transformed(function, places, chosen)
            )
        except (ValueError, RuntimeError) as error:
            told = as_misplaced(error, f"wl.{self.kind} of {call.name}", call.named_arrays(positional, named))
            if told is error:
                raise
            raise told from None
        return self._give(call, found, aux)

    def _keys(self, call: PureCall) -> list[Key]:
        """The arguments by which it is taken. Raises WindlassError (WL0931) for those that have no derivative."""
        keys = [find_key(call, key, self.kind) for key in self.keys]
        for place, key in enumerate(keys):
            require_floats(call, key, self.kind)
            if key in keys[:place]:
                raise refused(f"wl.{self.kind}: argument {key} of {call.name} is chosen twice", call, "name it once")
        return keys

    def _run(self, call: PureCall, keys: Sequence[Key], kind: Any, transform: Callable[..., Any]) -> tuple[Any, Any]:
        """What a transformation of this kind finds for the function, and what the function gives beside."""
        origin = replace(call, values=[])

        def run(values: Sequence[Any], chosen: Sequence[Any]) -> Any:
            def function(*chosen: Any) -> Any:
                result, failure = origin.with_arguments(values, keys, chosen)
                result, aux = without_aux(origin, result, self.has_aux)
                return self._result(origin, result), (aux, failure)

            with asked_for(self.plan):
                return transform(function, chosen)

        with call.precision(), refusing_calls(call):
            found, (aux, failure) = _kept(call, (kind, tuple(keys), self.has_aux, self.plan), lambda: run)(
                call.values, [call.argument(key) for key in keys]
            )
        call.raise_failed(failure)
        return found, aux

    def _result(self, call: PureCall, result: Any) -> Any:
        """What is differentiated. Raises WindlassError (WL0931) where it has no such derivative."""
        refuse_nothing(call, result, self.kind)
        return result

    def _transform(self, function: Callable[..., Any], chosen: Sequence[Any]) -> Any:
        return self._transformed(function, 0 if self.is_single else tuple(range(len(chosen))), chosen)

    @abstractmethod
    def _transformed(self, function: Callable[..., Any], places: Places, chosen: Sequence[Any]) -> Any:
        """What JAX finds for the function, which gives its result and what it gives beside."""

    def _give(self, call: PureCall, found: Any, aux: Any) -> Any:
        derivative = _given(call, found)
        return (derivative, _given(call, aux)) if self.has_aux else derivative


class Gradient(DerivativeFunction):
    """The gradient, with the value or without."""

    def __init__(
        self,
        function: Any,
        argnums: Numbers | None,
        argnames: Names,
        has_aux: bool,
        has_value: bool,
        plan: Plan | None = None,
    ) -> None:
        super().__init__(function, argnums, argnames, has_aux, "value_and_grad" if has_value else "grad")
        self.has_value = has_value
        self.plan = plan or Plan()

    def _result(self, call: PureCall, result: Any) -> Any:
        refuse_nothing(call, result, self.kind)
        leaves = jax.tree.leaves(result)
        if (
            len(leaves) != 1
            or jnp.shape(leaves[0]) != ()
            or not jnp.issubdtype(jnp.result_type(leaves[0]), np.floating)
        ):
            raise refused(
                f"{call.name} gives {described(result)}: a gradient is that of one real number",
                call,
                "return a number, such as a sum; wl.jacobian and wl.vjp take functions with other results",
            )
        return leaves[0]

    def _transformed(self, function: Callable[..., Any], places: Places, chosen: Sequence[Any]) -> Any:
        (value, beside), gradients = jax.value_and_grad(function, places, has_aux=True)(*chosen)
        return (value if self.has_value else (), gradients), beside

    def _give(self, call: PureCall, found: Any, aux: Any) -> Any:
        value, gradients = found
        gradient = _given(call, gradients)
        if not self.has_value:
            return (gradient, _given(call, aux)) if self.has_aux else gradient
        value = _given(call, value)
        return ((value, _given(call, aux)), gradient) if self.has_aux else (value, gradient)


class Jacobian(DerivativeFunction):
    """All derivatives of the elements of the results by the elements of the arguments."""

    def __init__(
        self,
        function: Any,
        argnums: Numbers | None,
        argnames: Names,
        has_aux: bool,
        mode: Mode | None,
        sparse: bool = False,
        kind: str = "jacobian",
    ) -> None:
        super().__init__(function, argnums, argnames, has_aux, kind)
        if mode not in (None, "forward", "reverse"):
            raise WindlassError(
                Diagnostic("WL0931", f"wl.jacobian: there is no mode {mode!r}", help="it is 'forward' or 'reverse'")
            )
        self.mode: Mode | None = mode
        self.sparse = sparse

    @property
    def first(self) -> Any:
        """The function whose tangents these derivatives are."""
        return self.function

    def colouring(self, *positional: Any, **named: Any) -> Colouring | None:
        """How it is computed for these arguments; None where rows or columns are computed one by one.

        >>> import numpy as np
        >>> print(jacobian(lambda x: x[1:] - x[:-1]).colouring(np.arange(100.0)))
        99 x 100 with 198 entries: its columns have 2 colours, so 2 derivatives in forward mode give all
        """
        function = compilable(self.first)
        try:
            call = pure_call(function, positional, named)
        except Exception:
            # What JAX traces need not be a function that `wl.jit` compiles.
            if function is self.first:
                raise
            return None
        return find_colouring(call, self._keys(call), self.mode, self.has_aux)

    def __call__(self, *positional: Any, **named: Any) -> Any:
        given = jax.tree.leaves((positional, named), is_leaf=is_array)
        if self.sparse and any(isinstance(leaf, Tracer | TracedArray) for leaf in given):
            raise WindlassError(
                Diagnostic(
                    "WL0931",
                    f"wl.{self.kind}: a sparse matrix of SciPy is made of numbers, and these are being traced",
                    position_of(self.function),
                    help="leave out sparse=True within compiled functions",
                )
            )
        colouring = self.colouring(*positional, **named)
        if colouring is None and not self.sparse:
            return super().__call__(*positional, **named)
        call = pure_call(self.first if colouring is not None else self.function, positional, named)
        keys = self._keys(call)
        chosen = call.argument(keys[0]) if self.is_single else tuple(call.argument(key) for key in keys)
        if colouring is None:
            dense, aux = self._run(call, keys, self.kind, self._transform)
            found = sparse_parts(dense, chosen)
        else:

            def transform(function: Callable[..., Any], given: Sequence[Any]) -> Any:
                compressed, result, beside = compressed_jacobian(colouring, function, given)
                if self.sparse:
                    return (compressed, result), beside
                return dense_jacobian(colouring, compressed, result, chosen), beside

            found, aux = self._run(call, keys, (self.kind, colouring, self.sparse), transform)
            if self.sparse:
                compressed, result = found
                found = sparse_jacobian(colouring, compressed, result, chosen)
        return self._give(call, found, aux)

    def _result(self, call: PureCall, result: Any) -> Any:
        refuse_nothing(call, result, self.kind)
        for leaf in jax.tree.leaves(result):
            if not jnp.issubdtype(jnp.result_type(leaf), np.inexact):
                raise refused(
                    f"wl.{self.kind}: {call.name} gives {jnp.result_type(leaf).name}, which has no derivative",
                    call,
                    "return it beside what is differentiated, with has_aux=True",
                )
        return result

    def _transformed(self, function: Callable[..., Any], places: Places, chosen: Sequence[Any]) -> Any:
        mode = self.mode
        if mode is None:
            given = _size(chosen)
            result, _ = jax.eval_shape(function, *chosen)
            mode = "forward" if given <= _size(result) else "reverse"
        transform = jax.jacfwd if mode == "forward" else jax.jacrev
        return transform(function, places, has_aux=True)(*chosen)


class Hessian(Jacobian):
    """The second derivatives."""

    def __init__(
        self, function: Any, argnums: Numbers | None, argnames: Names, has_aux: bool, sparse: bool = False
    ) -> None:
        super().__init__(function, argnums, argnames, has_aux, "forward", sparse, "hessian")
        self.gradient = Gradient(function, argnums, argnames, has_aux, False)

    @property
    def first(self) -> Any:
        return self.gradient

    def colouring(self, *positional: Any, **named: Any) -> Colouring | None:
        """As that of `jacobian`, of the gradient's derivatives; None, too, where the function gives no number."""
        try:
            return super().colouring(*positional, **named)
        except WindlassError as error:
            if error.diagnostics[0].code != "WL0931":
                raise
            return None

    def _transformed(self, function: Callable[..., Any], places: Places, chosen: Sequence[Any]) -> Any:
        return jax.jacfwd(jax.jacrev(function, places, has_aux=True), places, has_aux=True)(*chosen)


def grad(
    function: Any,
    argnums: Numbers | None = None,
    argnames: Names = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    checkpoint: Periodic | Binomial | None = None,
    memory: int | str | None = None,
) -> Gradient:
    """A function that gives the gradient of one that returns a number, in reverse mode.

    It is taken by the argument number 0, or by those of these numbers and names; for several it is a tuple. A gradient
    has the shape and the dtype of its argument, which may be an array or a number of floats, or a pytree of them. With
    `has_aux` the function returns the number and something else, and the gradient comes with that: `(gradient, aux)`.
    NumPy arrays are given back as such. Arguments are values here: arrays that the function writes are not changed.

    A function that is not compiled by `wl.jit` yet is compiled as by it: what it takes from outside is read once.
    Integers among its arguments are compiled in.

    Of loops, what is needed on the way back is kept for each round, if that is not more than 1 GiB. `memory` (bytes, or
    such as "2GiB") is a budget for what the loops of a compiled function or a launch keep and work with, beside its
    arguments and results: they keep as much as there is room for, and compute the rest again. `checkpoint` says how, in
    the outermost loops: `wl.Periodic(n)` keeps the state of each n-th round, `wl.Binomial(k)` k states at a time.

    Raises WindlassError: WL0931 where the function or the argument has no gradient, WL0901 where an operation has none,
    WL0934 where `memory` is too little.

    >>> import numpy as np
    >>> def energy(x, c):
    ...     return (c * np.sin(x) ** 2).sum()
    >>> grad(energy)(np.array([0.0, np.pi / 4]), 3.0).round(6).tolist()
    [0.0, 3.0]
    >>> by_x, by_c = grad(energy, (0, 1))(np.array([0.0, np.pi / 2]), 3.0)
    >>> float(by_c)
    1.0
    """
    refuse_holomorphic(function, holomorphic, "grad")
    return Gradient(function, argnums, argnames, has_aux, False, plan_for("wl.grad", checkpoint, memory))


def value_and_grad(
    function: Any,
    argnums: Numbers | None = None,
    argnames: Names = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    checkpoint: Periodic | Binomial | None = None,
    memory: int | str | None = None,
) -> Gradient:
    """As `grad`, with the number that the function returns: `(value, gradient)`, `((value, aux), gradient)`.

    >>> import numpy as np
    >>> value, gradient = value_and_grad(lambda x: (x * x).sum())(np.array([1.0, 2.0]))
    >>> float(value), gradient.tolist()
    (5.0, [2.0, 4.0])
    """
    refuse_holomorphic(function, holomorphic, "value_and_grad")
    return Gradient(function, argnums, argnames, has_aux, True, plan_for("wl.value_and_grad", checkpoint, memory))


def jacobian(
    function: Any,
    argnums: Numbers | None = None,
    argnames: Names = None,
    *,
    mode: Mode | None = None,
    sparse: bool = False,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Jacobian:
    """A function that gives the derivatives of all elements of a result by all elements of an argument.

    For a result of shape s and an argument of shape t it has the shape (*s, *t). Results and arguments may be pytrees,
    as in JAX. In `mode` "forward" a column is computed for each element of the arguments, in "reverse" a row for each
    of the results; by default what is less. Where most entries are zero whatever the floats are, columns or rows that
    have none at the same place are computed together: `jacobian(f).colouring(*args)` says how many colours they have.
    With `sparse` each matrix is a `scipy.sparse.csr_array`, of as many rows and columns as the result and the argument
    have elements.

    A function that returns nothing has as its result the last contents of the arrays that it writes: a single one, or a
    tuple in the order of the parameters.

    >>> import numpy as np
    >>> def step(u):
    ...     u[1:-1] = (u[:-2] + u[2:]) / 2
    >>> jacobian(step)(np.array([1.0, 2.0, 4.0])).tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]
    """
    refuse_holomorphic(function, holomorphic, "jacobian")
    return Jacobian(function, argnums, argnames, has_aux, mode, sparse)


def hessian(
    function: Any,
    argnums: Numbers | None = None,
    argnames: Names = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    sparse: bool = False,
) -> Hessian:
    """A function that gives the second derivatives, in forward mode over reverse mode.

    See `jacobian` for its shape, for `sparse`, and for how entries that are always zero save work.

    >>> import numpy as np
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0])).tolist()
    [[10.0, 6.0], [6.0, 0.0]]
    """
    refuse_holomorphic(function, holomorphic, "hessian")
    return Hessian(function, argnums, argnames, has_aux, sparse)


def jvp(function: Any, primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False) -> Any:
    """The result of a function and what it changes by, as its arguments change by the tangents: forward mode.

    There is a tangent for each argument, of its shape; None stands for zero, and is what others than floats have. Gives
    `(result, tangent)`, or `(result, tangent, aux)`. For functions that return nothing see `jacobian`.

    >>> import numpy as np
    >>> value, change = jvp(lambda x: (x * x).sum(), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    >>> float(value), float(change)
    (5.0, 2.0)
    """
    expect_function(function, "jvp")
    expect_tangents(function, primals, tangents, "jvp")
    call = pure_call(function, primals, {})
    keys = [key for key, tangent in enumerate(tangents) if tangent is not None]
    for key in keys:
        require_floats(call, key, "jvp")
    origin = replace(call, values=[])

    def run(values: Sequence[Any], chosen: Sequence[Any], given: Sequence[Any]) -> Any:
        def moved(*chosen: Any) -> Any:
            result, failure = origin.with_arguments(values, keys, chosen)
            refuse_nothing(origin, result, "jvp")
            result, aux = without_aux(origin, result, has_aux)
            return result, (aux, failure)

        return jax.jvp(moved, tuple(chosen), tuple(given), has_aux=True)

    with call.precision(), refusing_calls(call):
        chosen = [call.argument(key) for key in keys]
        given = [fitted(call, key, each, tangents[key], "tangent") for key, each in zip(keys, chosen, strict=True)]
        result, changes, (aux, failure) = _kept(call, ("jvp", tuple(keys), has_aux), lambda: run)(
            call.values, chosen, given
        )
    call.raise_failed(failure)
    found = (_given(call, result), _given(call, changes))
    return (*found, _given(call, aux)) if has_aux else found


def hvp(function: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of a function that returns a number, times a vector: what its gradient changes by.

    There is a tangent for each argument, of its shape; None stands for arguments that stay as they are. The gradient is
    taken by those that have one: the product has the shape of the argument, or is a tuple where several have one. It
    costs a few times what the gradient costs, and the Hessian is never made.

    >>> import numpy as np
    >>> hvp(lambda x: x[0] ** 2 * x[1], (np.array([3.0, 5.0]),), (np.array([1.0, 0.0]),)).tolist()
    [10.0, 6.0]
    """
    expect_function(function, "hvp")
    expect_tangents(function, primals, tangents, "hvp")
    chosen = tuple(place for place, tangent in enumerate(tangents) if tangent is not None)
    gradient = grad(function, chosen[0] if len(chosen) == 1 else chosen)
    return jvp(gradient, primals, tangents)[1]


def vjp(
    function: Any,
    *primals: Any,
    has_aux: bool = False,
    checkpoint: Periodic | Binomial | None = None,
    memory: int | str | None = None,
) -> Any:
    """The result of a function, and a function from cotangents of the result to those of the arguments: reverse mode.

    Gives `(result, pullback)`, or `(result, pullback, aux)`. `pullback(cotangent)` takes what has the structure and the
    shapes of the result, and gives a tuple: for each argument what has its shape, or None for those that are no floats.
    For functions that return nothing see `jacobian`, for `checkpoint` and `memory` see `grad`.

    >>> import numpy as np
    >>> result, pullback = vjp(lambda x, y: x * y, np.array([1.0, 2.0]), 3.0)
    >>> by_x, by_y = pullback(np.array([1.0, 10.0]))
    >>> by_x.tolist(), float(by_y)
    ([3.0, 30.0], 21.0)
    """
    expect_function(function, "vjp")
    plan = plan_for("wl.vjp", checkpoint, memory)
    call = pure_call(function, primals, {})
    keys: list[Key] = [key for key in range(len(primals)) if is_of_floats(call, key)]
    if not keys:
        raise refused(f"{call.name}: no argument is of floats", call, "pass the arrays that vary as arrays of floats")

    def pulled(*chosen: Any) -> Any:
        result, failure = call.with_arguments(call.values, keys, chosen)
        refuse_nothing(call, result, "vjp")
        result, aux = without_aux(call, result, has_aux)
        return result, (aux, failure)

    with call.precision(), refusing_calls(call), asked_for(plan):
        result, pull, (aux, failure) = jax.vjp(pulled, *[call.argument(key) for key in keys], has_aux=True)
    call.raise_failed(failure)

    def pullback(*cotangents: Any) -> tuple[Any, ...]:
        if len(cotangents) != 1:
            raise refused(
                f"{call.name}: the pullback is given {len(cotangents)} cotangents, and takes one",
                call,
                "pass what has the structure of the result: for several results a tuple",
            )
        (cotangent,) = cotangents
        with call.precision(), asked_for(plan):
            found = dict(zip(keys, pull(fitted(call, None, result, cotangent, "cotangent")), strict=True))
        return tuple(_given(call, found.get(key)) for key in range(len(primals)))

    found = (_given(call, result), pullback)
    return (*found, _given(call, aux)) if has_aux else found


def _kept(call: PureCall, key: Any, make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """What is made for calls of this kind, compiled; made anew each time where nothing can be kept of them."""
    if call.derived is None:
        return make()
    found = call.derived.get(key)
    if found is None:
        made = make()
        found = jax.jit(made) if call.optimized is None else optimized_with(made, call.optimized)
        call.derived[key] = found
    return found


def _given(call: PureCall, tree: Any) -> Any:
    """Derivatives as the user has it: NumPy's arrays where there were no others, arrays of `wl.jit` within it."""
    if current_tracing() is not None:
        return jax.tree.map(wrapped, tree)
    return jax.tree.map(_as_numpy, tree) if call.gives_numpy else tree


def _as_numpy(leaf: Any) -> Any:
    if not isinstance(leaf, jax.Array) or isinstance(leaf, Tracer):
        # What is no float has no derivative.
        return None if getattr(leaf, "dtype", None) == jax.dtypes.float0 else leaf
    array = np.array(leaf)
    return array if array.ndim else array[()]


def _size(tree: Any) -> int:
    return sum(int(np.prod(jnp.shape(leaf))) for leaf in jax.tree.leaves(tree))
