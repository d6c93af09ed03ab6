"""What PTX instructions are in CUDA C++: `ptx_as_cuda`, and a rule for each family of instructions.

The functions that they become are in windlass/ptx.h. An instruction or a modifier that is not known raises UnknownPTX.
The PTX ISA 8.5 (section 9.7) is the source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from windlass.frontends.cuda.ptx import (
    RULES,
    TYPES,
    WIDER,
    Statement,
    Translation,
    UnknownPTX,
    instruction,
    label_of,
    require,
    spell,
    split_statements,
    type_of,
)


def ptx_as_cuda(text: str, places: Mapping[str, str]) -> str:
    """C++ statements that do what the assembly does; `places` are the C++ expressions of `$0`, `$1`, and so on.

    The statements expect `using namespace __windlass_ptx` and a variable `bool carry`. Raises UnknownPTX.

    >>> ptx_as_cuda("add.s32 $0, $1, 7;", {"$0": "place_0", "$1": "place_1"})
    'put(place_0, add<int>(as<int>(place_1), as<int>((int)7)));'
    """
    translation = Translation(places, RULES)
    return "\n".join(translation.translate(each) for each in split_statements(text))


_FLOATS = ("f16", "f16x2", "bf16", "f32", "f64")
_ROUNDING = {"rz": "rz", "rm": "rd", "rp": "ru"}
_WITHOUT_MEANING = ("ftz", "rn", "approx", "full", "lo")
"""Subnormal floats may be flushed or not, approximations be better than they need."""

_CPP_NAMES = {"and": "and_", "or": "or_", "xor": "xor_", "not": "not_", "div": "div"}


def _call(translation: Translation, statement: Statement, function: str, sources: str) -> str:
    """`function` of the operands but the first, put into that; T: the statement's type, u: unsigned, p: a predicate."""
    type_ = type_of(statement)
    if len(statement.operands) != len(sources) + 1:
        raise UnknownPTX(f"{spell(statement)} with {len(statement.operands)} operands")
    types = {"T": type_, "u": "unsigned", "p": "bool"}
    read = [translation.read(text, types[kind]) for text, kind in zip(statement.operands[1:], sources, strict=True)]
    return translation.put(statement.operands[0], f"{function}({', '.join(read)})")


# -- arithmetic -------------------------------------------------------------------------------------------------------

_SOURCES = {
    "add": "TT", "sub": "TT", "mul": "TT", "div": "TT", "rem": "TT", "min": "TT", "max": "TT", "neg": "T", "abs": "T",
    "fma": "TTT", "mad": "TTT", "sad": "TTT", "copysign": "TT", "ex2": "T", "lg2": "T", "sin": "T", "cos": "T",
    "tanh": "T", "sqrt": "T", "rsqrt": "T", "rcp": "T",
}  # fmt: skip
_ROUNDED = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "fma": "fma", "rcp": "rcp", "sqrt": "sqrt"}


@instruction(*_SOURCES)
def _arithmetic(translation: Translation, statement: Statement) -> str:
    opcode, type_, sources = statement.opcode, type_of(statement), _SOURCES[statement.opcode]
    is_float = statement.modifiers[-1] in _FLOATS
    modifiers = statement.modifiers[:-1]
    chosen = [each for each in modifiers if each not in _WITHOUT_MEANING]
    match chosen:
        case []:
            return _call(translation, statement, f"{opcode}<{type_}>", sources)
        case ["hi"] if opcode in ("mul", "mad") and not is_float:
            return _call(translation, statement, f"{opcode}_hi<{type_}>", sources)
        case ["wide"] if opcode in ("mul", "mad") and statement.modifiers[-1] in WIDER:
            return _wide(translation, statement)
        case ["sat"] if type_ in ("float", "_Float16") and opcode in ("add", "sub", "mul", "fma", "mad"):
            read = ", ".join(translation.read(each, type_) for each in statement.operands[1:])
            return translation.put(statement.operands[0], f"saturated<{type_}>({opcode}<{type_}>({read}))")
        case ["sat"] if type_ == "int" and opcode in ("add", "sub"):
            return _call(translation, statement, f"{opcode}_saturated", sources)
        case [rounding] if rounding in _ROUNDING and type_ in ("float", "double") and opcode in _ROUNDED:
            letter = "f" if type_ == "float" else ""
            prefix = {"fma": f"__fma{letter}"}.get(opcode, f"__{'f' if letter else 'd'}{opcode}")
            return _call(translation, statement, f"{prefix}_{_ROUNDING[rounding]}", sources)
        case ["cc"] if opcode in ("add", "sub"):
            return _with_carry(translation, statement, takes=False)
        case ["cc"] | ["hi", "cc"] if opcode == "mad":
            return _multiply_add(translation, statement, takes=False)
        case _:
            raise UnknownPTX(spell(statement))


