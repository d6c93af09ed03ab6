"""What stands for the functions of CUDA's libraries in host programs: code that hands each call to the process around.

Clang says with each function that a unit calls, and does not define, which types its arguments have in the machine's
calling convention. From that line a function is made that stores its arguments as words of 64 bits, one after
another, says with a character for each what it is, and calls `windlass_library` (runtime/libraries.cu):

    i  an integer    p  an address    f  a float    d  a double    c  two floats, by value
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_DECLARATION = re.compile(r"^declare ([^@\n]*)@([A-Za-z_]\w*)\((.*)\)[^)\n]*$", re.MULTILINE)
# Types that contain others come before them.
KINDS = {"ptr": "p", "<2 x float>": "c", "float": "f", "double": "d"}
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
RESULTS = ("{ double, double }", "<2 x float>", "void", "ptr", "float", "double", *INTEGERS)


def library_functions(units: Iterable[str], is_known: Callable[[str], bool]) -> str:
    """LLVM IR that defines each function that the units (LLVM IR) call, and of which `is_known` holds.

    >>> text = library_functions(["declare i32 @twice(i32 noundef, ptr)"], lambda name: name == "twice")
    >>> print(text.splitlines()[0])
    declare void @windlass_library(ptr, ptr, ptr, ptr)
    >>> [line for line in text.splitlines() if line.startswith("define")]
    ['define i32 @twice(i32 %a0, ptr %a1) {']
    """
    found: dict[str, str] = {}
    for unit in units:
        for match in _DECLARATION.finditer(unit):
            prefix, name, parameters = match.groups()
            if name not in found and is_known(name):
                function = _function(name, type_of(prefix, RESULTS), split_parameters(parameters))
                if function is not None:
                    found[name] = function
    if not found:
        return ""
    return "\n".join(["declare void @windlass_library(ptr, ptr, ptr, ptr)", *(found[name] for name in sorted(found))])


def _function(name: str, result: str | None, parameters: list[str]) -> str | None:
    """The function's definition; None where a type is none of those that libraries have in their interfaces."""
    types = [type_of(each, (*KINDS, *INTEGERS)) for each in parameters]
    if result is None or None in types:
        return None
    kinds = "".join(KINDS.get(each or "", "i") for each in types)
    body = [
        "  %words = alloca [" + str(max(len(types), 1)) + " x i64], align 16",
        "  %result = alloca [2 x i64], align 16",
    ]
    body.append("  store [2 x i64] zeroinitializer, ptr %result, align 16")
    for place, (type_, parameter) in enumerate(zip(types, parameters, strict=True)):
        assert type_ is not None
        body.append(f"  %w{place} = getelementptr i64, ptr %words, i64 {place}")
        value = f"{type_} %a{place}"
        if type_ in INTEGERS and type_ != "i64":
            extension = "zext" if "zeroext" in parameter else "sext"
            body.append(f"  %e{place} = {extension} {value} to i64")
            value = f"i64 %e{place}"
        body.append(f"  store {value}, ptr %w{place}, align 8")
    body.append(f"  call void @windlass_library(ptr @name.{name}, ptr @kinds.{name}, ptr %words, ptr %result)")
    if result == "void":
        body.append("  ret void")
    else:
        body += [f"  %value = load {result}, ptr %result, align 16", f"  ret {result} %value"]
    arguments = ", ".join(f"{type_} %a{place}" for place, type_ in enumerate(types))
    return "\n".join(
        [
            _text(f"name.{name}", name),
            _text(f"kinds.{name}", kinds),
            f"define {result} @{name}({arguments}) {{",
            *body,
            "}",
        ]
    )


def _text(symbol: str, content: str) -> str:
    return f'@{symbol} = private constant [{len(content) + 1} x i8] c"{content}\\00"'


def type_of(words: str, types: Iterable[str]) -> str | None:
    """The one of the types that stands in a declaration, among attributes."""
    bare = re.sub(r"\([^()]*\)", "", words)
    for each in types:
        if re.search(rf"(?<![\w<{{]){re.escape(each)}(?!\w)", bare):
            # Structs by value in memory have no kind of their own.
            return None if "byval" in words else each
    return None


def split_parameters(parameters: str) -> list[str]:
    """The parameters of a declaration, split at the commas that are in no brackets."""
    found, depth, begin = list[str](), 0, 0
    for place, character in enumerate(parameters):
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            found.append(parameters[begin:place].strip())
            begin = place + 1
    last = parameters[begin:].strip()
    return [*found, last] if last else found
