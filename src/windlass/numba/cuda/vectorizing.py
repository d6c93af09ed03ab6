"""`vectorize` and `guvectorize` with target "cuda": functions of numbers or of inner arrays, over all of an array."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from windlass.diagnostics import Diagnostic
from windlass.dropins.devices import THREADS, blocks_of
from windlass.frontends.kernels.types import KernelArray, KernelNumber, NoneType, Signature
from windlass.numba import cuda, types
from windlass.numba.cuda.device_array import DeviceNDArray, data_of, is_cuda_array
from windlass.numba.cuda.dispatcher import ArgumentTypeError, Dispatcher, jit
from windlass.numba.cuda.generated import function_of
from windlass.numba.cuda.reduction import Reduce
from windlass.numba.types import read_signature


def vectorize_on_device(*given: Any, **options: Any) -> Any:
    """`@vectorize([signatures], target="cuda")`."""
    if len(given) == 1 and callable(given[0]) and not isinstance(given[0], list | tuple | str):
        return DeviceUfunc(given[0], ())
    listed = given[0] if given and isinstance(given[0], list | tuple) else list(given)
    signatures = [found for found in map(read_signature, listed) if found is not None]
    return lambda function: DeviceUfunc(function, signatures)


def guvectorize_on_device(signatures: Any, layout: str) -> Any:
    """`@guvectorize([signatures], layout, target="cuda")`."""
    listed = signatures if isinstance(signatures, list | tuple) else [signatures]
    found = [each for each in map(read_signature, listed) if each is not None]
    return lambda function: GeneralizedUfunc(function, found, layout)


class DeviceUfunc:
    """A function of numbers on arrays: arrays of the device's give one of the device's, others NumPy's."""

    def __init__(self, function: Callable[..., Any], signatures: Sequence[Signature]) -> None:
        self._function = getattr(function, "py_func", function)
        self.signatures = tuple(signatures)
        self.__name__, self.__doc__ = self._function.__name__, self._function.__doc__
        count = self._function.__code__.co_argcount
        names = [f"a{place}" for place in range(count)]
        text = (
            f"def apply({', '.join([*names, 'result'])}):\n"
            "    i = cuda.grid(1)\n"
            "    if i < result.size:\n"
            f"        result[i] = function({', '.join(f'{name}[i]' for name in names)})\n"
        )
        scope = {"cuda": cuda, "function": jit(self._function, device=True)}
        self._kernel: Dispatcher = jit(function_of(text, "apply", scope))
        self._count = count

    def __call__(self, *arguments: Any, out: Any = None, stream: object = 0) -> Any:
        """The function's values, element by element; shapes are broadcast."""
        if len(arguments) == self._count + 1 and out is None:
            *arguments, out = arguments  # pyright: ignore[reportAssignmentType]
        if len(arguments) != self._count:
            raise TypeError(f"{self.__name__} takes {self._count} arguments, got {len(arguments)}")
        is_on_device = any(_is_on_device(each) for each in (*arguments, out))
        inputs = [_array_of(each) for each in arguments]
        signature = choose_signature(self.__name__, self.signatures, arguments, inputs)
        dtypes = [each.dtype for each in signature.arguments]
        shape = np.broadcast_shapes(*(each.shape for each in inputs))
        flat = [
            np.ascontiguousarray(np.broadcast_to(each, shape), dtype).reshape(-1)
            for each, dtype in zip(inputs, dtypes, strict=True)
        ]
        result = np.zeros(int(np.prod(shape)), signature.result.dtype)
        if result.size:
            self._kernel[blocks_of(result.size), THREADS](*flat, DeviceNDArray(result))
        shaped = result.reshape(shape)
        if out is not None:
            data_of(out)[...] = shaped
            return out
        if is_on_device:
            return DeviceNDArray(shaped)
        return shaped if shape else shaped[()]

    def reduce(self, arg: Any, stream: object = 0) -> Any:
        """All elements of an array with one axis brought to one, by a function of two."""
        data = data_of(arg) if isinstance(arg, DeviceNDArray) else np.asarray(arg)
        if self._count != 2 or data.ndim != 1:
            raise TypeError("reduce takes a function of two numbers and an array with one axis")
        return Reduce(self._function)(DeviceNDArray(data[1:]), init=data[0])