def _wide(translation: Translation, statement: Statement) -> str:
    type_, wide = type_of(statement), WIDER[statement.modifiers[-1]]
    require(statement, (), (), 3 if statement.opcode == "mul" else 4)
    read = [translation.read(each, type_) for each in statement.operands[1:3]]
    read += [translation.read(each, wide) for each in statement.operands[3:]]
    return translation.put(statement.operands[0], f"{statement.opcode}_wide<{type_}, {wide}>({', '.join(read)})")


def _with_carry(translation: Translation, statement: Statement, takes: bool) -> str:
    type_, function = type_of(statement), statement.opcode[:3]
    require(statement, (), (), 3)
    left, right = (translation.read(each, type_) for each in statement.operands[1:])
    return _put_with_carry(translation, statement, f"{function}_with_carry<{type_}>({left}, {right}", takes)


def _put_with_carry(translation: Translation, statement: Statement, call: str, takes: bool) -> str:
    """The result of a call that still lacks the carry and whether that is taken; `cc` keeps the new one."""
    kept = "carry" if "cc" in statement.modifiers else "unused"
    written = translation.put(statement.operands[0], f"{call}, {kept}, {str(takes).lower()})")
    return written if kept == "carry" else f"{{ bool unused = carry; {written} }}"


@instruction("addc", "subc")
def _add_carry(translation: Translation, statement: Statement) -> str:
    require(statement, statement.modifiers[:-1], ("cc",))
    return _with_carry(translation, statement, takes=True)


@instruction("madc")
def _multiply_add_carry(translation: Translation, statement: Statement) -> str:
    return _multiply_add(translation, statement, takes=True)


def _multiply_add(translation: Translation, statement: Statement, takes: bool) -> str:
    """A half of a product added to what there is, with the carry."""
    require(statement, statement.modifiers[:-1], ("lo", "hi", "cc"), 4)
    type_ = type_of(statement)
    half = "mul_hi" if "hi" in statement.modifiers else "mul"
    left, right, added = (translation.read(each, type_) for each in statement.operands[1:])
    added = f"add_with_carry<{type_}>({half}<{type_}>({left}, {right}), {added}"
    return _put_with_carry(translation, statement, added, takes)


@instruction("mul24", "mad24")
def _low_bits(translation: Translation, statement: Statement) -> str:
    require(statement, statement.modifiers[:-1], ("lo",))
    sources = "TT" if statement.opcode == "mul24" else "TTT"
    return _call(translation, statement, f"{statement.opcode}<{type_of(statement)}>", sources)


@instruction("dp4a")
def _dot_of_bytes(translation: Translation, statement: Statement) -> str:
    require(statement, statement.modifiers, ("u32", "s32"), 4)
    left, right = type_of(statement, 0), type_of(statement, 1)
    kinds = (left, right, "unsigned")
    read = [translation.read(each, kind) for each, kind in zip(statement.operands[1:], kinds, strict=True)]
    return translation.put(statement.operands[0], f"dp4a<{left}, {right}>({', '.join(read)})")


# -- bits -------------------------------------------------------------------------------------------------------------

