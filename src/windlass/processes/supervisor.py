"""The supervisor of a program's processes: notices the one that dies or hangs, ends the others, starts all again.

Where the program keeps checkpoints (`wl.checkpoint`), it goes on where the last whole one was. Which of several
processes failed first, is told by how they ended: one that was killed takes its neighbours' connections with it, and
these fail in turn.
"""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass.diagnostics import Diagnostic
from windlass.processes.progress import ENDED, STARTING, Progress
from windlass.processes.ranks import Rank, Ranks

LOOK_SECONDS = 0.05
SETTLE_SECONDS = 0.3
"""How long others are waited for after a failure: which was the first is then told by how each ended."""
TRACE_SECONDS = 1.0
PATIENCE_AT_THE_ENDS = 10
OWN_FOLDER = str(Path(__file__).parents[1])
HUNG = 124
"""The status for a rank that hangs, as `timeout` has it."""


@dataclass(frozen=True)
class Watch:
    """How a program is watched: seconds without a step that are a hang, how often it is started again, and on what."""

    timeout: float | None = None
    restarts: int = 0
    shrinks: bool = False


@dataclass(frozen=True)
class Failure:
    """A rank that failed: what became of it, how far it had come, and what it said."""

    rank: Rank
    what: str
    status: int
    is_own: bool
    """Whether its program ended by itself, by an error say, and wasn't killed."""
    progress: Progress
    notes: tuple[str, ...] = ()
    code: str = "WL0711"
    stands_out: bool = True
    """Whether it is known to be this one."""

    @property
    def where(self) -> str:
        """How far it had come, in words."""
        done = self.progress
        if done.phase == STARTING:
            return " while it was starting"
        if not done.steps and not done.all_steps:
            return ""
        return f" after {done.steps} of {done.all_steps} steps" if done.all_steps else f" after {done.steps} steps"


Start = Callable[[Sequence[int]], Ranks]
"""Starts a rank for each of these slots."""


def supervise(start: Start, count: int, watch: Watch, folder: Path) -> int:
    """Run the program to its end, again if need be, and give its status: 0, or that of the rank that failed."""
    slots, before = list(range(count)), None
    restart = 0
    while True:
        ranks = start(slots)
        try:
            failure = watch_ranks(ranks.all, watch.timeout)
        finally:
            ranks.stop()
            ranks.finish()
        if failure is None:
            return 0
        place = (len(slots), failure.progress.steps, failure.is_own)
        is_repeated = failure.is_own and before is not None and before[0] == place[0] and place[1] <= before[1]
        if restart == watch.restarts or (is_repeated and not watch.shrinks):
            notes = (_last_note(watch, is_repeated), f"what ranks printed is in '{folder}'")
            _tell(failure, len(slots), "error", *notes)
            return failure.status
        before, restart = place, restart + 1
        number_before = len(slots)
        if watch.shrinks and len(slots) > 1:
            del slots[failure.rank.number]
        those = "all are" if len(slots) == number_before else f"the other {len(slots)} are"
        _tell(failure, number_before, "warning", f"{those} started again, {restart} of {watch.restarts} times")


def watch_ranks(ranks: Sequence[Rank], timeout: float | None) -> Failure | None:
    """Wait until all have ended well (None), or one has failed."""
    seen: dict[int, Progress] = {}
    changed = dict.fromkeys(range(len(ranks)), time.monotonic())
    while True:
        if any(map(_has_failed, ranks)):
            time.sleep(SETTLE_SECONDS)
            return _find_first([rank for rank in ranks if _has_failed(rank)])
        if all(rank.poll() == 0 for rank in ranks):
            return None
        now = time.monotonic()
        for rank in ranks:
            progress = rank.progress()
            if progress != seen.get(rank.number):
                seen[rank.number], changed[rank.number] = progress, now
        if timeout is not None:
            # One whose script has ended waits for the others, unless all wait.
            waiting = [rank for rank in ranks if rank.poll() is None]
            working = [rank for rank in waiting if seen[rank.number].phase != ENDED] or waiting
            if any(now - changed[rank.number] > timeout * _patience(seen[rank.number]) for rank in working):
                return _find_hung(working, changed, timeout)
        time.sleep(LOOK_SECONDS)


