"""Launches of kernels with textures and surfaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windlass.ir.textures import TextureObject
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


class TextureLaunch(Launch):
    """A kernel that uses textures or surfaces with its grid and block; call it with the kernel's arguments."""

    __slots__ = ()

    def __call__(self, *arguments: Any, **named: Any) -> None:
        arguments = order_arguments(self.kernel.signature, arguments, named)
        refuse_traced(self.kernel, arguments)
        self._run(arguments, read_textures(self.kernel, arguments), is_raised=False)

    def run_raised(self, arguments: Sequence[Any], textures: Mapping[Key, TextureObject] | None = None) -> None:
        """The launch in its raised form.

        Raises RaisingError where there is none.
        """
        self._run(arguments, textures or read_textures(self.kernel, arguments), is_raised=True)

    def _run(self, arguments: Sequence[Any], textures: Mapping[Key, TextureObject], is_raised: bool) -> None:
        plan = plan_textures(self.kernel, textures)
        special, names = specialized_kernel(self.kernel, plan)
        plain = without_textures(arguments, plan)
        storage = special.module.variables.storage
        for name, texels in zip(names, plan.memories, strict=True):
            held = bytes_of(storage[name])
            held[:] = bytes_of(texels)[: len(held)]
        launch = special.launch(self.shape, form_without_textures(special))
        if is_raised:
            launch.run_raised(plain)
        else:
            launch(*plain)
        self.kernel.last_report = special.last_report
        for memory in plan.written:
            held = bytes_of(storage[names[memory]])
            bytes_of(plan.memories[memory])[: len(held)] = held