_BITS = {
    "and": "TT", "or": "TT", "xor": "TT", "not": "T", "cnot": "T", "shl": "Tu", "shr": "Tu", "bfe": "Tuu",
    "bfi": "TTuu", "brev": "T", "popc": "T", "clz": "T", "bfind": "T",
}  # fmt: skip


@instruction(*_BITS)
def _bits(translation: Translation, statement: Statement) -> str:
    require(statement, statement.modifiers[:-1], ())
    name = _CPP_NAMES.get(statement.opcode, statement.opcode)
    return _call(translation, statement, f"{name}<{type_of(statement)}>", _BITS[statement.opcode])


@instruction("shf")
def _funnel_shift(translation: Translation, statement: Statement) -> str:
    match statement.modifiers:
        case ("l" | "r") as side, ("wrap" | "clamp") as mode, "b32":
            return _call(translation, statement, f"shf_{side}_{mode}", "uuu")
        case _:
            raise UnknownPTX(spell(statement))


@instruction("prmt")
def _permute(translation: Translation, statement: Statement) -> str:
    require(statement, statement.modifiers, ("b32",))
    return _call(translation, statement, "prmt", "uuu")


@instruction("lop3")
def _logic(translation: Translation, statement: Statement) -> str:
    require(statement, statement.modifiers, ("b32",), 5)
    table = translation.number(statement.operands[4])
    read = ", ".join(translation.read(each, "unsigned") for each in statement.operands[1:4])
    return translation.put(statement.operands[0], f"lop3<{table}>({read})")


# -- comparisons and choices ------------------------------------------------------------------------------------------

_COMPARISONS = {
    "eq": "{0} == {1}", "ne": "{0} != {1}", "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}",
    "ge": "{0} >= {1}", "lo": "{0} < {1}", "ls": "{0} <= {1}", "hi": "{0} > {1}", "hs": "{0} >= {1}",
    "equ": "!({0} < {1} || {0} > {1})", "neu": "!({0} == {1})", "ltu": "!({0} >= {1})", "leu": "!({0} > {1})",
    "gtu": "!({0} <= {1})", "geu": "!({0} < {1})", "num": "({0} == {0} && {1} == {1})",
    "nan": "({0} != {0} || {1} != {1})",
}  # fmt: skip


def _compared(translation: Translation, statement: Statement, modifiers: tuple[str, ...]) -> tuple[str, str]:
    """The condition that a comparison gives, and the other one."""
    type_ = type_of(statement)
    left, right = (translation.read(each, type_) for each in statement.operands[1:3])
    direction, *joined = modifiers
    if direction not in _COMPARISONS or joined not in ([], ["and"], ["or"], ["xor"]):
        raise UnknownPTX(spell(statement))
    # `ne` of floats is false where one is NaN, unlike C++'s.
    is_float = statement.modifiers[-1] in _FLOATS
    text = "({0} < {1} || {0} > {1})" if direction == "ne" and is_float else _COMPARISONS[direction]
    condition = text.format(left, right)
    if not joined:
        require(statement, (), (), 3)
        return f"({condition})", f"!({condition})"
    require(statement, (), (), 4)
    sign = {"and": "&&", "or": "||", "xor": "!="}[joined[0]]
    other = translation.read(statement.operands[3], "bool")
    return f"(({condition}) {sign} {other})", f"(!({condition}) {sign} {other})"


@instruction("setp")
def _set_predicate(translation: Translation, statement: Statement) -> str:
    first, *second = (each.strip() for each in statement.operands[0].split("|"))
    holds, opposite = _compared(translation, statement, tuple(m for m in statement.modifiers[:-1] if m != "ftz"))
    written = translation.put(first, "holds")
    if second:
        written += " " + translation.put(second[0], "opposite")
    return f"{{ bool holds = {holds}, opposite = {opposite}; (void)opposite; {written} }}"


@instruction("set")
def _set(translation: Translation, statement: Statement) -> str:
    made = type_of(statement, -2)
    condition, _ = _compared(translation, statement, tuple(m for m in statement.modifiers[:-2] if m != "ftz"))
    true = "1.0f" if made == "float" else f"({made})-1"
    return translation.put(statement.operands[0], f"{condition} ? {true} : ({made})0")


