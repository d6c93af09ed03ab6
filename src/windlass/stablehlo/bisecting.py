"""Finding the rewrite at fault where the optimized program behaves otherwise than the one that was given.

The driver is deterministic, so the program after the first n rewrites can be had again for every n. Somewhere between
0 (good) and all (bad) one rewrite makes the difference; halving finds it. Then the op that it replaced is cut out of
the program, with as little of what it is computed from as still shows the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, Position, ProgramError, WindlassError
from windlass.ir import Argument, Block, Builder, Function, Module, Op, Result, TensorType, TypeFault, Value
from windlass.ops import Constant, Return
from windlass.ops.evaluation import evaluate_function
from windlass.ops.sampling import RandomDraw
from windlass.rewriting import Budget, Rule, RuleSet, rewrite_function
from windlass.rewriting.passes import Pass
from windlass.stablehlo.exporting import export_text
from windlass.stablehlo.importing import import_text
from windlass.stablehlo.optimizing import Choices, inline_module, optimize_module

Array: TypeAlias = NDArray[Any]
Behaviour = Callable[[str], bool]
"""Whether a program, given as text, behaves as it should."""

DEEPEST = 8
"""How many ops of a chain the cut-out program has at most."""


@dataclass(frozen=True)
class Fault:
    """The rewrite at fault: the rule, its number among the rewrites, and programs that show the difference.

    `rule` is None where no rule is at fault but the sharing of equal ops, or the way in and out. `before` and `after`
    are the programs around the rewrite; `smallest` is a program of few ops on which the rule alone makes the
    difference, or None where none was found.
    """

    step: int
    steps: int
    rule: Rule | Pass | None
    source: Position | None
    before: str
    after: str
    smallest: str | None = None

    def __str__(self) -> str:
        if self.rule is None:
            return f"none of the {self.steps} rewrites is at fault: the sharing of equal ops, or the way in and out, is"
        where = f", at {self.source}" if self.source else ""
        return f"rewrite {self.step} of {self.steps}: {self.rule.name}{where}\n{self.rule.equation}"


def bisect(
    program: str, is_good: Behaviour | None = None, choices: Choices | None = None, compares: bool | None = None
) -> Fault | None:
    """The rewrite after which the program no longer behaves as it should, or None if it does when fully optimized.

    Without `is_good`, results on random arrays are compared with those of the program as given (see `Comparison`);
    where it compares results too, `compares` says that the smallest program that differs may be sought by comparison.

    Raises ProgramError (WL0508) where the program as given is not good already.

    >>> text = '''func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    ...   %0 = stablehlo.negate %x : tensor<4xf32>
    ...   %1 = stablehlo.negate %0 : tensor<4xf32>
    ...   return %1 : tensor<4xf32>
    ... }'''
    >>> bisect(text) is None
    True
    >>> fault = bisect(text, lambda each: "negate" in each)
    >>> fault.rule.name, fault.step
    ('negate_of_negate', 1)
    """
    choices = choices or Choices()
    compares = is_good is None if compares is None else compares
    good = is_good or Comparison.on(program, choices).is_kept_by
    if not good(_replay(program, choices, 0)[0]):
        raise ProgramError(
            Diagnostic(
                "WL0508",
                "the program behaves wrongly before anything is rewritten",
                help="the fault is not the optimizer's, or the command does not tell good from bad by its exit status",
            )
        )
    full, steps = _replay(program, choices, None)
    if good(full):
        return None
    if good(_replay(program, choices, steps)[0]):
        return Fault(steps, steps, None, None, program, full)
    low, high = 0, steps
    while high - low > 1:
        middle = (low + high) // 2
        if good(_replay(program, choices, middle)[0]):
            low = middle
        else:
            high = middle
    return _fault_at(program, choices, high, steps, compares)


def _fault_at(program: str, choices: Choices, step: int, steps: int, compares: bool) -> Fault:
    """The fault that rewrite `step` is, with the smallest program that differs where results are compared."""
    entry = optimize_module(import_text(program), choices, steps=step).rewrites[-1]
    found = _watched(program, choices, step)
    if found is None:
        # Not a rule but a pass over a block.
        rules = choices.rule_set()
        rule = next(each for each in (*rules.passes, *rules.at_rest) if each.name == entry.rule)
        smallest = None
    else:
        rule, op = found
        smallest = _smallest(rule, op) if compares else None
    before, after = _replay(program, choices, step - 1)[0], _replay(program, choices, step)[0]
    return Fault(step, steps, rule, entry.source, before, after, smallest)


def _replay(program: str, choices: Choices, steps: int | None) -> tuple[str, int]:
    """The program after so many rewrites (None: all), and how many there were."""
    module = import_text(program)
    if steps == 0:
        inline_module(module)
        return export_text(module), 0
    report = optimize_module(module, choices, steps=steps)
    return export_text(module), len(report.rewrites)


def _watched(program: str, choices: Choices, step: int) -> tuple[Rule, Op] | None:
    """The rule of a rewrite, by its number, and a copy of the op that it replaced with what it is computed from."""
    found: list[tuple[Rule, Op]] = []
    done = 0

    def watch(number: int, rule: Rule, op: Op) -> None:
        if done + number == step - 1:
            found.append((rule, cut_out(op, DEEPEST)))

    module = import_text(program)
    inline_module(module)
    rules, device = choices.rule_set(), choices.device_on()
    for function in module.functions.values():
        left = Budget(step - done, choices.compile_seconds)
        done += len(rewrite_function(function, rules, left, device, watch=watch).entries)
    return found[0] if found else None


class Comparison:
    """Results of a program on random arrays, to be compared with those of others.

    Integers, booleans and the places of NaN must be the same; floats may differ by what another order of operations can
    make of them. Programs run through XLA where they can; with `evaluated`, on NumPy, op by op.
    """

    def __init__(self, inputs: Sequence[Sequence[Array]], evaluated: bool) -> None:
        self.inputs = inputs
        self.evaluated = evaluated
        self.expected: list[list[Array]] = []

    @classmethod
    def on(cls, program: str, choices: Choices | None = None, seeds: int = 4, evaluated: bool = False) -> Comparison:
        """The comparison with a program.

        Half of the float arrays hold special values (NaN, infinities, zeros of both signs), but only where results have
        to be exact: rules that change the order of sums and products make something else of these.
        """
        main = import_text(program).main
        types = [argument.tensor for argument in main.arguments]
        tame_only = choices is not None and (bool(choices.assumes) or not choices.exact)
        inputs: list[list[Array]] = []
        for seed in range(seeds):
            draw = RandomDraw(seed)
            tame = tame_only or seed % 2 == 0
            # Integers stay small: they may be how often a loop runs.
            inputs.append(
                [draw.tame_array(type_) if tame or type_.is_integer else draw.array(type_) for type_ in types]
            )
        made = cls(inputs, evaluated)
        made.expected = [made.run(program, arrays) for arrays in inputs]
        return made

    def run(self, program: str, arrays: Sequence[Array]) -> list[Array]:
        """The program's results."""
        if self.evaluated:
            module = import_text(program)
            return [np.asarray(each) for each in evaluate_function(module.main, *arrays, module=module)]
        from windlass.stablehlo.running import run

        return run(program, *arrays)

    def is_kept_by(self, program: str) -> bool:
        """Whether a program gives the results that are expected. One that can't be run does not."""
        try:
            found = [self.run(program, arrays) for arrays in self.inputs]
        except Exception:
            return False
        return all(
            is_alike(old, new)
            for olds, news in zip(self.expected, found, strict=True)
            for old, new in zip(olds, news, strict=True)
        )


