"""Launches of kernels that take structs by value with pointers in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windlass.launching.form import How
from windlass.launching.launch import Launch
from windlass.launching.records import takes_pointers_in_records, with_pointers_apart
from windlass.runtime.arguments import order_arguments

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel


class RecordLaunch(Launch):
    """A kernel that takes structs with pointers, with its grid and block; call it with the kernel's arguments."""

    __slots__ = ()

    def __call__(self, *arguments: Any, **named: Any) -> None:
        special, plain = with_pointers_apart(self.kernel, order_arguments(self.kernel.signature, arguments, named))
        try:
            special.launch(self.shape, Launch)(*plain)
        finally:
            self.kernel.last_report = special.last_report

    def run_compiled(self, arguments: Sequence[Any]) -> How:
        """As `Launch.run_compiled`."""
        special, plain = with_pointers_apart(self.kernel, arguments)
        return special.launch(self.shape, Launch).run_compiled(plain)


def form_without_textures(kernel: LoadedKernel) -> type[Launch]:
    """How a kernel is launched that uses no textures, or whose textures are known."""
    return RecordLaunch if takes_pointers_in_records(kernel) else Launch
