"""Whole programs: CUDA C++ kernels, raised and run, against the emulator and against NumPy.

Each theme has a file of kernels (`movement.cu`) and a file of the same name that says, for each kernel, what NumPy
would do and which launches to try (`movement.py`). `program.py` holds the declaration, `test_programs.py` the test.
"""
