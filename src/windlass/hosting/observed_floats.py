"""Host code whose floats may stand for numbers that are traced: each operation on floats first asks whether one does.

A number that host code gets from device memory, while a function is traced, is a NaN whose bits name it
(`host_numbers.py`). Moving it is moving bits. Every operation on floats of a unit (LLVM IR) is replaced by a call of a
function made here, which does the same unless an operand is such a NaN: then the process around does it, and gives a
NaN that names the result.
"""

from __future__ import annotations

import re

_KINDS = {"float": "f", "double": "d"}
_FLOATS = {"i32": "float", "i64": "double"}
_BINARY = re.compile(
    r"^(\s*%\S+ = )(fadd|fsub|fmul|fdiv|frem) (?:[a-z]+ )*(float|double) ([^,\s]+), ([^,\s]+)", re.MULTILINE
)
_NEGATION = re.compile(r"^(\s*%\S+ = )fneg (?:[a-z]+ )*(float|double) ([^,\s]+)", re.MULTILINE)
_CONVERSION = re.compile(
    r"^(\s*%\S+ = )(fpext|fptrunc) (?:[a-z]+ )*(float|double) (\S+) to (float|double)", re.MULTILINE
)
_COMPARISON = re.compile(
    r"^(\s*%\S+ = )fcmp (?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*"
    r"([a-z]+) (float|double) ([^,\s]+), ([^,\s]+)",
    re.MULTILINE,
)
_TO_INTEGER = re.compile(r"^(\s*%\S+ = )(fptosi|fptoui|bitcast) (float|double) (\S+) to (i\d+)", re.MULTILINE)
_CLASS = re.compile(
    r"^(\s*%\S+ = )(?:tail )?call [^@\n]*@llvm\.is\.fpclass\.f(?:32|64)"
    r"\((float|double) (?:noundef )?([^,\s]+), i32 (?:noundef )?(\d+)\)",
    re.MULTILINE,
)
_FUNCTION = re.compile(r"^define [^\n]*\{\n.*?^\}", re.MULTILINE | re.DOTALL)
_LOADED_INTEGER = re.compile(r"^(\s*)(%\S+) = load (i32|i64), [^\n]*", re.MULTILINE)
_USES_OF_INTEGERS = re.compile(
    r"^[^\n]*? (?:icmp|add|sub|mul|[us]div|[us]rem|and|or|xor|shl|[al]shr|trunc|[sz]ext|[us]itofp|switch) [^\n]*",
    re.MULTILINE,
)
_CALL = re.compile(
    r"^(\s*%\S+ = )(?:tail |notail )?call [^@\n]*?\b(float|double) @([\w.]+)\(([^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)",
    re.MULTILINE,
)
_VECTOR = re.compile(
    r"^(\s*)(%\S+) = (fadd|fsub|fmul|fdiv|frem|fcmp (?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*[a-z]+)"
    r" (?:[a-z]+ )*<(\d+) x (float|double)> ([^,\n]+), ([^,\n]+)[^\n]*",
    re.MULTILINE,
)
MATHEMATICS = frozenset(
    """
    sqrt exp exp2 log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh pow fabs fmin
    fmax hypot cbrt atan2 erf erfc fma fmuladd minnum maxnum copysign floor ceil trunc round rint nearbyint
    roundeven fmod
    """.split()  # noqa: SIM905
)
"""Functions of C and intrinsics of LLVM, without the letters for their types, that are observed."""


def plain_name(symbol: str) -> str | None:
    """The function of `MATHEMATICS` that a symbol is; None for others.

    >>> plain_name("sqrtf"), plain_name("llvm.fabs.f64"), plain_name("erf"), plain_name("printf")
    ('sqrt', 'fabs', 'erf', None)
    """
    name = re.sub(r"\.f(32|64)$", "", symbol.removeprefix("llvm."))
    if name in MATHEMATICS:
        return name
    return name[:-1] if name.endswith("f") and name[:-1] in MATHEMATICS else None


