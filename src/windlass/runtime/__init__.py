"""Running tensor programs: arguments against signatures, arrays as memories, programs through XLA and JAX.

Takes a kernel's signature with a launch's arguments, and StableHLO programs; gives checked arguments, the launch
specification that raising needs, and results. Nothing here knows how a program was made: the compiler's stages are in
`windlass.pipeline`.

Start reading at `program.py` (a program as a JAX primitive), then `arguments.py` and `memories.py`.
"""
