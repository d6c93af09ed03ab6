"""What XLA wants of a program, on CPUs or on GPUs: other ways to say the same, none of them simpler.

Takes a tensor program. The rules here (`sort_keys`, `slow_folds`, `window_forms`, …) belong to the catalogue and apply
by cost: what a device is slow at stands in its table (`windlass.facts.cost`). `finishing` is for when no rule applies
any more: values are made once where fusions would compute them again, updates are kept in place, loops are divided that
would not fit into registers. `exact_arithmetic` keeps float results from XLA's own rewrites, and `polling` lets
programs be stopped.

Start reading at `finishing.py`.
"""
