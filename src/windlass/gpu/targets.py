"""The GPUs that code is made for."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.diagnostics import CompilationError, Diagnostic

_PTX_VERSIONS = {
    70: 63, 72: 63, 75: 63, 80: 70, 86: 71, 87: 74, 88: 90, 89: 78, 90: 78, 100: 86, 101: 86, 103: 88, 110: 90,
    120: 87, 121: 88,
}  # fmt: skip
"""The first version of PTX that knows of an architecture: older drivers take the text, too."""


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
