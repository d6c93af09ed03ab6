"""CuPy's elementwise and reduction kernels: expressions for one element, made into CUDA C++ for the dtypes at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windlass.cupy.device_array import as_device_array
from windlass.diagnostics import Diagnostic, LaunchError
from windlass.dropins.arrays import Array
from windlass.dropins.devices import THREADS, blocks_of
from windlass.dropins.templates import ElementwiseTemplate, ReductionTemplate, c_type


@dataclass(frozen=True)
class Declared:
    """A parameter as CuPy spells it: `raw T x`. One letter is a dtype that the arguments decide."""

    type_name: str
    name: str
    is_raw: bool

    @property
    def is_generic(self) -> bool:
        return len(self.type_name) == 1


def read_parameters(text: str) -> tuple[Declared, ...]:
    """The parameters of a list such as "raw T x, float32 y".

    Raises LaunchError (WL0407) for what is no parameter.

    >>> [each.name for each in read_parameters("raw T x, float32 y")]
    ['x', 'y']
    """
    found: list[Declared] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        words = part.split()
        is_raw = words[0] == "raw"
        if len(words) != 2 + is_raw or not words[-1].isidentifier():
            raise LaunchError(
                Diagnostic(
                    "WL0407", f"'{part}' is no parameter", help='write a type and a name: "T x", "raw float32 y"'
                )
            )
        found.append(Declared(words[-2], words[-1], is_raw))
    return tuple(found)


class _Types:
    """What the letters stand for in one call."""

    def __init__(self) -> None:
        self.known: dict[str, np.dtype[Any]] = {}

    def learn(self, declared: Declared, value: Any) -> None:
        if declared.is_generic and isinstance(value, np.ndarray | np.generic):
            found = self.known.setdefault(declared.type_name, value.dtype)
            if found != value.dtype:
                raise LaunchError(
                    Diagnostic(
                        "WL0401", f"{declared.name} is {value.dtype}, but {declared.type_name} is {found} already"
                    )
                )

    def dtype(self, declared: Declared) -> np.dtype[Any]:
        if not declared.is_generic:
            return np.dtype(declared.type_name)
        if declared.type_name not in self.known:
            raise LaunchError(
                Diagnostic(
                    "WL0401",
                    f"nothing says what {declared.type_name} is: {declared.name} has no dtype",
                    help="give an array or a NumPy number",
                )
            )
        return self.known[declared.type_name]

    def definitions(self) -> str:
        return "".join(f"typedef {c_type(dtype)} {letter};\n" for letter, dtype in sorted(self.known.items()))


class ElementwiseKernel(ElementwiseTemplate):
    """`cupy.ElementwiseKernel(in_params, out_params, operation, name)`.

    Arguments broadcast as NumPy's do; `i` is the number of the element, `n` how many there are (given by `size=` where
    all arrays are raw), and raw arrays are indexed by the operation. Results are new arrays unless they are given.
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        loop_prep: str = "",
        after_loop: str = "",
        **_: object,
    ) -> None:
        self.inputs = read_parameters(in_params)
        self.outputs = read_parameters(out_params)
        super().__init__(name, operation, preamble, loop_prep, after_loop)
        self.no_return = no_return
        self.return_tuple = return_tuple

    def __call__(
        self, *arguments: Any, size: int | None = None, stream: object = None, block_size: int = THREADS
    ) -> Any:
        given = len(arguments)
        if given not in (len(self.inputs), len(self.inputs) + len(self.outputs)):
            raise LaunchError(
                Diagnostic("WL0402", f"{self.name} takes {len(self.inputs)} arguments, and results; got {given}")
            )
        types = _Types()
        for declared, value in zip((*self.inputs, *self.outputs), arguments, strict=False):
            types.learn(declared, value)
        inputs = [np.asarray(value, types.dtype(each)) for each, value in zip(self.inputs, arguments, strict=False)]
        wanted = list(arguments[len(self.inputs) :])
        spread = [value.shape for each, value in zip(self.inputs, inputs, strict=True) if not each.is_raw]
        spread += [value.shape for each, value in zip(self.outputs, wanted, strict=False) if not each.is_raw]
        if size is not None:
            spread = [(size,)]
        if not spread:
            raise LaunchError(Diagnostic("WL0407", f"{self.name} has only raw arrays: give size="))
        shape = np.broadcast_shapes(*spread)
        outputs: list[Array] = wanted or [np.empty(shape, types.dtype(each)) for each in self.outputs]
        n = int(np.prod(shape, dtype=np.int64))
        if n:
            self._launch(types, inputs, outputs, shape, n, block_size)
        if self.no_return:
            return None
        results: tuple[Any, ...] = tuple(as_device_array(each) for each in outputs)
        return results if len(outputs) != 1 or self.return_tuple else results[0]

    def _launch(
        self, types: _Types, inputs: list[Array], outputs: list[Array], shape: tuple[int, ...], n: int, block: int
    ) -> None:
        parameters: list[str] = []
        before: list[str] = []
        after: list[str] = []
        values: list[Any] = []
        copies: list[tuple[Array, Array]] = []
        for declared, value in zip(self.inputs, inputs, strict=True):
            name, type_name = declared.name, c_type(value.dtype)
            if value.ndim == 0 and not declared.is_raw:
                parameters.append(f"{type_name} {name}")
                values.append(value.dtype.type(value.item()))
                continue
            whole = value if declared.is_raw else np.broadcast_to(value, shape)
            values.append(np.ascontiguousarray(whole))
            parameters.append(f"const {type_name} *{name if declared.is_raw else '_' + name}")
            if not declared.is_raw:
                before.append(f"const {type_name} {name} = _{name}[i];")
        for declared, value in zip(self.outputs, outputs, strict=True):
            name, type_name = declared.name, c_type(value.dtype)
            parameters.append(f"{type_name} *{name if declared.is_raw else '_' + name}")
            contiguous = np.ascontiguousarray(value)
            if contiguous is not value:
                copies.append((value, contiguous))
            values.append(contiguous.view(np.ndarray))
            if not declared.is_raw:
                before.append(f"{type_name} {name} = _{name}[i];")
                after.append(f"_{name}[i] = {name};")
        kernel = self.compiled(
            ", ".join(parameters), "long long", types.definitions(), " ".join(before), " ".join(after)
        )
        kernel[blocks_of(n, block), block](*values, n)
        for target, copy in copies:
            target[...] = copy.reshape(target.shape)


