"""A kernel's function at the loop level."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from windlass.diagnostics import Diagnostic, RaisingError
from windlass.frontends.llvm import arithmetic, atomics, builtins, calls, memory
from windlass.frontends.llvm.control_flow import ControlFlow, IrreducibleError
from windlass.frontends.llvm.provenance import Base
from windlass.frontends.llvm.structure import Structurer
from windlass.frontends.llvm.translator import Translator
from windlass.frontends.llvm.values import PointerValue
from windlass.ir import Block, BufferType, Builder, Function, Region, Type, Value, tensor_type
from windlass.ir.signature import DeviceCode, KernelSignature
from windlass.ir.types import MLIR_DTYPES, NUMPY_DTYPES
from windlass.llvm.layout import PointerType
from windlass.llvm.module import DeviceModule, module_of
from windlass.llvm.syntax import FunctionText, Reader, UnknownSyntax
from windlass.loops import LAUNCH_DIMENSIONS, Allocate, LaunchSize, Parallel, Store, Yield
from windlass.ops.regions import Return
from windlass.parallel.passes import AS_STRUCTURED, Guards, LoopPass, passes_of_import, run_passes

TRANSLATORS = (arithmetic, atomics, builtins, calls, memory)
"""Importing these registers what they translate."""


def import_kernel(
    code: DeviceCode,
    mangled_name: str,
    uncounted: Collection[str] = (),
    watch: Callable[[LoopPass, Function], None] | None = None,
) -> Function:
    """The kernel of that linker name at the loop level (see `windlass.loops`).

    The function's arguments are the kernel's parameters in order: numbers as rank-0 tensors (16-bit floats too, which
    LLVM IR passes in memory), pointers as buffers, records passed by value as buffers of space "parameter". Its body is
    the launch's sizes, one `Parallel`, and `Return`. The function's name is the readable one where the code tells it.
    The loops named in `uncounted` (by `Assert.counted_loop`) become `DoWhile`s. `watch` is told of the function as its
    control flow was structured, and then after each pass.

    Raises RaisingError for what the loop level has no words for: WL0201 to WL0209.
    """
    module = module_of(code)
    signature = next((each for each in code.kernels if each.mangled == mangled_name), None)
    try:
        text = module.function(mangled_name)
    except KeyError:
        names = ", ".join(module.function_names) or "none"
        diagnostic = Diagnostic("WL0208", f"there is no kernel {mangled_name!r}", notes=(f"kernels: {names}",))
        raise RaisingError(diagnostic) from None
    except UnknownSyntax as error:
        raise RaisingError(Diagnostic("WL0209", f"LLVM IR that can't be read: {error}")) from error
    name = signature.name if signature is not None else mangled_name
    try:
        flow = ControlFlow(text)
    except IrreducibleError as error:
        raise irreducible(module, text, name, error) from error
    translator = Translator(module, text, flow, name)
    memory.find_print_arguments(translator)
    function, guards = build_function(translator, signature, uncounted)
    if watch is not None:
        watch(AS_STRUCTURED, function)
    run_passes(function, passes_of_import(guards), watch)
    return function


def irreducible(module: DeviceModule, text: FunctionText, name: str, error: IrreducibleError) -> RaisingError:
    """The diagnostic for a cycle with several entries."""
    instructions = (*error.node.instructions, error.node.terminator)
    located = (module.positions.position(each.location) for each in instructions)
    position = next((each for each in located if each is not None), module.positions.position(text.location))
    headline, help = "a loop that can be entered in several places", "write the loop without goto into its middle"
    return module.refusal("WL0201", headline, position, name, help)


def build_function(
    translator: Translator, signature: KernelSignature | None, uncounted: Collection[str]
) -> tuple[Function, Guards]:
    """Parameters, launch sizes, and the body between them, as the control flow was structured; and loops' guards."""
    outer = Block(*_parameters(translator, signature))
    body = Block([tensor_type((), "i32")] * len(LAUNCH_DIMENSIONS), list(LAUNCH_DIMENSIONS))
    structurer = Structurer(translator, uncounted)
    structurer.open_blocks.append(outer)
    _enter_parameters(translator, outer)
    with Builder(outer, source=translator.position_of(None)) as builder:
        extents = tuple(LaunchSize(dimension) for dimension in LAUNCH_DIMENSIONS)
        for dimension, extent, argument in zip(LAUNCH_DIMENSIONS, extents, body.arguments, strict=True):
            translator.identifiers[dimension] = argument
            translator.identifiers[f"size of {dimension}"] = extent
        try:
            structurer.run(body)
        except UnknownSyntax as error:
            raise RaisingError(Diagnostic("WL0209", f"LLVM IR that can't be read: {error}")) from error
        with Builder(body):
            Yield(())
        move_to_front(translator.emit.prologue, body)
        builder.source = translator.position_of(None)
        Parallel(extents, LAUNCH_DIMENSIONS, Region(body))
        Return(())
    function = Function(signature.name if signature is not None else translator.function.name, outer)
    function.source = signature.position if signature is not None else None
    if function.source is None:
        function.source = translator.position_of(None)
    return function, structurer.guards