@instruction("selp")
def _select(translation: Translation, statement: Statement) -> str:
    require(statement, statement.modifiers[:-1], ())
    return _call(translation, statement, f"selp<{type_of(statement)}>", "TTp")


@instruction("slct")
def _select_by_sign(translation: Translation, statement: Statement) -> str:
    require(statement, statement.modifiers[:-2], ("ftz",), 4)
    type_, tested = type_of(statement, -2), type_of(statement)
    left, right = (translation.read(each, type_) for each in statement.operands[1:3])
    sign = translation.read(statement.operands[3], tested)
    return translation.put(statement.operands[0], f"slct<{type_}>({left}, {right}, {sign})")


# -- moves and conversions --------------------------------------------------------------------------------------------


@instruction("mov")
def _move(translation: Translation, statement: Statement) -> str:
    require(statement, statement.modifiers[:-1], (), 2)
    type_ = type_of(statement)
    target, source = statement.operands
    if target.startswith("{"):
        parts = [each.strip() for each in target[1:-1].split(",")]
        whole = translation.read(source, type_)
        size = f"(8 * sizeof({type_}) / {len(parts)})"
        word = f"word<sizeof({type_}) / {len(parts)}>::type"
        written = " ".join(
            translation.put(part, f"({word})(whole >> {size} * {place})") for place, part in enumerate(parts)
        )
        return f"{{ {type_} whole = {whole}; {written} }}"
    if source.startswith("{"):
        parts = [each.strip() for each in source[1:-1].split(",")]
        word = f"word<sizeof({type_}) / {len(parts)}>::type"
        size = f"(8 * sizeof({type_}) / {len(parts)})"
        joined = " | ".join(
            f"(({type_})as<{word}>({translation.value(part, word)}) << {size} * {place})"
            for place, part in enumerate(parts)
        )
        return translation.put(target, joined)
    return translation.put(target, translation.read(source, type_))


@instruction("cvta")
def _convert_address(translation: Translation, statement: Statement) -> str:
    require(statement, statement.modifiers[:-1], ("to", "global", "shared", "local", "const", "param"), 2)
    return translation.put(statement.operands[0], translation.read(statement.operands[1], type_of(statement)))


_WHOLE = {"rni": "nearest", "rzi": "to_zero", "rmi": "down", "rpi": "up"}


@instruction("cvt")
def _convert(translation: Translation, statement: Statement) -> str:
    if len(statement.modifiers) < 2:
        raise UnknownPTX(spell(statement))
    *modifiers, to, source = statement.modifiers
    chosen = [each for each in modifiers if each != "ftz"]
    if to == "tf32" and source == "f32" and chosen == ["rna"]:
        return translation.put(statement.operands[0], f"tf32({translation.read(statement.operands[1], 'float')})")
    if to == "f16x2" and source == "f32" and chosen == ["rn"] and len(statement.operands) == 3:
        high, low = (translation.read(each, "float") for each in statement.operands[1:])
        return translation.put(statement.operands[0], f"half2{{(_Float16){low}, (_Float16){high}}}")
    if to not in TYPES or source not in TYPES or "f16x2" in (to, source) or len(statement.operands) != 2:
        raise UnknownPTX(spell(statement))
    target, origin = TYPES[to], TYPES[source]
    value = translation.read(statement.operands[1], origin)
    is_saturated = "sat" in chosen
    rounding = [each for each in chosen if each != "sat"]
    if source in _FLOATS and to not in _FLOATS:
        if len(rounding) != 1 or rounding[0] not in _WHOLE:
            raise UnknownPTX(spell(statement))
        made = f"to_integer<{target}, {origin}>({value}, {_WHOLE[rounding[0]]})"
    elif source in _FLOATS:
        if rounding and rounding[0] in _WHOLE and to == source:
            made = f"whole<{origin}>({value}, {_WHOLE[rounding[0]]})"
        elif rounding in ([], ["rn"]):
            made = f"({target}){value}"
        else:
            raise UnknownPTX(spell(statement))
        made = f"saturated<{target}>({made})" if is_saturated else made
    elif to in _FLOATS:
        if rounding not in ([], ["rn"]) or is_saturated:
            raise UnknownPTX(spell(statement))
        made = f"({target}){value}"
    else:
        if rounding:
            raise UnknownPTX(spell(statement))
        made = f"clamped<{target}, {origin}>({value})" if is_saturated else f"({target}){value}"
    return translation.put(statement.operands[0], made)


