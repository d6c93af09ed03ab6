"""CuPy's elementwise and reduction kernels: expressions for one element, made into CUDA C++ for the dtypes at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from windlass.cupy.device_array import as_device_array
from windlass.cupy.parameters import (
    INDEX,
    Arguments,
    Declared,
    Types,
    cupy_type,
    element_of,
    read_parameters,
    with_few_axes,
)
from windlass.diagnostics import Diagnostic, LaunchError
from windlass.dropins.arrays import Array
from windlass.dropins.devices import THREADS, blocks_of
from windlass.dropins.parts import part_of
from windlass.dropins.templates import ElementwiseTemplate, ReductionTemplate


class ElementwiseKernel(ElementwiseTemplate):
    """`cupy.ElementwiseKernel(in_params, out_params, operation, name)`.

    Arguments broadcast as NumPy's do. In the operation `i` is the number of the element and `n` how many there are
    (given by `size=` where all arrays are raw), results are references, raw arrays are indexed by a number or by one
    index for each axis, `_ind.get()` are the element's own indices. Results are new arrays unless they are given.
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
        options: Sequence[str] = (),
        **_: object,
    ) -> None:
        self.inputs = read_parameters(in_params)
        self.outputs = read_parameters(out_params)
        super().__init__(name, operation, preamble, loop_prep, after_loop, options)
        self.reduce_dims = reduce_dims
        self.no_return = no_return
        self.return_tuple = return_tuple

    def __call__(
        self, *arguments: Any, size: int | None = None, stream: object = None, block_size: int = THREADS
    ) -> Any:
        inputs, wanted, types = _read_arguments(self.name, self.inputs, self.outputs, arguments)
        spread = [value.shape for each, value in zip(self.inputs, inputs, strict=True) if not each.is_raw]
        spread += [value.shape for each, value in zip(self.outputs, wanted, strict=False) if not each.is_raw]
        if size is not None:
            if any(spread):
                raise LaunchError(Diagnostic("WL0407", f"{self.name} takes size= only where all arrays are raw"))
            spread = [(size,)]
        if not spread:
            raise LaunchError(Diagnostic("WL0407", f"{self.name} has only raw arrays: give size="))
        shape = _broadcast(self.name, spread)
        for each, value in zip(self.outputs, wanted, strict=False):
            if not each.is_raw and value.shape != shape:
                raise LaunchError(
                    Diagnostic("WL0404", f"the result {each.name} has shape {value.shape}, the elements {shape}")
                )
        outputs = wanted or [np.empty(shape, types.dtype(each)) for each in self.outputs]
        if np.prod(shape, dtype=np.int64):
            self._launch(types, inputs, outputs, shape, block_size)
        if self.no_return:
            return None
        results: tuple[Any, ...] = tuple(as_device_array(each) for each in outputs)
        return results if len(outputs) != 1 or self.return_tuple else results[0]

    def _launch(
        self, types: Types, inputs: list[Array], outputs: list[Array], shape: tuple[int, ...], block: int
    ) -> None:
        given = Arguments()
        elements: list[str] = []
        copies: list[tuple[Array, Array]] = []
        spread: list[Array] = []
        for declared, value in zip(self.inputs, inputs, strict=True):
            if declared.is_raw:
                given.add_raw_array(declared.name, _in_order(value), is_const=True)
            elif value.ndim == 0:
                given.add_number(declared.name, value)
            else:
                spread.append(np.broadcast_to(value, shape))
                pointer = given.add_array(declared.name, _in_order(spread[-1]), is_const=True)
                elements.append(element_of(declared, pointer, value.dtype, "i", is_const=True))
        for declared, value in zip(self.outputs, outputs, strict=True):
            contiguous = _in_order(value)
            if contiguous is not value:
                copies.append((value, contiguous))
            if declared.is_raw:
                given.add_raw_array(declared.name, contiguous, is_const=False)
            else:
                spread.append(value)
                pointer = given.add_array(declared.name, contiguous, is_const=False)
                elements.append(element_of(declared, pointer, value.dtype, "i", is_const=False))
        texts = [each.text for each in (self.operation, self.preamble, self.loop_prep, self.after_loop)]
        if any("_ind" in text for text in texts):
            given.add_indexer("_ind", with_few_axes(shape, spread) if self.reduce_dims else shape)
            elements.insert(0, "_ind.set(i);")
        if all(each.name != "n" for each in (*self.inputs, *self.outputs)):
            given.before.append(f"const {INDEX} n = _size;")
        head = types.head(texts, others=[value.dtype for value in (*inputs, *outputs)])
        kernel = self.compiled([given.text], INDEX, head, "\n".join(given.before), "\n".join(elements), "_size")
        n = int(np.prod(shape, dtype=np.int64))
        kernel[blocks_of(n, block), block](*given.values, n)
        for target, copy in copies:
            target[...] = copy


