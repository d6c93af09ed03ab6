"""The one file that touches private modules of JAX; a test says plainly when they have moved.

Everything else uses jax's public names and `jaxlib.mlir`. Besides small things it holds `define_call`: an operation of
JAX that stands for a whole traced program, as JAX's own `jit` does, and keeps standing for one under differentiation,
batching and partial evaluation. (The rules are those of jax/_src/pjit.py, without shardings and layouts.)
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.stablehlo.linear_call import linear_call


def make_context() -> Any:
    """A new MLIR context with every dialect that jaxlib knows."""
    from jax._src.interpreters import mlir  # pyright: ignore[reportPrivateImportUsage]

    return mlir.make_ir_context()


def is_started() -> bool:
    """Whether JAX has started XLA, and with it threads."""
    from jax._src import xla_bridge  # pyright: ignore[reportPrivateImportUsage]

    return xla_bridge.backends_are_initialized()


def process_number() -> int:
    """Which of the program's processes this is, as `jax.distributed` was told; XLA is not started for it."""
    from jax._src import distributed  # pyright: ignore[reportPrivateImportUsage]

    return distributed.global_state.process_id


class Store:
    """What all processes of a program can read that one of them has told, as `jax.distributed` keeps it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def put(self, key: str, value: bytes) -> None:
        """Tell it; a key is used once."""
        self._client.key_value_set_bytes(key, value)

    def get(self, key: str, seconds: float) -> bytes | None:
        """What was told under that key; None where nothing is within so many seconds."""
        try:
            return self._client.blocking_key_value_get_bytes(key, int(1000 * seconds))
        except jax.errors.JaxRuntimeError as error:
            if "DEADLINE_EXCEEDED" not in str(error):
                raise
            return None

    def claim(self, key: str) -> bool:
        """Whether this process is the first that claims the key."""
        try:
            self._client.key_value_set(key, "claimed")
        except jax.errors.JaxRuntimeError as error:
            if "ALREADY_EXISTS" not in str(error):
                raise
            return False
        return True


def process_store() -> Store | None:
    """The store of the program's processes; None where they were connected in another way, or there is one."""
    from jax._src import distributed  # pyright: ignore[reportPrivateImportUsage]

    client = distributed.global_state.client
    return None if client is None else Store(client)


def compile_divided_by(obtain: Callable[[str, Callable[[], bytes]], bytes]) -> None:
    """From now on JAX asks `obtain` for the code of programs for CPUs of several processes.

    It is given a digest of the program, the same in all processes, and what compiles it here and gives its code.
    Programs that call functions of this process are compiled here.
    """
    from jax._src import compiler  # pyright: ignore[reportPrivateImportUsage]

    compile_here: Callable[..., Any] = compiler.backend_compile_and_load

    def compile_or_take(backend: Any, module: Any, devices: Any, options: Any, callbacks: Sequence[Any]) -> Any:
        is_divided = len({device.process_index for device in devices}) > 1
        if not is_divided or callbacks or backend.platform != "cpu":
            return compile_here(backend, module, devices, options, callbacks)
        compiled: list[Any] = []

        def compile_and_write() -> bytes:
            compiled.append(compile_here(backend, module, devices, options, callbacks))
            return backend.serialize_executable(compiled[0])

        text: str = module.operation.get_asm(large_elements_limit=None, enable_debug_info=False)
        places = [device.id for device in devices]
        digest = hashlib.sha256(f"{places} {options.SerializeAsString()!r} {text}".encode()).hexdigest()
        content = obtain(digest, compile_and_write)
        return compiled[0] if compiled else backend.deserialize_executable(content, devices, options)

    compiler.backend_compile_and_load = compile_or_take


def default_compile_options() -> Any:
    """The options with which JAX compiles for one device: XLA's own defaults drop NaN in minimum and maximum."""
    from jax._src import compiler  # pyright: ignore[reportPrivateImportUsage]

    return compiler.get_compile_options(num_replicas=1, num_partitions=1)


def name_lines_of_users() -> None:
    """Let what JAX traces have the line of the user's code that led to it, not one of ours."""
    from jax._src import source_info_util  # pyright: ignore[reportPrivateImportUsage]

    source_info_util.register_exclusion(f"{Path(__file__).absolute().parents[1]}{os.sep}")


