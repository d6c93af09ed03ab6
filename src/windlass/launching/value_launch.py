"""A launch on JAX values: memories go in, new values of the written memories come out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, LaunchError, WindlassError
from windlass.frontends.arrays import Array as TracedArray
from windlass.frontends.arrays.operands import unwrapped
from windlass.frontends.arrays.tracing import current_tracing
from windlass.ir.types import MLIR_DTYPES, NUMPY_DTYPES
from windlass.launching.emulation import emulate_launch
from windlass.launching.likely_integers import with_likely_integers
from windlass.launching.traced_records import TracedRecord, holds_tracers, member_of, traced_record
from windlass.runtime.arguments import Checked, check_argument
from windlass.runtime.binding import Binding, ScalarInput, bind
from windlass.runtime.launch_shape import LaunchShape
from windlass.runtime.memories import ArrayForm, form_of, overlap, signless
from windlass.stablehlo.code import is_wide

if TYPE_CHECKING:
    from windlass.ir.signature import KernelSignature, Parameter
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.pipeline import RaisedLaunch
    from windlass.raising.report import Assumption
    from windlass.stablehlo.program import TensorProgram

Array: TypeAlias = NDArray[Any]


def is_jax_value(value: object) -> bool:
    """Whether it is a JAX array or tracer."""
    return isinstance(value, jax.Array)


def check_value(signature: KernelSignature, parameter: Parameter, value: Any) -> Any:
    """A by-value argument: a checked NumPy scalar, a JAX scalar as it is, or a struct with some of them."""
    if parameter.kind == "record":
        value = jax.tree.map(unwrapped, value, is_leaf=lambda each: isinstance(each, TracedArray))
        return (traced_record if holds_tracers(value) else check_argument)(signature, parameter, value)
    if not is_jax_value(value):
        return check_argument(signature, parameter, value)
    expected = parameter.dtype
    if expected is None:
        return check_argument(signature, parameter, None)
    is_number = value.shape == () and not jnp.issubdtype(value.dtype, jax.dtypes.extended)
    kind = np.dtype(value.dtype).kind if is_number else "O"
    if not is_number or kind == "c" or (kind in "fV" and expected.kind in "biu"):
        got = f"a traced {value.dtype}" if is_number else f"a JAX array of {value.dtype} with shape {value.shape}"
        raise LaunchError(
            Diagnostic(
                "WL0401" if is_number else "WL0407",
                f"{signature.name}: argument '{parameter.name}' must be a number of type {parameter.type_name}, "
                f"got {got}",
                help=f"convert it: {parameter.name}.astype(numpy.{expected.name})" if is_number else None,
            )
        )
    return value


def bind_values(
    kernel: LoadedKernel,
    shape: LaunchShape,
    values: Sequence[Any],
    places: Mapping[int, tuple[int, int]],
    forms: Sequence[ArrayForm],
    given: Collection[str] = (),
) -> Binding:
    """The binding of a launch on JAX values; by-value arguments that are JAX values stay unknown.

    The device variables `given` (by linker name) enter as arrays do.
    """
    traced = frozenset(
        position
        for position, parameter in enumerate(kernel.signature.parameters)
        if parameter.kind == "scalar" and is_jax_value(values[position])
    )
    checked = [
        cast(
            "Checked",
            None
            if parameter.kind == "pointer" or position in traced
            else value.known
            if isinstance(value, TracedRecord)
            else value,
        )
        for position, (parameter, value) in enumerate(zip(kernel.signature.parameters, values, strict=True))
    ]
    binding = bind(
        kernel.signature,
        shape,
        checked,
        places,
        forms,
        kernel.variables(),
        traced,
        kernel.module.allow_contraction,
    )
    return Binding(
        binding.specification,
        (
            *binding.forms[: len(forms)],
            *(
                form.in_halves() if is_wide(form.dtype) and name not in given else form
                for name, form in zip(binding.variables, binding.forms[len(forms) :], strict=True)
            ),
        ),
        tuple(_entering(scalar, member_of(values[scalar.position], scalar.offset)) for scalar in binding.scalars),
        binding.variables,
    )


def _entering(scalar: ScalarInput, value: Any) -> ScalarInput:
    """How the scalar reaches the program: 64 bits can't under JAX's default settings."""
    enters_as = scalar.enters_as
    if not is_jax_value(value):
        enters_as = "halves" if is_wide(enters_as) else enters_as
    elif is_wide(enters_as) and MLIR_DTYPES[np.dtype(value.dtype)] != MLIR_DTYPES[scalar.dtype]:
        # Converted inside the program; the value is exact in the narrower type that it has.
        enters_as = MLIR_DTYPES[np.dtype(value.dtype)]
    return ScalarInput(scalar.position, scalar.offset, scalar.dtype, enters_as)


def compile_on_values(
    kernel: LoadedKernel,
    shape: LaunchShape,
    values: Sequence[Any],
    places: Mapping[int, tuple[int, int]],
    forms: Sequence[ArrayForm],
    given: Collection[str] = (),
) -> RaisedLaunch:
    """The program of a launch on JAX values, to which the device variables `given` are values, too.

    Raises RaisingError where the kernel has no tensor form, and LaunchError (WL0906) where it writes other device
    variables.
    """
    binding = bind_values(kernel, shape, values, places, forms, given)
    compiled = kernel.compile(binding)
    kernel.note_raised(shape, compiled)

    def bind_with(integers: Mapping[int, Any]) -> Binding:
        known = [integers.get(position, value) for position, value in enumerate(values)]
        return bind_values(kernel, shape, known, places, forms, given)

    compiled = with_likely_integers(kernel, compiled, forms, bind_with)
    written = (binding.variables[memory - len(forms)] for memory in compiled.raised.written if memory >= len(forms))
    name = next((each for each in written if each not in given), None)
    if name is not None:
        raise LaunchError(
            Diagnostic(
                "WL0906",
                f"{kernel.name} writes the device variable '{name}', which a pure function can't do",
                help=f"launch it on NumPy arrays: {kernel.name}[grid, block](...), or give the variable's value by "
                f"name: {kernel.name}.jax(grid, block)(..., {name}=value) returns its new value too",
            )
        )
    return compiled


class VariableInputs:
    """The device variables that a function being traced reads, so that its program can take them as arguments.

    `values` has the traced value of those that are known already; the others are noted in `missing`. Both by the
    identity of the variable's storage and the form in which it enters.
    """

    def __init__(self) -> None:
        self.values: dict[tuple[int, ArrayForm], Any] = {}
        self.missing: list[tuple[Array, ArrayForm]] = []
        self.emulated: list[Array] = []
        """Variables that kernels in the emulator may read and write."""

    def value_of(self, storage: Array, form: ArrayForm) -> Any:
        """The variable in the program that is being traced; what it holds now while it is no argument yet."""
        value = self.values.get((id(storage), form))
        if value is None:
            self.missing.append((storage, form))
            self.values[id(storage), form] = value = entering_now(storage, form)
        return value


def refuse_variable(name: str, argument: object, variables: Iterable[Array], what: str) -> None:
    """Raise LaunchError (WL0912) for a NumPy array that lies in one of these device variables.

    As values the two would be different memories, and on a device they are one.
    """
    if isinstance(argument, np.ndarray) and not argument.flags.owndata:
        array = cast("Array", argument)
        if array.flags.c_contiguous and any(overlap(array, variable) for variable in variables):
            raise LaunchError(
                Diagnostic(
                    "WL0912",
                    f"{name} is the memory of a device variable, which {what} uses too",
                    notes=("as values the array and the variable are two memories",),
                    help="pass a copy, or launch the kernel on NumPy arrays: kernel[grid, block](...)",
                )
            )


variable_inputs: ContextVar[VariableInputs | None] = ContextVar("variable_inputs", default=None)
"""Set while `wl.jit` traces a function."""


def entering_now(storage: Array, form: ArrayForm) -> Array:
    """What a device variable holds now, as a program takes it. A copy: the program may run after it changes."""
    return np.array(form.to_program(storage))


def value_of_variable(storage: Array, form: ArrayForm) -> Any:
    """A device variable as programs take it: what it holds now, or traced by `wl.jit`."""
    inputs = variable_inputs.get()
    return entering_now(storage, form) if inputs is None else inputs.value_of(storage, form)


def variable_values(
    kernel: LoadedKernel, compiled: RaisedLaunch, given: Mapping[str, Any] = MappingProxyType({})
) -> list[Any]:
    """The device variables as the kernel's program takes them: as given, what they hold now, or traced by `wl.jit`."""
    variables = kernel.variables()
    forms = compiled.binding.forms
    return [
        given[name] if name in given else value_of_variable(storage, form)
        for (name, storage), form in zip(variables.items(), forms[len(forms) - len(variables) :], strict=True)
    ]


