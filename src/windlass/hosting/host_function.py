"""Host functions of a program, called from Python: on NumPy arrays as they are, on those of `wl.jit` as part of it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import CompilationError, Diagnostic, LaunchError
from windlass.frontends.arrays import Array
from windlass.hosting.entry_points import Entry
from windlass.hosting.traced_run import Trace

if TYPE_CHECKING:
    from windlass.hosting.program_run import ProgramRun

_DTYPES = {
    "float": np.float32, "double": np.float64, "int": np.int32, "unsigned int": np.uint32, "long": np.int64,
    "unsigned long": np.uint64, "long long": np.int64, "unsigned long long": np.uint64, "short": np.int16,
    "unsigned short": np.uint16, "char": np.int8, "signed char": np.int8, "unsigned char": np.uint8, "bool": np.bool_,
    "float2": np.complex64, "double2": np.complex128,
}  # fmt: skip
"""What arrays are to hold by the type that a pointer points to; other types take any."""


def find_entry(entries: Mapping[str, Sequence[Entry]], name: str) -> Entry:
    """The function of that name, by the linker's name where there are several.

    Raises CompilationError (WL0421) where there is none, or more than one.
    """
    found = entries.get(name) or [each for several in entries.values() for each in several if each.symbol == name]
    if len(found) == 1:
        return found[0]
    if found:
        notes = tuple(f"{each.symbol}: {each.shown}" for each in found)
        raise CompilationError(
            Diagnostic(
                "WL0421", f"there are {len(found)} host functions '{name}'", notes=notes, help="use one of these"
            )
        )
    near = get_close_matches(name, entries)
    raise CompilationError(
        Diagnostic(
            "WL0421",
            f"there is no host function '{name}'",
            notes=(f"host functions here: {', '.join(entries) or 'none'}",),
            help=f"did you mean '{near[0]}'?" if near else "it may be neither static nor inline, nor a template",
        )
    )


class HostFunction:
    """A host function of a program, made by `program["name"]`. Call it with arrays for its pointers.

    NumPy arrays are updated in place, as device memory would be: they are what its pointers point to. Inside `wl.jit`
    the function is part of what is compiled, with its launches, copies and library calls, and has derivatives.
    """

    def __init__(self, run: ProgramRun, entry: Entry) -> None:
        self._run = run
        self.entry = entry
        self.__name__ = self.__qualname__ = entry.name

    def __repr__(self) -> str:
        return f"<host function {self.entry.shown}>"

    def __call__(self, *arguments: Any) -> Any:
        self._check(arguments)
        if any(isinstance(each, Array) for each in arguments):
            return self._trace([_as_traced(each) for each in arguments])
        return self._call(arguments)

    def jax(self, *arguments: Any) -> Any:
        """The function on JAX values: the new values of the arrays that it writes, in the order of its parameters.

        Where there is one, it is returned by itself.
        """
        self._check(arguments)
        arrays = [Array(jnp.asarray(each)) if _is_array(each) else each for each in arguments]
        before = [each.value if isinstance(each, Array) else None for each in arrays]
        self._trace(arrays)
        pairs = zip(arrays, before, strict=True)
        written = [each.value for each, old in pairs if isinstance(each, Array) and each.value is not old]
        return written[0] if len(written) == 1 else tuple(written)

    # -- arguments ----------------------------------------------------------------------------------------------------

    def _check(self, arguments: Sequence[Any]) -> None:
        """Raises LaunchError for arguments that don't fit (WL0402, WL0407, WL0401)."""
        entry = self.entry
        if len(arguments) != len(entry.kinds):
            raise LaunchError(
                Diagnostic("WL0402", f"{entry.shown} takes {len(entry.kinds)} arguments, {len(arguments)} are given")
            )
        for place, (kind, type_, each) in enumerate(zip(entry.kinds, entry.types, arguments, strict=True)):
            if _is_array(each) != (kind == "p") and not (kind == "p" and each is None):
                wanted = "an array (or None for a null pointer)" if kind == "p" else "a number"
                raise LaunchError(
                    Diagnostic("WL0407", f"{entry.shown}: argument {place + 1} is to be {wanted}, not {_show(each)}")
                )
            wanted = _DTYPES.get(type_.removeprefix("const ").removesuffix(" *")) if kind == "p" else None
            if wanted is not None and each is not None and np.dtype(each.dtype) != wanted:
                raise LaunchError(
                    Diagnostic(
                        "WL0401",
                        f"{entry.shown}: argument {place + 1} is an array of {each.dtype}, not {np.dtype(wanted)}",
                        help=f"pass one of that dtype: .astype('{np.dtype(wanted)}')",
                    )
                )

    def _word(self, place: int, value: Any) -> int:
        """A number as a word of 64 bits."""
        kind = self.entry.kinds[place]
        if kind in "fd":
            number = np.array(value, np.float32 if kind == "f" else np.float64)
            return int.from_bytes(number.tobytes().ljust(8, b"\0"), "little")
        number, bits = int(value), self.entry.bits[place]
        if number != value or not -(1 << bits - 1) <= number < 1 << bits:
            raise LaunchError(
                Diagnostic("WL0408", f"{self.entry.shown}: argument {place + 1} is {value}, no integer of {bits} bits")
            )
        return number & (1 << 64) - 1

    def _result(self, word: int) -> Any:
        result = self.entry.result
        if result == "void":
            return None
        if result in ("float", "double"):
            size = 4 if result == "float" else 8
            return np.frombuffer(word.to_bytes(8, "little")[:size], np.float32 if size == 4 else np.float64)[0]
        if result.startswith("i"):
            bits = int(result[1:])
            number = word & (1 << bits) - 1
            return number - (1 << bits) if bits > 1 and number >> (bits - 1) else number
        raise LaunchError(Diagnostic("WL0421", f"{self.entry.shown} returns {result}, which Python has nothing for"))

    # -- running and tracing ------------------------------------------------------------------------------------------

    def _call(self, arguments: Sequence[Any]) -> Any:
        memory = self._run.session.memory
        words, copies = list[int](), list[tuple[Any, int]]()
        place = ctypes.c_uint64()
        try:
            for number, each in enumerate(arguments):
                if each is None:
                    words.append(0)
                elif not _is_array(each):
                    words.append(self._word(number, each))
                else:
                    order = "F" if each.flags.f_contiguous and not each.flags.c_contiguous else "C"
                    content = np.asarray(each).tobytes(order)
                    memory.allocate(max(len(content), 1), ctypes.addressof(place))
                    copies.append((each, place.value))
                    ctypes.memmove(place.value, content, len(content))
                    words.append(place.value)
            word, _ = self._run.call(self.entry, words)
            for each, address in copies:
                if isinstance(each, np.ndarray) and each.flags.writeable:
                    order = "F" if each.flags.f_contiguous and not each.flags.c_contiguous else "C"
                    content = ctypes.string_at(address, each.nbytes)
                    each[...] = np.frombuffer(content, each.dtype).reshape(each.shape, order=order)
        finally:
            for _, address in copies:
                memory.free(address)
        return self._result(word)

    def _trace(self, arguments: Sequence[Any]) -> Any:
        trace = Trace(self._run)
        words = list[int]()
        for number, each in enumerate(arguments):
            if each is None:
                words.append(0)
            elif isinstance(each, Array) and self.entry.kinds[number] == "p":
                words.append(trace.memory.add(each, f"{number + 1}"))
            else:
                words.append(self._word(number, trace.named(self.entry.kinds[number], each)))
        return trace.numbers.resolve(self._result(trace.call(self.entry, words)))


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | jax.Array | Array) and value.ndim > 0


def _as_traced(value: Any) -> Any:
    return Array(jnp.asarray(value)) if isinstance(value, np.ndarray | jax.Array) else value


def _show(value: Any) -> str:
    return f"an array of {value.dtype}" if _is_array(value) else repr(value)