def hold_weakly(parameter: type) -> None:
    """Let JAX's caches hold parameters of this type weakly, where they have that: else the last 2,048 stay alive."""
    from jax._src import util  # pyright: ignore[reportPrivateImportUsage]

    known: set[type] | None = getattr(util, "weakref_cache_key_types", None)
    if known is not None:
        known.add(parameter)


def registered_targets(platform: str) -> frozenset[str]:
    """The custom calls that have been registered for the devices of a platform ("cpu", "gpu")."""
    from jaxlib import xla_client

    return frozenset(xla_client.custom_call_targets({"cpu": "Host", "gpu": "CUDA"}.get(platform, platform)))


def initialize_lapack() -> None:
    """Let jaxlib find its LAPACK routines: JAX does so when it lowers a call of one, and before that they crash."""
    from jax._src.lax import linalg  # pyright: ignore[reportPrivateImportUsage]

    linalg.initialize_lapack()


def weakly_typed(value: Any, dtype: Any) -> Any:
    """The value in the dtype, promoted as a number of Python is."""
    from jax._src.lax import lax  # pyright: ignore[reportPrivateImportUsage]

    return lax._convert_element_type(value, dtype, weak_type=True)  # pyright: ignore[reportPrivateUsage]


def make_cpu_client(address: str, others: Sequence[bytes]) -> Any:
    """A client of XLA for one device of this CPU, and for the devices of other processes, as these describe them.

    `address` is one of gRPC's that is free; it is left again. What is compiled for all can't run.
    """
    from jax._src.lib import _jax  # pyright: ignore[reportPrivateImportUsage, reportPrivateUsage]

    service = _jax.get_distributed_runtime_service(address, 1)
    told = _jax.get_distributed_runtime_client(address, 0, init_timeout=60)
    told.connect()
    for number, description in enumerate(others, 1):
        told.key_value_set_bytes(f"cpu:local_topology/cpu/{number}", description)
    client = _jax.get_tfrt_cpu_client(
        distributed_client=told,
        node_id=0,
        num_nodes=len(others) + 1,
        num_devices=1,
        collectives=_jax.make_gloo_tcp_collectives(distributed_client=told),
    )
    told.shutdown()
    service.shutdown()
    return client


# -- programs that XLA compiled ---------------------------------------------------------------------------------------


def is_of_arrays_alone(compiled: Any) -> bool:
    """Whether a compiled function takes all its arguments, on one device, and calls nothing of Python's."""
    inner = compiled._executable._unloaded_executable
    # Not of `input_avals`: those are of the arguments that XLA takes.
    takes_all = inner.kept_var_idx == set(range(compiled.in_tree.num_leaves))
    is_one = len(inner.device_list) == 1 and not inner.committed and inner.mut is None
    return takes_all and is_one and not (inner.host_callbacks or inner.ordered_effects or inner.unordered_effects)


def load_executable(content: bytes, name: str, arguments: Sequence[Any], results: Sequence[Any]) -> Callable[..., Any]:
    """A function of arrays of these types, given as `jax.ShapeDtypeStruct`, to a list: what XLA compiled and its client
    wrote as bytes, for JAX's one device.

    It is machine code, and runs as such: the bytes have to be what this user wrote.
    """
    from jax._src import core  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.interpreters import pxla  # pyright: ignore[reportPrivateImportUsage]
    from jaxlib import xla_client

    device = jax.devices()[0]
    devices = xla_client.DeviceList((device,))
    place = jax.sharding.SingleDeviceSharding(device)
    taken, given = ([core.ShapedArray(each.shape, each.dtype) for each in types] for types in (arguments, results))
    unloaded = pxla.UnloadedMeshExecutable(
        xla_executable=device.client.deserialize_executable(content, devices, None),
        device_list=devices,
        backend=device.client,
        input_avals=taken,
        input_shardings=[place] * len(taken),
        output_avals=given,
        output_shardings=[place] * len(given),
        committed=False,
        name=name,
        unordered_effects=[],
        ordered_effects=[],
        keepalive=(),
        host_callbacks=(),
        kept_var_idx=set(range(len(taken))),
        mut=None,
        xla_in_layouts=[None] * len(taken),
        dispatch_in_layouts=[None] * len(taken),
        xla_out_layouts=[None] * len(given),
        all_args_info=None,
        pgle_profiler=None,
    )
    structure = jax.tree.structure([0] * len(given))
    return jax.stages.Compiled(unloaded.load(), [], (tuple(arguments), {}), structure, no_kwargs=True)


