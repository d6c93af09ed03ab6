"""Launches of kernels with textures and surfaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from windlass.ir.textures import TextureObject
from windlass.launching.form import How
from windlass.launching.launch import Launch
from windlass.launching.record_launch import form_without_textures
from windlass.launching.texture_forms import (
    Key,
    plan_textures,
    read_textures,
    refuse_traced,
    specialized_kernel,
    without_textures,
)
from windlass.runtime.arguments import order_arguments
from windlass.runtime.memories import bytes_of

Result = TypeVar("Result")


class TextureLaunch(Launch):
    """A kernel that uses textures or surfaces with its grid and block; call it with the kernel's arguments."""

    __slots__ = ()

    def __call__(self, *arguments: Any, **named: Any) -> None:
        arguments = order_arguments(self.kernel.signature, arguments, named)
        refuse_traced(self.kernel, arguments)
        self._run(arguments, read_textures(self.kernel, arguments), lambda launch, plain: launch(*plain))

    def run_compiled(self, arguments: Sequence[Any], textures: Mapping[Key, TextureObject] | None = None) -> How:
        """As `Launch.run_compiled`."""
        textures = textures or read_textures(self.kernel, arguments)
        return self._run(arguments, textures, lambda launch, plain: launch.run_compiled(plain))

    def _run(
        self,
        arguments: Sequence[Any],
        textures: Mapping[Key, TextureObject],
        run: Callable[[Launch, Sequence[Any]], Result],
    ) -> Result:
        plan = plan_textures(self.kernel, textures)
        special, names = specialized_kernel(self.kernel, plan)
        plain = without_textures(arguments, plan)
        storage = special.module.variables.storage
        for name, texels in zip(names, plan.memories, strict=True):
            held = bytes_of(storage[name])
            held[:] = bytes_of(texels)[: len(held)]
        result = run(special.launch(self.shape, form_without_textures(special)), plain)
        self.kernel.last_report = special.last_report
        for memory in plan.written:
            held = bytes_of(storage[names[memory]])
            bytes_of(plan.memories[memory])[: len(held)] = held
        return result
