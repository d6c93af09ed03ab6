"""What the bodies of loops and branches do: the names that they bind, and the memories that they write.

A body is a function from the values of the names that it assigns to their new values, and it may write to any array
that there is. Run once on trial (under `jax.eval_shape`, which keeps nothing of it), it shows which memories it writes
and what becomes of each name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.array import Array, elements_of
from windlass.frontends.arrays.sharing import doubts_now, put_back
from windlass.frontends.arrays.tracing import Storage, at_this_level, live_storages

State: TypeAlias = tuple[Any, ...]
Body: TypeAlias = Callable[..., State]
Test: TypeAlias = Callable[..., tuple[Any, State]]
ENTRY_POINTS = ("values_of", "UNDEFINED")
"""What captured functions call."""


class UnboundName:
    """What an unbound name is among values."""

    def __repr__(self) -> str:
        return "<unbound>"


UNDEFINED = UnboundName()


def values_of(getters: Sequence[Callable[[], Any]]) -> State:
    """The values of names, UNDEFINED for those that are unbound."""
    values: list[Any] = []
    for getter in getters:
        try:
            values.append(getter())
        except NameError:
            values.append(UNDEFINED)
    return tuple(values)


def names_of(getters: Sequence[Callable[[], Any]]) -> tuple[str, ...]:
    """The names that getters give the values of."""
    found: list[str] = []
    for getter in getters:
        code = getter.__code__
        (name,) = (*code.co_freevars, *code.co_names) or ("",)
        found.append("" if name.startswith("__") or name == "UNDEFINED" else name)
    return tuple(found)


ONE_TYPE = "keep names bound to arrays of one shape and dtype, or loop over a known small range"
"""What helps where names change."""


class NotCapturable(Exception):
    """The body can't be one operation; the text says why, and `help` what to write."""

    def __init__(self, text: str, help: str = ONE_TYPE) -> None:
        super().__init__(text)
        self.help = help


CAPTURE_ERRORS = (NotCapturable, WindlassError, TypeError, IndexError, KeyError, jax.errors.JAXTypeError)
"""What may go wrong where a body runs once for all rounds, and not where it runs for each."""


def is_traced(value: Any) -> bool:
    """Whether the value is not known while the function is compiled."""
    return value.is_traced if isinstance(value, Array) else isinstance(value, Tracer)


# -- what a body does -------------------------------------------------------------------------------------------------


@dataclass
class Trial:
    """What a trial run showed: the memories written, each name's value after, and the memories that are in doubt."""

    written: list[Storage]
    after: State
    doubts: dict[Storage, Any]

    def doubt_of(self, value: Any) -> Any:
        """What is in doubt, at the end, of what a name holds."""
        return self.doubts.get(value.storage, value.storage.doubt) if is_memory(value) else None


def run_on_trial(run: Callable[..., State], *arguments: Any) -> Trial:
    """Run with abstract arguments; keep nothing but the trial's findings.

    Raises NotCapturable where an unbound name is read, which the program may not come to.
    """
    storages = live_storages()
    before = {id(storage): storage.value for storage in storages}
    doubts = doubts_now()
    found: list[Trial] = []
    was_on_trial = _here.is_on_trial
    _here.is_on_trial = True

    def trial(*traced: Any) -> None:
        with at_this_level():
            after = run(*traced)
        written = [each for each in storages if each.value is not before[id(each)]]
        found.append(Trial(written, after, {each: each.doubt for each in storages}))

    try:
        jax.eval_shape(trial, *arguments)
    except UnboundLocalError as error:
        raise NotCapturable(f"{error}: bind the name before it") from error
    except Exception as error:
        vars(error)["is_within_operation"] = True
        raise
    finally:
        _here.is_on_trial = was_on_trial
        for storage in storages:
            storage.value = before[id(storage)]
        put_back(doubts)
    return found[-1]


def is_on_trial() -> bool:
    """Whether what this thread traces now is thrown away."""
    return _here.is_on_trial


