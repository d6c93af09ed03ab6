"""Programs of launches: made of a list of launches, and turned into one function with several `Parallel`s in sequence.

    Launch(scale, sizes, (x, t)); Launch(add, sizes, (t, y))  =  Parallel(sizes) { scale }; Parallel(sizes) { add }

In the one function passes see across launches what they see within one: which values and which memory they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from windlass.ir import Argument, Block, BufferType, Builder, Function, Module, Op, Type, Value
from windlass.ir.types import NUMPY_DTYPES
from windlass.loops import LAUNCH_DIMENSIONS, Allocate, DeviceVariableBuffer, Launch, LaunchSize, NullBuffer, ViewBuffer
from windlass.ops.creation import Constant
from windlass.ops.regions import Return


class KernelLaunch(NamedTuple):
    """A kernel of the loop level with its grid, block and arguments as `evaluate_kernel` takes them."""

    kernel: Function
    grid: Sequence[int]
    block: Sequence[int]
    arguments: Sequence[Any]
    shared_bytes: int = 0


class LaunchProgram(NamedTuple):
    """A module that does what a list of launches does, and the arguments of its main function."""

    module: Module
    arguments: tuple[Any, ...]


def make_program(launches: Sequence[KernelLaunch]) -> LaunchProgram:
    """The launches, one after the other, as a program whose parameters are the memories that they are given.

    Arrays that are the same memory, from the same byte to the same byte, are one parameter. Others may overlap, as the
    arguments of a kernel may. Numbers and sizes are constants of the program. Kernels share the device variables of
    one name, as those of one linked program do.

    Raises ValueError for kernels that differ in the size or kind of a device variable, and for arrays that are not
    C-contiguous.

    >>> kernel = Function("k", Block([BufferType.of("global")] * 2))
    >>> with Builder(kernel.body):
    ...     _ = Return(())
    >>> x, y = np.zeros(3, np.float32), np.ones(3, np.float32)
    >>> program = make_program([KernelLaunch(kernel, (1,), (4,), (x, y)), KernelLaunch(kernel, (1,), (4,), (y, x))])
    >>> [type(op).__name__ for op in program.module.main.body if not isinstance(op, Constant)], len(program.arguments)
    (['Launch', 'Launch', 'Return'], 2)
    """
    _expect_same_variables([each.kernel for each in launches])
    return _Programmer().program(launches)


def _expect_same_variables(kernels: Sequence[Function]) -> None:
    known: dict[str, DeviceVariableBuffer] = {}
    for kernel in dict.fromkeys(kernels):
        for op in kernel.walk():
            if isinstance(op, DeviceVariableBuffer) and known.setdefault(op.variable, op).type is not op.type:
                raise ValueError(f"the device variable {op.variable} is {known[op.variable].type} and {op.type}")


class _Programmer:
    """What was entered into a program so far."""

    def __init__(self) -> None:
        self.main = Function("main", Block())
        self.arguments: list[Any] = []
        self.memories: dict[tuple[int, int], Value] = {}
        self.numbers: dict[tuple[str, bytes], Value] = {}
        self.kernels: dict[Function, Function] = {}

    def program(self, launches: Sequence[KernelLaunch]) -> LaunchProgram:
        with Builder(self.main.body) as builder:
            for each in launches:
                builder.source = each.kernel.source
                numbers = (*(*each.grid, 1, 1)[:3], *(*each.block, 1, 1)[:3], each.shared_bytes)
                *sizes, shared_bytes = (self.number(size, "i32") for size in numbers)
                given = zip(each.kernel.arguments, each.arguments, strict=True)
                inputs = tuple(self.enter(parameter, argument) for parameter, argument in given)
                Launch(self.kernel(each.kernel).name, tuple(sizes), shared_bytes, inputs)
            Return(())
        self.main.argument_attributes = [{} for _ in self.main.arguments]
        return LaunchProgram(Module([*self.kernels.values(), self.main]), tuple(self.arguments))

    def kernel(self, kernel: Function) -> Function:
        """The kernel under a name that no other one has."""
        if kernel not in self.kernels:
            taken = {each.name for each in self.kernels.values()} | {self.main.name}
            copy = self.kernels[kernel] = kernel.clone()
            names = (f"{kernel.name}.{number}" if number else kernel.name for number in range(len(taken) + 1))
            copy.name = next(name for name in names if name not in taken)
        return self.kernels[kernel]

    def number(self, number: Any, dtype: str) -> Value:
        value = np.asarray(number).astype(NUMPY_DTYPES[dtype])
        key = (dtype, value.tobytes())
        if key not in self.numbers:
            self.numbers[key] = Constant.of(value, dtype)
        return self.numbers[key]

    def enter(self, parameter: Argument, argument: Any) -> Value:
        """An argument as the kernel's parameter takes it."""
        type_ = parameter.type
        if not isinstance(type_, BufferType):
            return self.number(argument, parameter.dtype)
        if argument is None:
            return _as_type(NullBuffer(), type_)
        if type_.space == "parameter" or not isinstance(argument, np.ndarray) or not argument.nbytes:
            return self.add_argument(type_, parameter.name, argument)
        if not argument.flags.c_contiguous:
            raise ValueError(f"the array for {parameter.name} is no run of elements, last axis fastest")
        key = (argument.ctypes.data, argument.nbytes)
        if key not in self.memories:
            self.memories[key] = self.add_argument(type_, parameter.name, argument)
        return _as_type(self.memories[key], type_)

    def add_argument(self, type_: Type, name: str | None, argument: Any) -> Value:
        self.arguments.append(argument)
        return self.main.body.add_argument(type_, name)


def _as_type(buffer: Value, type_: BufferType) -> Value:
    return buffer if buffer.type is type_ else ViewBuffer(buffer, type_.space, type_.dtype, type_.size)


def inline_launches(program: Module) -> None:
    """Put in the place of each launch in the main function what its kernel does, for the launch's sizes and arguments.

    Kernels that the module does not have stay launches; those that no launch is left of go.
    """
    main = program.main
    for launch in [op for op in main.body if isinstance(op, Launch)]:
        kernel = program.functions.get(launch.callee)
        if kernel is not None:
            with Builder(main.body, before=launch, source=launch.source):
                _inline(kernel, launch)
            launch.erase()
    used = {str(op.callee) for op in main.body if isinstance(op, Launch)}
    for name in [name for name, each in program.functions.items() if each is not main and name not in used]:
        del program.functions[name]


def _inline(kernel: Function, launch: Launch) -> None:
    mapping: dict[Value, Value] = dict(zip(kernel.arguments, launch.inputs, strict=True))
    copies = [op.clone(mapping) for op in kernel.body if not isinstance(op, Return)]
    for copy in copies:
        for op in (copy, *(inner for region in copy.regions for inner in [*region.walk()])):
            _enter_sizes(op, launch)


def _enter_sizes(op: Op, launch: Launch) -> None:
    """Put what the launch says in the place of what its kernel asks for."""
    if isinstance(op, LaunchSize):
        op.replace_all_uses_with(launch.sizes[LAUNCH_DIMENSIONS.index(op.dimension)])
        op.erase()
    elif isinstance(op, Allocate) and op.size < 0 and op.byte_count is None:
        assert op.block is not None
        with Builder(op.block, before=op, source=op.source):
            op.replace_all_uses_with(op.with_fields((), byte_count=launch.shared_bytes))
        op.erase()
