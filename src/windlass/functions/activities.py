"""`wl.autodiff`: derivatives of functions that change their arrays in place, as Enzyme has them.

Each argument says by its activity whether it varies and where its derivative is. An array that varies has a shadow,
which is changed in place beside it:

* In reverse mode a shadow holds cotangents of the array as the function leaves it, and afterwards those of the array as
  the function found it. So the shadow of an array that is only read is added to, and the shadow of one that is wholly
  overwritten is taken up and begins anew.
* In forward mode a shadow holds tangents of the array before, and afterwards those of it as the function leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, Position, WindlassError
from windlass.frontends.arrays.explaining import position_of
from windlass.functions.compiled_call import CompiledCall
from windlass.functions.pure_call import compiled_function, name_of, static_integers
from windlass.launching.launch import Launch
from windlass.launching.loaded_kernel import LoadedKernel
from windlass.runtime.arguments import order_arguments


class Mode(Enum):
    """In which direction `autodiff` goes, and whether it gives the function's result too."""

    REVERSE = "Reverse"
    REVERSE_WITH_PRIMAL = "ReverseWithPrimal"
    FORWARD = "Forward"
    FORWARD_WITH_PRIMAL = "ForwardWithPrimal"

    @property
    def is_forward(self) -> bool:
        return self in (Mode.FORWARD, Mode.FORWARD_WITH_PRIMAL)

    @property
    def has_primal(self) -> bool:
        return self in (Mode.REVERSE_WITH_PRIMAL, Mode.FORWARD_WITH_PRIMAL)


Reverse, ReverseWithPrimal = Mode.REVERSE, Mode.REVERSE_WITH_PRIMAL
Forward, ForwardWithPrimal = Mode.FORWARD, Mode.FORWARD_WITH_PRIMAL


@dataclass(frozen=True, eq=False)
class Activity:
    """An argument, and what part it has in the derivative."""

    value: Any


class Const(Activity):
    """Does not vary: anything at all. An array may still be written, as one for scratch values is."""


class Active(Activity):
    """A number that varies, in reverse mode: its derivative is given back."""


@dataclass(frozen=True, eq=False)
class Duplicated(Activity):
    """What varies, and its shadow: an array with one of its shape and dtype, or in forward mode a number with its
    tangent."""

    shadow: Any


class DuplicatedNoNeed(Duplicated):
    """As `Duplicated`, where what the function writes into the array is not wanted: the array keeps what it has."""


@dataclass(frozen=True, eq=False)
class BatchDuplicated(Activity):
    """As `Duplicated`, for several tangents or cotangents at once: a tuple of shadows."""

    shadows: tuple[Any, ...]


def autodiff(mode: Mode, function: Any, *arguments: Any) -> Any:
    """The derivative of one run of a function; arrays and their shadows are changed in place.

    `function` is a launch (`kernel[grid, block]`) or a function of arrays and numbers, as `wl.jit` takes it. Each
    argument is a `Const`, an `Active`, a `Duplicated`, a `DuplicatedNoNeed` or a `BatchDuplicated`; the class of what
    the function returns may stand before them: `Const` if its derivative is not wanted.

    `Reverse` gives a tuple: by each `Active` argument the derivative of the returned number, and of the arrays times
    their shadows (a tuple of that where there are several); None for the others. `ReverseWithPrimal` gives that and
    what the function returns. `Forward` gives what the returned value changes by (a tuple of that where there are
    several tangents), `ForwardWithPrimal` that and the value.

    Raises WindlassError: WL0932 where activities and arguments don't fit, WL0901 where an operation has no derivative.

    >>> import numpy as np
    >>> def smooth(u, c):
    ...     u[1:-1] += c * (u[:-2] - 2 * u[1:-1] + u[2:])
    >>> u, du = np.array([1.0, 2.0, 4.0]), np.array([0.0, 1.0, 0.0])
    >>> by_u, by_c = autodiff(Reverse, smooth, Duplicated(u, du), Active(0.25))
    >>> u.tolist(), du.tolist(), by_u, float(by_c)
    ([1.0, 2.25, 4.0], [0.25, 0.5, 0.25], None, 1.0)
    """
    returned: type[Activity] | None = None
    if arguments and isinstance(arguments[0], type) and issubclass(arguments[0], Activity):
        returned, arguments = arguments[0], arguments[1:]
    run = _Run(mode, function, returned, arguments)
    return run.forward() if mode.is_forward else run.reverse()


