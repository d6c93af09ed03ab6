"""Programs of launches: what they compute, their text, and the one function that is made of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax._src.interpreters.mlir as jax_mlir
import numpy as np
import pytest
from jaxlib.mlir import ir as mlir
from tests.frontends.llvm.running import imported
from tests.loops.test_evaluation import BOUND, FEW_THREADS, MOST_THREADS, compiled
from tests.programs.program import PROGRAMS, Array, Launch, Program
from tests.programs.test_programs import arrays_of, assert_same
from tests.programs.test_programs import compiled as loaded
from tests.raising.hand_built import run_raised

import windlass as wl
from windlass.diagnostics import RaisingError
from windlass.frontends.cuda import find_kernel
from windlass.frontends.llvm import import_kernel, variable_contents
from windlass.ir import Block, Builder, Function, Module
from windlass.ir.verifier import verify
from windlass.loops import Allocate, Parallel, ViewBuffer, evaluate_program
from windlass.loops import Launch as LaunchOp
from windlass.loops.text import program_text
from windlass.loops.verifier import verify_program
from windlass.ops import Constant, Multiply
from windlass.ops.regions import Return
from windlass.parallel.launches import KernelLaunch, inline_launches, make_program

LONG = ("cub", "tensor_cores")
"""Themes whose threads do much."""
GOLDEN = Path(__file__).with_name("golden") / "launches.mlir"
SUMS = """extern __shared__ int held[];
__global__ void kernel(const int *p, int *sums, int n) {
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    held[t] = i < n ? p[i] : 0;
    __syncthreads();
    if (t == 0) { int sum = 0; for (int k = 0; k < blockDim.x; k++) sum += held[k]; sums[blockIdx.x] = sum; }
}"""
SCALED = """__global__ void kernel(float *p, const int *sums, float factor) {
    __shared__ float factors[2];
    int t = threadIdx.x;
    factors[t & 1] = factor;
    __syncthreads();
    p[blockIdx.x * 2 + t] *= factors[1 - t] * sums[blockIdx.x];
}"""


def checked(program: Module) -> Module:
    """The program, in which all rules hold, in a text that the parser reads."""
    verify(program)
    verify_program(program)
    with jax_mlir.make_ir_context():
        assert mlir.Module.parse(program_text(program)).operation.verify()
    return program


def two_launches() -> tuple[list[KernelLaunch], list[Any]]:
    """Sums of blocks, and another kernel of the same name that uses them; and the arrays."""
    p, sums, q = np.arange(7, dtype=np.int32), np.zeros(2, np.int32), np.ones(4, np.float32)
    launches = [
        KernelLaunch(imported(SUMS), (2,), (4,), [p, sums, 7], 16),
        KernelLaunch(imported(SCALED), (2,), (2,), [q, sums, 0.5]),
    ]
    return launches, [p, sums, q]


def test_launches_and_their_one_function_are_as_written() -> None:
    program = checked(make_program(two_launches()[0]).module)
    before = program_text(program)
    inline_launches(program)
    found = f"// before: inlined launches\n{before}// after\n{program_text(checked(program))}"
    if os.environ.get("WINDLASS_WRITE_GOLDEN"):
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()


@pytest.mark.parametrize("order", [None, 1, 2])
def test_what_one_launch_writes_the_next_one_reads(order: int | None) -> None:
    for is_inlined in (False, True):
        launches, (_, sums, q) = two_launches()
        module, arguments = make_program(launches)
        assert len(arguments) == 3
        if is_inlined:
            inline_launches(module)
            assert list(module.functions) == ["main"]
        evaluate_program(module, arguments, order=None if order is None else np.random.default_rng(order))
        assert sums.tolist() == [6, 15]
        assert q.tolist() == [3, 3, 7.5, 7.5]


def test_a_sequence_is_not_raised_as_if_it_were_its_first_launch() -> None:
    kernel = imported("__global__ void kernel(int *p) { p[threadIdx.x] += 1; }")
    p = np.zeros(4, np.int32)
    module, arguments = make_program([KernelLaunch(kernel, (1,), (4,), [p])] * 2)
    for change in (lambda each: None, inline_launches):
        change(module)
        with pytest.raises(RaisingError, match="it is a program of launches"):
            run_raised(module.main, (1,), (4,), arguments)


def test_kernels_that_are_not_known_stay_launches() -> None:
    program = make_program(two_launches()[0]).module
    del program.functions["kernel.1"]
    inline_launches(program)
    kinds = [type(op) for op in program.main.body if isinstance(op, Parallel | LaunchOp)]
    assert kinds == [Parallel, LaunchOp]


COPY = """__global__ void kernel(int *to, const int *from, int n) {
    if (from && threadIdx.x < n) to[threadIdx.x] = from[threadIdx.x] + 1;
}"""
TWICE = """__global__ void kernel(int *to, const int *from) { to[threadIdx.x] = 2 * from[threadIdx.x]; }"""


@pytest.mark.parametrize("size", [16, -1])
def test_programs_have_memory_of_their_own(size: int) -> None:
    """A program of two launches, of which one writes what the other reads; nobody else sees that memory."""
    kernel = imported(TWICE)
    main = Function("main", Block([kernel.arguments[0].type], ["p"]))
    with Builder(main.body):
        one, four, none = (Constant.of(number, "i32") for number in (1, 4, 0))
        count = Multiply(four, four) if size < 0 else None
        held = Allocate("global", size, byte_count=count, element_dtype="i32")
        between = ViewBuffer(held, "global", "i32")
        for to, source in ((between, main.arguments[0]), (main.arguments[0], between)):
            LaunchOp("kernel", (one, one, one, four, one, one), none, (to, source))
        Return(())
    program = Module([kernel, main])
    p = np.arange(8, dtype=np.int32)
    for change in (lambda each: None, inline_launches):
        change(program)
        evaluate_program(checked(program), [p])
    assert p.tolist() == [0, 16, 32, 48, 4, 5, 6, 7]


COPY_OF_FLOATS = "__global__ void kernel(float *to, const int *from) { to[threadIdx.x] = from[threadIdx.x]; }"


def test_one_memory_is_one_parameter_and_parts_of_it_are_others() -> None:
    kernel = imported(COPY)
    whole, other = np.arange(6, dtype=np.int32), np.zeros(4, np.int32)
    part = whole[2:]
    launches = [
        KernelLaunch(kernel, (1,), (4,), [other, part, 4]),
        KernelLaunch(kernel, (1,), (4,), [whole, other, 2]),
        KernelLaunch(kernel, (1,), (4,), [part[:], None, 4]),
        KernelLaunch(kernel, (1,), (4,), [part[:], other, 3]),
    ]
    module, arguments = make_program(launches)
    assert [each.size for each in arguments] == [4, 4, 6]
    evaluate_program(checked(module), arguments)
    assert other.tolist() == [3, 4, 5, 6]
    assert whole.tolist() == [4, 5, 4, 5, 6, 5]


def test_an_array_with_gaps_is_no_memory() -> None:
    whole = np.arange(8, dtype=np.int32)
    launch = KernelLaunch(imported(COPY), (1,), (4,), [whole[:4], whole[::2], 4])
    with pytest.raises(ValueError, match="the array for from is no run of elements"):
        make_program([launch])


def test_one_memory_may_be_of_several_types() -> None:
    numbers, p = np.zeros(4, np.float32), np.arange(4, dtype=np.int32)
    launches = [
        KernelLaunch(imported(COPY_OF_FLOATS), (1,), (4,), [numbers, p]),
        KernelLaunch(imported(COPY), (1,), (4,), [p, numbers, 4]),
    ]
    module, arguments = make_program(launches)
    assert len(arguments) == 2
    inline_launches(checked(module))
    evaluate_program(checked(module), arguments)
    assert (p - 1).view(np.float32).tolist() == [0, 1, 2, 3]


def test_device_variables_of_one_name_are_one_variable() -> None:
    count, half = (
        imported(f"__device__ {kind} total; __global__ void kernel({kind} *p) {{ total += 1; *p = total; }}")
        for kind in ("int", "short")
    )
    p = np.zeros(1, np.int32)
    module, arguments = make_program([KernelLaunch(count, (1,), (1,), [p])] * 3)
    inline_launches(module)
    evaluate_program(checked(module), arguments)
    assert p.tolist() == [3]
    with pytest.raises(ValueError, match="the device variable total is"):
        make_program([KernelLaunch(each, (1,), (1,), [p]) for each in (count, half)])


def sequences() -> Iterator[Any]:
    """The small launches of each program; most are slow."""
    for number, program in enumerate(PROGRAMS):
        small = [each for each in program.launches if each.threads <= MOST_THREADS]
        if small and not any(isinstance(each, BOUND) for each in program.draw_arguments(small[0])):
            is_long = program.source.stem in LONG or sum(each.threads for each in small) > FEW_THREADS
            is_slow = number % 9 or is_long
            yield pytest.param(program, small, id=program.name, marks=[pytest.mark.slow] if is_slow else [])


def in_turn(program: Program, launches: Sequence[Launch]) -> list[tuple[Launch, list[Any]]]:
    """The launches one after the other, twice: then each works on what it has left in its arrays."""
    return [(launch, program.draw_arguments(launch)) for launch in launches] * 2


def outcome(turns: Sequence[tuple[Launch, list[Any]]]) -> dict[str, Array]:
    """All arrays, by launch and name."""
    found = [(str(launch), arrays_of(arguments)) for launch, arguments in turns]
    return {f"{launch}, {name}": array for launch, arrays in found for name, array in arrays.items()}


def extents(sizes: int | tuple[int, ...]) -> tuple[int, ...]:
    return (sizes,) if isinstance(sizes, int) else sizes


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("program", "launches"), list(sequences()))
def test_sequences_give_what_the_emulator_gives_launch_by_launch(program: Program, launches: list[Launch]) -> None:
    code = compiled(program.source)
    kernel = import_kernel(code, find_kernel(code, program.kernel).mangled)
    values = program.draw_variables()
    module = loaded(program.source)
    for name, value in values.items():
        module.variables[name] = value
    turns = in_turn(program, launches)
    for launch, arguments in turns:
        wl.emulate(module[program.kernel])[launch.grid, launch.block, launch.shared_bytes](*arguments)
    wanted = outcome(turns) | {name: module.variables[name].copy() for name in program.observed}

    for is_inlined in (False, True):
        turns = in_turn(program, launches)
        sequence, arguments = make_program(
            [
                KernelLaunch(kernel, extents(launch.grid), extents(launch.block), given, launch.shared_bytes)
                for launch, given in turns
            ]
        )
        if is_inlined:
            inline_launches(sequence)
        verify_program(sequence)
        held = variable_contents(code) | {name: value.tobytes() for name, value in values.items()}
        state = evaluate_program(sequence, arguments, held)
        found = outcome(turns)
        for name in program.observed:
            found[name] = np.frombuffer(state.variables[name].tobytes(), values[name].dtype).reshape(values[name].shape)
        assert_same(found, wanted, program.tolerance, "the emulator")
