"""Putting a finished StableHLO module into the module that JAX is building."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

ENTRY = "main"
CALLBACK, SETTINGS, NUMBER = "_python_", "mhlo.backend_config", "index"
"""How JAX lowers a call of a Python function: what its custom call's name holds, and where its number is."""


def embed_module(
    context: Any, symbol: str, read: Callable[[], bytes], arguments: Sequence[Any], callbacks: Sequence[Any] = ()
) -> list[Any]:
    """Call the module's `main` on MLIR values in a JAX lowering, merging the module in at the first call.

    `context` is JAX's lowering rule context; `symbol` names the program in the merged module and must be unique to it;
    `read` gives the module as MLIR bytecode. `callbacks` are the Python functions that the module calls by number.
    """
    module_context = context.module_context
    table = module_context.symbol_table
    if symbol in table:
        results = list(table[symbol].type.results)
        return list(func.CallOp(results, ir.FlatSymbolRefAttr.get(symbol), list(arguments)).results)
    module = ir.Module.parse(read(), module_context.context)
    entry: Any = next(
        each for each in module.body.operations if each.operation.name == "func.func" and _name_of(each) == ENTRY
    )
    results = list(entry.type.results)
    if callbacks:
        _add_callbacks(module_context, module, callbacks)
    merged = mlir.merge_mlir_modules(module_context.module, symbol, module, dst_symtab=table)
    return list(func.CallOp(results, ir.FlatSymbolRefAttr.get(merged), list(arguments)).results)


def _add_callbacks(module_context: Any, module: Any, callbacks: Sequence[Any]) -> None:
    """Hand the functions over to JAX, and number the module's calls as JAX counts them."""
    first = len(module_context.host_callbacks)
    for callback in callbacks:
        module_context.add_host_callback(callback)

    def renumber(op: Any) -> Any:
        if op.name == "stablehlo.custom_call" and CALLBACK in str(op.attributes["call_target_name"]):
            settings = ir.DictAttr(op.attributes[SETTINGS])
            number = ir.IntegerAttr(settings[NUMBER])
            entries = {each.name: each.attr for each in settings}
            entries[NUMBER] = ir.IntegerAttr.get(number.type, number.value + first)
            op.attributes[SETTINGS] = ir.DictAttr.get(entries)
        return ir.WalkResult.ADVANCE

    with module_context.context:
        module.operation.walk(renumber)


def _name_of(function: Any) -> str:
    return ir.StringAttr(function.attributes["sym_name"]).value