class ReductionKernel(ReductionTemplate):
    """`cupy.ReductionKernel(in_params, out_params, map_expr, reduce_expr, post_map_expr, identity, name)`.

    `reduce_expr` combines `a` and `b`; `post_map_expr` makes the result of `a`. Call it with arrays (and numbers, which
    broadcast), `axis=` and `keepdims=`.

    >>> import windlass.cupy as cp
    >>> norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    >>> norm(cp.array([[3.0, 4.0], [6.0, 8.0]]), axis=1).tolist()
    [5.0, 10.0]
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: object,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: Sequence[str] = (),
    ) -> None:
        self.inputs = read_parameters(in_params)
        self.outputs = read_parameters(out_params)
        super().__init__(name, identity, map_expr, reduce_expr, preamble)
        self.post_map_expr = post_map_expr
        self.reduce_type = reduce_type

    def __call__(
        self,
        *arguments: Any,
        out: Array | None = None,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        stream: object = None,
    ) -> Any:
        types = _Types()
        for declared, value in zip(self.inputs, arguments, strict=True):
            types.learn(declared, value)
        inputs = [np.asarray(value, types.dtype(each)) for each, value in zip(self.inputs, arguments, strict=True)]
        shape = np.broadcast_shapes(*(value.shape for value in inputs))
        axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
        reduced = sorted(each % max(1, len(shape)) for each in axes)
        kept = [each for each in range(len(shape)) if each not in reduced]
        count, length = (int(np.prod([shape[each] for each in group], dtype=np.int64)) for group in (kept, reduced))
        (declared,) = self.outputs
        letters = types.known
        if declared.is_generic and declared.type_name not in letters:
            letters[declared.type_name] = inputs[0].dtype
        result = np.empty(count, types.dtype(declared))
        if count:
            values = [
                np.ascontiguousarray(np.broadcast_to(value, shape).transpose(*kept, *reduced)).reshape(-1)
                for value in inputs
            ]
            self._launch(types, values, result, count, length)
        final = (
            [1 if each in reduced else extent for each, extent in enumerate(shape)]
            if keepdims
            else [shape[each] for each in kept]
        )
        result = result.reshape(final)
        if out is None:
            return as_device_array(result)
        out[...] = result
        return out

    def _launch(self, types: _Types, values: list[Array], result: Array, count: int, length: int) -> None:
        (declared,) = self.outputs
        out_type = c_type(result.dtype)
        parameters = [
            f"const {c_type(value.dtype)} *_{each.name}" for each, value in zip(self.inputs, values, strict=True)
        ]
        place = "windlass_row * windlass_length + windlass_element"
        reads = " ".join(
            f"const {c_type(value.dtype)} {each.name} = _{each.name}[{place}];"
            for each, value in zip(self.inputs, values, strict=True)
        )
        stored = f"windlass_out[windlass_row] = {declared.name};"
        result_of_a = f"{out_type} {declared.name}; {self.post_map_expr}\n; {stored}"
        typedefs = f"{types.definitions()}typedef {self.reduce_type or out_type} _type_reduce;"
        names = ("long long", "windlass_element", "windlass_length")
        kernel = self.compiled(", ".join(parameters), out_type, reads, result_of_a, typedefs, names)
        kernel[blocks_of(count), THREADS](*values, result, count, length)
