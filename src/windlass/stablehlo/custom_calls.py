"""The custom calls that programs may make, and what their targets take and give.

A custom call names native code that believes what it is told of its arrays: a result that is too small is written
beyond its end. So a program that comes as text may call what is listed here, with arrays that fit, and what the
process has registered with XLA itself; never Python functions, which its author can't know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from windlass.ir.types import TensorType, Type
from windlass.ops import CustomCall

OUR_OWN = re.compile(r"windlass_")
"""Names of targets that Windlass registers for programs that it makes itself: they set how a thread computes."""

PYTHON_CALLBACKS = re.compile(r"_python_|python_cpu_callback|python_gpu_callback")
"""Names of targets that call a Python function by its number or address."""

IDENTITIES = frozenset(
    {
        "LayoutConstraint",
        "MoveToDevice",
        "MoveToHost",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "Sharding",
        "annotate_device_placement",
    }
)
"""Targets that XLA resolves itself and that give on one device what they take."""

ROUTINES = {
    "geev": "nn -> n nn nn :i32",
    "geev (real)": "nn -> n n nn:complex nn:complex :i32",
    "gees": "nn -> nn nn n :i32 :i32",
    "gees (real)": "nn -> nn nn n n :i32 :i32",
    "gehrd": "nn -> nn p :i32",
    "geqp3": "mn n:i32 -> mn n:i32 k",
    "geqrf": "mn -> mn k",
    "gesdd": "mn -> mn k:real mu vn :i32",
    "gesvd": "mn -> mn k:real mu vn :i32",
    "getrf": "mn -> mn k:i32 :i32",
    "gtsv": "n n n nr -> n n n nr :i32",
    "heevd": "nn -> nn n:real :i32",
    "hetrd": "nn -> nn n:real p:real p :i32",
    "orgqr": "mn q -> mn",
    "ormqr": "aq q mn -> mn",
    "potrf": "nn -> nn :i32",
    "syevd": "nn -> nn n:real :i32",
    "sytrd": "nn -> nn n:real p:real p :i32",
    "trsm": "aa mn -> mn",
    "ungqr": "mn q -> mn",
    "unmqr": "aq q mn -> mn",
}
"""LAPACK's routines as jaxlib wraps them: a word for each array, with a letter for each axis after those of the batch,
and the element type where it is not that of the first operand. k is the lesser of m and n, p is n - 1."""

PERTURBED_SOLVER = "tridiagonal_solve_perturbed_ffi"

_LAPACK = re.compile(r"lapack_([sdcz])([a-z0-9]+)_ffi$")
_DTYPES = {"s": "f32", "d": "f64", "c": "complex<f32>", "z": "complex<f64>"}
_SETTING = re.compile(r"(\w+) = (-?\d+|true|false)")


def is_lapack(call: CustomCall) -> bool:
    """Whether the target is one of jaxlib's LAPACK routines, whose table has to be filled first."""
    return call.call_target_name.startswith("lapack_")


def find_misfit(call: CustomCall, registered: frozenset[str] | None) -> str | None:
    """Why the call can't be made, or None if it can. `registered` are the targets that the device knows beyond XLA's
    own (None: they can't be told).

    >>> from windlass.ir.values import tensor
    >>> matrix, info = tensor("f32", 2, 3, name="a"), tensor("i32", name="b")
    >>> call = CustomCall((matrix,), "lapack_spotrf_ffi", (matrix.type, info.type))
    >>> find_misfit(call, frozenset({"lapack_spotrf_ffi"}))
    'tensor<2x3xf32> does not fit nn: n is 2 and 3'
    """
    target = call.call_target_name
    operands = [value.type for value in call.inputs]
    if PYTHON_CALLBACKS.search(target):
        return "it is a Python function of the process that made the program"
    if OUR_OWN.match(target):
        return "it is for programs that Windlass makes itself"
    if target in IDENTITIES:
        if operands != list(call.result_types) or len(operands) != 1:
            return "it gives what it takes, on one device"
        return None
    if registered is not None and target not in registered:
        return "nothing of this name is registered for the device"
    if target == PERTURBED_SOLVER:
        return _find_misfit_with("n n n nr -> nr", operands, call)
    if (lapack := _LAPACK.match(target)) is not None:
        letter, routine = lapack.groups()
        is_real = letter in "sd"
        form = (ROUTINES.get(f"{routine} (real)") if is_real else None) or ROUTINES.get(routine)
        if form is None:
            return "it is not known what it takes"
        first = operands[0] if operands else None
        if isinstance(first, TensorType) and first.dtype != _DTYPES[letter]:
            return f"it takes elements {_DTYPES[letter]}, not {first.dtype}"
        return _find_misfit_with(form, operands, call)
    return None


