"""Launches on NumPy arrays by NVIDIA's driver: kernels as they are written, as PTX, arrays copied there and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import RaisingError, WindlassError
from windlass.diagnostics.deferral import deferred
from windlass.launching.form import Form, PreparedFunction, PreparedLaunch, Request
from windlass.launching.native_launch import may_replace_emulator
from windlass.llvm.reach import reached_names
from windlass.reports.report import Report
from windlass.runtime.arguments import check_argument, check_written
from windlass.runtime.settings import driver_is_allowed
from windlass.stablehlo.platforms import device_that_runs

if TYPE_CHECKING:
    from windlass import gpu
    from windlass.gpu import driver as drivers
    from windlass.gpu.driver import Driver, Loaded
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.launching.traced_launch import TracedLaunch
    from windlass.runtime.launch_shape import LaunchShape
else:
    drivers = deferred("windlass.gpu.driver")
    gpu = deferred("windlass.gpu")

Array: TypeAlias = NDArray[Any]

_VARIABLE = re.compile(r"^\.visible \.(?:global|const) (?:\.align \d+ )?\.\w+ ([\w$]+)", re.MULTILINE)


class DriverForm(Form, PreparedLaunch):
    """A kernel that the driver has loaded."""

    name = "driver"

    __slots__ = ("_driver", "_kernel", "_loaded", "_shape", "_variables")

    def __init__(
        self, kernel: LoadedKernel, shape: LaunchShape, driver: Driver, loaded: Loaded, variables: Sequence[str]
    ) -> None:
        self._kernel, self._shape, self._driver, self._loaded = kernel, shape, driver, loaded
        self._variables = {name: kernel.module.variables.by_linker_name(name) for name in variables}

    @classmethod
    def on_arrays(cls, launch: Request, reason: RaisingError | None) -> PreparedLaunch:
        kernel = launch.kernel
        assert reason is not None, "it is no first form"
        holds_pointers = any(each.pointers for each in kernel.signature.parameters)
        if not driver_is_allowed() or holds_pointers or not may_replace_emulator(reason):
            raise reason
        driver = drivers.find_driver() if device_that_runs().name == "gpu" else None
        if driver is None:
            raise reason
        try:
            text = gpu.compile_ptx(kernel.module.code_for_gpus, [kernel.signature], _known(driver.architecture))
        except WindlassError:
            raise reason from None
        visible = set(_VARIABLE.findall(text))
        reached = reached_names(kernel.module.code.llvm_ir, kernel.signature.mangled)
        if any(each.mangled in reached - visible for each in kernel.module.code.variables if each.space != "shared"):
            raise reason  # a static variable, whose value can't be told to the device
        for position in sorted(kernel.written):
            array = launch.arguments[position]
            if isinstance(array, np.ndarray):
                check_written(kernel.signature, kernel.signature.parameters[position], cast("Array", array))
        kernel.last_report = Report(kernel.name, launch.shape, reason, is_native=True)
        return cls(kernel, launch.shape, driver, driver.load(text, kernel.signature.mangled), tuple(sorted(visible)))

    @classmethod
    def on_values(cls, launch: Request, reason: RaisingError | None) -> PreparedFunction:
        assert reason is not None
        raise reason

    @classmethod
    def on_traced(cls, launch: TracedLaunch, reason: RaisingError | None) -> None:
        assert reason is not None
        raise reason

    def run(self, arguments: Sequence[Any]) -> None:
        memories: dict[int, tuple[Array, int]] = {}
        """By the address here of each array that is no view: it as bytes, and its address on the device."""
        try:
            words = [self._word(position, argument, memories) for position, argument in enumerate(arguments)]
            for name, array in self._variables.items():
                self._driver.copy_in(self._loaded.variable(name), array)
            self._loaded.run(*self._shape, self._kernel.has_grid_barrier, words)
            for array, address in memories.values():
                if array.flags.writeable:
                    self._driver.copy_out(array, address)
            for name, array in self._variables.items():
                self._driver.copy_out(array, self._loaded.variable(name))
        finally:
            for _, address in memories.values():
                self._driver.free(address)

    def _word(self, position: int, argument: Any, memories: dict[int, tuple[Array, int]]) -> bytes:
        """An argument as it lies in memory; arrays are copied to the device, each with all that it is a view of."""
        signature = self._kernel.signature
        checked = check_argument(signature, signature.parameters[position], argument)
        if signature.parameters[position].kind != "pointer":
            return bytes(cast("np.generic", checked).tobytes())
        if checked is None:
            return bytes(8)
        array = cast("Array", checked)
        low, high = np.lib.array_utils.byte_bounds(_root(array))
        if low not in memories:
            whole = _bytes_between(_root(array), low, high)
            address = self._driver.allocate(whole.nbytes)
            memories[low] = whole, address
            self._driver.copy_in(address, whole)
        here = int(array.__array_interface__["data"][0])
        return (memories[low][1] + here - low).to_bytes(8, "little")


def _root(array: Array) -> Array:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _bytes_between(root: Array, low: int, high: int) -> Array:
    """The memory of an array that is no view, as bytes."""
    interface = {"data": (low, not root.flags.writeable), "shape": (high - low,), "typestr": "|u1", "version": 3}
    holder = type("Memory", (), {"__array_interface__": interface, "root": root})()
    return np.asarray(holder)


def _known(architecture: int) -> int:
    """The newest architecture that code is made for and the device runs."""
    return max(each for each in gpu.ARCHITECTURES if each <= architecture)
