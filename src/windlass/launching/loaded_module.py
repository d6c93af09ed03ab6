"""Device code with the memory of its variables: what kernels run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.emulator import Emulator
from windlass.launching.textures import TextureReferences
from windlass.launching.variables import Variables
from windlass.llvm.module import variable_contents

if TYPE_CHECKING:
    from windlass.ir.signature import DeviceCode


class LoadedModule:
    """Device code, its variables and texture references; several may have these in common.

    With `allow_contraction` a multiplication and an addition may be fused.
    """

    def __init__(
        self, code: DeviceCode, allow_contraction: bool, variables: Variables, textures: TextureReferences
    ) -> None:
        self.allow_contraction = allow_contraction
        self.variables = variables
        self.textures = textures
        self._adopt(code)

    def _adopt(self, code: DeviceCode) -> None:
        self.code = code
        self._emulator: Emulator | None = None
        self.variables.declare(code.variables, variable_contents(code))
        self.textures.declare(code.variables)

    @property
    def code_for_gpus(self) -> DeviceCode:
        """What GPUs' code is made of."""
        return self.code

    def with_code(self, code: DeviceCode) -> LoadedModule:
        """Other code that works on the variables and textures of this module."""
        return LoadedModule(code, self.allow_contraction, self.variables, self.textures)

    @property
    def emulator(self) -> Emulator:
        """The emulator of this module's device code; it works on this module's variables."""
        if self._emulator is None:
            self._emulator = Emulator(self.code, self.variables.storage)
        return self._emulator
