"""A compiled CUDA C++ source: its kernels by name, and its device variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass import pipeline
from windlass.diagnostics import CompilationError, Diagnostic, LaunchError, Position
from windlass.frontends.cuda import find_kernel
from windlass.frontends.llvm import variable_contents
from windlass.ir.signature import DeviceCode, DeviceVariable, KernelSignature
from windlass.launching.kernel import Kernel
from windlass.launching.textures import TextureReferences
from windlass.runtime.arguments import are_words_of, dtypes_agree
from windlass.runtime.memories import bytes_of
from windlass.runtime.variable_memory import place_variable

if TYPE_CHECKING:
    from windlass.emulator import Emulator

Array: TypeAlias = NDArray[Any]


class Module:
    """The kernels and variables of one source. Made by `windlass.cuda.compile`.

    `module["name"]` is a kernel by its plain or mangled name or, for templates, by an instance's name
    (`module["axpy<float>"]`), which is instantiated when it is first asked for. Iterating gives the names.
    `module.variables` are its device variables, `module.textures` its texture and surface references.
    """

    def __init__(
        self,
        source: str | Path,
        options: Mapping[str, Any],
        allow_contraction: bool = False,
        code: DeviceCode | None = None,
    ) -> None:
        self._source = source
        self._options = dict(options)
        self.allow_contraction = allow_contraction
        self._kernels: dict[str, Kernel] = {}
        self.variables = Variables()
        self.textures = TextureReferences()
        self._adopt(code or pipeline.compile_source(source, self._options))

    def _adopt(self, code: DeviceCode) -> None:
        self.code = code
        self._emulator: Emulator | None = None
        self.variables.declare(code.variables, variable_contents(code))
        self.textures.declare(code.variables)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of all kernels, template instances included."""
        return tuple(signature.name for signature in self.code.kernels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.code.kernels)

    def __contains__(self, name: object) -> bool:
        return any(name in (signature.name, signature.mangled) for signature in self.code.kernels)

    def __getitem__(self, name: str) -> Kernel:
        found = self._kernels.get(name)
        if found is None:
            if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise CompilationError(
                    Diagnostic(
                        "WL0106",
                        f"a kernel is asked for by its name, got {name!r} ({type(name).__name__})",
                        notes=(f"kernels here: {', '.join(self.kernels)}",),
                    )
                )
            signature, code = _find_kernel(self.code, name, self._source, self._options)
            if code is not self.code:
                # The source was compiled anew with one more instance of a template; the kernels in use stay valid.
                self._options["instances"] = (*self._options.get("instances", ()), name)
                self._adopt(code)
            found = self._kernels.get(signature.mangled)
            if found is None:
                found = self._kernels[signature.mangled] = Kernel(self, signature)
            self._kernels[name] = found
        return found

    def __getattr__(self, name: str) -> Never:
        is_kernel = "code" in self.__dict__ and name in self
        hint = f"; write module['{name}']" if is_kernel else ""
        raise AttributeError(f"a windlass module has no attribute '{name}'{hint}")

    def source_line(self, position: Position) -> str | None:
        """The text of a line of a source that was given as text; None for files, which are read from disk."""
        text = self.code.source_text.get(position.file)
        if text is None:
            return None
        lines = text.splitlines()
        return lines[position.line - 1] if 0 < position.line <= len(lines) else None

    @property
    def emulator(self) -> Emulator:
        """The emulator of this module's device code; it works on this module's variables."""
        if self._emulator is None:
            from windlass.emulator import Emulator

            self._emulator = Emulator(self.code, self.variables.storage)
        return self._emulator

    def reset_variables(self) -> None:
        """Give all variables their initial values, in place: compiled launches hold their storage."""
        self.variables.reset(self.code.variables, variable_contents(self.code))
        if self._emulator is not None:
            self._emulator.restore_addresses()

    def move_variable(self, mangled: str, memory: Array) -> None:
        """Have a variable in other memory, which gets its value; launches that were made before are forgotten."""
        memory = memory.view(self.variables.storage[mangled].dtype).reshape(self.variables.storage[mangled].shape)
        memory[...] = self.variables.storage[mangled]
        self.variables.storage[mangled] = memory
        self._emulator = None
        self._kernels.clear()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with its compiled form and the values of its variables, without the memory that they are in.

        Raises LaunchError (WL0431) where textures are bound: these belong to this process.
        """
        if len(self.textures):
            raise LaunchError(
                Diagnostic(
                    "WL0431",
                    f"a module with bound textures can't be pickled: {', '.join(self.textures)}",
                    help="delete them from module.textures before, and bind them again where it is unpickled",
                )
            )
        values = {name: array.copy() for name, array in self.variables.storage.items()}
        return _restored, (self._source, self._options, self.allow_contraction, self.code, values)

    def __repr__(self) -> str:
        return f"<windlass module: {', '.join(self.kernels) or 'no kernels'}>"


def _restored(
    source: str | Path,
    options: Mapping[str, Any],
    allow_contraction: bool,
    code: DeviceCode,
    values: Mapping[str, Array],
) -> Module:
    module = Module(source, options, allow_contraction, code)
    for name, value in values.items():
        module.variables.storage[name][...] = value
    return module


def _find_kernel(
    code: DeviceCode, name: str, source: str | Path, options: Mapping[str, Any]
) -> tuple[KernelSignature, DeviceCode]:
    """The kernel of that name. Where it is an instance of a template that the code does not hold, the source is
    compiled again with it: the code that is returned holds the kernel.

    Raises CompilationError for names that are not in the source.
    """
    try:
        return find_kernel(code, name), code
    except CompilationError as error:
        if "<" not in name or error.diagnostics[0].code != "WL0107":
            raise
    instances = (*options.get("instances", ()), name)
    code = pipeline.compile_source(source, {**options, "instances": instances})
    return find_kernel(code, name), code


class Variables(MutableMapping[str, Array]):
    """The `__constant__` and `__device__` variables of a module, as NumPy arrays by name.

    Reading gives the array itself: what kernels write is seen in it, and writing to it is seen by later launches.
    Setting copies the value in.
    """

    def __init__(self) -> None:
        self._declared: dict[str, DeviceVariable] = {}
        self.storage: dict[str, Array] = {}

    def declare(self, variables: Sequence[DeviceVariable], initial: Mapping[str, bytes]) -> None:
        """Make room for variables that are new; those that are known keep their values."""
        for variable in variables:
            if variable.space in ("global", "constant") and not variable.name.startswith("__windlass_"):
                self._declared.setdefault(variable.name, variable)
        for name, value in _initial_arrays(variables, initial):
            if name not in self.storage:
                self.storage[name] = place_variable(value)

    def reset(self, variables: Sequence[DeviceVariable], initial: Mapping[str, bytes]) -> None:
        """Give all variables their initial values, in place; zeros to those that hold addresses."""
        for name, value in _initial_arrays(variables, initial):
            self.storage[name][...] = value

    def by_linker_name(self, mangled: str) -> Array:
        """The storage of a variable."""
        return self.storage[mangled]

    def _find(self, name: str) -> DeviceVariable:
        variable = self._declared.get(name)
        if variable is None:
            known = ", ".join(sorted(self._declared)) or "none"
            raise LaunchError(
                Diagnostic("WL0411", f"there is no device variable called '{name}'", notes=(f"declared: {known}",))
            )
        return variable

    def __getitem__(self, name: str) -> Array:
        return self.storage[self._find(name).mangled]

    def __setitem__(self, name: str, value: Any) -> None:
        variable = self._find(name)
        storage = self.storage[variable.mangled]
        declared = f"device variable '{name}' is {storage.dtype} with shape {storage.shape}"
        if isinstance(value, np.number | np.bool_):
            value = value.item()
        try:
            if isinstance(value, np.ndarray | np.generic):
                self._copy_array(variable, storage, np.asarray(value), declared)
            elif storage.dtype.names is not None:
                storage[...] = value
            else:
                self._copy_numbers(variable, storage, value, declared)
        except LaunchError:
            raise
        except (OverflowError, TypeError, ValueError) as error:
            raise _misfit(variable, f"{declared}: {error}") from None

    def _copy_array(self, variable: DeviceVariable, storage: Array, given: Array, declared: str) -> None:
        if not _fits(storage, given):
            raise _misfit(
                variable,
                f"{declared}, got {given.dtype} with shape {given.shape}",
                None if storage.dtype.names else f"convert it: value.astype(numpy.{storage.dtype.name})",
            )
        if given.nbytes == storage.nbytes and given.dtype != storage.dtype:
            bytes_of(storage)[:] = bytes_of(np.ascontiguousarray(given))
        else:
            storage[...] = given.reshape(storage.shape) if given.size == storage.size else given

    def _copy_numbers(self, variable: DeviceVariable, storage: Array, value: Any, declared: str) -> None:
        """Python's numbers are converted; what would lose its fraction, or is no number, is not."""
        given = np.asarray(value)
        if given.dtype.kind in "OSU" or (storage.dtype.kind in "iu" and given.dtype.kind not in "biu"):
            raise _misfit(variable, f"{declared}, got {value!r} ({type(value).__name__})")
        storage[...] = np.asarray(value, storage.dtype).reshape(
            storage.shape if given.size == storage.size else given.shape
        )

    def __contains__(self, name: object) -> bool:
        return name in self._declared

    def __delitem__(self, name: str) -> None:
        raise LaunchError(Diagnostic("WL0411", f"device variable '{name}' can't be deleted: the source declares it"))

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)


