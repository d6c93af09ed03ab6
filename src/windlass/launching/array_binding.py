"""The binding of a launch on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from numpy.typing import NDArray

from windlass.runtime.arguments import Checked
from windlass.runtime.binding import Binding, bind
from windlass.runtime.launch_shape import LaunchShape
from windlass.runtime.memories import MemoryPlan, overlap, plan_memories, with_misalignment
from windlass.runtime.settings import first_calls_are_checked

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel

Array: TypeAlias = NDArray[Any]


def bind_arrays(
    kernel: LoadedKernel, shape: LaunchShape, checked: Sequence[Checked], traced: frozenset[int] = frozenset()
) -> tuple[tuple[MemoryPlan, ...], Binding]:
    """The memories that the arrays are, and the binding; integers at the positions in `traced` stay unknown."""
    parameters = kernel.signature.parameters
    arrays = [
        cast("Array", value) if parameter.kind == "pointer" and value is not None else None
        for parameter, value in zip(parameters, checked, strict=True)
    ]
    inner = {position: parameter.shape for position, parameter in enumerate(parameters) if parameter.shape}
    variables = kernel.variables()
    touched = {name: array for name, array in variables.items() if _lies_in_an_argument(array, arrays)}
    all_arrays = [*arrays, *touched.values()]
    plans, places = plan_memories(all_arrays, inner)
    if kernel.alignment > 1:
        plans = tuple(with_misalignment(plan, all_arrays) for plan in plans)
    binding = bind(
        kernel.signature,
        shape,
        checked,
        places,
        [plan.form for plan in plans],
        variables,
        traced,
        kernel.module.allow_contraction,
        {name: places[len(arrays) + index] for index, name in enumerate(touched)},
    )
    if first_calls_are_checked():
        binding = replace(binding, specification=replace(binding.specification, checks_bounds=True))
    return plans, binding


def _lies_in_an_argument(variable: Array, arrays: Sequence[Array | None]) -> bool:
    """Whether an array argument is the device variable or a view into it."""
    return any(array is not None and overlap(array, variable) for array in arrays)
