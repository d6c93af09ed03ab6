"""Calls that users try: each works, or gives one clear diagnostic."""

from __future__ import annotations

import array
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

Module = wl.cuda.Module
X = np.arange(1, 9, dtype=np.float32)
HUGE = 10**400


def zeros() -> Any:
    return np.zeros(8, np.float32)


def said_by(action: Callable[[], Any]) -> str:
    with pytest.raises(wl.WindlassError) as caught:
        action()
    return str(caught.value)


WRONG_ARRAYS: list[tuple[str, Any, str]] = [
    (
        "a masked array",
        np.ma.masked_array(X, [True] * 8),
        "error[WL0407]: saxpy: argument 'x' is a masked array, and a kernel sees no mask\n"
        "  help: pass x.data, or x.filled(value)",
    ),
    (
        "an array of Python's",
        array.array("f", [1, 2]),
        "error[WL0407]: saxpy: argument 'x' must be a NumPy array (const float *), got array('f', [1.0, 2.0]) (array)\n"
        "  help: see its memory as an array: numpy.frombuffer(x, dtype=numpy.float32)",
    ),
    (
        "bytes",
        b"12345678",
        "error[WL0407]: saxpy: argument 'x' must be a NumPy array (const float *), got b'12345678' (bytes)\n"
        "  help: see its memory as an array: numpy.frombuffer(x, dtype=numpy.float32)",
    ),
    ("a word", "x", "error[WL0407]: saxpy: argument 'x' must be a NumPy array (const float *), got 'x' (str)"),
    ("objects", X.astype(object), "error[WL0401]: saxpy: argument 'x' has dtype object, which is not device data"),
    (
        "swapped bytes",
        X.astype(">f4"),
        "error[WL0410]: saxpy: argument 'x' has dtype >f4, which is not in this machine's byte order\n"
        "  help: convert it: x = x.astype(x.dtype.newbyteorder('='))",
    ),
    (
        "integers",
        X.astype(np.int32),
        "error[WL0401]: saxpy: argument 'x' has the wrong dtype: the kernel takes const float *, which is float32, "
        "but got int32\n  help: convert it: x = x.astype(numpy.float32)",
    ),
]


@pytest.mark.parametrize(
    ("given", "message"), [each[1:] for each in WRONG_ARRAYS], ids=[each[0] for each in WRONG_ARRAYS]
)
@pytest.mark.parametrize("path", ["numpy", "jax"])
def test_what_is_no_array_of_floats(module: Module, path: str, given: Any, message: str) -> None:
    kernel = module["saxpy"]
    run: Any = kernel[1, 8] if path == "numpy" else kernel.jax(1, 8)
    assert said_by(lambda: run(8, 1.0, given, zeros())) == message


def test_tensors_of_other_libraries_are_named(module: Module) -> None:
    class Tensor:
        def __array__(self) -> Any:
            return X

        def __repr__(self) -> str:
            return "tensor(8)"

    assert said_by(lambda: module["saxpy"][1, 8](8, 1.0, Tensor(), zeros())) == (
        "error[WL0407]: saxpy: argument 'x' must be a NumPy array (const float *), got tensor(8) (Tensor)\n"
        "  help: make it an array: numpy.asarray(x)"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (8, HUGE),
            "error[WL0408]: saxpy: argument 'a' is 1000000000000000000000000000000000000..., which overflows float",
        ),
        (
            (8, Fraction(1, 2)),
            "error[WL0407]: saxpy: argument 'a' must be a number of type float, got Fraction(1, 2) (Fraction)\n"
            "  help: convert it: float(a)",
        ),
        (
            (8, Decimal("0.5")),
            "error[WL0407]: saxpy: argument 'a' must be a number of type float, got Decimal('0.5') (Decimal)\n"
            "  help: convert it: float(a)",
        ),
        ((8, None), "error[WL0407]: saxpy: argument 'a' must be a number of type float, got None (NoneType)"),
        (
            (np.array([8]), 1),
            "error[WL0407]: saxpy: argument 'n' must be a number of type int, got an array of int64 with shape (1,)",
        ),
        (
            (8.0, 1),
            "error[WL0401]: saxpy: argument 'n' must be a number of type int, got 8.0 (float)\n"
            "  help: convert it: int(n)",
        ),
    ],
)
@pytest.mark.parametrize("path", ["numpy", "jax"])
def test_what_is_no_such_number(module: Module, path: str, arguments: tuple[Any, ...], message: str) -> None:
    kernel = module["saxpy"]
    run: Any = kernel[1, 8] if path == "numpy" else kernel.jax(1, 8)
    assert said_by(lambda: run(*arguments, X, zeros())) == message


