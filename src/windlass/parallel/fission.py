"""Fission at barriers: a block's threads run the kernel piece by piece, from one meeting to the next.

    Parallel(launch) { a; Barrier; For(n) { b; Barrier; c } }
        =  Parallel(grid) { Parallel(block) { a }; For(n) { Parallel(block) { b }; Parallel(block) { c } } }

Branches and loops in which threads meet stand around the threads: what decides there is common to all of a block. A
piece in which the threads of warps meet is `Parallel(warps) { … Parallel(lane) { … } … }`, cut in the same way. What a
piece leaves for later ones is computed there again if it is index arithmetic, and kept in an array of the block
otherwise. Threads that are done early (`if (i >= n) return;`) take no part in what follows.

After: a grid holds pieces, allocations (local ones are the block's too), branches and loops around pieces, and what is
common to the threads. Threads of a piece that are run one after another do
what they do in the emulator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from windlass.affine.dimensions import Dimension
from windlass.facts.threads import ThreadIds, ids_apart
from windlass.ir import Argument, Block, BufferType, Builder, Op, Region, Value, tensor_type
from windlass.ir.values import Result
from windlass.loops import (
    LAUNCH_DIMENSIONS,
    WARPS,
    Access,
    Allocate,
    AtomicUpdate,
    Barrier,
    Collective,
    Condition,
    DoWhile,
    For,
    If,
    Load,
    Parallel,
    Store,
    Yield,
)
from windlass.loops.threads import WARP
from windlass.ops.conversion import Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Divide, Multiply, Remainder, Subtract
from windlass.ops.extremes import Minimum
from windlass.parallel.common_values import AnywhereReader, CommonValues, memories_behind, written_memories
from windlass.parallel.exchanges import CannotSplit, Group, exchanged_input, is_alike, mask_of, write_exchange
from windlass.parallel.kept_values import allocate_kept, load_kept
from windlass.parallel.pieces import Kept, Piece, Scope, free_values, is_within, origin_of

MOST_RECOMPUTED = 12
"""So many ops are done again rather than their result kept."""

Size3 = tuple[int, int, int]


@dataclass(frozen=True)
class SplitLaunch:
    """A launch in pieces. `ids` are the values that stand for each of the six ids, `warps` for the numbers of warps."""

    grid: Parallel
    ids: tuple[tuple[Value, ...], ...]
    warps: tuple[Value, ...]


def needs_fission(launch: Parallel) -> bool:
    """Whether threads of a block meet, or share memory."""
    return any(
        isinstance(op, Barrier | Collective) or (isinstance(op, Allocate) and op.space == "shared")
        for op in launch.body.walk()
    )


def split_at_meetings(launch: Parallel, grid: Size3, block: Size3) -> SplitLaunch:
    """Put a grid of pieces in the place of a launch of that size, whose numbers are known.

    Raises CannotSplit where threads meet in branches or loops that are not common to them.
    """
    return Fission(launch, grid, block).split()


class Fission:
    """What is known of one launch, and of what threads keep."""

    def __init__(self, launch: Parallel, grid: Size3, block: Size3) -> None:
        self.launch = launch
        self.body = launch.body.block
        self.block = block
        self.threads = block[0] * block[1] * block[2]
        self.meetings: dict[Op, frozenset[str]] = {}
        self.inside: set[Value] = set(self.body.arguments)
        for op in self.body:
            self._find_meetings(op)
        written = written_memories(self.body)
        if written is None:
            raise CannotSplit("its memories can't be told apart", launch.source)
        own = self.body.arguments[3:]
        ids = ids_apart(grid, block)
        self.common_to_block = CommonValues(
            self.body,
            own,
            written,
            _reader(launch, ids),
            _dimensions_of_threads(ids),
            lambda op: op.scope == "block",
            lambda op: "block" in self.meetings[op],
        )
        lanes = ids_apart(grid, block, WARP)
        self.common_to_warp = CommonValues(
            self.body,
            own,
            written,
            _reader(launch, lanes),
            frozenset(each for each in lanes.dimensions if each.name == f"thread.x%{WARP}")
            or _dimensions_of_threads(lanes),
            lambda op: op.scope == "block" or (is_alike(op) and self.names_all(op)),
            lambda op: bool(self.meetings[op]),
        )
        self.kept: dict[Value, Allocate] = {}
        """The arrays of what differs from thread to thread."""
        self.given: dict[Op, Allocate | None] = {}
        """Those of what threads give to one another at a meeting."""
        self.came: dict[Op, Allocate | None] = {}
        """Those of flags of the threads that come to a meeting; None where all do."""
        self.own_arrays: dict[Allocate, Allocate] = {}
        """Those that hold a local array of each thread, one after another."""
        self.arrays = Block()
        self.ids: tuple[list[Value], ...] = tuple([] for _ in range(6))
        self.warps: list[Value] = []

    def _find_meetings(self, op: Op) -> frozenset[str]:
        found: set[str] = set()
        self.inside.update(op.results)
        if isinstance(op, Barrier | Collective):
            scope = op.scope
            if scope == "grid":
                raise CannotSplit("its blocks wait for one another", op.source)
            if isinstance(op, Collective) and op.kind != "barrier_object.wait":
                exchanged_input(op)  # refuses those that have no such form
            found.add(scope)
        if isinstance(op, Load | Store) and op.is_volatile:
            raise CannotSplit("its warps go in step, as volatile memory has them do", op.source)
        for region in op.regions:
            self.inside.update(region.block.arguments)
            for inner in region.block:
                found |= self._find_meetings(inner)
        self.meetings[op] = frozenset(found)
        return self.meetings[op]

    def names_all(self, op: Collective) -> bool:
        """Whether the mask names all lanes that come."""
        mask = mask_of(op)
        if mask is None or (isinstance(mask, Constant) and int(mask.number) == -1):
            return True
        return isinstance(mask, Result) and isinstance(mask.owner, Collective) and mask.owner.kind == "activemask"

    # -- the grid -----------------------------------------------------------------------------------------------------

    def split(self) -> SplitLaunch:
        launch, body = self.launch, self.body
        outer = Block([argument.type for argument in body.arguments[:3]], LAUNCH_DIMENSIONS[:3])
        for place, argument in enumerate(outer.arguments):
            self.ids[place].append(argument)
        scope = Scope(dict(zip(body.arguments[:3], outer.arguments, strict=True)))
        with Builder(outer, source=launch.source):
            zero = Constant.of(0, "i32")
            first = tuple(zero for _ in range(3))
            Level(self, "block", self.common_to_block, first).write(body, scope)
            Yield(())
        before = outer.first
        assert before is not None
        for op in list(self.arrays):
            self.arrays.unlink(op)
            outer.insert_before(op, before)
        assert launch.block is not None
        with Builder(launch.block, before=launch, source=launch.source):
            grid = Parallel(launch.extents[:3], LAUNCH_DIMENSIONS[:3], Region(outer), kind="grid")
        launch.erase()
        self._move_local_arrays(grid)
        return SplitLaunch(grid, tuple(map(tuple, self.ids)), tuple(self.warps))

    def keep(self, value: Value) -> Allocate:
        """The array in which each thread keeps its own of a value."""
        known = self.kept.get(value)
        if known is None:
            known = self.kept[value] = self.new_array(value)
        return known

    def new_array(self, value: Value) -> Allocate:
        """An array with a place for each thread's own of a value."""
        if isinstance(value.type, BufferType):
            raise CannotSplit("threads go into different arrays across a barrier", self.launch.source)
        with Builder(self.arrays, source=self.launch.source):
            return allocate_kept(value.dtype, self.threads)

    def new_flags(self) -> Allocate:
        """An array with a place for a truth value of each thread."""
        with Builder(self.arrays, source=self.launch.source):
            return allocate_kept("i1", self.threads)

    # -- local arrays -------------------------------------------------------------------------------------------------

    def own_array(self, op: Allocate) -> Allocate:
        """A local array that is used in several pieces, for all threads of the block."""
        known = self.own_arrays.get(op)
        if known is None:
            with Builder(self.arrays, source=op.source):
                known = Allocate("local", op.size * self.threads, op.variable or "a local array", op.element_dtype)
            self.own_arrays[op] = known
        return known

    def _move_local_arrays(self, grid: Parallel) -> None:
        """Have each thread go to its own part of what were its local arrays."""
        sizes: dict[Value, int] = {array: op.size for op, array in self.own_arrays.items()}
        for piece in [op for op in grid.body.walk() if isinstance(op, Parallel)]:
            if piece.dimensions == WARPS:
                continue
            number: Value | None = None
            for access in list(piece.body.walk()):
                if not isinstance(access, Access):
                    continue
                memories = list(memories_behind(access.buffer))
                if not any(memory in sizes for memory in memories):
                    continue
                (memory,) = memories if len(memories) == 1 else (None,)
                if memory is None or isinstance(access, AtomicUpdate):
                    raise CannotSplit("a choice of local arrays across a barrier", access.source)
                if number is None:
                    first = piece.body.block.first
                    assert first is not None
                    with Builder(piece.body.block, before=first, source=piece.source):
                        number = Convert(self.number(piece.body.block.arguments), "i64")
                assert access.block is not None
                with Builder(access.block, before=access, source=access.source):
                    start = Multiply(number, Constant.of(sizes[memory], "i64"))
                    fields: dict[str, Any] = access.field_values() | {"offset": Add(access.offset, start)}
                    moved = type(access)(**fields)
                for old, new in zip(access.results, moved.results, strict=True):
                    old.replace_all_uses_with(new)
                access.erase()

    def number(self, ids: Sequence[Value]) -> Value:
        """The number of a thread in its block, by its ids."""
        x, y, z = ids
        found: list[Value] = []
        for each, size in ((z, self.block[2]), (y, self.block[1]), (x, self.block[0])):
            if size > 1:
                found = [Add(Multiply(found[0], Constant.of(size, "i32")), each)] if found else [each]
        return found[0] if found else x

    def ids_of(self, number: Value) -> tuple[Value, ...]:
        """The ids of a thread, by its number in the block."""
        if self.block[1] == self.block[2] == 1:
            zero = Constant.of(0, "i32")
            return (number, zero, zero)
        found: list[Value] = []
        for size in self.block[:2]:
            found.append(Remainder(number, Constant.of(size, "i32")))
            number = Divide(number, Constant.of(size, "i32"))
        return (*found, number)


