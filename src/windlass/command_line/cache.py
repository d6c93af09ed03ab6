"""`windlass cache`: what is kept between processes, how much of it, and how it goes."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from windlass.diagnostics.cache import KINDS, MOST_BYTES, KeptFile, cache_directory, kept_files, remove_kept
from windlass.reports.words import spell_size


def show() -> None:
    """Print the folder, and for each kind how many files there are, their size, and when one was used last."""
    console = Console(highlight=False)
    files = kept_files()
    table = Table(box=None, pad_edge=False)
    for title in ("kind", "files", "size", "last used", ""):
        table.add_column(title, justify="right" if title in ("files", "size") else "left")
    for kind, words in KINDS.items():
        if found := [file for file in files if file.kind == kind]:
            table.add_row(kind, *_about(found), words)
    table.add_row("all", *_about(files), f"what is made from sources is kept up to {spell_size(MOST_BYTES)}")
    console.print(f"{cache_directory()}", soft_wrap=True)
    console.print(table)


def clear(kinds: Sequence[str]) -> None:
    """Remove what is kept of these kinds, or of all."""
    files = [file for file in kept_files() if not kinds or file.kind in kinds]
    count = remove_kept(files)
    gone = f"{count} files" if count != 1 else "1 file"
    print(f"removed {gone}, {spell_size(sum(file.size for file in files))}")


def _about(files: Sequence[KeptFile]) -> tuple[str, str, str]:
    last = max((file.used for file in files), default=None)
    used = "never" if last is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(last))
    return str(len(files)), spell_size(sum(file.size for file in files)), used
