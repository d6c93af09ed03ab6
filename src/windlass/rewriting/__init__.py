"""The rewriting engine: rules declared as data, matched by compiled tests, driven to a fixpoint.

Takes a tensor-level function and rules; gives the function rewritten, and a ledger of what was done. Afterwards every
value still means what it meant, no dead op is left, and either no rule applies any more or a budget was spent (and
the report says so). It knows no rule: those are in `windlass.catalogue`.

Start reading at `rule.py` (what a rule is), then `driver.py`.
"""

from windlass.rewriting.common_subexpressions import share_common_subexpressions
from windlass.rewriting.driver import Budget, rewrite_function
from windlass.rewriting.ledger import Entry, Ledger
from windlass.rewriting.rule import Rule, RuleSet, rewrite

__all__ = [
    "Budget",
    "Entry",
    "Ledger",
    "Rule",
    "RuleSet",
    "rewrite",
    "rewrite_function",
    "share_common_subexpressions",
]
