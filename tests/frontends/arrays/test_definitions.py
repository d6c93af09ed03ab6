"""Functions of every kind are captured: lambdas, methods, objects that are called, partial applications."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import whole
from windlass.frontends.arrays.definitions import definition_of


def doubled_up_to(limit: Any, x: Any) -> Any:
    for _ in range(5):
        if x.sum() > limit:
            break
        x = x * 2
    return x


def positive_part(x: Any) -> Any:
    y = np.zeros(3)
    for i in range(3):
        if x[i] > 0.5:
            y[i] = x[i] * 2
    return y


class Model:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return doubled_up_to(20, x) * self.factor if x.sum() > 1 else -x

    def step(self, x: Any) -> Any:
        return self(x) if x[0] > 0 else x


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*arguments: Any) -> Any:
        return function(*arguments)

    return inner


@logged
def decorated(x: Any) -> Any:
    return x if x.sum() > 1 else x * 3


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "lambda that calls": lambda x: positive_part(x) + 1,
    "lambda with a choice": lambda x: x * 2 if x.sum() > 1 else -x,
    "lambda over lines": lambda x: (
        x if x.sum() > 1 else
        -x
    ),
    "lambdas of a list": lambda x: [f(x[1]) for f in (lambda v: v if v > 0 else -v, lambda v: 2 * v if v > 1 else v)],
    "method": Model(2.0).step,
    "object": Model(2.0),
    "partial": functools.partial(doubled_up_to, 7.0),
    "partial of a method": functools.partial(Model(3.0).step),
    "partial within": lambda x: functools.partial(doubled_up_to, 7.0)(x),  # noqa: PLW0108
    "decorated": decorated,
    "mapped": lambda x: sum(map(lambda v: v * v if v > 0 else 0.0, x)),  # noqa: C417
    "sorted by a key": lambda x: sorted([x[1], 1.0], key=lambda v: 0)[0],
    "along an axis": lambda x: np.apply_along_axis(lambda row: row if row[0] > 0 else -row, 0, x),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", [(1.0, 2.0, 3.0), (-1.0, 0.6, 0.2)], ids=["many", "few"])
def test_functions_of_every_kind_are_captured(name: str, x: tuple[float, ...]) -> None:
    function = FUNCTIONS[name]
    np.testing.assert_array_equal(whole(function)(np.array(x)), function(np.array(x)))


def test_gradients_go_through_what_a_lambda_calls() -> None:
    by_x = wl.grad(lambda x: positive_part(x).sum())(np.array([1.0, 0.2, 0.7]))
    np.testing.assert_array_equal(by_x, [2.0, 0.0, 2.0])


def test_lambdas_of_one_line_are_told_apart() -> None:
    first, second = (lambda x: x if x.sum() > 0 else -x), (lambda x: 2 * x if x.sum() > 0 else -x)
    assert whole(first)(np.ones(2)).tolist() == [1.0, 1.0]
    assert whole(second)(np.ones(2)).tolist() == [2.0, 2.0]


def load(path: Path, text: str) -> dict[str, Any]:
    path.write_text(text)
    names: dict[str, Any] = {"np": np, "wl": wl}
    exec(compile(text, str(path), "exec"), names)
    return names


def test_text_that_was_changed_since_is_not_taken_for_the_function(tmp_path: Path) -> None:
    text = "def f(x):\n    return x if x.sum() > 1 else 2 * x\n"
    function = load(tmp_path / "model.py", text)["f"]
    (tmp_path / "model.py").write_text(text.replace("2 * x", "3 * x"))
    linecache.clearcache()
    assert definition_of(function.__code__, "_") is None
    with pytest.raises(wl.WindlassError, match="WL0904"):
        whole(function)(np.ones(3))


UNREADABLE = {
    "a branch": "def f(x):\n    if x.sum() > 1:\n        return x\n    return -x\n",
    "a write": "def f(x):\n    y = np.zeros(3)\n    y[0] = x[0]\n    return y\n",
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_functions_without_source_text_are_told_of(text: str) -> None:
    names: dict[str, Any] = {"np": np}
    exec(text, names)
    with pytest.raises(wl.WindlassError, match="source text of this function can't be read") as caught:
        whole(names["f"])(np.ones(3))
    assert "put it into a file, or a notebook" in str(caught.value)


def test_what_an_unreadable_function_raises_goes_out_as_it_is() -> None:
    names: dict[str, Any] = {}
    exec("def f(x):\n    raise ValueError('mine')\n", names)
    with pytest.raises(ValueError, match=r"^mine"):
        whole(names["f"])(np.ones(3))


def test_an_unreadable_function_is_not_called_in_a_branch_that_may_not_be_taken() -> None:
    names: dict[str, Any] = {}
    exec("def grow(items):\n    items.append(2.0)\n", names)

    def function(x: Any) -> Any:
        items = [1.0]
        if x[0] > 1:
            names["grow"](items)
        return len(items)

    with pytest.raises(wl.WindlassError, match=r"WL0910.*an object of list is changed within it"):
        whole(function)(np.zeros(3))


def test_cells_of_notebooks_are_read() -> None:
    text, file = "def f(x):\n    return x if x.sum() > 1 else 2 * x\n", "ipykernel_1/123.py"
    lines = [str(line) for line in text.splitlines(keepends=True)]
    linecache.cache[file] = (len(text), None, lines, file)
    names: dict[str, Any] = {}
    exec(compile(text, file, "exec"), names)
    assert whole(names["f"])(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def test_functions_within_that_call_what_the_file_imports_are_captured() -> None:
    """Python compiles `np.sin(v)` otherwise where the file imports `np`: the function within has to be known again."""

    @wl.jit(whole=True)
    def waves(x: Any) -> Any:
        def wave(v: Any) -> Any:
            return np.sin(v) if v > 0 else np.cos(v)

        return wave(x[0]) + wave(x[1])

    assert waves(np.array([1.0, -1.0])) == pytest.approx(np.sin(1.0) + np.cos(1.0))
