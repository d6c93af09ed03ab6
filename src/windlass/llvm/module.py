"""A translation unit's device module, normalized by LLVM's own passes and ready to be read function by function."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from windlass.diagnostics import Diagnostic, Position, RaisingError
from windlass.diagnostics.limits import out_of_memory
from windlass.ir.signature import DeviceCode
from windlass.llvm.instruction_text import read_function
from windlass.llvm.layout import ArrayType, IntegerType, LLVMType, members_of
from windlass.llvm.names import NAME
from windlass.llvm.positions import DebugPositions
from windlass.llvm.syntax import (
    FunctionText,
    Members,
    Null,
    Number,
    Operand,
    Reader,
    Text,
    TypeTable,
    Undef,
    UnknownSyntax,
    Zero,
    name_of,
)

_TARGET_ATTRIBUTES = re.compile(r'"target-(?:cpu|features)"="[^"]*"')
_KEEPS_CALLS = re.compile(r"\b(?:noinline|optnone)\b ?")
_GROUP = re.compile(r" #(\d+)\b")
_END_OF_PARAMETERS = re.compile(r"(\)(?: (?:local_)?unnamed_addr)?)([^()]*\{)$")
_DEFINITION = re.compile(r"^define .*$", re.MULTILINE)
_TYPE = re.compile(r'^(%(?:[-\w$.]+|"[^"]*")) = type (.*)$', re.MULTILINE)
_GLOBAL = re.compile(r'^(@(?:[-\w$.]+|"[^"]*")) = (.*)$', re.MULTILINE)
_GLOBAL_KIND = re.compile(r"\b(global|constant)\b ")
_SPACE = re.compile(r"\baddrspace\((\d+)\)")
_NAME = re.compile(f"@{NAME}")


class GlobalVariable:
    """A variable of the module: its address space, type, and initializer (None where it is external)."""

    __slots__ = ("initializer", "is_constant", "name", "space", "type")

    def __init__(self, name: str, space: int, is_constant: bool, type: LLVMType, initializer: Operand | None) -> None:
        self.name = name
        self.space = space
        self.is_constant = is_constant
        self.type = type
        self.initializer = initializer

    @property
    def is_dynamic_shared(self) -> bool:
        """`extern __shared__ T name[]`: the launch gives the size."""
        return self.space == 3 and isinstance(self.type, ArrayType) and self.type.count == 0

    def contents(self) -> bytes | None:
        """The initial bytes; None where there are none, or where they hold addresses."""
        if self.initializer is None:
            return None
        try:
            data = bytearray(self.type.size)
        except (MemoryError, OverflowError):
            raise out_of_memory(f"a device variable of {self.type.size} bytes") from None
        return bytes(data) if write_constant(self.initializer, data, 0) else None


def write_constant(operand: Operand, data: bytearray, offset: int) -> bool:
    """Write a constant's bytes at an offset; False where it holds an address."""
    type_ = operand.type
    match operand:
        case Zero() | Undef() | Null():
            return True
        case Text(data=text):
            data[offset : offset + len(text)] = text
            return True
        case Members(members=members):
            return all(
                write_constant(member, data, offset + place)
                for (place, _), member in zip(members_of(type_), members, strict=True)
            )
        case Number(value=value):
            if isinstance(type_, IntegerType):
                piece = int(value).to_bytes(type_.size, "little")
            else:
                piece = float_bytes(float(value), type_.text)
            data[offset : offset + len(piece)] = piece
            return True
        case _:
            return False


def float_bytes(value: float, type_name: str) -> bytes:
    """The bytes of a float of an LLVM type."""
    if type_name == "bfloat":
        return np.float32(value).tobytes()[2:]
    dtype = {"half": np.float16, "float": np.float32, "double": np.float64}[type_name]
    with np.errstate(over="ignore"):
        return dtype(value).tobytes()


