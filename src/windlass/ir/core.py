"""Ops, and the blocks and regions that hold them.

As in LLVM, an op with one result *is* that result: `Transpose(Transpose(x, p), q)` needs no unwrapping. An op whose
`infer` gives a tuple has its results in `op.results`, also when there is just one.

An op is declared by the annotations of its class:

    class Pad(Op):
        name = "stablehlo.pad"
        operand: Value                 # an operand
        padding_value: Value
        low: tuple[int, ...]           # anything that is not a Value or a Region is an attribute
        ...
        def infer(self) -> TensorType: ...

`Value | None` is an optional operand, `tuple[Value, ...]` a variadic one, `Region` and `tuple[Region, ...]` are
regions. Fields of base classes come first. Attributes are hashable and are not changed after construction.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform

from windlass.ir.builder import Builder, current_builder
from windlass.ir.declaration import REQUIRED, Field, define_constructor, define_operand_properties
from windlass.ir.types import TensorType, Type
from windlass.ir.values import NO_TYPE, Argument, Hole, Result, TypeFault, Value

if TYPE_CHECKING:
    from windlass.diagnostics import Position

Found = TypeVar("Found")


DIALECTS_OF_XLA = ("jax", "mhlo", "sdy", "stablehlo", "xla")
"""Whose attributes on ops XLA reads: shardings, say."""


@dataclass_transform(eq_default=False)
class Op(Value):
    """Subclass once per op. See the module's docstring for how fields are declared."""

    __slots__ = (
        "__dict__",
        "_operands",
        "_results",
        "_segments",
        "block",
        "extra",
        "made_by",
        "next",
        "previous",
        "queued",
        "source",
        "was_tried",
    )
    if not TYPE_CHECKING:
        __hash__ = object.__hash__

    changes: ClassVar[int] = 0
    """How often an op was given another operand: what was found out by looking at ops may be out of date by then."""
    name: ClassVar[str] = ""
    """The MLIR name, `dialect.mnemonic`; empty for abstract bases."""
    is_pure: ClassVar[bool] = True
    """No effect but its results: may be removed, moved and shared."""
    is_commutative: ClassVar[bool] = False
    is_elementwise: ClassVar[bool] = False
    """Each element of the result depends on the elements at the same place in the operands only."""
    is_free: ClassVar[bool] = False
    """Its result need never be written out by itself: constants, counting, reshapes, broadcasts."""
    is_contraction: ClassVar[bool] = False
    """A matrix product, convolution or the like: no loop with its neighbours, and done by hardware of its own."""
    picks_elements: ClassVar[bool] = False
    """It reads no more elements than its result has: slices and gathers."""

    fields: ClassVar[tuple[Field, ...]] = ()
    attribute_names: ClassVar[tuple[str, ...]] = ()
    region_names: ClassVar[tuple[str, ...]] = ()
    by_name: ClassVar[dict[str, type[Op]]] = {}
    """Every op class by its MLIR name."""

    if TYPE_CHECKING:
        _operands: list[Value]
        _results: tuple[Result, ...] | None
        _segments: tuple[int, ...] | None
        block: Block | None
        previous: Op | None
        next: Op | None
        source: Position | None
        made_by: tuple[str, ...]
        extra: dict[str, str] | None
        queued: bool
        was_tried: bool
        """Whether it is a copy of an op to which no rule applied, on copies of its operands."""

    def __init_subclass__(cls) -> None:
        own = inspect.get_annotations(cls)
        declared = {field.name: field for field in cls.fields}
        for name, annotation in own.items():
            text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
            if not text.startswith("ClassVar"):
                declared[name] = Field(name, text, cls.__dict__.get(name, REQUIRED))
        cls.fields = tuple(declared.values())
        cls.attribute_names = tuple(field.name for field in cls.fields if field.kind == "attribute")
        cls.region_names = tuple(field.name for field in cls.fields if field.kind in ("region", "regions"))
        define_constructor(cls)
        define_operand_properties(cls)
        if cls.__dict__.get("name"):
            Op.by_name[cls.name] = cls

    # -- what a subclass says of itself ---------------------------------------------------------------------------

    def infer(self) -> Type | tuple[Type, ...]:
        """The result type, or a tuple of them: it follows from attributes, operand types and signatures of regions.

        Raises TypeFault where a constraint is broken.
        """
        raise NotImplementedError(f"{type(self).__name__} declares no infer")

    def evaluate(self, *arrays: Any, **_: Any) -> Any:
        """The meaning, on one NumPy array per operand: an array, or a tuple of them where `infer` gives a tuple.

        Raises NotImplementedError for ops that have no meaning on arrays alone (memory, communication, custom calls).
        """
        raise NotImplementedError(f"{type(self).__name__} has no meaning on arrays alone")

    def flops(self) -> int:
        """Floating-point (or integer) operations that one execution does; 0 where it only moves data."""
        if not self.is_elementwise:
            return 0
        return sum(result.type.size for result in self.results if isinstance(result.type, TensorType))

    def repetitions(self) -> float:
        """How often each region runs as a program of its own, about; 0 where `flops` covers what regions do."""
        return 0.0

    def bytes_moved(self) -> int:
        """Bytes read and written if nothing is fused: all operands and all results."""
        types = [value.type for value in (*self._operands, *self.results)]
        return sum(type_.bytes for type_ in types if isinstance(type_, TensorType))

    # -- construction ---------------------------------------------------------------------------------------------

    def _finish(self, operands: list[Value], segments: tuple[int, ...] | None) -> None:
        self._operands = operands
        self._segments = segments
        self.uses = {}
        self.block = self.previous = self.next = None
        self.source = None
        self.made_by = ()
        self.extra = None
        self.queued = self.was_tried = False
        try:
            inferred = self.infer()
        except Exception:
            if not self._become_pattern():
                raise
            return
        if isinstance(inferred, tuple):
            self.type = NO_TYPE
            self._results = tuple(Result(type_, self, index) for index, type_ in enumerate(inferred))
        else:
            self.type = inferred
            self._results = None
        for operand in operands:
            operand.uses[self] = operand.uses.get(self, 0) + 1
        if self.region_names:
            for region in self.regions:
                region.parent = self
        builder = current_builder()
        if builder is not None:
            builder.place(self)

    def repeat(self, operands: list[Value], regions: Mapping[str, Any], block: Block) -> Self:
        """The same op on other operands of the same types, at the end of `block`, with its own `regions` by field.

        These must have the signatures of this op's: the type is not inferred again.
        """
        copy = object.__new__(type(self))
        if self.__dict__:
            copy.__dict__.update(self.__dict__)
        if regions:
            copy.__dict__.update(regions)
            for region in copy.regions:
                region.parent = copy
        copy._operands = operands
        copy._segments = self._segments
        copy.uses = {}
        copy.source = copy.next = None
        copy.made_by = ()
        copy.extra = self.extra and dict(self.extra)
        copy.queued = copy.was_tried = False
        copy.type = self.type
        results = self._results
        copy._results = results and tuple([Result(each.type, copy, index) for index, each in enumerate(results)])
        for operand in operands:
            uses = operand.uses
            uses[copy] = uses[copy] + 1 if copy in uses else 1
        copy.block = block
        copy.previous = last = block.last
        if last is None:
            block.first = copy
        else:
            last.next = copy
        block.last = copy
        block.forget_findings()
        return copy

    def _become_pattern(self) -> bool:
        """An op with a hole among its fields is no op but the left side of a rule: it has no type and no uses."""
        pieces = [getattr(self, name) for name in self.attribute_names] + self._operands
        flat = [inner for piece in pieces for inner in (piece if isinstance(piece, tuple) else (piece,))]
        if not any(isinstance(piece, Hole) or getattr(piece, "is_pattern", False) for piece in flat):
            return False
        self.__dict__["is_pattern"] = True
        self.type, self._results = NO_TYPE, None
        return True

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Construct from a mapping of field names, as `fields_of` gives."""
        return cls(**fields)

    def field_values(self) -> dict[str, Any]:
        """Every field by name: what the constructor would take to make this op again."""
        return {field.name: getattr(self, field.name) for field in self.fields}

    def with_operands(self, operands: tuple[Value, ...]) -> Self:
        """The same op (of no regions) on other operands."""
        return type(self)(**self._fields_on(operands))

    def with_fields(self, operands: tuple[Value, ...], **fields: Any) -> Self:
        """The same op on other operands, with these fields in the place of its own."""
        return type(self)(**(self._fields_on(operands) | fields))

    def _fields_on(self, operands: Iterable[Value]) -> dict[str, Any]:
        """The fields by name, with these operands for its own."""
        remaining = iter(operands)
        fields: dict[str, Any] = {}
        for field in self.fields:
            value = getattr(self, field.name)
            if field.kind == "operand" or (field.kind == "optional" and value is not None):
                value = next(remaining)
            elif field.kind == "variadic":
                value = tuple(next(remaining) for _ in value or ())
            fields[field.name] = value
        return fields

    # -- structure ------------------------------------------------------------------------------------------------

    @property
    def operands(self) -> tuple[Value, ...]:
        return tuple(self._operands)

    @property
    def results(self) -> tuple[Value, ...]:
        return (self,) if self._results is None else self._results

    @property
    def regions(self) -> tuple[Region, ...]:
        if not self.region_names:
            return ()
        regions: list[Region] = []
        for name in self.region_names:
            value = getattr(self, name)
            if isinstance(value, Region):
                regions.append(value)
            else:
                regions.extend(value)
        return tuple(regions)

    @property
    def is_removable(self) -> bool:
        """Whether nothing is lost without the op where nobody uses its results. Pure ops may also be moved."""
        return self.is_pure

    @property
    def attributes(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.attribute_names}

    @property
    def is_unused(self) -> bool:
        results = self._results
        return not self.uses if results is None else not any(result.uses for result in results)

    @property
    def parent_op(self) -> Op | None:
        """The op whose region holds this one."""
        if self.block is None or self.block.parent is None:
            return None
        return self.block.parent.parent

    def structural_key(self, numbers: Iterable[int] | None = None) -> tuple[Any, ...]:
        """Equal for ops without regions that compute the same value from the same operands.

        `numbers` stand for the operands, which are the same where these are equal, instead of their identity.
        """
        types = tuple(result.type for result in self.results)
        attributes = tuple(getattr(self, name) for name in self.attribute_names)
        operands = list(map(id, self._operands) if numbers is None else numbers)
        if self.is_commutative:
            operands.sort()
        extra = tuple(sorted(item for item in self.extra.items() if self.obeys(item[0]))) if self.extra else ()
        return (type(self), types, attributes, tuple(operands), self._segments, extra)

    def obeys(self, name: str) -> bool:
        """Whether an attribute that is not declared as a field may decide the result, or how XLA computes it.

        Others are notes of a tool that the program has been through. Ops that are configured by such attributes, as
        custom calls are, say so.
        """
        dialect, dot, _ = name.partition(".")
        return not dot or dialect in DIALECTS_OF_XLA

    # -- change ---------------------------------------------------------------------------------------------------

    def replace_operand(self, old: Value, new: Value) -> None:
        """Use `new` wherever this op uses `old`."""
        Op.changes += 1
        self.was_tried = False
        count = old.uses.pop(self, 0)
        if count:
            self._operands = [new if operand is old else operand for operand in self._operands]
            new.uses[self] = new.uses.get(self, 0) + count
            if self.block is not None:
                self.block.forget_findings()

    def drop_operands(self) -> None:
        """Forget all operands, so that they no longer count this op as a user."""
        for operand in self._operands:
            operand.uses.pop(self, None)
        self._operands = []
        if self.block is not None:
            self.block.forget_findings()

    def erase(self) -> None:
        """Remove the op (whose results are unused) from its block, with all that its regions hold."""
        for region in self.regions:
            for inner in tuple(region.walk()):
                inner.drop_operands()
                inner.block = None
        self.drop_operands()
        if self.block is not None:
            self.block.unlink(self)

    def clone(self, mapping: dict[Value, Value]) -> Self:
        """A copy whose operands are looked up in `mapping` (those not found stay); the copy's results enter it."""
        operands = [mapping.get(operand, operand) for operand in self._operands]
        regions: dict[str, Any] = {}
        for name in self.region_names:
            value = getattr(self, name)
            is_one = isinstance(value, Region)
            regions[name] = value.clone(mapping) if is_one else tuple(region.clone(mapping) for region in value)
        copy = self._copy_as_is(operands, regions)
        if copy is None:
            copy = type(self)(**(self._fields_on(operands) | regions))
        copy.source = self.source or copy.source
        copy.made_by = copy.made_by or self.made_by
        copy.extra = None if self.extra is None else dict(self.extra)
        if self._results is None:
            mapping[self] = copy
        else:
            mapping.update(zip(self.results, copy.results, strict=True))
        return copy

    def _copy_as_is(self, operands: list[Value], regions: Mapping[str, Any]) -> Self | None:
        """A copy on operands of the same types, which is of the same types then; None where some are of others."""
        for old, new in zip(self._operands, operands, strict=True):
            if old.type is not new.type:
                return None
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        if regions:
            copy.__dict__.update(regions)
            if any(old.signature != new.signature for old, new in zip(self.regions, copy.regions, strict=True)):
                return None
            for region in copy.regions:
                region.parent = copy
        copy._operands = operands
        copy._segments = self._segments
        copy.uses = {}
        copy.block = copy.previous = copy.next = copy.source = copy.extra = None
        copy.made_by = ()
        copy.queued = copy.was_tried = False
        copy.type = self.type
        results = self._results
        copy._results = results and tuple([Result(each.type, copy, index) for index, each in enumerate(results)])
        for operand in operands:
            uses = operand.uses
            uses[copy] = uses[copy] + 1 if copy in uses else 1
        builder = current_builder()
        if builder is not None:
            builder.place(copy)
        return copy

    def __repr__(self) -> str:
        shown: list[str] = []
        for field in self.fields:
            value = getattr(self, field.name)
            if field.kind in ("operand", "variadic"):
                shown.append(repr(value))
            elif field.kind == "optional":
                if value is not None:
                    shown.append(f"{field.name}={value!r}")
            elif field.kind == "attribute":
                if field.default is REQUIRED or value != field.default:
                    shown.append(f"{field.name}={value!r}")
            else:
                shown.append(f"{field.name}=...")
        return f"{type(self).__name__}({', '.join(shown)})"


