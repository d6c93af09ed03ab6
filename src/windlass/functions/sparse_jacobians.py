"""Jacobians that are mostly zero, with as many derivatives as they have colours.

Where the entries are is found from the program of the tangents (`windlass.facts.dependence`), so it holds for all
values of floats; integers among the arguments are looked at, as the columns of a sparse matrix are.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jax.core import Tracer
from jax.extend.core import Literal as Constant
from numpy.typing import NDArray

from windlass.autodiff import NoDerivative, tangent_function
from windlass.autodiff.activity import is_differentiable
from windlass.autodiff.colouring import colour_columns
from windlass.facts.dependence import TooDense, find_dependence
from windlass.functions.pure_call import Key, PureCall
from windlass.rewriting.driver import remove_dead_code
from windlass.stablehlo.program import program_call

LEAST = 8
"""Rows and columns: smaller Jacobians are not worth looking into."""
MOST_ENTRIES = 20_000_000

Mode: TypeAlias = Literal["forward", "reverse"]


@dataclass(frozen=True, eq=False)
class Colouring:
    """Where a Jacobian has entries, and which columns ("forward") or rows ("reverse") are computed together.

    `count` derivatives give all entries. `pattern` is a SciPy matrix of ones: a row for each element of the results, a
    column for each of the arguments.
    """

    mode: Mode
    count: int
    colours: NDArray[np.int64]
    pattern: Any

    def __str__(self) -> str:
        rows, columns = self.pattern.shape
        what = "columns" if self.mode == "forward" else "rows"
        return (
            f"{rows} x {columns} with {self.pattern.nnz} entries: its {what} have {self.count} colours, "
            f"so {self.count} derivatives in {self.mode} mode give all"
        )


def find_colouring(call: PureCall, keys: Sequence[Key], mode: Mode | None, has_aux: bool = False) -> Colouring | None:
    """How the Jacobian of a compiled call is found in fewer derivatives than it has rows or columns; None if not.

    With `has_aux` it is that of the first of two results.
    """
    integers = [
        np.asarray(value)
        for value in call.values
        if not isinstance(value, Tracer) and not jnp.issubdtype(jnp.result_type(value), np.inexact)
    ]
    digest = hashlib.sha256(b"".join(each.tobytes() for each in integers)).digest()
    kept = {} if call.derived is None else call.derived
    key = ("colouring", tuple(keys), mode, has_aux, digest)
    if key not in kept:
        kept[key] = _find(call, keys, mode, has_aux)
    return kept[key]


def _find(call: PureCall, keys: Sequence[Key], mode: Mode | None, has_aux: bool) -> Colouring | None:
    pattern = _find_pattern(call, keys, has_aux)
    if pattern is None:
        return None
    found: list[Colouring] = []
    modes: tuple[Mode, ...] = ("forward", "reverse") if mode is None else (mode,)
    for each in modes:
        matrix = pattern if each == "forward" else pattern.T.tocsr()
        colours = colour_columns(matrix)
        found.append(Colouring(each, int(colours.max(initial=-1)) + 1, colours, pattern))
    best = min(found, key=lambda each: each.count * (1 if each.mode == "forward" else 2))
    return best if best.count <= min(pattern.shape) // 2 else None


def _find_pattern(call: PureCall, keys: Sequence[Key], has_aux: bool) -> Any:
    """The pattern of the results by the arguments chosen; None where it is not known to be small."""

    def apply(*values: Any) -> Any:
        result, _ = call.apply(values)
        return result[0] if has_aux and isinstance(result, tuple) else result

    with call.precision():
        traced = jax.make_jaxpr(apply)(*call.values).jaxpr
    if len(traced.eqns) != 1 or traced.eqns[0].primitive is not program_call:
        return None
    (equation,) = traced.eqns
    if list(equation.invars) != list(traced.invars):
        return None
    program = equation.params["program"]
    places = [place for key in keys for place in call.places[key]]
    function = program.differentiable.main
    count = len(function.arguments)
    sizes = [argument.tensor.size for argument in function.arguments]
    results = [value for value in function.results if is_differentiable(value.type)]
    known = {
        place: np.asarray(value)
        for place, value in enumerate(call.values)
        if not isinstance(value, Tracer) and not is_differentiable(function.arguments[place].type)
    }
    rows = sum(int(np.prod(variable.aval.shape)) for variable in traced.outvars)
    columns = sum(sizes[place] for place in places)
    if min(rows, columns) < LEAST:
        return None
    try:
        tangent = tangent_function(function, places)
        remove_dead_code(tangent.body)
        moved = range(count, len(tangent.arguments))
        patterns = find_dependence(tangent, moved, known, min(MOST_ENTRIES, rows * columns // 2))
    except (NoDerivative, TooDense):
        return None
    own = dict(zip(results, patterns, strict=True))
    by_variable = {variable: own.get(value) for variable, value in zip(equation.outvars, function.results, strict=True)}
    # The tangent program has the arguments in their order, the Jacobian in that of the keys.
    offsets = dict(zip(sorted(places), np.cumsum([0, *(sizes[place] for place in sorted(places))]), strict=False))
    order = np.concatenate([offsets[place] + np.arange(sizes[place]) for place in places])
    blocks = [_block(variable, by_variable, traced.invars, places, offsets, sizes) for variable in traced.outvars]
    return scipy.sparse.csr_array(scipy.sparse.vstack(blocks))[:, order]


def _block(
    variable: Any,
    by_variable: dict[Any, Any],
    arguments: Sequence[Any],
    places: Sequence[int],
    offsets: dict[int, Any],
    sizes: Sequence[int],
) -> Any:
    """The rows of one result: a result of the program, an argument given back, or a constant."""
    size = int(np.prod(variable.aval.shape))
    shape = (size, sum(sizes[place] for place in places))
    if isinstance(variable, Constant):
        return scipy.sparse.csr_array(shape, dtype=np.int32)
    if variable in by_variable:
        found = by_variable[variable]
        return scipy.sparse.csr_array(shape, dtype=np.int32) if found is None else found
    place = list(arguments).index(variable)
    if place not in offsets:
        return scipy.sparse.csr_array(shape, dtype=np.int32)
    own = np.arange(size)
    return scipy.sparse.csr_array((np.ones(size, np.int32), (own, own + offsets[place])), shape)


def compressed_jacobian(
    colouring: Colouring, function: Callable[..., Any], chosen: Sequence[Any]
) -> tuple[Any, Any, Any]:
    """The products of the Jacobian with the colours, a row for each; the result; what the function gives beside.

    For JAX to trace.
    """
    seeds = np.arange(colouring.count)[:, None] == colouring.colours[None, :]
    if colouring.mode == "forward":
        result, push, beside = jax.linearize(function, *chosen, has_aux=True)
        found = jax.vmap(lambda tangents: _joined(push(*tangents)))(_parted(seeds, tuple(chosen)))
    else:
        result, pull, beside = jax.vjp(function, *chosen, has_aux=True)
        found = jax.vmap(lambda cotangents: _joined(pull(cotangents)))(_parted(seeds, result))
    return found, result, beside


def dense_jacobian(colouring: Colouring, compressed: Any, result: Any, chosen: Any) -> Any:
    """The Jacobian as JAX gives it: for each array of the result a tree as that of the arguments.

    For JAX to trace.
    """
    rows, columns, values = _entries(colouring, compressed)
    whole = jnp.zeros(colouring.pattern.shape, compressed.dtype).at[rows, columns].set(values)

    def part(rows: slice, columns: slice, given: Any, argument: Any) -> Any:
        return whole[rows, columns].reshape(*jnp.shape(given), *jnp.shape(argument))

    return _by_parts(result, chosen, part)


def sparse_jacobian(colouring: Colouring, compressed: Any, result: Any, chosen: Any) -> Any:
    """As `dense_jacobian`, of SciPy's matrices."""
    rows, columns, values = _entries(colouring, np.asarray(compressed))
    whole = scipy.sparse.csr_array((values, (rows, columns)), colouring.pattern.shape)
    return _by_parts(result, chosen, lambda rows, columns, *_: whole[rows, columns])


