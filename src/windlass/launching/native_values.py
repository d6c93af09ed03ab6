"""Launches on JAX values as native code, called by XLA itself: no callback of Python, nothing copied that XLA need not.

Memories that are written are results in the place of their operands. Under `vmap` the same call takes a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from weakref import ref

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import RaisingError, WindlassError
from windlass.launching.emulated_time import native_code_ends
from windlass.launching.form import PreparedFunction, Request
from windlass.launching.native_derivatives import NativeProgram, Source
from windlass.launching.native_launch import (
    compile_with_function,
    fault_error,
    known_integers,
    may_replace_emulator,
    with_native_reason,
)
from windlass.launching.value_launch import (
    as_raised,
    error_readers,
    is_jax_value,
    refuse_traced_members,
    result_of,
    value_of_variable,
)
from windlass.native import LaunchFacts, MemoryFacts, NotNative
from windlass.native.xla_call import NULL_SLOT, Slot, XlaCall, enter, fault_of, is_supported
from windlass.native.xla_rows import Kind
from windlass.ops.native_call import NATIVE_TARGET
from windlass.parallel.effects import written_variables
from windlass.runtime.arguments import check_argument
from windlass.runtime.memories import WIDEST_VECTOR, form_of
from windlass.runtime.settings import vector_functions_are_allowed
from windlass.stablehlo.code import is_wide

if TYPE_CHECKING:
    from windlass.ir.signature import Parameter
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.launching.traced_launch import TracedLaunch

_WIDENING = {
    ("f", "f"): Kind.F32_TO_F64,
    ("f", "i"): Kind.I32_TO_F64,
    ("f", "u"): Kind.U32_TO_F64,
    ("i", "i"): Kind.I32_TO_I64,
    ("i", "u"): Kind.U32_TO_I64,
}
"""What the handler does with numbers that JAX can't hold in the width that the kernel takes."""


def prepare_on_values(launch: Request, reason: RaisingError | None) -> NativeFunction:
    """The launch as a function of JAX values.

    Raises RaisingError where it has no native code that XLA could call.
    """
    kernel = launch.kernel
    if reason is not None and not _may_run(launch, reason):
        raise reason
    try:
        function = NativeFunction(launch)
    except NotNative as other:
        raise _refusal(kernel, reason, other) from None
    kernel.note_native(launch.shape, reason)
    return function


def launch_traced(launch: TracedLaunch, reason: RaisingError | None) -> None:
    """Do the launch within the program that `wl.jit` traces.

    Raises RaisingError where it has no native code that XLA could call.
    """
    kernel = launch.kernel
    request = Request(kernel, launch.shape, launch.values)
    if reason is not None and not _may_run(request, reason):
        raise reason
    try:
        shared = [memory for memory, _ in launch.places.values()]
        for position, (memory, _) in launch.places.items():
            if position in kernel.written and shared.count(memory) > 1:
                name = kernel.signature.parameters[position].name
                raise NotNative(f"array '{name}', which it writes, shares its memory with another one")
        function = NativeFunction(request)
    except NotNative as other:
        raise _refusal(kernel, reason, other) from None
    kernel.note_native(launch.shape, reason)
    news = function.results(*function.inputs(launch.values))
    for position, new in zip(function.written, news, strict=True):
        launch.arguments[position][...] = new


def _may_run(launch: Request, reason: RaisingError) -> bool:
    is_for_this_machine = jax.default_backend() == "cpu" and is_supported()
    return is_for_this_machine and may_replace_emulator(reason) and native_code_ends(launch.shape, reason)


def _refusal(kernel: LoadedKernel, reason: RaisingError | None, other: NotNative) -> RaisingError:
    return kernel.with_source(other.as_error(kernel.name)) if reason is None else with_native_reason(reason, other)