ROUNDING = {"float64": 1e-9, "complex128": 1e-9, "float16": 2e-2, "bfloat16": 6e-2}


def is_alike(expected: Array, found: Array) -> bool:
    """Whether two results are the same but for rounding, measured by the largest number among them."""
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return False
    if expected.dtype.kind in "iub":
        return bool(np.array_equal(expected, found))
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    left, right = expected.astype(wide), found.astype(wide)
    finite = np.isfinite(left)
    if not np.array_equal(finite, np.isfinite(right)):
        return False
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
        return False
    tolerance = ROUNDING.get(expected.dtype.name, 1e-4)
    size = float(np.max(np.abs(left[finite]), initial=1e-30))
    return bool(np.all(np.abs(left[finite] - right[finite]) <= tolerance * size))


# -- cutting out ------------------------------------------------------------------------------------------------------


def cut_out(op: Op, depth: int) -> Op:
    """A copy of the op on its own, with the ops that it takes values from, so many deep; beyond are free variables."""
    known: dict[Value, Value] = {}
    builder = Builder(Block())
    # These ops are no rule's, which would be forgotten where they don't become part of the program.
    builder.nested = []
    with builder:
        return _copy(op, depth, known)


def _copy(op: Op, depth: int, known: dict[Value, Value], cut: Collection[Op] = ()) -> Op:
    wanted = list(op.operands)
    for region in op.regions:
        inside = {result for inner in region.walk() for result in inner.results}
        inside |= {argument for block in _blocks(op) for argument in block.arguments}
        wanted += [operand for inner in region.walk() for operand in inner.operands if operand not in inside]
    for value in wanted:
        if value in known:
            continue
        owner = value.owner if isinstance(value, Result) else value
        if isinstance(owner, Op) and (depth > 1 or isinstance(owner, Constant)) and owner.is_pure and owner not in cut:
            _copy(owner, depth - 1, known, cut)
        else:
            known[value] = Argument(value.type, name=f"x{len(known)}")
    copy = op.clone(known)
    copy.source = op.source
    return copy


