"""What clang made of translation units, kept per user: a source that has not changed is not compiled again.

What clang gives depends on its flags and on the files that it reads. The first are in a kept file's name, as a digest,
together with the text of the unit, clang's version, our headers and the modules here that edit what it gives. The
second stand in the kept file, each with its digest, beside the output. Before that is used they are looked at again,
and so is whether the places where clang would find an included file first are as empty as they were: a header that has
come between counts as an edit. Sources whose includes are spelled by macros, or that ask for the time, are compiled
each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from windlass.diagnostics.cache import keep, read_kept
from windlass.diagnostics.files import read_regular_file
from windlass.frontends.cuda.child import Outcome
from windlass.frontends.cuda.clang import INCLUDE_FOLDER, ZIG_FOLDER
from windlass.frontends.cuda.precompiled import headers_digest
from windlass.frontends.cuda.source import Source

CLOCK_SECONDS = 2.0
"""A file that was written less than this before clang began may have been written while it read: clocks of file systems
are coarse."""
_DIRECTIVE = rb"^[ \t]*#[ \t]*(?:include(?:_next)?|import|embed)[ \t]*"
_QUESTION = rb"__has_(?:include(?:_next)?|embed)\s*\(\s*"
_NAMED = re.compile(
    rb"(?:" + _DIRECTIVE + rb"|" + _QUESTION + rb")([<\"])([^>\"\n]+)[>\"]",
    re.MULTILINE,
)
_UNPREDICTABLE = re.compile(
    rb"__(?:DATE|TIME|TIMESTAMP)__|" + _DIRECTIVE + rb"[^ \t<\"]|" + _QUESTION + rb"[^\s<\"]"
    # Directives in pieces, or spelled otherwise, which the expression before does not see.
    rb"|^[ \t]*#[ \t]*(?:\\|/\*)|\\\r?\n[ \t]*#|\*/[ \t]*#|^[ \t]*(?:%:|\?\?=)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Compilation:
    """What clang's output for a unit depends on, but for the files that it reads.

    `purpose` says which output is meant, `folders` are those for `#include`.
    """

    purpose: str
    unit: Source
    text: bytes
    """The unit's text as clang gets it."""
    flags: Sequence[str]
    folders: Sequence[str]
    define: Mapping[str, object]

    def output(self, compile_anew: Callable[[], Outcome]) -> Outcome:
        """What the cache has, or else what `compile_anew` gives, which has to say what it `read`."""
        name = f"unit-{self._digest()}.kept"
        known = read_kept(name)
        if known is not None:
            head, _, output = known.partition(b"\n")
            with suppress(ValueError, TypeError, AttributeError, OSError, zlib.error):
                if _Files(**json.loads(head)).are_unchanged():
                    return Outcome(zlib.decompress(output).decode(), "", 0)
        begin = time.time()
        outcome = compile_anew()
        if outcome.status == 0 and outcome.read is not None:
            with suppress(OSError, ValueError):
                files = self._files(outcome.read, begin)
                if files is not None:
                    output = zlib.compress(outcome.output.encode(), 1)
                    keep(name, json.dumps(asdict(files)).encode() + b"\n" + output)
        return outcome

    def _digest(self) -> str:
        parts = [
            self.purpose,
            headers_digest(),
            own_digest(),
            [*self.flags],
            [*self.folders],
            [[str(name), str(value), type(value).__name__] for name, value in self.define.items()],
            self.unit.name,
        ]
        digest = hashlib.sha256(json.dumps(parts).encode() + b"\0" + self.text)
        return digest.hexdigest()

    def _files(self, read: Iterable[str], begin: float) -> _Files | None:
        """What clang read, as it is now; None where it can't be known what it would read another time."""
        if _UNPREDICTABLE.search(self.text) or (
            self.unit.is_file and read_regular_file(self.unit.name) != self.unit.text
        ):
            return None
        texts = {self.unit.name: self.text}
        digests: dict[str, str] = {}
        for path in read:
            if path == self.unit.name:
                continue
            texts[path] = text = read_regular_file(path)
            if _is_supplied(path):
                continue
            status = Path(path).stat()
            is_recent = max(status.st_mtime, status.st_ctime) > begin - CLOCK_SECONDS
            if is_recent or _UNPREDICTABLE.search(text):
                return None
            digests[path] = hashlib.sha256(text).hexdigest()
        places: dict[str, bool] = {}
        for path, text in texts.items():
            if self.folders or not _is_supplied(path):
                for place in self._places(path, text):
                    places[place] = _is_there(place)
        found = set(map(os.path.normpath, places))
        if not all(os.path.normpath(path) in found or path.startswith(f"{INCLUDE_FOLDER}/") for path in digests):
            return None  # it was included in a way that is not understood here
        return _Files(digests, places)

    def _places(self, file: str, text: bytes) -> Iterable[str]:
        """Where clang looks for what a file includes, or asks for, among the user's files."""
        for match in _NAMED.finditer(text):
            spelled = os.fsdecode(match[2])
            if match[1] == b'"' and not _is_supplied(file):
                yield str(Path(file).parent / spelled)
            for folder in self.folders:
                yield str(Path(folder, spelled))


@dataclass(frozen=True)
class _Files:
    """Files by name with their digests, and whether there is something at other places."""

    digests: Mapping[str, str]
    places: Mapping[str, bool]

    def are_unchanged(self) -> bool:
        return all(_is_there(place) == was_there for place, was_there in self.places.items()) and all(
            hashlib.sha256(read_regular_file(path)).hexdigest() == digest for path, digest in self.digests.items()
        )


def _is_there(path: str) -> bool:
    try:
        return not stat.S_ISDIR(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False


def _is_supplied(path: str) -> bool:
    """Whether a file is one of clang's own headers, or of ours that every digest holds."""
    return path.startswith(f"{ZIG_FOLDER}/") or (path.startswith(f"{INCLUDE_FOLDER}/") and path.endswith(".h"))


@cache
def own_digest() -> str:
    """The text of the modules that edit what clang gets and gives."""
    digest = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(__file__).parents[2] / "llvm"):
        for module in sorted(folder.glob("*.py")):
            digest.update(module.name.encode() + b"\0" + module.read_bytes())
    return digest.hexdigest()


def read_dependencies(text: str) -> tuple[str, ...]:
    """The files that a rule for `make` names, as clang writes it.

    >>> read_dependencies("unit: main.cu \\\\\\n  a\\\\ b.h $$x.h")
    ('main.cu', 'a b.h', '$x.h')
    """
    files = re.findall(r"(?:\\[ #]|\$\$|[^\s\\]|\\(?!\n))+", text.partition(":")[2])
    return tuple(re.sub(r"\\([ #])|\$(\$)", lambda match: match[1] or match[2], each) for each in files)
