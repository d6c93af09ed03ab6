"""Each numbered rule of the verifier can be broken, and is then reported."""

from __future__ import annotations

import pytest

from windlass import ops
from windlass.ir import Block, Builder, Function, TensorType, tensor_type
from windlass.ir.verifier import VerificationFault, find_faults, verify


def make_function() -> Function:
    block = Block([tensor_type((2,), "f32")])
    with Builder(block):
        total = ops.reduce_sum(ops.Negate(block.arguments[0]), (0,))
        ops.Return((total,))
    return Function("main", block)


def test_a_sound_function_passes() -> None:
    verify(make_function())


def test_code_after_a_terminator_breaks_rule_1() -> None:
    function = make_function()
    with Builder(function.body):
        ops.Negate(function.arguments[0])
    assert [fault[:2] for fault in find_faults(function)] == ["V1", "V1"]


def test_a_wrong_link_breaks_rule_2() -> None:
    function = make_function()
    _, second, *_ = function.body
    second.previous = None
    assert find_faults(function)[0].startswith("V2")


def test_use_before_definition_breaks_rule_3() -> None:
    function = make_function()
    first = function.body.first
    assert first is not None
    function.body.unlink(first)
    function.body.insert_before(first, function.body.terminator)
    assert find_faults(function)[0].startswith("V3: Reduce")


def test_a_lost_use_breaks_rule_4() -> None:
    function = make_function()
    function.arguments[0].uses.clear()
    assert find_faults(function) == ["V4: %arg0 counts 0 uses, there are 1"]


def test_a_changed_type_breaks_rule_5() -> None:
    function = make_function()
    wrong = tensor_type((3,), "f32")
    assert isinstance(wrong, TensorType)
    function.arguments[0].type = wrong
    assert all(fault.startswith("V5") for fault in find_faults(function))
    assert find_faults(function)


def test_attributes_for_too_few_arguments_break_rule_6() -> None:
    function = make_function()
    function.argument_attributes = [{}, {}]
    assert find_faults(function) == ["V6: 2 attribute lists for 1 arguments"]


def test_a_shared_region_breaks_rule_7() -> None:
    function = make_function()
    reduction = next(op for op in function.body if isinstance(op, ops.Reduce))
    with Builder(function.body, before=function.body.terminator):
        ops.Reduce(reduction.inputs, reduction.init_values, (0,), reduction.body)
    with pytest.raises(VerificationFault, match="V7: Reduce shares a region"):
        verify(function)
