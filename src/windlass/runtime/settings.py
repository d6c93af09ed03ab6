"""What the user can set, through the environment: read at each compilation, never at a compiled launch."""

from __future__ import annotations

import os

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})


def fallback_is_allowed() -> bool:
    """Whether a kernel that can't be raised runs in the emulator; `WINDLASS_FALLBACK=error` forbids it."""
    return os.environ.get("WINDLASS_FALLBACK", "emulate").strip().lower() != "error"


def first_calls_are_checked() -> bool:
    """Whether `WINDLASS_CHECK=1` asks for the first call of each compiled form to be compared with the emulator."""
    return os.environ.get("WINDLASS_CHECK", "").strip().lower() in TRUE_WORDS