# -- traced programs --------------------------------------------------------------------------------------------------


def trace(function: Callable[..., Any], *arguments: Any) -> tuple[Any, Any]:
    """The function of arrays as a closed jaxpr, and the structure of its result with shapes for leaves.

    Constants of the closed jaxpr may be tracers of traces around it.
    """
    return jax.make_jaxpr(function, return_shape=True)(*arguments)


def linearize_with(call: Any, rule: Callable[..., Any]) -> None:
    """Have JAX ask a rule where it takes an operation apart into values and a linear function of tangents.

    It is given whether that function is only to be transposed, which arguments vary, and the arguments; it gives
    results, which of these vary, what it keeps, and the function of that and tangents.
    """
    from jax._src.interpreters import ad  # pyright: ignore[reportPrivateImportUsage]

    def with_structured(*given: Any, **settings: Any) -> Any:
        *results, kept, apply = rule(*given, **settings)
        return *results, kept, None, lambda kept, _, *tangents: apply(kept, *tangents)

    # JAX 0.11 lets rules keep trees beside lists of arrays.
    ad.primitive_linearizations[call] = rule if jax.__version_info__ < (0, 11) else with_structured


def linearize_by_tangents(call: Any, is_vjp: bool, nonzeros: Sequence[bool], *primals: Any, **settings: Any) -> Any:
    """What JAX does with an operation that says of its derivatives no more than its tangents."""
    from jax._src.interpreters import ad  # pyright: ignore[reportPrivateImportUsage]

    found: Any = ad.fallback_linearize_rule(call, is_vjp, nonzeros, *primals, **settings)
    if jax.__version_info__ < (0, 11):
        return found
    *results, kept, structured, apply = found
    return *results, kept, lambda kept, *tangents: apply(kept, structured, *tangents)


def is_tracer(value: Any) -> bool:
    """Whether a value is known only while something is traced."""
    return isinstance(value, Tracer)


def constants_as_arguments(closed: Any, chosen: Callable[[Any], bool]) -> tuple[list[Any], Any]:
    """The closed jaxpr with the chosen of its constants as arguments before the others; and these constants."""
    from jax._src import core  # pyright: ignore[reportPrivateImportUsage]

    jaxpr = closed.jaxpr
    picks = [chosen(value) for value in closed.consts]
    if not any(picks):
        return [], closed
    variables = [each for each, pick in zip(jaxpr.constvars, picks, strict=True) if pick]
    values = [each for each, pick in zip(closed.consts, picks, strict=True) if pick]
    info = jaxpr.debug_info
    names = getattr(info, "arg_names", None)
    if names is not None:
        info = info._replace(arg_names=(*(["?"] * len(variables)), *names))
    opened = jaxpr.replace(
        constvars=[each for each, pick in zip(jaxpr.constvars, picks, strict=True) if not pick],
        invars=[*variables, *jaxpr.invars],
        effects=jaxpr.effects,
        debug_info=info,
    )
    rest = [each for each, pick in zip(closed.consts, picks, strict=True) if not pick]
    return values, core.ClosedJaxpr(opened, rest)


def is_plain(closed: Any) -> bool:
    """Whether the program takes, holds and gives arrays only: no references to be written to."""
    from jax._src import core  # pyright: ignore[reportPrivateImportUsage]

    jaxpr = closed.jaxpr
    if getattr(jaxpr, "is_high", False):
        return False
    values = (*jaxpr.invars, *jaxpr.constvars, *jaxpr.outvars)
    return all(isinstance(each.aval, core.ShapedArray) for each in values)


def has_loops_of_unknown_length(program: Any) -> bool:
    """Whether a jaxpr has loops that carry floats and go round until data say so, outside of derivative rules."""
    from jax._src import core  # pyright: ignore[reportPrivateImportUsage]

    for equation in getattr(program, "jaxpr", program).eqns:
        name: str = equation.primitive.name
        dtypes = [each.aval.dtype for each in equation.outvars]
        if name == "while" and any(jax.numpy.issubdtype(dtype, jax.numpy.inexact) for dtype in dtypes):
            return True
        inner = core.jaxprs_in_params(equation.params)
        if not name.startswith("custom_") and any(map(has_loops_of_unknown_length, inner)):
            return True
    return False