class DeviceModule:
    """The module of one `DeviceCode`: functions by their linker name, read when first asked for."""

    def __init__(self, code: DeviceCode) -> None:
        text = normalize(code.llvm_ir)
        self.code = code
        self.types = TypeTable({token: body.strip() for token, body in _TYPE.findall(text)})
        self.positions = DebugPositions(text, code.source_text)
        self._function_texts: dict[str, str] = {}
        self._functions: dict[str, FunctionText] = {}
        for found in _DEFINITION.finditer(text):
            end = text.index("\n}", found.start()) + 2
            name = _NAME.search(found.group(0))
            assert name is not None
            self._function_texts[name_of(name.group(0))] = text[found.start() : end]
        self._global_texts = {name_of(token): body for token, body in _GLOBAL.findall(text)}
        self._globals: dict[str, GlobalVariable] = {}

    @property
    def function_names(self) -> tuple[str, ...]:
        """The functions that have a body."""
        return tuple(self._function_texts)

    @property
    def global_names(self) -> tuple[str, ...]:
        return tuple(name for name in self._global_texts if not name.startswith("llvm."))

    def function(self, name: str) -> FunctionText:
        """The function of that linker name.

        Raises KeyError where the module defines none, UnknownSyntax where its text can't be read.
        """
        known = self._functions.get(name)
        if known is None:
            known = self._functions[name] = read_function(self._function_texts[name], self.types)
        return known

    def variable(self, name: str) -> GlobalVariable | None:
        """The global variable of that name, or None (functions, say)."""
        known = self._globals.get(name)
        if known is None and name in self._global_texts:
            body = self._global_texts[name]
            kind = _GLOBAL_KIND.search(body)
            if kind is None:
                return None
            head = body[: kind.start()]
            space = _SPACE.search(head)
            reader = Reader(body[kind.end() :], self.types)
            type_ = reader.read_type()
            is_external = re.search(r"\b(?:external|extern_weak)\b", head) is not None
            initializer = None if is_external else reader.read_value(type_)
            number = int(space.group(1)) if space else 0
            known = GlobalVariable(name, number, kind.group(1) == "constant", type_, initializer)
            self._globals[name] = known
        return known

    def refusal(
        self, code: str, headline: str, position: Position | None, kernel_name: str, help: str | None
    ) -> RaisingError:
        """The error that shows a source line of a kernel."""
        source = self.code.source_line(position)
        note = f"in kernel {kernel_name}"
        return RaisingError(Diagnostic(code, headline, position, source=source, notes=(note,), help=help))


def normalize(text: str) -> str:
    """Inline what is still called, promote what can live in registers, and give loops the form that is read later.

    Raises RaisingError (WL0209) where LLVM can't read the text.
    """
    import llvmlite.binding as llvm

    text = _TARGET_ATTRIBUTES.sub("", text)
    text, needs_inlining = force_inlining(text)
    with _lock:
        try:
            module: Any = llvm.parse_assembly(text)
        except RuntimeError as error:
            headline = f"LLVM can't read the device code: {str(error).strip()}"
            raise RaisingError(Diagnostic("WL0209", headline)) from error
        builder, manager = _pass_builder(), llvm.create_new_module_pass_manager()
        if needs_inlining:
            manager.add_always_inliner_pass()
            manager.add_sroa_pass()
            manager.add_simplify_cfg_pass()
            manager.add_instruction_combine_pass()
        manager.add_sroa_pass()
        manager.add_loop_simplify_pass()
        manager.add_loop_rotate_pass()
        manager.add_lcssa_pass()
        manager.run(module, builder)
        return str(module)


def force_inlining(text: str) -> tuple[str, bool]:
    """Mark every function that is no kernel `alwaysinline`; also tells whether there are any."""
    called = [line for line in _DEFINITION.findall(text) if "ptx_kernel" not in line]
    if not called:
        return text, False
    groups = {number for line in called for number in _GROUP.findall(line)}
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if line.startswith("attributes #"):
            line = _KEEPS_CALLS.sub("", line)
            if line.split(" ", 2)[1][1:] in groups:
                line = line.replace("{", "{ alwaysinline", 1)
            lines[index] = line
        elif line.startswith("define ") and "ptx_kernel" not in line and _GROUP.search(line) is None:
            lines[index] = _END_OF_PARAMETERS.sub(r"\1 alwaysinline\2", line)
    return "\n".join(lines), True


_lock = threading.Lock()
_builders: list[Any] = []


def _pass_builder() -> Any:
    """A pass builder for the host: the passes used here don't depend on the target."""
    if not _builders:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        _builders.append(machine)
        _builders.append(llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return _builders[1]


_modules: OrderedDict[int, DeviceModule] = OrderedDict()
_MODULES_KEPT = 64


def module_of(code: DeviceCode) -> DeviceModule:
    """The module of this code, read once and kept while it is among the last ones used."""
    key = id(code)
    known = _modules.get(key)
    if known is None:
        known = DeviceModule(code)
        _modules[key] = known
        if len(_modules) > _MODULES_KEPT:
            _modules.popitem(last=False)
    else:
        _modules.move_to_end(key)
    return known


__all__ = ["DeviceModule", "GlobalVariable", "UnknownSyntax", "module_of"]


def variable_contents(code: DeviceCode) -> dict[str, bytes]:
    """The initial bytes of the module's variables and constant tables, by linker name.

    Shared memory and variables that hold addresses are left out.
    """
    module = module_of(code)
    found: dict[str, bytes] = {}
    for name in module.global_names:
        variable = module.variable(name)
        if variable is not None and variable.space != 3:
            data = variable.contents()
            if data is not None:
                found[name] = data
    return found
