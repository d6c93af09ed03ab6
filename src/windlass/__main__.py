"""`python -m windlass`: what `windlass` is at the command line."""

from __future__ import annotations

from windlass.command_line import main

if __name__ == "__main__":
    main()
