"""StableHLO programs as text: optimized, and run."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, ProgramError, WindlassError
from windlass.ir import Function, Module, TensorType
from windlass.ir.types import NUMPY_DTYPES
from windlass.lowering.finishing import Surroundings, avoid_miscompilations, finish
from windlass.lowering.settling import is_settling
from windlass.ops import CustomCall
from windlass.rewriting import Rule
from windlass.rewriting.collecting import without_collections
from windlass.stablehlo.custom_calls import is_lapack
from windlass.stablehlo.diagnosing import diagnose_execution
from windlass.stablehlo.exporting import export_text
from windlass.stablehlo.importing import import_bytecode, import_text
from windlass.stablehlo.optimizing import Choices, Report, optimize_module
from windlass.stablehlo.private_jax import initialize_lapack
from windlass.stablehlo.program import TensorProgram
from windlass.stablehlo.screening import screen
from windlass.stablehlo.waiting import wait_for

Array: TypeAlias = NDArray[Any]


@without_collections()
def optimize(
    program: str | bytes,
    *,
    exact: bool = False,
    assumes: str | Iterable[str] = (),
    compile_seconds: float = 10.0,
    device: str | None = None,
    rules: Iterable[Rule] = (),
    without: str | Iterable[str] = (),
    saturate: bool = False,
) -> str:
    """The program (StableHLO text or bytecode) after the catalogue of rewrites, as text.

    Integer and boolean results stay the same. So do float results, NaN, infinities and signed zeros included, but for
    the order of sums and products, as in XLA's own reductions; with `exact` that order is kept too. `assumes` grants
    what rules may take for granted of floats, in arguments and in what is computed from them, but of no constant: "no
    NaN", "finite" (implies it), "no -0.0" (signs of zeros don't count). `compile_seconds` bounds the time that is
    spent; the program is valid whenever it ends. `device` ("cpu", "gpu", "tpu"; by default what JAX runs on) is the one
    whose costs count; for the CPU, values that its loops would compute several times over are kept apart by calls that
    XLA doesn't inline, and for GPUs, loops that would not fit into registers are divided by barriers. `rules` are rules
    of your own, declared by `wl.rewrite`, used beside the catalogue's; `without` names rules to be left out; with
    `saturate` they are also tried without a choice between them, around products and reductions.

    Raises ProgramError (WL05xx) where the program can't be read, WindlassError (WL08xx) where one of the rules breaks
    its laws and for choices that there are not.

    >>> text = '''func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    ...   %0 = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
    ...   %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
    ...   return %1 : tensor<4xf32>
    ... }'''
    >>> "reverse" in optimize(text)
    False
    """
    choices = Choices.make(exact, assumes, compile_seconds, device, rules, without, saturate=saturate)
    begun = time.monotonic()
    module = read_program(program)
    optimize_module(module, choices, begun=begun)
    until = begun + choices.compile_seconds
    target, is_partitioned = choices.device_on(), _is_partitioned(module)
    finish(module, target, until, is_whole=True, is_partitioned=is_partitioned)
    avoid_miscompilations(module, target, Surroundings(is_whole=True, is_partitioned=is_partitioned))
    return export_text(module)


def _is_partitioned(module: Module) -> bool:
    """Whether XLA divides the program among devices: calls that it doesn't inline would keep it from that.

    JAX also names meshes that have no axes, which are one device.
    """
    partitions = module.attributes.get("mhlo.num_partitions", "1").split(" ")[0]
    return partitions != "1" or any("sdy.mesh" in text and not _LONE.search(text) for text in module.globals)


_LONE = re.compile(r"^\s*sdy\.mesh @[\w.]+ = <\[\]")


def explain(program: str | bytes, *, estimates: bool = True, **choices: Any) -> Report:
    """What `optimize` would do to the program: rewrites in order, ops and estimated costs before and after.

    Takes the same choices as `optimize`.

    >>> text = '''func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    ...   %0 = stablehlo.negate %x : tensor<4xf32>
    ...   %1 = stablehlo.negate %0 : tensor<4xf32>
    ...   return %1 : tensor<4xf32>
    ... }'''
    >>> [entry.rule for entry in explain(text).rewrites]
    ['negate_of_negate']
    """
    return optimize_module(read_program(program), Choices.make(**choices), estimates=estimates)


def run(program: str | bytes, *arrays: Any) -> list[Array]:
    """What the program's `main` gives for these arrays, computed by XLA.

    Arrays are NumPy's, of the shapes and element types that the program takes; numbers are taken as rank-0 arrays.
    The program computes and does nothing else: of custom calls it may make those of `windlass.stablehlo.custom_calls`.
    Raises ProgramError where the program can't be read or run (WL05xx) and where arrays don't fit it (WL0520).

    >>> run('''func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
    ...   %0 = stablehlo.multiply %x, %x : tensor<3xf64>
    ...   return %0 : tensor<3xf64>
    ... }''', np.array([1.0, 2.0, 3.0]))
    [array([1., 4., 9.])]
    """
    import jax

    module = read_program(program)
    platform = jax.default_backend()
    screen(module, platform)
    main = module.main
    argument_types = [_tensor(main, each.type) for each in main.arguments]
    result_types = [_tensor(main, each.type) for each in main.results]
    values = _fitting(arrays, argument_types)
    for op in (op for function in module.functions.values() for op in function.walk()):
        if isinstance(op, CustomCall) and is_lapack(op):
            initialize_lapack()
        elif is_settling(op) and platform != "cpu":
            op.extra = {}  # what `optimize` writes for CPUs; other compilers may not know calls at all
    try:
        found = TensorProgram(module, is_given=True).bind(*values)
        for result in found:
            wait_for(result)
        results = [np.asarray(result) for result in found]
    except WindlassError:
        raise
    except Exception as error:
        raise ProgramError(diagnose_execution(error)) from error
    for position, (result, type_) in enumerate(zip(results, result_types, strict=True)):
        if result.shape != type_.shape or result.dtype != NUMPY_DTYPES[type_.dtype]:
            given = f"{result.dtype} with shape {result.shape}"
            raise ProgramError(Diagnostic("WL0510", f"XLA gives {given} as result {position}, which is {type_}"))
    return results


def read_program(program: str | bytes) -> Module:
    """The module from text or bytecode.

    Raises ProgramError (WL0501) where it is neither.
    """
    if isinstance(program, str):
        return import_text(program)
    if isinstance(program, bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance]
        return import_bytecode(bytes(program))
    raise ProgramError(
        Diagnostic(
            "WL0501",
            f"this is not a StableHLO program: text or bytecode is expected, got {type(program).__name__}",
            help="of a file, give what it holds; of a JAX function, jax.jit(f).lower(...).as_text()",
        )
    )


def _tensor(main: Function, type_: Any) -> TensorType:
    if isinstance(type_, TensorType):
        return type_
    raise ProgramError(Diagnostic("WL0520", f"@{main.name} takes or gives a {type_}, which is no array"))


def _fitting(arrays: Sequence[Any], types: Sequence[TensorType]) -> list[Array]:
    listed = ", ".join(str(type_) for type_ in types) or "nothing"
    if len(arrays) != len(types):
        raise ProgramError(
            Diagnostic(
                "WL0520", f"the program takes {len(types)} arrays, got {len(arrays)}", notes=(f"it takes {listed}",)
            )
        )
    values: list[Array] = []
    for position, (array, type_) in enumerate(zip(arrays, types, strict=True)):
        dtype = NUMPY_DTYPES[type_.dtype]
        is_number = isinstance(array, int | float | complex) and not isinstance(array, np.generic)
        try:
            value = np.asarray(array, dtype) if is_number else np.asarray(array)
            given = f"{value.dtype} with shape {value.shape}"
            # A number may be rounded to a float, but not to an integer or a boolean.
            is_same = not is_number or type_.is_float or type_.is_complex or value == array
        except (TypeError, ValueError, OverflowError, RuntimeError) as error:
            value, given, is_same = None, f"{type(array).__name__}: {error}", False
        if not is_same and value is not None:
            given = repr(array)
        if value is None or not is_same or value.shape != type_.shape or value.dtype != dtype:
            raise ProgramError(
                Diagnostic(
                    "WL0520",
                    f"argument {position} of the program is {type_}, got {given}",
                    help=f"pass an array of {dtype.name} with shape {type_.shape}",
                )
            )
        values.append(value)
    return values
