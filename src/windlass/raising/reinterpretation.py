"""A flat tensor of words seen as words of another type, as pointers of different types into one memory do."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ops.conversion import BitcastConvert, Convert, bit_width
from windlass.raising import emission


def reinterpret(words: Value, dtype: str) -> Value:
    """The bytes of a flat tensor as words of `dtype`; bytes that make no whole word at the end are left out.

    >>> from windlass.ir.values import tensor
    >>> reinterpret(tensor("f32", 10), "f64").type
    tensor<5xf64>
    >>> reinterpret(tensor("f32", 10), "ui8").type
    tensor<40xui8>
    """
    if words.dtype == dtype:
        return words
    if words.dtype == "i1":
        words = Convert(words, "ui8")
    if dtype == "i1":
        return Convert(reinterpret(words, "ui8"), "i1")
    if words.dtype == dtype:
        return words
    source, target = bit_width(words.dtype), bit_width(dtype)
    if source == target:
        return BitcastConvert(words, dtype)
    if source > target:
        split = BitcastConvert(words, dtype)
        return emission.reshape(split, (words.shape[0] * (source // target),))
    ratio = target // source
    count = words.shape[0] // ratio
    whole = emission.slice_axis(words, 0, 0, count * ratio)
    return BitcastConvert(emission.reshape(whole, (count, ratio)), dtype)


def write_back(changed: Value, original: Value) -> Value:
    """The original words with the bytes of `changed` (a view of them made by `reinterpret`) in place of their own."""
    words = reinterpret(changed, original.dtype)
    length = words.shape[0]
    if length == original.shape[0]:
        return words
    return emission.concatenate([words, emission.slice_axis(original, 0, length, original.shape[0])], 0)