# -- memory -----------------------------------------------------------------------------------------------------------

_SPACES = ("global", "shared", "shared::cta", "local", "const", "param", "param::entry")
_ORDERS = ("volatile", "relaxed", "weak", "acquire", "release", "acq_rel", "mmio")
_SCOPES = ("cta", "cluster", "gpu", "sys", "gl")
_CACHING = re.compile(r"c[agsvw]|lu|wb|wt|nc|L[12]::[\w:]+|level::[\w:]+|cop")


def _memory_modifiers(statement: Statement) -> tuple[str, int, list[str]]:
    """The space, how many elements go at once, and the orders that are asked for."""
    space, count, orders = "generic", 1, list[str]()
    for each in statement.modifiers[:-1]:
        if each in _SPACES:
            space = each.partition(":")[0]
        elif each in ("v2", "v4"):
            count = int(each[1])
        elif each in _ORDERS:
            orders.append(each)
        elif each not in _SCOPES and not _CACHING.fullmatch(each):
            raise UnknownPTX(spell(statement))
    return space, count, orders


def _elements(operand: str, count: int) -> list[str]:
    parts = [each.strip() for each in operand[1:-1].split(",")] if operand.startswith("{") else [operand]
    if len(parts) != count:
        raise UnknownPTX(operand)
    return parts


def _qualified(type_: str, orders: list[str]) -> str:
    return f"volatile {type_}" if any(each not in ("weak",) for each in orders) else type_


@instruction("ld", "ldu")
def _load(translation: Translation, statement: Statement) -> str:
    space, count, orders = _memory_modifiers(statement)
    type_ = type_of(statement)
    if len(statement.operands) not in (2, 3):
        raise UnknownPTX(spell(statement))
    pointer = translation.place(statement.operands[1], _qualified(type_, orders), space)
    targets = _elements(statement.operands[0], count)
    loads = " ".join(f"{type_} e{place} = from[{place}];" for place in range(count))
    written = " ".join(translation.put(target, f"e{place}") for place, target in enumerate(targets))
    fence = " __threadfence();" if "acquire" in orders else ""
    return f"{{ auto *from = {pointer}; {loads} {written}{fence} }}"


@instruction("st")
def _store(translation: Translation, statement: Statement) -> str:
    space, count, orders = _memory_modifiers(statement)
    type_ = type_of(statement)
    if len(statement.operands) not in (2, 3):
        raise UnknownPTX(spell(statement))
    pointer = translation.place(statement.operands[0], _qualified(type_, orders), space)
    sources = _elements(statement.operands[1], count)
    written = " ".join(f"to[{place}] = {translation.read(each, type_)};" for place, each in enumerate(sources))
    fence = "__threadfence(); " if "release" in orders else ""
    return f"{{ {fence}auto *to = {pointer}; {written} }}"


_ATOMIC = {"add": "Add", "min": "Min", "max": "Max", "and": "And", "or": "Or", "xor": "Xor", "exch": "Exch",
           "cas": "CAS", "inc": "Inc", "dec": "Dec"}  # fmt: skip


