"""`wl.checkpoint`: the state of a long computation on disk, every so many steps, and back again."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

import jax

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.diagnostics.warning import warn_caller
from windlass.processes import progress
from windlass.processes.agreement import do_all, tell_all
from windlass.processes.leaves import Said, describe, difference, stored_dtype, take
from windlass.processes.parts import Array, Saved, TornError, drop_unfinished, list_whole, remove_older, write_part
from windlass.processes.restoring import Reader

State = TypeVar("State")

ANOTHER = "another process has not written its part"


class Checkpoint:
    """A folder that holds the last states of a computation; `wl.checkpoint` makes it."""

    def __init__(self, path: Path, every: int, keep: int) -> None:
        self.path, self.every, self.keep = path, every, keep
        self.step = 0
        """How many steps are done."""
        self._last: int | None = None
        self._run: str | None = None
        self._like: dict[str, Said] | None = None
        self._writer: threading.Thread | None = None
        self._previous = 0
        self._failures: list[tuple[int, BaseException]] = []

    def restore(self, state: State) -> State:
        """The state as it was in the last whole checkpoint, or the given one where there is none.

        The given state says what is expected: its arrays' shapes and dtypes have to be those that were saved, and the
        restored ones are divided over the mesh as they are, whatever mesh or number of processes they were saved from.
        Every bit is as it was. A checkpoint that is torn or damaged is passed over with a warning (WL0953), and the
        one before it is taken. All processes of a program have to call this together.

        Raises LaunchError: WL0951 for leaves that no checkpoint keeps, WL0952 where what was saved doesn't fit.
        """
        leaves, structure = jax.tree.flatten_with_path(state)
        given = {jax.tree_util.keystr(place): leaf for place, leaf in leaves}
        self._like = {path: describe(path, leaf) for path, leaf in given.items()}
        for saved in self._agree_on_candidates():
            restored: list[Any] = []
            why = ""
            try:
                with closing(Reader(self.path, saved)) as reader:
                    _require_same(set(given), set(reader.paths), f"the checkpoint is of step {saved.step}")
                    elsewhere = _mesh_of(given.values())
                    restored = [reader.restore(path, leaf, self._like[path], elsewhere) for path, leaf in given.items()]
            except TornError as error:
                why = str(error)
            if do_all(not why):
                self.step = saved.step
                progress.note_restored(self.step)
                return jax.tree.unflatten(structure, restored)
            warn_caller(
                Diagnostic(
                    "WL0953",
                    f"the checkpoint of step {saved.step} can't be read, the one before it is taken",
                    notes=(why or "another process can't read its part",),
                    severity="warning",
                )
            )
        return state

    def steps(self, count: int) -> Iterator[int]:
        """Numbers the steps that are still to be done, of so many in all; `save` in the loop knows which one it is.

        After the last step, or a break, the last checkpoint is waited for.
        """
        self._require_restored()
        self._last = count
        is_written = True
        try:
            for number in range(self.step, count):
                progress.note_step(number, count)
                self.step = number + 1
                yield number
            progress.note_step(self.step, count)
            is_written = self._finish_writing()
        finally:
            self._last = None
            self.wait()
        if not do_all(is_written) and is_written:
            self._failures.append((self.step, OSError(None, ANOTHER)))
            self._tell_failures()
        if jax.process_index() == 0:
            self._remove_older(self.step)

    def save(self, state: Any, step: int | None = None) -> None:
        """Save the state, if it is time: after every so many steps, and after the last of `steps`.

        Outside of `steps` each call counts as one step; `step` says instead how many are done. The state is copied
        (the host waits until it is computed), and written while the computation goes on; the state may be changed at
        once. Only one write is under way: a second waits for the first. What can't be written, because the disk is
        full, say, gives a warning (WL0954); older checkpoints stay, and the next is tried at its time.

        Raises LaunchError: WL0951 for leaves that no checkpoint keeps, WL0952 if the state isn't like the one that was
        given to `restore`, WL0955 where there are checkpoints and `restore` was not called.
        """
        self._require_restored()
        if step is not None:
            self.step = step
        elif self._last is None:
            self.step += 1
        if self._last is None:
            progress.note_step(self.step, 0)
        if self.step % self.every and self.step != self._last:
            self._tell_failures()
            return
        leaves = [take(jax.tree_util.keystr(place), leaf) for place, leaf in jax.tree.leaves_with_path(state)]
        self._require_likeness([leaf.said for leaf in leaves])
        members: dict[str, Array] = {}
        said: list[Said] = []
        for number, leaf in enumerate(leaves):
            shards: list[Any] = []
            for index, array in leaf.shards:
                member = f"{number}{leaf.said['path']}" + (f"@{len(shards)}" if len(leaf.shards) > 1 else "")
                member = member.replace("/", "|")
                members[member] = array.view(stored_dtype(array.dtype))
                shards.append({"member": member, "index": index})
            said.append(leaf.said | {"shards": shards})
        self.wait()
        self._writer = threading.Thread(
            target=self._write,
            args=(self.step, self._agree_on_run(), said, members),
            name="windlass-checkpoint",
        )
        self._writer.start()

    def wait(self) -> None:
        """Wait until what was saved is on the disk."""
        self._finish_writing()
        self._tell_failures()

    def _finish_writing(self) -> bool:
        """Wait until nothing is written any more; whether all that was to be written since the last time was."""
        if self._writer is not None:
            self._writer.join()
            self._writer = None
        return not self._failures

    def _write(self, step: int, run: str, said: list[Said], members: dict[str, Array]) -> None:
        number = jax.process_index()
        try:
            dropped = drop_unfinished(self.path, self._previous, run, number)
            self._failures += [(each, OSError(None, ANOTHER)) for each in dropped]
            self._previous = step
            write_part(self.path, step, run, number, jax.process_count(), said, members)
            if number == 0:
                self._remove_older(step)
        except BaseException as error:
            self._failures.append((step, error))

    def _remove_older(self, step: int) -> None:
        with suppress(OSError):
            remove_older(self.path, step, self.keep)

    def _tell_failures(self) -> None:
        while self._failures:
            step, error = self._failures.pop(0)
            if not isinstance(error, OSError):
                raise error
            warn_caller(
                Diagnostic(
                    "WL0954",
                    f"the checkpoint of step {step} can't be written: {error.strerror or error}",
                    notes=(f"those before it stay in '{self.path}', and the computation goes on",),
                    help="make room; the next is tried at its time",
                    severity="warning",
                )
            )

    def _agree_on_candidates(self) -> Iterator[Saved]:
        """The whole checkpoints, the newest first, as process 0 sees them."""
        mine: list[Saved] = []
        if jax.process_index() == 0:
            mine = list_whole(self.path)[::-1] if self.path.is_dir() else []
        (count,) = tell_all(len(mine))
        for place in range(count):
            saved = mine[place] if mine else Saved(0, 0.0, "0", 0)
            step, run, parts = tell_all(saved.step, int(saved.run, 16), saved.count)
            yield Saved(step, saved.seconds, f"{run:08x}", parts)

    def _agree_on_run(self) -> str:
        """What tells the parts that are written from now on from those of others."""
        if self._run is None:
            self._run = f"{tell_all(secrets.randbits(32))[0]:08x}"
        return self._run

    def _require_restored(self) -> None:
        if self._like is None and self._run is None and self.step == 0 and self.path.is_dir() and list_whole(self.path):
            raise LaunchError(
                Diagnostic(
                    "WL0955",
                    f"'{self.path}' holds checkpoints up to step {list_whole(self.path)[-1].step}, "
                    "and nothing was restored",
                    help="state = saved.restore(state) before the loop; or choose another folder, or remove this one",
                )
            )

    def _require_likeness(self, leaves: list[Said]) -> None:
        """What couldn't be restored later is refused now."""
        if self._like is None:
            self._like = {said["path"]: said for said in leaves}
        _require_same(set(self._like), {said["path"] for said in leaves}, "it could not be restored later")
        for said in leaves:
            if (why := difference(self._like[said["path"]], said)) is not None:
                raise LaunchError(
                    Diagnostic(
                        "WL0952",
                        f"state{said['path']} is not like the one that restore was given: "
                        + why.replace(" was saved", " is saved").replace(" were saved", " are saved"),
                        help="give restore a state as the loop has it: it could not be restored",
                    )
                )