def _initial_arrays(variables: Sequence[DeviceVariable], initial: Mapping[str, bytes]) -> Iterator[tuple[str, Array]]:
    """By linker name: what variables hold at first, and constants that have no declaration (text, tables)."""
    declared = {variable.mangled for variable in variables}
    for name, raw in initial.items():
        if name not in declared:
            yield name, np.frombuffer(raw, np.uint8)
    for variable in variables:
        dtype = variable.dtype or np.dtype(np.uint8)
        shape = variable.shape if variable.dtype is not None else (variable.size,)
        array = np.zeros(shape, dtype)
        raw = initial.get(variable.mangled)
        if raw is not None and array.nbytes == len(raw):
            array = np.frombuffer(raw, dtype).reshape(shape)
        yield variable.mangled, array


def _misfit(variable: DeviceVariable, headline: str, help_: str | None = None) -> LaunchError:
    return LaunchError(Diagnostic("WL0411", headline, variable.position, help=help_))


def _fits(storage: Array, given: Array) -> bool:
    """Whether the value has the variable's elements and as many of them (or is one that fills all)."""
    if dtypes_agree(storage.dtype, given.dtype):
        return given.size == storage.size or given.ndim == 0
    return are_words_of(storage.dtype, given.dtype) and given.nbytes == storage.nbytes
