"""Terms: the op that gives a value, what it depends on, what it is for given arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from windlass.ir import Op, Value
from windlass.ir.captures import captures
from windlass.ir.values import Result
from windlass.ops.evaluation import Scope


def op_of(value: Value) -> Op | None:
    """The op that gives the value."""
    owner = value.owner if isinstance(value, Result) else value
    return owner if isinstance(owner, Op) else None


def sources(op: Op) -> list[Value]:
    """Everything that the op depends on: its operands, and what its regions use from outside."""
    if not op.region_names:
        return list(op.operands)
    return [*op.operands, *(value for region in op.regions for value in captures(region))]


def evaluate_term(value: Value, known: dict[Value, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """The value of a term, whose free variables have the values in `known`."""
    if value not in known:
        op = op_of(value)
        assert op is not None
        operands = [evaluate_term(operand, known) for operand in op.operands]
        for region in op.regions:
            for captured in captures(region):
                evaluate_term(captured, known)
        scope = {"scope": Scope(dict(known))} if getattr(op, "needs_scope", False) else {}
        outcome = op.evaluate(*operands, **scope)
        outcomes = outcome if isinstance(outcome, tuple) else (outcome,)
        known.update(zip(op.results, map(np.asarray, outcomes), strict=True))
    return known[value]
