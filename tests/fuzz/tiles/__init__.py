"""Random kernels whose threads work together through shared memory, raised and emulated: both must give the same.

`author.py` writes what all kernels have (tiles, rounds, guards, an early exit), `sections.py` what threads do together
in between: exchanges, trees, scans, shuffles, histograms, records, halves that change places. Numbers are unsigned, so
that every bit counts, or floats. Running and shrinking are those of `tests.fuzz`; `python -m tests.fuzz.sweep --tiles`
runs many.
"""