def _blocks(op: Op) -> list[Block]:
    blocks = [block for region in op.regions for block in region.blocks]
    return blocks + [inner for block in blocks for each in block for inner in _blocks(each)]


def _smallest(rule: Rule, op: Op) -> str | None:
    """The smallest program that ends in the op and on which the rule alone changes the results."""
    depth = next((depth for depth in range(1, DEEPEST + 1) if _differs(rule, program_of(op, depth))), None)
    if depth is None:
        return None
    cut: set[Op] = set()
    for inner in _above(op, depth):
        if _differs(rule, program_of(op, depth, cut | {inner})):
            cut.add(inner)
    return program_of(op, depth, cut)


def _differs(rule: Rule, program: str) -> bool:
    """Whether one application of the rule changes what the program gives."""
    try:
        comparison = Comparison.on(program, Choices(exact=not rule.reassociates, assumes=rule.assumes))
        module = import_text(program)
        ledger = rewrite_function(module.main, RuleSet([rule]), Budget(steps=1))
        return bool(ledger.entries) and not comparison.is_kept_by(export_text(module))
    except (WindlassError, NotImplementedError, TypeFault):
        return False


def _above(op: Op, depth: int) -> list[Op]:
    """The ops that an op takes values from, so many deep, the farthest last; no constants."""
    found: dict[Op, None] = {}
    layer = [op]
    for _ in range(depth - 1):
        owners = [value.owner if isinstance(value, Result) else value for each in layer for value in each.operands]
        layer = [owner for owner in owners if isinstance(owner, Op) and not isinstance(owner, Constant)]
        found.update(dict.fromkeys(layer))
    return list(found)


def program_of(op: Op, depth: int, cut: Collection[Op] = ()) -> str:
    """A program that computes the op alone, from parameters so many ops above it or instead of ops in `cut`."""
    block = Block()
    known: dict[Value, Value] = {}
    with Builder(block):
        copy = _copy(op, depth, known, cut)
        for old, new in list(known.items()):
            if isinstance(new, Argument) and new.block is None and new.uses:
                parameter = block.add_argument(old.type)
                new.replace_all_uses_with(parameter)
        Return(tuple(result for result in copy.results if isinstance(result.type, TensorType)))
    return export_text(Module([Function("main", block)]))
