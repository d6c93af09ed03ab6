"""What a texture or surface is made of, as descriptors have it (emulator/runtime/texture_descriptor.h)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

MAGIC = 0x5845542D4C445757
WORDS = 21
KINDS = ("i", "u", "f")
ADDRESS_MODES = ("wrap", "clamp", "mirror", "border")


@dataclass(frozen=True)
class TextureForm:
    """All that a kernel has to know of a texture or surface but its texels.

    Texels have `channels` numbers of `dtype`, and lie in rows of `row_bytes` and slices (or layers) of `slice_bytes`.
    `border` has the bits of four floats. For surfaces only dtype, channels and extents matter.
    """

    dtype: np.dtype[Any]
    channels: int
    width: int
    height: int
    depth: int
    row_bytes: int
    slice_bytes: int
    address_modes: tuple[int, int, int] = (1, 1, 1)
    interpolates: bool = False
    normalizes_values: bool = False
    has_normalized_coordinates: bool = False
    border: tuple[int, int, int, int] = (0, 0, 0, 0)

    @property
    def texel_bytes(self) -> int:
        return self.channels * self.dtype.itemsize

    @property
    def size_bytes(self) -> int:
        """From the first texel to the end of the last."""
        return (self.depth - 1) * self.slice_bytes + (self.height - 1) * self.row_bytes + self.width * self.texel_bytes

    def words(self, address: int = 0) -> tuple[int, ...]:
        """The words of its descriptor, with the texels at an address."""
        return (
            MAGIC,
            address,
            self.size_bytes,
            KINDS.index(self.dtype.kind),
            8 * self.dtype.itemsize,
            self.channels,
            self.width,
            self.height,
            self.depth,
            self.row_bytes,
            self.slice_bytes,
            *self.address_modes,
            int(self.interpolates),
            int(self.normalizes_values),
            int(self.has_normalized_coordinates),
            *self.border,
        )

    @classmethod
    def from_words(cls, words: tuple[int, ...]) -> tuple[TextureForm, int]:
        """The form and the address of the texels in a descriptor.

        >>> form = TextureForm(np.dtype(np.int16), 2, 5, 1, 1, 20, 20)
        >>> TextureForm.from_words(form.words(64)) == (form, 64)
        True
        """
        _, address, _, kind, bits, channels, width, height, depth, row_bytes, slice_bytes, *rest = words
        form = cls(
            np.dtype(f"{KINDS[kind]}{bits // 8}"),
            channels,
            width,
            height,
            depth,
            row_bytes,
            slice_bytes,
            (rest[0], rest[1], rest[2]),
            bool(rest[3]),
            bool(rest[4]),
            bool(rest[5]),
            (rest[6], rest[7], rest[8], rest[9]),
        )
        return form, address


@dataclass(frozen=True, eq=False)
class TextureObject:
    """A texture or surface that is there: its form, and its texels as one flat array of the form's dtype."""

    form: TextureForm
    texels: NDArray[Any]


Textures: TypeAlias = "dict[int | str, TextureObject]"
"""By position of the parameter, or linker name of the reference."""