class NativeFunction(PreparedFunction):
    """A launch on JAX values as native code.

    Raises NotNative where there is none.
    """

    __slots__ = ("_call", "_function", "_operands", "_program", "is_kept", "written")

    def __init__(self, launch: Request) -> None:
        kernel, values = launch.kernel, launch.arguments
        if not is_supported():
            raise NotNative("this version of jaxlib calls functions in another way than is known")
        refuse_traced_members(kernel, values)
        if launch.variables or written_variables(kernel.function):
            raise NotNative("it writes device variables")
        self.written = tuple(position for position in sorted(kernel.written) if values[position] is not None)
        """The positions of the arrays whose new values are the results."""
        self._operands = _Operands(launch, self.written)
        slots = self._operands.slots
        key = (launch.shape, tuple(known_integers(launch).items()), tuple(slots), vector_functions_are_allowed())
        with kernel.lock:
            found: NativeProgram | NotNative | None = kernel.native_calls.get(key)
            if found is None:
                try:
                    facts = facts_of_values(launch, slots)
                    function, code = compile_with_function(launch, facts=facts)
                    source = Source(function, facts, tuple(slots))
                    call = enter(kernel.name, code, slots, source.flops())

                    def enter_call(call: XlaCall) -> Callable[..., Any]:
                        note_launch(call, launch)
                        return _callable(call)

                    found = NativeProgram(kernel, source, call, enter_call, len(self.written))
                except NotNative as reason:
                    found = reason
                kernel.native_calls.keep(key, found)
        if isinstance(found, NotNative):
            raise found
        self._program = found
        self._call = found.call
        self.is_kept = self._operands.is_kept

        def run(*inputs: Any) -> Any:
            return self.apply(*inputs)

        run.__name__ = run.__qualname__ = kernel.name
        self._function = jax.jit(run)

    def run(self, arguments: Sequence[Any]) -> Any:
        try:
            found = self._function(*self.inputs(arguments))
            return jax.block_until_ready(found) if self._call.code.sites else found
        except (jax.errors.JaxRuntimeError, ValueError) as error:  # the latter where JAX ran it on this thread
            raise as_raised(error) from None

    def inputs(self, arguments: Sequence[Any]) -> list[Any]:
        return self._operands.read(arguments)

    def apply(self, *inputs: Any) -> Any:
        return result_of(self.results(*inputs))

    def results(self, *inputs: Any) -> Sequence[Any]:
        """The new values of the arrays that are written."""
        operands = self._operands.enter(inputs)
        if not self._call.code.most_parts:
            return [inputs[self._operands.place_of[position]] for position in self.written]
        return self._program.apply(*operands)


class _Operands:
    """What a call takes of the arguments of a launch, and the slots that it goes to."""

    def __init__(self, launch: Request, written: Sequence[int]) -> None:
        kernel = launch.kernel
        self._signature = kernel.signature
        self.slots: list[Slot] = []
        self._readers: list[Callable[[Sequence[Any]], Any]] = []
        self._conversions: dict[int, np.dtype] = {}
        """The element types in which traced numbers enter, by operand."""
        self.place_of: dict[int, int] = {}
        """The operand of each array, by position."""
        self.is_kept = True
        known = known_integers(launch)
        for position, (parameter, value) in enumerate(zip(kernel.signature.parameters, launch.arguments, strict=True)):
            if value is None or position in known:
                self.slots.append(NULL_SLOT)
            elif parameter.kind == "pointer":
                dtype = np.dtype(value.dtype)
                alignment = alignment_of(dtype, kernel.alignment)
                kind = Kind.WRITTEN if position in written else Kind.READ
                result = written.index(position) if position in written else 0
                size = math.prod(value.shape)
                self.place_of[position] = self.count
                self._add(Slot(kind, self.count, result, size, size * dtype.itemsize, alignment), itemgetter(position))
            elif is_jax_value(value):
                self._add_number(position, parameter, value)
            else:
                self._add_known(position, parameter)
        for storage in kernel.variables().values():
            self._add_variable(storage, kernel.alignment)

    @property
    def count(self) -> int:
        return len(self._readers)

    def _add(self, slot: Slot, read: Callable[[Sequence[Any]], Any]) -> None:
        self.slots.append(slot)
        self._readers.append(read)

    def _add_known(self, position: int, parameter: Parameter) -> None:
        """A number or struct that is no JAX value: its bytes."""
        signature = self._signature

        def read(arguments: Sequence[Any]) -> Any:
            checked = check_argument(signature, parameter, arguments[position])
            assert isinstance(checked, np.generic)
            return np.frombuffer(checked.tobytes(), np.uint8)

        kind = Kind.READ if parameter.kind == "record" else Kind.BITS
        alignment = WIDEST_VECTOR if kind is Kind.READ else 1
        self._add(Slot(kind, self.count, 0, parameter.size, parameter.size, alignment), read)

    def _add_number(self, position: int, parameter: Parameter, value: Any) -> None:
        """A number that is a JAX value."""
        target = parameter.dtype
        assert target is not None
        kind, enters = Kind.BITS, target
        if target.itemsize == 8:
            self.is_kept = False  # it depends on a flag of JAX
            if not jax.config.read("jax_enable_x64"):
                letter = "f" if jnp.issubdtype(value.dtype, jnp.floating) else np.dtype(value.dtype).kind
                letter = "u" if letter == "b" else letter
                kind = _WIDENING["f" if target.kind == "f" else "i", letter]
                enters = np.dtype(f"{letter}4")
        self._conversions[self.count] = enters
        self._add(Slot(kind, self.count, 0, 1, enters.itemsize), itemgetter(position))

    def _add_variable(self, storage: Any, alignment: int) -> None:
        form = form_of(storage.dtype, storage.shape)
        entering = form.in_halves() if is_wide(form.dtype) else form
        elements = math.prod(entering.shape)
        slot = Slot(Kind.READ, self.count, 0, elements, storage.nbytes, alignment_of(storage.dtype, alignment))
        self._add(slot, lambda _: value_of_variable(storage, entering))

    def read(self, arguments: Sequence[Any]) -> list[Any]:
        return [read(arguments) for read in self._readers]

    def enter(self, inputs: Sequence[Any]) -> list[Any]:
        """What is read as the call takes it: JAX values of the right types."""
        return [
            jnp.asarray(value) if dtype is None else jnp.asarray(value).astype(dtype)
            for value, dtype in ((value, self._conversions.get(place)) for place, value in enumerate(inputs))
        ]


