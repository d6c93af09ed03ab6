"""A compiled C or C++ source: its functions by name, to be called on NumPy arrays and numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import CompilationError, Diagnostic, LaunchError, RaisingError
from windlass.diagnostics.deferral import deferred
from windlass.frontends.cpp import RESULT, compile_functions
from windlass.frontends.cpp.clang import Language
from windlass.frontends.cuda import find_kernel
from windlass.ir.signature import KernelSignature
from windlass.launching import emulation
from windlass.launching.kernel import Kernel
from windlass.launching.loaded_kernel import LoadedKernel
from windlass.launching.loaded_module import LoadedModule
from windlass.launching.textures import TextureReferences
from windlass.launching.variables import Variables
from windlass.runtime.arguments import check_argument, order_arguments

if TYPE_CHECKING:
    from windlass.ir import Function
    from windlass.launching import native_kernel
    from windlass.launching.native_kernel import NativeKernel
    from windlass.parallel import loops_as_launches
    from windlass.parallel.loops_as_launches import LoopLaunch
    from windlass.reports.lowered import Lowered
    from windlass.reports.report import Report
else:
    loops_as_launches = deferred("windlass.parallel.loops_as_launches")
    native_kernel = deferred("windlass.launching.native_kernel")

Array: TypeAlias = NDArray[Any]

ONE = (1, 1)
"""The grid and block that functions run as."""


class CModule(LoadedModule):
    """The functions of one source. Made by `windlass.c.compile`.

    `module["name"]` is a function by its name. Iterating gives the names; `module.functions` lists them.
    `module.variables` are its variables, which keep what calls leave in them.
    """

    def __init__(self, source: str | Path, language: Language | None, options: Mapping[str, Any]) -> None:
        self._source = source
        self._language: Language | None = language
        self._options = dict(options)
        self._functions: dict[str, CFunction] = {}
        self._together: LoadedModule | None = None
        self._compiled = compile_functions(source, language, is_apart=True, **self._options)
        super().__init__(self._compiled.code, False, Variables(), TextureReferences())

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of all functions that can be called."""
        return tuple(signature.name for signature in self.code.kernels)

    @property
    def kernels(self) -> list[Kernel]:
        """All functions as kernels of one thread, overloads included."""
        return [Kernel(self, signature) for signature in self.code.kernels]

    @property
    def together(self) -> LoadedModule:
        """The same for calls whose arrays may overlap; compiled when it is first asked for."""
        if self._together is None:
            self._together = self.with_code(compile_functions(self._source, self._language, **self._options).code)
        return self._together

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.code.kernels)

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def __getitem__(self, name: str) -> CFunction:
        found = self._functions.get(name)
        if found is None:
            entry = self._find(name)
            found = self._functions.setdefault(entry.mangled, CFunction(self, entry))
            self._functions[name] = found
        return found

    def _find(self, name: str) -> KernelSignature:
        names = self.functions
        for refused in self._compiled.refused:
            if name == refused.name and name not in names:
                headline, line = f"'{name}' can't be called: {refused.reason}", self.code.source_line(refused.position)
                advice = _HELP if "returns" in refused.reason or "takes" in refused.reason else None
                raise CompilationError(Diagnostic("WL0121", headline, refused.position, source=line, help=advice))
        found = find_kernel(replace(self.code, kernels=tuple(map(as_declared, self.code.kernels))), name, "function")
        return next(each for each in self.code.kernels if each.mangled == found.mangled)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its source, which is compiled anew."""
        return CModule, (self._source, self._language, self._options)

    def __repr__(self) -> str:
        return f"<windlass module of C: {', '.join(self.functions)}>"


def as_declared(entry: KernelSignature) -> KernelSignature:
    """The signature without the parameter that takes what is returned."""
    return replace(entry, parameters=tuple(each for each in entry.parameters if each.name != RESULT))


_HELP = "write a function around it that takes pointers and numbers, and returns a number or nothing"


class CFunction:
    """A function of a C or C++ module.

    `function(*arguments)` runs it on NumPy arrays, which are updated in place, and numbers; a returned number is
    returned. `function.jax(*arguments)` is pure, for JAX. Arguments may be given by parameter name.
    """

    def __init__(self, module: CModule, entry: KernelSignature) -> None:
        self.module = module
        self.entry = entry
        self.signature = as_declared(entry)
        is_returning = len(entry.parameters) > len(self.signature.parameters)
        self._result = entry.parameters[-1].dtype if is_returning else None
        self.as_kernel = Kernel(module, entry)
        """The function as a kernel of one thread, which takes memory for what is returned as its last argument.

        It is right where the arrays that it is given are apart; `kernel_for` gives one that is right for any."""
        self._together: Kernel | None = None

    @property
    def name(self) -> str:
        return self.signature.name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        ordered = order_arguments(self.signature, arguments, named)
        return self._with_result(ordered, self.kernel_for(ordered)[ONE])

    def emulated(self, *arguments: Any, **named: Any) -> Any:
        """The same in the emulator, which also finds accesses out of bounds: `wl.emulate(function)`."""
        ordered = order_arguments(self.signature, arguments, named)
        return self._with_result(ordered, emulation.emulate(self.kernel_for(ordered))[ONE])

    def as_native(self, *arguments: Any, **named: Any) -> Any:
        """The same as native code, in place: `wl.native(function)`.

        Where an independent loop is all that the function does its iterations are the threads. Raises RaisingError
        (WL0440) where there is no native code.
        """
        ordered = order_arguments(self.signature, arguments, named)
        kernel = self.kernel_for(ordered)
        loop = self._loop_as_launch if kernel is self.as_kernel else None
        if loop is None:
            return self._with_result(ordered, native_kernel.NativeKernel(kernel)[ONE])
        launch, threads = loop
        parameters = self.signature.parameters
        known = [
            check_argument(self.signature, parameter, argument) if parameter.kind != "pointer" else None
            for parameter, argument in zip(parameters, ordered, strict=True)
        ]
        grid, block = launch.shape(known)
        if 0 not in grid:
            threads[grid, block](*ordered)
        return None

    @cached_property
    def _loop_as_launch(self) -> tuple[LoopLaunch, NativeKernel] | None:
        """The loop that is all that the function does as a launch, and that as native code."""
        if self._result is not None:
            return None
        try:
            found = loops_as_launches.loop_as_launch(self.as_kernel.function)
        except RaisingError:
            return None
        if found is None:
            return None
        return found, native_kernel.NativeKernel(_LoopKernel(self.as_kernel, found), is_independent=True)

    def _with_result(self, arguments: Sequence[Any], launch: Callable[..., None]) -> Any:
        """What is returned, after such a launch has put it into memory."""
        if self._result is None:
            launch(*arguments)
            return None
        # Among arrays that are traced, such an array is one of them.
        traced = next((each for each in arguments if _storage_of(each) is not None), None)
        like: Any = np.zeros(0) if traced is None else traced
        returned = np.zeros_like(like, self._result, shape=1)
        launch(*arguments, returned)
        return returned[0]

    def kernel_for(self, arguments: Sequence[Any]) -> Kernel:
        """The function as a kernel of one thread, right for these arguments."""
        if not self._may_overlap(arguments):
            return self.as_kernel
        if self._together is None:
            self._together = Kernel(self.module.together, self.entry)
        return self._together

    def _may_overlap(self, arguments: Sequence[Any]) -> bool:
        """Whether memory that two arguments lie in may be the same, and is not for reading alone."""
        seen: list[tuple[Any, bool]] = [(each, False) for each in self.module.variables.storage.values()]
        for parameter, argument in zip(self.signature.parameters, arguments, strict=True):
            if parameter.kind == "record" and parameter.pointers:
                return True
            memory = argument if isinstance(argument, np.ndarray) else _storage_of(argument)
            if memory is None:
                continue
            for other, is_read_only in seen:
                if not (is_read_only and parameter.is_const) and _may_be_same(memory, other):
                    return True
            seen.append((memory, parameter.is_const))
        return False

    def jax(self, *arguments: Any, **named: Any) -> Any:
        """The function of values: it returns the new value of the array that the function writes, or a tuple of them
        in the order of the parameters where there are several; what the function itself returns comes last.

        Under `jax.jit`, `vmap` and `grad` as well. Arrays are values: the same one given twice is two memories. Python
        integers are compiled in; traced integers stay unknown.
        """
        ordered = order_arguments(self.signature, arguments, named)
        function = self.as_kernel.jax(*ONE)
        if self._result is None:
            return function(*ordered)
        found = function(*ordered, *self._place_of_result())
        *arrays, returned = found if isinstance(found, tuple) else (found,)
        return (*arrays, returned[0]) if arrays else returned[0]

    def explain(self, *arguments: Any) -> Report:
        """What becomes of the function in such a call; without arguments, what became of it in its last call."""
        if not arguments and self.signature.parameters:
            for kernel in (self.as_kernel, self._together):
                if kernel is not None and kernel.last_report is not None:
                    return kernel.last_report
            headline = f"{self.name} was not called yet: what it becomes depends on the call"
            raise LaunchError(Diagnostic("WL0415", headline, help="give arguments: function.explain(*arguments)"))
        given = order_arguments(self.signature, arguments, {})
        return self.kernel_for(given).explain(*ONE, *given, *self._place_of_result())

    def lower(self, *arguments: Any) -> Lowered:
        """The stages of such a call: `function.lower(*arguments).text("tensor")`."""
        given = order_arguments(self.signature, arguments, {})
        return self.kernel_for(given).lower(*ONE, *given, *self._place_of_result())

    def _place_of_result(self) -> tuple[Array, ...]:
        return () if self._result is None else (np.zeros(1, self._result),)

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.getitem, (self.module, self.name)

    def __repr__(self) -> str:
        parameters = ", ".join(f"{each.type_name} {each.name}" for each in self.signature.parameters)
        return f"<windlass function {self.name}({parameters})>"


class _LoopKernel(LoadedKernel):
    """A function of C whose loop is a launch."""

    def __init__(self, kernel: Kernel, launch: LoopLaunch) -> None:
        super().__init__(kernel.module, kernel.signature)
        self._launch = launch

    def structured(self, uncounted: frozenset[str]) -> Function:
        """The launch, whose loops are those that the function has.

        Raises RaisingError where some of them would have to be counted otherwise.
        """
        if uncounted:
            reason = "the number of rounds of a loop relies on what can't be proved"
            raise RaisingError(Diagnostic("WL0301", reason, self.signature.position))
        return self._launch.function


def _storage_of(argument: Any) -> Any:
    """The storage of an array that `wl.jit` traces; None for all else."""
    return getattr(argument, "storage", None) if type(argument).__module__.startswith("windlass.") else None


def _may_be_same(one: Any, other: Any) -> bool:
    """Whether two memories may have a place in common: arrays, or storages of traced arrays."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.may_share_memory(one, other)
    return one is other
