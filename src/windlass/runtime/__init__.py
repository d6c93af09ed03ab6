"""What a launch needs around its tensor program: checked arguments, arrays as memories.

Takes a kernel's signature with a launch's arguments; gives the launch specification that raising needs, and the way of
arrays and numbers into the program and out of it. The compiler's stages are in `windlass.pipeline`, the program as a
JAX operation in `windlass.stablehlo.program`.

Start reading at `arguments.py` and `memories.py`, then `binding.py`; `call_key.py` tells which calls can share a
compiled form, `scalars.py` how numbers enter it.
"""