def traced_again(closed: Any) -> Any:
    """A closed jaxpr as what `jax.jit(...).trace(...)` gives for it; it takes all arguments."""
    from jax._src import core  # pyright: ignore[reportPrivateImportUsage]

    return _traced_for(core.jaxpr_as_fun(closed), closed.in_avals)


# -- an operation that stands for a traced program --------------------------------------------------------------------


_defined_calls: list[Any] = []


def define_call(name: str, lower: Callable[..., Any]) -> Any:
    """A new operation, bound as `call.bind(*arrays, jaxpr=closed, **settings)`; `settings` must be hashable.

    Under `jvp`, `vmap`, `vjp` and partial evaluation it becomes the same operation with the same settings on the
    changed program. `lower(context, *values, jaxpr, **settings)` gives MLIR values in a lowering.
    """
    from jax._src import core, dispatch  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.interpreters import (  # pyright: ignore[reportPrivateImportUsage]
        ad,
        batching,
        mlir,
        partial_eval,
    )

    call: Any = core.Primitive(name)
    _defined_calls.append(call)
    call.multiple_results = True
    call.is_effectful = lambda parameters: bool(parameters["jaxpr"].effects)
    call.def_impl(partial(dispatch.apply_primitive, call))
    call.def_effectful_abstract_eval(_infer_types)
    ad.primitive_jvps[call] = partial(_push_forward, call)
    ad.primitive_transposes[call] = partial(_transpose, call)
    batching.fancy_primitive_batchers[call] = partial(_batch, call)
    partial_eval.custom_partial_eval_rules[call] = partial(_evaluate_partly, call)
    split: Any = partial(partial_eval.closed_call_partial_eval_custom_rule, "jaxpr", _keep_parameters)
    partial_eval.partial_eval_jaxpr_custom_rules[call] = split
    partial_eval.dce_rules[call] = _drop_unused
    mlir.register_lowering(call, lower, cacheable=False)
    return call


def _infer_types(*_: Any, jaxpr: Any, **__: Any) -> tuple[Any, Any]:
    from jax._src import core  # pyright: ignore[reportPrivateImportUsage]

    return jaxpr.out_avals, core.positional_effects(jaxpr)


def _push_forward(call: Any, primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Any, **settings: Any) -> Any:
    """Forward derivatives: the program that computes values and those tangents that are not zero by structure."""
    from jax._src.ad_util import Zero  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.interpreters import ad  # pyright: ignore[reportPrivateImportUsage]

    moves = [type(each) is not Zero for each in tangents]
    both, moved = ad.jvp_jaxpr(jaxpr, moves, instantiate=False)
    given = [each for each, moving in zip(tangents, moves, strict=True) if moving]
    results = call.bind(*primals, *given, jaxpr=both, **settings)
    count = len(jaxpr.out_avals)
    rest = iter(results[count:])
    news = [
        next(rest) if moving else Zero(aval.to_tangent_aval())
        for aval, moving in zip(jaxpr.out_avals, moved, strict=True)
    ]
    return results[:count], news


def _batch(call: Any, axis: Any, values: Sequence[Any], places: Sequence[Any], *, jaxpr: Any, **settings: Any) -> Any:
    from jax._src.interpreters import batching  # pyright: ignore[reportPrivateImportUsage]

    batched, results = batching.batch_jaxpr2(jaxpr, axis, tuple(places))
    return call.bind(*values, jaxpr=batched, **settings), results


def _transpose(call: Any, cotangents: Sequence[Any], *arguments: Any, jaxpr: Any, **settings: Any) -> list[Any]:
    """Reverse derivatives: the program is linear in the arguments that are unknown; its transpose is traced."""
    from jax._src import core  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.ad_util import Zero, zeros_like_aval  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.interpreters import ad  # pyright: ignore[reportPrivateImportUsage]

    is_linear = [ad.is_undefined_primal(each) for each in arguments]
    known = [each for each, linear in zip(arguments, is_linear, strict=True) if not linear]
    unknown = [each.aval for each in arguments if ad.is_undefined_primal(each)]
    present = [type(each) is not Zero for each in cotangents]
    given = [each for each, here in zip(cotangents, present, strict=True) if here]
    zeros = [None if here else each.aval for each, here in zip(cotangents, present, strict=True)]
    apply = core.jaxpr_as_fun(jaxpr)

    def transposed(known: Sequence[Any], given: Sequence[Any]) -> Any:
        def linear_part(*linear: Any) -> Any:
            of_linear, of_known = iter(linear), iter(known)
            return apply(*(next(of_linear) if each else next(of_known) for each in is_linear))

        rest = iter(given)
        full = [next(rest) if aval is None else zeros_like_aval(aval) for aval in zeros]
        return jax.linear_transpose(linear_part, *unknown)(full)

    closed, _ = trace(transposed, known, given)
    constants, closed = constants_as_arguments(closed, is_tracer)
    found = iter(call.bind(*constants, *known, *given, jaxpr=closed, **settings))
    return [next(found) if linear else None for linear in is_linear]


