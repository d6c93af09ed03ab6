"""Values: what ops take and give, named or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from windlass.ir.types import OpaqueType, TensorType, Type, tensor_type

if TYPE_CHECKING:
    from windlass.ir.core import Block, Op

NO_TYPE = OpaqueType.of("()")
"""The type of ops that are not values themselves: those with no result or with several."""


class TypeFault(Exception):
    """An op was given operands or attributes that it does not accept; the text says which constraint is broken."""


class Value:
    """Something that ops take: another op's result or a block argument. `uses` counts the uses by each op."""

    __slots__ = ("facts", "type", "uses")
    type: Type
    uses: dict[Op, int]
    facts: Any
    """What an analysis found out about the value (see `windlass.facts.ranges`); not set until then."""

    @property
    def tensor(self) -> TensorType:
        """The type, known to be a tensor's.

        Raises TypeFault where it is not.
        """
        if isinstance(self.type, TensorType):
            return self.type
        raise TypeFault(f"expected a tensor, got {self.type}")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.shape

    @property
    def dtype(self) -> str:
        return self.tensor.dtype

    def replace_all_uses_with(self, other: Value) -> None:
        """Make every user of this value use `other` (of the same type)."""
        if other is self:
            return
        for user in tuple(self.uses):
            user.replace_operand(self, other)


class Argument(Value):
    """A parameter of a block (of a function, loop body or reducer)."""

    __slots__ = ("block", "index", "name")

    def __init__(self, type: Type, block: Block | None = None, index: int = 0, name: str | None = None) -> None:
        self.type = type
        self.uses = {}
        self.block = block
        self.index = index
        self.name = name

    def __repr__(self) -> str:
        return self.name or f"%arg{self.index}"


def tensor(dtype: str, *shape: int, name: str = "x") -> Argument:
    """A free tensor variable, for examples and tests.

    >>> tensor("f32", 2, 3).type
    tensor<2x3xf32>
    """
    return Argument(tensor_type(shape, dtype), name=name)


class Hole(Value):
    """Stands for any value or attribute in the left side of a rule; the same hole twice stands for equal things."""

    __slots__ = ("accepts", "name")

    def __init__(self, name: str, accepts: Callable[[Any], bool] | None = None) -> None:
        self.name = name
        self.uses = {}
        self.accepts = accepts

    def __iter__(self) -> Iterator[Hole]:
        """As the operands of a variadic op, one hole stands for all of them."""
        yield self

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return self.name


class Result(Value):
    """One of several results of an op."""

    __slots__ = ("index", "owner")

    def __init__(self, type: Type, owner: Op, index: int) -> None:
        self.type = type
        self.uses = {}
        self.owner = owner
        self.index = index

    def __repr__(self) -> str:
        return f"{self.owner!r}#{self.index}"