def test_negative_and_large_numbers_for_unsigned_ones() -> None:
    kernel = wl.cuda.compile("__global__ void f(unsigned n, unsigned char c, float *x) { x[0] = n + c; }")["f"]
    assert said_by(lambda: kernel[1, 1](-1, 0, zeros())) == (
        "error[WL0408]: f: argument 'n' is -1, which does not fit unsigned int (0 to 4294967295)"
    )
    assert said_by(lambda: kernel[1, 1](np.int8(-1), 0, zeros())).startswith("error[WL0408]: f: argument 'n' is -1")
    assert said_by(lambda: kernel[1, 1](1, 256, zeros())) == (
        "error[WL0408]: f: argument 'c' is 256, which does not fit unsigned char (0 to 255)"
    )
    x = zeros()
    kernel[1, 1](True, np.uint64(255), x)
    assert x[0] == 256


def test_values_may_be_views_of_any_kind(module: Module) -> None:
    shift = module["shift"].jax(1, 4)
    wide = np.arange(16, dtype=np.float32)
    raw = np.zeros(17, np.uint8)
    raw[1:].view(np.float32)[:] = 1
    views = [wide[::4], wide[3::-1], np.broadcast_to(np.float32(3), 4), wide[:4].reshape(2, 2).T, raw[1:].view("f4")]
    for _ in range(2):
        for view in views:
            result = shift(np.zeros(4, np.float32), view, 4)
            np.testing.assert_array_equal(result, 2 * view.reshape(-1))


def test_arrays_without_elements(module: Module) -> None:
    empty = np.zeros(0, np.float32)
    module["saxpy"][1, 8](0, 1.0, empty, empty.copy())
    assert module["saxpy"].jax(1, 8)(0, 1.0, empty, jnp.zeros((0, 3))).shape == (0, 3)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_subclasses_of_arrays(module: Module) -> None:
    y = np.asmatrix(zeros())
    module["saxpy"][1, 8](8, 1.0, X, y)
    assert y.tolist() == [X.tolist()]


def test_memory_mapped_files_as_values(module: Module, tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(8,))
    mapped[:] = X
    for _ in range(2):
        assert module["saxpy"].jax(1, 8)(8, 1.0, mapped, zeros()).tolist() == X.tolist()


def test_numpy_launch_of_traced_values(module: Module) -> None:
    saxpy = module["saxpy"][1, 8]
    assert said_by(lambda: jax.jit(lambda n: saxpy(n, 1.0, X, zeros()))(8)) == (
        "error[WL0409]: saxpy: argument 'n' is being traced by JAX and has no value yet; a launch on NumPy arrays "
        "runs at once\n"
        "  help: use saxpy.jax(grid, block)(...), which becomes part of what is traced"
    )
    assert said_by(lambda: jax.jit(lambda x: saxpy(8, 1.0, x, zeros()))(X)) == (
        "error[WL0409]: saxpy: argument 'x' is a JAX array, which can't be updated in place\n"
        "  help: use saxpy.jax(grid, block)(...), which returns the new values, or pass numpy.array(x)"
    )


def test_jax_values_that_are_no_numbers(module: Module) -> None:
    saxpy = module["saxpy"].jax(1, 8)
    assert said_by(lambda: saxpy(jnp.array([8]), 1.0, X, zeros())) == (
        "error[WL0407]: saxpy: argument 'n' must be a number of type int, got a JAX array of int32 with shape (1,)"
    )
    assert said_by(lambda: saxpy(8, jnp.complex64(2), X, zeros())) == (
        "error[WL0401]: saxpy: argument 'a' must be a number of type float, got a traced complex64\n"
        "  help: convert it: a.astype(numpy.float32)"
    )
    key = jax.random.key(0)
    assert said_by(lambda: saxpy(key, 1.0, X, zeros())).startswith(
        "error[WL0407]: saxpy: argument 'n' must be a number"
    )
    assert said_by(lambda: saxpy(8, 1.0, key, zeros())) == (
        "error[WL0902]: saxpy: argument 'x' is of dtype key<fry>, which no kernel knows\n"
        "  help: pass its numbers: jax.random.key_data(x)"
    )