def _evaluate_partly(call: Any, tracing: Any, *tracers: Any, jaxpr: Any, **settings: Any) -> list[Any]:
    """The program split in two: what follows from the known arguments is computed now, the rest is staged."""
    from jax._src import core, source_info_util  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.interpreters import partial_eval as pe  # pyright: ignore[reportPrivateImportUsage]

    is_known = [each.pval.is_known() for each in tracers]
    now, later, is_later, residual_types, forwarded = pe.partial_eval_jaxpr_nounits_fwd(
        jaxpr, [not known for known in is_known], instantiate=False
    )
    inputs = [each.pval.get_known() for each in tracers if each.pval.is_known()]
    computed = call.bind(*inputs, jaxpr=now, **settings)
    count = len(computed) - len(residual_types)
    fresh = iter(computed[count:])
    available = [*jaxpr.consts, *inputs]
    residuals = [next(fresh) if place is None else available[place] for place in forwarded]
    staged = [*map(tracing.new_instantiated_const, residuals), *(each for each in tracers if not each.pval.is_known())]
    results = [pe.JaxprTracer(tracing, pe.PartialVal.unknown(aval), None) for aval in later.out_avals]
    recipe = pe.new_eqn_recipe(
        tracing,
        staged,
        results,
        call,
        dict(settings, jaxpr=later),
        core.positional_effects(later),
        source_info_util.current(),
    )
    for each in results:
        each.recipe = recipe
    if later.effects:
        from jax._src import effects  # pyright: ignore[reportPrivateImportUsage]

        if effects.partial_eval_kept_effects.filter_in(later.effects):
            tracing.effect_handles.append(pe.EffectHandle(staged, recipe))
    of_now, of_later = iter(computed[:count]), iter(results)
    return [next(of_later) if unknown else next(of_now) for unknown in is_later]


def _keep_parameters(*given: Any) -> tuple[Any, Any]:
    """The settings of both halves under `jax.checkpoint` are those of the whole."""
    *_, known, staged = given
    return known, staged


def _drop_unused(used: list[bool], equation: Any) -> tuple[list[bool], Any]:
    """Results that nobody wants are not computed, and arguments that nobody needs are not taken."""
    from jax._src import core  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.interpreters import partial_eval as pe  # pyright: ignore[reportPrivateImportUsage]

    if not any(used) and not pe.has_effects(equation):
        return [False] * len(equation.invars), None
    closed = equation.params["jaxpr"]
    smaller, needed = pe.dce_jaxpr(closed.jaxpr, tuple(used))
    if not any(needed) and not any(used) and not smaller.effects:
        return list(needed), None
    inputs = [each for each, keep in zip(equation.invars, needed, strict=True) if keep]
    reduced = core.ClosedJaxpr(smaller, closed.consts)
    replaced = core.new_jaxpr_eqn(
        inputs,
        [each for each, keep in zip(equation.outvars, used, strict=True) if keep],
        equation.primitive,
        dict(equation.params, jaxpr=reduced),
        core.eqn_effects(reduced, inputs),
        equation.source_info,
        equation.ctx,
    )
    return list(needed), replaced


# -- equations that keep the derivatives that JAX knows --------------------------------------------------------------


