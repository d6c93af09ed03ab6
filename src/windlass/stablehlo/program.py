"""A compiled tensor program as a JAX primitive: under jit, vmap and shard_map it is one operation.

`TensorProgram` is the handle: the tensor program, and what was compiled of it. Where the primitive is bound inside a
trace, the program is merged into the module that JAX is building, so that XLA sees (and fuses) one program.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import Any, TypeVar

import jax
import numpy as np
from jax.core import ShapedArray, Tracer
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir
from jax.sharding import NamedSharding, PartitionSpec

from windlass.autodiff.planning import Plan, current_plan
from windlass.diagnostics.progress import telling
from windlass.facts.cost import CPU
from windlass.ir import Function, Module
from windlass.ir.types import NUMPY_DTYPES, TensorType
from windlass.lowering.finishing import Surroundings
from windlass.ops import Composite, CustomDerivative, expand_composites
from windlass.passes.batched_programs import batch_function
from windlass.passes.batcher import CannotBatch
from windlass.precision import Limbs
from windlass.rewriting import Entry, RuleSet
from windlass.rewriting.driver import rewrite_function
from windlass.rewriting.inlining import inline_custom_derivatives
from windlass.stablehlo.alike import processes_of, require_alike
from windlass.stablehlo.code import NO_PLAN, Code
from windlass.stablehlo.embedding import embed_module, find_surroundings, is_read_by_us
from windlass.stablehlo.interrupting import WatchedFunction
from windlass.stablehlo.kept_executables import LoadedFunction, are_kept, keep_compiled, load_kept, name_of_kept
from windlass.stablehlo.native_forms import note_native_form
from windlass.stablehlo.platforms import device_for
from windlass.stablehlo.private_jax import hold_weakly, initialize_lapack, name_lines_of_users
from windlass.stablehlo.underflow import begin_with_subnormals_kept, pool_keeps_subnormals
from windlass.stablehlo.waiting import require_threads, run_interruptibly

WHOLE = Surroundings(is_whole=True)
AT_HOME = Surroundings(is_whole=True, may_call_native_code=True)
program_call: Any = Primitive("windlass_program")
program_call.multiple_results = True


Derived = TypeVar("Derived")
_made: list[str] = []
"""The names of the programs that this process has compiled or loaded."""


def number_made() -> int:
    """How many programs this process has compiled or loaded: who measures a call asks before and after it."""
    return len(_made)


class TensorProgram:
    """A tensor program of one public function of static types. Compared by identity: it is compiled once.

    `module` is the program as it was optimized; it must not be changed afterwards. `callbacks` are the Python functions
    that custom calls in it name by number, as JAX lowered them. With `is_exact` its float results are protected from
    what XLA would change in them; of one that `is_derivative`, those alone that decide. A program that `is_given` is
    lowered as it stands: what it is part of is finished for a device's compiler as a whole, or it is the user's own.
    How long lowering takes is entered into `seconds`. `differentiable` gives what its derivatives are made of where
    that is another form of it: see `Code`. With `limbs` its wide floats are computed as several narrow ones; if it
    `is_deterministic`, its sums have an order that no mesh changes; and so it is with programs that are made from it.
    Derivatives of all of these follow the `plan` for loops. The module `native` stands for the program where native
    code may be called; nothing is derived from it. `plain` gives it as it was before the rules, which know of no mesh:
    for comparison where it is divided among devices.

    Programs that are made from this one hang on it (`derived`). What was compiled is freed with the program and the
    functions that `jitted` gave.
    """

    __slots__ = ("__weakref__", "_compiled", "_compiling", "_derived", "_jitted", "code", "compile_seconds")

    def __init__(
        self,
        module: Module,
        name: str | None = None,
        callbacks: Sequence[Any] = (),
        *,
        is_exact: bool = False,
        is_given: bool = False,
        seconds: dict[str, float] | None = None,
        differentiable: Callable[[], Module] | None = None,
        limbs: Limbs | None = None,
        is_deterministic: bool = False,
        is_derivative: bool = False,
        plan: Plan = NO_PLAN,
        native: Module | None = None,
        plain: Callable[[], Module] | None = None,
    ) -> None:
        name = name or module.name or module.main.name
        seconds = {} if seconds is None else seconds
        self.code = Code(
            self,
            module,
            name,
            callbacks,
            is_exact,
            is_given,
            seconds,
            differentiable,
            limbs,
            is_deterministic,
            is_derivative,
            plan,
            native,
            plain,
        )
        self._jitted: dict[tuple[tuple[int, ...], bool], Any] = {}
        self._compiled: dict[tuple[tuple[int, ...], bool], Any] = {}
        self._compiling = threading.RLock()
        self.compile_seconds = 0.0
        """What XLA took to compile it, each time that it did."""
        self._derived: dict[Hashable, Any] = {}

    def __repr__(self) -> str:
        return repr(self.code)

    @property
    def name(self) -> str:
        return self.code.name

    @property
    def needs_x64(self) -> bool:
        """Whether an argument or a result has elements that JAX narrows when its x64 flag is off."""
        return self.code.needs_x64

    def bind(self, *arguments: Any) -> list[Any]:
        """The program applied to JAX values, which may be tracers.

        Its derivatives follow the plan that is asked for in this context, or its own.
        """
        code = self._by(current_plan()).code
        if self.needs_x64:
            with jax.enable_x64(True):
                return program_call.bind(*arguments, program=code)
        return program_call.bind(*arguments, program=code)

    def _by(self, plan: Plan) -> TensorProgram:
        """The program whose derivatives follow the plan."""
        code = self.code
        if not plan or plan == code.plan:
            return self

        return self.derived(("by plan", plan), lambda: self._again(plan, code.native))

    def or_native(self, key: Hashable, native: Module) -> TensorProgram:
        """The program, as native code where that may be called; made once for a key."""
        return self.derived(("or native", key), lambda: self._again(self.code.plan, native))

    def _again(self, plan: Plan, native: Module | None) -> TensorProgram:
        code = self.code
        return TensorProgram(
            code.module,
            code.name,
            code.callbacks,
            is_exact=code.is_exact,
            is_given=code.is_given,
            seconds=code.seconds,
            differentiable=lambda: code.differentiable,
            limbs=code.limbs,
            is_deterministic=code.is_deterministic,
            is_derivative=code.is_derivative,
            plan=plan,
            native=native,
            plain=code.plain,
        )

    def jitted(self, donate: tuple[int, ...] = (), is_divided: bool = False) -> Any:
        """The program as a compiled JAX function; the buffers of the arguments in `donate` are reused for results.

        One that is for arguments on several devices alone takes no look at what the program is on one.
        """
        key = donate, is_divided
        found = self._jitted.get(key)
        if found is None:
            found = self._jitted[key] = _compiled(self.code, donate, is_divided)
        return found

    def derived(self, key: Hashable, build: Callable[[], Derived]) -> Derived:
        """What is made from this one's IR in the way that `key` names, such as for a batch; made once."""
        if key not in self._derived:
            self._derived.setdefault(key, build())
        return self._derived[key]

    def compile(self, arguments: Sequence[Any], donate: tuple[int, ...] = ()) -> Any:
        """What calls the program on such arguments: XLA compiles it, unless it did so in an earlier process; Ctrl-C
        ends the wait. The buffers of the arguments in `donate` are reused for results.

        Raises ProgramError (WL0433) where XLA can't run; LaunchError (WL0713) where it is divided among processes, and
        another one compiled something else.
        """
        require_threads()
        key = donate, _are_divided(arguments)
        found = self._compiled.get(key)
        if found is None:
            with self._compiling:
                found = self._compiled.get(key)
                if found is None:
                    _made.append(self.name)
                    started = time.perf_counter()
                    found = self._compiled[key] = self._load(donate) or self._compile(arguments, *key)
                    self.compile_seconds += time.perf_counter() - started
        return found

    def _load(self, donate: tuple[int, ...]) -> Any:
        """The program as an earlier process compiled it, or None."""
        code, name = self.code, self._name_of_kept(donate)
        if name is None:
            return None
        if b"lapack_" in code.read(CPU, alone(code)):
            initialize_lapack()
        results = [jax.ShapeDtypeStruct(each.shape, each.numpy_dtype) for each in code.result_types]
        found = load_kept(name, code.name, self.abstract_arguments(), results)
        return found and _watched(code, LoadedFunction(found, partial(_compiled, code, donate)), donate)

    def _compile(self, arguments: Sequence[Any], donate: tuple[int, ...], is_divided: bool) -> Any:
        function = self.jitted(donate, is_divided)
        lowered = function.lower(*arguments)
        processes = processes_of(arguments)
        if len(processes) > 1 and not self.code.callbacks:  # of those each process has its own numbers
            require_alike(self.name, processes, lowered)
        with telling(f"XLA compiles {self.name}"):
            compiled = run_interruptibly(lowered.compile)
        if name := self._name_of_kept(donate):
            keep_compiled(name, compiled)
        return function

    def _name_of_kept(self, donate: tuple[int, ...]) -> str | None:
        code = self.code
        if code.callbacks or not are_kept():
            return None
        begins_with_call = code.keeps_subnormals and pool_keeps_subnormals()
        return name_of_kept((code.name, donate, begins_with_call), code.read(CPU, alone(code)))

    def abstract_arguments(self) -> list[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of the arguments, as `jax.jit(...).lower` takes them."""
        return [jax.ShapeDtypeStruct(type_.shape, type_.numpy_dtype) for type_ in self.code.argument_types]

    def lower(self) -> Any:
        """The program lowered by JAX, as `jax.jit(...).lower(...)` gives."""
        with jax.enable_x64(True):
            return self.jitted().lower(*self.abstract_arguments())


def alone(code: Code) -> Surroundings:
    """Where a program is that is compiled by itself."""
    return WHOLE if code.native is None else AT_HOME


def _are_divided(arguments: Sequence[Any]) -> bool:
    """Whether any of them lies on several devices."""
    return _there_are_several_devices() and any(
        isinstance(each, jax.Array) and not isinstance(each, Tracer) and len(each.sharding.device_set) > 1
        for each in arguments
    )


@cache
def _there_are_several_devices() -> bool:
    return jax.device_count() > 1


def _compiled(code: Code, donate: tuple[int, ...] = (), is_divided: bool = False) -> Any:
    """The program as a new JAX function; the buffers of the arguments in `donate` are reused for results."""

    def run(*arguments: Any) -> list[Any]:
        return program_call.bind(*arguments, program=code, is_whole=True)

    run.__name__ = run.__qualname__ = code.name
    function = jax.jit(run, donate_argnums=donate)
    # Programs on several devices ask nothing, and what they are on one may take long to find.
    return function if is_divided else _watched(code, function, donate)


def _watched(code: Code, function: Any, donate: tuple[int, ...]) -> Any:
    """The function, ended by Ctrl-C where the program asks whether it is to stop."""
    if jax.default_backend() == "cpu" and code.finished(CPU, alone(code)).asks:
        return WatchedFunction(function, bool(donate))
    return function


def infer_results(
    *arguments: Any, program: Code, is_whole: bool = False, of: Sequence[TensorType] | None = None
) -> list[Any]:
    """The abstract values of the results of a program for these arguments, or of other results `of` these types."""
    for argument, type_ in zip(arguments, program.argument_types, strict=True):
        if argument.shape != type_.shape or argument.dtype != type_.numpy_dtype:
            raise TypeError(f"{program.name}: expected {type_}, got {argument}")
    return [_result_aval(type_, arguments) for type_ in (program.result_types if of is None else of)]


def _result_aval(type_: TensorType, arguments: Sequence[Any]) -> Any:
    """The abstract value of a result: inside `shard_map` it varies over the mesh as all arguments together do."""
    for name in ("manual_axis_type", "vma"):  # what JAX 0.10 and later, and earlier, call it
        kinds = [getattr(argument, name) for argument in arguments if hasattr(argument, name)]
        varying = frozenset[Any]().union(*(getattr(kind, "varying", kind) for kind in kinds))
        if varying:
            mesh = next(each.sharding.mesh for each in arguments if each.sharding.mesh.axis_names)
            sharding = NamedSharding(mesh, PartitionSpec(*(None,) * len(type_.shape)))
            extra: dict[str, Any] = {name: type(kinds[0])(varying=varying) if name != "vma" else varying}
            return ShapedArray(type_.shape, type_.numpy_dtype, sharding=sharding, **extra)
    return ShapedArray(type_.shape, type_.numpy_dtype)


NARROWED = {"float64": "float32", "complex128": "complex64", "int64": "int32", "uint64": "uint32"}
"""What JAX makes of NumPy's dtypes where it has no 64 bits."""


def evaluate(*arguments: Any, program: Code, is_whole: bool = False) -> list[Any]:
    arguments = tuple(map(_as_held, arguments, program.argument_types))
    # Under `jax.disable_jit`, and where `jax.debug_nans` finds one, the compiled function would come back here.
    wide = program.needs_x64 or jax.config.read("jax_enable_x64")
    with jax.disable_jit(False), jax.debug_nans(False), jax.debug_infs(False), jax.enable_x64(wide):
        owner = program.program()
        if owner is None:
            return _compiled(program)(*arguments)
        return owner.compile(arguments)(*arguments)


def _as_held(argument: Any, type_: TensorType) -> Any:
    """A NumPy array of 64 bits as JAX held it when the program was traced, if that was without them."""
    if not isinstance(argument, np.ndarray | np.generic):
        return argument
    is_narrowed = NARROWED.get(argument.dtype.name) == type_.numpy_dtype.name
    return jax.numpy.asarray(argument, type_.numpy_dtype) if is_narrowed else argument


def lower(context: Any, *arguments: Any, program: Code, is_whole: bool = False) -> list[Any]:
    platforms = tuple(context.module_context.platforms)
    device = device_for(platforms)
    # Inside someone else's program it is JAX's to say what becomes of subnormals, and who waits for it.
    is_on_cpu = is_whole and platforms == ("cpu",)
    surroundings = find_surroundings(context, arguments, is_on_cpu, program.native is not None)
    if surroundings.is_whole and program.keeps_subnormals:
        begin_with_subnormals_kept()
    symbol = program.finished(device, surroundings).symbol
    if program.native is not None and is_read_by_us(context.module_context):
        note_native_form(symbol, program.native)
    return embed_module(context, symbol, lambda: program.read(device, surroundings), arguments, program.callbacks)


def batch(
    arguments: Sequence[Any],
    axes: Sequence[int | None],
    *,
    program: Code,
    is_whole: bool = False,
    call: Any = program_call,
    parameters: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[list[Any], list[int]]:
    """The program for all elements of the batch at once; a loop over them where it has an op with no such form.

    `call` is the primitive that runs it, with these parameters.
    Those are ops with effects and calls of what is not in the program: Python functions and libraries.
    """
    flags = tuple(axis is not None for axis in axes)
    moved = [
        argument if axis is None else jax.numpy.moveaxis(argument, axis, 0)
        for argument, axis in zip(map(_as_held, arguments, program.argument_types), axes, strict=True)
    ]
    size = next(argument.shape[0] for argument, flag in zip(moved, flags, strict=True) if flag)
    owner = program.program()
    with jax.enable_x64(program.needs_x64 or jax.config.read("jax_enable_x64")):
        try:
            if owner is None:
                batched = _batched(program, flags, size)
            else:
                batched = owner.derived(("batched", flags, size), lambda: _batched(program, flags, size))
        except CannotBatch:
            results = _run_in_turn(moved, flags, partial(call.bind, program=program, **parameters))
        else:
            results = call.bind(*moved, program=batched.code, **parameters)
    return results, [0] * len(results)


def _batched(program: Code, flags: Sequence[bool], size: int) -> TensorProgram:
    """Raises CannotBatch."""
    if size == 0:
        raise CannotBatch(None)
    return program_from(program, batch_function(program.differentiable.main, flags, size), f"{program.name}_for_{size}")


def program_from(
    origin: Code, function: Function, name: str, is_derivative: bool | None = None, follows_plan: bool = True
) -> TensorProgram:
    """The program of a function that was made from that of another program; the function is rewritten.

    What `is_derivative` has results that nobody wrote down: rounded in another order they are as good, as long as it
    finds the branches and places that the program finds. (Not so where loops may be computed again: see
    `windlass.autodiff.planning.keeps_rounds`.) Where it isn't said, it is what the other program is.

    What was made by the plan for loops does not follow it a second time: the states of its loops hold what was kept.
    """
    from windlass.catalogue import catalogue, has_lowered, rules_before_lowering

    is_derivative = origin.is_derivative if is_derivative is None else is_derivative
    is_exact = origin.is_exact and not is_derivative

    def rewritten(function: Function, rules: RuleSet) -> tuple[Module, Sequence[Entry]]:
        entries: Sequence[Entry] = ()
        if not origin.is_given:
            entries = rewrite_function(function, rules, keeps_decisions=origin.is_exact and is_derivative).entries
        module = Module([function], origin.module.name)
        module.globals = list(origin.module.globals)
        return module, entries

    def before_lowering(function: Function) -> Module:
        return rewritten(function, rules_before_lowering(is_exact, in_kernel=True))[0]

    def made(function: Function, differentiable: Callable[[], Module] | None = None) -> TensorProgram:
        kept = function.clone()
        module, rewrites = rewritten(function, catalogue.choose(exact=is_exact, in_kernel=True))
        if differentiable is None and has_lowered(rewrites):
            differentiable = partial(before_lowering, kept)
        return TensorProgram(
            module,
            name,
            origin.callbacks,
            is_exact=origin.is_exact,
            is_given=origin.is_given,
            differentiable=differentiable,
            limbs=origin.limbs,
            is_deterministic=origin.is_deterministic,
            is_derivative=is_derivative,
            plan=origin.plan if follows_plan else NO_PLAN,
        )

    # What is part of another program keeps functions of floats: they are expanded with the whole. So does what is
    # computed with limbs, which have functions of their own.
    keeps_functions = origin.is_given or origin.limbs is not None
    kinds = CustomDerivative if keeps_functions else CustomDerivative | Composite
    if not any(isinstance(op, kinds) for op in function.walk()):
        return made(function)
    runs = function.clone()
    inline_custom_derivatives(runs.body)
    if not keeps_functions:
        expand_composites(runs.body)
    return made(runs, partial(before_lowering, function))


def _run_in_turn(arguments: Sequence[Any], flags: Sequence[bool], run: Callable[..., list[Any]]) -> list[Any]:
    def one(rows: Sequence[Any]) -> list[Any]:
        remaining = iter(rows)
        given = [next(remaining) if flag else argument for argument, flag in zip(arguments, flags, strict=True)]
        return run(*given)

    return jax.lax.map(one, [argument for argument, flag in zip(arguments, flags, strict=True) if flag])


def constant_for(type_: TensorType, value: Any) -> Any:
    """A NumPy array of the tensor type."""
    return np.asarray(value, NUMPY_DTYPES[type_.dtype]).reshape(type_.shape)


hold_weakly(Code)
name_lines_of_users()
program_call.def_abstract_eval(infer_results)
program_call.def_impl(evaluate)
mlir.register_lowering(program_call, lower, cacheable=False)
batching.primitive_batchers[program_call] = batch
