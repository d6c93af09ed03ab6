"""The private parts of JAX that Windlass uses are still there: the first thing to look at when JAX is updated."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jax

import windlass
from windlass.stablehlo.private_jax import default_compile_options, make_context, operation_of

HINT = f"jax {jax.__version__} has moved something private: adapt src/windlass/stablehlo/private_jax.py"


def test_a_context_knows_the_dialects() -> None:
    context = make_context()
    for name in ("stablehlo.add", "chlo.erf", "sdy.mesh", "func.func"):
        assert context.is_registered_operation(name), HINT


def test_the_compile_options_are_those_of_jax() -> None:
    options = default_compile_options()
    assert (options.num_replicas, options.num_partitions) == (1, 1), HINT


def test_what_operations_that_hold_programs_need_is_there() -> None:
    from jax._src import ad_util, core, dispatch, effects, source_info_util
    from jax._src.interpreters import ad, batching, mlir, partial_eval

    needed: dict[Any, str] = {
        core: "Primitive ClosedJaxpr ShapedArray positional_effects eqn_effects jaxpr_as_fun jaxpr_const_args "
        "new_jaxpr_eqn",
        ad_util: "Zero zeros_like_aval",
        dispatch: "apply_primitive",
        effects: "ordered_effects partial_eval_kept_effects",
        source_info_util: "current",
        ad: "primitive_jvps primitive_transposes jvp_jaxpr is_undefined_primal",
        batching: "fancy_primitive_batchers batch_jaxpr2",
        mlir: "register_lowering lower_jaxpr_to_fun ir_constants TokenSet LoweringParameters core_call_lowering",
        partial_eval: "custom_partial_eval_rules partial_eval_jaxpr_custom_rules closed_call_partial_eval_custom_rule "
        "dce_rules dce_jaxpr partial_eval_jaxpr_nounits_fwd JaxprTracer PartialVal new_eqn_recipe EffectHandle "
        "has_effects",
    }
    for module, names in needed.items():
        for name in names.split():
            assert hasattr(module, name), f"{module.__name__}.{name}: {HINT}"


def test_what_equations_with_derivative_rules_need_is_there() -> None:
    from jax._src import ad_util, core, custom_derivatives, source_info_util
    from jax._src.interpreters import ad

    needed: dict[Any, str] = {
        ad: "custom_lin_p jvp_jaxpr",
        ad_util: "stop_gradient_p",
        core: "Jaxpr Var new_jaxpr_eqn jaxpr_as_fun",
        custom_derivatives: "custom_jvp_call_p custom_vjp_call_p linear_call_p",
        source_info_util: "register_exclusion",
    }
    for module, names in needed.items():
        for name in names.split():
            assert hasattr(module, name), f"{module.__name__}.{name}: {HINT}"


def test_private_modules_are_imported_in_one_file_only() -> None:
    root = Path(windlass.__file__).parent
    users = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"^\s*(from|import) (jax\._src|jaxlib\._jax)", path.read_text(), re.MULTILINE)
    }
    assert users == {"stablehlo/private_jax.py"}


def test_what_a_traced_value_was_computed_from_is_known() -> None:
    def function(x: Any, n: Any) -> Any:
        name, (one, two) = operation_of(jax.lax.add(x, n)) or ("", [None, None])
        assert (name, one is x, two is n, operation_of(x)) == ("add", True, True, None)
        _, (_, three) = operation_of(jax.lax.add(x, 3)) or ("", [None, None])
        assert operation_of(three) == ("constant", [3])
        return x

    jax.jit(function).trace(1, 2)
