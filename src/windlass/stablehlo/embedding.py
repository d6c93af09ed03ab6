"""Putting a finished StableHLO module into the module that JAX is building."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

ENTRY = "main"
FRONTEND_ATTRIBUTES = "mhlo.frontend_attributes"


def embed_module(context: Any, symbol: str, text: str | bytes, arguments: Sequence[Any]) -> list[Any]:
    """Call the module's `main` on MLIR values in a JAX lowering, merging the module in at the first call.

    `context` is JAX's lowering rule context; `symbol` names the program in the merged module and must be unique to it.
    """
    module_context = context.module_context
    table = module_context.symbol_table
    if symbol in table:
        results = list(table[symbol].type.results)
        return list(func.CallOp(results, ir.FlatSymbolRefAttr.get(symbol), list(arguments)).results)
    module = ir.Module.parse(text, module_context.context)
    if "cpu" not in module_context.platforms:
        _let_inline(module)
    entry: Any = next(
        each for each in module.body.operations if each.operation.name == "func.func" and _name_of(each) == ENTRY
    )
    results = list(entry.type.results)
    merged = mlir.merge_mlir_modules(module_context.module, symbol, module, dst_symtab=table)
    return list(func.CallOp(results, ir.FlatSymbolRefAttr.get(merged), list(arguments)).results)


def _name_of(function: Any) -> str:
    return ir.StringAttr(function.attributes["sym_name"]).value


def _let_inline(module: Any) -> None:
    """Drop what keeps calls from being inlined: it is for XLA:CPU, and other compilers may not know calls at all."""

    def visit(operation: Any) -> Any:
        if operation.name == "func.call" and FRONTEND_ATTRIBUTES in operation.attributes:
            del operation.attributes[FRONTEND_ATTRIBUTES]
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
