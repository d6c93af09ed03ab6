"""Programs of several processes, and programs that survive being killed.

`windlass launch` starts the processes of a program, watches them, and starts them again (`supervisor.py`); JAX connects
them. `wl.checkpoint` keeps the state of a computation (`checkpoint.py`), as files that are described in `parts.py`.
Both work without the other.

Start reading at `checkpoint.py` and `supervisor.py`.
"""
