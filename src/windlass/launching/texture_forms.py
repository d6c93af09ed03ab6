"""The textures and surfaces that a launch uses.

A kernel that uses some is compiled anew for their forms (`frontends/cuda/textures.py`): their texels are device
variables then, and what is left is a kernel like any other. The emulator takes the kernel as it is, and reads the
descriptors of textures in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.diagnostics.deferral import deferred
from windlass.frontends.cuda import specialize_textures, texels_variable
from windlass.ir.textures import TextureForm, TextureObject
from windlass.launching.loaded_kernel import LoadedKernel
from windlass.launching.textures import Surface, Texture, check_floats
from windlass.runtime.arguments import order_arguments

if TYPE_CHECKING:
    from windlass.frontends import arrays
else:
    arrays = deferred("windlass.frontends.arrays")

Array: TypeAlias = NDArray[Any]
Key: TypeAlias = int | str

MOST_SPECIALIZED = 16
"""How many forms of its textures a kernel is kept compiled for."""


@dataclass(frozen=True)
class TexturePlan:
    """The textures of one launch: what each key stands for, and the memories that they lie on.

    `forms` has for each key its form and the number of its memory; `memories` the texels of each.
    """

    forms: tuple[tuple[Key, TextureForm, int], ...]
    memories: tuple[Array, ...]
    written: frozenset[int]
    """Memories that surfaces lie on."""


def refuse_traced(kernel: LoadedKernel, arguments: Sequence[Any]) -> None:
    """Raise LaunchError for a launch inside `wl.jit`."""
    if any(isinstance(argument, arrays.Array) for argument in arguments):
        raise no_function(kernel)


def no_function(kernel: LoadedKernel) -> LaunchError:
    """The error for kernels with textures where pure functions are wanted."""
    return LaunchError(
        Diagnostic(
            "WL0430",
            f"{kernel.name} uses textures or surfaces, which functions of arrays don't have",
            kernel.signature.position,
            help="launch it on NumPy arrays, outside of wl.jit: kernel[grid, block](...)",
        )
    )


def read_textures(kernel: LoadedKernel, arguments: Sequence[Any]) -> dict[Key, TextureObject]:
    """What each texture and surface that the kernel uses stands for in a launch from Python.

    Raises LaunchError: WL0430 for arguments that are none, WL0431 for references that are not bound.
    """
    found: dict[Key, TextureObject] = {}
    for use in kernel.texture_uses:
        kind = "surface" if use.is_surface else "texture"
        if isinstance(use.key, str):
            bound = kernel.module.textures.bound_object(use.key)
            if bound is None:
                raise LaunchError(
                    Diagnostic(
                        "WL0431",
                        f"{kernel.name}: {kind} reference '{use.name}' is bound to nothing",
                        kernel.signature.position,
                        help=f"bind it before the launch: module.textures['{use.name}'] = wl.cuda.{kind}(array)",
                    )
                )
            found[use.key] = bound
            continue
        given = arguments[use.key]
        if not isinstance(given, Surface if use.is_surface else Texture):
            raise LaunchError(
                Diagnostic(
                    "WL0430",
                    f"{kernel.name}: argument '{use.name}' is a {kind} ({use.type_name}), got {type(given).__name__}",
                    kernel.signature.position,
                    help=f"pass wl.cuda.{kind}(array)",
                )
            )
        found[use.key] = given.as_object()
        check_floats(found[use.key].form)
    for position, argument in enumerate(arguments):
        if isinstance(argument, Texture | Surface) and position not in found:
            parameter = kernel.signature.parameters[position]
            raise LaunchError(
                Diagnostic(
                    "WL0430",
                    f"{kernel.name}: argument '{parameter.name}' is a {parameter.type_name}, "
                    f"got a {type(argument).__name__.lower()}",
                    kernel.signature.position,
                    help="the parameter of a texture has the type cudaTextureObject_t, that of a surface "
                    "cudaSurfaceObject_t",
                )
            )
    return found


def plan_textures(kernel: LoadedKernel, textures: Mapping[Key, TextureObject]) -> TexturePlan:
    """The memories that textures lie on; those that lie on the same array are one."""
    surfaces = {use.key for use in kernel.texture_uses if use.is_surface}
    places: dict[tuple[int, int], int] = {}
    memories: list[Array] = []
    forms: list[tuple[Key, TextureForm, int]] = []
    written: set[int] = set()
    for key, each in textures.items():
        place = (each.texels.ctypes.data, each.form.size_bytes)
        memory = places.setdefault(place, len(memories))
        if memory == len(memories):
            memories.append(each.texels)
        forms.append((key, each.form, memory))
        if key in surfaces:
            written.add(memory)
    for memory in written:
        start, size = list(places)[memory]
        for other, (place, length) in enumerate(places):
            if other != memory and start < place + length and place < start + size:
                raise LaunchError(
                    Diagnostic(
                        "WL0430",
                        f"{kernel.name}: a surface overlaps another surface or texture in part",
                        kernel.signature.position,
                        help="make all of them on the same array",
                    )
                )
    return TexturePlan(tuple(forms), tuple(memories), frozenset(written))


def specialized_kernel(kernel: LoadedKernel, plan: TexturePlan) -> tuple[LoadedKernel, tuple[str, ...]]:
    """The kernel for textures of these forms, and the device variables that hold their texels."""
    with kernel.lock:
        found = kernel.specialized.get(plan.forms)
        if found is not None:
            return found
        storage = kernel.module.variables.storage
        if len(kernel.specialized) >= MOST_SPECIALIZED:
            _, old = kernel.specialized.pop(next(iter(kernel.specialized)))
            for name in old:
                del storage[name]
        first = 0
        while any(texels_variable(first + each) in storage for each in range(len(plan.memories))):
            first += 1
        forms = {key: (form, memory) for key, form, memory in plan.forms}
        code = specialize_textures(kernel.module.code, kernel.signature, forms, first, kernel.module.allow_contraction)
        names = tuple(texels_variable(first + each) for each in range(len(plan.memories)))
        special = LoadedKernel(kernel.module.with_code(code), kernel.signature)
        special.has_textures_known = True
        kernel.specialized[plan.forms] = special, names
        return special, names


def without_textures(arguments: Sequence[Any], plan: TexturePlan) -> list[Any]:
    """The arguments with numbers that mean nothing in the place of textures."""
    positions = {key for key, _, _ in plan.forms}
    return [0 if position in positions else argument for position, argument in enumerate(arguments)]


def with_known_textures(
    kernel: LoadedKernel, arguments: Sequence[Any], textures: Mapping[Key, TextureObject] | None = None
) -> tuple[LoadedKernel, Sequence[Any]]:
    """A kernel without textures, and its arguments: what explanations are about. Textures that are not given are read
    from the arguments."""
    if not kernel.texture_uses:
        return kernel, arguments
    arguments = order_arguments(kernel.signature, arguments, {})
    plan = plan_textures(kernel, textures or read_textures(kernel, arguments))
    return specialized_kernel(kernel, plan)[0], without_textures(arguments, plan)


@dataclass
class EmulatedTextures:
    """Textures as the emulator has them: values for parameters and references, and the memory that they lie in."""

    values: dict[Key, int]
    memories: list[tuple[str, int, int]]
    keep: list[Array]


def textures_in_memory(kernel: LoadedKernel, textures: Mapping[Key, TextureObject]) -> EmulatedTextures:
    """Descriptors for these textures, and one piece of memory for texels that overlap."""
    names = {use.key: use.name for use in kernel.texture_uses}
    found = EmulatedTextures({}, [], [])
    pieces: list[tuple[int, int, str]] = []
    for key, each in textures.items():
        address = each.texels.ctypes.data
        descriptor = np.array(each.form.words(address), np.int64)
        found.keep += [descriptor, each.texels]
        found.values[key] = descriptor.ctypes.data
        found.memories.append((f"the descriptor of '{names[key]}'", descriptor.ctypes.data, descriptor.nbytes))
        pieces.append((address, each.form.size_bytes, f"'{names[key]}'"))
    for start, size, name in sorted(pieces):
        last = found.memories[-1]
        if last[0].startswith("'") and start < last[1] + last[2]:
            end = max(last[1] + last[2], start + size)
            found.memories[-1] = (f"{last[0]} and {name}", last[1], end - last[1])
        else:
            found.memories.append((name, start, size))
    return found
