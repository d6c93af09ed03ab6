"""What is known and written of a thread's values while its body is written for several lanes at once."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from windlass.ir import BufferType, Value
from windlass.native.strides import Stride
from windlass.native.text import Text, constant, scalar_type
from windlass.ops.creation import Constant


class Lanes:
    """The values of a strip of lanes, which run one body together.

    What is written is run only where at least one lane is active, but for what is pure. `mask` are the active lanes,
    None for all. Each value has a name in the text: of the number of the first lane where it has a stride, else of the
    vector of all lanes' numbers.
    """

    def __init__(self, text: Text, ids: Sequence[Value], strides: Mapping[Value, Stride]) -> None:
        self.text = text
        self.width = text.width
        self.ids = ids
        self.strides = strides
        self.names: dict[Value, str] = {}
        self.wide: dict[Value, str] = {}
        """The same in 64 bits, for ids that are made of such numbers."""
        self.mask: str | None = None

    def stride(self, value: Value) -> Stride:
        return self.strides.get(value, 0)

    def is_varying(self, value: Value) -> bool:
        return self.stride(value) is None

    def name(self, value: Value) -> str:
        """The number of the first lane, or the vector."""
        if isinstance(value, Constant):
            return constant(value.number, value.dtype)
        return self.names[value]

    def vector(self, value: Value) -> str:
        """The vector of all lanes' numbers, whatever the stride."""
        name, stride, type_ = self.name(value), self.stride(value), scalar_type(value.dtype)
        if stride is None:
            return name
        whole = self.text.splat(type_, name)
        if not stride:
            return whole
        half = 1 << (8 * value.tensor.numpy_dtype.itemsize - 1)
        steps = ((lane * stride + half) % (2 * half) - half for lane in range(self.width))
        return self.text.put(
            f"add {self.text.vector(type_)} {whole}, <{', '.join(f'{type_} {step}' for step in steps)}>"
        )

    def use(self, value: Value, *, is_vector: bool) -> str:
        return self.vector(value) if is_vector else self.name(value)

    def type_of(self, value: Value) -> str:
        """The type of what stands for the value."""
        if isinstance(value.type, BufferType):
            return "ptr"
        type_ = scalar_type(value.dtype)
        return self.text.vector(type_) if self.is_varying(value) else type_

    @contextmanager
    def under(self, mask: str | None) -> Generator[None]:
        """With other active lanes."""
        before, self.mask = self.mask, mask
        try:
            yield
        finally:
            self.mask = before
