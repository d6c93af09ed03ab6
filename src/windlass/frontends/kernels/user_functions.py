"""The user's other functions that a kernel calls: each is translated once for each choice of its arguments' types."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from typing import Any

import numpy as np

from windlass.frontends.kernels.body import Body
from windlass.frontends.kernels.names import cpp_name
from windlass.frontends.kernels.source import FunctionSource, read_function
from windlass.frontends.kernels.statements import FunctionTranslator
from windlass.frontends.kernels.types import HeldType, KernelArray, KernelNumber, Known, NoneType, Signature, Tuple
from windlass.frontends.kernels.unit import CalledFunction
from windlass.frontends.kernels.values import NONE, HeldValue, Unusable, convert_number

DEEPEST = 60


class KernelTranslator(FunctionTranslator):
    """A kernel or a function that it calls, in translation, with all that it calls in its turn."""

    def call_function(
        self, node: ast.Call, function: Any, positional: list[HeldValue], named: dict[str, HeldValue]
    ) -> HeldValue:
        source = read_function(function)
        values = _bind(self, node, source, positional, named)
        wanted = _signature_of(function, values)
        if wanted is not None:
            values = [
                _as_declared(self, node, value, type_) for value, type_ in zip(values, wanted.arguments, strict=True)
            ]
        called = self._translated(node, source, values, None if wanted is None else wanted.result)
        arguments = [text for value in values for text in value.leaves]
        if called.can_fail:
            arguments.append("windlass_failed")
            if self.unit.is_debugged:
                arguments.append("windlass_error")
        return self._write_call(node, called, arguments)

    def _write_call(self, node: ast.AST, called: CalledFunction, arguments: list[str]) -> HeldValue:
        text = f"{called.name}({', '.join(arguments)})"
        leaves = called.result.leaves()
        if isinstance(called.result, NoneType):
            self.write(node, f"{text};")
            value = NONE
        elif len(leaves) == 1:
            value = self.compute(node, called.result, text)
        else:
            struct = self.out.declare(f"{called.name}_result", "result")
            self.write(node, f"{text};", f"{struct} =")
            value = HeldValue(called.result, tuple(f"{struct}.v{place}" for place in range(len(leaves))))
        if called.can_fail:
            self.leave_if_failed(node)
        return value

    def _translated(
        self, node: ast.Call, source: FunctionSource, values: list[HeldValue], declared: HeldType | None
    ) -> CalledFunction:
        """The function for arguments of these types, translated where it is not yet."""
        unit = self.unit
        key = (
            source.function.__code__,
            tuple(map(id, source.closure.values())),
            tuple((value.type, _key_of(value), value.is_nonnegative) for value in values),
            declared,
        )
        if any(key == running or running[0] is key[0] for running, _ in unit.calls):
            raise self.refuse(node, f"'{source.name}' calls itself", "write the recursion as a loop")
        if len(unit.calls) > DEEPEST:
            raise self.refuse(node, f"calls are nested more than {DEEPEST} deep")
        if key not in unit.functions:
            unit.kept.append(source)
            unit.enter(key, f"called at {self.source.position(node)}")
            unit.functions[key] = KernelTranslator(unit, source).translate_called(values, declared)
            unit.calls.pop()
        return unit.functions[key]

    def translate_called(self, values: list[HeldValue], declared: HeldType | None) -> CalledFunction:
        """Write the function for these arguments into the unit."""
        source, unit = self.source, self.unit
        name = f"{cpp_name(source.name)}_{len(unit.functions)}_{len(unit.parts)}"
        unit.files.append(source.file)
        parameters: list[str] = []
        for parameter, value in zip(source.parameters, values, strict=True):
            leaves = value.type.leaves()
            names = tuple(f"{cpp_name(parameter.arg)}_p{place}" for place in range(len(leaves)))
            inside = value if isinstance(value.type, Known | NoneType) else replace(value, leaves=names)
            if isinstance(value.type, KernelNumber) and not value.is_constant:
                inside = replace(inside, bits=value.type.full_bits)
            parameters += self.take_parameter(parameter, names, inside)
        self.translate()
        result = self._declared_result(declared)
        self.finish_returns(result)
        if self.can_fail:
            parameters.append("bool &windlass_failed")
            if unit.is_debugged:
                parameters.append("long long *windlass_error")
        unit.parts.append(self._text_of(name, parameters, result.leaves()))
        return CalledFunction(name, result, self.can_fail)

    def take_parameter(self, parameter: ast.arg, names: tuple[str, ...], value: HeldValue) -> list[str]:
        """Let the parameter's name stand for the value; the declarations of its leaves, by these names."""
        assert self.names is not None
        self.unit.note_type(value.type)
        self.out.names |= dict.fromkeys(names, self.source)
        self.names[parameter.arg] = value
        return [f"{cpp} {leaf}" for cpp, leaf in zip(value.type.leaves(), names, strict=True)]

    def _declared_result(self, declared: HeldType | None) -> HeldType:
        result = self.result()
        if (
            isinstance(declared, KernelNumber)
            and isinstance(result, KernelNumber)
            and (declared.kind == "c" or result.kind != "c")
        ):
            return declared
        if isinstance(result, Unusable | Known) or (isinstance(result, Tuple) and not result.leaves()):
            reason = result.reason if isinstance(result, Unusable) else str(result)
            raise self.mistyped(self.source.tree, f"what '{self.source.name}' returns can't be used: it is {reason}")
        return result

    def _text_of(self, name: str, parameters: list[str], leaves: tuple[str, ...]) -> str:
        returned = "void" if not leaves else leaves[0] if len(leaves) == 1 else f"{name}_result"
        text: list[str] = []
        if len(leaves) > 1:
            members = " ".join(f"{cpp} v{place};" for place, cpp in enumerate(leaves))
            text.append(f"struct {name}_result {{ {members} }};")
        text.append(f'#line {self.source.tree.lineno} "{self.out.file}"')
        text.append(f"WINDLASS_PYTHON {returned} {name}({', '.join(parameters)}) {{")
        text.append(self.out.text().replace("return windlass_nothing;", "return {};" if leaves else "return;"))
        text.append("}")
        return "\n".join(text)


