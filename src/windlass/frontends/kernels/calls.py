"""Calls: of conversions, of functions of Python's and NumPy's, and of other functions of the user's."""

from __future__ import annotations

import ast
import types as python_types
from collections.abc import Sequence
from typing import Any

from windlass.frontends.kernels import promotion
from windlass.frontends.kernels.functions import COMPLEX, ELEMENTWISE, lookup
from windlass.frontends.kernels.indexing import ArrayMethod, Indexing
from windlass.frontends.kernels.intrinsics import Intrinsic
from windlass.frontends.kernels.types import (
    KernelArray,
    KernelNumber,
    Known,
    Signature,
    Tuple,
    boolean,
    complex128,
    float32,
    float64,
    int32,
    int64,
    uint64,
)
from windlass.frontends.kernels.values import (
    NONE,
    HeldValue,
    constant_number,
    convert_number,
    known,
    tuple_of,
    unified,
)


class Calls(Indexing):
    """Function calls."""

    def call(self, node: ast.Call) -> HeldValue:
        """The value of a call."""
        callee = self.expression(node.func)
        if not isinstance(callee.type, Known):
            raise self.mistyped(node, f"{callee.type} can't be called")
        function = callee.constant
        if isinstance(function, Intrinsic):
            return self.intrinsic(node, function.name, function)
        positional: list[HeldValue] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                value = self.expression(argument.value)
                if not isinstance(value.type, Tuple):
                    raise self.mistyped(argument, f"only tuples can be spread into arguments, not {value.type}")
                positional += value.parts()
            else:
                positional.append(self.expression(argument))
        named = {each.arg: self.expression(each.value) for each in node.keywords if each.arg is not None}
        if isinstance(function, ArrayMethod):
            return self._method(node, function, positional)
        if isinstance(function, KernelNumber):
            return self._convert(node, positional, function)
        if isinstance(function, Signature):
            raise self.refuse(node, "a signature can't be called")
        found = lookup(function)
        if found is not None:
            kind, name = found
            if kind in ELEMENTWISE and any(isinstance(value.type, KernelArray) for value in positional):
                return self._on_arrays(node, kind, name, [*positional, *named.values()])
            return getattr(self, f"_{kind}")(node, name, positional, named)
        if isinstance(getattr(function, "py_func", function), python_types.FunctionType):
            return self.call_function(node, function, positional, named)
        if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
            fields: tuple[str, ...] = getattr(function, "_fields")  # noqa: B009 (no type has it)
            given = dict(zip(fields, positional, strict=False)) | named
            if set(given) != set(fields):
                raise self.mistyped(node, f"'{function.__name__}' takes {', '.join(fields)}")
            return tuple_of([given[field] for field in fields], fields)
        if isinstance(function, type) and issubclass(function, BaseException):
            return known(function)
        raise self.refuse(node, f"kernels can't call '{ast.unparse(node.func)}'", "write it as a function for cuda.jit")

    def _on_arrays(self, node: ast.Call, kind: str, name: str, values: list[HeldValue]) -> HeldValue:
        """A function of NumPy's on the elements of arrays, into the array that is its last argument."""
        *inputs, result = values
        if len(inputs) != ELEMENTWISE[kind] or not isinstance(result.type, KernelArray):
            raise self.refuse(
                node,
                f"'{ast.unparse(node.func)}' of arrays needs an array for its results",
                "give it as the last argument, or call the function for each element",
            )
        counters = [self.out.declare("long long", "counter") for _ in result.extents]
        for counter, extent in zip(counters, result.extents, strict=True):
            self.out.plain(f"for ({counter} = 0; {counter} < {extent}; {counter}++) {{")
        elements: list[HeldValue] = []
        for value in inputs:
            if isinstance(value.type, KernelArray):
                if value.array.ndim != result.array.ndim:
                    raise self.refuse(node, "arrays with different numbers of axes in one call")
                places = [(node, HeldValue(int64, (counter,), is_nonnegative=True, bits=47)) for counter in counters]
                element = self.element(node, value, places)
                elements.append(self.compute(node, value.array.dtype, element))
            else:
                elements.append(value)
        computed: HeldValue = getattr(self, f"_{kind}")(node, name, elements, {})
        offset = " + ".join(f"{counter} * {stride}" for counter, stride in zip(counters, result.strides, strict=True))
        self.assign_place(node, f"{result.pointer}[{offset or '0'}]", result.array.dtype, computed)
        self.out.plain("}" * len(counters))
        return result

    def intrinsic(self, node: ast.Call, name: str, function: Any) -> HeldValue:
        """A call of something that is there in kernels only."""
        raise NotImplementedError

    def call_function(
        self, node: ast.Call, function: Any, positional: list[HeldValue], named: dict[str, HeldValue]
    ) -> HeldValue:
        """A call of another function of the user's."""
        raise NotImplementedError

    def leave_if_failed(self, node: ast.AST) -> None:
        """Leave the function where one that it called raised an exception."""
        raise NotImplementedError

    # -- checks -------------------------------------------------------------------------------------------------------

    def _take(
        self, node: ast.Call, positional: list[HeldValue], least: int, most: int | None = None
    ) -> list[HeldValue]:
        if not least <= len(positional) <= (least if most is None else most):
            raise self.mistyped(node, f"'{ast.unparse(node.func)}' takes {least} arguments, got {len(positional)}")
        return positional

    def number_argument(self, node: ast.AST, value: HeldValue) -> HeldValue:
        """An argument that has to be a number."""
        if not isinstance(value.type, KernelNumber):
            raise self.mistyped(node, f"a number is needed here, this is {value.type}")
        return value

    def _numbers(
        self, node: ast.Call, positional: list[HeldValue], least: int, most: int | None = None
    ) -> list[HeldValue]:
        return [self.number_argument(node, value) for value in self._take(node, positional, least, most)]

    # -- conversions --------------------------------------------------------------------------------------------------

    def _convert(self, node: ast.Call, positional: list[HeldValue], number: KernelNumber) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        if value.number.kind == "c" and number.kind not in "cb":
            raise self.mistyped(
                node, f"a complex number can't become {number}", "take its .real or .imag, or abs of it"
            )
        if value.number == number:
            return value
        is_nonnegative = value.is_nonnegative and (number.bits > value.bits or number.kind == "u")
        return self.compute(
            node, number, convert_number(value, number), is_nonnegative=is_nonnegative, bits=min(value.bits, 64)
        )

    def _int(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        return value if value.number.is_integer else self._convert(node, positional, int64)

    def _float(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._take(node, positional, 1)
        if isinstance(value.constant, str):
            return constant_number(float(value.constant), float64)
        return value if value.type == float32 else self._convert(node, positional, float64)

    def _bool(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._take(node, positional, 1)
        return self.truth(node, value)

    def _complex_of(
        self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]
    ) -> HeldValue:
        values = self._numbers(node, positional, 1, 2)
        if values[0].number.kind == "c":
            return values[0]
        parts = [convert_number(value, float64) for value in values]
        return self.compute(node, complex128, f"windlass_make<double>({parts[0]}, {parts[1] if parts[1:] else '0'})")

    def _tuple(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._take(node, positional, 1)
        if not isinstance(value.type, Tuple):
            raise self.mistyped(node, f"a tuple can't be made of {value.type}")
        return value

    # -- functions of real numbers ------------------------------------------------------------------------------------

    def real_call(self, node: ast.AST, name: str, wanted: KernelNumber, values: list[HeldValue]) -> HeldValue:
        """A function of C's math library on numbers of one type."""
        suffix = "f" if wanted == float32 else ""
        arguments = ", ".join(convert_number(value, wanted) for value in values)
        return self.compute(node, wanted, f"{name}{suffix}({arguments})")

    def _real(self, node: ast.Call, name: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        if value.number.kind == "c":
            return self._complex(node, name, positional, named)
        return self.real_call(node, name, promotion.real_function(value.number), [value])

    def _real2(self, node: ast.Call, name: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        values = self._numbers(node, positional, 2)
        if any(value.number.kind == "c" for value in values):
            raise self.mistyped(node, f"'{name}' takes real numbers")
        a, b = (value.number for value in values)
        if (a.is_integral and b.is_integral) or (name == "pow" and b.is_integral):
            wanted = float64
        else:
            wanted = promotion.operated(a, b)
        return self.real_call(node, name, wanted, values)

    def _test(self, node: ast.Call, name: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        if value.number.is_integral:
            return constant_number(name == "isfinite", boolean)
        if value.number.kind == "c":
            joint = "&&" if name == "isfinite" else "||"
            return self.compute(node, boolean, f"({name}({value.text}.x) {joint} {name}({value.text}.y))")
        return self.compute(node, boolean, f"({name}({value.text}) != 0)")

    def _complex(
        self, node: ast.Call, name: str, positional: list[HeldValue], named: dict[str, HeldValue]
    ) -> HeldValue:
        if name == "log" and len(positional) == 2:
            logarithms = [self._complex(node, name, [each], {}) for each in positional]
            return self.operate(node, "/", *logarithms)
        (value,) = self._numbers(node, positional, 1)
        wanted = value.number if value.number.kind == "c" else complex128
        if name not in COMPLEX:
            raise self.refuse(node, f"'{name}' of complex numbers")
        return self.compute(node, wanted, f"windlass_{name}({convert_number(value, wanted)})")

    def _whole(self, node: ast.Call, name: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        if value.number.is_integral:
            wanted = promotion.widened(value.number)
            return HeldValue(wanted, (convert_number(value, wanted),), value.constant, value.is_nonnegative, value.bits)
        return self.compute(node, int64, f"(long long){name}{'f' if value.type == float32 else ''}({value.text})")

    def _scaled(
        self, node: ast.Call, factor: str, positional: list[HeldValue], named: dict[str, HeldValue]
    ) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        wanted = promotion.real_function(value.number)
        return self.compute(node, wanted, f"({convert_number(value, wanted)} * ({wanted.cpp}){factor})")

    def _ldexp(self, node: ast.Call, name: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        value, exponent = self._numbers(node, positional, 2)
        wanted = promotion.real_function(value.number)
        suffix = "f" if wanted == float32 else ""
        return self.compute(
            node, wanted, f"ldexp{suffix}({convert_number(value, wanted)}, {convert_number(exponent, int32)})"
        )

    def _frexp(self, node: ast.Call, name: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        wanted = promotion.real_function(value.number)
        exponent = self.out.declare("int")
        suffix = "f" if wanted == float32 else ""
        part = self.compute(node, wanted, f"frexp{suffix}({convert_number(value, wanted)}, &{exponent})")
        return tuple_of([part, HeldValue(int32, (exponent,))])

    def _modf(self, node: ast.Call, name: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        wanted = promotion.real_function(value.number)
        whole = self.out.declare(wanted.cpp)
        suffix = "f" if wanted == float32 else ""
        part = self.compute(node, wanted, f"modf{suffix}({convert_number(value, wanted)}, &{whole})")
        return tuple_of([part, HeldValue(wanted, (whole,))])

    def _phase(self, node: ast.Call, name: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        text = self._as_complex(value).text
        wanted = float32 if value.number.bits == 64 and value.number.kind == "c" else float64
        return self.compute(node, wanted, f"atan2({text}.y, {text}.x)")

    def _polar(self, node: ast.Call, name: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        return tuple_of([self._absolute(node, "", [self._as_complex(value)], {}), self._phase(node, "", [value], {})])

    def _as_complex(self, value: HeldValue) -> HeldValue:
        return value if value.number.kind == "c" else HeldValue(complex128, (convert_number(value, complex128),))

    def _rect(self, node: ast.Call, name: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        size, angle = (convert_number(value, float64) for value in self._numbers(node, positional, 2))
        return self.compute(node, complex128, f"windlass_polar({size}, {angle})")

    def _comparison(
        self, node: ast.Call, name: str, positional: list[HeldValue], named: dict[str, HeldValue]
    ) -> HeldValue:
        first, second = self._numbers(node, positional, 2)
        return self.compare(node, getattr(ast, name)(), first, second)

    def _logic(
        self, node: ast.Call, symbol: str, positional: list[HeldValue], named: dict[str, HeldValue]
    ) -> HeldValue:
        values = self._numbers(node, positional, 1 if symbol == "!" else 2)
        texts = [convert_number(value, boolean) for value in values]
        text = f"!{texts[0]}" if symbol == "!" else f"(bool)({texts[0]} {symbol} {texts[1]})"
        return self.compute(node, boolean, text)

    def _inverse(
        self, node: ast.Call, symbol: str, positional: list[HeldValue], named: dict[str, HeldValue]
    ) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        if symbol == "-":
            return self.negate(node, value)
        return self.invert(node, value)

    # -- functions of all numbers -------------------------------------------------------------------------------------

    def _operator(
        self, node: ast.Call, symbol: str, positional: list[HeldValue], named: dict[str, HeldValue]
    ) -> HeldValue:
        first, second = self._take(node, positional, 2)
        return self.operate(node, symbol, first, second)

    def _absolute(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        number, text = value.number, value.text
        if number.kind == "c":
            part = float32 if number.bits == 64 else float64
            return self.compute(node, part, f"hypot{'f' if part == float32 else ''}({text}.x, {text}.y)")
        if number.kind == "f":
            return self.real_call(node, "fabs", number, [value])
        if number.kind == "u" or value.is_nonnegative:
            return value
        return self.compute(node, number, f"({number.cpp})({text} < 0 ? -{text} : {text})", bits=value.bits)

    def extreme(self, node: ast.AST, is_least: bool, values: list[HeldValue]) -> HeldValue:
        """The least or the greatest of some numbers."""
        result = values[0]
        for value in values[1:]:
            wanted = unified(result.type, value.type)
            if not isinstance(wanted, KernelNumber) or wanted.kind == "c":
                raise self.mistyped(node, f"{result.type} and {value.type} have no order")
            a, b = convert_number(result, wanted), convert_number(value, wanted)
            if wanted.kind == "f":
                name = f"f{'min' if is_least else 'max'}{'f' if wanted == float32 else ''}"
                result = self.compute(node, wanted, f"{name}({a}, {b})")
                continue
            if result.is_constant and value.is_constant:
                chosen = (min if is_least else max)(result.constant, value.constant)
                result = constant_number(chosen, wanted)
                continue
            both, either = (
                result.is_nonnegative and value.is_nonnegative,
                result.is_nonnegative or value.is_nonnegative,
            )
            is_nonnegative = both if is_least else either
            name = f"windlass_{'minimum' if is_least else 'maximum'}<{wanted.cpp}>"
            bits = max(result.bits, value.bits)
            if is_least and both:
                bits = min(result.bits, value.bits)
            result = self.compute(node, wanted, f"{name}({a}, {b})", is_nonnegative=is_nonnegative, bits=bits)
        return result

    def _extreme_of(
        self, node: ast.Call, is_least: bool, positional: list[HeldValue], named: dict[str, HeldValue]
    ) -> HeldValue:
        if named:
            raise self.refuse(node, "min and max with key or default")
        values = positional
        if len(values) == 1 and isinstance(values[0].type, Tuple):
            values = values[0].parts()
        if len(values) < 2 and not (values and isinstance(positional[0].type, Tuple)):
            raise self.mistyped(node, "min and max take two or more numbers, or a tuple of them")
        return self.extreme(node, is_least, [self.number_argument(node, value) for value in values])

    def _smallest(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        return self._extreme_of(node, True, positional, named)

    def _largest(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        return self._extreme_of(node, False, positional, named)

    def _round(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        values = self._numbers(node, [*positional, *named.values()], 1, 2)
        value = values[0]
        if len(values) == 1:
            if value.number.is_integral:
                return HeldValue(int64, (convert_number(value, int64),))
            name = "llrintf" if value.type == float32 else "llrint"
            return self.compute(node, int64, f"{name}({value.text})")
        wanted = promotion.real_function(value.number)
        return self.compute(
            node,
            wanted,
            f"({wanted.cpp})windlass_round({convert_number(value, float64)}, {convert_number(values[1], int64)})",
        )

    def _square(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        return self.multiply(node, value, value)

    def _sign(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        text, number = value.text, value.number
        if number.kind == "f":
            return self.compute(node, number, f"({text} > 0 ? 1 : {text} < 0 ? -1 : {text})")
        return self.compute(node, number, f"({number.cpp})(({text} > 0) - ({text} < 0))", bits=1)

    def _reciprocal(
        self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]
    ) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        if value.number.kind != "f":
            raise self.refuse(node, f"'reciprocal' of {value.type}")
        return self.compute(node, value.type, f"(1 / {value.text})")

    def _part(self, node: ast.Call, name: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        return self._number_attribute(
            ast.copy_location(ast.Attribute(node.func, name), node), value, value.number, name
        )

    def _conjugate(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._numbers(node, positional, 1)
        if value.number.kind != "c":
            return value
        part = "float" if value.number.bits == 64 else "double"
        return self.compute(node, value.type, f"windlass_make<{part}>({value.text}.x, -{value.text}.y)")

    def _divmod(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        first, second = self._numbers(node, positional, 2)
        return tuple_of([self.operate(node, "//", first, second), self.operate(node, "%", first, second)])

    def _len(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        (value,) = self._take(node, positional, 1)
        if isinstance(value.type, Tuple):
            return constant_number(len(value.type.types), int64)
        if isinstance(value.type, KernelArray) and value.array.ndim:
            return self._extent(value.extents[0])
        raise self.mistyped(node, f"{value.type} has no length")

    def _range(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        raise self.refuse(node, "a range that is not looped over", "write it in the for statement: for i in range(...)")

    # -- methods ------------------------------------------------------------------------------------------------------

    def _method(self, node: ast.Call, method: ArrayMethod, positional: list[HeldValue]) -> HeldValue:
        value, name = method.value, method.name
        if isinstance(value.type, KernelNumber):
            return self._conjugate(node, "", [value], {})
        array = value.array
        if name == "view" and len(positional) == 1:
            return self._view_as(node, value, positional[0])
        if name in ("ravel", "flatten") and array.layout == "C":
            size = self.compute(node, int64, f"({' * '.join(value.extents)})", is_nonnegative=True, bits=47)
            return HeldValue(KernelArray(array.dtype, 1, "C"), (value.pointer, size.text))
        if name == "reshape" and array.layout == "C":
            extents: list[HeldValue] = []
            for each in positional:
                extents += each.parts() if isinstance(each.type, Tuple) else [each]
            return self._reshaped(node, value, [self.integer(node, each) for each in extents])
        if name == "item" and array.ndim == 0:
            return self.compute(node, array.dtype, f"*{value.pointer}")
        raise self.refuse(node, f"'{name}' of an array", "write it as a loop over the elements")

    def _reshaped(self, node: ast.Call, value: HeldValue, extents: Sequence[HeldValue]) -> HeldValue:
        """The same elements in another shape, in which one negative extent is what is left for it."""
        size = self.compute(node, int64, f"({' * '.join(value.extents) or '1'})", is_nonnegative=True, bits=47).text
        wanted = [convert_number(each, int64) for each in extents]
        unknown = [text for each, text in zip(extents, wanted, strict=True) if not each.is_nonnegative]
        if unknown:
            self.out.plain(f"if ({' + '.join(f'({text} < 0)' for text in unknown)} > 1) {{")
            self.fail_with(node, ValueError, ("multiple negative shape values",))
            self.out.plain("}")
            known = " * ".join(f"windlass_known({text})" for text in wanted)
            rest = self.compute(node, int64, f"windlass_rest({size}, {known})", is_nonnegative=True, bits=47).text
            wanted = [
                self.compute(node, int64, f"({text} < 0 ? {rest} : {text})", is_nonnegative=True, bits=47).text
                if text in unknown
                else text
                for text in wanted
            ]
        self.out.plain(f"if ({' * '.join(wanted) or '1'} != {size}) {{")
        self.fail_with(node, ValueError, ("total size of new array must be unchanged",))
        self.out.plain("}")
        return HeldValue(KernelArray(value.array.dtype, len(wanted), "C"), (value.pointer, *wanted))

    def _view_as(self, node: ast.Call, value: HeldValue, dtype: HeldValue) -> HeldValue:
        """The memory of an array as elements of another type."""
        array, wanted = value.array, dtype.constant
        if not isinstance(wanted, KernelNumber) or array.layout != "C" or not array.ndim:
            raise self.refuse(node, "a view of this array as another dtype", "make the view before the launch")
        pointer = self.compute_pointer(node, f"({wanted.cpp} *){value.pointer}", wanted)
        have, want = array.dtype.dtype.itemsize, wanted.dtype.itemsize
        last = value.extents[-1]
        if have != want:
            last = self.compute(node, int64, f"({last} * {have}LL / {want}LL)", is_nonnegative=True, bits=50).text
        return HeldValue(KernelArray(wanted, array.ndim, "C"), (pointer, *value.extents[:-1], last))

    # -- printing -----------------------------------------------------------------------------------------------------

    def _print(self, node: ast.Call, _: str, positional: list[HeldValue], named: dict[str, HeldValue]) -> HeldValue:
        formats: list[str] = []
        arguments: list[str] = []
        for value in positional:
            self._print_one(node, value, formats, arguments)
        text = " ".join(formats) + "\\n"
        self.unit.prints = True
        self.write(node, f"printf({', '.join([chr(34) + text + chr(34), *arguments])});")
        return NONE

    def _print_one(self, node: ast.Call, value: HeldValue, formats: list[str], arguments: list[str]) -> None:
        match value.type:
            case KernelNumber(kind="b"):
                formats.append("%s")
                arguments.append(f'({value.text} ? "True" : "False")')
            case KernelNumber() as number if number.is_integer:
                formats.append("%llu" if number.kind == "u" else "%lld")
                arguments.append(convert_number(value, uint64 if number.kind == "u" else int64))
            case KernelNumber(kind="f"):
                formats.append("%f")
                arguments.append(convert_number(value, float64))
            case Known() if isinstance(value.constant, str):
                quoted = (
                    value.constant.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("%", "%%")
                )
                formats.append(quoted)
            case Tuple() if len(value.parts()) == 3:
                formats.append("(" + ", ".join(["%lld"] * 3) + ")")
                arguments += [convert_number(part, int64) for part in value.parts()]
            case _:
                raise self.refuse(node, f"kernels can't print {value.type}", "print numbers and texts")
