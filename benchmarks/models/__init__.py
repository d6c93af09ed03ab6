"""`python -m benchmarks.models`: models from libraries of others, with random weights, by `jax.jit` and by Windlass.

Start in model.py (what a model is); the other files make models, each of one field. The libraries are the extra
`models` of pyproject.toml; models whose library isn't installed are left out, and named.
"""