class GeneralizedUfunc:
    """A function of inner arrays, called for each of the outer axes' elements."""

    def __init__(self, function: Callable[..., Any], signatures: Sequence[Signature], layout: str) -> None:
        self._function = getattr(function, "py_func", function)
        self.signatures = tuple(signatures)
        self._layout = layout
        self.__name__, self.__doc__ = self._function.__name__, self._function.__doc__
        taken, _, given = layout.replace(" ", "").partition("->")
        self._taken, self._given = _axes_of(taken), _axes_of(given)
        self._prepare()

    def _prepare(self) -> None:
        """Make what `_run` runs."""
        names = [f"a{place}" for place in range(len(self._taken) + len(self._given))]
        values = [
            f"{name}[i]" if axes or not self._is_scalar(place) else f"{name}[i, 0]"
            for place, (name, axes) in enumerate(zip(names, [*self._taken, *self._given], strict=True))
        ]
        text = (
            f"def apply(count, {', '.join(names)}):\n"
            "    i = cuda.grid(1)\n"
            "    if i < count:\n"
            f"        function({', '.join(values)})\n"
        )
        scope = {"cuda": cuda, "function": jit(self._function, device=True)}
        self._kernel: Dispatcher = jit(function_of(text, "apply", scope))

    def _run(self, count: int, flat: Sequence[Any], results: Sequence[Any]) -> None:
        """Call the function for all elements of the outer axes."""
        self._kernel[blocks_of(count), THREADS](count, *map(DeviceNDArray, flat), *map(DeviceNDArray, results))

    def _is_scalar(self, place: int) -> bool:
        """Whether the function takes a number there, and no array."""
        return not isinstance(self.signatures[0].arguments[place], KernelArray)

    def __call__(self, *arguments: Any, out: Any = None, stream: object = 0) -> Any:
        """The results, of which the outer axes are those of the arguments, broadcast."""
        taken = len(self._taken)
        outputs = list(arguments[taken:]) or ([out] if out is not None else [])
        given = arguments[:taken]
        if len(given) != taken:
            raise TypeError(f"{self.__name__} takes {taken} arguments, got {len(given)}")
        is_on_device = any(_is_on_device(each) for each in arguments)
        inputs = [_array_of(each) for each in given]
        signature = choose_signature(self.__name__, self.signatures, given, inputs, len(self._given))
        sizes: dict[str, int] = {}
        outer: list[tuple[int, ...]] = []
        for array, axes in zip(inputs, self._taken, strict=True):
            inner = array.shape[array.ndim - len(axes) :]
            outer.append(array.shape[: array.ndim - len(axes)])
            for axis, extent in zip(axes, inner, strict=True):
                if sizes.setdefault(axis, extent) != extent:
                    raise ValueError(f"{self.__name__}: axis '{axis}' has {sizes[axis]} and {extent} elements")
        shape = np.broadcast_shapes(*outer)
        count = int(np.prod(shape))
        flat: list[Any] = []
        for place, (array, axes) in enumerate(zip(inputs, self._taken, strict=True)):
            inner = tuple(sizes[axis] for axis in axes)
            whole = np.broadcast_to(array, (*shape, *inner)).reshape(count, *(inner or (1,)))
            flat.append(np.ascontiguousarray(whole, signature.arguments[place].dtype_of_elements))
        results: list[Any] = []
        for place, axes in enumerate(self._given):
            inner = tuple(sizes[axis] for axis in axes)
            dtype = signature.arguments[taken + place].dtype_of_elements
            results.append(np.zeros((count, *(inner or (1,))), dtype))
            if place < len(outputs):
                results[-1][...] = data_of(outputs[place]).reshape(results[-1].shape)
        if count:
            self._run(count, flat, results)
        shaped = [
            result.reshape((*shape, *(sizes[axis] for axis in axes)))
            for result, axes in zip(results, self._given, strict=True)
        ]
        if outputs:
            for target, result in zip(outputs, shaped, strict=True):
                data_of(target)[...] = result
            return outputs[0] if len(outputs) == 1 else tuple(outputs)
        found = [DeviceNDArray(each) if is_on_device else each for each in shaped]
        return found[0] if len(found) == 1 else tuple(found)


class _Elements:
    """A type of a signature, with the dtype of its elements at hand."""

    def __init__(self, type_: Any) -> None:
        self.dtype_of_elements = type_.dtype.dtype if isinstance(type_, KernelArray) else type_.dtype
        self.dtype = self.dtype_of_elements


def _axes_of(layout: str) -> list[tuple[str, ...]]:
    """The axes of each array in a layout.

    >>> _axes_of("(m,n),(n)")
    [('m', 'n'), ('n',)]
    """
    return [tuple(filter(None, inside.split(","))) for inside in re.findall(r"\(([^)]*)\)", layout)]


def _is_on_device(value: Any) -> bool:
    return isinstance(value, DeviceNDArray) or (is_cuda_array(value) and not isinstance(value, np.ndarray))


def _array_of(value: Any) -> Any:
    return data_of(value) if isinstance(value, DeviceNDArray) or is_cuda_array(value) else np.asarray(value)


def choose_signature(
    name: str, signatures: Sequence[Signature], arguments: Sequence[Any], arrays: Sequence[Any], results: int = 0
) -> Signature:
    """The first signature that the arguments can be converted to without loss, else the first that they can at all.

    Raises ArgumentTypeError (WL0401) where there is none.
    """
    if not signatures:
        wanted = tuple(_Elements(types.from_dtype(each.dtype)) for each in arrays)
        return Signature(_Elements(types.from_dtype(np.result_type(*arrays))), wanted)
    for casting in ("safe", "same_kind"):
        for signature in signatures:
            wanted = [_Elements(each) for each in signature.arguments]
            fits = all(
                np.can_cast(array.dtype, each.dtype, casting=casting)
                or (isinstance(argument, int | float) and _takes(each.dtype, argument))
                for argument, array, each in zip(arguments, arrays, wanted, strict=False)
            )
            if fits and len(wanted) == len(arrays) + results:
                result = signature.result
                return Signature(_Elements(result) if isinstance(result, KernelNumber) else NoneType(), tuple(wanted))
    raise ArgumentTypeError(
        Diagnostic(
            "WL0401",
            f"{name}: no signature takes {', '.join(str(array.dtype) for array in arrays)}",
            notes=tuple(f"signature: {signature}" for signature in signatures),
        )
    )


def _takes(dtype: np.dtype[Any], value: float) -> bool:
    return dtype.kind in ("fc" if isinstance(value, float) else "iufc")