def launch_on_values(
    kernel: LoadedKernel,
    shape: LaunchShape,
    memories: Sequence[Any],
    forms: Sequence[ArrayForm],
    places: Mapping[int, tuple[int, int]],
    values: Sequence[Any],
    choose: Callable[[RaisedLaunch], TensorProgram] = attrgetter("plain_program"),
) -> dict[int, Any]:
    """The new values of the memories that the kernel writes, within a program that is optimized as a whole.

    The kernel's part goes in as it is before its float results are protected: that is done for the whole. `memories`
    are JAX values of the forms' shapes. What becomes part of the whole is what `choose` gives for the raised launch.
    Raises RaisingError where the kernel has no tensor form.
    """
    compiled = compile_on_values(kernel, shape, values, places, forms)
    program = choose(compiled)
    scalars = [
        scalar_for_program(scalar, member_of(values[scalar.position], scalar.offset))
        for scalar in compiled.binding.scalars
    ]
    results = program.bind(*memories, *variable_values(kernel, compiled), *scalars)
    tracing = current_tracing()
    if tracing is not None and compiled.raised.assumptions:
        for number, assumption in enumerate(compiled.raised.assumptions, 1):
            tracing.require_never(results[-1] == number, _unmet(kernel, assumption))
    # In a pure function nothing can be done where an assumption does not hold: that result is left out.
    return dict(zip(compiled.raised.written, results, strict=False))


