"""Whole CUDA programs, run without a GPU: the host side compiled for this machine, its launches and calls answered.

Takes the source files of a program; gives its exit status, what it prints and a record of each launch. The host side is
linked with a runtime of our own (`runtime/`), which calls back into this process: kernels are launched as from Python,
and routines of CUDA's libraries are tensor programs on the program's memory (`libraries/`).

Start reading at `program.py`, then `host_code.py` (compiling and linking) and `libraries/routines.py`.
"""
