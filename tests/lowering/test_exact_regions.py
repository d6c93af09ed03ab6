"""Products in regions of local code are kept from what they are added to, as those around them are."""

from __future__ import annotations

import pytest

from windlass.communication import exchange_halos_in
from windlass.facts.cost import CPU
from windlass.ir import Block, Builder, Function, Module
from windlass.ir.types import tensor_type
from windlass.lowering.exact_arithmetic import keep_float_results
from windlass.ops import Add, Constant, DynamicUpdateSlice, Multiply, Opaque, Return, Subtract
from windlass.ops.movement import slice_along
from windlass.ops.shardings import MANUAL, Mesh, Sharding


@pytest.mark.parametrize("leaves", [False, True])
def test_no_product_in_a_region_meets_a_sum(leaves: bool) -> None:
    block = Block([tensor_type((16,), "f64")])
    with Builder(block):
        (x,) = block.arguments
        product = Multiply(slice_along(x, 0, 0, 14), slice_along(x, 0, 2, 16))
        inner = product if leaves else Subtract(product, slice_along(x, 0, 1, 15))
        Return((DynamicUpdateSlice(x, inner, (Constant.of(1, "i32"),)),))
    sharding = Sharding(Mesh((("x", 4),)), (("x",),))
    exchanged = exchange_halos_in(Module([Function("main", block)], "program"), [sharding])
    assert exchanged is not None
    keep_float_results(exchanged.main, CPU)
    (region,) = [op for op in exchanged.main.body if isinstance(op, Opaque) and op.operation == MANUAL]
    (found,) = [op for op in region.bodies[0].block if isinstance(op, Multiply) and op.dtype == "f64"]
    assert [type(user) for user in found.uses] == [Add]  # with a zero that no compiler sees through