def _find_misfit_with(form: str, operands: list[Type], call: CustomCall) -> str | None:
    given = [*operands, *call.result_types]
    tensors = [type_ for type_ in given if isinstance(type_, TensorType)]
    taken, results = (side.split() for side in form.split("->"))
    if len(tensors) != len(given) or len(operands) != len(taken) or len(given) != len(taken) + len(results):
        return f"it takes {len(taken)} arrays and gives {len(results)}"
    words = [word.partition(":")[::2] for word in (*taken, *results)]
    batch = tensors[0].shape[: len(tensors[0].shape) - len(words[0][0])]
    sizes: dict[str, int] = {}
    for (letters, dtype), type_ in zip(words, tensors, strict=True):
        expected = _dtype_of(dtype, tensors[0].dtype)
        if type_.dtype != expected:
            return f"it takes or gives elements {expected} where {type_} is"
        if len(type_.shape) != len(batch) + len(letters) or type_.shape[: len(batch)] != batch:
            return f"{type_} does not fit {letters or 'one number'}, after axes of a batch {batch}"
        for letter, size in zip(letters, type_.shape[len(batch) :], strict=True):
            if sizes.setdefault(letter, _known_size(letter, sizes, size)) != size:
                return f"{type_} does not fit {letters}: {letter} is {sizes[letter]} and {size}"
    settings = dict(_SETTING.findall((call.extra or {}).get("mhlo.backend_config", "")))
    return next(_misfits_of_settings(sizes, settings), None)


def _known_size(letter: str, sizes: dict[str, int], size: int) -> int:
    """The size of an axis that follows from others; else the one that is met."""
    if letter == "k":
        return min(sizes["m"], sizes["n"])
    return max(sizes["n"] - 1, 0) if letter == "p" else size


def _dtype_of(name: str, first: str) -> str:
    wide = first in ("f64", "complex<f64>")
    if name == "real":
        return "f64" if wide else "f32"
    if name == "complex":
        return "complex<f64>" if wide else "complex<f32>"
    return name or first


def _misfits_of_settings(sizes: dict[str, int], settings: dict[str, str]) -> Iterator[str]:
    """What sizes have to be for the settings that a routine is called with."""
    if "u" in sizes:
        least, rows, columns = min(sizes["m"], sizes["n"]), sizes["m"], sizes["n"]
        is_full = settings.get("mode") == str(ord("A"))
        if (sizes["u"], sizes["v"]) != (rows, columns) and (is_full or (sizes["u"], sizes["v"]) != (least, least)):
            yield f"its vectors are {sizes['u']} and {sizes['v']}, for a matrix of {rows} by {columns}"
    if "a" in sizes:
        is_left = settings.get("side") == str(ord("L")) or settings.get("left") == "true"
        if sizes["a"] != sizes["m" if is_left else "n"]:
            yield f"a matrix of {sizes['m']} by {sizes['n']} can't be multiplied by one of {sizes['a']} rows"
    if "q" in sizes and (sizes["q"] > sizes.get("a", sizes["n"]) or ("a" not in sizes and sizes["n"] > sizes["m"])):
        yield f"there are {sizes['q']} reflectors for {sizes['m']} by {sizes['n']}"
    if "low" in settings and not 1 <= int(settings["low"]) <= int(settings.get("high", 0)) <= max(sizes["n"], 1):
        yield f"its rows go from {settings['low']} to {settings.get('high')}"
    if settings.get("sort", "78") != "78":
        yield "eigenvalues can't be selected"
