"""From clang's messages to diagnostics that show the user's own line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from windlass.diagnostics import Diagnostic, Position
from windlass.diagnostics.files import MOST_BYTES_SHOWN, read_regular_file
from windlass.frontends.cuda.clang import INCLUDE_FOLDER, ZIG_FOLDER
from windlass.frontends.cuda.hip import spelled_as_hip
from windlass.frontends.cuda.source import INSTANCES_FILE, Source

MOST_DIAGNOSTICS = 20
_MOST_NOTES = 3
_LINE = re.compile(
    r"^(?:(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): )?(?P<kind>fatal error|error|note|warning): (?P<text>.*)$"
)
_LAUNCH_BY_KERNEL = re.compile(r"kernel launch from __device__ or __global__ function requires relocatable device code")
_UNKNOWN_OF_HIP = re.compile(r"(?:undeclared identifier|unknown type name) '((?:hip|HIP)\w+)'")
_MISSING_INCLUDE = re.compile(r"^'([^']+)' file not found")
_LIBRARIES = {
    "thrust/": "Thrust",
    "cub/": "CUB",
    "cublas": "cuBLAS",
    "cusparse": "cuSPARSE",
    "cusolver": "cuSOLVER",
    "cufft": "cuFFT",
    "curand": "cuRAND",
    "cudnn": "cuDNN",
    "nccl": "NCCL",
    "hip/": "HIP",
    "hipblas": "hipBLAS",
    "hipcub/": "hipCUB",
    "hipfft": "hipFFT",
    "hiprand": "hipRAND",
    "hipsolver": "hipSOLVER",
    "hipsparse": "hipSPARSE",
    "rocblas": "rocBLAS",
    "rocfft": "rocFFT",
    "rocprim/": "rocPRIM",
    "rocrand": "rocRAND",
    "rocsolver": "rocSOLVER",
    "rocsparse": "rocSPARSE",
    "rocthrust/": "rocThrust",
    "rocwmma/": "rocWMMA",
    "miopen/": "MIOpen",
    "rccl": "RCCL",
    "nvml": "NVML",
    "npp": "NPP",
    "nvjpeg": "nvJPEG",
    "nvrtc": "NVRTC",
    "cutensor": "cuTENSOR",
    "optix": "OptiX",
    "cutlass/": "CUTLASS",
    "cute/": "CUTLASS",
    "cuda/": "libcu++",
    "nv/": "libcu++",
    "mpi.h": "MPI",
}


@dataclass
class _Message:
    kind: str
    text: str
    position: Position | None
    notes: list[_Message] = field(default_factory=list["_Message"])


def _parse(messages: str) -> list[_Message]:
    found: list[_Message] = []
    for line in messages.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        position = None
        if match["file"] is not None:
            position = Position(match["file"], int(match["line"]), int(match["column"]))
        message = _Message(match["kind"], match["text"], position)
        if message.kind == "note":
            if found:
                found[-1].notes.append(message)
        elif message.kind != "warning":
            found.append(message)
    return found


def diagnostics_of(messages: str, source: Source, instances: tuple[str, ...] = ()) -> list[Diagnostic]:
    """One diagnostic for each of clang's errors, at most 20; empty where clang reported none.

    `instances` are the template instances that were asked for, to explain errors in making them.
    """
    found: list[Diagnostic] = []
    places: set[Position] = set()
    for message in _parse(messages):
        if message.text.startswith("too many errors emitted"):
            break
        diagnostic = _diagnostic(message, source, instances)
        # A second error at the same place follows from the first.
        if diagnostic.position in places or diagnostic in found:
            continue
        found.append(diagnostic)
        if diagnostic.position is not None:
            places.add(diagnostic.position)
    return found[:MOST_DIAGNOSTICS]


def _diagnostic(message: _Message, source: Source, instances: tuple[str, ...]) -> Diagnostic:
    position, headline = message.position, message.text
    if position is not None and position.file == INSTANCES_FILE:
        return _failed_instance(message, instances)
    if missing := _MISSING_INCLUDE.match(headline):
        return _missing_include(missing[1], message, source)
    advice = None
    if _LAUNCH_BY_KERNEL.match(headline):
        headline = "a kernel launches a kernel, which Windlass does not do (dynamic parallelism)"
        advice = "launch it from the host, or call what it does as a __device__ function"
    notes = [note for note in message.notes if _is_told(note)]
    guess = re.search(r"; did you mean '.*'\?$", headline)
    if guess and any(note.position and _is_ours(note.position.file) for note in message.notes):
        # clang took a name of a header of ours for what was meant.
        headline = headline[: guess.start()]
        notes = [note for note in notes if note.position is None or not _is_ours(note.position.file)]
    if position is not None and _is_ours(position.file):
        # An error inside a header of ours is shown where the user's code led to it.
        users = next((note for note in message.notes if note.position and not _is_ours(note.position.file)), None)
        if users is not None and users.position is not None and users.position.file != INSTANCES_FILE:
            position = users.position
            notes = [note for note in notes if note is not users]
    if unknown := _UNKNOWN_OF_HIP.search(headline):
        advice = f"Windlass has HIP's names for what it has of CUDA; {unknown[1]} is none of them"
    text = _line_text(position, source) if position is not None else None
    return Diagnostic(
        code="WL0101",
        headline=spelled_as_hip(headline, text or ""),
        position=_in_characters(position, source),
        length=_length(position, source),
        source=_source_line(position, source),
        notes=tuple(_note(note) for note in notes[:_MOST_NOTES]),
        help=advice,
    )


def _failed_instance(message: _Message, instances: tuple[str, ...]) -> Diagnostic:
    number = message.position.line - 1 if message.position is not None else 0
    instance = instances[number] if 0 <= number < len(instances) else "?"
    told = [note for note in message.notes if _is_told(note)]
    return Diagnostic(
        code="WL0107",
        headline=f"there is no kernel instance '{instance}': {message.text}",
        notes=tuple(_note(note) for note in told[:_MOST_NOTES]),
        help='name the template with arguments that it accepts, as in module["axpy<float>"]',
    )


def _missing_include(name: str, message: _Message, source: Source) -> Diagnostic:
    library = next((title for prefix, title in _LIBRARIES.items() if name.startswith(prefix)), None)
    neighbours = _headers(str(Path(name).parent)) if library is not None and "/" in name else []
    if neighbours:
        advice = f"{name} is no part of {library} that Windlass has. Of that folder there are {', '.join(neighbours)}"
    elif library is not None:
        provided = dict.fromkeys(title for prefix, title in _LIBRARIES.items() if _has_headers(prefix))
        advice = (
            f"{name} belongs to {library}, which Windlass does not have: leave the parts that use it out. "
            f"The libraries that it has (in part) are {', '.join(provided)}"
        )
    else:
        advice = 'pass the folder that holds it: include=["path/to/folder"]'
    return Diagnostic(
        code="WL0102",
        headline=f"can't find the included file '{name}'",
        position=_in_characters(message.position, source),
        length=len(name) + 2,
        source=_source_line(message.position, source),
        help=advice,
    )


def _headers(folder: str) -> list[str]:
    """The headers of our own in a folder, without those it keeps to itself."""
    place = INCLUDE_FOLDER / folder
    return sorted(path.name for path in place.glob("*") if path.is_file()) if place.is_dir() else []


def _has_headers(prefix: str) -> bool:
    return any(INCLUDE_FOLDER.glob(f"{prefix}*"))


def _is_ours(file: str) -> bool:
    return file.startswith((str(INCLUDE_FOLDER), str(ZIG_FOLDER))) or file in {"<built-in>", "<scratch space>"}


def _is_told(note: _Message) -> bool:
    return not note.text.startswith(("(skipping", "previous definition is here")) and "expanded from" not in note.text


def _note(note: _Message) -> str:
    if note.position is None or _is_ours(note.position.file) or note.position.file == INSTANCES_FILE:
        return note.text
    return f"{note.position}: {note.text}"


def _line_text(position: Position, source: Source) -> str | None:
    if position.file == source.name:
        return source.line(position.line)
    try:
        lines = read_regular_file(position.file, MOST_BYTES_SHOWN).split(b"\n")
    except (OSError, ValueError):
        return None
    return lines[position.line - 1].decode("utf-8", "replace") if position.line <= len(lines) else None


def _source_line(position: Position | None, source: Source) -> str | None:
    """The text of the line, for a source that is not on disk."""
    if position is None or source.is_file or position.file != source.name:
        return None
    return source.line(position.line)


def _in_characters(position: Position | None, source: Source) -> Position | None:
    """clang counts columns in bytes; users count characters."""
    if position is None or not position.column:
        return position
    text = _line_text(position, source)
    if text is None or text.isascii():
        return position
    before = text.encode("utf-8", "surrogatepass")[: position.column - 1]
    return Position(position.file, position.line, len(before.decode("utf-8", "ignore")) + 1)


def _length(position: Position | None, source: Source) -> int:
    """The length of the word at a position."""
    counted = _in_characters(position, source)
    text = _line_text(counted, source) if counted is not None else None
    if counted is None or text is None:
        return 1
    word = re.match(r"\w+", text[counted.column - 1 :])
    return len(word[0]) if word else 1
