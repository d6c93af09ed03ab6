"""What is said of wrong texts and of arguments that do not fit: word for word, in messages.txt.

`WINDLASS_WRITE_GOLDEN=1` writes the file anew: read it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

import windlass as wl
from windlass.diagnostics import CompilationError, LaunchError

MESSAGES = Path(__file__).with_name("messages.txt")


def zeros(*shape: int, dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)


CASES: list[tuple[str, tuple[Any, ...] | None]] = [
    ("def f(float(N) x) (y) { y(i) = x(i) }", None),
    ("def f(float(N) x) -> (y) { y[i] = x[i] }", None),
    ("def f(float(N) x) -> (y) { y(i) = x(i) ", None),
    ("def f(float(N) x) -> (y) { y(i) x(i) }", None),
    ("def f(float(N) x) -> (y) {\n  y(i) = x(i) +\n}", None),
    ("def f(flaot(N) x) -> (y) { y(i) = x(i) }", None),
    ("def f(float(N) x) -> (y) { y(i) = z(i) }", None),
    ("def f(float(N) x) -> (y, z) { y(i) = x(i) }", None),
    ("def f(float(N) x) -> (y) { max(i) = x(i) }", None),
    ("def f(float(N, M) x) -> (y) { y(i) = x(i) }", None),
    ("def f(float(N) x) -> (y) { y = x }", None),
    ("def f(float(N) x) -> (y) { y(i) = exp(x(i), 2.0) }", None),
    ("def f(float(N) x) -> (y) { y = x(i) }", None),
    ("def f(float(N) x) -> (y) { y += x(i) }", None),
    ("def f(float(N) x) -> (y) { x(i) = 1.0  y(i) = x(i) }", None),
    ("def f(float(H) x) -> (y) { y(h) max=! x(2 * h + kh) }", None),
    ("def f(float(N) x, int32(K) I) -> (y) { y(j) +=! x(I(j * k)) }", None),
    ("def f(float(N) x, int32(N) n) -> (y) { y(i) = sqrt(n(i)) }", None),
    ("def f(float(N) x) -> (y) { y(i) = 1 / 2 * x(i) }", None),
    ("def f(float(N) x) -> (y) { y(i) = x(i) ? 1.0 : 2.0 }", None),
    ("def f(float(N) x) -> (int32(N) y) { y(i) = x(i) }", None),
    ("def f(int64(N) x, uint64(N) z) -> (y) { y(i) = x(i) + z(i) }", None),
    ("def f(float(N) x) -> (y) { y(i) = x(0.5 * i) }", None),
    ("def f(float(N) x, int32(N) I) -> (y) { y(I(i)) +=! x(i) }", None),
    ("def f(float(N, N) x) -> (y) { y(i) +=! x(i, j) where j in 0:i }", None),
    ("def f(float(N) x) -> (y) { y(i) = " + "(" * 130 + "x(i)" + ")" * 130 + " }", None),
    ("def g(float(N) x) -> (y) { y(i) = x(i) } def f(float(N) x) -> (y) { y(i) = g(x) + 1.0 }", None),
    # What is wrong with these shows when they are called.
    ("def f(float(N) x, float(N) z) -> (y) { y(i) = x(i) + z(i) }", (zeros(3), zeros(4))),
    ("def f(float(N) x, float(M) z) -> (y) { y(i) = x(i) + z(i) }", (zeros(3), zeros(4))),
    ("def f(float(N, 3) x) -> (y) { y(i) +=! x(i, j) }", (zeros(3, 4),)),
    ("def f(float(N) x) -> (y) { y(i) = x(i - 1) }", (zeros(3),)),
    ("def f(float(N) x) -> (y) { y(i) = x(i + 1) where i in 0:N }", (zeros(3),)),
    ("def f(float(H) x, float(K) k) -> (y) { y(h) +=! x(h + j) * k(j) }", (zeros(3), zeros(5))),
    ("def f(float(N) x) -> (y) { y(i - 1) +=! x(i) }", (zeros(3),)),
    ("def f(float(N) x) -> (y) { y(2*i) = x(i) }", (zeros(3),)),
    ("def f(float(N, M) x) -> (y) { y(i + j) = x(i, j) }", (zeros(3, 2),)),
    ("def f(int8(N) x) -> (y) { y(i) = x(i) * i }", (zeros(300, dtype=np.int8),)),
    ("def f(float(N) x) -> (y) { y(i) = x(i) / (N - 3) where i in 0:N / (N - 3) }", (zeros(3),)),
    ("def f(float(N) x) -> (y) { y(i) = x(i) }", (zeros(3, dtype=np.float64),)),
    ("def f(float(N) x) -> (y) { y(i) = x(i) }", (zeros(3, 2),)),
    ("def f(float(N) x) -> (y) { y(i) = x(i) }", ([1.0],)),
    ("def f(float(N) x) -> (y) { y(i) = x(i) }", ()),
    ("def f(float(N) x) -> (y) { y(i) = x(i) }", (zeros(3), zeros(3))),
    ("def f(int8 n) -> (y) { y = n }", (300,)),
    ("def f(int8 n) -> (y) { y = n }", (1.5,)),
    ("def f(float(N) x) -> (y) { y +=! x(i) + x(j) + x(k) + x(l) + x(m) + x(n) + x(o) }", (zeros(1000),)),
    ("def f(float(N) x) -> (y) { y max=! x(i) + x(j) + x(k) + x(l) }", (zeros(1000),)),
]
"""Texts, and arguments for those that are wrong with these only."""


def message_of(text: str, arguments: tuple[Any, ...] | None) -> str:
    try:
        *_, function = wl.notation(text).values()
    except CompilationError as error:
        assert arguments is None, text
        return str(error)
    assert arguments is not None, text
    try:
        function(*arguments)
    except LaunchError as error:
        return str(error)
    raise AssertionError(f"nothing is wrong with {text}")


def test_messages_are_those_of_the_file() -> None:
    found = "\n\n".join(message_of(*case) for case in CASES) + "\n"
    if os.environ.get("WINDLASS_WRITE_GOLDEN"):
        MESSAGES.write_text(found)
    assert found == MESSAGES.read_text()


def test_text_that_is_too_long_is_not_read() -> None:
    assert "WL1508" in message_of("#" * 100_001, None)


def test_chains_of_operators_and_of_calls_are_bounded() -> None:
    assert "WL1508" in message_of(f"def f(float x) -> (y) {{ y = {' + '.join(['x'] * 200)} }}", None)
    assert "WL1508" in message_of(f"def f(float x) -> (y) {{ y = {'-' * 5000}x }}", None)
    doubling = "".join(f"def f{n + 1}(float x) -> (y) {{ a = f{n}(x) y = f{n}(a) }} " for n in range(40))
    assert "WL1508" in message_of("def f0(float x) -> (y) { y = x } " + doubling, None)


def test_what_is_no_text_is_refused() -> None:
    assert "the notation is a text, got int" in message_of(5, None)  # type: ignore[arg-type]