def with_observed_floats(unit: str) -> str:
    """The unit with its operations on floats observed.

    >>> text = with_observed_floats("define float @f(float %x) {\\n  %y = fmul float %x, 2.0\\n  ret float %y\\n}")
    >>> [line.strip() for line in text.splitlines() if "%y =" in line]
    ['%y = call float @observed.fmul.ff.f(float %x, float 2.0)']
    """
    made: dict[str, str] = {}

    def observed(operation: str, symbol: str | None, types: list[str], result: str) -> str:
        kinds = "".join(_KINDS[each] for each in types)
        name = f"observed.{operation}.{kinds}.{_KINDS.get(result, 'i')}"
        if name not in made:
            made[name] = _function(name, operation, symbol, types, result)
        return name

    def binary(match: re.Match[str]) -> str:
        head, operation, kind, first, second = match.groups()
        name = observed(operation, None, [kind, kind], kind)
        return f"{head}call {kind} @{name}({kind} {first}, {kind} {second})"

    def negation(match: re.Match[str]) -> str:
        head, kind, operand = match.groups()
        return f"{head}call {kind} @{observed('fneg', None, [kind], kind)}({kind} {operand})"

    def conversion(match: re.Match[str]) -> str:
        head, operation, before, operand, after = match.groups()
        return f"{head}call {after} @{observed(operation, None, [before], after)}({before} {operand})"

    def comparison(match: re.Match[str]) -> str:
        head, predicate, kind, first, second = match.groups()
        name = observed(f"fcmp {predicate}", None, [kind, kind], "i1")
        return f"{head}call i1 @{_quoted(name)}({kind} {first}, {kind} {second})"

    def to_integer(match: re.Match[str]) -> str:
        head, operation, kind, operand, result = match.groups()
        name = observed(f"{operation} {result}", None, [kind], result)
        return f"{head}call {result} @{_quoted(name)}({kind} {operand})"

    def class_(match: re.Match[str]) -> str:
        head, kind, operand, classes = match.groups()
        name = observed(f"fpclass {classes}", None, [kind], "i1")
        return f"{head}call i1 @{_quoted(name)}({kind} {operand})"

    def call(match: re.Match[str]) -> str:
        head, result, symbol, arguments = match.groups()
        plain = plain_name(symbol)
        if plain is None:
            return match[0]
        parts = [re.sub(r"\b(noundef|nofpclass\([^)]*\)) ?", "", each).split() for each in arguments.split(",")]
        types = [each[0] for each in parts]
        if any(len(each) != 2 or each[0] not in _KINDS for each in parts):
            return match[0]
        name = observed(plain, symbol, types, result)
        return f"{head}call {result} @{name}({', '.join(' '.join(each) for each in parts)})"

    def loaded(match: re.Match[str]) -> str:
        # A name that is loaded as an integer may be moved; where more is done to it, its bits are asked for.
        text = match[0]
        used = {
            word for line in _USES_OF_INTEGERS.findall(text) for word in re.findall(r"%[\w.]+", line.partition("=")[2])
        }

        def asked(load: re.Match[str]) -> str:
            indent, value, kind = load.groups()
            if value not in used:
                return load[0]
            name = observed(f"loaded {kind}", None, [_FLOATS[kind]], kind)
            given = f"%as.{value.lstrip('%')}"
            lines = [f"{indent}{given} = bitcast {kind} {value} to {_FLOATS[kind]}"]
            lines.append(f"{indent}%asked.{value.lstrip('%')} = call {kind} @{_quoted(name)}({_FLOATS[kind]} {given})")
            return "\n".join([load[0], *lines])

        return _LOADED_INTEGER.sub(asked, text)

    unit = _FUNCTION.sub(loaded, unit)
    unit = _VECTOR.sub(_element_by_element, unit)
    for pattern, replace in (
        (_BINARY, binary),
        (_NEGATION, negation),
        (_CONVERSION, conversion),
        (_COMPARISON, comparison),
        (_TO_INTEGER, to_integer),
        (_CLASS, class_),
        (_CALL, call),
    ):
        unit = pattern.sub(replace, unit)
    if not made:
        return unit
    return "\n".join([unit, "declare i32 @windlass_observe(ptr, ptr, ptr)", *made.values()])


def _element_by_element(match: re.Match[str]) -> str:
    """An operation on several floats at once as operations on each."""
    indent, target, operation, count, kind, first, second = match.groups()
    result = "i1" if operation.startswith("fcmp") else kind
    base, lines, before = target.lstrip("%"), list[str](), "poison"
    for place in range(int(count)):
        name = f"%each.{base}.{place}"
        for label, operand in (("a", first), ("b", second)):
            lines.append(f"{indent}{name}.{label} = extractelement <{count} x {kind}> {operand}, i32 {place}")
        lines.append(f"{indent}{name}.r = {operation} {kind} {name}.a, {name}.b")
        after = target if place == int(count) - 1 else f"{name}.v"
        lines.append(f"{indent}{after} = insertelement <{count} x {result}> {before}, {result} {name}.r, i32 {place}")
        before = after
    return "\n".join(lines)


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name


def _function(name: str, operation: str, symbol: str | None, types: list[str], result: str) -> str:
    """A function that does an operation, and asks first whether an operand stands for a number that is traced."""
    parameters = ", ".join(f"{each} %a{place}" for place, each in enumerate(types))
    operands = ", ".join(f"%a{place}" for place in range(len(types)))
    if symbol is not None:
        plain = f"call {result} @{symbol}({parameters})"
    elif operation.startswith("fpclass"):
        width, classes = {"float": 32, "double": 64}[types[0]], operation.split()[1]
        plain = f"call i1 @llvm.is.fpclass.f{width}({types[0]} %a0, i32 {classes})"
    elif operation.startswith(("fpto", "fpext", "fptrunc", "bitcast", "loaded")):
        plain = f"{operation.split(maxsplit=1)[0].replace('loaded', 'bitcast')} {types[0]} %a0 to {result}"
    else:
        plain = f"{operation} {types[0]} {operands}"
    kinds = "".join(_KINDS[each] for each in types) + _KINDS.get(result, "i")
    texts = [("operation", operation), ("kinds", kinds)]
    constants = [f'@"{name}.{label}" = private constant [{len(text) + 1} x i8] c"{text}\\00"' for label, text in texts]
    stores = list[str]()
    for place, each in enumerate(types):
        stores.append(f"  %w{place} = getelementptr i64, ptr %words, i64 {place}")
        stores.append(f"  store {each} %a{place}, ptr %w{place}, align 8")
    return "\n".join(
        [
            *constants,
            f"define internal {result} @{_quoted(name)}({parameters}) {{",
            "  %words = alloca [4 x i64], align 16",
            "  store [4 x i64] zeroinitializer, ptr %words, align 16",
            *stores,
            f'  %found = call i32 @windlass_observe(ptr @"{name}.operation", ptr @"{name}.kinds", ptr %words)',
            "  %is_traced = icmp ne i32 %found, 0",
            "  br i1 %is_traced, label %traced, label %plain",
            "traced:",
            f"  %named = load {result}, ptr %words, align 8",
            f"  ret {result} %named",
            "plain:",
            f"  %value = {plain}",
            f"  ret {result} %value",
            "}",
        ]
    )