def _parameters(translator: Translator, signature: KernelSignature | None) -> tuple[list[Type], list[str]]:
    """The types of the parameters, and their names in the source where these are known."""
    types: list[Type] = []
    names: list[str] = []
    declared = signature.parameters if signature is not None else ()
    matches = len(declared) == len(translator.function.parameters)
    for index, (name, type_, attributes) in enumerate(translator.function.parameters):
        names.append(declared[index].name if matches and declared[index].name else name)
        if not isinstance(type_, PointerType):
            types.append(tensor_type((), translator.dtype_of(type_)))
        elif "byval" in attributes:
            number = declared[index].dtype if matches and declared[index].kind == "scalar" else None
            if number is not None:
                types.append(tensor_type((), MLIR_DTYPES[number]))
            else:
                types.append(BufferType.of("parameter", None, by_value_size(translator, attributes)))
        else:
            dtype = declared[index].dtype if matches else None
            types.append(BufferType.of("global", element_dtype(dtype) if dtype is not None else None))
    return types, names


def _enter_parameters(translator: Translator, outer: Block) -> None:
    """Tell the translator what its parameters are."""
    for argument, (name, type_, _) in zip(outer.arguments, translator.function.parameters, strict=True):
        if isinstance(type_, PointerType):
            buffer = argument if isinstance(argument.type, BufferType) else in_memory(translator, argument)
            translator.buffers[Base("parameter", name)] = buffer
            translator.values[name] = PointerValue(buffer, translator.emit.constant(0, "i64"))
        else:
            translator.values[name] = argument


def in_memory(translator: Translator, number: Value) -> Value:
    """A buffer that holds the number: CUDA's 16-bit floats are structs to clang, which passes them in memory."""
    zero = translator.emit.constant(0, "i64")
    with Builder(translator.emit.prologue, source=translator.position_of(None)):
        buffer = Allocate("local", np.dtype(NUMPY_DTYPES[number.dtype]).itemsize)
        Store(number, buffer, zero)
    return buffer


def element_dtype(dtype: np.dtype) -> str | None:
    """The dtype of the numbers that an array holds: that of a vector type's components; None for mixed records.

    >>> element_dtype(np.dtype([("x", "f4"), ("y", "f4")]))
    'f32'
    """
    if dtype.subdtype is not None:
        return element_dtype(dtype.subdtype[0])
    if dtype.names is None:
        return MLIR_DTYPES.get(dtype) if dtype != np.bool_ else "i8"
    found = {element_dtype(dtype[name]) for name in dtype.names}
    return found.pop() if len(found) == 1 else None


def by_value_size(translator: Translator, attributes: str) -> int:
    """The size of a record that is passed by value, from the parameter's attributes."""
    reader = Reader(attributes, translator.module.types)
    while reader.next() != "byval":
        pass
    reader.expect("(")
    return reader.read_type().size


def move_to_front(prologue: Block, body: Block) -> None:
    """Put the ops that depend on nothing before all others."""
    first = body.first
    for op in tuple(prologue):
        prologue.unlink(op)
        if first is None:
            body.append(op)
        else:
            body.insert_before(op, first)
