"""`numba.core.errors`: the exceptions and warnings that programs name.

What Numba says by a TypingError is a `CompilationError` here; warnings are never issued.
"""

from windlass.diagnostics import CompilationError, WindlassError

NumbaError = WindlassError
TypingError = UnsupportedError = LoweringError = CompilationError


class NumbaWarning(Warning):
    """Any of Numba's warnings."""


class NumbaPerformanceWarning(NumbaWarning):
    """A launch that leaves most of a GPU idle."""


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """Something that Numba will do without."""


class NumbaPendingDeprecationWarning(NumbaWarning, PendingDeprecationWarning):
    """Something that Numba may do without."""


class NumbaExperimentalFeatureWarning(NumbaWarning):
    """Something that may change."""