def _require_same(given: set[str], saved: set[str], note: str) -> None:
    """Both states have to have leaves at the same places.

    Raises LaunchError (WL0952).
    """
    if given == saved:
        return
    parts = [
        f"state{min(paths)} {what}"
        for what, paths in (("is only in the given one", given - saved), ("is only in the saved one", saved - given))
        if paths
    ]
    raise LaunchError(
        Diagnostic(
            "WL0952",
            f"the state given to restore and the saved one have other leaves: {', '.join(parts)}",
            notes=(note,),
            help="give restore a state with the same names and places as in the loop",
        )
    )


def _mesh_of(leaves: Any) -> jax.sharding.Sharding | None:
    """All of the mesh that arrays of the state are divided over: where numbers go that became arrays."""
    for leaf in leaves:
        if isinstance(leaf, jax.Array) and isinstance(leaf.sharding, jax.sharding.NamedSharding):
            return jax.sharding.NamedSharding(leaf.sharding.mesh, jax.sharding.PartitionSpec())
    return None


def checkpoint(path: str | os.PathLike[str], *, every: int = 1, keep: int = 3) -> Checkpoint:
    """A folder that keeps the state of a long computation: after every so many steps, the last few times.

    The state is a pytree of arrays (JAX's, also divided over a mesh and several processes, and NumPy's), numbers, text
    and generators of random numbers. A program that was killed goes on where the last whole checkpoint was, to the bit,
    also on another mesh or with another number of processes. Writing goes on beside the computation; files have
    checksums, and appear only when they are on the disk. Nothing in them is ever executed.

    Raises LaunchError (WL0955) for numbers below one, and for a path that can't be written.

    >>> import numpy as np, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> def compute():
    ...     saved = checkpoint(f"{folder.name}/run", every=10)
    ...     u = saved.restore(np.zeros(4))
    ...     print("begins at", saved.step)
    ...     for step in saved.steps(25):
    ...         u = u + step
    ...         saved.save(u)
    ...     return u
    >>> compute()
    begins at 0
    array([300., 300., 300., 300.])
    >>> compute()
    begins at 25
    array([300., 300., 300., 300.])
    >>> folder.cleanup()
    """
    for name, value in (("every", every), ("keep", keep)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LaunchError(
                Diagnostic("WL0955", f"{name}={value!r}: a whole number of at least 1 is needed", help=f"{name}=3")
            )
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(None, "it can't be written to")
    except OSError as error:
        raise LaunchError(
            Diagnostic(
                "WL0955",
                f"no checkpoints can be kept in '{folder}': {error.strerror}",
                help="choose a folder that can be written to, and that all processes see",
            )
        ) from None
    return Checkpoint(folder, every, keep)
