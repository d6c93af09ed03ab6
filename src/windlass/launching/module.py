"""A compiled CUDA C++ source: its kernels by name, and its device variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, TypeAlias

from numpy.typing import NDArray

from windlass.diagnostics import CompilationError, Diagnostic, LaunchError
from windlass.diagnostics.deferral import deferred
from windlass.frontends.cuda import compile_device, find_kernel
from windlass.ir.signature import DeviceCode, KernelSignature
from windlass.launching.kernel import Kernel
from windlass.launching.loaded_module import LoadedModule
from windlass.launching.textures import TextureReferences
from windlass.launching.variables import Variables
from windlass.llvm.module import variable_contents

if TYPE_CHECKING:
    from windlass import gpu
else:
    gpu = deferred("windlass.gpu")

Array: TypeAlias = NDArray[Any]


class Module(LoadedModule):
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
        self._kernels: dict[str, Kernel] = {}
        code = code or compile_device(source, **self._options)
        super().__init__(code, allow_contraction, Variables(), TextureReferences())

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

    def ptx(self, sm: int | str = 90, *, line_info: bool = False) -> str:
        """All kernels and variables of the source as one module of PTX: `Kernel.ptx` says more."""
        return gpu.compile_ptx(self.code_for_gpus, self.code.kernels, sm, line_info=line_info)

    @property
    def code_for_gpus(self) -> DeviceCode:
        """The code with a mark on each product and sum that may be one operation, where these are allowed to be."""
        if not self.allow_contraction:
            return self.code
        return compile_device(self._source, **self._options, fast_math=True)

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
    wanted: dict[str, Any] = {**options, "instances": (*options.get("instances", ()), name)}
    code = compile_device(source, **wanted)
    return find_kernel(code, name), code
