"""Source positions from the debug metadata of LLVM IR: looked up when they are asked for."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from windlass.diagnostics import Position
from windlass.llvm.debug_info import is_in_header
from windlass.llvm.metadata import Metadata, MetadataNode


class DebugPositions:
    """Finds the positions that the numbers after `!dbg` name. `given` are names of sources that are not on disk.

    >>> text = '''
    ... !1 = !DIFile(filename: "wave.cu", directory: "/home")
    ... !2 = distinct !DISubprogram(name: "inner", scope: !1, file: !1, line: 3)
    ... !3 = distinct !DISubprogram(name: "outer", scope: !1, file: !1, line: 8)
    ... !4 = !DILocation(line: 9, column: 5, scope: !3)
    ... !5 = !DILocation(line: 4, column: 2, scope: !2, inlinedAt: !4)
    ... '''
    >>> [str(place) for place in DebugPositions(text).chain(5)]
    ['/home/wave.cu:4:2', '/home/wave.cu:9:5']
    """

    def __init__(self, llvm_ir: str, given: Collection[str] = ()) -> None:
        self._metadata = Metadata(llvm_ir)
        self._given = given
        self._chains: dict[int | None, tuple[Position, ...]] = {None: ()}
        self._positions: dict[int | None, Position | None] = {}
        self._files: dict[int, str] = {}

    def position(self, number: int | None) -> Position | None:
        """The innermost place that is not in a library's header, or else the outermost place."""
        if number not in self._positions:
            self._positions[number] = self.find(number)[0]
        return self._positions[number]

    def find(self, number: int | None) -> tuple[Position | None, tuple[Position, ...]]:
        """The position, and the calls around it that the optimizer has inlined."""
        chain = self.chain(number)
        users = [place for place in chain if not is_in_header(place.file)]
        if not users:
            return (chain[-1], ()) if chain else (None, ())
        return users[0], tuple(users[1:])

    def chain(self, number: int | None) -> tuple[Position, ...]:
        """Where an operation or function stands, innermost first: then the calls that led to it."""
        found: list[MetadataNode] = []
        around: tuple[Position, ...] = ()
        node = self._metadata.node(number)
        while node is not None and node.kind in ("DILocation", "DISubprogram") and node not in found:
            known = self._chains.get(node.number)
            if known is not None:
                around = known
                break
            found.append(node)
            node = self._metadata.follow(node, "inlinedAt")
        for each in reversed(found):
            place = self._place(each)
            around = (place, *around) if place is not None else around
            self._chains[each.number] = around
        return around

    def _place(self, node: MetadataNode) -> Position | None:
        """Where one location is, or its function where it was merged from several lines."""
        line, file = node.integer("line"), self._file(node)
        if not file:
            return None
        if line > 0:
            return Position(file, line, node.integer("column"))
        function = self._function(node)
        return self._place(function) if function is not None and function is not node else None

    def _function(self, node: MetadataNode) -> MetadataNode | None:
        """The function that a location or lexical scope is in."""
        around: MetadataNode | None = node
        seen: set[int] = set()
        while around is not None and around.kind != "DISubprogram" and around.number not in seen:
            seen.add(around.number)
            around = self._metadata.follow(around, "scope")
        return around if around is not None and around.kind == "DISubprogram" else None

    def _file(self, node: MetadataNode) -> str:
        """The file of a location, scope or function, or ""."""
        scope = node if node.kind != "DILocation" else self._metadata.follow(node, "scope")
        passed: list[int] = []
        found = ""
        while scope is not None and scope.number not in passed:
            known = self._files.get(scope.number)
            if known is not None:
                found = known
                break
            passed.append(scope.number)
            if scope.kind == "DIFile":
                found = self._name(scope)
                break
            scope = self._metadata.follow(scope, "file") or self._metadata.follow(scope, "scope")
        self._files.update(dict.fromkeys(passed, found))
        return found

    def _name(self, file: MetadataNode) -> str:
        name, directory = file.text("filename"), file.text("directory")
        if name in self._given or not directory or Path(name).is_absolute():
            return name
        return str(Path(directory) / name)