class Terminator(Op):
    """Ends a block: yields, returns, conditions. It has no results."""

    is_pure: ClassVar[bool] = False

    def infer(self) -> tuple[Type, ...]:
        return ()


class Block:
    """A list of ops with parameters. Ops are linked, so that inserting and removing are cheap."""

    __slots__ = ("arguments", "first", "last", "parent", "revision")

    def __init__(self, types: Iterable[Type] = (), names: Iterable[str | None] = ()) -> None:
        self.arguments = [Argument(type_, self, index) for index, type_ in enumerate(types)]
        for argument, name in zip(self.arguments, names, strict=False):
            argument.name = name
        self.first: Op | None = None
        self.last: Op | None = None
        self.parent: Region | None = None
        self.revision = 0
        """How often ops changed, came or went, in this block or within its ops."""

    def add_argument(self, type: Type, name: str | None = None) -> Argument:
        argument = Argument(type, self, len(self.arguments), name)
        self.arguments.append(argument)
        return argument

    def append(self, op: Op) -> None:
        op.block, op.previous, op.next = self, self.last, None
        if self.last is None:
            self.first = op
        else:
            self.last.next = op
        self.last = op
        self.forget_findings()

    def insert_before(self, op: Op, before: Op) -> None:
        op.block, op.previous, op.next = self, before.previous, before
        if before.previous is None:
            self.first = op
        else:
            before.previous.next = op
        before.previous = op
        self.forget_findings()

    def unlink(self, op: Op) -> None:
        if op.previous is None:
            self.first = op.next
        else:
            op.previous.next = op.next
        if op.next is None:
            self.last = op.previous
        else:
            op.next.previous = op.previous
        op.block = op.previous = op.next = None
        self.forget_findings()

    def forget_findings(self) -> None:
        """Have every region around the block forget what was found out by looking inside: ops have changed."""
        block: Block | None = self
        while block is not None:
            block.revision += 1
            region = block.parent
            if region is None:
                return
            region.findings = None
            holder = region.parent
            block = None if holder is None else holder.block

    @property
    def terminator(self) -> Op:
        """The last op.

        Raises TypeFault on an empty block.
        """
        if self.last is None:
            raise TypeFault("the block is empty")
        return self.last

    def __iter__(self) -> Iterator[Op]:
        op = self.first
        while op is not None:
            following = op.next
            yield op
            op = following

    def walk(self) -> Iterator[Op]:
        """Every op, those within regions after the op that holds them."""
        for op in self:
            yield op
            if op.region_names:
                for region in op.regions:
                    yield from region.walk()

    def clone(self, mapping: dict[Value, Value]) -> Block:
        copy = Block([argument.type for argument in self.arguments], [argument.name for argument in self.arguments])
        mapping.update(zip(self.arguments, copy.arguments, strict=True))
        with Builder(copy):
            for op in self:
                op.clone(mapping)
        return copy