def _unmet(kernel: LoadedKernel, assumption: Assumption) -> WindlassError:
    """What is said where something does not hold that the kernel's tensor form takes for granted."""
    error = kernel.with_source(assumption.as_error(kernel.name))
    first = error.diagnostics[0]
    help_ = f"launch it outside of wl.jit, where the emulator does it: {kernel.name}[grid, block](...)"
    return type(error)(replace(first, notes=(*first.notes, *((first.help,) if first.help else ())), help=help_))


def scalar_for_program(scalar: ScalarInput, value: Any) -> Any:
    """A checked by-value argument, or a JAX scalar, as the program takes it."""
    if not is_jax_value(value):
        return scalar.read_halves(value) if scalar.enters_as == "halves" else scalar.read(value)
    target = NUMPY_DTYPES[scalar.enters_as]
    if scalar.enters_as == signless(MLIR_DTYPES[scalar.dtype]) and target != scalar.dtype:
        return jax.lax.bitcast_convert_type(value.astype(scalar.dtype), target)
    return value.astype(target)


# -- JAX arrays as memories -------------------------------------------------------------------------------------------


def value_form(value: Any, inner: tuple[int, ...] = ()) -> ArrayForm:
    """The form in which a JAX array is a memory."""
    return form_of(np.dtype(value.dtype), tuple(value.shape), inner)


def enter(value: Any, form: ArrayForm) -> Any:
    """The JAX array as the program takes it."""
    if form.view is None:
        return value
    if jnp.issubdtype(value.dtype, jnp.complexfloating):
        return jnp.stack([value.real, value.imag], -1).reshape(form.shape)
    return value.astype(form.view).reshape(form.shape)