@instruction("atom", "red")
def _atomic(translation: Translation, statement: Statement) -> str:
    kinds = [each for each in statement.modifiers[:-1] if each in _ATOMIC]
    rest = tuple(each for each in statement.modifiers[:-1] if each not in _ATOMIC)
    space = _memory_modifiers(Statement(statement.opcode, (*rest, "b32"), ()))[0]
    type_ = type_of(statement)
    operands = statement.operands if statement.opcode == "atom" else ("_", *statement.operands)
    if len(kinds) != 1 or len(operands) != (4 if kinds[0] == "cas" else 3):
        raise UnknownPTX(spell(statement))
    pointer = translation.place(operands[1], type_, space)
    values = ", ".join(translation.read(each, type_) for each in operands[2:])
    return translation.put(operands[0], f"atomic{_ATOMIC[kinds[0]]}({pointer}, {values})")


@instruction("cp")
def _copy(translation: Translation, statement: Statement) -> str:
    """Asynchronous copies are done at once, so that there is nothing to wait for."""
    if statement.modifiers[:2] in (("async", "commit_group"), ("async", "wait_group"), ("async", "wait_all")):
        return ";"
    match [each for each in statement.modifiers if not each.startswith("L2::")]:
        case "async", "ca" | "cg", "shared" | "shared::cta", "global" if len(statement.operands) in (3, 4):
            size = translation.number(statement.operands[2])
        case _:
            raise UnknownPTX(spell(statement))
    if size not in (4, 8, 16):
        raise UnknownPTX(spell(statement))
    to = translation.place(statement.operands[0], "unsigned", "shared")
    source = translation.place(statement.operands[1], "const unsigned", "global")
    taken = translation.read(statement.operands[3], "unsigned") if len(statement.operands) == 4 else str(size)
    return f"copy_words({to}, {source}, {size // 4}, {taken});"


@instruction("prefetch", "prefetchu", "applypriority", "pmevent", "griddepcontrol", "setmaxnreg")
def _hint(translation: Translation, statement: Statement) -> str:
    del translation, statement
    return ";"


# -- threads ----------------------------------------------------------------------------------------------------------


@instruction("bar", "barrier")
def _barrier(translation: Translation, statement: Statement) -> str:
    kind = tuple(each for each in statement.modifiers if each not in ("aligned", "cta"))
    if kind == ("warp", "sync"):
        require(statement, (), (), 1)
        return f"__syncwarp({translation.read(statement.operands[0], 'unsigned')});"
    if kind != ("sync",) or len(statement.operands) not in (1, 2):
        raise UnknownPTX(spell(statement))
    read = [translation.read(each, "unsigned") for each in statement.operands]
    if len(read) == 2:
        return f"__nvvm_barrier_sync_cnt({read[0]}, {read[1]});"
    return f"__nvvm_barrier_sync({read[0]});"


@instruction("membar", "fence")
def _fence(translation: Translation, statement: Statement) -> str:
    del translation
    require(statement, statement.modifiers, ("gl", "cta", "sys", "gpu", "sc", "acq_rel", "acquire", "release"))
    return "__threadfence();"


_SHUFFLES = {"up": "__nvvm_shfl_sync_up_i32", "down": "__nvvm_shfl_sync_down_i32", "bfly": "__nvvm_shfl_sync_bfly_i32",
             "idx": "__nvvm_shfl_sync_idx_i32"}  # fmt: skip


@instruction("shfl")
def _shuffle(translation: Translation, statement: Statement) -> str:
    match statement.modifiers:
        case "sync", direction, ("b32" | "u32" | "s32" | "f32") if direction in _SHUFFLES:
            pass
        case _:
            raise UnknownPTX(spell(statement))
    require(statement, (), (), 5)
    target, *predicate = (each.strip() for each in statement.operands[0].split("|"))
    value, lane, packed, mask = (translation.read(each, "int") for each in statement.operands[1:])
    moved = f"{_SHUFFLES[direction]}({mask}, {value}, {lane}, {packed})"
    if not predicate:
        return translation.put(target, moved)
    written = translation.put(predicate[0], f"has_source<'{direction[0]}'>({lane}, {packed})")
    return f"{{ int moved = {moved}; {written} {translation.put(target, 'moved')} }}"