def test_checks_of_jax_that_run_programs_again(module: Module) -> None:
    saxpy = module["saxpy"].jax(1, 8)
    for _ in range(2):
        with jax.debug_nans(True):
            assert saxpy(8, 1.0, X, zeros()).tolist() == X.tolist()
            with pytest.raises(FloatingPointError, match="nan"):
                saxpy(8, np.nan, X, zeros())
        with jax.checking_leaks(), jax.numpy_dtype_promotion("strict"):
            assert saxpy(8, 1.0, X, zeros()).tolist() == X.tolist()


@pytest.mark.parametrize("grid", [1, (1,), [1, 1], np.int64(1), np.array([1, 1]), np.array(1), jnp.int32(1)])
def test_grids_of_many_kinds(module: Module, grid: Any) -> None:
    y = zeros()
    module["saxpy"][grid, 8](8, 1.0, X, y)
    assert y.tolist() == X.tolist()


def test_streams_and_grids_of_words(module: Module) -> None:
    kernel: Any = module["saxpy"]
    assert said_by(lambda: kernel[1, 8, 0, 0]) == (
        "error[WL0403]: saxpy: a launch takes no stream: launches run in the order of the program\n"
        "  help: write saxpy[grid, block, shared_bytes](...)"
    )
    assert said_by(lambda: kernel["1", 8]) == "error[WL0403]: saxpy: the grid must be made of integers, got '1' (str)"


def test_kernels_are_asked_for_by_name(module: Module) -> None:
    odd: Any = module
    with pytest.raises(AttributeError, match=r"has no attribute 'saxpy'; write module\['saxpy'\]"):
        odd.saxpy  # pyright: ignore[reportUnusedExpression]
    with pytest.raises(AttributeError, match=r"has no attribute 'other'$"):
        odd.other  # pyright: ignore[reportUnusedExpression]
    assert said_by(lambda: odd[0]).startswith("error[WL0106]: a kernel is asked for by its name, got 0 (int)\n")
    assert said_by(lambda: wl.emulate(odd)).startswith("error[WL0407]: wl.emulate takes a kernel, got <windlass module")


def test_options_given_as_one_word(tmp_path: Path) -> None:
    (tmp_path / "by.h").write_text("#define BY 2\n")
    source = '#include "by.h"\ntemplate <class T> __global__ void scale(T *x) { x[threadIdx.x] *= BY; }'
    module = wl.cuda.compile(source, include=str(tmp_path), instances="scale<float>")
    assert module.kernels == ("scale<float>",)
    odd: Any = wl.cuda.compile
    with pytest.raises(TypeError, match=r"`define` is a mapping of macros to values, as in define=\{'N': 64\}"):
        odd(source, define=["BY=2"])
    with pytest.raises(TypeError, match="`source` is a path or text, got None"):
        odd(None)


# -- device variables -------------------------------------------------------------------------------------------------

VARIABLES = """
struct Box { float x; int n; };
__constant__ float w[3]; __device__ int k; __constant__ Box box; __constant__ Box boxes[2]; __constant__ bool on;
__global__ void use(float *x) { x[0] = w[0] + k + box.x + boxes[1].n + on; }
"""


@pytest.fixture(name="owner", scope="module")
def owner_() -> Module:
    return wl.cuda.compile(VARIABLES)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("w", 2, [2, 2, 2]),
        ("w", [[1, 2, 3]], [1, 2, 3]),
        ("w", np.float64(0.5), [0.5, 0.5, 0.5]),
        ("w", jnp.ones(3), [1, 1, 1]),
        ("k", np.int64(3), 3),
        ("k", True, 1),
        ("k", np.uint32(7), 7),
        ("box", (1.5, 2), (1.5, 2)),
        ("boxes", [(1, 2), (3, 4)], [(1, 2), (3, 4)]),
        ("on", True, True),
    ],
)
def test_values_for_variables(owner: Module, name: str, value: Any, expected: Any) -> None:
    owner.variables[name] = value
    assert owner.variables[name].tolist() == expected


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("k", 2.5, ", got 2.5 (float)"),
        ("k", 2**40, ": Python integer 1099511627776 out of bounds for int32"),
        ("k", np.int64(2**40), ": Python integer 1099511627776 out of bounds for int32"),
        ("w", None, ", got None (NoneType)"),
        ("w", "abc", ", got 'abc' (str)"),
        ("w", [1, "a", 2], ", got [1, 'a', 2] (list)"),
        ("w", np.arange(3), ", got int64 with shape (3,)"),
        ("box", (1, 2, 3), ": could not assign tuple of length 3 to structure with 2 fields."),
    ],
)
def test_values_that_do_not_fit_variables(owner: Module, name: str, value: Any, reason: str) -> None:
    before = owner.variables[name].copy()
    headline = said_by(lambda: owner.variables.__setitem__(name, value)).splitlines()[0]
    shape = owner.variables[name].shape
    assert headline == f"error[WL0411]: device variable '{name}' is {before.dtype} with shape {shape}{reason}"
    assert owner.variables[name].tolist() == before.tolist()


