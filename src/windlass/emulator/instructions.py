"""The instructions of one function of device LLVM IR, each with what has to be checked before it.

Text to text, one instruction at a time: loads, stores and atomics get a call of the runtime library in front, hardware
intrinsics become such calls, `alloca`s come from checked local memory, divisions and float-to-integer conversions are
made total as on the GPU, backward branches count. Each instrumented instruction is a `Site` by which the runtime
library, and then the error message, refers to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from windlass.emulator.arithmetic import convert_to_integer, divide, shift
from windlass.emulator.intrinsics import (
    RUNTIME_CALLS,
    WITHOUT_EFFECT,
    RuntimeCall,
    fits,
    write_runtime_call,
)
from windlass.emulator.mathematics import FUNCTIONS, is_known_intrinsic, ordering_zeros, rounding_before_conversion
from windlass.emulator.sites import ATOMIC, RELAXED, SPECULATED, VOLATILE, FunctionFacts, Site
from windlass.emulator.speculation import SpeculatedChoice, speculated_loads
from windlass.llvm.names import NAME, strip_quotes
from windlass.llvm.text import Layouts, balanced_end, split_at_commas, take_argument, take_operand, take_type

PREFIX = "windlass."
_INSTRUCTION = re.compile(rf"^\s+(?:(%{NAME}) = )?(?:(?:tail|musttail|notail) )?([a-z_]+)(.*)$")
_DEBUG = re.compile(r", !dbg !(\d+)")
_METADATA = re.compile(r",? ![A-Za-z_.]+ !\d+")
_LABEL_LINE = re.compile(rf"^({NAME}):")
_LABELS = re.compile(rf"label %({NAME})")
ATTRIBUTE_GROUP = re.compile(r"( #\d+)+(?= \[|$| \{)")
_CALLEE = re.compile(rf"([@%]{NAME})\(")
DEFINE = re.compile(rf"^define (.*?)(@{NAME})\((.*)$")
_EXCHANGED_POINTER = re.compile(rf"= cmpxchg (?:weak )?(?:volatile )?ptr(?: addrspace\(\d+\))? (%{NAME})[,)]")
LINKAGE = re.compile(
    r"\b(?:private|internal|available_externally|linkonce_odr|weak_odr|linkonce|weak|common|extern_weak|external|"
    r"dso_local|dso_preemptable|hidden|protected|default|local_unnamed_addr|unnamed_addr|ptx_kernel|ptx_device|fastcc|"
    r"coldcc|ccc|spir_kernel|noundef|nonnull|signext|zeroext|noalias|inreg|internal|thread_local|dllexport)\b ?"
)
_RETURN_ATTRIBUTE = re.compile(
    r"(?:align \d+|range\([^)]*\)|dereferenceable(?:_or_null)?\(\d+\)|nofpclass\([^)]*\)|noext)"
)


_WIDE_TYPE = re.compile(r"<\d+ x [^<>]+>|\[\d+ x [^][]+\]")
_BYTES_OF_A_LINE, _COPIES = 32, 4
"""What an instruction and its checks may leave on the stack, and how often a vector of it."""


@dataclass
class Shared:
    """What the functions of one module have in common: what is known of it, and what their text refers to."""

    is_in_library: Callable[[str], bool]
    """Whether the C library has a function that the module only declares."""
    has_types: bool
    """Whether accesses to memory say their type (tbaa)."""
    layouts: Layouts = field(default_factory=Layouts)
    sites: list[Site] = field(default_factory=lambda: [Site("none", "")])
    defined: set[str] = field(default_factory=set[str])
    declared: dict[str, str] = field(default_factory=dict[str, str])
    runtime: set[str] = field(default_factory=set[str])
    library: set[str] = field(default_factory=set[str])
    fresh: int = 0
    frame_bytes: int = 0
    """No function's frame on the stack is larger."""


