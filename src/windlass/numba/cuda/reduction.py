"""`cuda.reduce`: an array brought to one value by a function of two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from windlass.frontends.kernels.source import read_function
from windlass.numba.cuda.device_array import DeviceNDArray, data_of
from windlass.numba.cuda.dispatcher import jit
from windlass.numba.cuda.generated import function_of

_TEXT = """def reduce_all(array, size, init, result):
    total = array[0]
    for i in range(1, size):
        total = function(total, array[i])
    result[0] = function(init[0], total)
"""


class Reduce:
    """`cuda.reduce(function)`: called with an array it gives one number.

    >>> import numpy as np
    >>> add = Reduce(lambda a, b: a + b)
    >>> int(add(np.arange(5)))
    10
    """

    def __init__(self, functor: Callable[[Any, Any], Any]) -> None:
        read_function(functor)
        self._kernel = jit(function_of(_TEXT, "reduce_all", {"function": functor}))

    def __call__(self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: object = 0) -> Any:
        """The value, or nothing where `res`, an array of the device's, takes it.

        Raises TypeError for arrays of more than one axis, ValueError for a size that the array has not.
        """
        data = data_of(arr)
        if data.ndim != 1:
            raise TypeError("only 1D array supported")
        count = data.size if size is None else size
        if count > data.size:
            raise ValueError("invalid size specified")
        result = np.array([init], data.dtype)
        if count:
            self._kernel[1, 1](DeviceNDArray(data), count, np.array([init], data.dtype), result)
        if res is not None:
            data_of(res)[0] = result[0]
            return None
        return result[0]
