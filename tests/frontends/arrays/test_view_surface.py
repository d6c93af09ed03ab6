"""All that NumPy's arrays and functions are known for either does what NumPy does or says that it can't.

What is a view, what is the argument itself, what may be written and how views lie is asked while a function is traced:
nothing has to be compiled for it.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.numpy_functions import CALLS, METHODS, NEW, ORDERS, SAMPLES, WRITES, Call, Samples
from tests.frontends.arrays.running import whole
from windlass.frontends.arrays.capture import captured
from windlass.frontends.arrays.explaining import as_told
from windlass.frontends.arrays.operators import UNSUPPORTED
from windlass.frontends.arrays.span_making import MAKING
from windlass.frontends.arrays.tracing import Tracing, tracing_as

WITHOUT_ARRAYS = """
    arange array2string array_repr array_str bartlett base_repr binary_repr blackman bmat asmatrix broadcast_shapes
    busday_count busday_offset can_cast common_type datetime_as_string datetime_data diag_indices einsum_path empty eye
    format_float_positional format_float_scientific from_dlpack frombuffer fromfile fromfunction fromiter frompyfunc
    fromregex fromstring full genfromtxt get_include get_printoptions getbufsize geterr geterrcall hamming hanning
    identity indices info is_busday isdtype isfortran isscalar issubdtype iterable kaiser load loadtxt mask_indices
    may_share_memory min_scalar_type mintypecode ndim nested_iters ones printoptions promote_types result_type row_stack
    save savetxt savez savez_compressed set_printoptions setbufsize seterr seterrcall shape shares_memory show_config
    show_runtime size test tri tril_indices triu_indices typename zeros
"""
"""Functions of NumPy that take or give no arrays that are traced: of shapes, dtypes, files and text."""

OTHER_METHODS = """
    all any argmax argmin argpartition argsort choose clip compress cumprod cumsum device dot dtype fill item itemsize
    max mean min nbytes ndim nonzero partition prod put repeat searchsorted setfield setflags shape size sort std
    strides sum take tolist trace var
"""
"""Those that give new arrays or numbers, or write, which other tests look at."""


def facts_of(made: Any, samples: Samples) -> list[Any]:
    """For each array: whose memory it is, which sample it is, shape, dtype, whether it may be written, strides."""
    facts: list[Any] = []
    for each in jax.tree.leaves(made, is_leaf=lambda leaf: isinstance(leaf, wl.Array | np.ndarray)):
        if not isinstance(each, wl.Array | np.ndarray):
            facts.append(type(each).__name__)
            continue
        shared = [name for name, sample in zip(samples._fields, samples, strict=True) if np.shares_memory(each, sample)]
        itself = [name for name, sample in zip(samples._fields, samples, strict=True) if each is sample]
        strides = [stride for stride, extent in zip(each.strides, each.shape, strict=True) if extent > 1]
        writeable = each.ndim == 0 or each.flags.writeable
        facts.append((shared, itself, each.shape, each.dtype, writeable, strides))
    return facts


def traced_facts(call: Call) -> list[Any]:
    """The same while the call is traced."""
    found: list[Any] = []

    def run(*values: Any) -> int:
        with tracing_as(Tracing()):
            samples = Samples(*map(wl.Array, values))
            try:
                made = captured(call)(samples)
            except Exception as error:
                raise as_told(error) from None
            found.extend(facts_of(made, samples))
        return 0

    with jax.enable_x64(True):
        jax.eval_shape(run, *SAMPLES)
    return found


def facts_in_numpy(call: Call) -> list[Any]:
    samples = Samples(*(each.copy() for each in SAMPLES))
    with np.errstate(all="ignore"):
        return facts_of(_with_arrays(call(samples)), samples)


def _with_arrays(made: Any) -> Any:
    """NumPy's numbers as arrays without axes, which they are while they are traced."""
    return jax.tree.map(lambda leaf: np.asarray(leaf) if isinstance(leaf, np.generic) else leaf, made)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*CALLS, *(f"ndarray.{name}" for name in METHODS)])
def test_views_are_views_copies_are_copies_and_arrays_are_themselves(name: str) -> None:
    for call in METHODS[name.removeprefix("ndarray.")] if name.startswith("ndarray.") else CALLS[name]:
        assert traced_facts(call) == facts_in_numpy(call)


@pytest.mark.filterwarnings("ignore")
def test_functions_that_compute_share_no_memory_or_say_that_they_can_not_be_had() -> None:
    for name, call in NEW.items():
        if name in MAKING:
            continue  # test_bounded_arrays.py
        try:
            found = traced_facts(call)
        except wl.WindlassError:
            continue
        for fact, expected in zip(found, facts_in_numpy(call), strict=True):
            if isinstance(fact, tuple) and isinstance(expected, tuple):
                assert fact[:4] == expected[:4], name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ORDERS)
