"""Whether what Python has written may have to be undone: whether a function may raise, or give anything of another kind
than before, once it has written to its arguments.

It was run before on arguments of the same shapes, types and integers. What it does then is the same from call to call
where no branch, index or shape comes from the numbers in its arrays. So the question is asked of its bytecode: which
names it uses, and where it writes. What is not known here counts as what may fail.
"""

from __future__ import annotations

import dis
from collections.abc import Collection, Iterable, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy as np


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STEADY = _words(
    # of arrays
    "shape ndim size dtype nbytes T mT real imag flat sum mean std var prod max min ptp dot copy reshape ravel "
    "transpose swapaxes squeeze conj conjugate cumsum cumprod trace diagonal flatten "
    # functions that give new arrays
    "add subtract multiply divide true_divide negative positive power square sqrt cbrt exp expm1 log log2 log10 "
    "log1p sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh hypot absolute abs fabs "
    "maximum minimum fmax fmin reciprocal floor ceil trunc rint sign clip "
    "zeros ones empty full zeros_like ones_like empty_like full_like eye identity linspace array asarray "
    "outer inner matmul vdot tensordot einsum kron cov corrcoef triu tril diag median amax amin "
    "concatenate stack vstack hstack column_stack expand_dims broadcast_to atleast_1d atleast_2d moveaxis rollaxis "
    "roll flip fliplr flipud rot90 tile repeat pad diff gradient trapezoid cross fft ifft rfft irfft fft2 ifft2 "
    "float16 float32 float64 complex64 complex128 double newaxis pi e inf nan norm "
    # of lists
    "append"
)
"""Names of what neither raises, nor gives another shape or type, for other numbers in arrays of floats."""

BUILTINS = _words("range len zip enumerate reversed slice sum abs tuple list")
"""The same of Python's own; `max(x[0], 1)` gives now a float, now an integer."""

FAILING = _words("cholesky inv solve lstsq eig eigh eigvals eigvalsh svd svdvals pinv det slogdet qr")
"""Functions of `numpy.linalg`: they may raise, and write nothing."""

_SILENT = FAILING | _words("linalg shape ndim size dtype T real imag float64 float32")
"""Names by which nothing is written."""
_STEPS = _words(
    "RESUME LOAD_FAST LOAD_CONST LOAD_GLOBAL LOAD_ATTR LOAD_METHOD LOAD_SMALL_INT LOAD_FAST_BORROW LOAD_FAST_LOAD_FAST "
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_FAST_CHECK STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST "
    "PRECALL CALL KW_NAMES CALL_KW PUSH_NULL POP_TOP COPY SWAP NOP CACHE NOT_TAKEN EXTENDED_ARG "
    "BINARY_OP BINARY_SUBSCR BINARY_SLICE BUILD_SLICE BUILD_TUPLE BUILD_LIST LIST_APPEND LIST_EXTEND UNPACK_SEQUENCE "
    "UNARY_NEGATIVE STORE_SUBSCR STORE_SLICE RETURN_VALUE RETURN_CONST MAKE_FUNCTION "
    "GET_ITER FOR_ITER END_FOR POP_ITER JUMP_BACKWARD JUMP_FORWARD JUMP_BACKWARD_NO_INTERRUPT"
)
"""Instructions of CPython that do the same whatever the numbers are, where what they work on does."""
_REPEATING = frozenset({"JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
_WRITING = frozenset({"STORE_SUBSCR", "STORE_SLICE"})
_READING = _words("LOAD_FAST LOAD_FAST_BORROW LOAD_CONST LOAD_SMALL_INT PUSH_NULL PRECALL KW_NAMES CACHE")


def may_need_undoing(codes: Collection[CodeType], around: Iterable[tuple[str, Any]], leaves: Sequence[Any]) -> bool:
    """Whether a run may end in an exception, or give another kind of result, after something was written.

    `codes` are those of the function and of all of the user's that it calls, `around` the names that they see from
    around them, with their values; an earlier run took arguments of the same shapes, dtypes and integers as `leaves`.

    >>> def scale(x, y): x *= y.mean()
    >>> may_need_undoing([scale.__code__], (), [np.ones(2), np.ones(2)])
    False
    >>> def pick(x, y): x[0] = 1; x[1] = y[int(x[1])]
    >>> may_need_undoing([pick.__code__], (), [np.ones(2), np.ones(2)])
    True
    """
    if not all(map(_is_steady_argument, leaves)):
        return True
    around = list(around)
    if not all(_is_steady(value, codes) for _, value in around):
        return True
    known = {name for name, _ in around}
    steps = [step for code in codes for step in dis.get_instructions(code)]
    has_written = len(codes) > 1 or any(step.opname in _REPEATING for step in steps)
    is_failing = False
    """Whether a function that may raise is about to be called: its arguments have to be there already."""
    for step in steps:
        kind = step.opname
        if kind not in _STEPS or (is_failing and kind not in _READING and not kind.startswith("CALL")):
            return True
        is_failing = is_failing and not kind.startswith("CALL")
        if kind in ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD"):
            is_failing |= step.argval in FAILING
            if is_failing and has_written:
                return True
            is_global = kind == "LOAD_GLOBAL"
            if step.argval not in ((known | BUILTINS) if is_global else (STEADY | _SILENT)):
                return True
            has_written |= not is_global and step.argval not in _SILENT
        has_written |= kind in _WRITING or (kind == "BINARY_OP" and step.argrepr.endswith("="))
    return False


def _is_steady_argument(leaf: Any) -> bool:
    """Whether it is an array or NumPy's number of floats, which choose nothing, or an integer that is known."""
    if isinstance(leaf, np.ndarray | np.inexact):
        return leaf.dtype.kind in "fc"
    return isinstance(leaf, int | np.integer)


def _is_steady(value: Any, codes: Collection[CodeType]) -> bool:
    """Whether what a function sees from around it is the module `numpy`, one of the user's own functions, or a
    constant."""
    if isinstance(value, FunctionType):
        return value.__code__ in codes
    return value is np or isinstance(value, (int, float, complex, str, type(None), np.generic))


__all__ = ["may_need_undoing"]