def lower_keeping(traced: Any) -> tuple[Any, dict[str, KeptEquation]]:
    """A traced program as JAX lowers it, but for equations that have derivatives of their own: those of `custom_jvp`,
    `custom_vjp` and `stop_gradient`, and of solvers. They are calls of functions; the equations, by these functions.
    """
    from jax._src.interpreters import mlir  # pyright: ignore[reportPrivateImportUsage]

    kept: dict[str, KeptEquation] = {}

    def rule_for(primitive: Any, count_known: Callable[..., int] | None) -> tuple[Any, Callable[..., Any]]:
        def lower(context: Any, *values: Any, **parameters: Any) -> Any:
            equation = KeptEquation(context, primitive, parameters, count_known)
            name, results = equation.lower_as_call(context, values)
            if equation.takes_floats:
                kept[name] = equation
            return results

        return primitive, lower

    rules: Any = (
        *(rule_for(*each) for each in _primitives_with_rules()),
        *((call, _lower_as_part) for call in _defined_calls),
    )
    return traced.lower(_private_parameters=mlir.LoweringParameters(override_lowering_rules=rules)), kept


def _lower_as_part(context: Any, *values: Any, jaxpr: Any, **_: Any) -> Any:
    """A traced program as a part of the one around it, in which equations are kept too."""
    from jax._src.interpreters import mlir  # pyright: ignore[reportPrivateImportUsage]

    return mlir.core_call_lowering(context, *values, name="part", call_jaxpr=jaxpr)


def _primitives_with_rules() -> list[tuple[Any, Callable[..., int] | None]]:
    """The primitives whose derivative is not that of what they are lowered to.

    Of those that are linear in their last operands the parameters tell how many operands come before these.
    """
    from jax._src import ad_util, custom_derivatives  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.interpreters import ad  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.lax import linalg  # pyright: ignore[reportPrivateImportUsage]

    return [
        (ad_util.stop_gradient_p, None),
        (custom_derivatives.custom_jvp_call_p, None),
        (custom_derivatives.custom_vjp_call_p, None),
        (custom_derivatives.linear_call_p, lambda num_callee_consts, num_res, **_: num_callee_consts + num_res),
        (ad.custom_lin_p, lambda num_res, **_: num_res),
        (linear_call, lambda rule, **_: rule.known),
        (jax.lax.clamp_p, None),  # at its limits it has another derivative than the minimum and maximum that it is
        (jax.lax.linear_solve_p, lambda const_lengths, **_: sum(const_lengths)),
        # What LAPACK does has its derivatives in JAX: Giles, "Collected matrix derivative results", 2008.
        *((primitive, None) for primitive in (linalg.cholesky_p, linalg.eig_p, linalg.eigh_p, linalg.lu_p)),
        *((primitive, None) for primitive in (linalg.qr_p, linalg.svd_p)),
        (linalg.triangular_solve_p, lambda **_: 1),
        (linalg.tridiagonal_solve_p, lambda **_: 3),
    ]


