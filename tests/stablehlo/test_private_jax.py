"""The private parts of JAX that Windlass uses are still there: the first thing to look at when JAX is updated."""

from __future__ import annotations

import re
from pathlib import Path

import jax

import windlass
from windlass.stablehlo.private_jax import default_compile_options, make_context

HINT = f"jax {jax.__version__} has moved something private: adapt src/windlass/stablehlo/private_jax.py"


def test_a_context_knows_the_dialects() -> None:
    context = make_context()
    for name in ("stablehlo.add", "chlo.erf", "sdy.mesh", "func.func"):
        assert context.is_registered_operation(name), HINT


def test_the_compile_options_are_those_of_jax() -> None:
    options = default_compile_options()
    assert (options.num_replicas, options.num_partitions) == (1, 1), HINT


def test_private_modules_are_imported_in_one_file_only() -> None:
    root = Path(windlass.__file__).parent
    users = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"^\s*(from|import) (jax\._src|jaxlib\._jax)", path.read_text(), re.MULTILINE)
    }
    assert users == {"stablehlo/private_jax.py"}
