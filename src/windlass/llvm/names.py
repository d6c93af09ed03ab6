"""How LLVM IR spells names."""

from __future__ import annotations

NAME = r'(?:[-\w.$]+|"[^"]*")'
"""A name as a regular expression, as it stands after `@` or `%` and before the colon of a label."""

ENTER, ITERATION = "__windlass_enter", "__windlass_iteration"
"""Functions that are called, with the loop's number, before a loop whose iterations may run in any order, and in it."""

IN_ORDER, OWN_THREAD = "__windlass_in_order", "__windlass_own_thread"
"""Functions that are called where the iterations of such a loop wait for one another, and where memory of a thread's
own is asked for: the loops around, or all of the function, keep their order."""


def strip_quotes(name: str) -> str:
    """The name itself: `@"a b"` and `@a` are spelled with a sigil, which is left off too.

    >>> strip_quotes('@"operator()"')
    'operator()'
    """
    name = name[1:] if name[0] in "@%" else name
    return name[1:-1] if name.startswith('"') else name


def collective_name(callee: str) -> str:
    """The plain name of an LLVM intrinsic, or of a function of our own where LLVM has none.

    >>> collective_name("llvm.nvvm.shfl.sync.down.i32"), collective_name("__windlass_grid_sync")
    ('shfl.sync.down.i32', 'grid.sync')
    """
    own = callee.removeprefix("__windlass_")
    return callee.removeprefix("llvm.nvvm.") if own == callee else own.replace("_", ".")
