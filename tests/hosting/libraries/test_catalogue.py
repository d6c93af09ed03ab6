"""The page of routines says what there is."""

from __future__ import annotations

import sys
from pathlib import Path

from windlass.hosting.libraries.catalogue import with_routine_list

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "libraries.md"


def test_page_lists_the_routines() -> None:
    """Made anew by `python -m tests.hosting.libraries.test_catalogue`."""
    assert PAGE.read_text("utf-8") == with_routine_list(PAGE.read_text("utf-8"))


if __name__ == "__main__":
    sys.exit(PAGE.write_text(with_routine_list(PAGE.read_text("utf-8")), "utf-8") == 0)
