"""Arrays of the device: memory of this process that programs treat as if it lay elsewhere."""

from __future__ import annotations

from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


class DeviceArray:
    """An array of the device, of which `data` are the values.

    >>> DeviceArray.of(np.arange(6)).reshape(2, 3).T.shape
    (3, 2)
    """

    data: Array

    @classmethod
    def of(cls, data: Any) -> Self:
        """The array with these values, which it shares."""
        made = cls.__new__(cls)
        made.data = data
        return made

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def strides(self) -> tuple[int, ...]:
        return self.data.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def size(self) -> int:
        return self.data.size

    @property
    def nbytes(self) -> int:
        return self.data.nbytes

    @property
    def T(self) -> Self:  # noqa: N802
        return self.of(self.data.T)

    def reshape(self, *shape: Any, order: Any = "C") -> Self:
        """With another shape."""
        return self.of(self.data.reshape(*shape, order=order))

    def ravel(self, order: Any = "C", stream: object = None) -> Self:
        """With one axis."""
        return self.of(self.data.ravel(order=order))

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, key: Any) -> Any:
        found: Any = self.data[values_of(key)]
        return self.of(found) if isinstance(found, np.ndarray) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[values_of(key)] = values_of(value)


def values_of(value: Any) -> Any:
    """The values of an array of the device; other things as they are."""
    return value.data if isinstance(value, DeviceArray) else value