class KeptEquation:
    """An equation of a traced program whose derivative JAX knows.

    `linear` are the operands in which it is linear. `can_run` is false for what is only there to be transposed: JAX
    puts it where a function of `custom_vjp` is differentiated. `can_be_shared` is false where a rule need not be linear
    in cotangents.
    """

    def __init__(
        self, context: Any, primitive: Any, parameters: dict[str, Any], count_known: Callable[..., int] | None
    ) -> None:
        from jax._src import core  # pyright: ignore[reportPrivateImportUsage]
        from jax._src.custom_derivatives import custom_vjp_call_p  # pyright: ignore[reportPrivateImportUsage]
        from jax._src.interpreters import ad  # pyright: ignore[reportPrivateImportUsage]

        operands, results = list(map(core.Var, context.avals_in)), list(map(core.Var, context.avals_out))
        inner = parameters.get("call_jaxpr")
        effects = set() if inner is None else inner.effects
        equation = core.new_jaxpr_eqn(operands, results, primitive, parameters, effects)
        self._closed: Any = core.ClosedJaxpr(core.Jaxpr((), operands, results, [equation], effects), ())
        self._is_wide = jax.config.read("jax_enable_x64")
        self.takes_floats = any(jax.numpy.issubdtype(each.dtype, jax.numpy.inexact) for each in context.avals_in)
        self.can_run = primitive is not ad.custom_lin_p
        self.can_be_shared = self.can_run and primitive is not custom_vjp_call_p
        information = getattr(parameters.get("bwd", getattr(inner, "jaxpr", None)), "debug_info", None)
        self.name: str = getattr(information, "func_name", primitive.name)
        count = len(operands)
        self.linear = frozenset(range(count if count_known is None else count_known(**parameters), count))

    def lower_as_call(self, context: Any, values: Sequence[Any]) -> tuple[str, list[Any]]:
        """A new function in the module that JAX is building, and what a call of it gives: its name, and the results."""
        from jax._src import core, effects  # pyright: ignore[reportPrivateImportUsage]
        from jax._src.interpreters import mlir  # pyright: ignore[reportPrivateImportUsage]
        from jaxlib.mlir import ir

        closed = self._closed
        if effects.ordered_effects.filter_in(closed.effects):
            raise WindlassError(
                Diagnostic(
                    "WL0909",
                    f"{self.name} has a derivative rule and effects in order: that is not supported inside wl.jit",
                    help="leave out ordered=True",
                )
            )
        if not self.can_run:
            types = list(map(_as_lowered, closed.out_avals))
            closed, _ = trace(lambda *_: [jax.numpy.zeros(each.shape, each.dtype) for each in types], *closed.in_avals)
        # Nobody differentiates what it does: within, nothing is kept.
        inner = context.module_context.replace(
            lowering_parameters=mlir.LoweringParameters(), lowering_cache={}, cached_primitive_lowerings={}
        )
        constants = core.jaxpr_const_args(closed.jaxpr)
        function = _lower_to_function(inner, f"kept_{self.name}", closed, (), [aval for _, aval in constants])
        hoisted = [
            mlir.ir_constants(value, const_lowering=context.const_lowering, aval=aval) for value, aval in constants
        ]
        name = ir.StringAttr(function.attributes["sym_name"]).value
        results = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
        callee = ir.FlatSymbolRefAttr.get(name)
        called = ir.Operation.create("func.call", results, _flat((*hoisted, *values)), attributes={"callee": callee})
        return name, list(called.results)

    def pushforward(self, changing: Sequence[bool]) -> tuple[Any, list[bool]]:
        """A traced program of all operands and of the tangents of those that change: it gives the results and the
        tangents of those that change, as is said of each."""
        from jax._src import core  # pyright: ignore[reportPrivateImportUsage]
        from jax._src.interpreters import ad  # pyright: ignore[reportPrivateImportUsage]

        with jax.enable_x64(self._is_wide):
            both, changes = ad.jvp_jaxpr(self._closed, list(changing), instantiate=False)
            return _traced_for(core.jaxpr_as_fun(both), both.in_avals), list(changes)

    def transposed(self) -> Any:
        """A traced program of the other operands and of the cotangents of the results: it gives the cotangents of the
        operands in which the equation is linear."""
        from jax._src import core  # pyright: ignore[reportPrivateImportUsage]

        types = self._closed.in_avals
        apply = core.jaxpr_as_fun(self._closed)
        known = [each for place, each in enumerate(types) if place not in self.linear]
        unknown = [each for place, each in enumerate(types) if place in self.linear]
        floats = [jax.numpy.issubdtype(each.dtype, jax.numpy.inexact) for each in self._closed.out_avals]

        def transpose(*values: Any) -> Any:
            cotangents = values[len(known) :]

            def linear_part(*linear: Any) -> list[Any]:
                of_known, of_linear = iter(values), iter(linear)
                found = apply(
                    *(next(of_linear) if place in self.linear else next(of_known) for place in range(len(types)))
                )
                return [each for each, is_float in zip(found, floats, strict=True) if is_float]

            given = [each for each, is_float in zip(cotangents, floats, strict=True) if is_float]
            return list(jax.linear_transpose(linear_part, *unknown)(given))

        with jax.enable_x64(self._is_wide):
            return _traced_for(transpose, [*known, *self._closed.out_avals])


def _as_lowered(type_: Any) -> Any:
    """The type of arrays that stand for those of a type: for tangents of integers, which have no values, booleans."""
    is_empty = type_.dtype == jax.dtypes.float0
    return jax.ShapeDtypeStruct(type_.shape, bool if is_empty else type_.dtype)


def _traced_for(function: Callable[..., Any], types: Sequence[Any]) -> Any:
    """The function of arrays of these types as `jax.jit` traces it; it takes all arguments."""
    return jax.jit(function, keep_unused=True).trace(*map(_as_lowered, types))


# -- the lowering of programs apart -----------------------------------------------------------------------------------