class Region:
    """What an op encloses: one block, or several where control flow is not structured."""

    __slots__ = ("blocks", "findings", "parent")

    def __init__(self, *blocks: Block) -> None:
        self.blocks = list(blocks)
        self.parent: Op | None = None
        self.findings: dict[tuple[Any, ...], Any] | None = None
        for block in blocks:
            block.parent = self

    @property
    def block(self) -> Block:
        """The only block."""
        (block,) = self.blocks
        return block

    def remember(self, find: Callable[..., Found], *inputs: Any) -> Found:
        """What `find` gives for the region and these inputs: it is asked again only after ops inside have changed.

        That must follow from what is inside and the inputs, not from what operands outside are made of (but for
        constants, which stay what they are).
        """
        key = (find, *inputs)
        if self.findings is None:
            self.findings = {}
        elif key in self.findings:
            return self.findings[key]
        found = self.findings[key] = find(self, *inputs)
        return found

    @property
    def signature(self) -> tuple[tuple[Type, ...], ...]:
        """What each block takes, and what it gives."""
        types: list[tuple[Type, ...]] = []
        for block in self.blocks:
            types.append(tuple([argument.type for argument in block.arguments]))
            types.append(tuple([value.type for value in block.terminator.operands]))
        return tuple(types)

    def walk(self) -> Iterator[Op]:
        for block in self.blocks:
            yield from block.walk()

    def clone(self, mapping: dict[Value, Value]) -> Region:
        return Region(*(block.clone(mapping) for block in self.blocks))
