"""Checkpoints as files: a folder for each step, in it one `.npz` file from each process.

`run1/step-00000300/part-0-of-4-9f31c2d7.npz` holds the arrays (or parts of them) that process 0 of 4 has, as NumPy
reads them, and `manifest.json`, which says what each is. Zip archives have a checksum for each member. A part gets its
name once all of it is on the disk, so a checkpoint is whole when all parts of one run (`9f31c2d7`) are there: nobody
has to say so, and a process that is killed leaves a checkpoint that is not whole. Nothing of it is ever executed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Index: TypeAlias = tuple[tuple[int, int], ...]
"""Where a part of an array begins and ends, along each axis."""

FORMAT = 1
MANIFEST = "manifest.json"
_FOLDER = re.compile(r"step-(\d{8,18})")
_PART = re.compile(r"part-(\d+)-of-(\d+)-([0-9a-f]{8})\.npz")
_UNFINISHED = ".unfinished"


class TornError(Exception):
    """A part is not what was written; the text says what is wrong with it."""


@dataclass(frozen=True, order=True)
class Saved:
    """A whole checkpoint: how many steps were done, when it was written, by which run and how many processes."""

    step: int
    seconds: float
    run: str
    count: int


def folder_of(path: Path, step: int) -> Path:
    """Where the parts of a step's checkpoint are."""
    return path / f"step-{step:08}"


def list_whole(path: Path) -> list[Saved]:
    """The checkpoints of which all parts are there, the oldest step first. Files are not read.

    Raises OSError where the folder can't be listed.
    """
    found: list[Saved] = []
    for folder in path.iterdir():
        matched = _FOLDER.fullmatch(folder.name)
        if matched is None:
            continue
        parts: dict[tuple[str, int], dict[int, float]] = {}
        with suppress(OSError):  # another process may be removing it
            for file in folder.iterdir():
                if part := _PART.fullmatch(file.name):
                    of = parts.setdefault((part[3], int(part[2])), {})
                    of[int(part[1])] = file.stat().st_mtime
        found += [
            Saved(int(matched[1]), max(times.values()), run, count)
            for (run, count), times in parts.items()
            if set(times) == set(range(count))
        ]
    return sorted(found)


def remove_older(path: Path, step: int, keep: int) -> None:
    """Keep the last whole checkpoints up to this step, so many; what is older goes, and what others left of these.

    One process does so for all. What can't be removed stays.
    """
    whole = [saved for saved in list_whole(path) if saved.step <= step]
    steps = sorted({saved.step for saved in whole})
    for number in _list_steps(path):
        if steps and number < steps[-1] and number not in steps[-keep:]:
            shutil.rmtree(folder_of(path, number), ignore_errors=True)
    newest = {saved.step: saved for saved in whole}
    for number in steps[-keep:]:
        for file in list(folder_of(path, number).iterdir()):
            if newest[number].run not in file.name:
                file.unlink(missing_ok=True)


def drop_unfinished(path: Path, before: int, run: str, number: int) -> list[int]:
    """Remove this process's parts of earlier checkpoints that others have not written theirs of; the steps of these.

    Else they would fill a disk that is full the more.
    """
    whole = {saved.step for saved in list_whole(path)}
    dropped: list[int] = []
    for step in _list_steps(path):
        if step < before and step not in whole:
            for part in folder_of(path, step).glob(f"part-{number}-of-*-{run}.npz"):
                part.unlink(missing_ok=True)
                dropped.append(step)
            _remove_if_empty(folder_of(path, step))
    return dropped


def _list_steps(path: Path) -> list[int]:
    """The steps that there are folders of."""
    return sorted(int(matched[1]) for folder in path.iterdir() if (matched := _FOLDER.fullmatch(folder.name)))


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def write_part(
    path: Path, step: int, run: str, number: int, count: int, leaves: Iterable[Any], members: Mapping[str, Array]
) -> None:
    """Write one process's part, and let it have its name once the disk has it.

    Raises OSError where there is no room, or the folder can't be written; nothing of the part is left then.
    """
    folder = folder_of(path, step)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"part-{number}-of-{count}-{run}.npz"
    unfinished = target.with_name(target.name + _UNFINISHED)
    said = {"format": FORMAT, "step": step, "run": run, "part": number, "parts": count, "leaves": list(leaves)}
    try:
        with unfinished.open("wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr(MANIFEST, json.dumps(said))
                for name, array in members.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        _remove_if_empty(folder)
        raise
    for changed in (folder, path):
        _settle(changed)


def _settle(folder: Path) -> None:
    """Have the disk know the folder's names; not all file systems can be asked."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class Part:
    """One process's part of a checkpoint, open for reading. All methods raise TornError for what was not so written."""

    def __init__(self, path: Path, saved: Saved, number: int) -> None:
        self.file = folder_of(path, saved.step) / f"part-{number}-of-{saved.count}-{saved.run}.npz"
        self._archive: zipfile.ZipFile | None = None
        try:
            self._archive = zipfile.ZipFile(self.file)
            with self._open(MANIFEST) as file:
                said = json.loads(file.read())
            expected = (FORMAT, saved.step, saved.run, number, saved.count)
            if tuple(said[key] for key in ("format", "step", "run", "part", "parts")) != expected:
                raise ValueError("it says of itself that it is another one")
            self.leaves: dict[str, dict[str, Any]] = {leaf["path"]: leaf for leaf in said["leaves"]}
        except Exception as error:  # whatever a broken archive makes of the readers
            self.close()
            raise self._torn(error) from error

    def close(self) -> None:
        """Nothing more is read."""
        if self._archive is not None:
            self._archive.close()

    def read(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """One array, which has to be of this shape and dtype."""
        try:
            array = np.empty(shape, dtype)
            with self._open(f"{name}.npy") as file:
                version = np.lib.format.read_magic(file)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                if read(file) != (shape, False, dtype):
                    raise ValueError("it holds another array")
                _fill(array, file)
                if file.read(1):  # here the checksum is compared
                    raise ValueError("it holds more than its array")
        except Exception as error:
            raise self._torn(error) from error
        return array

    def checksum(self, name: str) -> tuple[int, int]:
        """What tells an array from others."""
        try:
            member = self._members.getinfo(f"{name}.npy")
        except Exception as error:
            raise self._torn(error) from error
        return member.CRC, member.file_size

    @property
    def _members(self) -> zipfile.ZipFile:
        assert self._archive is not None
        return self._archive

    def _open(self, name: str) -> IO[bytes]:
        member = self._members.getinfo(name)
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError("it is compressed")
        return self._members.open(member)

    def _torn(self, error: Exception) -> TornError:
        return TornError(f"'{self.file}': {error or type(error).__name__}")


def _fill(array: Array, file: Any) -> None:
    """Read the array's elements from the file."""
    elements: Any = array.reshape(-1).view(np.uint8)
    rest = memoryview(elements)
    while rest.nbytes:
        count = file.readinto(rest)
        if not count:
            raise ValueError("it ends too early")
        rest = rest[count:]
