"""What XLA compiled of programs, kept per user: a program that has not changed is not compiled by the next process.

A program is known by the text that XLA gets. What XLA makes of it depends on JAX's versions and settings, XLA's flags,
and the processor with its features, which the name of a kept file holds, too, as a digest. JAX neither lowers a kept
program nor does XLA compile it; all that stands before, such as derivatives and explanations, is as it would be.

It is kept for CPUs and where JAX has one device. Programs that call functions of Python are not.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import jax
import llvmlite.binding as llvm_binding
from jaxlib import version as jaxlib_version

from windlass.diagnostics.cache import keep, read_kept
from windlass.diagnostics.environment import read_choice
from windlass.stablehlo.private_jax import is_of_arrays_alone, load_executable

llvm: Any = llvm_binding  # llvmlite has no type stubs

LAYOUT = 2
"""Counts the ways in which such files were written."""
ELSEWHERE = "Computation was compiled for input"
"""What JAX says of arguments on other devices than the program's."""
MOST_BYTES = 1 << 24
"""Longer texts hold large constants, and longer programs would push out many others: they are not kept."""


class LoadedFunction:
    """A kept program, called as the function of JAX's is that `otherwise` gives, for what only that can take."""

    __slots__ = ("_otherwise", "_run")

    def __init__(self, run: Callable[..., Any], otherwise: Callable[[], Callable[..., Any]]) -> None:
        self._run = run
        self._otherwise = otherwise

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self._run(*arguments)
        except (TypeError, ValueError) as error:
            # Arguments of another type are a TypeError, those elsewhere a ValueError, as are errors of what ran.
            if not isinstance(error, TypeError) and ELSEWHERE not in str(error):
                raise
            self._run = self._otherwise()
            return self._run(*arguments)


def name_of_kept(about: object, text: bytes = b"") -> str | None:
    """Under which a program is kept of which XLA gets this text, and something else that is told by its `repr`; None
    where no program is kept."""
    if len(text) > MOST_BYTES or not are_kept():
        return None
    known = (about, _versions(), jax.config.values, os.environ.get("XLA_FLAGS"))
    return f"xla-{hashlib.sha256(repr(known).encode() + bytes(1) + text).hexdigest()}.kept"


def load_kept(
    name: str, title: str, arguments: Sequence[jax.ShapeDtypeStruct], results: Sequence[jax.ShapeDtypeStruct]
) -> Callable[..., Any] | None:
    """The program as an earlier process compiled it, as a function of arrays to a list of them; None where none has.

    What it calls has to be known to XLA.
    """
    content = read_kept(name)
    # What is another program's by its name was put there by hand.
    if content is None or not content.startswith(name.encode()):
        return None
    with suppress(Exception), jax.enable_x64(True):  # an XLA or a JAX that reads it otherwise: as if it were not there
        return load_executable(content[len(name) :], title, arguments, results)
    return None


def keep_compiled(name: str, compiled: Any) -> None:
    """Keep a program as `jax.jit(...).lower(...).compile()` gave it."""
    with suppress(Exception):  # there are programs that XLA can't write: they are compiled each time
        if is_of_arrays_alone(compiled):
            content: bytes = compiled.runtime_executable().serialize()
            if len(content) <= MOST_BYTES:
                keep(name, name.encode() + content)


def are_kept() -> bool:
    """Whether programs are kept: on CPUs, where JAX has one device, unless that is forbidden."""
    is_forbidden = read_choice("WINDLASS_KEEP_XLA", {"0": True, "false": True, "no": True, "off": True, "1": False})
    return not is_forbidden and jax.default_backend() == "cpu" and len(jax.devices()) == 1


@cache
def _versions() -> tuple[Any, ...]:
    features = llvm.get_host_cpu_features().flatten()
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = (sys.platform, llvm.get_host_cpu_name(), features, usable)
    return (LAYOUT, jax.__version__, jaxlib_version.__version__, machine)
