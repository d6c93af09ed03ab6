"""How much a program communicates, found by having XLA compile it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jax.sharding import NamedSharding, PartitionSpec

from windlass.communication.counting import count_messages, totals_per_run
from windlass.ir import Module, TensorType
from windlass.ops.shardings import Sharding
from windlass.stablehlo.described_devices import describe_devices
from windlass.stablehlo.embedding import embed_module
from windlass.stablehlo.exporting import export_bytecode

MOST_KNOWN = 512
OPTIONS: dict[str, str | bool] = {"xla_backend_optimization_level": "0"}
"""What is communicated is settled before machine code is made."""

measured_call: Any = Primitive("windlass_measured")
measured_call.multiple_results = True


class Traffic(NamedTuple):
    """What each device receives in a run."""

    bytes: float
    messages: float


UNKNOWN = Traffic(math.inf, math.inf)
_known: dict[Any, Traffic] = {}


def measure_traffic(module: Module, shardings: Sequence[Sharding | None], platform: str) -> Traffic:
    """What each device receives when the program runs on arguments that are divided so.

    Loops of unknown length count as if they went round some times. `UNKNOWN` where XLA doesn't compile the program by
    itself. Where there are fewer devices, they are described.
    """
    types = [value.type for value in (*module.main.arguments, *module.main.results)]
    meshes = {sharding.mesh for sharding in shardings if sharding is not None}
    if len(meshes) != 1 or not all(isinstance(type_, TensorType) for type_ in types):
        return UNKNOWN
    (mesh,) = meshes
    try:
        devices = jax.devices(platform)
    except RuntimeError:
        return UNKNOWN
    if len(devices) < mesh.devices:
        devices = describe_devices(mesh.devices)
    text = export_bytecode(module)
    key = (hashlib.sha256(text).digest(), tuple(shardings), platform)
    if key not in _known:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        grid = np.array(devices[: mesh.devices]).reshape([size for _, size in mesh.axes])
        placed = jax.sharding.Mesh(grid, [name for name, _ in mesh.axes])
        _known[key] = _measure(text, module, shardings, placed)
    return _known[key]


def _measure(text: bytes, module: Module, shardings: Sequence[Sharding | None], mesh: Any) -> Traffic:
    results = tuple((result.shape, str(np.dtype(result.tensor.numpy_dtype))) for result in module.main.results)

    def run(*arguments: Any) -> Any:
        return measured_call.bind(*arguments, text=text, results=results)

    arguments = [
        jax.ShapeDtypeStruct(
            value.shape,
            value.tensor.numpy_dtype,
            sharding=NamedSharding(mesh, PartitionSpec(*(() if sharding is None else sharding.axes))),
        )
        for value, sharding in zip(module.main.arguments, shardings, strict=True)
    ]
    try:
        with jax.enable_x64(True):
            compiled = jax.jit(run).lower(*arguments).compile(OPTIONS)
        return Traffic(*totals_per_run(count_messages(compiled.as_text() or "")))
    except Exception:  # whatever XLA can't compile apart
        return UNKNOWN


def _infer(*_: Any, text: bytes, results: tuple[tuple[tuple[int, ...], str], ...]) -> list[Any]:
    return [ShapedArray(shape, np.dtype(dtype)) for shape, dtype in results]


def _lower(context: Any, *arguments: Any, text: bytes, results: Any) -> list[Any]:
    return embed_module(context, "windlass_measured", lambda: text, arguments)


measured_call.def_abstract_eval(_infer)
mlir.register_lowering(measured_call, _lower, cacheable=False)