class _Subject(NamedTuple):
    """What is spoken of in errors."""

    name: str
    position: Position | None


class _Run:
    """One call of `autodiff`, with its arguments checked."""

    def __init__(self, mode: Mode, function: Any, returned: type[Activity] | None, arguments: Sequence[Any]) -> None:
        self.subject = _Subject(name_of(function), position_of(function))
        self.mode = mode
        self.is_constant = returned is Const
        _expect(isinstance(mode, Mode), self.subject, f"{mode!r} is no mode", "pass wl.Reverse or wl.Forward")  # pyright: ignore[reportUnnecessaryIsInstance]
        _expect(
            not isinstance(function, LoadedKernel),
            self.subject,
            "a kernel is launched",
            "pass kernel[grid, block], the launch",
        )
        for place, each in enumerate(arguments):
            _expect(
                isinstance(each, Activity),
                self.subject,
                f"argument {place} is {type(each).__name__} without an activity",
                "say wl.Const(x) of what does not vary, wl.Active(x) of a number, wl.Duplicated(x, shadow) of an array",
            )
        self.activities: list[Activity] = list(arguments)
        values = [each.value for each in self.activities]
        if isinstance(function, Launch):
            values = order_arguments(function.kernel.signature, values, {})
        jitted = compiled_function(function)
        given = static_integers(values) if jitted is not function else jitted.marked_static(values, {})[0]
        self.leaves, structure = jitted.flatten(given, {})
        numbers = [len(jitted.flatten((each,), {})[0]) for each in given]
        self.places = [sum(numbers[:place]) for place in range(len(numbers))]
        """For each argument its first leaf."""
        self.numbers = numbers
        for place in range(len(self.activities)):
            self._check(place)
        self.varying = [place for place in range(len(self.activities)) if self._varies(place)]
        _expect(
            bool(self.varying), self.subject, "no argument varies", "pass a wl.Duplicated array or a wl.Active number"
        )
        self.compiled: CompiledCall = jitted.compiled(self.leaves, structure)
        self._check_sharing()

    # -- checks -------------------------------------------------------------------------------------------------------

    def _varies(self, place: int) -> bool:
        return not isinstance(self.activities[place], Const)

    def _check(self, place: int) -> None:
        """Raises WindlassError (WL0932) where an argument has an activity that it can't have."""
        activity = self.activities[place]
        if isinstance(activity, Const):
            return
        kind, value = type(activity).__name__, activity.value
        what = f"argument {place}, {kind} of {_described(value)},"
        is_number = isinstance(value, float | np.floating)
        is_array = isinstance(value, np.ndarray) and value.dtype.kind in "fV" and value.dtype.names is None
        _expect(
            (is_number or is_array) and self.numbers[place] == 1,
            self.subject,
            f"{what} can't vary here",
            "pass floats and NumPy arrays of floats, and others as wl.Const; wl.vjp and wl.jvp take more",
        )
        if isinstance(activity, Active):
            _expect(
                not self.mode.is_forward, self.subject, f"{what} is for reverse mode", "pass wl.Duplicated(x, tangent)"
            )
            _expect(is_number, self.subject, f"{what} has no shadow", "pass wl.Duplicated(array, shadow)")
            return
        _expect(
            is_array or self.mode.is_forward,
            self.subject,
            f"{what} is a number",
            "pass wl.Active(x): a number has no shadow",
        )
        shadows = _shadows(activity)
        for shadow in shadows:
            fits = not isinstance(value, np.ndarray) or (
                isinstance(shadow, np.ndarray) and shadow.shape == value.shape and shadow.dtype == value.dtype
            )
            _expect(
                fits, self.subject, f"{what} has a shadow that is {_described(shadow)}", "pass np.zeros_like(array)"
            )
            if is_array:
                _expect(
                    shadow.flags.writeable, self.subject, f"{what} has a shadow that is read-only", "pass a copy of it"
                )

    def _check_sharing(self) -> None:
        """Raises WindlassError (WL0932) where shadows share memory with anything, or one array has two activities."""
        firsts = self.compiled.places
        shadows: list[tuple[int, NDArray[Any]]] = []
        for place in self.varying:
            own = _shadows(self.activities[place])
            first = firsts[self.places[place]]
            if first is not None:
                other = self.activities[self.places.index(first)]
                same = all(one is two for one, two in zip(own, _shadows(other), strict=False)) and self._varies(
                    self.places.index(first)
                )
                _expect(
                    same,
                    self.subject,
                    f"argument {place} is the same array as another, with other shadows",
                    "give it one shadow",
                )
            else:
                shadows += [(place, shadow) for shadow in own if isinstance(shadow, np.ndarray)]
        arrays = [(None, leaf) for leaf in self.leaves if isinstance(leaf, np.ndarray)]
        for index, (place, shadow) in enumerate(shadows):
            for _, other in [*arrays, *shadows[:index]]:
                _expect(
                    not np.may_share_memory(shadow, other),
                    self.subject,
                    f"the shadow of argument {place} shares memory with another array",
                    "give each array a shadow of its own",
                )
        # An array that is given twice is one memory: the first stands for both.
        self.varying = [place for place in self.varying if firsts[self.places[place]] is None]

    # -- both modes ---------------------------------------------------------------------------------------------------

    def _kept(self, key: Any, make: Callable[..., Any]) -> Callable[..., Any]:
        found = self.compiled.derived.get(key)
        if found is None:
            found = self.compiled.derived[key] = jax.jit(make)
        return found

    def _finish(self, written: dict[int, Any], failure: Any, shadows: Sequence[tuple[Any, Any]]) -> None:
        """Change the arrays and the shadows of the user."""
        self.compiled.raise_failed(failure)
        unwanted = {
            self.places[place] for place, each in enumerate(self.activities) if isinstance(each, DuplicatedNoNeed)
        }
        for place, value in written.items():
            if isinstance(self.leaves[place], np.ndarray) and place not in unwanted:
                np.copyto(self.leaves[place], np.asarray(value))
        for shadow, value in shadows:
            if isinstance(shadow, np.ndarray):
                np.copyto(shadow, np.asarray(value))

    def _result(self, result: Any) -> Any:
        """What the function returns, or its tangents, as NumPy has them: what is no float has none."""
        return jax.tree.map(lambda each: None if each.dtype == jax.dtypes.float0 else np.array(each)[()], result)

    # -- reverse ------------------------------------------------------------------------------------------------------

    def reverse(self) -> Any:
        compiled, subject, is_constant = self.compiled, self.subject, self.is_constant
        leaves = [self.places[place] for place in self.varying]
        shadows = [_shadows(self.activities[place]) for place in self.varying]
        duplicated = [number for number, own in enumerate(shadows) if own]
        size = self._size_of_batch(Active)

        def run(values: Sequence[Any], chosen: Sequence[Any], seeds: Sequence[Any]) -> Any:
            def function(*chosen: Any) -> Any:
                result, last, beside = _applied(compiled, leaves, values, chosen)
                returned = [] if is_constant else _returned_number(subject, result)
                return (returned, [last[number] for number in duplicated]), beside

            (returned, _), pull, beside = jax.vjp(function, *chosen, has_aux=True)

            def pulled(given: Sequence[Any]) -> Any:
                return pull((jax.tree.map(jnp.ones_like, returned), list(given)))

            if size is None:
                return [pulled([each[0] for each in seeds])], beside
            stacked = jax.vmap(pulled)([jnp.stack(each) for each in seeds])
            return _unstacked(stacked, size), beside

        with jax.enable_x64(True):
            seeds = [[jnp.array(shadow) for shadow in shadows[number]] for number in duplicated]
            chosen = [jnp.array(self.leaves[leaf]) for leaf in leaves]
            reverse = self._kept(("reverse", tuple(leaves), tuple(duplicated), is_constant, size), run)
            found, (result, written, failure) = reverse(compiled.inputs(self.leaves), chosen, seeds)
        pairs = [
            (shadow, cotangents[number])
            for number in duplicated
            for shadow, cotangents in zip(shadows[number], found, strict=True)
        ]
        self._finish(written, failure, pairs)

        def gradient(place: int) -> Any:
            if not isinstance(self.activities[place], Active):
                return None
            own = tuple(np.asarray(each[self.varying.index(place)])[()] for each in found)
            return own[0] if size is None else own

        gradients = tuple(map(gradient, range(len(self.activities))))
        return (gradients, self._result(result)) if self.mode.has_primal else gradients

    def _size_of_batch(self, *others: type[Activity]) -> int | None:
        """How many shadows there are of each argument, of other activities than these; None where they are no batch."""
        activities = [self.activities[place] for place in self.varying]
        sizes = {_size_of(each) for each in activities if not isinstance(each, others)}
        _expect(
            len(sizes) < 2 and 0 not in sizes,
            self.subject,
            "its arguments have different numbers of shadows, or none",
            "give each BatchDuplicated as many shadows, and no Duplicated beside",
        )
        return next(iter(sizes), None)

    # -- forward ------------------------------------------------------------------------------------------------------

    def forward(self) -> Any:
        compiled = self.compiled
        leaves = [self.places[place] for place in self.varying]
        shadows = [_shadows(self.activities[place]) for place in self.varying]
        size = self._size_of_batch()

        def run(values: Sequence[Any], chosen: Sequence[Any], tangents: Sequence[Sequence[Any]]) -> Any:
            def function(*chosen: Any) -> Any:
                result, last, _ = _applied(compiled, leaves, values, chosen)
                return result, last

            def moved(given: Sequence[Any]) -> Any:
                return jax.jvp(function, tuple(chosen), tuple(given))[1]

            beside = _applied(compiled, leaves, values, chosen)[2]
            if size is None:
                return [moved([each[0] for each in tangents])], beside
            return _unstacked(jax.vmap(moved)([jnp.stack(each) for each in tangents]), size), beside

        with jax.enable_x64(True):
            chosen = [jnp.array(self.leaves[leaf]) for leaf in leaves]
            given = [[jnp.array(each, value.dtype) for each in own] for value, own in zip(chosen, shadows, strict=True)]
            forward = self._kept(("forward", tuple(leaves), size), run)
            found, (result, written, failure) = forward(compiled.inputs(self.leaves), chosen, given)
        pairs = [
            (shadow, changes[1][number])
            for number, own in enumerate(shadows)
            for shadow, changes in zip(own, found, strict=True)
        ]
        self._finish(written, failure, pairs)
        changes = [None if self.is_constant else self._result(each[0]) for each in found]
        derivative = changes[0] if size is None else tuple(changes)
        return (derivative, self._result(result)) if self.mode.has_primal else derivative