class ReductionKernel(ReductionTemplate):
    """`cupy.ReductionKernel(in_params, out_params, map_expr, reduce_expr, post_map_expr, identity, name)`.

    `reduce_expr` combines `a` and `b`; `post_map_expr` makes the results of `a`. Call it with arrays (and numbers,
    which broadcast), `axis=` and `keepdims=`. In `map_expr` `_J` is the number of the element in its reduction and
    `_in_ind.get()` are its indices, those that are reduced first; `_out_ind` has those of the result.

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
        super().__init__(name, "" if identity is None else str(identity), map_expr, reduce_expr, preamble, options)
        self.post_map_expr = part_of(post_map_expr, f"post_map_expr of {name}")
        self.has_identity = identity is not None
        self.reduce_type = reduce_type
        self.reduce_dims = reduce_dims

    def __call__(
        self,
        *arguments: Any,
        out: Array | None = None,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        stream: object = None,
    ) -> Any:
        if out is not None:
            arguments = (*arguments, out)
        inputs, wanted, types = _read_arguments(self.name, self.inputs, self.outputs, arguments)
        shape = _broadcast(
            self.name, [value.shape for each, value in zip(self.inputs, inputs, strict=True) if not each.is_raw]
        )
        axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
        reduced = sorted(normalize_axis_tuple(axes, len(shape)))
        kept = [each for each in range(len(shape)) if each not in reduced]
        inner, rows = (tuple(shape[each] for each in group) for group in (reduced, kept))
        final = tuple(1 if each in reduced else extent for each, extent in enumerate(shape)) if keepdims else rows
        for each, value in zip(self.outputs, wanted, strict=False):
            if value.shape != final:
                raise LaunchError(
                    Diagnostic("WL0404", f"the result {each.name} has shape {value.shape}, the reduction gives {final}")
                )
        if not self.has_identity and 0 in inner:
            raise LaunchError(Diagnostic("WL0404", f"{self.name} has no identity, which is the result of no elements"))
        results = [np.empty(rows, types.dtype(each)) for each in self.outputs]
        if 0 not in rows:
            self._launch(types, inputs, results, shape, (reduced, kept))
        results = [result.reshape(final) for result in results]
        for target, result in zip(wanted, results, strict=False):
            target[...] = result
        given = tuple(as_device_array(each) for each in wanted or results)
        return given[0] if len(given) == 1 else given

    def _launch(
        self,
        types: Types,
        inputs: list[Array],
        results: list[Array],
        shape: tuple[int, ...],
        groups: tuple[list[int], list[int]],
    ) -> None:
        reduced, kept = groups
        given = Arguments()
        reads: list[str] = []
        elements: list[Array] = []
        for declared, value in zip(self.inputs, inputs, strict=True):
            if declared.is_raw:
                given.add_raw_array(declared.name, _in_order(value), is_const=True)
            elif value.ndim == 0:
                given.add_number(declared.name, value)
            else:
                whole = np.broadcast_to(value, shape)
                elements.append(whole.transpose(*reduced, *kept))
                pointer = given.add_array(declared.name, _in_order(whole.transpose(*kept, *reduced)), is_const=True)
                place = "windlass_row * windlass_length + windlass_element"
                reads.append(element_of(declared, pointer, value.dtype, place, is_const=True))
        stored: list[str] = []
        for declared, result in zip(self.outputs, results, strict=True):
            if declared.is_raw:
                given.add_raw_array(declared.name, result, is_const=False)
            else:
                pointer = given.add_array(declared.name, result, is_const=False)
                stored.append(element_of(declared, pointer, result.dtype, "windlass_row", is_const=False))
        inner, rows = (tuple(shape[each] for each in group) for group in groups)
        texts = [each.text for each in (self.map_expr, self.reduce_expr, self.post_map_expr, self.preamble)]
        if any("_in_ind" in text for text in texts):
            order = (*inner, *rows)
            given.add_indexer("_in_ind", with_few_axes(order, elements) if self.reduce_dims else order)
            reads.insert(0, "_in_ind.set(_j);")
        if any("_out_ind" in text for text in texts):
            given.add_indexer("_out_ind", with_few_axes(rows, results) if self.reduce_dims else rows)
            stored.insert(0, "_out_ind.set(windlass_row);")
        reads.insert(
            0,
            f"const int _J = windlass_element; const {INDEX} _i = windlass_row, _j = _J * windlass_rows + _i;",
        )
        others = [value.dtype for value in (*inputs, *results)]
        reduce_type = self.reduce_type or cupy_type(results[0].dtype)
        head = f"{types.head((*texts, reduce_type), others=others)}typedef {reduce_type} _type_reduce;\n"
        names = (INDEX, "windlass_element", "windlass_length")
        result_of_a = ("\n".join(stored), "\n", self.post_map_expr, ";")
        kernel = self.compiled([given.text], head, "\n".join(reads), "\n".join(given.before), result_of_a, names)
        count, length = (int(np.prod(extents, dtype=np.int64)) for extents in (rows, inner))
        kernel[blocks_of(count), THREADS](*given.values, count, length)


def _read_arguments(
    name: str, inputs: Sequence[Declared], outputs: Sequence[Declared], arguments: Sequence[Any]
) -> tuple[list[Array], list[Array], Types]:
    """The inputs as arrays of their types, results that are given, and what letters stand for."""
    if len(arguments) not in (len(inputs), len(inputs) + len(outputs)):
        raise LaunchError(
            Diagnostic("WL0402", f"{name} takes {len(inputs)} arguments, and results; got {len(arguments)}")
        )
    types = Types.of((*inputs, *outputs), arguments)
    values = [np.asarray(value, types.dtype(each)) for each, value in zip(inputs, arguments, strict=False)]
    return values, list(arguments[len(inputs) :]), types


def _broadcast(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise LaunchError(
            Diagnostic(
                "WL0404", f"the arrays of {name} do not broadcast: they have shapes {', '.join(map(str, shapes))}"
            )
        ) from None


def _in_order(array: Array) -> Array:
    """The array itself where it lies in C order, else a copy that does."""
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)
