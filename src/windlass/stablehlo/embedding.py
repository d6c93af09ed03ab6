"""Putting a finished StableHLO module into the module that JAX is building."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from windlass.lowering.finishing import Surroundings
from windlass.stablehlo.surrounding_shardings import find_shardings, is_left_to_xla

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


def find_surroundings(
    context: Any, arguments: Sequence[Any], is_whole: bool = False, has_native_form: bool = False
) -> Surroundings:
    """What a JAX lowering, given by its rule's context, tells of where a module for these MLIR values will be."""
    axes = context.module_context.axis_context
    is_partitioned = (getattr(axes, "num_devices", None) or 1) > 1
    computed = tuple(place for place, value in enumerate(arguments) if not _is_in_memory(value))
    shardings = find_shardings(context.module_context.module, arguments) if is_partitioned else ()
    # Polls have no place on many devices: what has an effect can't be divided.
    is_left = is_partitioned and is_left_to_xla()
    is_at_home = has_native_form and may_call_native_code(context.module_context)
    return Surroundings(is_whole and not is_partitioned, is_partitioned, computed, shardings, is_left, is_at_home)


def may_call_native_code(module_context: Any) -> bool:
    """Whether the module that JAX is building runs in this process, on one CPU: it is not exported, and not divided
    by `shard_map` or its kin."""
    is_divided = getattr(module_context.axis_context, "num_devices", None) != 1
    parameters = module_context.lowering_parameters
    is_read = is_read_by_us(module_context)
    is_exported = getattr(parameters, "for_export", True)
    return tuple(module_context.platforms) == ("cpu",) and not (is_divided or is_exported or is_read)


def is_read_by_us(module_context: Any) -> bool:
    """Whether the module that JAX is building is to be read as ours, derived and optimized (`lower_keeping`)."""
    return bool(getattr(module_context.lowering_parameters, "override_lowering_rules", None))


def _is_in_memory(value: Any) -> bool:
    """Whether the value is an argument of the whole program, or a constant."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        function = owner.owner.operation
        visibility = function.attributes.get("sym_visibility", None)
        return function.name == "func.func" and (visibility is None or ir.StringAttr(visibility).value == "public")
    return owner.operation.name == "stablehlo.constant"


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