def test_new_arrays_lie_in_memory_as_those_of_numpy(kind: str) -> None:
    for number, call in enumerate(ORDERS[kind]):
        assert traced_facts(call) == facts_in_numpy(call), number


def test_writes_to_views_reach_what_they_are_views_of() -> None:
    """All in one program, each on samples of its own."""

    def write(*groups: Any) -> None:
        for call, group in zip(WRITES.values(), groups, strict=True):
            call(Samples(*group))

    plain, compiled = ([[each.copy() for each in SAMPLES] for _ in WRITES] for _ in range(2))
    write(*plain)
    whole(write)(*compiled)
    for name, expected, given in zip(WRITES, plain, compiled, strict=True):
        for one, other in zip(given, expected, strict=True):
            np.testing.assert_array_equal(one, other, name)


def test_every_function_of_numpy_is_known() -> None:
    functions = {
        name
        for name, thing in vars(np).items()
        if callable(thing) and not isinstance(thing, type | np.ufunc) and not name.startswith("_")
    }
    known = {*CALLS, *NEW, *WRITES, *WITHOUT_ARRAYS.split()}
    assert not {name for name in functions - known if getattr(np, name).__module__ != "builtins"}


def test_every_method_of_arrays_is_known() -> None:
    public = {name for name in dir(np.ndarray) if not name.startswith("_")}
    assert not public - {*METHODS, *OTHER_METHODS.split(), *UNSUPPORTED}
    assert all(hasattr(wl.Array, name) for name in public - set(UNSUPPORTED))


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_methods_that_there_are_not_say_what_to_write(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"WL0909.*'{name}' of arrays: not supported inside wl.jit") as caught:
        whole(lambda a: getattr(a, name))(np.arange(3.0))
    assert isinstance(caught.value, wl.WindlassError)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.help and diagnostic.position is not None and diagnostic.position.file == __file__
    assert whole(lambda a: hasattr(a, name))(np.arange(3.0)) is False


def sets_shape(a: Any) -> None:
    a.shape = (3, 1)


def sets_dtype(a: Any) -> None:
    a.dtype = np.int64


def sets_strides(a: Any) -> None:
    a.strides = (8,)


def deletes(a: Any) -> None:
    del a[0]


def sets_flags_in_a_branch(a: Any) -> None:
    if a[0] > 1:
        a.setflags(write=False)


def walks(a: Any) -> Any:
    return list(np.nditer(a))


def vectorizes(a: Any) -> Any:
    return np.vectorize(abs)(a)


def writes_overlapping_views(a: Any) -> None:
    np.lib.stride_tricks.as_strided(a, (2, 2), (8, 8))[0, 0] = 1


def reaches_beyond(a: Any) -> Any:
    return np.lib.stride_tricks.as_strided(a, (4,), (8,))


def writes_after_setting_flags(a: Any) -> None:
    a.flags.writeable = False
    a[0] = 1


def asks_for_what_there_is_not(a: Any) -> Any:
    return a.todense()


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        (sets_shape, wl.WindlassError, "WL0909.*a = a.reshape"),
        (sets_dtype, wl.WindlassError, "WL0909.*a = a.view"),
        (sets_strides, wl.WindlassError, "WL0909.*as_strided"),
        (deletes, ValueError, "cannot delete array elements"),
        (sets_flags_in_a_branch, wl.WindlassError, "WL0909.*set them before"),
        (walks, wl.WindlassError, "WL0909.*numpy.nditer.*loop over indices"),
        (vectorizes, wl.WindlassError, "WL0909.*numpy.vectorize.*whole arrays"),
        (writes_overlapping_views, ValueError, "WL0919.*elements share memory"),
        (reaches_beyond, IndexError, "does not fit in the memory of 3 elements"),
        (writes_after_setting_flags, ValueError, "WL0919.*read-only"),
        (asks_for_what_there_is_not, AttributeError, "WL0916.*have no attribute 'todense'"),
    ],
)
def test_what_can_not_be_done_is_said_at_the_line(function: Call, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=rf"(?s){text}") as caught:
        whole(function)(np.arange(3.0))
    assert isinstance(caught.value, wl.WindlassError)
    assert caught.value.diagnostics[0].position is not None
    assert caught.value.diagnostics[0].position.file == __file__


def test_finite_arrays_are_checked_as_the_program_runs() -> None:
    def finite(a: Any) -> Any:
        return np.asarray_chkfinite(a) * 2

    compiled = whole(finite)
    assert compiled(np.ones(2)).tolist() == [2, 2]
    with pytest.raises(wl.WindlassError, match="must not contain infs or NaNs"):
        compiled(np.array([1, np.inf]))
