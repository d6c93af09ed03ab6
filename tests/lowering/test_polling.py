"""Loops that may take long ask whether they are to stop; others stay as they are."""

from __future__ import annotations

import numpy as np
import pytest

from windlass.lowering.polling import POLL, add_polls
from windlass.ops import CustomCall, While
from windlass.stablehlo import export_text, import_text
from windlass.stablehlo.running import run

WHILE = """
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<LIMIT> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<SIZExi32> cond {
    %p = stablehlo.compare LT, %i, BOUND : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.add %y, %y : tensor<SIZExi32>
    stablehlo.return %j, %z : tensor<i32>, tensor<SIZExi32>
  }"""
MAIN = """func.func @main(%x: tensor<SIZExi32>, %n: tensor<i32>) -> tensor<SIZExi32> {BODY
  return %r#1 : tensor<SIZExi32>
}"""


def loop(size: int, rounds: int | None) -> str:
    """A program with a loop of so many rounds; None: as many as an argument says."""
    text = MAIN.replace("BODY", WHILE).replace("BOUND", "%n" if rounds is None else "%limit")
    return text.replace("SIZE", str(size)).replace("LIMIT", str(rounds or 0))


def nested(size: int) -> str:
    """A loop within a loop, both of as many rounds as an argument says."""
    inner = WHILE.replace("%x", "%y0").replace("BOUND", "%n").replace("%r", "%s")
    body = f"""
  %start = stablehlo.constant dense<0> : tensor<i32>
  %step = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%k = %start, %y0 = %x) : tensor<i32>, tensor<SIZExi32> cond {{
    %q = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  }} do {{{inner}
    %l = stablehlo.add %k, %step : tensor<i32>
    stablehlo.return %l, %s#1 : tensor<i32>, tensor<SIZExi32>
  }}"""
    return MAIN.replace("BODY", body).replace("SIZE", str(size)).replace("LIMIT", "0")


def count(text: str) -> tuple[int, int]:
    """How many loops ask, and how many there are then."""
    module = import_text(text)
    asking = add_polls(module)
    ops = list(module.main.walk())
    assert asking == sum(isinstance(op, CustomCall) and op.call_target_name == POLL for op in ops)
    import_text(export_text(module))  # it is valid
    return asking, sum(isinstance(op, While) for op in ops)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (loop(4, 1000), (0, 1)),  # done in no time
        (loop(4, 1 << 30), (1, 2)),
        (loop(4, None), (1, 2)),
        (loop(1 << 24, 3), (1, 1)),  # each round takes milliseconds
        (loop(1 << 24, None), (1, 1)),
        (nested(4), (1, 3)),  # asking in the inner loop would take longer than the loop
        (nested(1 << 16), (2, 4)),
    ],
)
def test_loops_that_may_take_long_ask(text: str, expected: tuple[int, int]) -> None:
    assert count(text) == expected


@pytest.mark.one_in(3)
@pytest.mark.parametrize("text", [loop(3, None), nested(3), nested(1 << 14)])
@pytest.mark.parametrize("rounds", [-1, 0, 1, 4, 5, 7])
def test_loops_that_ask_give_what_they_gave(text: str, rounds: int) -> None:
    module = import_text(text)
    size = module.main.arguments[0].tensor.size
    x = np.arange(size, dtype=np.int32)
    (found,) = run(text, x, np.int32(rounds))
    doublings = max(rounds, 0) ** (2 if "%k" in text else 1)
    assert np.array_equal(found, (x.astype(np.int64) << doublings).astype(np.int32))


def test_a_strip_ends_and_goes_on() -> None:
    """More rounds than are done between two questions."""
    text = loop(3, None).replace("stablehlo.add %y, %y", "stablehlo.add %y, %x")
    (found,) = run(text, np.array([1, 2, 3], np.int32), np.int32(5_000_000))
    assert found.tolist() == [5_000_001, 10_000_002, 15_000_003]


ANY = """func.func @main(%x: tensor<4xui32>, %end: tensor<4xui32>) -> (tensor<4xui32>, tensor<4xui32>) {
  %a = stablehlo.constant dense<1664525> : tensor<4xui32>
  %c = stablehlo.constant dense<1013904223> : tensor<4xui32>
  %no = stablehlo.constant dense<false> : tensor<i1>
  %zero = stablehlo.constant dense<0> : tensor<4xui32>
  %r:2 = stablehlo.while(%y = %x, %n = %zero) : tensor<4xui32>, tensor<4xui32> cond {
    %p = stablehlo.compare NE, %y, %end : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
    %q = stablehlo.reduce(%p init: %no) applies stablehlo.or across dimensions = [0]
      : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  } do {
    %p = stablehlo.compare NE, %y, %end : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
    %s = stablehlo.multiply %y, %a : tensor<4xui32>
    %t = stablehlo.add %s, %c : tensor<4xui32>
    %u = stablehlo.select %p, %t, %y : tensor<4xi1>, tensor<4xui32>
    %i = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xui32>
    %m = stablehlo.add %n, %i : tensor<4xui32>
    stablehlo.return %u, %m : tensor<4xui32>, tensor<4xui32>
  }
  return %r#0, %r#1 : tensor<4xui32>, tensor<4xui32>
}"""


def test_loop_that_goes_on_while_any_thread_does_is_divided() -> None:
    assert count(ANY) == (1, 2)
    start = np.array([1, 2, 3, 4], np.uint32)
    end, rounds = start.copy(), np.array([0, 3, 10, 13])
    for place, count_of in enumerate(rounds):
        for _ in range(count_of):
            end[place] = (int(end[place]) * 1664525 + 1013904223) % 2**32
    found, counted = run(ANY, start, end)
    assert np.array_equal(found, end)
    assert np.array_equal(counted, rounds)


def test_rounds_done_at_once_round_their_floats_one_by_one() -> None:
    text = """func.func @main(%x: tensor<64xf32>, %n: tensor<i32>) -> tensor<64xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %f = stablehlo.constant dense<1.00001> : tensor<64xf32>
      %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<64xf32> cond {
        %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %j = stablehlo.add %i, %one : tensor<i32>
        %z = stablehlo.multiply %y, %f : tensor<64xf32>
        stablehlo.return %j, %z : tensor<i32>, tensor<64xf32>
      }
      return %r#1 : tensor<64xf32>
    }"""
    x = np.linspace(0.5, 2, 64, dtype=np.float32)
    (found,) = run(text, x, np.int32(1001))
    for _ in range(1001):
        x *= np.float32(1.00001)
    assert np.array_equal(found, x)