def _dimensions_of_threads(ids: ThreadIds) -> frozenset[Dimension]:
    return frozenset(each for item in ids.items[3:] for each in ids.dimensions if each in item.terms)


def _reader(launch: Parallel, ids: ThreadIds) -> AnywhereReader:
    return AnywhereReader(dict(zip(launch.body.block.arguments, ids.items, strict=True)), ids.dimensions)


class Level:
    """Writes ops in pieces: the threads of a block, or of a warp, run them from one meeting to the next."""

    def __init__(
        self, fission: Fission, scope: str, common: CommonValues, first: tuple[Value, ...], start: Value | None = None
    ) -> None:
        self.fission = fission
        self.scope = scope
        self.common = common
        self.first = first
        """The ids of the first of the threads."""
        self.start = start
        """The number of that thread in its block; None for 0."""

    def meets(self, op: Op) -> bool:
        """Whether threads of this level meet in it."""
        found = self.fission.meetings[op]
        return bool(found) if self.scope == "warp" else "block" in found

    # -- ops ----------------------------------------------------------------------------------------------------------

    def write(
        self,
        ops: Iterable[Op],
        scope: Scope,
        keeps: Sequence[Kept] = (),
        directly: Iterable[Op] = (),
        came: Allocate | None = None,
    ) -> None:
        """Write them, and keep values at their end, which are used there by ops that stand for the keeping."""
        for op in ops:
            if isinstance(op, Yield | Condition):
                break
            if isinstance(op, Allocate):
                self._allocate(op, scope)
            elif isinstance(op, Barrier | Collective) and self.meets(op):
                self._meet(op, scope)
            elif self.meets(op):
                self._enclose(op, scope)
            elif self.common.is_whole(op):
                self._write_once(op, scope)
            else:
                scope.pending.append(op)
        self.flush(scope, keeps, directly, came)

    def _allocate(self, op: Allocate, scope: Scope) -> None:
        if op.space != "shared":
            return  # where it is used
        if op.byte_count is not None:
            raise CannotSplit("shared memory of a size that is found at run time", op.source)
        with Builder(self.fission.arrays):
            scope.known[op] = op.clone({})

    def _write_once(self, op: Op, scope: Scope) -> None:
        """What is common to the threads, before the piece in which it stands."""
        if op in self.common.by_facts:
            self.known(op, scope)
            return
        for value in free_values(op):
            self.known(value, scope)
        op.clone(scope.known)

    def known(self, value: Value, scope: Scope) -> Value:
        """What a common value is called here; of others, what the first of the threads has."""
        fission = self.fission
        if value not in fission.inside:
            return value
        found = scope.known.get(value) or scope.of_first.get(value)
        if found is not None:
            return found
        if isinstance(value, Argument) and value.block is fission.body:
            return self.first[value.index - 3]
        if value in fission.kept and not scope.guards:
            found = load_kept(fission.kept[value], value.dtype, self.start or Constant.of(0, "i32"))
        elif isinstance(value, Op) and value.is_pure and not value.regions:
            found = value.clone({operand: self.known(operand, scope) for operand in value.operands})
        else:
            raise CannotSplit("it decides by a value from across a barrier", fission.launch.source)
        (scope.known if self.common.has(value) else scope.of_first)[value] = found
        return found

    # -- meetings -----------------------------------------------------------------------------------------------------

    def _meet(self, op: Barrier | Collective, scope: Scope) -> None:
        fission = self.fission
        if isinstance(op, Barrier) or op.kind == "barrier_object.wait":
            self.flush(scope)
            return
        place = exchanged_input(op)
        keeps: list[Kept] = []
        if place is not None:
            array = fission.given[op] = fission.new_array(op.inputs[place])
            keeps.append((array, op.inputs[place]))
        others = [each for position, each in enumerate(op.inputs) if position != place]
        pending = set(scope.pending)
        keeps += [
            (fission.keep(leaf), leaf) for each in others for leaf in self._leaves(each) if origin_of(leaf) in pending
        ]
        fission.came[op] = fission.new_flags() if scope.guards else None
        self.flush(scope, keeps, (op,), fission.came[op])
        if all(map(self.common.has, op.results)):
            scope.known.update(zip(op.results, write_exchange(op, self.group(op, self.start)), strict=True))
        else:
            scope.pending.append(op)

    def group(self, op: Collective, first: Value | None, mask: Value | None = None) -> Group:
        """The threads that exchange values at an op, of which the first has that number."""
        fission = self.fission
        count: Value = Constant.of(fission.threads if self.scope == "block" else WARP, "i64")
        if first is None:
            first = Constant.of(0, "i32")
        elif fission.threads % WARP:
            count = Minimum(count, Subtract(Constant.of(fission.threads, "i64"), Convert(first, "i64")))
        return Group(first, count, fission.given.get(op), fission.came[op], mask)

    # -- branches and loops around pieces -----------------------------------------------------------------------------

    def _enclose(self, op: Op, scope: Scope) -> None:
        match op:
            case If() if self.common.has(op.condition):
                self._enclose_choice(op, scope)
            case If():
                self._part(op, scope)
            case For() | DoWhile():
                self._enclose_loop(op, scope)
            case _:
                raise CannotSplit(f"threads meet in {type(op).__name__}", op.source)

    def _results(self, op: If | For | DoWhile) -> tuple[list[int], list[int]]:
        """The places of results that are common, and of those that each thread keeps."""
        common = [place for place, result in enumerate(op.results) if self.common.has(result)]
        kept = [place for place, result in enumerate(op.results) if result.uses and place not in common]
        return common, kept

    def _enclose_choice(self, op: If, scope: Scope) -> None:
        common, kept = self._results(op)
        self.flush(scope)
        blocks: list[Block] = []
        for region in op.regions:
            end = region.block.terminator
            block = Block()
            inner = scope.within()
            with Builder(block, source=op.source):
                keeps = [(self.fission.keep(op.results[place]), end.operands[place]) for place in kept]
                self.write(region.block, inner, keeps, (end,))
                Yield(tuple(self.known(end.operands[place], inner) for place in common))
            blocks.append(block)
        then, otherwise = map(Region, blocks)
        found = If(self.known(op.condition, scope), then, otherwise).results
        scope.known.update(zip((op.results[place] for place in common), found, strict=True))

    def _part(self, op: If, scope: Scope) -> None:
        """A branch that only some of the threads take, and meet there, while others are done."""
        if not self._ends_after(op):
            raise CannotSplit(f"the threads of a {self.scope} meet where some of them do not come", op.source)
        self.flush(scope)
        for region, is_then in zip(op.regions, (True, False), strict=True):
            end = region.block.terminator
            inner = scope.within((op.condition, is_then))
            keeps = [
                (self.fission.keep(result), value)
                for result, value in zip(op.results, end.operands, strict=True)
                if result.uses
            ]
            self.write(region.block, inner, keeps, (end,))

    def _ends_after(self, op: If) -> bool:
        """Whether nobody meets anyone after a branch, so that threads which do not take it are as good as done."""
        meetings = self.fission.meetings
        if all(any(meetings[inner] for inner in region.block) for region in op.regions):
            return False
        here: Op | None = op
        while here is not None and here is not self.fission.launch:
            following = here.next
            while following is not None:
                if meetings[following]:
                    return False
                following = following.next
            here = here.parent_op
            if isinstance(here, For | DoWhile):
                return False
        return True

    def _enclose_loop(self, op: For | DoWhile, scope: Scope) -> None:
        fission, common = self.fission, self.common
        end = op.body.block.terminator
        decides = op.trip_count if isinstance(op, For) else end.operands[0]
        if not common.has(decides):
            raise CannotSplit(
                f"the threads of a {self.scope} meet in a loop that some of them leave before others", op.source
            )
        arguments = op.body.block.arguments[isinstance(op, For) :]
        values = end.operands[isinstance(op, DoWhile) :]
        carried = [place for place, argument in enumerate(arguments) if common.has(argument)]
        kept = [place for place in range(len(arguments)) if place not in carried]
        for place in kept:
            fission.kept[op.results[place]] = fission.keep(arguments[place])
        arrays = {place: fission.kept[arguments[place]] for place in kept}
        self.flush(scope, [(arrays[place], op.initial[place]) for place in kept], (op,))
        block = Block(
            [each.type for each in op.body.block.arguments[:1] if isinstance(op, For)]
            + [arguments[place].type for place in carried]
        )
        inner = scope.within(is_repeated=True)
        if isinstance(op, For):
            inner.known[op.body.block.arguments[0]] = block.arguments[0]
        inner.known.update(
            zip((arguments[place] for place in carried), block.arguments[isinstance(op, For) :], strict=True)
        )
        with Builder(block, source=op.source):
            self.write(op.body.block, inner, [(arrays[place], values[place]) for place in kept], (end,))
            following = tuple(self.known(values[place], inner) for place in carried)
            if isinstance(op, For):
                Yield(following)
            else:
                Condition(self.known(decides, inner), following)
        initial = tuple(self.known(op.initial[place], scope) for place in carried)
        if isinstance(op, For):
            loop: For | DoWhile = For(self.known(decides, scope), initial, Region(block))
        else:
            loop = DoWhile(initial, Region(block))
        loop.source = op.source
        scope.known.update(zip((op.results[place] for place in carried), loop.results, strict=True))

    # -- pieces -------------------------------------------------------------------------------------------------------

    def flush(
        self, scope: Scope, keeps: Sequence[Kept] = (), directly: Iterable[Op] = (), came: Allocate | None = None
    ) -> None:
        """Write the ops so far as a piece, and what of them is used later; `directly` are ops for which `keeps` are."""
        ops, scope.pending = scope.pending, []
        if self.scope == "block" and any(self.fission.meetings[op] for op in ops):
            self._write_warps(ops, scope, keeps, directly, came)
            return
        left = [keep for keep in keeps if self._is_to_be_kept(keep, ops, scope)]
        keeps = list(dict.fromkeys((*left, *self._escaping(ops, directly))))
        if not keeps and came is None and all(op.is_pure for op in ops):
            return
        fission = self.fission
        piece = Block([argument.type for argument in fission.body.arguments[3:]], LAUNCH_DIMENSIONS[3:])
        for place, argument in enumerate(piece.arguments, start=3):
            fission.ids[place].append(argument)
        source = next((op.source for op in ops if op.source is not None), fission.launch.source)
        with Builder(piece, source=source):
            Piece(fission, self.group, scope, piece).write(ops, keeps, came)
            Yield(())
        extents = tuple(Constant.of(size, "i32") for size in fission.block)
        kind = "block" if self.scope == "block" else "lane"
        Parallel(extents, LAUNCH_DIMENSIONS[3:], Region(piece), kind=kind).source = source

    def _write_warps(
        self, ops: Sequence[Op], scope: Scope, keeps: Sequence[Kept], directly: Iterable[Op], came: Allocate | None
    ) -> None:
        """A piece in which the threads of each warp meet."""
        fission = self.fission
        warps = Block([tensor_type((), "i32")], WARPS)
        fission.warps.append(warps.arguments[0])
        with Builder(warps, source=ops[0].source):
            start = Multiply(warps.arguments[0], Constant.of(WARP, "i32"))
            level = Level(fission, "warp", fission.common_to_warp, fission.ids_of(start), start)
            keeps = [*keeps, *self._escaping(ops, directly)]
            inner = Scope(dict(scope.known), scope.guards, scope.is_repeated)  # its first threads are others
            level.write(ops, inner, keeps, directly, came)
            Yield(())
        count = Constant.of(-(-fission.threads // WARP), "i32")
        Parallel((count,), WARPS, Region(warps), kind="block").source = ops[0].source

    def _escaping(self, ops: Sequence[Op], directly: Iterable[Op]) -> list[Kept]:
        """What of these ops has to be kept for others."""
        inside, direct = set(ops), set(directly)
        found: dict[Value, None] = {}
        for op in ops:
            for result in op.results:
                if any(not is_within(user, op, inside) for user in result.uses if user not in direct):
                    found.update(dict.fromkeys(self._leaves(result)))
        # What others keep of these ops, for a meeting or for the piece around, is written here, where it is found.
        kept = self.fission.kept
        own = [result for op in ops for result in op.results if result in kept]
        return [(self.fission.keep(leaf), leaf) for leaf in dict.fromkeys((*own, *(x for x in found if x not in kept)))]

    def _is_to_be_kept(self, keep: Kept, ops: Sequence[Op], scope: Scope) -> bool:
        """Whether it is not kept yet, by the piece in which it was found."""
        array, value = keep
        return self.fission.kept.get(value) is not array or value in scope.known or origin_of(value) in ops

    def _leaves(self, value: Value) -> list[Value]:
        """What has to be kept for the value to be at hand later: itself, or what it is made of."""
        if self._effort(value) <= MOST_RECOMPUTED:
            return []
        if isinstance(value.type, BufferType) and isinstance(value, Op) and value.is_pure:
            return [leaf for operand in value.operands for leaf in self._leaves(operand)]
        return [value]

    def _effort(self, value: Value) -> int:
        """How many ops it takes to compute the value anew from ids and common values; more than that are too many."""
        fission = self.fission
        if value not in fission.inside or value in fission.kept or fission.common_to_block.has(value):
            return 0
        if isinstance(value, Argument):
            return 0 if value.block is fission.body else MOST_RECOMPUTED + 1
        if isinstance(value, Allocate):
            return 0
        if not isinstance(value, Op) or not value.is_pure or value.regions:
            return MOST_RECOMPUTED + 1
        if not isinstance(value.type, BufferType) and value.tensor.is_float:
            return MOST_RECOMPUTED + 1
        effort = 4 if isinstance(value, Divide | Remainder) else 1
        for operand in value.operands:
            effort += self._effort(operand)
            if effort > MOST_RECOMPUTED:
                break
        return effort