class LoweredApart:
    """A traced program lowered into a module of its own, within the lowering of another one.

    Callbacks, channels and shardings are those of the lowering around it, so the module can be merged into it.
    `module` is a `jaxlib.mlir.ir.Module` whose entry is the function called `main`; `operands` are the MLIR values that
    the entry takes; `results` splits what it gives into values, and notes the tokens of ordered effects.
    """

    def __init__(self, context: Any, values: Sequence[Any], jaxpr: Any) -> None:
        from jax._src import core, effects  # pyright: ignore[reportPrivateImportUsage]
        from jax._src.interpreters import mlir  # pyright: ignore[reportPrivateImportUsage]
        from jaxlib.mlir import ir

        outer = context.module_context
        self._context = context
        self._effects = tuple(effects.ordered_effects.filter_in(jaxpr.effects))
        self.module = ir.Module.create(ir.Location.unknown(outer.context))
        inner = outer.replace(
            module=self.module,
            ip=ir.InsertionPoint(self.module.body),
            symbol_table=ir.SymbolTable(self.module.operation),
            lowering_cache={},
            cached_primitive_lowerings={},
        )
        constants = core.jaxpr_const_args(jaxpr.jaxpr)
        function = _lower_to_function(inner, "main", jaxpr, self._effects, [aval for _, aval in constants])
        function.attributes["sym_visibility"] = ir.StringAttr.get("public", outer.context)
        hoisted = [
            mlir.ir_constants(value, const_lowering=context.const_lowering, aval=aval) for value, aval in constants
        ]
        tokens = [context.tokens_in.get(effect) for effect in self._effects]
        self.operands = _flat((*context.dim_var_values, *tokens, *hoisted, *values))

    def results(self, found: Sequence[Any]) -> list[Any]:
        """The values among what the entry gives."""
        from jax._src.interpreters import mlir  # pyright: ignore[reportPrivateImportUsage]

        count = len(self._effects)
        if count:
            tokens = dict(zip(self._effects, found[:count], strict=True))
            context = self._context
            context.set_tokens_out(context.tokens_in.update_tokens(mlir.TokenSet(tokens)))
        return list(found[count:])


def _lower_to_function(context: Any, name: str, closed: Any, effects: Sequence[Any], constants: Sequence[Any]) -> Any:
    """A new function of a module: it takes constants of these types before what the program takes."""
    from jax._src.interpreters import mlir  # pyright: ignore[reportPrivateImportUsage]

    # JAX 0.11 asks for the types of the results, too.
    results: dict[str, Any] = {} if jax.__version_info__ < (0, 11) else {"out_avals": closed.out_avals}
    return mlir.lower_jaxpr_to_fun(
        context,
        name,
        closed,
        effects,
        num_const_args=len(constants),
        in_avals=(*constants, *closed.in_avals),
        **results,
    )


def _flat(values: Sequence[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        flat += _flat(value) if isinstance(value, tuple | list) else [value]
    return flat


def operation_of(tracer: Any) -> tuple[str, list[Any]] | None:
    """The name of the primitive that gives a traced value, and what it is given; "constant" for what is from outside of
    what is traced now. None for arguments of what is traced."""
    lowered = tracer.full_lower()
    if lowered is not tracer:
        return "constant", [lowered]
    equation = getattr(tracer, "parent", None)
    if equation is not None:
        return equation.primitive.name, list(equation.in_tracers)
    constant = tracer.get_const() if hasattr(tracer, "get_const") else None
    return None if constant is None else ("constant", [constant])


def is_computed_alike(one: Any, other: Any, most_steps: int = 100) -> bool:
    """Whether two values are the same operations of the same traced values; so many steps are followed back."""
    waiting = [(one, other)]
    for _ in range(most_steps):
        if not waiting:
            return True
        first, second = (each.full_lower() if isinstance(each, Tracer) else each for each in waiting.pop())
        if first is second:
            continue
        if not (isinstance(first, Tracer) and isinstance(second, Tracer)):
            is_number = not isinstance(first, Tracer) and not isinstance(second, Tracer) and np.ndim(first) == 0
            if not is_number or np.ndim(second) or jax.typeof(first) != jax.typeof(second):
                return False
            if np.asarray(first).tobytes() != np.asarray(second).tobytes():
                return False
            continue
        operation, other_operation = (getattr(each, "parent", None) for each in (first, second))
        if operation is None or other_operation is None or operation.primitive is not other_operation.primitive:
            return False
        if operation.params != other_operation.params or len(operation.outvars) != 1 or operation.effects:
            return False
        waiting += zip(operation.in_tracers, other_operation.in_tracers, strict=True)
    return False