def alignment_of(dtype: np.dtype, widest: int) -> int:
    """Of what an array's address has to be a multiple, for a kernel that reads vectors as wide as that."""
    return WIDEST_VECTOR if widest > 1 else dtype.itemsize & -dtype.itemsize


def facts_of_values(launch: Request, slots: Sequence[Slot]) -> LaunchFacts:
    """What native code knows of memories that XLA gives it: they are apart, and lie where the handler has them lie."""
    kernel, shape = launch.kernel, launch.shape
    parameters = kernel.signature.parameters
    memories = [
        None
        if parameter.kind == "scalar"
        else MemoryFacts(0, WIDEST_VECTOR)
        if slot.kind is Kind.NULL
        else MemoryFacts(slot.bytes, slot.alignment)
        for parameter, slot in zip(parameters, slots, strict=False)
    ]
    names = kernel.variables()
    variables = tuple(
        (name, MemoryFacts(slot.bytes, slot.alignment))
        for name, slot in zip(names, slots[len(parameters) :], strict=True)
    )
    return LaunchFacts(
        (*shape.grid, *shape.block),
        tuple(memories),
        variables,
        is_exact=not vector_functions_are_allowed(),
        shared_bytes=shape.shared_bytes,
        names=tuple(f"'{parameter.name}'" for parameter in parameters),
    )


# -- the call ---------------------------------------------------------------------------------------------------------


def _callable(
    call: XlaCall, batch: tuple[int, ...] = (), with_batch: frozenset[int] = frozenset()
) -> Callable[..., Any]:
    """The call as a function of its operands, of which some have the axes of a batch before their own; those that are
    written have them."""
    results = {slot.result: slot.operand for slot in call.slots if slot.kind is Kind.WRITTEN}
    written = frozenset(results.values())

    @jax.custom_batching.custom_vmap
    def run(*operands: Any) -> Sequence[Any]:
        return jax.ffi.ffi_call(
            NATIVE_TARGET,
            [jax.ShapeDtypeStruct(operands[results[n]].shape, operands[results[n]].dtype) for n in range(len(results))],
            input_output_aliases={operand: result for result, operand in results.items()},
        )(*operands, code=np.int64(call.attribute), kernel=call.kernel)

    @run.def_vmap
    def batched(size: int, is_batched: Sequence[bool], *operands: Any) -> tuple[Sequence[Any], list[bool]]:  # pyright: ignore[reportUnusedFunction]
        if not call.can_be_batched:
            return _one_after_another(run, size, is_batched, operands), [True] * len(results)
        whole = list(operands)
        varies = with_batch | written | {place for place, has_axis in enumerate(is_batched) if has_axis}
        for place in varies:
            value = operands[place] if is_batched[place] else operands[place][None]
            own = value.shape[1 + (len(batch) if place in with_batch else 0) :]
            if place not in with_batch:
                value = value.reshape((value.shape[0], *(1 for _ in batch), *own))
            whole[place] = jnp.broadcast_to(value, (size, *batch, *own))
        return _callable(call, (size, *batch), varies)(*whole), [True] * len(results)

    return run


def _one_after_another(
    function: Callable[..., Any], size: int, is_batched: Sequence[bool], operands: Sequence[Any]
) -> Sequence[Any]:
    """What a batch gives where launches can't work on parts of one array."""

    def one(number: Any) -> Any:
        return function(
            *(each[number] if has_axis else each for each, has_axis in zip(operands, is_batched, strict=True))
        )

    return jax.lax.map(one, jnp.arange(size))


# -- errors -----------------------------------------------------------------------------------------------------------


_launches: dict[int, tuple[ref[LoadedKernel], list[Any]]] = {}
"""The kernel of each call by its number, and arrays like its arguments, for what errors say."""


def note_launch(call: XlaCall, launch: Request) -> None:
    """Remember what errors say of a call: the kernel, and arrays like its arguments."""
    _launches[call.number] = ref(launch.kernel), [_shape_of(value) for value in launch.arguments]


def _shape_of(value: Any) -> Any:
    """An array of the shape and dtype of a value, which takes no memory; None for null."""
    if value is None:
        return None
    return np.broadcast_to(np.zeros((), np.dtype(value.dtype)), value.shape)


def _read_fault(text: str) -> WindlassError | None:
    found = fault_of(text)
    if found is None or found[0].number not in _launches:
        return None
    kernel, arguments = _launches[found[0].number]
    known = kernel()
    return None if known is None else fault_error(known, found[1], arguments, is_in_place=False)


error_readers.append(_read_fault)