def _signature_of(function: Any, values: list[HeldValue]) -> Signature | None:
    """The signature that a function was declared with and that these arguments fit best."""
    declared = [each for each in getattr(function, "signatures", ()) if isinstance(each, Signature)]
    fitting: list[tuple[int, Signature]] = []
    for each in declared:
        if len(each.arguments) == len(values):
            costs = [_cost(value.type, type_) for value, type_ in zip(values, each.arguments, strict=True)]
            if None not in costs:
                fitting.append((sum(cost for cost in costs if cost is not None), each))
    return min(fitting, key=lambda pair: pair[0])[1] if fitting else declared[0] if declared else None


def _cost(have: HeldType, want: HeldType) -> int | None:
    match have, want:
        case KernelNumber(), KernelNumber() if want.kind == "c" or have.kind != "c":
            return 0 if have == want else 1 if np.can_cast(have.dtype, want.dtype) else 10
        case KernelArray(), KernelArray():
            return 0 if have.dtype == want.dtype and have.ndim == want.ndim else None
        case _:
            return 0 if have == want else None


def _as_declared(caller: Body, node: ast.Call, value: HeldValue, type_: HeldType) -> HeldValue:
    if isinstance(type_, KernelArray) and _cost(value.type, type_) == 0:
        return value
    if _cost(value.type, type_) is None:
        raise caller.mistyped(node, f"the function is declared for {type_}, and gets {value.type}")
    if isinstance(type_, KernelNumber) and value.type != type_:
        return caller.compute(node, type_, convert_number(value, type_))
    return value


def _key_of(value: HeldValue) -> Any:
    """Functions are compiled for each set of known integers that they are called with: these may be shapes in them."""
    return id(value.constant) if isinstance(value.type, Known) else repr(value.constant)


def _bind(
    caller: Body, node: ast.Call, source: FunctionSource, positional: list[HeldValue], named: dict[str, HeldValue]
) -> list[HeldValue]:
    """The arguments of a call, one for each parameter."""
    names = [parameter.arg for parameter in source.parameters]
    if len(positional) > len(names):
        raise caller.mistyped(node, f"'{source.name}' takes {len(names)} arguments, got {len(positional)}")
    given = dict(zip(names, positional, strict=False))
    for name, value in named.items():
        if name not in names or name in given:
            raise caller.mistyped(node, f"'{source.name}' has no free parameter '{name}'")
        given[name] = value
    defaults = {
        name: each.default
        for name, each in inspect.signature(source.function).parameters.items()
        if each.default is not inspect.Parameter.empty
    }
    for name in names:
        if name not in given:
            if name not in defaults:
                raise caller.mistyped(node, f"'{source.name}' is called without its argument '{name}'")
            given[name] = caller.frozen(node, defaults[name], name)
    return [given[name] for name in names]
