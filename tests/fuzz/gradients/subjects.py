"""Makes of each kind of random program what is differentiated, and smaller programs of it."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.dtypes import float0
from numpy.typing import NDArray

import tests.fuzz.python.author as python_author
import tests.fuzz.tensor.shrinking as tensor_shrinking
import windlass as wl
from tests.fuzz import shrinking as kernel_shrinking
from tests.fuzz.arrays import draw_all
from tests.fuzz.frames import write_kernel
from tests.fuzz.gradients.checking import Arrays, Subject, Unfit
from tests.fuzz.kernels import Kernel
from tests.fuzz.python.running import function_of
from tests.fuzz.running import sequence_of
from tests.fuzz.tensor.author import Program, write_program
from tests.fuzz.tensor.functions import draw_transformed
from tests.fuzz.tensor.meaning import Meaning
from tests.fuzz.tiles.author import write_tiled_kernel
from windlass.autodiff.activity import is_differentiable
from windlass.diagnostics import WindlassError
from windlass.functions.pure_call import pure_call
from windlass.ir import Function, Module, Op, TensorType, tensor_type
from windlass.stablehlo import export_text, import_text
from windlass.stablehlo.optimizing import inline_module

Array = NDArray[Any]


class Case(ABC):
    """A random program of some kind."""

    @abstractmethod
    def subject(self) -> Subject:
        """What is differentiated. Raises Unfit where there is none."""

    @abstractmethod
    def smaller(self) -> Iterator[Callable[[], Case]]:
        """Ways to make it smaller, boldest first; what they give may be no smaller."""

    @abstractmethod
    def describe(self) -> str:
        """The program, to be read."""


@dataclass(frozen=True)
class TensorCase(Case):
    """Ops of all kinds, and instances of rules' patterns."""

    program: Program

    @staticmethod
    def of(seed: int) -> TensorCase:
        """The one of that number."""
        written = write_program(seed, False, (12, 24)[seed % 2])
        return TensorCase(replace(written, arrays=_moved_from_ties(written.arrays, seed)))

    def subject(self) -> Subject:
        return Subject(_inlined(self.program.copy()), self.program.arrays)

    def smaller(self) -> Iterator[Callable[[], Case]]:
        for make in tensor_shrinking.candidates(self.program):
            yield lambda make=make: TensorCase(make())

    def describe(self) -> str:
        values = [f"%arg{k} = {array.tolist()}" for k, array in enumerate(self.program.arrays)]
        return "\n".join([export_text(self.program.copy()), *values])


@dataclass(frozen=True)
class FunctionCase(Case):
    """A function of jax.numpy, which JAX can differentiate too."""

    seed: int

    def subject(self) -> Subject:
        with jax.enable_x64(True):
            function, given = draw_transformed(self.seed)
            if self.seed % 2:
                given = list(_moved_from_ties(given, self.seed))
            main = _lowered(lambda *values: jax.tree.leaves(function(*values)), given)

            def pull(values: Sequence[Any], weights: Sequence[Any]) -> Any:
                found, back = jax.vjp(lambda *values: jax.tree.leaves(function(*values)), *values)
                wanted = iter(weights)
                return back(
                    [
                        next(wanted) if jnp.issubdtype(each.dtype, jnp.inexact) else np.zeros(each.shape, float0)
                        for each in found
                    ]
                )

            is_double = not any(type_.is_float and type_.dtype != "f64" for type_ in map(_tensor, main.walk()))
            weights = [np.zeros(each.shape) for each in main.results if is_differentiable(each.type)]
            # JAX's program is run by the meaning of its ops: XLA would compile for longer than all the rest takes.
            pulled = _lowered(pull, (given, weights)) if is_double else None

        def pulled_by_jax(arrays: Arrays, weights: Arrays) -> Arrays:
            assert pulled is not None
            return Meaning().of_function(pulled, [*arrays, *weights])

        return Subject(main, tuple(map(np.asarray, given)), pulled_by_jax=pulled_by_jax if is_double else None)

    def smaller(self) -> Iterator[Callable[[], Case]]:
        subject = self.subject()
        yield lambda: TensorCase(Program(Module([subject.function]), subject.arrays, False))

    def describe(self) -> str:
        return f"the function of jax.numpy of number {self.seed}:\n" + export_text(Module([self.subject().function]))


