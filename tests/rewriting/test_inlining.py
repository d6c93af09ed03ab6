"""Calls are replaced by what they call, unless the program became far larger by that."""

from __future__ import annotations

import numpy as np
import pytest
from tests.counting import count_calls

from windlass.ops import Call
from windlass.rewriting import inlining
from windlass.rewriting.inlining import inline_calls
from windlass.stablehlo import import_text
from windlass.stablehlo.optimizing import inline_module
from windlass.stablehlo.running import optimize, run

TYPE = "(tensor<4xf64>) -> tensor<4xf64>"


def function(name: str, body: str) -> str:
    visibility = "public" if name == "main" else "private"
    return f"func.func {visibility} @{name}(%a: tensor<4xf64>) -> tensor<4xf64> {{\n{body}\n}}\n"


def doubling(depth: int) -> str:
    """Functions that each call the next one twice."""
    twice = "%0 = call @fNEXT(%a) : TYPE\n%1 = call @fNEXT(%0) : TYPE\nreturn %1 : tensor<4xf64>".replace("TYPE", TYPE)
    names = ["main", *(f"f{number}" for number in range(1, depth + 1))]
    text = "".join(function(name, twice.replace("NEXT", str(place + 1))) for place, name in enumerate(names[:-1]))
    return text + function(
        names[-1],
        "%c = stablehlo.constant dense<1.0> : tensor<4xf64>\n%0 = stablehlo.add %a, %c : tensor<4xf64>\n"
        "%1 = stablehlo.sqrt %0 : tensor<4xf64>\nreturn %1 : tensor<4xf64>",
    )


def chain(length: int) -> str:
    """Functions that each call the next one."""
    names = ["main", *(f"f{number}" for number in range(1, length + 1))]
    once = f"%0 = call @fNEXT(%a) : {TYPE}\n%1 = stablehlo.cosine %0 : tensor<4xf64>\nreturn %1 : tensor<4xf64>"
    text = "".join(function(name, once.replace("NEXT", str(place + 1))) for place, name in enumerate(names[:-1]))
    return text + function(names[-1], "return %a : tensor<4xf64>")


def test_functions_that_double_stay_functions() -> None:
    module = import_text(doubling(31))
    calls = count_calls(lambda: inline_module(module))
    assert 2 < len(module.functions) < 12
    assert calls < 1_000_000
    assert all(sum(1 for _ in each.walk()) < 3 * inlining.SHARED for each in module.functions.values())


def test_few_doublings_go() -> None:
    module = import_text(doubling(9))
    inline_module(module)
    assert list(module.functions) == ["main"]
    assert not any(isinstance(op, Call) for op in module.main.walk())


def test_functions_that_stay_keep_their_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inlining, "ALWAYS", 10)
    monkeypatch.setattr(inlining, "GROWTH", 1)
    monkeypatch.setattr(inlining, "SHARED", 12)
    x = np.array([0.0, 1.0, 2.5, 100.0])
    expected = x
    for _ in range(64):
        expected = np.sqrt(expected + 1)
    text = optimize(doubling(6), exact=True)
    assert "call @f" in text
    for each in (text, doubling(6)):
        assert np.allclose(run(each, x)[0], expected, rtol=1e-15)


def test_a_chain_of_calls_is_inlined_in_linear_time() -> None:
    def calls(length: int) -> int:
        module = import_text(chain(length))
        found = count_calls(lambda: inline_calls(module.main.body, module))
        assert not any(isinstance(op, Call) for op in module.main.walk())
        return found

    assert calls(1000) < 11 * calls(100)


@pytest.mark.parametrize("cycle", [("main",), ("f", "f"), ("f", "g")])
def test_functions_that_call_themselves_stay(cycle: tuple[str, ...]) -> None:
    call = f"%0 = call @NAME(%a) : {TYPE}\nreturn %0 : tensor<4xf64>"
    first, second = (*cycle, *cycle)[:2]
    text = function("main", call.replace("NAME", first))
    for name, callee in {first: second, second: first}.items():
        if name != "main":
            text += function(name, call.replace("NAME", callee))
    module = import_text(text)
    inline_module(module)
    assert any(isinstance(op, Call) for op in module.main.walk())
