"""LLVM IR as text: what is the same for whoever reads it, be it to raise a kernel or to run it as it is.

Start reading at debug_info.py.
"""
