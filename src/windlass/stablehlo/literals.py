"""Types and dense attributes from their MLIR text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from windlass.ir.types import NUMPY_DTYPES, OpaqueType, TensorType, Type, tensor_type

_PLAIN_TENSOR = re.compile(r"tensor<((?:\d+x)*)([^<>]+|complex<f\d+>)>$")


def type_from_text(text: str) -> Type:
    """A type from its MLIR text; what is no plain tensor of known shape and element type is opaque.

    >>> type_from_text("tensor<2x3xcomplex<f32>>").shape
    (2, 3)
    >>> type(type_from_text("tensor<?x3xf32>")).__name__
    'OpaqueType'
    """
    found = _PLAIN_TENSOR.match(text)
    if found is None or found.group(2) not in NUMPY_DTYPES:
        return OpaqueType.of(text)
    return tensor_type(tuple(int(size) for size in found.group(1).split("x")[:-1]), found.group(2))


def dense_from_text(text: str, type_: TensorType) -> np.ndarray[Any, Any]:
    """The elements of `dense<...> : type`; of a splat the one element, as a rank-0 array.

    >>> dense_from_text("dense<[1.0, 0x7FC0]> : tensor<2xbf16>", tensor_type((2,), "bf16")).astype(float)
    array([ 1., nan])
    """
    dtype = NUMPY_DTYPES[type_.dtype]
    body = text[text.index("<") + 1 :]
    if body.startswith('"0x'):
        raw = bytes.fromhex(body[3 : body.index('"', 3)])
        if type_.dtype == "i1":
            bits = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")[: type_.size]
            return bits.astype(bool).reshape(type_.shape)
        array = np.frombuffer(raw, dtype)
        return array.reshape(()) if array.size == 1 and type_.size != 1 else array.reshape(type_.shape)
    body = body[: body.rindex("> : tensor")] if "> : tensor" in body else body.rstrip("> ")
    words = re.findall(r"[^\s\[\](),<>]+", body)
    numbers = _parse_words(words, type_.dtype)
    if type_.is_complex:
        numbers = np.ascontiguousarray(numbers).view(dtype)
    is_splat = not body.lstrip().startswith("[") and bool(words)
    return numbers.reshape(()) if is_splat else numbers.reshape(type_.shape)


def blob_from_text(attribute: str, module: str, type_: TensorType) -> np.ndarray[Any, Any] | None:
    """The elements of `dense_resource<name>`, whose bytes stand at the end of the module's text; None if they don't.

    >>> module = '{-# dialect_resources: { builtin: { a: "0x040000000000803F00000040" } } #-}'
    >>> blob_from_text("dense_resource<a> : tensor<2xf32>", module, tensor_type((2,), "f32"))
    array([1., 2.], dtype=float32)
    """
    name = attribute[len("dense_resource<") : attribute.rindex("> : ")]
    found = re.search(rf'(?<![\w$.-]){re.escape(name)}: "0x([0-9A-Fa-f]*)"', module[max(module.rfind("{-#"), 0) :])
    if found is None:
        return None
    # The first four bytes say how the others are to be aligned.
    data = bytes.fromhex(found.group(1))[4:]
    dtype = NUMPY_DTYPES[type_.dtype]
    if type_.dtype in ("i4", "ui4") or len(data) != type_.size * dtype.itemsize:
        return None
    return np.frombuffer(data, dtype).reshape(type_.shape)


def _parse_words(words: list[str], dtype: str) -> np.ndarray[Any, Any]:
    target = NUMPY_DTYPES[dtype[8:-1] if dtype.startswith("complex") else dtype]
    if dtype == "i1":
        return np.array([word == "true" for word in words], bool)
    if target.kind in "iu" or dtype in ("i4", "ui4"):
        return np.array([int(word) for word in words], dtype=np.int64 if dtype != "ui64" else np.uint64).astype(target)
    unsigned = np.dtype(f"u{target.itemsize}")
    array = np.empty(len(words), target)
    bits = array.view(unsigned)
    for index, word in enumerate(words):
        if word.startswith("0x"):
            bits[index] = int(word, 16)
        else:
            array[index] = float(word)
    return array