def test_variables_can_be_looked_for(owner: Module) -> None:
    assert "w" in owner.variables
    assert "nothing" not in owner.variables


# -- compiled functions -----------------------------------------------------------------------------------------------


def test_compiled_function_sees_variables_change(module: Module) -> None:
    @wl.jit(whole=True)
    def twice(x: Any, rounds: int) -> None:
        for _ in range(rounds):
            module["weigh"][1, 8](x, 6)

    for weights in ([1, 2, 3], [4, 5, 6], [1, 2, 3]):
        module.variables["weights"] = weights
        x = np.ones(6, np.float32)
        twice(x, 2)
        assert x.tolist() == [weight**2 for weight in weights] * 2


def test_compiled_function_refuses_read_only_and_masked_arrays(module: Module) -> None:
    @wl.jit(whole=True)
    def add(x: Any, y: Any) -> None:
        module["saxpy"][1, 8](8, 1.0, x, y)

    frozen = zeros()
    frozen.flags.writeable = False
    add(frozen, zeros())
    said = said_by(lambda: add(X, frozen))
    assert said.startswith("error[WL0406]: saxpy: argument 'y' is read-only, and the kernel writes to it\n --> ")
    assert said.endswith("  help: pass a copy that can be written: y.copy()")
    assert said_by(lambda: add(X, np.ma.masked_array(zeros()))) == (
        "error[WL0911]: a masked array can't be traced\n  help: pass array.data, or array.filled(value)"
    )


@pytest.mark.filterwarnings("ignore::windlass.WindlassWarning")
def test_compiled_functions_run_kernels_in_the_emulator(module: Module) -> None:
    tickets = module["tickets"]

    @wl.jit(whole=True)
    def once(following: Any, taken: Any) -> None:
        tickets[1, 8](following, taken, 5)

    @wl.jit(whole=True)
    def twice(following: Any, taken: Any, other: Any) -> None:
        tickets[1, 8](following, taken, 3)
        tickets[1, 8](following, other, 2)

    for _ in range(3):
        following, taken, other = np.zeros(1, np.int32), np.zeros(8, np.int32), np.zeros(8, np.int32)
        once(following, taken)
        assert (following[0], taken.tolist()) == (5, [1] * 5 + [0] * 3)
        following[0], taken[:] = 0, 0
        twice(following, taken, other)
        assert (following[0], taken.tolist(), other.tolist()) == (5, [1] * 3 + [0] * 5, [0] * 3 + [1] * 2 + [0] * 3)

    # Its callback is not the only one of a program that it becomes part of.
    @jax.jit
    def after_another(following: Any, taken: Any, other: Any) -> Any:
        doubled = jax.pure_callback(lambda x: 2 * np.asarray(x), jax.ShapeDtypeStruct((8,), np.int32), taken)
        return doubled, wl.jit(whole=True)(lambda following, other: (tickets[1, 8](following, other, 2), other)[1])(
            following, other
        )

    doubled, other = after_another(jnp.zeros(1, jnp.int32), jnp.ones(8, jnp.int32), jnp.zeros(8, jnp.int32))
    assert (doubled.tolist(), other.tolist()) == ([2] * 8, [1] * 2 + [0] * 6)


@pytest.mark.filterwarnings("ignore::windlass.WindlassWarning")
def test_errors_of_the_emulator_stay_what_they_are(module: Module) -> None:
    tickets = module["tickets"]
    run = wl.jit(whole=True)(lambda following, taken: tickets[1, 8](following, taken, 5))
    full = [np.full(1, 6, np.int32), np.zeros(8, np.int32)]
    for call in (lambda: run(*full), lambda: tickets.jax(1, 8)(*full, 5)):
        assert said_by(call).startswith("error[WL0602]: write of 4 bytes out of bounds\n")
