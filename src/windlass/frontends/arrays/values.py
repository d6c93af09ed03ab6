"""Values of arrays, JAX's or NumPy's: cast, reshaped, put through views; and what is said where that can't be."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import ArrayValueError, Diagnostic, WindlassError
from windlass.frontends.arrays import indexing
from windlass.frontends.arrays.views import ViewStep

FEW = 16
"""Arrays of fewer elements may be constants of the program."""


def as_jax(value: Any) -> Any:
    """The value as an array of JAX; one that holds the same number everywhere without a constant of its size."""
    if not isinstance(value, np.ndarray) or value.size < FEW:
        return jnp.asarray(value)
    flat = value.ravel()
    is_uniform = _holds_one_number(flat[:FEW]) and _holds_one_number(flat)
    return jnp.full(value.shape, flat[0], value.dtype) if is_uniform else jnp.asarray(value)


def _holds_one_number(flat: NDArray[Any]) -> bool:
    """Whether all elements of a line have the same bits: compared by words, as bytes take many times as long."""
    word = next(name for name in ("u8", "u4", "u2", "u1") if flat.itemsize % np.dtype(name).itemsize == 0)
    words = flat.view(word).reshape(flat.size, -1)
    return all(bool((words[:, place] == words[0, place]).all()) for place in range(words.shape[1]))


def reshaped(value: Any, shape: tuple[int, ...]) -> Any:
    """The value in another shape: NumPy's if it is NumPy's."""
    return value.reshape(shape) if isinstance(value, np.ndarray) else jnp.reshape(value, shape)


def cast_to(value: Any, dtype: np.dtype) -> Any:
    """The value in the dtype, as NumPy casts on assignment (complex to real drops the imaginary part).

    Raises OverflowError for a Python integer that the dtype has not.
    """
    if isinstance(value, list | tuple):
        value = indexing.plain(indexing.as_one_array(value))
    if not isinstance(value, jax.Array):
        return jnp.asarray(np.array(value).astype(dtype) if not isinstance(value, int) else np.array(value, dtype))
    if jnp.issubdtype(value.dtype, jnp.complexfloating) and dtype.kind != "c":
        value = jnp.real(value)
    return value if value.dtype == dtype else value.astype(dtype)


def put(whole: Any, steps: tuple[ViewStep, ...], part: Any) -> Any:
    """`whole` with `part` in the place that a view of these steps shows."""
    if not steps:
        return part
    first, *rest = steps
    if not rest:
        return first.put(whole, part)
    return first.put(whole, put(first.get(whole), tuple(rest), part))


def read_only(headline: str, note: str) -> ArrayValueError:
    """What is said of a write to an array that may not be written."""
    help_ = "write to a copy, a = a.copy(), or to the array that it is a view of"
    return ArrayValueError(Diagnostic("WL0919", headline, notes=(note,), help=help_))


NO_ELEMENTS = "the elements of an array are not known while the function is compiled"
LOOKED_AT = "NumPy, or another library, looks at them here"


def untraceable(headline: str, note: str) -> WindlassError:
    """What is said where elements are asked for that are not known yet."""
    return WindlassError(
        Diagnostic(
            "WL0904",
            headline,
            notes=(note,),
            help="compute with arrays instead, or compile the number in: @windlass.jit(static=...)",
        )
    )


def leaked() -> WindlassError:
    """What is said of an array that is used after the function that it was traced for."""
    return WindlassError(
        Diagnostic(
            "WL0917",
            "an array is used that was traced at another time: it has no value any more",
            notes=("a compiled function kept it outside: in a global, a list or an object",),
            help="return it from the function that makes it, and pass it as an argument",
        )
    )


def unsupported(what: str, help_: str) -> WindlassError:
    """What is said of something that NumPy's arrays can and these can't."""
    return WindlassError(Diagnostic("WL0909", f"{what}: not supported inside wl.jit", help=help_))
