"""What a procedure means, written as loops over points and elements: what its tensor program is held to."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.frontends.notation import Procedure, Slot, Source
from windlass.frontends.notation.element_types import INTEGER, NUMBER, join, own_type
from windlass.frontends.notation.ranges import RangeFinder
from windlass.frontends.notation.terms import (
    Declared,
    Entry,
    Index,
    Literal,
    Operation,
    Part,
    Read,
    Size,
    Update,
    indices_in,
)
from windlass.ir.types import NUMPY_DTYPES
from windlass.ops import convert_array

Array: TypeAlias = NDArray[Any]

UNARY: dict[str, Any] = {
    "negate": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "floor": np.floor,
    "ceil": np.ceil,
    "!": np.logical_not,
}
BINARY: dict[str, Any] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "pow": np.power,
    "atan2": np.arctan2,
    "<": np.less,
    ">": np.greater,
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
BEGINNINGS = {"+": 0, "*": 1}


class Outside(Exception):
    """A look-up outside of its tensor."""


def run(source: Source, procedure: Procedure, arguments: Sequence[Array]) -> list[Array]:
    """The results, element by element.

    Raises LaunchError as `lower` does, Outside for a look-up outside of its tensor.
    """
    run = _Run(source)
    run.enter(procedure.parameters, arguments)
    for step in procedure.steps:
        if isinstance(step, Update):
            run.update(step)
        elif isinstance(step, Entry):
            run.enter(step.parameters, [run.values[key] for key in step.arguments])
        else:
            run.declare(step)
    return [run.values[slot.name] for slot in procedure.results]


class _Run:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.values: dict[str, Array] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.sizes: dict[str, int] = {}

    def enter(self, slots: Sequence[Slot], arguments: Sequence[Array]) -> None:
        for slot, array in zip(slots, arguments, strict=True):
            self.values[slot.name], self.shapes[slot.name] = array, array.shape
            for part, size in zip(slot.sizes or (), array.shape, strict=True):
                if isinstance(part, Size):
                    self.sizes[part.name] = size

    def declare(self, step: Declared) -> None:
        self.shapes[step.slot.name] = tuple(int(self.value(part, {})) for part in step.slot.sizes or ())

    def update(self, update: Update) -> None:
        ranges = RangeFinder(self.source, update, self.shapes, self.sizes).find()
        names = list({name: None for part in (*update.subscripts, update.value) for name in indices_in(part)})
        points = [dict(zip(names, each, strict=True)) for each in self._points(names, ranges)]
        places = [tuple(int(self.value(part, point)) for part in update.subscripts) for point in points]
        shape = self.shapes.get(update.target)
        if shape is None:
            shape = tuple(self._size(part, ranges) for part in update.subscripts)
        dtype = NUMPY_DTYPES[update.type]
        goes_on = update.is_there and not update.begins_anew
        made = self.values[update.target].copy() if goes_on else self._beginning(update.combiner, shape, dtype)
        combine = self._combine(update)
        for point, place in zip(points, places, strict=True):
            element = self._converted(update.value, point, update.type)
            made[place] = element if combine is None else combine(made[place], element)
        self.values[update.target], self.shapes[update.target] = made, shape

    def _size(self, subscript: Part, ranges: Mapping[str, tuple[int, int]]) -> int:
        """How far the target reaches along an axis."""
        names = list(indices_in(subscript))
        points = (dict(zip(names, each, strict=True)) for each in self._points(names, ranges))
        return 1 + max((int(self.value(subscript, point)) for point in points), default=-1)

    @staticmethod
    def _points(names: Sequence[str], ranges: Mapping[str, tuple[int, int]]) -> Any:
        return itertools.product(*(range(*ranges[name]) for name in names))

    @staticmethod
    def _beginning(combiner: str | None, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        number: Any = BEGINNINGS.get(combiner or "+")
        if number is None:
            sign = -1 if combiner == "max" else 1
            if dtype.kind == "b":
                number = combiner == "min"
            else:
                number = sign * np.inf if dtype.kind in "fV" else [np.iinfo(dtype).max, np.iinfo(dtype).min][sign < 0]
        return np.full(shape, number, dtype)

    @staticmethod
    def _combine(update: Update) -> Any:
        if update.combiner is None:
            return None
        if update.type == "i1":
            return {"max": np.logical_or, "min": np.logical_and}[update.combiner]
        return BINARY[update.combiner]

    # -- expressions --------------------------------------------------------------------------------------------------

    def _converted(self, part: Part, point: Mapping[str, int], dtype: str) -> Any:
        """The part in an element type: a number without one is computed in this one, integers exactly."""
        if part.type == NUMBER:
            return self._number(part, point, dtype)
        return convert_array(np.asarray(self.value(part, point)), dtype)[()]

    def _number(self, part: Part, point: Mapping[str, int], dtype: str) -> Any:
        if isinstance(part, Literal):
            return NUMPY_DTYPES[dtype].type(part.value)
        assert isinstance(part, Operation)
        if not any(isinstance(each, Index | Read) for each in _all(part)) and part.sign in ("+", "-", "*", "/"):
            return NUMPY_DTYPES[dtype].type(self._constant(part))
        if part.sign == "?:":
            yes, no = part.operands[1:]
            return self._converted(yes if self.value(part.operands[0], point) else no, point, dtype)
        return self._apply(part.sign, [self._converted(each, point, dtype) for each in part.operands], dtype)

    def _constant(self, part: Part) -> float:
        if isinstance(part, Literal):
            return float(part.value)
        if part.type == INTEGER:
            return float(self.value(part, {}))
        assert isinstance(part, Operation)
        values = [self._constant(each) for each in part.operands]
        return float(self._apply(part.sign, values, "f64"))

    def value(self, part: Part, point: Mapping[str, int]) -> Any:
        """An integer without an element type as Python's, all else as NumPy's scalar."""
        if isinstance(part, Literal):
            return part.value
        if isinstance(part, Size):
            return self.sizes[part.name]
        if isinstance(part, Index):
            return point[part.name]
        if isinstance(part, Read):
            array = self.values[part.tensor]
            place = tuple(int(self.value(each, point)) for each in part.subscripts)
            if any(not 0 <= each < size for each, size in zip(place, array.shape, strict=True)):
                raise Outside
            return array[place]
        return self._operation(part, point)

    def _operation(self, part: Operation, point: Mapping[str, int]) -> Any:
        sign, operands = part.sign, part.operands
        if sign == "?:":
            chosen = operands[1] if self.value(operands[0], point) else operands[2]
            return self.value(chosen, point) if part.type == INTEGER else self._converted(chosen, point, part.type)
        if sign == "cast":
            (operand,) = operands
            if operand.type == NUMBER and NUMPY_DTYPES[part.type].kind not in "fV":
                return convert_array(np.asarray(self._number(operand, point, "f32")), part.type)[()]
            return self._converted(operand, point, part.type)
        if part.type == INTEGER:
            return self._integers(sign, [self.value(each, point) for each in operands])
        if sign in ("&&", "||"):
            # As in C, the second is looked at only where the first does not decide.
            first = bool(self.value(operands[0], point))
            return bool(self.value(operands[1], point)) if first == (sign == "&&") else first
        common = part.type
        if sign in ("<", ">", "<=", ">=", "==", "!="):
            left, right = (each.type for each in operands)
            if left == right == INTEGER:
                return BINARY[sign](*(self.value(each, point) for each in operands))
            common = own_type(str(join(left, right)))
        return self._apply(sign, [self._converted(each, point, common) for each in operands], common)

    @staticmethod
    def _integers(sign: str, values: Sequence[int]) -> int:
        left, right = values[0], values[-1]
        if sign in ("/", "%"):
            quotient = int(np.trunc(left / right))
            return quotient if sign == "/" else left - quotient * right
        return int(UNARY[sign](left) if len(values) == 1 else BINARY[sign](left, right))

    @staticmethod
    def _apply(sign: str, values: Sequence[Any], dtype: str) -> Any:
        with np.errstate(all="ignore"):
            if sign == "/":
                if NUMPY_DTYPES[dtype].kind in "iu":
                    return NUMPY_DTYPES[dtype].type(int(np.trunc(int(values[0]) / int(values[1]))))
                return np.divide(*values)
            if sign == "%":
                return np.fmod(*values)
            return UNARY[sign](values[0]) if len(values) == 1 else BINARY[sign](*values)


def _all(part: Part) -> list[Part]:
    inner = part.subscripts if isinstance(part, Read) else part.operands if isinstance(part, Operation) else ()
    return [part, *(each for one in inner for each in _all(one))]
