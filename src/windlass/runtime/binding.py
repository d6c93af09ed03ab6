"""From a launch's checked arguments to the specification that raising needs, and to the raised program's arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.ir.signature import KernelSignature, Parameter
from windlass.ir.types import MLIR_DTYPES, NUMPY_DTYPES
from windlass.loops.launch_specification import (
    NULL_MEMORY,
    KernelArgument,
    KnownScalar,
    LaunchSpecification,
    PointerArgument,
    RecordArgument,
    TracedScalar,
)
from windlass.runtime.arguments import Checked, leaves_of
from windlass.runtime.launch_shape import LaunchShape
from windlass.runtime.memories import ArrayForm, form_of, signless

Array: TypeAlias = NDArray[Any]

NO_PLACES: Mapping[str, tuple[int, int]] = {}


@dataclass(frozen=True)
class ScalarInput:
    """A traced scalar of the raised program: argument `position`, and the byte offset in it for a record's member.

    `enters_as` is the element type in which the scalar reaches the program: its own, another that is converted inside,
    or "halves" for 64 bits as two 32-bit words (JAX can't hold them otherwise while its x64 flag is off).
    """

    position: int
    offset: int
    dtype: np.dtype
    enters_as: str

    def read(self, checked: np.generic) -> np.generic:
        """The scalar, from the argument's checked value."""
        word = NUMPY_DTYPES[signless(MLIR_DTYPES[self.dtype])]
        return np.frombuffer(checked.tobytes(), word, 1, self.offset)[0]

    def read_halves(self, checked: np.generic) -> Array:
        """The scalar's 64 bits as two words."""
        return np.frombuffer(checked.tobytes(), np.uint32, 2, self.offset)


@dataclass(frozen=True)
class Binding:
    """A launch bound to its arguments: the specification, and where the raised program's arguments come from.

    `forms` has one form per memory; memories after the arguments' own are device variables, named in `variables`.
    Variables that an argument lies in are in that argument's memory.
    """

    specification: LaunchSpecification
    forms: tuple[ArrayForm, ...]
    scalars: tuple[ScalarInput, ...]
    variables: tuple[str, ...] = ()


def bind(
    signature: KernelSignature,
    shape: LaunchShape,
    checked: Sequence[Checked],
    places: Mapping[int, tuple[int, int]],
    forms: Sequence[ArrayForm],
    variables: Mapping[str, Array],
    traced: Collection[int] = (),
    allow_contraction: bool = False,
    shared: Mapping[str, tuple[int, int]] = NO_PLACES,
) -> Binding:
    """The binding of a launch.

    `places` gives memory and byte offset for the positions of arrays; `forms` those memories' forms; `variables` the
    device variables that the kernel uses; `traced` the positions of integers that stay unknown; `shared` memory and
    byte offset of the variables that lie in the memories of arrays.
    """
    arguments: list[KernelArgument] = []
    scalars: list[ScalarInput] = []
    for position, (parameter, value) in enumerate(zip(signature.parameters, checked, strict=True)):
        if parameter.kind == "pointer":
            memory, offset = places.get(position, (NULL_MEMORY, 0))
            arguments.append(PointerArgument(memory, offset))
        else:
            arguments.append(_by_value(parameter, position, value, position in traced, scalars))
    own = [name for name in variables if name not in shared]
    all_forms = (*forms, *(form_of(variables[name].dtype, variables[name].shape) for name in own))
    places_of_variables = {**shared, **{name: (len(forms) + index, 0) for index, name in enumerate(own)}}
    specification = LaunchSpecification(
        shape.grid,
        shape.block,
        shape.shared_bytes,
        tuple(arguments),
        tuple(form.specification for form in all_forms),
        tuple((name, PointerArgument(*places_of_variables[name])) for name in variables),
        allow_contraction,
    )
    return Binding(specification, all_forms, tuple(scalars), tuple(own))


def _by_value(
    parameter: Parameter, position: int, value: Checked, is_traced: bool, scalars: list[ScalarInput]
) -> KernelArgument:
    assert parameter.dtype is not None
    if parameter.kind == "scalar":
        return _scalar(position, 0, parameter.dtype, value, is_traced, scalars)
    assert isinstance(value, np.generic)
    leaves = tuple(
        (offset, _scalar(position, offset, dtype, value, is_traced, scalars))
        for offset, dtype in leaves_of(parameter.dtype)
        if dtype.type is not np.void  # bytes that are no number: those of an empty struct, for one
    )
    return RecordArgument(parameter.size, leaves)


def _scalar(
    position: int, offset: int, dtype: np.dtype, value: Checked, is_traced: bool, scalars: list[ScalarInput]
) -> KnownScalar | TracedScalar:
    name = signless(MLIR_DTYPES[dtype])
    if is_traced or dtype.kind not in "biu":
        scalars.append(ScalarInput(position, offset, dtype, name))
        return TracedScalar(name)
    assert isinstance(value, np.generic)
    if dtype.kind == "b":
        return KnownScalar("i1", bool(np.frombuffer(value.tobytes(), np.uint8, 1, offset)[0]))
    return KnownScalar(name, int(np.frombuffer(value.tobytes(), NUMPY_DTYPES[name], 1, offset)[0]))


def known_bytes(parameter: Parameter, value: np.generic) -> bytes:
    """The part of a record's value that a specification holds: its integers."""
    assert parameter.dtype is not None
    raw = value.tobytes()
    return b"".join(
        raw[offset : offset + dtype.itemsize] for offset, dtype in leaves_of(parameter.dtype) if dtype.kind in "biu"
    )
