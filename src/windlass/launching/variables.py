"""The device variables of a module, as NumPy arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.ir.signature import DeviceVariable
from windlass.runtime.arguments import are_words_of, dtypes_agree
from windlass.runtime.memories import bytes_of
from windlass.runtime.variable_memory import place_variable

Array: TypeAlias = NDArray[Any]


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
        if is_being_traced(value):
            raise _misfit(
                variable,
                f"{declared}, and the value is being traced: a variable holds numbers",
                f"give it to the kernel by name: kernel.jax(grid, block)(..., {name}=value)",
            )
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

    def as_value(self, name: str, value: Any) -> tuple[str, Any]:
        """The variable's linker name, and a JAX array of its dtype and shape, for kernels as functions of values.

        Raises LaunchError (WL0411) for a value that does not fit.
        """
        import jax.numpy as jnp

        variable = self._find(name)
        storage = self.storage[variable.mangled]
        declared = f"device variable '{name}' is {storage.dtype} with shape {storage.shape}"
        if storage.dtype.names is not None:
            raise _misfit(
                variable, f"{declared}: structs are no values of JAX", "let the kernel take it as a parameter"
            )
        given = jnp.asarray(value) if hasattr(value, "dtype") else jnp.asarray(value, storage.dtype)
        if np.dtype(given.dtype) != storage.dtype or given.size != storage.size:
            raise _misfit(
                variable,
                f"{declared}, got {given.dtype} with shape {given.shape}",
                f"convert it: value.astype(numpy.{storage.dtype.name})" if given.dtype != storage.dtype else None,
            )
        return variable.mangled, given.reshape(storage.shape)

    def __contains__(self, name: object) -> bool:
        return name in self._declared

    def __delitem__(self, name: str) -> None:
        raise LaunchError(Diagnostic("WL0411", f"device variable '{name}' can't be deleted: the source declares it"))

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)


def is_being_traced(value: Any) -> bool:
    """Whether JAX or `wl.jit` traces the value: it has no numbers yet."""
    core = sys.modules.get("jax.core")  # nothing is traced before JAX is there
    value = getattr(value, "value", value)
    return core is not None and isinstance(value, core.Tracer)


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
