"""What the user can set, through the environment: read at each compilation, never at a compiled launch."""

from __future__ import annotations

from windlass.diagnostics.environment import read_choice, read_seconds

RAISING_SECONDS = 60.0


def fallback_is_allowed() -> bool:
    """Whether a kernel that can't be raised runs in the emulator; `WINDLASS_FALLBACK=error` forbids it."""
    return not read_choice("WINDLASS_FALLBACK", {"error": True, "emulate": False})


_NATIVE = {"0": False, "false": False, "no": False, "off": False, "1": True, "fallback": True}


def native_code_is_allowed() -> bool:
    """Whether launches may run as native code by themselves; `WINDLASS_NATIVE=0` forbids it."""
    return not read_choice("WINDLASS_NATIVE", {word: not is_allowed for word, is_allowed in _NATIVE.items()})


def native_code_is_a_choice() -> bool:
    """Whether that holds of launches that can be raised, too; with `WINDLASS_NATIVE=fallback` these are raised."""
    return not read_choice("WINDLASS_NATIVE", {word: word != "1" for word in _NATIVE})


def driver_is_allowed() -> bool:
    """Whether launches may go to NVIDIA's driver, as PTX, where JAX sees its GPU: `WINDLASS_DRIVER=1` says so."""
    return bool(read_choice("WINDLASS_DRIVER", {"1": True, "0": False}))


def trials_are_allowed() -> bool:
    """Whether launches whose calls take long are tried in their other forms; with `WINDLASS_TRIALS=0` they take the
    form that is estimated to be fastest, in each process and on each machine alike."""
    return not read_choice("WINDLASS_TRIALS", {"0": True, "false": True, "no": True, "off": True, "1": False})


def vector_functions_are_allowed() -> bool:
    """Whether native code may use glibc's vector functions, which differ from its other ones in the last bits;
    `WINDLASS_VECTOR_FUNCTIONS=0` forbids it."""
    return not read_choice("WINDLASS_VECTOR_FUNCTIONS", {"0": True, "false": True, "no": True, "off": True, "1": False})


def first_calls_are_checked() -> bool:
    """Whether `WINDLASS_CHECK=1` asks for the first call of each compiled form to be compared with the emulator."""
    return read_choice("WINDLASS_CHECK")


def raising_seconds() -> float:
    """How long raising a launch may take before it is emulated instead: $WINDLASS_RAISING_SECONDS, else a minute."""
    return read_seconds("WINDLASS_RAISING_SECONDS", RAISING_SECONDS)
