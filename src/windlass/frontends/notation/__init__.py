"""Index notation: tensors by the elements that they consist of, after Tensor Comprehensions (Vasilache et al., 2018).

    def product(float(M, K) A, float(K, N) B) -> (C) {
      C(i, j) +=! A(i, k) * B(k, j)
    }

Takes text and gives procedures (`load`), whose names, ranks and element types are right; and of a procedure and shapes
a tensor program (`lower`), in which no access leaves its tensor, but for look-ups at places that data say: of these the
program gives the least and the largest.

Start reading at `terms.py`, what a procedure consists of. `reader.py` reads text into `syntax.py`, `checking.py` gives
names their meaning, `ranges.py` says how far indices run, `lowering.py` makes tensors: of expressions in
`expressions.py`, with what they read in `accesses.py`, of sums in `reducing.py`, of what is written in `placing.py`.
"""

from windlass.frontends.notation.checking import check
from windlass.frontends.notation.expressions import LookUp
from windlass.frontends.notation.lowering import Lowered, lower
from windlass.frontends.notation.reader import read
from windlass.frontends.notation.syntax import Source
from windlass.frontends.notation.terms import Procedure, Slot


def load(source: Source) -> dict[str, Procedure]:
    """The functions of a text, by name.

    Raises CompilationError (WL15xx) for what is wrong in it, whatever the arguments are.

    >>> list(load(Source("def total(float(N) x) -> (s) { s +=! x(i) }")))
    ['total']
    """
    return check(source, read(source))


__all__ = ["LookUp", "Lowered", "Procedure", "Slot", "Source", "load", "lower"]
