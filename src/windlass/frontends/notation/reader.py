"""From text to syntax: tokens by one expression, recursive descent with precedences.

Texts may come from strangers: their length and depth are bounded, and nothing of them is ever run as Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from windlass.diagnostics import CompilationError
from windlass.frontends.notation.syntax import (
    Apply,
    Call,
    Declaration,
    Definition,
    Expression,
    GivenRange,
    Name,
    Number,
    Operator,
    Source,
    Span,
    Statement,
)

MOST_CHARACTERS = 100_000
MOST_DEPTH = 120
"""How deep expressions nest, counting each operator of a chain."""

TOKEN = re.compile(
    r"(?P<skip>\s+|#[^\n]*|//[^\n]*)"
    r"|(?P<number>(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?f?|[0-9]+[eE][+-]?[0-9]+f?|[0-9]+)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>\+=!?|\*=!?|->|<=|>=|==|!=|&&|\|\||[-+*/%(){},:;?<>=!])"
)
PRECEDENCE = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!="), 3),
    **dict.fromkeys(("<", ">", "<=", ">="), 4),
    **dict.fromkeys("+-", 5),
    **dict.fromkeys("*/%", 6),
}
UPDATES = ("=", "+=!", "+=", "*=!", "*=")
WORDS = frozenset({"def", "where", "in"})

Item = TypeVar("Item")


class Token(NamedTuple):
    kind: str
    text: str
    span: Span


def read(source: Source) -> tuple[Definition, ...]:
    """The functions that the text defines.

    Raises CompilationError: WL1501 for what is no text of the notation, WL1508 where it is too long or nests too deep.

    >>> [definition] = read(Source("def twice(float(N) x) -> (y) { y(i) = 2.0 * x(i) }"))
    >>> definition.name.name, definition.body[0].sign
    ('twice', '=')
    """
    return _Reader(source).definitions()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        length = len(source.text)
        if length > MOST_CHARACTERS:
            raise source.fault(
                "WL1508",
                Span(0, 1),
                f"the text has {length} characters, and may have {MOST_CHARACTERS}",
                "split it into several texts",
            )
        self.tokens = list(self._split())
        self.place = 0
        self.nested = 0

    def _split(self) -> list[Token]:
        tokens: list[Token] = []
        text, at = self.source.text, 0
        while at < len(text):
            found = TOKEN.match(text, at)
            if found is None:
                help_ = "subscripts stand in parentheses: x(i, j)" if text[at] in "[]" else None
                raise self.source.fault("WL1501", Span(at, at + 1), f"{text[at]!r} has no meaning here", help_)
            kind = found.lastgroup or ""
            if kind != "skip":
                tokens.append(Token(kind, found[0], Span(at, found.end())))
            at = found.end()
        end = len(text.rstrip())
        tokens.append(Token("end", "", Span(max(end - 1, 0), end)))
        return tokens

    # -- words --------------------------------------------------------------------------------------------------------

    @property
    def next(self) -> Token:
        return self.tokens[self.place]

    def sees(self, *texts: str) -> bool:
        return self.next.text in texts

    def take(self) -> Token:
        token = self.next
        self.place += token.kind != "end"
        return token

    def expect(self, text: str, why: str) -> Token:
        if not self.sees(text):
            raise self.unexpected(f"'{text}'", why)
        return self.take()

    def name(self, what: str) -> Name:
        if self.next.kind != "name" or self.next.text in WORDS:
            raise self.unexpected(what)
        token = self.take()
        return Name(token.span, token.text)

    def unexpected(self, wanted: str, why: str = "") -> CompilationError:
        token = self.next
        got = f"found '{token.text}'" if token.text else "the text ends here"
        return self.source.fault("WL1501", token.span, f"expected {wanted}{why and ' ' + why}, {got}")

    def listed(self, one: Callable[[], Item], end: str, why: str) -> tuple[Item, ...]:
        """Items with commas between, and the sign that ends them."""
        items: list[Item] = []
        while not self.sees(end):
            items.append(one())
            if not self.sees(end):
                self.expect(",", f"or '{end}' {why}")
        self.take()
        return tuple(items)

    # -- functions ----------------------------------------------------------------------------------------------------

    def definitions(self) -> tuple[Definition, ...]:
        found: list[Definition] = []
        while self.next.kind != "end" or not found:
            found.append(self.definition())
        return tuple(found)

    def definition(self) -> Definition:
        self.expect("def", "before the name of a function")
        name = self.name("the name of a function")
        self.expect("(", "before its parameters")
        parameters = self.listed(self.parameter, ")", "after a parameter")
        self.expect("->", "before the results")
        self.expect("(", "before the results")
        results = self.listed(self.result, ")", "after a result")
        self.expect("{", "before the statements")
        body: list[Statement | Call] = []
        while not self.sees("}"):
            body.append(self.statement())
            while self.sees(";"):
                self.take()
        self.take()
        return Definition(name, parameters, results, tuple(body))

    def parameter(self) -> Declaration:
        type_ = self.name("an element type, such as float,")
        sizes: tuple[Expression, ...] = ()
        if self.sees("("):
            self.take()
            sizes = self.listed(self.expression, ")", "after a size")
        name = self.name("the name of a parameter")
        return Declaration(type_.span.to(name.span), type_, sizes, name)

    def result(self) -> Declaration:
        first = self.name("the name of a result")
        if self.sees(",", ")"):
            return Declaration(first.span, None, (), first)
        self.place -= 1
        return self.parameter()

    # -- statements ---------------------------------------------------------------------------------------------------

    def statement(self) -> Statement | Call:
        target = self.name("a statement or '}'")
        if self.sees(","):
            targets = [target]
            while self.sees(","):
                self.take()
                targets.append(self.name("the name of a tensor"))
            self.expect("=", "before the function that gives these")
            return self.call(tuple(targets))
        subscripts: tuple[Expression, ...] = ()
        if self.sees("("):
            self.take()
            subscripts = self.listed(self.expression, ")", "after a subscript")
        sign = self.sign()
        value = self.expression()
        ranges: list[GivenRange] = []
        while self.sees("where") or (ranges and self.sees(",")):
            self.take()
            ranges.append(self.range())
        end = self.tokens[self.place - 1].span
        return Statement(target.span.to(end), target, subscripts, sign, value, tuple(ranges))

    def sign(self) -> str:
        """How the target changes: `=`, `+=!`, `max=` and so on."""
        if self.sees(*UPDATES):
            return self.take().text
        if self.sees("max", "min"):
            word = self.take().text
            equals = self.expect("=", f"after '{word}'")
            if self.sees("!") and self.next.span.start == equals.span.end:
                self.take()
                return f"{word}=!"
            return f"{word}="
        raise self.unexpected("one of = += +=! *= *=! max= max=! min= min=!")

    def range(self) -> GivenRange:
        index = self.name("an index")
        self.expect("in", "before its range")
        low = self.expression(choices=False)
        self.expect(":", "between the first of the range and the one after its last")
        return GivenRange(index, low, self.expression(choices=False))

    def call(self, targets: tuple[Name, ...]) -> Call:
        function = self.name("the name of a function")
        self.expect("(", "before its arguments")
        arguments = self.listed(lambda: self.name("the name of a tensor"), ")", "after an argument")
        end = self.tokens[self.place - 1].span
        return Call(targets[0].span.to(end), targets, function, arguments)

    # -- expressions --------------------------------------------------------------------------------------------------

    def expression(self, choices: bool = True) -> Expression:
        self.nested += 1
        if self.nested > MOST_DEPTH:
            raise self._too_deep(self.next.span)
        condition = self.binary(1)
        if choices and self.sees("?"):
            self.take()
            yes = self.expression()
            self.expect(":", "between the two values of '?'")
            condition = self.operator("?:", (condition, yes, self.expression()))
        self.nested -= 1
        return condition

    def binary(self, least: int) -> Expression:
        left = self.unary()
        while (level := PRECEDENCE.get(self.next.text, 0)) >= least:
            sign = self.take().text
            left = self.operator(sign, (left, self.binary(level + 1)))
        return left

    def unary(self) -> Expression:
        if not self.sees("-", "!"):
            return self.atom()
        self.nested += 1
        if self.nested > MOST_DEPTH:
            raise self._too_deep(self.next.span)
        sign = self.take()
        operand = self.unary()
        self.nested -= 1
        made = self.operator("negate" if sign.text == "-" else "!", (operand,))
        return Operator(sign.span.to(operand.span), made.sign, made.operands, made.depth)

    def atom(self) -> Expression:
        token = self.next
        if token.kind == "number":
            self.take()
            text = token.text.rstrip("f")
            if not text.isdigit():
                return Number(token.span, float(text))
            if len(text) > len(str(1 << 63)) or int(text) >= 1 << 63:
                raise self.source.fault("WL1501", token.span, "an integer may have 63 bits, and this one has more")
            return Number(token.span, int(text))
        if self.sees("("):
            self.take()
            inner = self.expression()
            self.expect(")", "after what is in parentheses")
            return inner
        name = self.name("a number, a name or '('")
        if not self.sees("("):
            return name
        self.take()
        arguments = self.listed(self.expression, ")", f"within '{name.name}(...)'")
        span = name.span.to(self.tokens[self.place - 1].span)
        return Apply(span, name, arguments, self._depth(span, arguments))

    def operator(self, sign: str, operands: tuple[Expression, ...]) -> Operator:
        span = operands[0].span.to(operands[-1].span)
        return Operator(span, sign, operands, self._depth(span, operands))

    def _depth(self, span: Span, parts: tuple[Expression, ...]) -> int:
        depth = 1 + max((part.depth for part in parts), default=0)
        if depth > MOST_DEPTH:
            raise self._too_deep(span)
        return depth

    def _too_deep(self, span: Span) -> CompilationError:
        return self.source.fault(
            "WL1508",
            span,
            f"expressions may nest {MOST_DEPTH} deep, and this one is deeper",
            "name a part of it by a statement of its own",
        )
