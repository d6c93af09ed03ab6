"""Random CUDA kernels, raised and emulated: both must give the same bits.

A kernel is a tree of statements and expressions (`trees.py`). Each expression knows the range of its values
(`arithmetic.py`), so kernels have no undefined behaviour; the emulator sees to races and bounds. `expressions.py`,
`idioms.py` and `author.py` write what a thread does with its own words of some arrays, `frames.py` what stands around
it (which thread has which words), `cooperation.py` what threads do together through shared memory. `running.py`
compiles many kernels as one module, runs both forms and compares; `shrinking.py` makes a failing kernel small.
`python -m tests.fuzz.sweep` runs many; `tiles` has a generator of its own for what threads do through shared memory.
"""