def leave(value: Any, form: ArrayForm, like: Any) -> Any:
    """The inverse of `enter`: an array of the shape and dtype of `like`."""
    if form.view is None:
        return value
    if jnp.issubdtype(like.dtype, jnp.complexfloating):
        parts = value.reshape(*like.shape, 2)
        return jax.lax.complex(parts[..., 0], parts[..., 1])
    return (value != 0).reshape(like.shape) if like.dtype == jnp.bool_ else value.reshape(like.shape)


# -- without a tensor form --------------------------------------------------------------------------------------------


def emulate_on_values(
    kernel: LoadedKernel, shape: LaunchShape, values: Sequence[Any], written: Sequence[int]
) -> list[Any]:
    """The kernel in the emulator, called back from the compiled program; gives the arrays at positions `written`."""
    refuse_traced_members(kernel, values)
    inputs = variable_inputs.get()
    if inputs is not None:
        inputs.emulated += kernel.module.variables.storage.values()
    dynamic = [position for position, value in enumerate(values) if is_jax_value(value)]

    def run(*arrays: Any) -> list[Array]:
        arguments: list[Any] = list(values)
        for position, array in zip(dynamic, arrays, strict=True):
            copy = np.array(array)
            arguments[position] = copy if kernel.signature.parameters[position].kind == "pointer" else copy[()]
        try:
            emulate_launch(kernel, shape, arguments, finds_races=False)
        except WindlassError as failure:
            _failures.append(failure)
            raise
        return [arguments[position] for position in written]

    shapes = [jax.ShapeDtypeStruct(values[position].shape, values[position].dtype) for position in written]

    def emulate(*arrays: Any) -> list[Any]:
        return jax.pure_callback(run, shapes, *arrays, vmap_method="sequential")

    run_without_derivative = refuse_derivatives(kernel, emulate, "it runs in the emulator, which has no derivatives")
    return run_without_derivative(*(values[position] for position in dynamic))


def refuse_derivatives(kernel: LoadedKernel, function: Callable[..., Any], reason: str) -> Callable[..., Any]:
    """The function of arrays, which raises WindlassError (WL0901) where it is differentiated."""
    plain = jax.custom_jvp(function)

    def refuse(*_: Any) -> NoReturn:
        raise WindlassError(
            Diagnostic(
                "WL0901",
                f"{kernel.name} can't be differentiated: {reason}",
                kernel.signature.position,
                help="the kernel's `explain()` says why it is not raised; give it a derivative by @kernel.defvjp, or "
                "use jax.lax.stop_gradient on its arguments if no gradient has to pass through it",
            )
        )

    plain.defjvp(refuse)
    return plain


def refuse_traced_members(kernel: LoadedKernel, values: Sequence[Any]) -> None:
    """Raise LaunchError (WL0401) for structs with traced members: only a tensor program takes them apart."""
    for parameter, value in zip(kernel.signature.parameters, values, strict=True):
        if isinstance(value, TracedRecord):
            raise LaunchError(
                Diagnostic(
                    "WL0401",
                    f"{kernel.name}: argument '{parameter.name}' is a struct by value, and its members can't be traced "
                    "where the kernel is not raised",
                    help="let the kernel take what changes as parameters of their own, or through a pointer",
                )
            )


_failures: deque[WindlassError] = deque(maxlen=16)
"""What the emulator raised in callbacks, which JAX turns into text within errors of its own."""
error_readers: list[Callable[[str], WindlassError | None]] = []
"""Others who know from JAX's text what was meant."""


def as_raised(error: Exception) -> Exception:
    """Our own error, where JAX's error tells of one: the emulator's, or that of native code; else the error itself."""
    if isinstance(error, WindlassError):
        return error
    text = str(error)
    found = next((each for each in reversed(_failures) if each.diagnostics[0].headline in text), None)
    if found is not None:
        return found
    return next((known for read in error_readers if (known := read(text)) is not None), error)


def result_of(news: Sequence[Any]) -> Any:
    """What a pure function returns for the new values of the arrays that the kernel writes."""
    return news[0] if len(news) == 1 else tuple(news)
