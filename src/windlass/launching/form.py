"""What a form of launches is: a name, what a launch costs in it, and how launches become ready to run in it.

Launches come through four doors, and each door asks a form in its own words: on NumPy arrays (`kernel[grid, block]`,
and host programs, whose memory is seen as arrays), on JAX values (`kernel.jax`), and on arrays that `wl.jit` traces. A
form that can't have a launch raises RaisingError, which says why. All forms, in order, are in `forms.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from windlass.runtime.arguments import check_argument

if TYPE_CHECKING:
    from windlass.diagnostics import RaisingError
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.launching.traced_launch import TracedLaunch
    from windlass.runtime.launch_shape import LaunchShape

How: TypeAlias = str
"""The name of a form: "raised", "driver", "native" or "emulated"."""


class PreparedLaunch(ABC):
    """A launch on NumPy arrays made ready for arguments of one key; `name` is that of its form."""

    __slots__ = ()

    name: How

    @abstractmethod
    def run(self, arguments: Sequence[Any]) -> None:
        """Run it on arguments of that key."""


class PreparedFunction(ABC):
    """A launch on JAX values made ready for arguments of one key."""

    __slots__ = ()

    is_kept: bool
    """Whether `run` may be called for other arguments of the key."""

    def run(self, arguments: Sequence[Any]) -> Any:
        """The results for arguments of that key, none of them a tracer."""
        return self.apply(*self.inputs(arguments))

    @abstractmethod
    def inputs(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """What `apply` takes of the arguments, and beside them."""

    @abstractmethod
    def apply(self, *inputs: Any) -> Any:
        """The results as JAX values; a function that JAX can trace."""


@dataclass(frozen=True)
class Request:
    """A launch on NumPy arrays or on JAX values, which are checked; integers at the positions in `traced` are to stay
    unknown. `variables` are device variables that are given as JAX values, by linker name."""

    kernel: LoadedKernel
    shape: LaunchShape
    arguments: Sequence[Any]
    traced: frozenset[int] = frozenset()
    variables: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(
        cls, kernel: LoadedKernel, shape: LaunchShape, arguments: Sequence[Any], traced: frozenset[int] = frozenset()
    ) -> Request:
        """A launch on NumPy arrays and numbers, one for each parameter, which are checked now.

        Raises LaunchError for those that it can't have.
        """
        signature = kernel.signature
        pairs = zip(signature.parameters, arguments, strict=True)
        return cls(kernel, shape, [check_argument(signature, *pair) for pair in pairs], traced)


class Form(ABC):
    """A form of launches. `reason` is why none of the forms before it has the launch; None for the first."""

    __slots__ = ()

    name: How

    @classmethod
    @abstractmethod
    def on_arrays(cls, launch: Request, reason: RaisingError | None) -> PreparedLaunch:
        """The launch on NumPy arrays."""

    @classmethod
    @abstractmethod
    def on_values(cls, launch: Request, reason: RaisingError | None) -> PreparedFunction:
        """The launch as a function of JAX values."""

    @classmethod
    @abstractmethod
    def on_traced(cls, launch: TracedLaunch, reason: RaisingError | None) -> None:
        """Do the launch within the program that `wl.jit` traces."""
