"""Random programs of divided arrays: on eight devices they give what one device gives, and move no more than XLA.

`author.py` writes functions of jax.numpy, a line for each value, `expressions.py` what a line may say. Most numbers are
eighths between -32 and 32, of which sums and products have no rounding, so that results are compared to the bit; what
rounds is never sorted, compared or cut off. `imagined.py` runs regions of local code on imagined devices, which takes a
moment; `running.py` compiles a program in every way for eight devices of the CPU. `python -m tests.fuzz.meshes.sweep`
runs many, and prints the smallest form of each that goes wrong.
"""
