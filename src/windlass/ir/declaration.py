"""What the declaration of an op class becomes: fields, a constructor, properties for operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from windlass.ir.core import Op
    from windlass.ir.values import Value


class Field:
    """One declared field of an op class."""

    __slots__ = ("annotation", "default", "kind", "name")
    KINDS: ClassVar[dict[str, str]] = {
        "Value": "operand",
        "Value | None": "optional",
        "tuple[Value, ...]": "variadic",
        "Region": "region",
        "tuple[Region, ...]": "regions",
    }

    def __init__(self, name: str, annotation: str, default: object) -> None:
        self.name = name
        self.annotation = annotation
        self.kind = Field.KINDS.get(annotation, "attribute")
        self.default = default

    @property
    def is_required(self) -> bool:
        """Whether the constructor has no default for it."""
        return self.default is REQUIRED


REQUIRED = object()


def define_constructor(cls: type[Op]) -> None:
    """Write `__init__` out as plain statements: constructing ops is the inner loop of everything."""
    if "__init__" in cls.__dict__:
        return
    parameters: list[str] = []
    body: list[str] = []
    pieces: list[str] = []
    sizes: list[str] = []
    scope: dict[str, Any] = {}
    optional_seen = False
    for field in cls.fields:
        if field.default is not REQUIRED:
            scope[f"default_{field.name}"] = field.default
            parameters.append(f"{field.name}=default_{field.name}")
            optional_seen = True
        elif optional_seen:
            raise TypeError(f"{cls.__name__}.{field.name}: a field without a default follows one that has one")
        else:
            parameters.append(field.name)
        match field.kind:
            case "operand":
                pieces.append(field.name)
                sizes.append("1")
            case "optional":
                pieces.append(f"*(() if {field.name} is None else ({field.name},))")
                sizes.append(f"0 if {field.name} is None else 1")
            case "variadic":
                pieces.append(f"*{field.name}")
                sizes.append(f"len({field.name})")
            case _:
                body.append(f"    self.__dict__['{field.name}'] = {field.name}")
    segmented = any(field.kind in ("optional", "variadic") for field in cls.fields)
    segments = f"({', '.join(sizes)},)" if segmented else "None"
    body.append(f"    self._finish([{', '.join(pieces)}], {segments})")
    text = f"def __init__(self{''.join(', ' + parameter for parameter in parameters)}):\n" + "\n".join(body)
    exec(text, scope)
    constructor: Callable[..., None] = scope["__init__"]
    constructor.__qualname__ = f"{cls.__qualname__}.__init__"
    setattr(cls, "__init__", constructor)  # noqa: B010


def define_operand_properties(cls: type[Op]) -> None:
    operand_fields = [field for field in cls.fields if field.kind in ("operand", "optional", "variadic")]
    segmented = any(field.kind != "operand" for field in operand_fields)
    for position, field in enumerate(operand_fields):
        if segmented:
            getter = _segment_getter(position, field.kind)
        else:
            getter = _operand_getter(position)
        setattr(cls, field.name, property(getter, doc=f"operand {position}"))
    for field in cls.fields:
        if field.kind in ("operand", "optional", "variadic"):
            continue
        if field.name in cls.__dict__:
            # A class-level default would be shadowed by the instance's own value; leave one place to look.
            delattr(cls, field.name)
        if isinstance(getattr(cls, field.name, None), property):
            # `shape` and `dtype` are properties of every value: `infer` has to see the field before there is a type.
            setattr(cls, field.name, property(_attribute_getter(field.name), doc="an attribute"))


def _attribute_getter(name: str) -> Callable[[Op], Any]:
    def get(self: Op) -> Any:
        return self.__dict__[name]

    return get


def _operand_getter(position: int) -> Callable[[Op], Value]:
    def get(self: Op) -> Value:
        return self._operands[position]  # pyright: ignore[reportPrivateUsage]

    return get


def _segment_getter(position: int, kind: str) -> Callable[[Op], Any]:
    def get(self: Op) -> Any:
        segments = self._segments  # pyright: ignore[reportPrivateUsage]
        assert segments is not None
        start = sum(segments[:position])
        values = self._operands[start : start + segments[position]]  # pyright: ignore[reportPrivateUsage]
        if kind == "variadic":
            return tuple(values)
        return values[0] if values else None

    return get