def _unstacked(tree: Any, size: int) -> list[Any]:
    """The trees of which this one has all, along a new first axis of its arrays."""
    return [jax.tree.map(lambda each, number=number: each[number], tree) for number in range(size)]


def _size_of(activity: Activity) -> int | None:
    return len(activity.shadows) if isinstance(activity, BatchDuplicated) else None


def _applied(
    compiled: CompiledCall, leaves: Sequence[int], values: Sequence[Any], chosen: Sequence[Any]
) -> tuple[Any, list[Any], Any]:
    """What the function returns, what these arguments are as it leaves them, and all that there is beside."""
    given = list(values)
    for leaf, value in zip(leaves, chosen, strict=True):
        given[leaf] = value
    result, written, failure = compiled.apply(given)
    return result, [written.get(leaf, given[leaf]) for leaf in leaves], (result, written, failure)


def _returned_number(subject: _Subject, result: Any) -> list[Any]:
    """The returned number, which has the cotangent 1; nothing where there is none."""
    leaves = [leaf for leaf in jax.tree.leaves(result) if jnp.issubdtype(jnp.result_type(leaf), np.inexact)]
    if leaves:
        _expect(
            len(leaves) == 1 and jnp.shape(leaves[0]) == () and jnp.issubdtype(jnp.result_type(leaves[0]), np.floating),
            subject,
            "it returns more than one real number, which would need a shadow",
            "write it into a Duplicated array, or say wl.Const before the arguments where its derivative is not wanted",
        )
    return leaves


def _shadows(activity: Activity) -> tuple[Any, ...]:
    match activity:
        case Duplicated():
            return (activity.shadow,)
        case BatchDuplicated():
            return tuple(activity.shadows)
        case _:
            return ()


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return type(value).__name__


def _expect(holds: bool, subject: _Subject, what: str, help_: str) -> None:
    if not holds:
        raise WindlassError(
            Diagnostic("WL0932", f"wl.autodiff of {subject.name}: {what}", subject.position, help=help_)
        )
