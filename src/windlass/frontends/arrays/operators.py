"""Operators and methods of arrays that are functions of NumPy, and what is said of methods that there are not."""

from __future__ import annotations

import inspect
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import ArrayAttributeError, Diagnostic
from windlass.frontends.arrays.array import Array, as_python_number, is_python_number
from windlass.frontends.arrays.tracing import current_tracing, is_users, note_needed
from windlass.frontends.arrays.values import unsupported, untraceable


def define_operators(kind: type) -> None:
    """Python's operators of a class of arrays, through NumPy's ufuncs, so that types promote as NumPy's do."""
    binary = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
        "mod": np.remainder, "pow": np.power, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
        "lshift": np.left_shift, "rshift": np.right_shift, "matmul": np.matmul, "divmod": np.divmod,
    }  # fmt: skip
    comparisons = {
        "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "gt": np.greater,
        "ge": np.greater_equal,
    }  # fmt: skip

    def forward(ufunc: Any) -> Any:
        def operate(self: Any, other: Any) -> Any:  # a ufunc itself would not be bound to the array
            return _of_operator(ufunc(self, other), self, other)

        return operate

    def backward(ufunc: Any) -> Any:
        return lambda self, other: _of_operator(ufunc(other, self), other, self)

    def in_place(ufunc: Any) -> Any:
        def update(self: Any, other: Any) -> Any:
            if self.is_scalar:
                return _of_operator(ufunc(self, other), self, other)
            ufunc(self, other, out=self)
            return self

        return update

    for name, ufunc in binary.items():
        setattr(kind, f"__{name}__", forward(ufunc))
        setattr(kind, f"__r{name}__", backward(ufunc))
        setattr(kind, f"__i{name}__", in_place(ufunc))
    for name, ufunc in comparisons.items():
        setattr(kind, f"__{name}__", forward(ufunc))
    for name, ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
        setattr(kind, f"__{name}__", lambda self, ufunc=ufunc: _of_operator(ufunc(self), self))
    setattr(kind, "__hash__", _hashed)  # noqa: B010


def _of_operator(found: Any, *operands: Any) -> Any:
    """What an operator gives: of Python's numbers a number of Python's, which no function of NumPy does."""
    tracing = current_tracing()
    if tracing is None or tracing.has_strong_numbers or not all(map(is_python_number, operands)):
        return found
    if isinstance(found, tuple):
        return tuple(_of_operator(each, *operands) for each in cast("tuple[Any, ...]", found))
    return as_python_number(found.value) if isinstance(found, Array) and found.dtype.kind in "ifc" else found


def _hashed(self: Array) -> int:
    """The hash of a number, as a key or an element of a set has to have it.

    Raises WindlassError (WL0904) where it is traced, TypeError for arrays as NumPy does.
    """
    if not self.is_scalar:
        raise TypeError("unhashable type: 'numpy.ndarray'")
    if self.is_traced:
        note_needed(self.value)
        raise untraceable(
            "a key is not known while the function is compiled", "a dictionary or a set finds a number by its value"
        )
    return hash(_shown(self))


def _define_reductions() -> None:
    for name in (
        "sum", "prod", "mean", "std", "var", "min", "max", "argmin", "argmax", "all", "any", "cumsum", "cumprod",
        "clip", "round", "argsort", "argpartition", "repeat", "take", "trace", "nonzero", "ptp",
        "searchsorted", "choose",
    ):  # fmt: skip
        function = getattr(np, name)
        setattr(Array, name, lambda self, *rest, function=function, **options: function(self, *rest, **options))


# -- methods that write -----------------------------------------------------------------------------------------------


def _partition(self: Array, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    """`a.partition`: sorted, which is a partition at every place."""
    np.partition(np.empty(self.shape[axis], np.int8), kth)  # NumPy says which places there are not
    self.assign(jnp.sort(jnp.asarray(self.value), axis=axis))


def _put(self: Array, indices: Any, values: Any, mode: str = "raise") -> None:
    np.put(cast("Any", self), indices, values, mode=cast("Any", mode))


def _compress(self: Array, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return np.compress(condition, cast("Any", self), axis=axis, out=out)


# -- texts ------------------------------------------------------------------------------------------------------------


def _shown(self: Array) -> Any:
    """The array or number as NumPy's own.

    Raises WindlassError (WL0904) where it is traced.
    """
    value = self.value
    if isinstance(value, Tracer):
        note_needed(value)
        raise untraceable(
            "the text of an array or number is not known while the function is compiled",
            "str, repr or an f-string makes it here",
        )
    return np.asarray(value)[()] if self.is_scalar else np.asarray(value)


def _represented(self: Array) -> str:
    """`repr`: what the user's code asks for is NumPy's."""
    frame = inspect.currentframe()
    asking = None if frame is None else frame.f_back
    if asking is not None and is_users(asking.f_code):
        return repr(_shown(self))
    return f"windlass.{type(self).__name__}({self.value!r})"


METHODS: dict[str, Any] = {
    "__format__": lambda self, form: format(_shown(self), form),
    "__repr__": _represented,
    "__str__": lambda self: str(_shown(self)),
    "compress": _compress,
    "partition": _partition,
    "put": _put,
}

# -- methods that there are not ---------------------------------------------------------------------------------------

OUTSIDE = "do it outside of the compiled function, with what that returns"
UNSUPPORTED = {
    "base": "ask numpy.shares_memory(a, b) whether arrays share elements",
    "byteswap": "swap the bytes outside of the compiled function",
    "ctypes": "pass the array itself to a kernel",
    "data": "use the array itself: it has no address while the function is compiled",
    "dump": OUTSIDE,
    "dumps": OUTSIDE,
    "resize": "make a new array: b = numpy.zeros(shape, a.dtype); b.flat[:a.size] = a.ravel()",
    "to_device": "use the array itself",
    "tobytes": OUTSIDE,
    "tofile": OUTSIDE,
}
"""What NumPy's arrays have and these have not, and what to write instead."""


def _missing(self: Array, name: str) -> Any:
    """Raises ArrayAttributeError (WL0909) for what NumPy's arrays have and these have not."""
    kind = "numbers" if self.is_scalar else "arrays"
    if name in UNSUPPORTED:
        (diagnostic,) = unsupported(f"'{name}' of {kind}", UNSUPPORTED[name]).diagnostics
        raise ArrayAttributeError(diagnostic)
    if name.startswith("_"):
        raise AttributeError(name)
    if hasattr(self.dtype.type if self.is_scalar else np.ndarray, name):
        (diagnostic,) = unsupported(f"'{name}' of {kind}", OUTSIDE).diagnostics
        raise ArrayAttributeError(diagnostic)
    raise ArrayAttributeError(Diagnostic("WL0916", f"NumPy's {kind} have no attribute '{name}'"))


def _define_methods() -> None:
    for name, method in METHODS.items():
        setattr(Array, name, method)
    setattr(Array, "__getattr__", _missing)  # noqa: B010


define_operators(Array)
_define_reductions()
_define_methods()
