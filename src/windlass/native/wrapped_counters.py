"""Loops that LLVM must not vectorize, since it would take a counter that wraps around for one that grows.

LLVM 22's loop vectorizer reads `(i + 63) & 63` as a counter of six bits. In a sum, `row + ((i + 63) & 63)`, it loses
the condition that this counter does not wrap around, and loads neighbours from where there are none: a periodic
stencil came out wrong. Remainders by powers of two and shifts are read in the same way. Loops that hold such an
instruction on integers are left as they are written; lanes (plan.py) need no vectorizer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WRAPS = re.compile(r"= (?:and|urem|srem|lshr|ashr|trunc) (?:\w+ )*?i(?:8|16|32|64) .*")
_TO_COUNTERS = re.compile(r"= trunc i64 \S+ to i32$")
"""The ids of threads, which are 32 bits of counters that lie below."""
_LABEL = re.compile(r"([\w.]+):")
_TARGETS = re.compile(r"label %([\w.]+)")
_AS_WRITTEN = "!1"

LOOP_METADATA = f'{_AS_WRITTEN} = distinct !{{{_AS_WRITTEN}, !2}}\n!2 = !{{!"llvm.loop.vectorize.enable", i1 false}}'


def keep_wrapped_counters(text: str) -> str:
    """A module in which no loop is vectorized by LLVM that computes with remainders, masks or narrower integers.

    Loops are written in one piece: from the label to which they go back to the branch that does so.

    >>> loop = '''define void @f() {
    ... entry:
    ...   br label %again
    ... again:
    ...   %n = phi i64 [ 0, %entry ], [ %next, %again ]
    ...   %next = add i64 %n, 1
    ...   %masked = and i64 %n, 63
    ...   %more = icmp ult i64 %next, 99
    ...   br i1 %more, label %again, label %end
    ... end:
    ...   ret void
    ... }'''
    >>> "label %end, !llvm.loop !1" in keep_wrapped_counters(loop)
    True
    >>> keep_wrapped_counters(loop.replace("and i64", "add i64")).count("!llvm.loop !1")
    0
    """
    return "\n".join((*_marked(text.split("\n")), LOOP_METADATA))


def _marked(lines: list[str]) -> Iterator[str]:
    begins: dict[str, int] = {}
    wraps = 0
    """How many instructions so far may wrap around."""
    for line in lines:
        if line.startswith("define"):
            begins = {}
        elif (label := _LABEL.match(line)) is not None:
            begins[label[1]] = wraps
        elif "= " in line:
            wraps += _WRAPS.search(line) is not None and _TO_COUNTERS.search(line) is None
        elif line.lstrip().startswith("br ") and any(begins.get(to, wraps) < wraps for to in _TARGETS.findall(line)):
            line = f"{line}, !llvm.loop {_AS_WRITTEN}"
        yield line