@instruction("vote")
def _vote(translation: Translation, statement: Statement) -> str:
    match statement.modifiers:
        case "sync", ("any" | "all" | "uni") as kind, "pred":
            function = f"__nvvm_vote_{kind}_sync"
        case "sync", "ballot", "b32":
            function = "__nvvm_vote_ballot_sync"
        case _:
            raise UnknownPTX(spell(statement))
    require(statement, (), (), 3)
    predicate = translation.read(statement.operands[1], "bool")
    mask = translation.read(statement.operands[2], "unsigned")
    return translation.put(statement.operands[0], f"{function}({mask}, {predicate})")


@instruction("match")
def _match(translation: Translation, statement: Statement) -> str:
    match statement.modifiers:
        case ("any" | "all") as kind, "sync", ("b32" | "b64") as width:
            pass
        case _:
            raise UnknownPTX(spell(statement))
    require(statement, (), (), 3)
    value = translation.read(statement.operands[1], TYPES[width])
    mask = translation.read(statement.operands[2], "unsigned")
    target, *predicate = (each.strip() for each in statement.operands[0].split("|"))
    if kind == "any":
        return translation.put(target, f"__match_any_sync({mask}, {value})")
    written = translation.put(target, "found")
    if predicate:
        written += " " + translation.put(predicate[0], "(bool)same")
    return f"{{ int same; unsigned found = __match_all_sync({mask}, {value}, &same); {written} }}"


@instruction("activemask")
def _active(translation: Translation, statement: Statement) -> str:
    require(statement, statement.modifiers, ("b32",), 1)
    return translation.put(statement.operands[0], "__activemask()")


@instruction("redux")
def _reduce(translation: Translation, statement: Statement) -> str:
    match statement.modifiers:
        case "sync", ("add" | "min" | "max" | "and" | "or" | "xor") as kind, ("u32" | "s32" | "b32"):
            pass
        case _:
            raise UnknownPTX(spell(statement))
    require(statement, (), (), 3)
    value = translation.read(statement.operands[1], type_of(statement))
    mask = translation.read(statement.operands[2], "unsigned")
    return translation.put(statement.operands[0], f"__reduce_{kind}_sync({mask}, {value})")


@instruction("bra")
def _branch(translation: Translation, statement: Statement) -> str:
    del translation
    require(statement, statement.modifiers, ("uni",), 1)
    return f"goto {label_of(statement.operands[0])};"


@instruction("trap", "exit", "brkpt")
def _stop(translation: Translation, statement: Statement) -> str:
    del translation
    require(statement, statement.modifiers, (), 0)
    return {"trap": "__trap();", "exit": "__nvvm_exit();", "brkpt": ";"}[statement.opcode]


@instruction("nanosleep")
def _sleep(translation: Translation, statement: Statement) -> str:
    require(statement, statement.modifiers, ("u32",), 1)
    return f"__nanosleep({translation.read(statement.operands[0], 'unsigned')});"


@instruction("isspacep")
def _is_in_space(translation: Translation, statement: Statement) -> str:
    require(statement, statement.modifiers, ("global", "shared", "local", "const"), 2)
    kind = {"const": "Constant"}.get(statement.modifiers[0], statement.modifiers[0].capitalize())
    address = translation.read(statement.operands[1], "unsigned long long")
    return translation.put(statement.operands[0], f"(bool)__is{kind}((const void *){address})")


@instruction("testp")
def _test(translation: Translation, statement: Statement) -> str:
    type_ = type_of(statement)
    tests = {
        "finite": "__builtin_isfinite(x)", "infinite": "__builtin_isinf(x)", "number": "x == x",
        "notanumber": "x != x", "normal": "__builtin_isnormal(x)",
        "subnormal": "x != 0 && __builtin_isfinite(x) && !__builtin_isnormal(x)",
    }  # fmt: skip
    require(statement, statement.modifiers[:-1], tuple(tests), 2)
    value = translation.read(statement.operands[1], type_)
    written = translation.put(statement.operands[0], f"(bool)({tests[statement.modifiers[0]]})")
    return f"{{ {type_} x = {value}; {written} }}"
