"""Sums, products and extremes over indices: contractions, convolutions and windows where it is one of these."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from windlass.frontends.notation.accesses import Stride
from windlass.frontends.notation.element_types import FLOATS, is_weak
from windlass.frontends.notation.expressions import Expressions
from windlass.frontends.notation.forms import Form
from windlass.frontends.notation.terms import Operation, Part
from windlass.ir import Value
from windlass.ops import Add, And, Convolution, Maximum, Minimum, Multiply, Or, ReduceWindow, Reshape, reduce_with
from windlass.ops.combiners import combiner_region, identity_of
from windlass.ops.creation import Constant
from windlass.rules.letters import Kind, Term, arrange, multiply_terms, spread, sum_letters

Letters = tuple[int, ...]
EXACT = ("HIGHEST", "HIGHEST")


def combiner_for(sign: str, dtype: str) -> Any:
    """The op that combines elements: of booleans `max` is "or" and `min` is "and"."""
    if dtype == "i1":
        return {"max": Or, "min": And}[sign]
    return {"+": Add, "*": Multiply, "max": Maximum, "min": Minimum}[sign]


def reduce_part(made: Expressions, part: Part, combiner: Any, kept: Letters, lost: Letters, dtype: str) -> Term:
    """The part folded over the letters that are lost, in an element type; it may lack some of those that are kept."""
    if combiner is Add and lost:
        found = _as_product(made, part, kept, lost, dtype)
        if found is not None:
            return found
    found = _as_windows(made, part, combiner, kept, lost, dtype) if lost else None
    if found is not None:
        return found
    term = made.value(part, dtype)
    missing = tuple(letter for letter in lost if letter not in term.letters)
    if missing:
        letters = (*term.letters, *missing)
        term = Term(spread(term, letters, made.extents), letters)
    return _fold(term, combiner, lost)


def _fold(term: Term, combiner: Any, lost: Collection[int]) -> Term:
    axes = tuple(axis for axis, letter in enumerate(term.letters) if letter in lost)
    if not axes:
        return term
    kept = tuple(letter for letter in term.letters if letter not in lost)
    return Term(reduce_with(combiner, term.value, axes), kept)


# -- products ---------------------------------------------------------------------------------------------------------


def _factors(part: Part) -> list[Part]:
    """The factors of a product that is computed in one element type."""
    if isinstance(part, Operation) and part.sign == "*":
        return [factor for each in part.operands for factor in (_factors(each) if each.type == part.type else [each])]
    return [part]


def _as_product(made: Expressions, part: Part, kept: Letters, lost: Letters, dtype: str) -> Term | None:
    """A sum of products as contractions, or as a convolution; None for what is neither."""
    factors = _factors(part)
    if len(factors) < 2 or is_weak(part.type) or not (part.type in FLOATS or part.type == dtype):
        return None
    letters = [made.letters_of(each) for each in factors]
    if sum(map(bool, letters)) < 2 or not set(lost) <= set().union(*letters):
        return None
    if dtype in FLOATS:
        convolution = _as_convolution(made, factors, letters, kept, lost, dtype)
        if convolution is not None:
            return convolution
    return _contract(made, [made.value(each, dtype) for each in factors], kept, dtype)


def _contract(made: Expressions, terms: list[Term], kept: Letters, dtype: str) -> Term:
    """The sum of products: two factors at a time, those first whose product is the least work."""
    terms = _with_scalars(terms)
    while len(terms) > 1:
        best: tuple[tuple[int, int], int, int, Letters] | None = None
        for second in range(len(terms)):
            for first in range(second):
                pair = {*terms[first].letters, *terms[second].letters}
                others = {
                    letter
                    for place, each in enumerate(terms)
                    if place not in (first, second)
                    for letter in each.letters
                }
                left = tuple(letter for letter in sorted(pair) if letter in kept or letter in others)
                cost = _points(made, pair) + _points(made, left), _points(made, left)
                if best is None or cost < best[0]:
                    best = cost, first, second, left
        assert best is not None
        _, first, second, left = best
        product = _multiply(made, terms[first], terms[second], left, dtype)
        terms = [each for place, each in enumerate(terms) if place not in (first, second)]
        terms.insert(first, product)
    return _fold(terms[0], Add, [letter for letter in terms[0].letters if letter not in kept])


def _with_scalars(terms: Sequence[Term]) -> list[Term]:
    """The factors, with the scalars among them multiplied into one that has letters."""
    scalars = [term for term in terms if not term.letters]
    first, *rest = [term for term in terms if term.letters]
    for each in scalars:
        first = Term(Multiply(first.value, spread(each, first.letters, first.sizes())), first.letters)
    return [first, *rest]


def _points(made: Expressions, letters: Collection[int]) -> int:
    return math.prod(made.extents[letter] for letter in letters)


def _multiply(made: Expressions, left: Term, right: Term, kept: Letters, dtype: str) -> Term:
    summed = {*left.letters, *right.letters} - set(kept)
    is_elementwise = not summed or set(left.letters) == set(right.letters)
    if not is_elementwise:
        product = multiply_terms(left, right, kept, Kind(dtype, EXACT))
        if product is not None:
            return Term(product, kept)
    return _fold(made.combine(Multiply, [left, right]), Add, summed)


# -- windows ----------------------------------------------------------------------------------------------------------


def _slides(made: Expressions, forms: Collection[Form], kept: Letters, lost: Letters) -> list[tuple[Form, int, int]]:
    """Each sum with the letter that moves its window and the one within the window; empty if one is no window."""
    found: list[tuple[Form, int, int]] = []
    seen: set[int] = set()
    for form in sorted(forms, key=lambda form: [made.letters[name] for name in form.indices]):
        letters = [made.letters[name] for name in form.indices]
        outside = [letter for letter in letters if letter in kept]
        inside = [letter for letter in letters if letter in lost]
        is_window = len(outside) == len(inside) == 1 and all(factor > 0 for _, factor in form.terms)
        if not is_window or seen & set(letters):
            return []
        seen |= set(letters)
        found.append((form, outside[0], inside[0]))
    return found


def _factor(made: Expressions, form: Form, letter: int) -> int:
    return next(factor for name, factor in form.terms if made.letters[name] == letter)


def _as_windows(made: Expressions, part: Part, combiner: Any, kept: Letters, lost: Letters, dtype: str) -> Term | None:
    """What is folded over windows, where the part depends on the indices of a window through their sum alone."""
    slides = _slides(made, made.window_forms(part), kept, lost)
    if not slides:
        return None
    with made.joined(form for form, _, _ in slides):
        if made.letters_of(part) & {letter for _, *pair in slides for letter in pair}:
            return None
        term = made.value(part, dtype)
        windows = {made.windows[form].letter: (form, outer, inner) for form, outer, inner in slides}
        steps = {letter: made.windows[form].step for letter, (form, _, _) in windows.items()}
    others = [letter for letter in lost if letter not in {inner for _, _, inner in slides}]
    missing = tuple(letter for letter in (*others, *windows) if letter not in term.letters)
    if missing:
        letters = (*term.letters, *missing)
        term = Term(spread(term, letters, made.extents), letters)
    term = _fold(term, combiner, others)
    sizes, strides, dilations, letters = [], [], [], []
    for letter in term.letters:
        form, outer, inner = windows.get(letter, (None, letter, letter))
        step = steps.get(letter, 1)
        sizes.append(1 if form is None else made.extents[inner])
        strides.append(1 if form is None else _factor(made, form, outer) // step)
        dilations.append(1 if form is None else _factor(made, form, inner) // step)
        letters.append(outer)
    ones, none = (1,) * len(sizes), ((0, 0),) * len(sizes)
    start = Constant.of(identity_of(combiner, dtype), dtype)
    body = combiner_region(combiner, dtype)
    folded = ReduceWindow((term.value,), (start,), tuple(sizes), tuple(strides), ones, tuple(dilations), none, body)
    return Term(folded.results[0], tuple(letters))


def _as_convolution(
    made: Expressions, factors: Sequence[Part], letters: Sequence[set[int]], kept: Letters, lost: Letters, dtype: str
) -> Term | None:
    """An image whose windows are multiplied with a kernel: letters tell batch, groups, features and windows."""
    forms = [made.window_forms(each) for each in factors]
    images = [place for place, found in enumerate(forms) if found]
    kernels = [place for place, found in enumerate(letters) if found and not forms[place]]
    if len(images) != 1 or len(kernels) != 1:
        return None
    image, kernel = factors[images[0]], factors[kernels[0]]
    slides = _slides(made, forms[images[0]], kept, lost)
    taps = [inner for _, _, inner in slides]
    if not slides or not set(taps) <= letters[kernels[0]] or letters[kernels[0]] & {outer for _, outer, _ in slides}:
        return None
    with made.joined(form for form, _, _ in slides):
        if made.letters_of(image) & {letter for _, *pair in slides for letter in pair}:
            return None
        terms = [made.value(each, dtype) for place, each in enumerate(factors) if place not in (images[0], kernels[0])]
        data, *_ = _with_scalars([made.value(image, dtype), *terms])
        windows = [made.windows[form] for form, _, _ in slides]
    weights = made.value(kernel, dtype)
    axes = [
        _Axis(
            window.letter,
            inner,
            outer,
            stride=_factor(made, form, outer) // window.step,
            dilation=_factor(made, form, inner) // window.step,
        )
        for (form, outer, inner), window in zip(slides, windows, strict=True)
    ]
    return _convolve(made, data, weights, axes, kept, dtype)


def spread_part(made: Expressions, part: Part, axes: Sequence[Spread], kept: Letters, dtype: str) -> Term | None:
    """A sum of products in which each element of an image is spread over a window by a kernel: a transposed
    convolution. The letters of the axes that are written are `Spread.result`; None for what is none."""
    factors = _factors(part)
    if len(factors) < 2 or part.type not in FLOATS or dtype not in FLOATS or made.window_forms(part):
        return None
    letters = [made.letters_of(each) for each in factors]
    lettered = [place for place, found in enumerate(letters) if found]
    if len(lettered) != 2:
        return None
    first, second = lettered
    for axis in axes:
        sides = [
            {outer, inner} == {axis.steps.letter, axis.taps.letter}
            for outer in letters[first]
            for inner in letters[second]
        ]
        if sum(sides) != 1 or {axis.steps.letter, axis.taps.letter} & letters[first] & letters[second]:
            return None
    # What has the letters of larger steps is the image.
    image, kernel = lettered if axes[0].steps.letter in letters[first] else (second, first)
    turned = [
        axis if axis.steps.letter in letters[image] else Spread(axis.taps, axis.steps, axis.result) for axis in axes
    ]
    rest = [made.value(each, dtype) for place, each in enumerate(factors) if place not in lettered]
    data, *_ = _with_scalars([made.value(factors[image], dtype), *rest])
    spatial = [
        _Axis(
            axis.steps.letter,
            axis.taps.letter,
            axis.result,
            image_dilation=axis.steps.factor,
            dilation=axis.taps.factor,
            padding=axis.taps.factor * (axis.taps.count - 1),
            is_reversed=True,
        )
        for axis in turned
    ]
    return _convolve(made, data, made.value(factors[kernel], dtype), spatial, kept, dtype)


@dataclass(frozen=True)
class Spread:
    """An axis that is written at the sum of two letters, as one letter of its own."""

    steps: Stride
    taps: Stride
    result: int


@dataclass(frozen=True)
class _Axis:
    """A spatial axis of a convolution: its letters in image, kernel and result."""

    image: int
    kernel: int
    result: int
    stride: int = 1
    image_dilation: int = 1
    dilation: int = 1
    padding: int = 0
    is_reversed: bool = False


def _convolve(made: Expressions, data: Term, weights: Term, axes: Sequence[_Axis], kept: Letters, dtype: str) -> Term:
    """The convolution: letters tell batch, groups and features."""
    taps, places = [axis.kernel for axis in axes], [axis.image for axis in axes]
    data = sum_letters(data, [each for each in data.letters if each not in (*kept, *places, *weights.letters)])
    weights = sum_letters(weights, [each for each in weights.letters if each not in (*kept, *taps, *data.letters)])
    plain = [letter for letter in data.letters if letter not in places]
    groups = [letter for letter in plain if letter in weights.letters and letter in kept]
    summed = [letter for letter in plain if letter in weights.letters and letter not in kept]
    batch = [letter for letter in plain if letter not in weights.letters]
    features = [letter for letter in weights.letters if letter not in (*taps, *groups, *summed)]
    image = arrange(data, (*batch, *groups, *summed, *places))
    spatial = tuple(made.extents[letter] for letter in places)
    image = _reshaped(image, (_points(made, batch), _points(made, (*groups, *summed)), *spatial))
    window = tuple(made.extents[letter] for letter in taps)
    kernel = arrange(weights, (*groups, *features, *summed, *taps))
    kernel = _reshaped(kernel, (_points(made, (*groups, *features)), _points(made, summed), *window))
    inner = tuple(range(2, 2 + len(axes)))
    convolved = Convolution(
        image,
        kernel,
        tuple(axis.stride for axis in axes),
        tuple((axis.padding, axis.padding) for axis in axes),
        tuple(axis.image_dilation for axis in axes),
        tuple(axis.dilation for axis in axes),
        tuple(axis.is_reversed for axis in axes),
        *(0, 1, inner),
        *(1, 0, inner),
        *(0, 1, inner),
        _points(made, groups),
        precision_config=EXACT,
        dtype=dtype,
    )
    letters = (*batch, *groups, *features, *(axis.result for axis in axes))
    return Term(_reshaped(convolved, tuple(made.extents[letter] for letter in letters)), letters)


def _reshaped(value: Value, shape: tuple[int, ...]) -> Value:
    return value if value.shape == shape else Reshape(value, shape)
