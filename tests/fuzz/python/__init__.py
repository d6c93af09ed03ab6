"""Random functions of Python with loops, branches, exits and names of one array: by Python itself, and by `wl.jit`.

`author.py` writes them, `running.py` runs both and compares to the bit (a refusal is fine, with a code of ours),
`shrinking.py` makes a failing one small. `python -m tests.fuzz.python.sweep` runs many.
"""