def sparse_parts(dense: Any, chosen: Any) -> Any:
    """SciPy's matrices in the place of arrays, which have the axes of an argument last."""
    sizes = [int(np.prod(jnp.shape(leaf))) for leaf in jax.tree.leaves(chosen)]
    leaves, structure = jax.tree.flatten(dense)
    made = [
        scipy.sparse.csr_array(np.asarray(leaf).reshape(-1, sizes[number % len(sizes)]))
        for number, leaf in enumerate(leaves)
    ]
    return jax.tree.unflatten(structure, made)


def _entries(colouring: Colouring, compressed: Any) -> tuple[Any, Any, Any]:
    """Rows, columns and values of all entries."""
    pattern = colouring.pattern.tocoo()
    rows, columns = pattern.row, pattern.col
    if colouring.mode == "forward":
        return rows, columns, compressed[colouring.colours[columns], rows]
    return rows, columns, compressed[colouring.colours[rows], columns]


def _by_parts(result: Any, chosen: Any, part: Callable[[slice, slice, Any, Any], Any]) -> Any:
    """What is made of the rows of each result and the columns of each argument."""
    results, result_structure = jax.tree.flatten(result)
    arguments, structure = jax.tree.flatten(chosen)
    trees = [
        jax.tree.unflatten(
            structure, [part(rows, columns, given, argument) for columns, argument in _slices(arguments)]
        )
        for rows, given in _slices(results)
    ]
    return jax.tree.unflatten(result_structure, trees)


def _slices(leaves: Sequence[Any]) -> list[tuple[slice, Any]]:
    """For each array which of the elements of all are its own."""
    ends = np.cumsum([0, *(int(np.prod(jnp.shape(leaf))) for leaf in leaves)]).tolist()
    return [(slice(*pair), leaf) for pair, leaf in zip(itertools.pairwise(ends), leaves, strict=True)]


def _parted(rows: Any, like: Any) -> Any:
    """For each row a tree of arrays as those."""
    leaves, structure = jax.tree.flatten(like)
    made = [
        jnp.asarray(rows[:, own], jnp.result_type(leaf)).reshape(len(rows), *jnp.shape(leaf))
        for own, leaf in _slices(leaves)
    ]
    return jax.tree.unflatten(structure, made)


def _joined(tree: Any) -> Any:
    return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(tree)])
