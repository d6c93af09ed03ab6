"""The GPUs that code is made for."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.diagnostics import CompilationError, Diagnostic

_PTX_VERSIONS = {
    70: 63, 72: 63, 75: 63, 80: 70, 86: 71, 87: 74, 88: 90, 89: 78, 90: 78, 100: 86, 101: 86, 103: 88, 110: 90,
    120: 87, 121: 88,
}  # fmt: skip
"""The first version of PTX that knows of an architecture: older drivers take the text, too."""


ARCHITECTURES = tuple(_PTX_VERSIONS)
"""NVIDIA's, by their numbers."""


@dataclass(frozen=True)
class NVIDIATarget:
    """An architecture of NVIDIA's, such as 90 for Hopper, and the version of PTX that is written for it."""

    sm: int

    @property
    def cpu(self) -> str:
        """LLVM's name."""
        return f"sm_{self.sm}"

    @property
    def ptx_version(self) -> int:
        return _PTX_VERSIONS[self.sm]

    @property
    def flags(self) -> tuple[str, ...]:
        """What clang's inner compiler is told."""
        triple = ("-triple", "nvptx64-nvidia-cuda")
        return (*triple, "-target-cpu", self.cpu, "-target-feature", f"+ptx{self.ptx_version}")


def nvidia_target(sm: int | str) -> NVIDIATarget:
    """The architecture by its number, or by a name that ends in it.

    Raises CompilationError (WL1602) for those that no code is made for.

    >>> nvidia_target(90) == nvidia_target("sm_90"), nvidia_target("90").ptx_version
    (True, 78)
    """
    digits = str(sm).removeprefix("sm_").removeprefix("compute_")
    if digits.isdecimal() and int(digits) in _PTX_VERSIONS:
        return NVIDIATarget(int(digits))
    known = ", ".join(map(str, _PTX_VERSIONS))
    raise CompilationError(
        Diagnostic(
            "WL1602",
            f"no code is made for the GPU architecture {sm!r}",
            notes=(f"sm is one of {known}",),
            help="drivers compile PTX for newer GPUs than it is made for: name the oldest that is to run it",
        )
    )


_GFX = (
    "gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1031", "gfx1032", "gfx1100",
    "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1200", "gfx1201",
)  # fmt: skip


@dataclass(frozen=True)
class AMDTarget:
    """A processor of AMD's, such as gfx942 (MI300X). Waves have 64 lanes up to gfx9, 32 from gfx10 on."""

    gfx: str

    @property
    def flags(self) -> tuple[str, ...]:
        """What clang's inner compiler is told; code objects are those that ROCm 5 takes, too."""
        return ("-triple", "amdgcn-amd-amdhsa", "-target-cpu", self.gfx, "-mcode-object-version=5")


def amd_target(gfx: str) -> AMDTarget:
    """The processor of this name.

    Raises CompilationError (WL1602) for those that no code is made for.

    >>> amd_target("gfx942").flags[3]
    'gfx942'
    """
    if gfx in _GFX:
        return AMDTarget(gfx)
    raise CompilationError(
        Diagnostic(
            "WL1602",
            f"no code is made for the GPU processor {gfx!r}",
            notes=(f"gfx is one of {', '.join(_GFX)}",),
            help="AMD's code runs on the processor that it is made for alone: `rocminfo` names yours",
        )
    )
