"""What is known of tensor programs: found out when someone asks, and remembered. Nothing here changes a program.

Takes a value, an op or a block; gives what holds for it: the range of its elements (`ranges`), where a matrix is zero
or symmetric (`structure`, `matrix_parts`), integers that are known (`known_values`, in each round of a loop: `rounds`),
where elements come from (`places`), which values are the same (`numbering`), and what ops cost on a device (`cost`).
What can't be shown is not said: a fact that is missing is never wrong.

Start reading at `ranges.py`; for costs at `cost.py`.
"""