class _Here(threading.local):
    is_on_trial = False


_here = _Here()


def changed_memories(before: dict[int, Any]) -> bool:
    """Whether a memory holds something else than before; those that are new do not count."""
    return any(id(each) in before and each.value is not before[id(each)] for each in live_storages())


def are_same(before: State, after: State) -> bool:
    return all(
        stays(one, other, {id(each) for each in live_storages()}) for one, other in zip(before, after, strict=True)
    )


def place_of(value: Any) -> tuple[Any, ...] | None:
    """Which memory, and how, an array is; None for what is no array."""
    if not isinstance(value, Array):
        return None
    return (id(value.storage), value.steps, value.shape, value.dtype)


def is_number(value: Any) -> bool:
    return isinstance(value, Array | jax.Array | np.generic | int | float | complex | bool)


def is_memory(value: Any) -> bool:
    """Whether it is an array that can be written to; numbers are values."""
    return isinstance(value, Array) and not value.is_scalar


def stays(before: Any, after: Any, outer: set[int]) -> bool:
    """Whether a name is what it was, so that nothing of it has to be carried."""
    if isinstance(before, Array) and isinstance(after, Array):
        return id(after.storage) in outer and place_of(before) == place_of(after)
    if before is after:
        return True
    if isinstance(before, int | float | complex | str) and type(before) is type(after):
        return repr(before) == repr(after)  # 0.0 is not -0.0
    return False


# -- values -----------------------------------------------------------------------------------------------------------


def truth_of(value: Any) -> Any:
    found = jnp.asarray(plain(value))
    if found.size != 1:
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
    found = jnp.reshape(found, ())
    return found if found.dtype == jnp.bool_ else found != 0


def aval_of(value: Any) -> Any:
    """Shape, dtype and weakness of a value that a trial left behind."""
    if isinstance(value, Array) and value.is_whole:
        return jax.typeof(value.storage.value)
    if isinstance(value, Array) and not value.is_static:
        return jax.ShapeDtypeStruct(value.shape, value.dtype)
    return jax.eval_shape(lambda: jnp.asarray(carried_value(value)))


def plain(value: Any) -> Any:
    return value.value if isinstance(value, Array) else value


def carried_value(value: Any) -> Any:
    """The value to be carried along, which may be in doubt."""
    return elements_of(value) if isinstance(value, Array) else value


def common_shape(first: tuple[int, ...], second: tuple[int, ...], name: str = "") -> tuple[int, ...]:
    """One shape for a name that has both; a number may become an array.

    Raises NotCapturable.
    """
    if first == second or not second:
        return first
    if not first:
        return second
    what = f"'{name}'" if name else "a name"
    raise NotCapturable(f"{what} is bound to an array of shape {first} and to one of shape {second}")


def converted(value: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """The value as an array of the dtype (None leaves it and its weakness) and shape."""
    array = jnp.asarray(value)
    if dtype is not None:
        array = jax.lax.convert_element_type(array, dtype)
    return array if array.shape == shape else jnp.broadcast_to(array, shape)


def laid_alike(value: Any, *others: Any) -> Any:
    """A carried value, lying in memory as those that it stands for do; where they differ its order is not known."""
    if isinstance(value, Array) and value.ndim > 1:
        found = {each.strides for each in others if isinstance(each, Array) and each.shape == value.shape}
        if len(found) == 1:
            value.lie(found.pop())
        value.storage.has_known_order = len(found) < 2 and all(
            each.storage.has_known_order for each in others if isinstance(each, Array)
        )
    return value


def is_capture_fault(error: WindlassError) -> bool:
    return error.diagnostics[0].code in ("WL0904", "WL0908", "WL0910")


def explained(error: Exception) -> Exception:
    if not isinstance(error, NotCapturable):
        return error
    return WindlassError(
        Diagnostic(
            "WL0910",
            f"this loop or branch can't become one operation: {error}",
            help=error.help,
        )
    )