@dataclass(frozen=True)
class PythonCase(Case):
    """A function of Python with loops, branches and names that share arrays."""

    program: python_author.Program
    arrays: tuple[Array, ...]

    @staticmethod
    def of(seed: int) -> PythonCase:
        generator = np.random.default_rng(seed)
        x, y = generator.uniform(-4, 4, 5), generator.uniform(-4, 4, 5)
        written = python_author.write_program(random.Random(seed))
        return PythonCase(written, (x, y, generator.integers(0, 4, 2)))

    def subject(self) -> Subject:
        try:
            function = function_of(self.program)
        except SyntaxError as error:
            raise Unfit("no Python") from error
        compiled = wl.jit(function)

        @wl.jit
        def whole(x: Any, y: Any, q: Any) -> Any:
            # What is returned may be an argument or a number that is known, which would be no result.
            returned = jax.tree.map(lambda leaf: leaf + 0.0 * x[0], compiled(x, y, q))
            return returned, x * 1.0, y * 1.0

        def outside(arrays: Arrays) -> Arrays:
            x, y, q = (np.array(each) for each in arrays)
            return [np.asarray(leaf) for leaf in jax.tree.leaves((function(x, y, q), x, y))]

        call = _call(whole, self.arrays)
        return _subject_of(call, outside)

    def smaller(self) -> Iterator[Callable[[], Case]]:
        for program in python_author.smaller(self.program):
            yield lambda program=program: replace(self, program=program)

    def describe(self) -> str:
        return "\n".join([self.program.text(), *map(repr, self.arrays)])


@dataclass(frozen=True)
class KernelCase(Case):
    """A CUDA kernel, or two of which one reads what the other writes."""

    kernel: Kernel

    @property
    def has_floats(self) -> bool:
        """Whether it writes arrays of floats; none of its arrays is one of vectors or shares its memory."""
        arguments = self.kernel.all_arguments
        is_plain = not any(each.lanes > 1 or each.shares for each in arguments)
        return is_plain and any(each.ctype.kind == "float" and not each.is_constant for each in arguments)

    @staticmethod
    def of(seed: int) -> KernelCase:
        write = write_tiled_kernel if seed % 6 == 5 else write_kernel
        # Half of all kernels have floats in and out: the next of them.
        return next(found for number in count(1000 * seed) if (found := KernelCase(write(number))).has_floats)

    def subject(self) -> Subject:
        kernel = self.kernel
        if not self.has_floats:
            raise Unfit("no floats that are read and written")
        module = wl.cuda.compile(kernel.whole_text())
        stages = [(each, module[name]) for each, name in zip(kernel.sequence, kernel.names("kernel"), strict=True)]
        launch_all = sequence_of(kernel, stages)
        known = [[scalar.value for scalar in each.scalars] for each, _ in stages]
        arrays = list(draw_all(kernel.all_arguments, kernel.seed).values())
        given = _moved_from_ties(arrays, kernel.seed)

        @wl.jit
        def run(arrays: list[Any]) -> None:
            launch_all(arrays, known)

        return _subject_of(_call(run, (list(given),)), None)

    def smaller(self) -> Iterator[Callable[[], Case]]:
        for make in kernel_shrinking.candidates(self.kernel):
            yield lambda make=make: KernelCase(_declared(make().trimmed()))

    def describe(self) -> str:
        return self.kernel.describe()


def make_case(seed: int) -> Case:
    """The program of that number."""
    kinds: tuple[Callable[[int], Case], ...] = (TensorCase.of, FunctionCase, KernelCase.of, PythonCase.of)
    return kinds[seed % len(kinds)](seed // len(kinds))


def _declared(kernel: Kernel) -> Kernel:
    if not kernel.declares_all:
        raise ValueError("a name is not declared any more")
    return kernel


def _lowered(function: Callable[..., Any], given: Sequence[Any]) -> Function:
    return _inlined(import_text(jax.jit(function, keep_unused=True).lower(*given).as_text()))


def _tensor(op: Op) -> TensorType:
    return op.results[0].tensor if op.results and isinstance(op.results[0].type, TensorType) else tensor_type((), "i1")


def _inlined(module: Module) -> Function:
    inline_module(module)
    return module.main


def _call(function: Any, arguments: Sequence[Any]) -> Any:
    try:
        return pure_call(function, arguments, {})
    except WindlassError as error:
        raise Unfit(f"{error.diagnostics[0].code}: not compiled") from error


def _subject_of(call: Any, outside: Callable[[Arrays], Arrays] | None) -> Subject:
    main = call.program.code.differentiable.main
    return Subject(main, tuple(np.asarray(each) for each in call.values), outside)


def _moved_from_ties(arrays: Sequence[Array], seed: int) -> tuple[Array, ...]:
    """The arrays, numbers moved a little so that hardly two are the same, and within the same bounds."""
    generator = np.random.default_rng(seed)
    moved: list[Array] = []
    for array in arrays:
        array = np.asarray(array)
        wide = array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)
        if array.dtype.kind in "biu" or not np.all(np.isfinite(wide)):
            moved.append(array)
            continue
        usual = float(np.median(np.abs(wide))) if array.size else 0.0
        near = 0.98 * wide + 0.02 * usual * generator.uniform(-1, 1, array.shape)
        moved.append(near.astype(array.dtype))
    return tuple(moved)