class FunctionRewriter:
    """Rewrites one function; `rewrite` gives its lines, and then `own` says what it does that matters to others."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.name = ""
        self.is_kernel = False
        self.parameters: list[tuple[str, bool]] = []
        """Types, and whether they are records passed by value."""
        self.own = FunctionFacts()
        self.lines: list[str] = []
        self.exchanged: set[str] = set()
        self.seen_labels: set[str] = set()
        self.mark: str | None = None
        self.fixed_pointers: set[str] = set()
        self.speculated: dict[str, SpeculatedChoice | None] = {}
        self.postponed: dict[int, list[str]] = {}
        self.function_has_debug = False
        # of the instruction at hand
        self.result: str | None = None
        self.debug: int | None = None
        self.has_debug = False
        self.is_typed = False
        self.handlers: dict[str, Callable[[str, str], list[str]]] = {
            "load": self._load,
            "store": self._store,
            "atomicrmw": self._atomic,
            "cmpxchg": self._exchange,
            "alloca": self._alloca,
            "call": self._call,
            "br": self._branch,
            "switch": self._branch,
            "ret": self._return,
            "unreachable": self._unreachable,
            "shl": self._shift,
            "lshr": self._shift,
            "ashr": self._shift,
            "sdiv": self._divide,
            "udiv": self._divide,
            "srem": self._divide,
            "urem": self._divide,
            "fptosi": self._to_integer,
            "fptoui": self._to_integer,
            "fence": self._fence,
            "invoke": self._unknown,
            "indirectbr": self._unknown,
            "callbr": self._unknown,
            "va_arg": self._unknown,
        }

    def rewrite(self, head: str, body: list[str]) -> list[str]:
        """The function's lines, from its first line and those of its body."""
        match = DEFINE.match(head)
        if match is None:
            raise ValueError(f"definition not understood: {head[:100]}")
        before, name, rest = match.groups()
        self.is_kernel = "ptx_kernel" in before
        result_type = _RETURN_ATTRIBUTE.sub("", LINKAGE.sub("", before)).strip()
        end = balanced_end("(" + rest, 0) - 2
        parameters: list[str] = []
        prologue: list[str] = []
        self.name = name
        self.exchanged = {pointer for line in body if "cmpxchg" in line for pointer in _EXCHANGED_POINTER.findall(line)}
        debug = re.search(r"!dbg !(\d+)", rest[end:])
        self.function_has_debug = debug is not None
        self.speculated = speculated_loads(body)
        needs_mark = any(" alloca " in line for line in body)
        for index, parameter in enumerate(split_at_commas(rest[:end])):
            if parameter == "...":
                parameters.append(parameter)
                continue
            kind, value, attributes = take_argument(parameter)
            value = value or f"%{index}"
            record = attributes.get("byval")
            self.parameters.append((kind, record is not None))
            if record is None:
                parameters.append(f"{kind} {value}")
                continue
            # Passed by value: each call has its own copy, in checked local memory.
            needs_mark = True
            parameters.append(f"{kind} %{PREFIX}by.value.{index}")
            size, alignment = self.shared.layouts.of(record)
            site = self._site("parameter", text=strip_quotes(value), size=size)
            source = f"ptr %{PREFIX}by.value.{index}, i64 {size}"
            if not self.is_kernel:
                prologue.append(self._invoke("wl_record", source, site))
            prologue.append(self._invoke("wl_local_copy", f"{source}, i64 {max(alignment, 16)}", site, value))
        self.mark = f"%{PREFIX}mark" if needs_mark and not self.is_kernel else None
        if self.mark:
            self.shared.runtime.add("wl_local_mark")
            prologue.insert(0, f"  {self.mark} = call i64 @wl_local_mark()")
        if any(" call " in line or line.lstrip().startswith("call ") for line in body):
            self.debug = int(debug.group(1)) if debug else None
            site = self._site("function")
            self.debug = None
            prologue.insert(0, self._invoke("wl_enter", "", site))
        self._body(body, prologue)
        self.shared.frame_bytes = max(self.shared.frame_bytes, sum(map(self._stack_bytes, body)))
        return [f"define {result_type} {name}({', '.join(parameters)}) {{", *self.lines, "}"]

    def _body(self, body: list[str], prologue: list[str]) -> None:
        lines = iter(enumerate(body))
        entered = False
        for number, line in lines:
            if not line or line.lstrip().startswith(("#dbg_", ";")):
                continue
            label = _LABEL_LINE.match(line)
            if label is not None:
                self.seen_labels.add(label.group(1))
                self.lines.append(line.split(" ", 1)[0] if '"' not in line else line)
                continue
            if not entered:
                self.lines += prologue
                entered = True
            if line.endswith("["):  # a switch over several lines
                for _, more in lines:
                    line += "\n" + more
                    if more.lstrip().startswith("]"):
                        break
            self.lines += self._instruction(line)
            self.lines += self.postponed.pop(number, ())

    def _instruction(self, line: str) -> list[str]:
        debug = _DEBUG.search(line)
        self.has_debug = debug is not None
        self.is_typed = "!tbaa" in line
        self.debug = int(debug.group(1)) if debug else self.debug
        if "!" in line:
            line = _METADATA.sub("", line)
        match = _INSTRUCTION.match(line) if "\n" not in line else None
        if match is None:
            return self._branch("switch", line) if "switch " in line else [line]
        self.result, opcode, rest = match.groups()
        handler = self.handlers.get(opcode)
        if handler is None:
            return [line]
        return handler(opcode, rest.strip() if opcode not in ("br", "switch") else line)

    def _stack_bytes(self, line: str) -> int:
        """As if nothing that the instruction gives or takes were in a register."""
        widest = 0
        if " x " in line and " = getelementptr " not in line and " = alloca " not in line:
            widest = max((self.shared.layouts.of(kind)[0] for kind in _WIDE_TYPE.findall(line)), default=0)
        return _BYTES_OF_A_LINE + _COPIES * widest

    # ---- pieces

    def _site(
        self,
        kind: str,
        *,
        size: int = 0,
        alignment: int = 1,
        flags: int = 0,
        pointer: str = "",
        text: str = "",
    ) -> int:
        function = strip_quotes(self.name)
        self.shared.sites.append(Site(kind, function, self.debug, size, alignment, flags, pointer, text))
        return len(self.shared.sites) - 1

    def _fresh(self) -> str:
        self.shared.fresh += 1
        return f"%{PREFIX}{self.shared.fresh}"

    def _invoke(self, function: str, arguments: str, site: int, result: str | None = None) -> str:
        self.shared.runtime.add(function)
        comma = ", " if arguments else ""
        call = f"{'ptr' if result else 'void'} @{function}({arguments}{comma}i32 {site})"
        return f"  {result} = call {call}" if result else f"  call {call}"

    def _check(self, function: str, kind: str, pointer: str, value_type: str, alignment: int, flags: int) -> str:
        size = self.shared.layouts.store_size(value_type)
        pointer_type, operand = take_type(pointer)
        operand = take_operand(operand)[0]
        site = self._site(kind, size=size, alignment=alignment, flags=flags, pointer=operand)
        return self._invoke(function, f"{pointer_type} {operand}", site)

    @staticmethod
    def _alignment(parts: Iterable[str]) -> int:
        return next((int(part[6:]) for part in parts if part.startswith("align ")), 1)

    def _prefix_flags(self, rest: str) -> tuple[int, str]:
        flags = 0
        while True:
            if rest.startswith("atomic "):
                flags, rest = flags | ATOMIC, rest[7:]
            elif rest.startswith("volatile "):
                flags, rest = flags | VOLATILE, rest[9:]
            elif rest.startswith("weak "):
                rest = rest[5:]
            else:
                if flags:
                    self.own.is_relaxed = True
                return flags, rest

    # ---- memory

    def _load(self, _: str, rest: str) -> list[str]:
        flags, plain = self._prefix_flags(rest)
        value_type = take_type(plain)[0]
        parts = split_at_commas(plain)
        pointer = parts[1]
        if take_operand(take_type(pointer)[1])[0] in self.exchanged:
            flags |= RELAXED
        chosen = self.speculated.get(self.result or "")
        if flags == 0 and (
            self.result in self.speculated or self._is_speculated(take_operand(take_type(pointer)[1])[0])
        ):
            flags |= SPECULATED
        if chosen is not None:
            # It counts where the select picks it.
            flag = self._fresh()
            lines = [f"  {flag} = zext i1 {chosen.condition} to i32"]
            if not chosen.if_true:
                lines.append(f"  {flag}.not = xor i32 {flag}, 1")
                flag += ".not"
            check = self._check("wl_load_if", "load", pointer, value_type, self._alignment(parts), 0)
            lines.append(f"{check[:-1]}, i32 {flag})")
            self.postponed.setdefault(chosen.line, []).extend(lines)
        if flags & VOLATILE:
            self.own.waits = True
        check = self._check("wl_load", "load", pointer, value_type, self._alignment(parts), flags)
        return [check, f"  {self.result} = load {rest}"]

    def _is_speculated(self, pointer: str) -> bool:
        """Whether a load lacks what the optimizer takes from those that it moves: position and type (tbaa)."""
        if pointer[0] == "%" and pointer not in self.fixed_pointers:
            return False
        return (self.function_has_debug and not self.has_debug) or (self.shared.has_types and not self.is_typed)

    def _store(self, _: str, rest: str) -> list[str]:
        flags, plain = self._prefix_flags(rest)
        parts = split_at_commas(plain)
        if flags & VOLATILE:
            self.own.waits = True
        check = self._check("wl_store", "store", parts[1], take_type(parts[0])[0], self._alignment(parts), flags)
        return [check, f"  store {rest}"]

    def _atomic(self, _: str, rest: str) -> list[str]:
        plain = self._prefix_flags(rest)[1]
        self.own.is_relaxed = True
        parts = split_at_commas(plain.split(" ", 1)[1])
        value_type = take_type(parts[1])[0]
        if self.shared.layouts.of(value_type)[0] > 8:
            return self._unsupported(f"an atomic operation on {value_type}", value_type)
        check = self._check("wl_update", "atomic", parts[0], value_type, self._alignment(parts), ATOMIC)
        return [check, f"  {self.result} = atomicrmw {rest}"]

    def _exchange(self, _: str, rest: str) -> list[str]:
        plain = self._prefix_flags(rest)[1]
        self.own.is_relaxed = True
        parts = split_at_commas(plain)
        value_type = take_type(parts[1])[0]
        if self.shared.layouts.of(value_type)[0] > 8:
            result_type = f"{{ {value_type}, i1 }}"
            return self._unsupported(f"an atomic operation on {value_type}", result_type)
        check = self._check("wl_update", "atomic", parts[0], value_type, self._alignment(parts), ATOMIC)
        return [check, f"  {self.result} = cmpxchg {rest}"]

    def _alloca(self, _: str, rest: str) -> list[str]:
        parts = split_at_commas(rest)
        value_type = take_type(parts[0].removeprefix("inalloca "))[0]
        size, natural = self.shared.layouts.of(value_type)
        alignment = max(self._alignment(parts), natural)
        space = next((f" {part}" for part in parts if part.startswith("addrspace(")), "")
        site = self._site("local", size=size, text=strip_quotes(self.result or "%"))
        self.shared.runtime.add("wl_local")
        self.fixed_pointers.add(self.result or "")
        count = next((part for part in parts[1:] if not part.startswith(("align ", "addrspace("))), None)
        lines: list[str] = []
        amount = str(size)
        if count is not None:
            count_type, value = take_type(count)
            wide, amount = self._fresh(), self._fresh()
            widened = f"add i64 0, {value}" if count_type == "i64" else f"zext {count_type} {value} to i64"
            lines.append(f"  {wide} = {widened}")
            lines.append(f"  {amount} = mul i64 {wide}, {size}")
        lines.append(f"  {self.result} = call ptr{space} @wl_local(i64 {amount}, i64 {alignment}, i32 {site})")
        return lines

    # ---- arithmetic

    def _divide(self, opcode: str, rest: str) -> list[str]:
        return divide(self.result or "", opcode, rest, self._fresh)

    def _shift(self, opcode: str, rest: str) -> list[str]:
        return shift(self.result or "", opcode, rest, self._fresh)

    def _to_integer(self, opcode: str, rest: str) -> list[str]:
        lines, declaration = convert_to_integer(self.result or self._fresh(), opcode, rest)
        if declaration is not None:
            self.shared.declared[declaration.split()[2].split("(")[0]] = declaration
        return lines

    # ---- control

    def _branch(self, _: str, line: str) -> list[str]:
        if any(target in self.seen_labels for target in _LABELS.findall(line)):
            self.own.loops = True
            self.shared.runtime.add("wl_tick")
            return ["  call void @wl_tick()", line]
        return [line]

    def _return(self, _: str, rest: str) -> list[str]:
        if self.mark is None:
            return [f"  ret {rest}"]
        self.shared.runtime.add("wl_local_release")
        return [f"  call void @wl_local_release(i64 {self.mark})", f"  ret {rest}"]

    def _unreachable(self, _: str, __: str) -> list[str]:
        return [self._invoke("wl_trap", "", self._site("unreachable")), "  unreachable"]

    def _fence(self, _: str, __: str) -> list[str]:
        return [self._invoke("wl_fence", "", self._site("fence"))]

    def _unknown(self, opcode: str, rest: str) -> list[str]:
        raise ValueError(f"the instruction {opcode} {rest}")

    def _unsupported(self, what: str, result_type: str) -> list[str]:
        """Stops with an error when control comes here."""
        site = self._site("unsupported", text=what)
        if result_type.endswith(")"):  # a function of any number of arguments is called with its whole type
            result_type = result_type.partition(" (")[0]
        lines = [self._invoke("wl_unsupported", "", site)]
        return [*lines, f"  {self.result} = freeze {result_type} poison"] if self.result else lines

    # ---- calls

    def _call(self, _: str, rest: str) -> list[str]:
        rest = ATTRIBUTE_GROUP.sub("", rest)
        assembly = re.search(r"\basm (?:sideeffect |alignstack |inteldialect |unwind )*\"([^\"]*)\"", rest)
        if assembly is not None:
            result_type = take_type(LINKAGE.sub("", rest[: assembly.start()]))[0]
            return self._assembly(assembly.group(1), result_type)
        match = _CALLEE.search(rest)
        if match is None:
            return [f"  {self.result + ' = ' if self.result else ''}call {rest}"]
        callee = match.group(1)
        name = strip_quotes(callee)
        if name.startswith(WITHOUT_EFFECT):
            return []
        head = _RETURN_ATTRIBUTE.sub("", LINKAGE.sub("", rest[: match.start()])).strip()
        end = balanced_end(rest, match.end() - 1) - 1
        arguments = [take_argument(part) for part in split_at_commas(rest[match.end() : end])]
        result_type = re.sub(r"^(?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*", "", head)
        if callee[0] == "@" and callee not in self.shared.defined:
            runtime = RUNTIME_CALLS.get(name.removeprefix("llvm.nvvm."))
            if runtime is not None:
                if not fits(runtime, [kind for kind, _, _ in arguments]):
                    return self._unsupported(f"a call of `{name}` with types that are not its own", result_type)
                return self._runtime_call(runtime, name, [(kind, value) for kind, value, _ in arguments])
            special = self._special(name, arguments, result_type)
            if special is not None:
                return special
        return self._plain_call(callee, name, head, result_type, arguments)

    def _plain_call(
        self, callee: str, name: str, head: str, result_type: str, arguments: list[tuple[str, str, dict[str, str]]]
    ) -> list[str]:
        lines: list[str] = []
        if callee[0] == "%":
            self.own.calls_indirectly = True
            lines.append(self._invoke("wl_function", f"ptr {callee}", self._site("indirect call", pointer=callee)))
        elif callee in self.shared.defined:
            self.own.calls.add(callee)
        elif not name.startswith("llvm."):
            function = FUNCTIONS.get(name)
            if function is None or not self.shared.is_in_library(name):
                return self._unsupported(f"a call of `{name}`, which has no definition here", result_type)
            kinds = tuple(kind for kind, _, _ in arguments)
            if (function.result, function.arguments) != (result_type, kinds):
                return self._unsupported(f"a call of `{name}` with types that are not its own", result_type)
            self.shared.library.add(name)
            pointers = [value for kind, value, _ in arguments if kind == "ptr"]
            for value, size in zip(pointers, function.writes, strict=True):
                lines.append(self._check("wl_store", "store", f"ptr {value}", f"[{size} x i8]", 1, 0))
        elif not is_known_intrinsic(name):
            return self._unsupported(f"`{name}`", result_type)
        elif (instead := ordering_zeros(name)) != name:
            head, callee = result_type, f"@{instead}"
            self.shared.declared[callee] = (
                f"declare {result_type} {callee}({', '.join(kind for kind, _, _ in arguments)})"
            )
        plain = ", ".join(f"{kind} {value}" for kind, value, _ in arguments)
        lines.append(f"  {self.result + ' = ' if self.result else ''}call {head} {callee}({plain})")
        return lines

    def _special(
        self, name: str, arguments: list[tuple[str, str, dict[str, str]]], result_type: str
    ) -> list[str] | None:
        """Calls that are neither the runtime's nor left alone."""
        values = [f"{kind} {value}" for kind, value, _ in arguments]
        kind = arguments[0][0] if len(arguments) == 1 else ""
        rounding = rounding_before_conversion(name, kind)
        if rounding is not None:
            self.shared.declared[f"@{rounding}"] = f"declare {kind} @{rounding}({kind})"
            whole = self._fresh()
            text = f"  {whole} = call {kind} @{rounding}({values[0]})"
            return [text, *self._to_integer("fptosi", f"{kind} {whole} to {result_type}")]
        if name.startswith(("llvm.memcpy.", "llvm.memmove.")):
            size = self._widen(arguments[2])
            site = self._site("copy", pointer=arguments[0][1])
            text = f"  call void @{name}({', '.join(values)})"
            return [*size[1], self._invoke("wl_copy", f"{values[0]}, {values[1]}, i64 {size[0]}", site), text]
        if name.startswith("llvm.memset."):
            size = self._widen(arguments[2])
            site = self._site("fill", pointer=arguments[0][1])
            text = f"  call void @{name}({', '.join(values)})"
            return [*size[1], self._invoke("wl_fill", f"{values[0]}, i64 {size[0]}", site), text]
        if name.startswith("llvm.lifetime.start"):
            self.shared.runtime.add("wl_local_begin")
            return [f"  call void @wl_local_begin({values[-1]})"]
        if name.startswith("llvm.stacksave"):
            return [f"  {self.result} = getelementptr i8, ptr null, i64 0"]
        if name.startswith(("llvm.va_start", "llvm.va_copy", "llvm.va_end", "llvm.nvvm.")):
            return self._unsupported(f"`{name}`", result_type)
        return None

    def _widen(self, argument: tuple[str, str, dict[str, str]]) -> tuple[str, list[str]]:
        if argument[0] == "i64":
            return argument[1], []
        name = self._fresh()
        return name, [f"  {name} = zext {argument[0]} {argument[1]} to i64"]

    def _assembly(self, text: str, result_type: str) -> list[str]:
        if not text.strip():
            return [f"  {self.result} = freeze {result_type} poison"] if self.result else []
        return self._unsupported(f"inline PTX: {text}", result_type)

    def _runtime_call(self, call: RuntimeCall, name: str, arguments: list[tuple[str, str]]) -> list[str]:
        self.own.waits |= call.waits
        self.shared.runtime.add(call.function)
        site = self._site("call", text=name) if call.takes_site else None
        return write_runtime_call(call, self.result, arguments, site, self._fresh)
