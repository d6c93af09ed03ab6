"""The `windlass` program: explain, opt, differentiate, audit, bisect, rules, doctor, errors.

Takes files and options; gives tables on the terminal and an exit status: 0 where all went well, 1 with a diagnostic
where something is wrong with the input, 2 for options that there are not. No user ever sees a traceback.

Start reading at `program.py`.
"""

from windlass.command_line.program import main

__all__ = ["main"]
