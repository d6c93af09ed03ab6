"""Running a module through XLA on the CPU, without the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import backend

from windlass.ir import Module
from windlass.stablehlo import export_text
from windlass.stablehlo.private_jax import default_compile_options


def run_through_xla(module: Module, arrays: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """The results of the module's main function, computed by XLA:CPU in the types that the program has."""
    client: Any = backend.get_backend("cpu")
    with jax.enable_x64(True):
        executable = client.compile_and_load(export_text(module), client.local_devices()[:1], default_compile_options())
        device = jax.devices("cpu")[0]
        placed = [jax.device_put(np.asarray(array), device) for array in arrays]
        for array, given in zip(placed, arrays, strict=True):
            assert array.dtype == np.asarray(given).dtype
        found = executable.execute_sharded(placed)
        return [np.asarray(shards[0]) for shards in found.disassemble_into_single_device_arrays()]
