"""Which arguments a value follows from, where it would have to be known while the function is compiled.

Integers and booleans among the arguments can be compiled in. Whether that helps is read off the trace: it does where
the value was computed from such arguments alone.
"""

from __future__ import annotations

import jax

from windlass.frontends.arrays.integers import arguments_behind
from windlass.frontends.arrays.tracing import Tracing


def integers_needed(error: Exception, tracing: Tracing) -> list[int]:
    """The numbers of the arguments whose values have to be known, so that the error does not arise; none where that is
    no help."""
    if tracing.needed is not None:
        return sorted(arguments_behind(tracing.needed, tracing.arguments))
    text = str(error)
    asks_for_values = isinstance(error, jax.errors.JAXTypeError | TypeError) and ("racer" in text or "concrete" in text)
    return sorted(tracing.arguments.values()) if asks_for_values else []
