"""Reading a checkpoint: the leaves of a state, from the parts of one process or several.

How many processes wrote it, and how arrays were divided, doesn't matter: each process reads what its own devices are
to have.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.processes.leaves import Said, difference, dtype_of, give, stored_dtype
from windlass.processes.parts import Array, Index, Part, Saved, TornError


class Reader:
    """A whole checkpoint, open for reading."""

    def __init__(self, path: Path, saved: Saved) -> None:
        self.saved = saved
        self._parts: list[Part] = []
        try:
            for number in range(saved.count):
                self._parts.append(Part(path, saved, number))
        except TornError:
            self.close()
            raise
        self._own = self._parts[jax.process_index() if saved.count == jax.process_count() else 0]

    def close(self) -> None:
        """Nothing more is read."""
        for part in self._parts:
            part.close()

    @property
    def paths(self) -> Sequence[str]:
        """The leaves that were saved."""
        return list(self._own.leaves)

    def say(self, path: str) -> Said:
        """What is said of the leaf."""
        return self._own.leaves[path]

    def restore(self, path: str, given: Any, described: Said, elsewhere: jax.sharding.Sharding | None) -> Any:
        """The leaf as it was, where the given one is.

        Raises LaunchError (WL0952) where it doesn't fit, TornError where it can't be read.
        """
        said = self.say(path)
        if (why := difference(described, said)) is not None:
            raise LaunchError(
                Diagnostic(
                    "WL0952",
                    f"state{path} is not as it was saved: {why}",
                    notes=(f"the checkpoint is of step {self.saved.step}",),
                    help="restore into a state as the program has it; for another program choose another folder",
                )
            )
        if not said.get("is_shared") and self.saved.count != jax.process_count():
            self._require_one_value(path)
        shards = self._list_shards(path)
        kept: dict[str, Array] = {}

        def read(index: Index) -> Array:
            return self._read(said, shards, index, kept)

        try:
            return give(said, read, given, elsewhere)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise TornError(f"state{path}: {error}") from error

    def _require_one_value(self, path: str) -> None:
        """What each process had for itself can be given to another number of them only if all had the same.

        Raises LaunchError (WL0952).
        """
        first, *others = (self._fingerprint(part, path) for part in self._parts)
        if any(other != first for other in others):
            raise LaunchError(
                Diagnostic(
                    "WL0952",
                    f"state{path} was another in each of {self.saved.count} processes, and now there "
                    f"are {jax.process_count()}",
                    help="keep what differs between processes in an array that is divided over the mesh",
                )
            )

    def _fingerprint(self, part: Part, path: str) -> Any:
        said = part.leaves.get(path, {})
        return (
            said.get("value"),
            said.get("shape"),
            [part.checksum(shard["member"]) for shard in said.get("shards", ())],
        )

    def _list_shards(self, path: str) -> list[tuple[Part, str, Index]]:
        """Where the parts of the leaf's array are."""
        parts = self._parts if self.say(path).get("is_shared") else [self._own]
        return [
            (part, shard["member"], tuple((start, stop) for start, stop in shard["index"]))
            for part in parts
            for shard in part.leaves.get(path, {}).get("shards", ())
        ]

    def _read(self, said: Said, shards: list[tuple[Part, str, Index]], index: Index, kept: dict[str, Array]) -> Array:
        """The elements of an array from here to there; shards that were read are kept for the next device."""
        dtype = dtype_of(said["dtype"])
        result = np.empty([stop - start for start, stop in index], dtype)
        found = 0
        for part, member, place in shards:
            common = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(index, place, strict=True))
            if any(start >= stop for start, stop in common):
                continue
            shape = tuple(stop - start for start, stop in place)
            name = f"{part.file}/{member}"
            if name not in kept:
                kept[name] = part.read(member, shape, stored_dtype(dtype)).view(dtype)
            part_of_result = result[*_slices(common, index), ...]
            part_of_result[...] = kept[name][_slices(common, place)]
            found += part_of_result.size
        if found != result.size:
            raise TornError(f"of an array only {found} of {result.size} elements are there")
        return result


def _slices(common: Index, within: Index) -> tuple[slice, ...]:
    return tuple(slice(a - start, b - start) for (a, b), (start, _) in zip(common, within, strict=True))
