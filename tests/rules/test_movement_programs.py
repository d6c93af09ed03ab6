"""What jax.numpy writes with many movements becomes what was meant, and gives the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from windlass.catalogue import catalogue
from windlass.rewriting import rewrite_function
from windlass.stablehlo.lowered import import_lowered
from windlass.stablehlo.program import TensorProgram

x = np.arange(24 * 16, dtype=np.float32).reshape(24, 16)
row = np.arange(16, dtype=np.float32)


def tail(x: Any) -> Any:
    """The last rows of what is computed of all."""
    return jnp.where(jnp.arange(24)[:, None] < 10, 0.0, jnp.tanh(x))[20:]


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], set[str]]] = {
    "rolled there and back": (lambda x: jnp.roll(jnp.roll(x, 3, 1), -3, 1), (x,), set()),
    "shifted there and back": (lambda x: jnp.fft.ifftshift(jnp.fft.fftshift(x)), (x,), set()),
    "rows at regular places": (lambda x: x[jnp.arange(0, 24, 4)], (x,), {"Slice"}),
    "rows backwards": (lambda x: x[jnp.arange(23, -1, -1)], (x,), {"Reverse"}),
    "rows taken with fill": (lambda x: jnp.take(x, jnp.arange(10, 20), axis=0), (x,), {"Slice"}),
    "diagonal by indices": (lambda x: x[jnp.arange(16), 3], (x,), {"Slice"}),
    "neighbouring rows set": (lambda x: x.at[jnp.array([3, 4])].set(0.0), (x,), {"DynamicUpdateSlice"}),
    "rows outside set": (lambda x, row: x.at[99].set(row, mode="drop"), (x, row), set()),
    "halves computed apart": (
        lambda x: jnp.concatenate([jnp.tanh(x[:12]), jnp.tanh(x[12:])]),
        (x,),
        {"Tanh"},
    ),
    "columns computed apart": (lambda x: jnp.stack([x[:, k] * 2 for k in range(16)], 1), (x,), {"Multiply"}),
    "heads apart and back": (
        lambda x: jnp.swapaxes(jnp.swapaxes(x.reshape(24, 4, 4), 1, 2) * 2, 1, 2).reshape(24, 16),
        (x,),
        {"Multiply"},
    ),
    "last rows of all": (tail, (x,), {"Slice", "Tanh"}),
    "masked border cut off": (
        lambda x: jnp.where((jnp.arange(24) % 23 == 0)[:, None], 0.0, x)[1:-1],
        (x,),
        {"Slice"},
    ),
    "padded and cropped": (lambda x: jnp.pad(x, 3)[1:-1, 2:], (x,), {"Pad"}),
    "row of what is computed": (
        lambda x: lax.dynamic_slice(jnp.tanh(x), (jnp.clip(x[0, 5].astype(int), 0, 23), 0), (1, 16)),
        (x,),
        {"Slice", "DynamicSlice", "Tanh"},
    ),
}
FREE = {"Constant", "Return", "Reshape", "BroadcastInDim", "Iota", "Convert", "Clamp"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_becomes_what_was_meant(name: str) -> None:
    written, arguments, expected = PROGRAMS[name]
    module = import_lowered("program", jax.jit(written, keep_unused=True).lower(*arguments))
    ledger = rewrite_function(module.main, catalogue.choose())
    assert ledger.exhausted is None
    assert {type(op).__name__ for op in module.main.body.walk()} - FREE == expected
    placed = [jnp.asarray(argument) for argument in arguments]
    (found,) = TensorProgram(module).jitted()(*placed)
    np.testing.assert_allclose(found, written(*placed), rtol=1e-6)
