"""A kernel: something to launch, on NumPy arrays or inside JAX, and to ask about."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.diagnostics.deferral import deferred
from windlass.ir.signature import KernelSignature
from windlass.launching.loaded_kernel import MOST_LAUNCHES, LoadedKernel
from windlass.launching.loaded_module import LoadedModule
from windlass.launching.records import apart_function, takes_pointers_in_records, with_pointers_apart
from windlass.launching.texture_forms import no_function, with_known_textures
from windlass.runtime.launch_shape import LaunchShape, read_launch_shape

if TYPE_CHECKING:
    from windlass import gpu
    from windlass.autodiff import requests
    from windlass.autodiff.planning import Binomial, Periodic, Plan
    from windlass.launching import explaining, jax_function, kernel_rules, record_launch, texture_launch
    from windlass.launching.launch import Launch
    from windlass.reports.lowered import Lowered
    from windlass.reports.report import Report
    from windlass.runtime import distributions
else:
    gpu = deferred("windlass.gpu")
    requests = deferred("windlass.autodiff.requests")
    explaining = deferred("windlass.launching.explaining")
    jax_function = deferred("windlass.launching.jax_function")
    kernel_rules = deferred("windlass.launching.kernel_rules")
    record_launch = deferred("windlass.launching.record_launch")
    texture_launch = deferred("windlass.launching.texture_launch")
    distributions = deferred("windlass.runtime.distributions")


class Kernel(LoadedKernel):
    """A `__global__` function of a module.

    `kernel[grid, block](*arguments)` runs it on NumPy arrays, which are updated in place as device memory would be;
    `kernel[grid, block, shared_bytes]` gives it dynamic shared memory. Extents are integers or up to three of them.
    `kernel.jax(grid, block)(*arguments)` is a pure function for JAX. Arguments may be given by parameter name.
    """

    def __init__(self, module: LoadedModule, signature: KernelSignature) -> None:
        super().__init__(module, signature)
        self._jax_functions: dict[tuple[LaunchShape, Plan], Callable[..., Any]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its module and its name; what was compiled for it is compiled anew where it is used again."""
        return operator.getitem, (self.module, self.signature.mangled)

    def __call__(self, *_: object, **__: object) -> None:
        read_launch_shape(self.signature, None)

    def __getitem__(self, brackets: Any) -> Launch:
        try:
            return self.launches[brackets]
        except (KeyError, TypeError):
            pass
        shape = read_launch_shape(self.signature, brackets)
        form = texture_launch.TextureLaunch if self.texture_uses else record_launch.form_without_textures(self)
        launch = self.launch(shape, form)
        with contextlib.suppress(TypeError):
            self.launches[brackets] = launch
        return launch

    def jax(
        self,
        grid: Any,
        block: Any,
        shared_bytes: int = 0,
        *,
        checkpoint: Periodic | Binomial | None = None,
        memory: int | str | None = None,
    ) -> Callable[..., Any]:
        """A pure function of the kernel's arguments, for use under `jax.jit`, `vmap` and `shard_map`.

        It takes JAX (or NumPy) arrays and numbers and returns the new value of the array that the kernel writes, or a
        tuple of them in the order of the parameters where there are several. Arrays are values: the same one given
        twice is two memories. Python integers are compiled in; traced integers stay unknown. Structs by value are given
        by their members, of which floats may be traced: `{"rate": rate, "count": 3}`, a tuple, or one array of a struct
        of equal numbers. A `__constant__` or `__device__` variable that the kernel uses may be given by its name, as in
        `step.jax(1, 64)(x, y, coefficients=c)`: the function is one of its value then, which the module's variable
        keeps out of. Of variables given so that the kernel writes the new values follow those of the arrays.

        `checkpoint` and `memory` are those of `wl.grad`, for gradients of the function that don't say so themselves.
        """
        if self.texture_uses:
            raise no_function(self)
        shape = read_launch_shape(self.signature, (grid, block, shared_bytes))
        plan = requests.plan_for(f"{self.name}.jax", checkpoint, memory)
        function = self._jax_functions.get((shape, plan))
        if function is None:
            if len(self._jax_functions) >= MOST_LAUNCHES:
                self._jax_functions.clear()
            if takes_pointers_in_records(self):
                function = apart_function(self, lambda kernel: jax_function.jax_function(kernel, shape, plan=plan))
            else:
                function = jax_function.jax_function(self, shape, plan=plan)
            self._jax_functions[shape, plan] = function
        return function

    def defvjp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Give the kernel a derivative rule of your own, for reverse mode; as a decorator.

        The rule is called with the launch (`kernel[grid, block]`), the arguments as they were before it, and the
        cotangents of the arrays that it writes, as they are after it: both are dictionaries by parameter name. It
        returns such a dictionary: for parameters, cotangents of what they held before. Those left out have none. It
        may use NumPy and launch kernels, as functions by `wl.jit` do. It holds in `kernel.jax(...)`, in functions by
        `wl.jit`, and for launches that `wl.grad` and its kin take. Whether it is right `wl.audit` says.

        Raises LaunchError (WL0933) for kernels with textures, or with structs that hold pointers.

            @step.defvjp
            def backwards(launch, arguments, cotangents):
                by_now = np.zeros_like(arguments["now"])
                step_adjoint[launch.shape.grid, launch.shape.block](cotangents["next"], by_now, arguments["n"])
                return {"now": by_now}
        """
        if self.texture_uses or takes_pointers_in_records(self):
            raise LaunchError(
                Diagnostic(
                    "WL0933",
                    f"kernel '{self.name}' takes textures, or structs that hold pointers: it can't have a rule",
                    self.signature.position,
                    help="write a function that launches it, and give that a rule by wl.custom_vjp",
                )
            )
        self.rule = kernel_rules.KernelRule(self, rule)
        self.compiled_launches.clear()
        self._jax_functions.clear()
        return rule

    def explain(self, grid: Any = None, block: Any = None, *arguments: Any, shared_bytes: int = 0) -> Report:
        """What becomes of the kernel in such a launch; without arguments, what became of it in its last launch.

        Of arrays that a mesh divides also in which form `kernel.jax` is divided, and why.
        """
        report = explaining.explain(self, grid, block, *arguments, shared_bytes=shared_bytes)
        if distributions.are_divided(arguments):
            function = self.jax(grid, block, shared_bytes=shared_bytes)
            report.distribution = distributions.tell_distribution(function, arguments, {})
        return report

    def lower(self, grid: Any, block: Any, *arguments: Any, shared_bytes: int = 0) -> Lowered:
        """The stages of such a launch: `kernel.lower(grid, block, *arguments).text("tensor")`."""
        kernel, given = with_pointers_apart(*with_known_textures(self, arguments))
        return explaining.lower_launch(kernel, read_launch_shape(self.signature, (grid, block, shared_bytes)), given)

    def ptx(self, sm: int | str = 90, *, line_info: bool = False) -> str:
        """The kernel as PTX for NVIDIA's GPUs from architecture `sm` on, as it is written; no CUDA toolkit is needed.

        The text is what `cuModuleLoadData`, `cupy.RawModule` and `pycuda.driver.module_from_buffer` take. Its entry has
        the name `kernel.signature.mangled` (the plain name where the source says `extern "C"`), and takes its arguments
        as nvcc's code does; device variables have their linker's names. `line_info` adds the lines of the source.

        Raises CompilationError (WL1601) for what GPUs' code can't do, such as textures; (WL1602) for an unknown `sm`.
        """
        return gpu.compile_ptx(self.module.code_for_gpus, [self.signature], sm, line_info=line_info)

    def amdgcn(self, gfx: str = "gfx942") -> str:
        """The kernel as assembly for a processor of AMD's, as it is written; no ROCm is needed.

        Raises CompilationError (WL1601) for what is not made for these GPUs: textures, printf, malloc, barrier objects,
        barriers of the grid; (WL1602) for an unknown `gfx`.
        """
        return gpu.compile_amdgcn(self.module.code_for_gpus, [self.signature], gfx)

    def code_object(self, gfx: str = "gfx942") -> bytes:
        """The same as a code object, which `hipModuleLoadData` takes: `amdgcn` says more."""
        return gpu.compile_code_object(self.module.code_for_gpus, [self.signature], gfx)
