"""Products by fragments become single contractions."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import pytest

import windlass as wl

from .program import PROGRAMS
from .test_programs import compiled

importlib.import_module(".tensor_cores", __package__)

CONVERTED = {"convert": 2, "dot_general": 1}
SCALED = {"broadcast_in_dim": 2, "multiply": 2, "add": 1}


def ops_of(kernel: str) -> Mapping[str, int]:
    """The optimized ops of a kernel of tensor_cores.cu, for the first of its launches."""
    program = next(each for each in PROGRAMS if each.name == f"tensor_cores-{kernel}")
    launch = program.launches[0]
    found: wl.cuda.Kernel = compiled(program.source)[kernel]
    return found.explain(launch.grid, launch.block, *program.draw_arguments(launch)).ops


@pytest.mark.parametrize("kernel", ["plain_product", "tall_product", "wide_product"])
def test_a_loop_over_fragments_is_one_contraction(kernel: str) -> None:
    assert ops_of(kernel) == CONVERTED


def test_doubles_need_no_conversion() -> None:
    assert ops_of("double_product") == {"dot_general": 1}


def test_products_of_integers_are_added_to_what_is_there() -> None:
    assert ops_of("signed_product") == {"dot_general": 1, "add": 1}
    assert ops_of("unsigned_product") == {"convert": 2, "dot_general": 1, "add": 1}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("kernel", "others"),
    [
        ("half_product", SCALED),
        ("bfloat16_product", {}),
        ("staged_product", {"maximum": 1, "compare": 1, "select": 1}),
    ],
)
def test_fragments_of_tiles_and_of_several_warps_are_one_contraction(kernel: str, others: dict[str, int]) -> None:
    ops = dict(ops_of(kernel))
    assert ops.pop("dot_general") == 1
    for name, count in others.items():
        assert ops.pop(name) == count
    assert ops.keys() <= {"convert", "reshape", "transpose"}


def test_warps_beyond_the_matrix_add_nothing() -> None:
    ops = ops_of("guarded_product")
    assert ops["dot_general"] == 1
    assert not ops.keys() & {"while", "gather", "scatter", "reduce"}