def _patience(progress: Progress) -> int:
    """How many times longer than a step it may take: more before its first and after its last."""
    is_between_steps = progress.restored < progress.steps < progress.all_steps
    return 1 if is_between_steps else PATIENCE_AT_THE_ENDS


def _has_failed(rank: Rank) -> bool:
    progress = rank.progress()
    return rank.poll() not in (None, 0) or (progress.phase == ENDED and progress.status != 0)


def _find_first(failed: Sequence[Rank]) -> Failure:
    """Of those that have failed the one that didn't because of another: killed ones first, then crashed ones."""

    def order(rank: Rank) -> tuple[int, int]:
        status = rank.poll()
        if status is not None and status < 0:
            return 0, rank.number
        return 1 if rank.progress().phase != ENDED else 2, rank.number

    rank = min(failed, key=order)
    status, progress = rank.poll(), rank.progress()
    if status is not None and status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return Failure(rank, f"was killed by {name}", 128 - status, False, progress)
    if progress.phase == ENDED:
        return Failure(rank, f"ended with status {progress.status}", progress.status, True, progress)
    return Failure(rank, f"ended with status {status}", status or 1, True, progress)


def _find_hung(working: Sequence[Rank], changed: dict[int, float], timeout: float) -> Failure:
    """The rank that the others wait for: it has fewer steps, or doesn't answer, or is at another line than the others.

    Where none stands out so, none is blamed; the one whose last step is the longest ago stands for all.
    """
    for rank in working:
        rank.ask_for_trace()
    time.sleep(TRACE_SECONDS)
    lines = {rank.number: _line_of(rank) for rank in working}
    often = Counter(lines.values())

    def order(rank: Rank) -> tuple[int, bool, int]:
        return rank.progress().steps, bool(rank.last_trace()), often[lines[rank.number]]

    first, *others = sorted(working, key=lambda rank: (order(rank), changed[rank.number]))
    stands_out = not others or order(first) < order(others[0])
    done = first.progress()
    waited = f"{timeout * _patience(done):g} s"
    has_begun = done.steps > done.restored
    return Failure(
        first,
        f"makes no step any more, for {waited}" if has_begun else f"has made no step in {waited}",
        HUNG,
        False,
        done,
        tuple(f"rank {rank.number} is at {lines[rank.number]}" for rank in working),
        "WL0712",
        stands_out,
    )


def _line_of(rank: Rank) -> str:
    """Where a rank is: the innermost line that is not of Python, Windlass or an installed package."""
    frames = rank.last_trace()
    if not frames:
        return "no line: it doesn't answer"
    others = ('"<', "site-packages", "/lib/python", OWN_FOLDER)
    mine = [frame for frame in frames if not any(each in frame for each in others)]
    return (mine or frames)[0].removeprefix('File "').replace('", line ', ":")


def _last_note(watch: Watch, is_repeated: bool) -> str:
    if is_repeated:
        return "it had failed there before, so it isn't started again"
    return f"it was started again {watch.restarts} times" if watch.restarts else "the others were stopped"


def _tell(failure: Failure, count: int, severity: str, *notes: str) -> None:
    """Tell of a failure on standard error, after the last lines that the rank wrote there."""
    sys.stdout.flush()
    who = f"rank {failure.rank.number}"
    for line in failure.rank.last_errors():
        print(f"[{who}] {line}", file=sys.stderr)
    headline = f"{who if failure.stands_out else 'some rank'} of {count} {failure.what}{failure.where}"
    diagnostic = Diagnostic(failure.code, headline, notes=(*failure.notes, *notes), severity=severity)
    print(diagnostic, file=sys.stderr, flush=True)
