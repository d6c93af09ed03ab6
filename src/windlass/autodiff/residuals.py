"""Reverse mode in two functions: one gives results and what is kept of them, one takes that and cotangents.

Both are parts of one program, in which loops are recorded as they run forwards (`pullback_function` with the results).
What does not depend on cotangents goes into the first. What the second needs of it is kept, or computed again from the
arguments and from what is kept: a minimum cut says which (keeping.py). So loops run forwards once.
"""

from __future__ import annotations

from collections.abc import Collection

from windlass.autodiff.keeping import choose_kept
from windlass.autodiff.planning import Plan
from windlass.autodiff.recording import clone_behind
from windlass.autodiff.reverse import planned, pullback_function
from windlass.facts.terms import sources
from windlass.ir import Block, Builder, Function, Value
from windlass.ir.core import Terminator
from windlass.ops import Constant, CustomDerivative, Return, While


class Residuals:
    """A function divided so, for these active arguments. Raises NoDerivative and NotEnoughMemory.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Multiply
    >>> block = Block([tensor("f32", 3).type])
    >>> with Builder(block):
    ...     _ = Return((Multiply(block.arguments[0], block.arguments[0]),))
    >>> divided = Residuals(Function("square", block), (0,), Plan())
    >>> [len(function.results) for function in (divided.forwards(), divided.backwards((0,), (0,)))]
    [1, 1]
    """

    def __init__(self, function: Function, active: Collection[int], plan: Plan) -> None:
        whole, self.loops = planned(lambda: pullback_function(function, active, has_results=True), plan)
        self.name = function.name
        self.block = whole.body
        self.count = len(function.arguments)
        returned = whole.body.terminator.operands
        self.results = returned[: len(function.results)]
        self.found = returned[len(function.results) :]
        self.dependent: set[Value] = set(self.cotangents)
        needed = dict.fromkeys(self.found)
        for op in self.block:
            inputs = sources(op)
            if not isinstance(op, Terminator) and any(value in self.dependent for value in inputs):
                self.dependent.update(op.results)
                needed.update((value, None) for value in inputs)
        behind = [value for value in needed if value not in self.dependent]
        self.kept = choose_kept(self.block, behind, self.primals, repeats_loops=False)

    @property
    def primals(self) -> tuple[Value, ...]:
        return tuple(self.block.arguments[: self.count])

    @property
    def cotangents(self) -> tuple[Value, ...]:
        """Of the results that are of floats or complex numbers, in their order."""
        return tuple(self.block.arguments[self.count :])

    def forwards(self) -> Function:
        """The results, and what is kept."""
        with Builder(block := Block([value.type for value in self.primals])):
            mapping: dict[Value, Value] = dict(zip(self.primals, block.arguments, strict=True))
            values = (*self.results, *self.kept)
            clone_behind(values, self.block, mapping)
            Return(tuple(mapping.get(value, value) for value in values))
        return Function(f"{self.name}_keeping", block)

    def backwards(self, given: Collection[int], wanted: Collection[int]) -> Function:
        """The cotangents of the active arguments with these numbers among them.

        It takes the arguments, what was kept, and those cotangents of `cotangents` that have these numbers; the others
        are zero: nothing is multiplied by them.
        """
        seeds = [self.cotangents[number] for number in sorted(given)]
        taken = (*self.primals, *self.kept, *seeds)
        with Builder(block := Block([value.type for value in taken])):
            mapping: dict[Value, Value] = dict(zip(taken, block.arguments, strict=True))
            values = [self.found[number] for number in sorted(wanted)]
            for value in self._zeros(set(self.cotangents) - set(seeds)):
                mapping[value] = Constant.splat(0, value.type)
            clone_behind(values, self.block, mapping)
            Return(tuple(mapping.get(value, value) for value in values))
        return Function(f"{self.name}_backwards", block)

    def _zeros(self, zeros: set[Value]) -> set[Value]:
        """Those that are zero with these: all that depends on cotangents is linear in those that it is made of."""
        for op in self.block:
            inputs = [value for value in sources(op) if value in self.dependent]
            if inputs and all(value in zeros for value in inputs) and not isinstance(op, Terminator):
                zeros.update(op.results)
        return zeros


def is_worth_dividing(function: Function) -> bool:
    """Whether the function has loops, which are not to run again; not where it has rules of its own for results."""
    return any(isinstance(op, While) for op in function.walk()) and not any(
        isinstance(op, CustomDerivative) for op in function.walk()
    )
